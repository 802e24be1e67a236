// Kernels of 37 further kinds, launched in two sizes each, recorded before they were simulated.
#include <cstdint>
#include <cuda_fp16.h>
#define G extern "C" __global__ void
#define ALL 0xFFFFFFFFu
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(ALL, v, d));
    return v;
}
__device__ __forceinline__ uint32_t mixed(uint32_t h) {  // murmur's last steps
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}
__device__ __forceinline__ uint4 philox(uint4 c, uint2 k) {
    for (int i = 0; i < 10; ++i) {
        uint32_t a = __umulhi(0xD2511F53u, c.x), b = 0xD2511F53u * c.x, d = __umulhi(0xCD9E8D57u, c.z), e = 0xCD9E8D57u * c.z;
        c = {d ^ c.y ^ k.x, e, a ^ c.w ^ k.y, b};
        k.x += 0x9E3779B9u; k.y += 0xBB67AE85u;
    }
    return c;
}

// streams
G triad(float4* a, const float4* b, const float4* c, float by) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 x = b[i], y = c[i];
    a[i] = {x.x + by * y.x, x.y + by * y.y, x.z + by * y.z, x.w + by * y.w};
}
G gelu(half2* out, const half2* in, const half2* bias, int n) {  // of rows of 512 pairs, with bias; a stride of the whole grid
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float2 v = __half22float2(__hadd2(in[i], bias[i & 511]));
        v.x = v.x * .5f * (1 + erff(v.x * .70710678f));
        v.y = v.y * .5f * (1 + erff(v.y * .70710678f));
        out[i] = __floats2half2_rn(v.x, v.y);
    }
}
G im2col(float* out, const float* in, int n) {  // 3 x 3 windows of pictures of 16 channels; a block of 288 two windows
    int k = threadIdx.x % 144, place = blockIdx.x * 2 + threadIdx.x / 144, y = place / n, x = place % n;
    int c = k / 9, dy = k % 9 / 3 - 1, dx = k % 3 - 1;
    bool inside = y + dy >= 0 && y + dy < n && x + dx >= 0 && x + dx < n;
    out[place * 144 + k] = inside ? in[(c * n + y + dy) * n + x + dx] : 0;
}
// sums
G min_max(int* out, const float4* in, int n) {  // of positive floats, whose bits are ordered as they are
    float low = 1e30f, high = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = in[i];
        low = fminf(fminf(low, v.x), fminf(v.y, fminf(v.z, v.w)));
        high = fmaxf(fmaxf(high, v.x), fmaxf(v.y, fmaxf(v.z, v.w)));
    }
    low = -warp_max(-low);
    high = warp_max(high);
    __shared__ float parts[2][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) { parts[0][warp] = low; parts[1][warp] = high; }
    __syncthreads();
    if (warp == 0) {
        low = lane < blockDim.x / 32 ? parts[0][lane] : 1e30f;
        high = lane < blockDim.x / 32 ? parts[1][lane] : 0;
        low = -warp_max(-low);
        high = warp_max(high);
        if (lane == 0) { atomicMin(out, __float_as_int(low)); atomicMax(out + 1, __float_as_int(high)); }
    }
}
G batch_norm(float* out, const float* in, const float* scale, int channels, int rows) {  // a block of 512 a channel of 8 x pixels
    __shared__ float sums[16], squares[16];
    float a = 0, b = 0;
    int c = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int n = 0; n < 8; ++n)
        for (int i = threadIdx.x; i < rows; i += 512) {
            float v = in[(n * channels + c) * rows + i];
            a += v; b += v * v;
        }
    a = warp_sum(a); b = warp_sum(b);
    if (lane == 0) { sums[warp] = a; squares[warp] = b; }
    __syncthreads();
    a = warp_sum(lane < 16 ? sums[lane] : 0); b = warp_sum(lane < 16 ? squares[lane] : 0);
    float mean = a / (8 * rows), by = rsqrtf(b / (8 * rows) - mean * mean + 1e-5f) * scale[c];
    for (int n = 0; n < 8; ++n)
        for (int i = threadIdx.x; i < rows; i += 512) {
            int at = (n * channels + c) * rows + i;
            out[at] = fmaxf((in[at] - mean) * by, 0);
        }
}
G softmax_gradient(float* out, const float* p, const float* g, int n) {  // a warp a row
    size_t row = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32 * n;
    int lane = threadIdx.x % 32;
    float dot = 0;
    for (int i = lane; i < n; i += 32) dot += p[row + i] * g[row + i];
    dot = warp_sum(dot);
    for (int i = lane; i < n; i += 32) out[row + i] = p[row + i] * (g[row + i] - dot);
}
G segment_sums(float* out, const int* begins, const float* in, int segments) {  // a warp a segment, of unequal lengths
    int segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (segment >= segments) return;
    float sum = 0;
    for (int i = begins[segment] + lane; i < begins[segment + 1]; i += 32) sum += in[i];
    sum = warp_sum(sum);
    if (lane == 0) out[segment] = sum;
}
// scans, sorts
G scan_rows(float* out, const float4* in) {  // a row of 2,048 a block of 512
    __shared__ float parts[16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float4 v = in[blockIdx.x * 512 + threadIdx.x];
    v.y += v.x; v.z += v.y; v.w += v.z;
    float sum = v.w;
    for (int d = 1; d < 32; d *= 2) {
        float o = __shfl_up_sync(ALL, sum, d);
        if (lane >= d) sum += o;
    }
    if (lane == 31) parts[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        float o = lane < 16 ? parts[lane] : 0;
        for (int d = 1; d < 16; d *= 2) {
            float u = __shfl_up_sync(ALL, o, d);
            if (lane >= d) o += u;
        }
        if (lane < 16) parts[lane] = o;
    }
    __syncthreads();
    float before = sum - v.w + (warp ? parts[warp - 1] : 0);
    ((float4*)out)[blockIdx.x * 512 + threadIdx.x] = {v.x + before, v.y + before, v.z + before, v.w + before};
}
G merge_sort(int* a) {  // 512 keys a block of 256, by ranks in the other half
    __shared__ int keys[2][512];
    int t = threadIdx.x, now = 0;
    int* own = a + blockIdx.x * 512;
    keys[0][t] = own[t]; keys[0][t + 256] = own[t + 256];
    for (int n = 1; n < 512; n *= 2) {
        __syncthreads();
        for (int i = t; i < 512; i += 256) {
            int key = keys[now][i], pair = i & ~(2 * n - 1), right = i & n, other = pair + (right ? 0 : n), low = 0, high = n;
            while (low < high) {
                int middle = (low + high) / 2, o = keys[now][other + middle];
                if (right ? o <= key : o < key) low = middle + 1;
                else high = middle;
            }
            keys[1 - now][pair + (i & (n - 1)) + low] = key;
        }
        now = 1 - now;
    }
    __syncthreads();
    own[t] = keys[now][t]; own[t + 256] = keys[now][t + 256];
}
// sparse matrices, graphs
G ell_product(float* y, const int* columns, const float* values, const float* x, int rows, int each) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < each; ++k) {
        int column = columns[k * rows + row];
        if (column >= 0) sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}
