// Kernels as people write them, launched in several sizes, recorded before they were simulated.
#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>
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
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < WARPS; ++w) v += parts[w];
    return v;
}

G layer_norm(float4* out, const float4* in, const float4* scale, const float4* shift) {  // a block of 256 a row of 1,024
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = in[i];
    float mean = block_sum<8>(v.x + v.y + v.z + v.w) / 1024;
    v.x -= mean; v.y -= mean; v.z -= mean; v.w -= mean;
    float by = rsqrtf(block_sum<8>(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) / 1024 + 1e-5f);
    float4 s = scale[threadIdx.x], t = shift[threadIdx.x];
    out[i] = {v.x * by * s.x + t.x, v.y * by * s.y + t.y, v.z * by * s.z + t.z, v.w * by * s.w + t.w};
}
G rotate(float2* q, const int* positions, int heads) {  // rotary embedding in place: 32 pairs a head
    int token = blockIdx.x, pair = threadIdx.x % 32;
    float angle = positions[token] * exp2f(-pair * 0.415241f), sn, cs;
    __sincosf(angle, &sn, &cs);
    for (int h = threadIdx.x / 32; h < heads; h += blockDim.x / 32) {
        float2 v = q[(token * heads + h) * 32 + pair];
        q[(token * heads + h) * 32 + pair] = {v.x * cs - v.y * sn, v.x * sn + v.y * cs};
    }
}
G cross_entropy(float* loss, const float* logits, const int* labels, int n) {
    const float* row = logits + (size_t)blockIdx.x * n;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += 128) {
        float v = row[i];
        if (v > most) { sum *= __expf(most - v); most = v; }
        sum += __expf(v - most);
    }
    float all = warp_max(most);
    sum = warp_sum(sum * __expf(most - all));
    __shared__ float m[4], s[4];
    if (threadIdx.x % 32 == 0) { m[threadIdx.x / 32] = all; s[threadIdx.x / 32] = sum; }
    __syncthreads();
    if (threadIdx.x == 0) {
        float top = fmaxf(fmaxf(m[0], m[1]), fmaxf(m[2], m[3])), v = 0;
        for (int k = 0; k < 4; ++k) v += s[k] * __expf(m[k] - top);
        loss[blockIdx.x] = __logf(v) + top - row[labels[blockIdx.x]];
    }
}
G dropout(float* out, const float* in, uint32_t seed, uint32_t keep) {  // Philox, 4 values a thread
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, a = i, b = 0, c = 17, d = 0, k = seed, l = ~seed;
    #pragma unroll
    for (int r = 0; r < 10; ++r) {
        uint32_t h = __umulhi(0xD2511F53u, a), g = 0xD2511F53u * a, e = __umulhi(0xCD9E8D57u, c), f = 0xCD9E8D57u * c;
        a = e ^ b ^ k; b = f; c = h ^ d ^ l; d = g;
        k += 0x9E3779B9u; l += 0xBB67AE85u;
    }
    float4 v = reinterpret_cast<const float4*>(in)[i];
    v.x = a < keep ? v.x * 1.25f : 0; v.y = b < keep ? v.y * 1.25f : 0; v.z = c < keep ? v.z * 1.25f : 0; v.w = d < keep ? v.w * 1.25f : 0;
    reinterpret_cast<float4*>(out)[i] = v;
}
G adam(float* w, float* m, float* v, const float* g, float rate, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = g[i], a = .9f * m[i] + .1f * d, b = .999f * v[i] + .001f * d * d;
    m[i] = a; v[i] = b;
    w[i] -= rate * a / (sqrtf(b) + 1e-8f);
}
G pool(float* out, const float* in, int n) {  // the largest of 3 x 3, every second one
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float most = -1e30f;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) {
            int u = 2 * x + dx, v = 2 * y + dy;
            if (u < 2 * n && v < 2 * n) most = fmaxf(most, in[v * 2 * n + u]);
        }
    out[y * n + x] = most;
}
G convolve2d(float* out, const float* in, const float* taps, int n, int channels) {  // 3 x 3, one channel out
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float v = 0;
    for (int c = 0; c < channels; ++c)
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) v += in[(c * (n + 2) + y + dy) * (n + 2) + x + dx] * taps[(blockIdx.z * channels + c) * 9 + dy * 3 + dx];
    out[(blockIdx.z * n + y) * n + x] = v;
}
G product_halves(float* c, const half* a, const half* b, int n) {  // tensor cores: 4 warps, a tile of 64 x 64
    using namespace nvcuda::wmma;
    __shared__ half s[64 * 40], t[32 * 72];
    int warp = threadIdx.x / 32, i = threadIdx.x;
    fragment<accumulator, 16, 16, 16, float> sum[4];
    for (int k = 0; k < 4; ++k) fill_fragment(sum[k], 0.f);
    for (int k = 0; k < n; k += 32) {
        for (int j = i; j < 256; j += 128) {
            *(uint4*)(s + j / 4 * 40 + j % 4 * 8) = *(const uint4*)(a + (blockIdx.y * 64 + j / 4) * n + k + j % 4 * 8);
            *(uint4*)(t + j / 8 * 72 + j % 8 * 8) = *(const uint4*)(b + (k + j / 8) * n + blockIdx.x * 64 + j % 8 * 8);
        }
        __syncthreads();
        for (int j = 0; j < 32; j += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> p;
            load_matrix_sync(p, s + warp * 16 * 40 + j, 40);
            for (int m = 0; m < 4; ++m) {
                fragment<matrix_b, 16, 16, 16, half, row_major> q;
                load_matrix_sync(q, t + j * 72 + m * 16, 72);
                mma_sync(sum[m], p, q, sum[m]);
            }
        }
        __syncthreads();
    }
    for (int m = 0; m < 4; ++m) store_matrix_sync(c + (blockIdx.y * 64 + warp * 16) * n + blockIdx.x * 64 + m * 16, sum[m], n, mem_row_major);
}
G vector_halves(float* y, const half2* a, const half2* x, int pairs) {  // a warp a row
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = 0;
    for (int k = lane; k < pairs; k += 32) {
        float2 p = __half22float2(a[(size_t)row * pairs + k]), q = __half22float2(x[k]);
        v += p.x * q.x + p.y * q.y;
    }
    v = warp_sum(v);
    if (lane == 0) y[row] = v;
}
G nearest_centre(int* out, const float4* points, const float4* centres) {  // k-means: 64 centres in shared memory
    __shared__ float4 c[64];
    if (threadIdx.x < 64) c[threadIdx.x] = centres[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x, best = 0;
    float4 p = points[i];
    float least = 1e30f;
    for (int k = 0; k < 64; ++k) {
        float x = p.x - c[k].x, y = p.y - c[k].y, z = p.z - c[k].z, w = p.w - c[k].w, d = x * x + y * y + z * z + w * w;
        if (d < least) { least = d; best = k; }
    }
    out[i] = best;
}
G add_to_centres(float* sums, int* counts, const float4* points, const int* which) {
    int i = blockIdx.x * 256 + threadIdx.x, k = which[i];
    float4 p = points[i];
    atomicAdd(&sums[4 * k], p.x); atomicAdd(&sums[4 * k + 1], p.y); atomicAdd(&sums[4 * k + 2], p.z); atomicAdd(&sums[4 * k + 3], p.w);
    atomicAdd(&counts[k], 1);
}
G bag(float* out, const float* table, const int* index, int each) {  // sums of rows of 128 floats, a warp a bag
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 v = {0, 0, 0, 0};
    for (int k = 0; k < each; ++k) {
        float4 q = reinterpret_cast<const float4*>(table + (size_t)index[row * each + k] * 128)[lane];
        v.x += q.x; v.y += q.y; v.z += q.z; v.w += q.w;
    }
    reinterpret_cast<float4*>(out + row * 128)[lane] = v;
}
G probe(int* out, const int2* table, const int* keys, unsigned mask) {  // a hash table with open addresses
    int i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i];
    unsigned at = key * 2654435761u & mask;
    while (true) {
        int2 e = table[at];
        if (e.x == key) { out[i] = e.y; return; }
        if (e.x < 0) { out[i] = -1; return; }
        at = (at + 1) & mask;
    }
}
G column_sums(float* out, const float* in, int rows, int columns) {
    int x = blockIdx.x * 128 + threadIdx.x;
    float v = 0;
    for (int y = blockIdx.y; y < rows; y += gridDim.y) v += in[y * columns + x];
    atomicAdd(&out[x], v);
}
G dot(float* out, const float4* a, const float4* b, int n) {
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 p = a[i], q = b[i];
        v += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    v = block_sum<16>(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
}
G largest(int* places, const float* in) {  // the largest of 1,024 and its place, a tree in shared memory
    __shared__ float s[512];
    __shared__ int p[512];
    int t = threadIdx.x, i = blockIdx.x * 1024 + t;
    float a = in[i], b = in[i + 512];
    s[t] = fmaxf(a, b); p[t] = a >= b ? t : t + 512;
    __syncthreads();
    for (int k = 256; k > 0; k >>= 1) {
        if (t < k && s[t + k] > s[t]) { s[t] = s[t + k]; p[t] = p[t + k]; }
        __syncthreads();
    }
    if (t == 0) places[blockIdx.x] = p[0];
}
G hadamard(float* a) {  // 1,024 values a block of 256 threads
    __shared__ float s[1024];
    int t = threadIdx.x;
    for (int k = 0; k < 4; ++k) s[t + 256 * k] = a[blockIdx.x * 1024 + t + 256 * k];
    for (int h = 1; h < 1024; h <<= 1) {
        __syncthreads();
        for (int k = t; k < 512; k += 256) {
            int i = 2 * k - (k & (h - 1));
            float x = s[i], y = s[i + h];
            s[i] = x + y; s[i + h] = x - y;
        }
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k) a[blockIdx.x * 1024 + t + 256 * k] = s[t + 256 * k] * .03125f;
}
G align(int* score, const uint8_t* first, const uint8_t* second) {  // Smith and Waterman, 64 letters each, by diagonals
    __shared__ int h[3][65];
    __shared__ uint8_t a[64], b[64];
    int t = threadIdx.x, best = 0;
    a[t] = first[blockIdx.x * 64 + t]; b[t] = second[blockIdx.x * 64 + t];
    h[0][t] = h[1][t] = h[2][t] = 0;
    if (t == 0) h[0][64] = h[1][64] = h[2][64] = 0;
    __syncthreads();
    for (int d = 0; d < 127; ++d) {
        int j = d - t, now = d % 3, last = (d + 2) % 3, before = (d + 1) % 3;
        if (j >= 0 && j < 64) {
            int v = max(0, h[before][t] + (a[t] == b[j] ? 2 : -1));
            v = max(v, max(h[last][t], h[last][t + 1]) - 1);
            h[now][t + 1] = v;
            best = max(best, v);
        }
        __syncthreads();
    }
    best = __reduce_max_sync(~0u, best);
    if (t % 32 == 0) atomicMax(&score[blockIdx.x], best);
}
G cholesky(float* a) {  // 16 x 16 matrices, a block of 256 threads each
    __shared__ float s[16][17];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    s[y][x] = a[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
        if (x == k && y == k) s[k][k] = sqrtf(s[k][k]);
        __syncthreads();
        if (x == k && y > k) s[y][k] /= s[k][k];
        __syncthreads();
        if (x > k && y >= x) s[y][x] -= s[y][k] * s[x][k];
        __syncthreads();
    }
    a[blockIdx.x * 256 + threadIdx.x] = x <= y ? s[y][x] : 0;
}
G lattice(float* out, const float* in, int n) {  // D2Q9: 9 arrays read, 9 written
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float w[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y;
    float f[9], rho = 0, ux = 0, uy = 0;
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        f[k] = in[(k * n + ((y - dy[k] + n) & (n - 1))) * n + ((x - dx[k] + n) & (n - 1))];
        rho += f[k]; ux += dx[k] * f[k]; uy += dy[k] * f[k];
    }
    ux /= rho; uy /= rho;
    float uu = 1.5f * (ux * ux + uy * uy);
    #pragma unroll
    for (int k = 0; k < 9; ++k) {
        float e = 3 * (dx[k] * ux + dy[k] * uy);
        out[(k * n + y) * n + x] = f[k] + .6f * (w[k] * rho * (1 + e + .5f * e * e - uu) - f[k]);
    }
}
G tridiagonal(float* x, const float* b, int n, int systems) {  // a system a thread, equations of all side by side
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float c = 0, d = 0;
    for (int k = 0; k < n; ++k) {
        float by = 1 / (4 - c);
        d = (b[k * systems + i] + d) * by;
        c = by;
        x[k * systems + i] = d;
    }
    float last = 0, by = 1 / (4 - c);
    for (int k = n - 1; k >= 0; --k) {
        last = x[k * systems + i] + by * last;
        x[k * systems + i] = last;
    }
}
G options(float* call, float* put, const float* price, const float* strike, const float* years) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = price[i], k = strike[i], t = years[i], root = sqrtf(t), d1 = (logf(s / k) + .07f * t) / (.3f * root), d2 = d1 - .3f * root;
    float n1 = normcdff(d1), n2 = normcdff(d2), e = k * expf(-.025f * t);
    call[i] = s * n1 - e * n2; put[i] = e * (1 - n2) - s * (1 - n1);
}
G quantize(char4* out, float* scales, const float4* in) {  // rows of 512, a warp each
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 v[4];
    float most = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = in[row * 128 + k * 32 + lane];
        most = fmaxf(most, fmaxf(fmaxf(fabsf(v[k].x), fabsf(v[k].y)), fmaxf(fabsf(v[k].z), fabsf(v[k].w))));
    }
    most = warp_max(most);
    float by = 127 / most;
    for (int k = 0; k < 4; ++k)
        out[row * 128 + k * 32 + lane] = make_char4(__float2int_rn(v[k].x * by), __float2int_rn(v[k].y * by), __float2int_rn(v[k].z * by), __float2int_rn(v[k].w * by));
    if (lane == 0) scales[row] = most / 127;
}
G permute(float* out, const float* in, int h) {  // [batch][token][head][64] to [batch][head][token][64]
    int token = blockIdx.x, tokens = gridDim.x, head = threadIdx.x / 64, k = threadIdx.x % 64;
    for (int j = head; j < h; j += blockDim.x / 64) out[((size_t)(blockIdx.y * h + j) * tokens + token) * 64 + k] = in[((size_t)(blockIdx.y * tokens + token) * h + j) * 64 + k];
}
G product_doubles(double* c, const double* a, const double* b, int n) {
    __shared__ double s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    double v = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x]; t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; ++j) v += s[y][j] * t[j][x];
        __syncthreads();
    }
    c[row * n + column] = v;
}
G spheres(float* out, const float4* s, int n, int width) {  // rays of a picture against all spheres
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float dx = x * 2.f / width - 1, dy = y * 2.f / width - 1, by = rsqrtf(dx * dx + dy * dy + 1), near = 1e30f;
    dx *= by; dy *= by;
    for (int k = 0; k < n; ++k) {
        float4 q = s[k];
        float b = q.x * dx + q.y * dy + q.z * by, c = q.x * q.x + q.y * q.y + q.z * q.z - q.w * q.w, d = b * b - c;
        if (d > 0) near = fminf(near, b - sqrtf(d));
    }
    out[y * width + x] = near;
}
G merge(int* out, const int* a, const int* b, int n) {  // two sorted lists, 8 a thread, by search on diagonals
    int from = (blockIdx.x * blockDim.x + threadIdx.x) * 8, low = max(0, from - n), high = min(from, n);
    while (low < high) {
        int m = (low + high) / 2;
        if (a[m] <= b[from - 1 - m]) low = m + 1; else high = m;
    }
    int i = low, j = from - low;
    for (int k = 0; k < 8; ++k) out[from + k] = j >= n || (i < n && a[i] <= b[j]) ? a[i++] : b[j++];
}
G sobel(uint8_t* out, const uint8_t* in, int n) {
    __shared__ uint8_t s[10][36];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int k = ty * 32 + tx; k < 340; k += 256) s[k / 34][k % 34] = in[(y0 + k / 34) * (n + 2) + x0 + k % 34];
    __syncthreads();
    int gx = s[ty][tx + 2] + 2 * s[ty + 1][tx + 2] + s[ty + 2][tx + 2] - s[ty][tx] - 2 * s[ty + 1][tx] - s[ty + 2][tx];
    int gy = s[ty + 2][tx] + 2 * s[ty + 2][tx + 1] + s[ty + 2][tx + 2] - s[ty][tx] - 2 * s[ty][tx + 1] - s[ty][tx + 2];
    out[(y0 + ty) * n + x0 + tx] = min(255, abs(gx) + abs(gy));
}
