// Kernels as people write them, launched in several sizes: whole launches beside what one H200 took for them.
#include <cstdint>
#define G extern "C" __global__ void
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
template <int WARPS> __device__ float block_sum(float v) {
    __shared__ float parts[WARPS];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < WARPS ? parts[threadIdx.x % 32] : 0;
    v = warp_sum(v);
    __syncthreads();
    return v;
}

G sum_strided(float* out, const float* in, int n) {
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    v = block_sum<8>(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
}
G sum_tree(float* out, const float* in) {
    __shared__ float s[512];
    int t = threadIdx.x, i = blockIdx.x * 1024 + t;
    s[t] = in[i] + in[i + 512];
    __syncthreads();
    for (int k = 256; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
G scan_blocks(int* out, int* sums, const int4* in) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t & 31, w = t >> 5;
    int4 v = in[blockIdx.x * 256 + t];
    v.y += v.x; v.z += v.y; v.w += v.z;
    int x = v.w;
    for (int d = 1; d < 32; d <<= 1) {
        int y = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x += y;
    }
    if (lane == 31) warps[w] = x;
    __syncthreads();
    if (w == 0) {
        int z = lane < 8 ? warps[lane] : 0;
        for (int d = 1; d < 8; d <<= 1) {
            int y = __shfl_up_sync(~0u, z, d);
            if (lane >= d) z += y;
        }
        if (lane < 8) warps[lane] = z;
    }
    __syncthreads();
    int before = x - v.w + (w ? warps[w - 1] : 0);
    reinterpret_cast<int4*>(out)[blockIdx.x * 256 + t] = {before + v.x, before + v.y, before + v.z, before + v.w};
    if (t == 255) sums[blockIdx.x] = before + v.w;
}
G scan_shared(float* out, const float* in) {  // work-efficient, 512 values a block
    __shared__ float s[512];
    int t = threadIdx.x, i = blockIdx.x * 512 + 2 * t;
    s[2 * t] = in[i]; s[2 * t + 1] = in[i + 1];
    int d = 1;
    for (int k = 256; k > 0; k >>= 1, d <<= 1) {
        __syncthreads();
        if (t < k) s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];
    }
    if (t == 0) s[511] = 0;
    for (int k = 1; k < 512; k <<= 1) {
        d >>= 1;
        __syncthreads();
        if (t < k) {
            float v = s[d * (2 * t + 1) - 1];
            s[d * (2 * t + 1) - 1] = s[d * (2 * t + 2) - 1];
            s[d * (2 * t + 2) - 1] += v;
        }
    }
    __syncthreads();
    out[i] = s[2 * t]; out[i + 1] = s[2 * t + 1];
}
G heat(float* out, const float* in, int n) {  // tiles with halos in shared memory, blocks of 32 x 8
    __shared__ float s[10][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * n + x, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    s[ty][tx] = in[i];
    if (threadIdx.x == 0) s[ty][0] = x ? in[i - 1] : 0;
    if (threadIdx.x == 31) s[ty][33] = x < n - 1 ? in[i + 1] : 0;
    if (threadIdx.y == 0) s[0][tx] = y ? in[i - n] : 0;
    if (threadIdx.y == 7) s[9][tx] = y < n - 1 ? in[i + n] : 0;
    __syncthreads();
    out[i] = .2f * (s[ty][tx] + s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1]);
}
G laplace3d(float* out, const float* in, int n) {  // each thread goes through its column
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, plane = n * n, i = y * n + x;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) return;
    float below = in[i], here = in[i + plane];
    for (int z = 1; z < n - 1; ++z) {
        i += plane;
        float above = in[i + plane];
        out[i] = 6 * here - below - above - in[i - 1] - in[i + 1] - in[i - n] - in[i + n];
        below = here; here = above;
    }
}
G life(uint8_t* out, const uint8_t* in, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    int l = (x + n - 1) & (n - 1), r = (x + 1) & (n - 1), u = ((y + n - 1) & (n - 1)) * n, d = ((y + 1) & (n - 1)) * n, m = y * n;
    int around = in[u + l] + in[u + x] + in[u + r] + in[m + l] + in[m + r] + in[d + l] + in[d + x] + in[d + r];
    out[m + x] = around == 3 || (around == 2 && in[m + x]);
}
G product16(float* c, const float* a, const float* b, int n) {
    __shared__ float s[16][16], t[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float v = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; ++j) v += s[y][j] * t[j][x];
        __syncthreads();
    }
    c[row * n + column] = v;
}
G product64(float* c, const float* a, const float* b, int n) {  // 256 threads, each 4 x 4 of a tile of 64 x 64
    __shared__ float s[16][68];
    __shared__ float t[16][64];
    int i = threadIdx.x, tx = i % 16, ty = i / 16;
    const float* from_a = a + (blockIdx.y * 64 + i / 4) * n + i % 4 * 4;
    const float* from_b = b + (i / 16) * n + blockIdx.x * 64 + i % 16 * 4;
    float v[4][4] = {};
    for (int k = 0; k < n; k += 16, from_a += 16, from_b += 16 * n) {
        float4 q = *reinterpret_cast<const float4*>(from_a), p = *reinterpret_cast<const float4*>(from_b);
        s[i % 4 * 4][i / 4] = q.x; s[i % 4 * 4 + 1][i / 4] = q.y; s[i % 4 * 4 + 2][i / 4] = q.z; s[i % 4 * 4 + 3][i / 4] = q.w;
        *reinterpret_cast<float4*>(&t[i / 16][i % 16 * 4]) = p;
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            float4 l = *reinterpret_cast<float4*>(&s[j][ty * 4]), r = *reinterpret_cast<float4*>(&t[j][tx * 4]);
            float ls[4] = {l.x, l.y, l.z, l.w}, rs[4] = {r.x, r.y, r.z, r.w};
            #pragma unroll
            for (int y = 0; y < 4; ++y)
                #pragma unroll
                for (int x = 0; x < 4; ++x) v[y][x] += ls[y] * rs[x];
        }
        __syncthreads();
    }
    for (int y = 0; y < 4; ++y)
        *reinterpret_cast<float4*>(c + (blockIdx.y * 64 + ty * 4 + y) * n + blockIdx.x * 64 + tx * 4) = {v[y][0], v[y][1], v[y][2], v[y][3]};
}
G vector_product(float* y, const float* a, const float* x, int n) {  // a warp a row
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = 0;
    for (int k = lane; k < n; k += 32) v += a[row * n + k] * x[k];
    v = warp_sum(v);
    if (lane == 0) y[row] = v;
}
G transpose(float* out, const float* in, int n) {
    __shared__ float s[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}
G rows_of_matrix(float* y, const int* begins, const int* columns, const float* values, const float* x, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float v = 0;
    for (int k = begins[row]; k < begins[row + 1]; ++k) v += values[k] * x[columns[k]];
    y[row] = v;
}
G warps_of_matrix(float* y, const int* begins, const int* columns, const float* values, const float* x, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float v = 0;
    for (int k = begins[row] + lane; k < begins[row + 1]; k += 32) v += values[k] * x[columns[k]];
    v = warp_sum(v);
    if (lane == 0) y[row] = v;
}
G gather(float* out, const float* in, const int* index) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[index[i]];
}
G scatter(float* out, const float* in, const int* index) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[index[i]] = in[i];
}
G embed(float4* out, const float4* table, const int* index) {  // rows of 64 floats, 16 threads each
    int row = blockIdx.x * 16 + threadIdx.x / 16, k = threadIdx.x % 16;
    out[row * 16 + k] = table[index[row] * 16 + k];
}
G histogram_shared(unsigned* bins, const uint8_t* in, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[in[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
G histogram_global(unsigned* bins, const int* in) {
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x]], 1);
}
G add_scattered(float* out, const int* index, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[index[i]], in[i]);
}
G compact(int* out, unsigned* count, const int* in, unsigned last) {  // one addition a warp, into a ring
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], lane = threadIdx.x & 31;
    unsigned kept = __ballot_sync(~0u, v & 1);
    int at = 0;
    if (lane == 0) at = atomicAdd(count, __popc(kept));
    at = __shfl_sync(~0u, at, 0);
    if (v & 1) out[(at + __popc(kept & ((1u << lane) - 1))) & last] = v;
}
G attention(float* out, const float* q, const float* k, const float* v, int n) {  // a warp a query, 64 values, online
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float q0 = q[row * 64 + lane], q1 = q[row * 64 + lane + 32], most = -1e30f, all = 0, a = 0, b = 0;
    for (int j = 0; j < n; ++j) {
        float score = warp_sum(q0 * k[j * 64 + lane] + q1 * k[j * 64 + lane + 32]) * .125f;
        float now = fmaxf(most, score), scale = __expf(most - now), w = __expf(score - now);
        all = all * scale + w;
        a = a * scale + w * v[j * 64 + lane];
        b = b * scale + w * v[j * 64 + lane + 32];
        most = now;
    }
    out[row * 64 + lane] = a / all; out[row * 64 + lane + 32] = b / all;
}
G softmax(float* out, const float* in, int n) {  // a block of 256 a row
    __shared__ float parts[8];
    const float* row = in + blockIdx.x * n;
    float most = -1e30f, all = 0;
    for (int i = threadIdx.x; i < n; i += 256) most = fmaxf(most, row[i]);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    most = warp_max(parts[threadIdx.x % 8]);
    for (int i = threadIdx.x; i < n; i += 256) all += __expf(row[i] - most);
    __syncthreads();
    all = 1 / block_sum<8>(all);
    for (int i = threadIdx.x; i < n; i += 256) out[blockIdx.x * n + i] = __expf(row[i] - most) * all;
}
G normalize(float* out, const float* in, const float* scale) {  // a warp a row of 512
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v[16], sum = 0, squares = 0;
    for (int k = 0; k < 16; ++k) sum += v[k] = in[row * 512 + k * 32 + lane];
    float mean = warp_sum(sum) / 512;
    for (int k = 0; k < 16; ++k) squares += (v[k] - mean) * (v[k] - mean);
    float by = rsqrtf(warp_sum(squares) / 512 + 1e-5f);
    for (int k = 0; k < 16; ++k) out[row * 512 + k * 32 + lane] = (v[k] - mean) * by * scale[k * 32 + lane];
}
G sort_step(int* a, int j, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i) {
        int x = a[i], y = a[other];
        if ((x > y) == ((i & k) == 0)) { a[i] = y; a[other] = x; }
    }
}
G sort_shared(int* a) {  // 1,024 of 512 threads
    __shared__ int s[1024];
    int t = threadIdx.x;
    s[t] = a[blockIdx.x * 1024 + t]; s[t + 512] = a[blockIdx.x * 1024 + t + 512];
    for (int k = 2; k <= 1024; k <<= 1)
        for (int j = k / 2; j > 0; j >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (j - 1)), x = s[i], y = s[i + j];
            if ((x > y) == ((i & k) == 0)) { s[i] = y; s[i + j] = x; }
        }
    __syncthreads();
    a[blockIdx.x * 1024 + t] = s[t]; a[blockIdx.x * 1024 + t + 512] = s[t + 512];
}
G digits(int* counts, const unsigned* in, int shift) {  // 16 digits of 2,048 keys a block
    __shared__ int s[16];
    if (threadIdx.x < 16) s[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        unsigned d = in[blockIdx.x * 2048 + k * 256 + threadIdx.x] >> shift & 15, same = __match_any_sync(~0u, d);
        if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&s[d], __popc(same));
    }
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}
G copy_strided(float* out, const float* in, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride];
}
G saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
G bodies(float4* out, const float4* in, int n) {
    __shared__ float4 s[128];
    float4 me = in[blockIdx.x * 128 + threadIdx.x];
    float x = 0, y = 0, z = 0;
    for (int k = 0; k < n; k += 128) {
        s[threadIdx.x] = in[k + threadIdx.x];
        __syncthreads();
        #pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            float4 o = s[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + .01f), f = o.w * r * r * r;
            x += dx * f; y += dy * f; z += dz * f;
        }
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = {x, y, z, 0};
}
G convolve(float* out, const float* in, const float* __restrict__ taps) {  // 33 taps, tiles in shared memory
    __shared__ float s[256 + 32], w[33];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = in[i];
    if (t < 32) s[256 + t] = in[i + 256];
    if (t < 33) w[t] = taps[t];
    __syncthreads();
    float v = 0;
    #pragma unroll
    for (int k = 0; k < 33; ++k) v += w[k] * s[t + k];
    out[i] = v;
}
G gray(uint8_t* out, const uint8_t* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (in[3 * i] * 77 + in[3 * i + 1] * 150 + in[3 * i + 2] * 29) >> 8;
}
G parts_of_structs(float* x, float* y, float* z, const float3* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 v = in[i];
    x[i] = v.x; y[i] = v.y; z[i] = v.z;
}
G paths(int* d, int n, int k) {  // one step of Floyd and Warshall
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    int over = d[y * n + k] + d[k * n + x];
    if (over < d[y * n + x]) d[y * n + x] = over;
}
G transform(float2* a) {  // FFT of 512 values by 256 threads in shared memory
    __shared__ float2 s[512];
    int t = threadIdx.x;
    float2* row = a + blockIdx.x * 512;
    s[__brev(t) >> 23] = row[t]; s[__brev(t + 256) >> 23] = row[t + 256];
    for (int h = 1; h < 512; h <<= 1) {
        __syncthreads();
        int k = t & (h - 1), i = 2 * t - k;
        float sn, cs;
        __sincosf(-3.14159265f * k / h, &sn, &cs);
        float2 x = s[i], y = s[i + h];
        float re = y.x * cs - y.y * sn, im = y.x * sn + y.y * cs;
        s[i] = {x.x + re, x.y + im}; s[i + h] = {x.x - re, x.y - im};
    }
    __syncthreads();
    row[t] = s[t]; row[t + 256] = s[t + 256];
}
G darts(unsigned* inside, int n) {
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 1, hits = 0;
    for (int k = 0; k < n; ++k) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5; float u = x * 2.3283064e-10f;
        x ^= x << 13; x ^= x >> 17; x ^= x << 5; float v = x * 2.3283064e-10f;
        hits += u * u + v * v < 1;
    }
    hits = __reduce_add_sync(~0u, hits);
    if (threadIdx.x % 32 == 0) atomicAdd(inside, hits);
}
G breadth_first(int* level, const int* begins, const int* edges, int nodes, int now) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes && level[i] == now)
        for (int k = begins[i]; k < begins[i + 1]; ++k)
            if (level[edges[k]] < 0) level[edges[k]] = now + 1;
}
G look_up(int* out, const int* sorted, const int* keys, int n) {  // binary search
    int i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i], low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key) low = middle + 1; else high = middle;
    }
    out[i] = low;
}