G coo_product(float* y, const int* rows, const int* columns, const float* values, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(y + rows[i], values[i] * x[columns[i]]);
}
G page_rank(float* next, const int* begins, const int* edges, const float* rank, const int* degree, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes) return;
    float sum = 0;
    for (int k = begins[node]; k < begins[node + 1]; ++k) {
        int from = edges[k];
        sum += rank[from] / degree[from];
    }
    next[node] = .15f / nodes + .85f * sum;
}
G walks(int* out, const int* begins, const int* edges, int nodes, int steps) {  // by chance along a graph's edges
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % nodes;
    uint32_t x = i * 2654435761u | 1;
    for (int k = 0; k < steps; ++k) {
        int begin = begins[at], n = begins[at + 1] - begin;
        x = x * 1664525u + 1013904223u;
        at = edges[begin + (x >> 8) % n];
    }
    out[i] = at;
}
// tables
G joint_histogram(unsigned* bins, const uint8_t* a, const uint8_t* b, int n) {  // 32 x 32 bins of two pictures
    __shared__ unsigned own[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(own + (a[i] >> 3) * 32 + (b[i] >> 3), 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        if (own[i]) atomicAdd(bins + i, own[i]);
}
G insert_keys(unsigned* table, const unsigned* keys, unsigned mask) {  // open addresses; later launches find their keys
    unsigned key = keys[blockIdx.x * blockDim.x + threadIdx.x] | 1, at = mixed(key) & mask;
    for (int k = 0; k < 64; ++k) {
        unsigned old = atomicCAS(table + at, 0, key);
        if (old == 0 || old == key) break;
        at = (at + 1) & mask;
    }
}
G hash_keys(unsigned* out, const uint4* in) {  // 64 bytes each
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = 17;
    for (int k = 0; k < 4; ++k) {
        uint4 v = in[i * 4 + k];
        h = mixed(h ^ v.x) * 5; h = mixed(h ^ v.y) * 5; h = mixed(h ^ v.z) * 5; h = mixed(h ^ v.w) * 5;
    }
    out[i] = h;
}
// stencils, pictures
G wave(float* next, const float* now, const float* before, int n) {  // 2D, four neighbours each way; blocks of 32 x 16
    __shared__ float tile[24][40];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 24; j += 16)
        for (int i = threadIdx.x; i < 40; i += 32) {
            int u = min(max(x - (int)threadIdx.x + i - 4, 0), n - 1), v = min(max(y - (int)threadIdx.y + j - 4, 0), n - 1);
            tile[j][i] = now[v * n + u];
        }
    __syncthreads();
    const float by[5] = {-2.847222f, 1.6f, -.2f, .02539683f, -.00178571f};
    int i = threadIdx.x + 4, j = threadIdx.y + 4;
    float sum = 2 * by[0] * tile[j][i];
    for (int d = 1; d <= 4; ++d) sum += by[d] * (tile[j][i - d] + tile[j][i + d] + tile[j - d][i] + tile[j + d][i]);
    next[y * n + x] = 2 * tile[j][i] - before[y * n + x] + .1f * sum;
}
G seismic(float* out, const float* in, int n) {  // 3D, two neighbours each way; planes of 32 x 8, one after the other
    __shared__ float tile[12][36];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, plane = n * n, at = y * n + x;
    float below2 = 0, below = 0, own = in[at], above = in[at + plane], above2;
    for (int z = 0; z < n - 2; ++z) {
        above2 = in[at + (z + 2) * plane];
        __syncthreads();
        tile[threadIdx.y + 2][threadIdx.x + 2] = own;
        if (threadIdx.x < 2) {
            tile[threadIdx.y + 2][threadIdx.x] = x >= 2 ? in[at + z * plane - 2] : 0;
            tile[threadIdx.y + 2][threadIdx.x + 34] = x + 32 < n ? in[at + z * plane + 32] : 0;
        }
        if (threadIdx.y < 2) {
            tile[threadIdx.y][threadIdx.x + 2] = y >= 2 ? in[at + z * plane - 2 * n] : 0;
            tile[threadIdx.y + 10][threadIdx.x + 2] = y + 8 < n ? in[at + z * plane + 8 * n] : 0;
        }
        __syncthreads();
        int i = threadIdx.x + 2, j = threadIdx.y + 2;
        out[at + z * plane] = -7.5f * own + 1.333f * (tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i] + above + below) -
                              .0833f * (tile[j][i - 2] + tile[j][i + 2] + tile[j - 2][i] + tile[j + 2][i] + above2 + below2);
        below2 = below; below = own; own = above; above = above2;
    }
}
G blur_columns(float* out, const float* in, int n, int rows) {  // a running sum of nine; a thread a column of `rows`
    int x = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y * rows;
    float sum = 0;
    for (int y = from; y < from + 8; ++y) sum += in[y * n + x];
    for (int y = from; y < from + rows; ++y) {
        sum += in[(y + 8) * n + x];
        out[y * n + x] = sum * (1.f / 9);
        sum -= in[y * n + x];
    }
}
G bilateral(float* out, const float* in, int n) {  // 5 x 5, straight from global memory
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, w = n + 4;
    float own = in[(y + 2) * w + x + 2], sum = 0, all = 0;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) {
            float v = in[(y + j) * w + x + i], d = v - own;
            float by = __expf(-.1f * ((i - 2) * (i - 2) + (j - 2) * (j - 2)) - 8 * d * d);
            sum += by * v; all += by;
        }
    out[y * n + x] = __fdividef(sum, all);
}
G rotate_picture(float* out, const float* in, int n, float c, float s) {  // bilinear
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float u = (x - n / 2) * c - (y - n / 2) * s + n / 2, v = (x - n / 2) * s + (y - n / 2) * c + n / 2;
    int i = (int)floorf(u), j = (int)floorf(v);
    float a = u - i, b = v - j, found = 0;
    if (i >= 0 && j >= 0 && i < n - 1 && j < n - 1) {
        const float* p = in + j * n + i;
        found = (1 - b) * ((1 - a) * p[0] + a * p[1]) + b * ((1 - a) * p[n] + a * p[n + 1]);
    }
    out[y * n + x] = found;
}
__device__ __forceinline__ void order(int& a, int& b) {
    int low = min(a, b);
    b = max(a, b); a = low;
}
G median_picture(uint8_t* out, const uint8_t* in, int n) {  // of 3 x 3
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, w = n + 2, p[9];
    for (int j = 0; j < 9; ++j) p[j] = in[(y + j / 3) * w + x + j % 3];
    order(p[1], p[2]); order(p[4], p[5]); order(p[7], p[8]); order(p[0], p[1]); order(p[3], p[4]); order(p[6], p[7]);
    order(p[1], p[2]); order(p[4], p[5]); order(p[7], p[8]);
    p[3] = max(p[0], p[3]); p[5] = min(p[5], p[8]); order(p[4], p[7]); p[6] = max(p[3], p[6]);
    p[4] = max(p[1], p[4]); p[2] = min(p[2], p[5]); p[4] = min(p[4], p[7]); order(p[4], p[2]);
    p[4] = max(p[6], p[4]);
    out[y * n + x] = min(p[4], p[2]);
}
G cosines(float* out, const float* in, int n) {  // of 8 x 8, four of them a block of 32 x 8
    __shared__ float block[8][33], turned[8][33], basis[8][9];
    int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 8 + y) * n + blockIdx.x * 32 + x;
    block[y][x] = in[at];
    if (x < 8) basis[y][x] = (y ? .5f : .35355339f) * cospif((2 * x + 1) * y * .0625f);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += basis[y][k] * block[k][x];
    turned[y][x] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; ++k) sum += basis[x & 7][k] * turned[y][(x & 24) + k];
    out[at] = rintf(sum * 8);
}
G depthwise(float4* out, const float4* in, const float4* taps, int n) {  // 5 x 5, 128 channels; a block of 32 x 8: 8 pixels
    int c = threadIdx.x, x = blockIdx.x * 8 + threadIdx.y, y = blockIdx.y, w = n + 4;
    float4 sum = {0, 0, 0, 0};
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) {
            float4 v = in[((y + j) * w + x + i) * 32 + c], t = taps[(j * 5 + i) * 32 + c];
            sum.x += v.x * t.x; sum.y += v.y * t.y; sum.z += v.z * t.z; sum.w += v.w * t.w;
        }
    out[(y * n + x) * 32 + c] = sum;
}
G newton_picture(int* out, int n, float width) {  // roots of z^3 = 1
    int px = blockIdx.x * 32 + threadIdx.x, py = blockIdx.y * 4 + threadIdx.y, k = 0;
    float x = (px - n / 2 + .5f) * width / n, y = (py - n / 2 + .5f) * width / n;
    for (; k < 64; ++k) {
        float xx = x * x, yy = y * y, d = (xx + yy) * (xx + yy) + 1e-12f;
        float a = (2 * x + (xx - yy) / d) / 3, b = (2 * y - 2 * x * y / d) / 3;
        float off = (a - x) * (a - x) + (b - y) * (b - y);
        x = a; y = b;
        if (off < 1e-8f) break;
    }
    out[py * n + px] = k * 3 + (x > 0 ? 0 : y > 0 ? 1 : 2);
}
// products
G product128(float* c, const float* a, const float* b, int n) {  // tiles of 128 x 128, 8 x 8 a thread
    __shared__ float as[8][128], bs[8][128];
    int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * 128, column = blockIdx.x * 128;
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        float4 u = *(const float4*)&a[(row + t / 2) * n + k + t % 2 * 4], v = *(const float4*)&b[(k + t / 32) * n + column + t % 32 * 4];
        __syncthreads();
        as[t % 2 * 4][t / 2] = u.x; as[t % 2 * 4 + 1][t / 2] = u.y; as[t % 2 * 4 + 2][t / 2] = u.z; as[t % 2 * 4 + 3][t / 2] = u.w;
        *(float4*)&bs[t / 32][t % 32 * 4] = v;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            float p[8], o[8];
            *(float4*)p = *(float4*)&as[i][y * 8]; *(float4*)(p + 4) = *(float4*)&as[i][y * 8 + 4];
            *(float4*)o = *(float4*)&bs[i][x * 4]; *(float4*)(o + 4) = *(float4*)&bs[i][64 + x * 4];
            #pragma unroll
            for (int j = 0; j < 8; ++j)
                #pragma unroll
                for (int m = 0; m < 8; ++m) sum[j][m] += p[j] * o[m];
        }
    }
    for (int j = 0; j < 8; ++j) {
        *(float4*)&c[(row + y * 8 + j) * n + column + x * 4] = *(float4*)&sum[j][0];
        *(float4*)&c[(row + y * 8 + j) * n + column + 64 + x * 4] = *(float4*)&sum[j][4];
    }
}
G product_bytes(int* c, const int* a, const int* b, int n) {  // dot products of four; tiles of 32 x 32, b transposed
    __shared__ int as[32][17], bs[32][17];
    int x = threadIdx.x, y = threadIdx.y, words = n / 4, sum[4] = {};
    for (int k = 0; k < words; k += 16) {
        for (int j = y; j < 32; j += 16) {
            as[j][x] = a[(blockIdx.y * 32 + j) * words + k + x];
            bs[j][x] = b[(blockIdx.x * 32 + j) * words + k + x];
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
            sum[0] = __dp4a(as[y][i], bs[x][i], sum[0]); sum[1] = __dp4a(as[y][i], bs[x + 16][i], sum[1]);
            sum[2] = __dp4a(as[y + 16][i], bs[x][i], sum[2]); sum[3] = __dp4a(as[y + 16][i], bs[x + 16][i], sum[3]);
        }
        __syncthreads();
    }
    for (int k = 0; k < 4; ++k) c[(blockIdx.y * 32 + y + k / 2 * 16) * n + blockIdx.x * 32 + x + k % 2 * 16] = sum[k];
}
G distances(float* out, const float* a, const float* b, int n) {  // between all of two sets of points with 32 coordinates
    __shared__ float as[16][33], bs[16][33];
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = x; k < 32; k += 16) {
        as[y][k] = a[(blockIdx.y * 16 + y) * 32 + k];
        bs[y][k] = b[(blockIdx.x * 16 + y) * 32 + k];
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; ++k) {
        float d = as[y][k] - bs[x][k];
        sum += d * d;
    }
    out[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = sqrtf(sum);
}
G flash(float* out, const float* q, const float* k, const float* v, int n) {  // 128 queries of 32 a block, tiles of 32 keys
    __shared__ float ks[32][32], vs[32][32];
    int t = threadIdx.x, row = blockIdx.x * 128 + t;
    float own[32], sum[32] = {}, most = -1e30f, all = 0;
    for (int i = 0; i < 32; i += 4) *(float4*)(own + i) = *(const float4*)&q[row * 32 + i];
    for (int from = 0; from < n; from += 32) {
        __syncthreads();
        for (int i = t; i < 256; i += 128) {
            ((float4*)ks)[i] = ((const float4*)(k + from * 32))[i];
            ((float4*)vs)[i] = ((const float4*)(v + from * 32))[i];
        }
        __syncthreads();
        for (int j = 0; j < 32; ++j) {
            float dot = 0;
            #pragma unroll
            for (int i = 0; i < 32; ++i) dot += own[i] * ks[j][i];
            if (dot > most) {
                float by = __expf(most - dot);
                all *= by;
                #pragma unroll
                for (int i = 0; i < 32; ++i) sum[i] *= by;
                most = dot;
            }
            float p = __expf(dot - most);
            all += p;
            #pragma unroll
            for (int i = 0; i < 32; ++i) sum[i] += p * vs[j][i];
        }
    }
    for (int i = 0; i < 32; ++i) out[row * 32 + i] = sum[i] / all;
}
G lu_warps(float* out, const float* a) {  // 32 x 32 matrices, a warp each, four a block; lanes have rows
    __shared__ float m[4][32][33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int from = (blockIdx.x * 4 + warp) * 1024 + lane;
    for (int i = 0; i < 32; ++i) m[warp][i][lane] = a[from + i * 32];
    __syncwarp();
    for (int p = 0; p < 31; ++p) {
        if (lane > p) {
            float by = m[warp][lane][p] / m[warp][p][p];
            m[warp][lane][p] = by;
            for (int j = p + 1; j < 32; ++j) m[warp][lane][j] -= by * m[warp][p][j];
        }
        __syncwarp();
    }
    for (int i = 0; i < 32; ++i) out[from + i * 32] = m[warp][i][lane];
}
// bodies, chances
G lennard_jones(float4* force, const float4* at, const int* neighbours, int n, int each) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = at[i];
    float x = 0, y = 0, z = 0;
    for (int k = 0; k < each; ++k) {
        float4 o = at[neighbours[k * n + i]];
        float dx = own.x - o.x, dy = own.y - o.y, dz = own.z - o.z, d = dx * dx + dy * dy + dz * dz;
        if (d < .5f) {
            float u = 1 / (d + .01f), w = u * u * u, f = w * (w - .5f) * u;
            x += dx * f; y += dy * f; z += dz * f;
        }
    }
    force[i] = {x, y, z, 0};
}
G options_by_chance(float* out, int paths, float drift, float spread) {  // a mean over paths, by Box and Muller
    __shared__ float parts[8];
    float sum = 0;
    for (int k = 0; k < paths; ++k) {
        uint4 u = philox({threadIdx.x, blockIdx.x, (unsigned)k, 0}, {1, 2});
        float a = sqrtf(-2 * __logf((u.x + .5f) * 2.3283064e-10f)), sn, cs;
        __sincosf(u.y * 1.4629181e-9f, &sn, &cs);
        sum += fmaxf(__expf(drift + spread * a * sn) - 1, 0) + fmaxf(__expf(drift + spread * a * cs) - 1, 0);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum += parts[w];
        out[blockIdx.x] = sum / (512 * paths);
    }
}
G binomial_trees(float* out, const float* price, int steps) {  // an option a block of 256
    __shared__ float value[2][257];
    int t = threadIdx.x, now = 0;
    float s = price[blockIdx.x];
    value[0][t] = fmaxf(s * __expf(.02f * (2 * t - steps)) - 1, 0);
    if (t == 0) value[0][256] = 0, value[1][256] = 0;
    for (int k = 0; k < steps; ++k) {
        __syncthreads();
        value[1 - now][t] = .998f * (.51f * value[now][t + 1] + .49f * value[now][t]);
        now = 1 - now;
    }
    if (t == 0) out[blockIdx.x] = value[now][0];
}
G viterbi(uint8_t* back, const float* step, const float* seen, const uint8_t* signs, int n) {  // 64 states, a sequence a block
    __shared__ float best[2][64], costs[64][65];
    int t = threadIdx.x;
    for (int i = 0; i < 64; ++i) costs[i][t] = step[i * 64 + t];
    best[0][t] = 0;
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        float most = -1e30f;
        int from = 0;
        for (int i = 0; i < 64; ++i) {
            float v = best[k & 1][i] + costs[i][t];
            if (v > most) most = v, from = i;
        }
        best[1 - (k & 1)][t] = most + seen[signs[blockIdx.x * n + k] * 64 + t];
        back[(blockIdx.x * n + k) * 64 + t] = from;
    }
}
// texts, codes
G common_letters(int* out, const uint8_t* texts, const unsigned long long* masks, int n) {  // of 64 letters; bits of 64
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long v = ~0ull;
    for (int k = 0; k < n; ++k) {
        unsigned long long m = masks[(texts[k * gridDim.x * blockDim.x + i] & 3) * 64 + (i & 63)], u = v & m;
        v = (v + u) | (v - u);
    }
    out[i] = __popcll(~v);
}
G sha256(uint4* out, const uint4* in, const unsigned* keys) {  // a block of 64 bytes a thread
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[16];
    for (int i = 0; i < 4; ++i) *(uint4*)(w + 4 * i) = in[t * 4 + i];
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a, e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int k = 0; k < 4; ++k) {
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
            unsigned one = __funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25);
            unsigned x = h + one + ((e & f) ^ (~e & g)) + keys[k * 16 + i] + w[i];
            unsigned two = __funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13) ^ __funnelshift_r(a, a, 22);
            unsigned y = two + ((a & b) ^ (a & c) ^ (b & c));
            h = g; g = f; f = e; e = d + x; d = c; c = b; b = a; a = x + y;
            unsigned m = w[(i + 1) & 15], n = w[(i + 14) & 15];
            w[i] += w[(i + 9) & 15] + (__funnelshift_r(m, m, 7) ^ __funnelshift_r(m, m, 18) ^ m >> 3) +
                    (__funnelshift_r(n, n, 17) ^ __funnelshift_r(n, n, 19) ^ n >> 10);
        }
    }
    out[t * 2] = {a, b, c, d};
    out[t * 2 + 1] = {e, f, g, h};
}
G pack_signs(unsigned* out, const float* in, float least) {  // a bit for each float, a word a warp
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits = __ballot_sync(ALL, in[i] > least);
    if (threadIdx.x % 32 == 0) out[i / 32] = bits;
}
