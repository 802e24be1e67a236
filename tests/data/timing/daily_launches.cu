// Kernels of 28 kinds as courses and samples have them, launched in two sizes each, recorded before they were simulated.
#include <cstdint>
#include <cuda_fp16.h>
#define G extern "C" __global__ void
#define ALL 0xFFFFFFFFu
#define AT int i = blockIdx.x * blockDim.x + threadIdx.x

// streams
G add_vectors(float* c, const float* a, const float* b, int n) {
    AT;
    if (i < n) c[i] = a[i] + b[i];
}
G black_scholes(float* call, float* put, const float* price, const float* strike, const float* years, float rate, float vol) {
    AT;
    float s = price[i] * 25 + 5, x = strike[i] * 99 + 1, t = years[i] * 9.75f + 0.25f, root = sqrtf(t);
    float d1 = (__logf(s / x) + (rate + 0.5f * vol * vol) * t) / (vol * root), d2 = d1 - vol * root;
    float low = normcdff(d1), high = normcdff(d2), by = __expf(-rate * t);
    call[i] = s * low - x * by * high;
    put[i] = x * by * (1 - high) - s * (1 - low);
}
struct Particle { float x, y, z, vx, vy, vz, mass, age; };
G move_particles(Particle* p, float dt) {  // structures of 32 bytes, in place
    AT;
    Particle v = p[i];
    v.vy -= 9.81f * dt, v.x += v.vx * dt, v.y += v.vy * dt, v.z += v.vz * dt, v.age += dt;
    p[i] = v;
}
G gray_of_bytes(uint8_t* out, const uchar3* in, int n) {
    AT;
    if (i < n) out[i] = (in[i].x * 77 + in[i].y * 151 + in[i].z * 28) >> 8;
}
G relu_of_halves(half2* v, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v[i] = __hmax2(v[i], __float2half2_rn(0));
}
// sums
G sum_interleaved(float* out, const float* in) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        if (t % (2 * d) == 0) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
G sum_unrolled(float* out, const float* in, int n) {
    __shared__ float s[512];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * 1024 + t; i < n; i += gridDim.x * 1024) v += in[i] + in[i + 512];
    s[t] = v;
    __syncthreads();
    if (t < 256) s[t] += s[t + 256];
    __syncthreads();
    if (t < 128) s[t] += s[t + 128];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        v = s[t] + s[t + 32];
        for (int d = 16; d; d >>= 1) v += __shfl_down_sync(ALL, v, d);
        if (t == 0) out[blockIdx.x] = v;
    }
}
G dot_product(float* out, const float* a, const float* b, int n) {
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i] * b[i];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(ALL, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
G layer_norm(float* out, const float* in, const float* gain, const float* bias, int n) {  // a row a block
    __shared__ float parts[2][32];
    const float* row = in + (size_t)blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) sum += row[k], squares += row[k] * row[k];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(ALL, sum, d), squares += __shfl_xor_sync(ALL, squares, d);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (lane == 0) parts[0][warp] = sum, parts[1][warp] = squares;
    __syncthreads();
    sum = lane < warps ? parts[0][lane] : 0, squares = lane < warps ? parts[1][lane] : 0;
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(ALL, sum, d), squares += __shfl_xor_sync(ALL, squares, d);
    float mean = sum / n, by = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[(size_t)blockIdx.x * n + k] = (row[k] - mean) * by * gain[k] + bias[k];
}
G softmax_rows(float* out, const float* in, int n) {  // a row a block, a tree for each sum
    __shared__ float s[256];
    int t = threadIdx.x;
    const float* row = in + (size_t)blockIdx.x * n;
    float most = -1e30f;
    for (int k = t; k < n; k += 256) most = fmaxf(most, row[k]);
    s[t] = most;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    most = s[0];
    __syncthreads();
    float sum = 0;
    for (int k = t; k < n; k += 256) sum += __expf(row[k] - most);
    s[t] = sum;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    sum = s[0];
    for (int k = t; k < n; k += 256) out[(size_t)blockIdx.x * n + k] = __expf(row[k] - most) / sum;
}
// scans
G scan_hillis(int* out, int* sums, const int* in) {
    __shared__ int s[2][512];
    int t = threadIdx.x, now = 0;
    s[0][t] = in[blockIdx.x * 512 + t];
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        s[1 - now][t] = s[now][t] + (t >= d ? s[now][t - d] : 0);
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * 512 + t] = s[now][t];
    if (t == 511) sums[blockIdx.x] = s[now][t];
}
G add_of_blocks(int* data, const int* before) { data[blockIdx.x * 512 + threadIdx.x] += before[blockIdx.x]; }
// products
G product_naive(float* c, const float* a, const float* b, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}
G product_in_tiles(float* c, const float* a, const float* b, int n) {
    __shared__ float as[32][32], bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    float sum = 0;
    for (int m = 0; m < n; m += 32) {
        as[ty][tx] = a[y * n + m + tx];
        bs[ty][tx] = b[(m + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
G vector_by_threads(float* out, const float* m, const float* v, int n) {  // a row a thread
    AT;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += m[(size_t)i * n + k] * v[k];
    out[i] = sum;
}
G batched_products(float* c, const float* a, const float* b) {  // of 8 x 8, 64 threads each
    __shared__ float as[4][64], bs[4][64];
    int g = threadIdx.x / 64, t = threadIdx.x % 64, base = (blockIdx.x * 4 + g) * 64;
    as[g][t] = a[base + t];
    bs[g][t] = b[base + t];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += as[g][t / 8 * 8 + k] * bs[g][k * 8 + t % 8];
    c[base + t] = sum;
}
// transposes
G transpose_naive(float* out, const float* in, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}
G transpose_shared(float* out, const float* in, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
// stencils and pictures
G jacobi(float* out, const float* in, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
G stencil_of_27(float* out, const float* in, int n) {
    int x = blockIdx.x * 8 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, z = blockIdx.z * 8 + threadIdx.z + 1, m = n + 2;
    float sum = 0;
    for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) sum += in[((z + dz) * m + y + dy) * m + x + dx];
    out[(z * m + y) * m + x] = sum / 27;
}
G sobel(uint8_t* out, const uint8_t* in, int n) {
    __shared__ int s[18][18];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, w = n + 2;
    s[ty][tx] = in[y * w + x];
    if (tx < 2) s[ty][tx + 16] = in[y * w + x + 16];
    if (ty < 2) s[ty + 16][tx] = in[(y + 16) * w + x];
    if (tx < 2 && ty < 2) s[ty + 16][tx + 16] = in[(y + 16) * w + x + 16];
    __syncthreads();
    int gx = s[ty][tx + 2] + 2 * s[ty + 1][tx + 2] + s[ty + 2][tx + 2] - s[ty][tx] - 2 * s[ty + 1][tx] - s[ty + 2][tx];
    int gy = s[ty + 2][tx] + 2 * s[ty + 2][tx + 1] + s[ty + 2][tx + 2] - s[ty][tx] - 2 * s[ty][tx + 1] - s[ty][tx + 2];
    out[y * n + x] = min(255, (int)sqrtf(gx * gx + gy * gy));
}
G largest_of_fours(float* out, const float* in, int n) {  // pooling, 2 x 2
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float2* a = (const float2*)(in + 2 * y * 2 * n) + x;
    float2 p = a[0], q = a[n];
    out[y * n + x] = fmaxf(fmaxf(p.x, p.y), fmaxf(q.x, q.y));
}
G convolve_picture(float* out, const float* in, const float* mask, int n) {  // 7 x 7, borders cut
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int j = -3; j <= 3; ++j)
        for (int i = -3; i <= 3; ++i)
            if (x + i >= 0 && x + i < n && y + j >= 0 && y + j < n) sum += in[(y + j) * n + x + i] * mask[(j + 3) * 7 + i + 3];
    out[y * n + x] = sum;
}
G julia(uint8_t* out, int n, float cx, float cy) {
    int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y, steps = 0;
    float x = 3.0f * px / n - 1.5f, y = 3.0f * py / n - 1.5f;
    while (steps < 128 && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        ++steps;
    }
    out[py * n + px] = steps;
}
// tables and points
G count_letters(unsigned* bins, const uint8_t* text, int n) {
    __shared__ unsigned s[26];
    if (threadIdx.x < 26) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[text[i]], 1);
    __syncthreads();
    if (threadIdx.x < 26) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
G assign_means(int* label, const float2* point, const float2* mean, int n, int k) {
    AT;
    if (i >= n) return;
    float2 p = point[i];
    float least = 1e30f;
    int best = 0;
    for (int j = 0; j < k; ++j) {
        float dx = p.x - mean[j].x, dy = p.y - mean[j].y, d = dx * dx + dy * dy;
        if (d < least) least = d, best = j;
    }
    label[i] = best;
}
G forces(float4* out, const float4* body, int n, float soft) {
    __shared__ float4 s[256];
    AT;
    float4 own = body[i];
    float x = 0, y = 0, z = 0;
    for (int m = 0; m < n; m += 256) {
        s[threadIdx.x] = body[m + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; ++j) {
            float4 o = s[j];
            float dx = o.x - own.x, dy = o.y - own.y, dz = o.z - own.z, by = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
            by = o.w * by * by * by;
            x += dx * by, y += dy * by, z += dz * by;
        }
        __syncthreads();
    }
    out[i] = {x, y, z, 0};
}
G darts_of_threads(unsigned* hits, int n) {
    AT;
    uint32_t state = i * 747796405u + 2891336453u;
    unsigned in = 0;
    for (int k = 0; k < n; ++k) {
        state = state * 1664525u + 1013904223u;
        float x = (state >> 8) * 5.9604645e-8f;
        state = state * 1664525u + 1013904223u;
        float y = (state >> 8) * 5.9604645e-8f;
        in += x * x + y * y < 1;
    }
    atomicAdd(hits, in);
}
