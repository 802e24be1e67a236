// Kernels as people write them, whose accesses to shared memory go on while data come from global memory or leave for it.
#include <cuda_pipeline.h>

typedef unsigned Word;

// ---- products of square matrices

template <int STAGES> __device__ void stages(float* c, const float* a, const float* b, int n) {
    extern __shared__ float memory[];
    float(*x)[64][16] = (float(*)[64][16])memory, (*y)[16][64] = (float(*)[16][64])(memory + STAGES * 1024);
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4, i0 = blockIdx.y * 64, j0 = blockIdx.x * 64;
    float sum[4][4] = {};
    auto fetch = [&](int k, int stage) {
        __pipeline_memcpy_async(&x[stage][t / 4][t % 4 * 4], a + (size_t)(i0 + t / 4) * n + k + t % 4 * 4, 16);
        __pipeline_memcpy_async(&y[stage][t / 16][t % 16 * 4], b + (size_t)(k + t / 16) * n + j0 + t % 16 * 4, 16);
    };
    for (int s = 0; s < STAGES - 1; s++) {
        fetch(16 * s, s);
        __pipeline_commit();
    }
    for (int k = 0, s = 0; k < n; k += 16, s = (s + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        if (k + 16 * (STAGES - 1) < n) fetch(k + 16 * (STAGES - 1), (s + STAGES - 1) % STAGES);
        __pipeline_commit();
        for (int q = 0; q < 16; q++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += x[s][row + i][q] * y[s][q][column + j];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(size_t)(i0 + row + i) * n + j0 + column + j] = sum[i][j];
}
extern "C" __global__ void stages2(float* c, const float* a, const float* b, int n) { stages<2>(c, a, b, n); }
extern "C" __global__ void stages4(float* c, const float* a, const float* b, int n) { stages<4>(c, a, b, n); }

extern "C" __global__ void two_buffers(float* c, const float* a, const float* b, int n) {
    __shared__ float x[2][32][33], y[2][32][32];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 32 + ty, j = blockIdx.x * 32 + tx;
    float own[4], other[4], sum[4] = {};
    for (int r = 0; r < 4; r++) {
        x[0][ty + 8 * r][tx] = a[(size_t)(i + 8 * r) * n + tx];
        y[0][ty + 8 * r][tx] = b[(size_t)(ty + 8 * r) * n + j];
    }
    __syncthreads();
    for (int k = 0, now = 0; k < n; k += 32, now ^= 1) {
        bool more = k + 32 < n;
        if (more)
            for (int r = 0; r < 4; r++) {
                own[r] = a[(size_t)(i + 8 * r) * n + k + 32 + tx];
                other[r] = b[(size_t)(k + 32 + ty + 8 * r) * n + j];
            }
        for (int q = 0; q < 32; q++)
            for (int r = 0; r < 4; r++) sum[r] += x[now][ty + 8 * r][q] * y[now][q][tx];
        if (more)
            for (int r = 0; r < 4; r++) x[now ^ 1][ty + 8 * r][tx] = own[r], y[now ^ 1][ty + 8 * r][tx] = other[r];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++) c[(size_t)(i + 8 * r) * n + j] = sum[r];
}

extern "C" __global__ void product_wide(float* c, const float4* a, const float4* b, int n) {
    __shared__ float x[8][128];
    __shared__ float4 y[8][32];
    int t = threadIdx.x, row = t / 16 * 8, column = t % 16 * 2, i0 = blockIdx.y * 128, j0 = blockIdx.x * 32;
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        float4 v = a[((size_t)(i0 + t / 2) * n + k) / 4 + t % 2];
        float4 w = b[(size_t)(k + t / 32) * n / 4 + j0 + t % 32];
        __syncthreads();
        x[t % 2 * 4][t / 2] = v.x, x[t % 2 * 4 + 1][t / 2] = v.y, x[t % 2 * 4 + 2][t / 2] = v.z, x[t % 2 * 4 + 3][t / 2] = v.w;
        y[t / 32][t % 32] = w;
        __syncthreads();
        for (int q = 0; q < 8; q++) {
            float4 l = y[q][column], r = y[q][column + 1];
            for (int i = 0; i < 8; i++) {
                float f = x[q][row + i];
                sum[i][0] += f * l.x, sum[i][1] += f * l.y, sum[i][2] += f * l.z, sum[i][3] += f * l.w;
                sum[i][4] += f * r.x, sum[i][5] += f * r.y, sum[i][6] += f * r.z, sum[i][7] += f * r.w;
            }
        }
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) c[(size_t)(i0 + row + i) * n + 4 * (j0 + column) + j] = sum[i][j];
}

// ---- transposes

extern "C" __global__ void transpose_columns(float* out, const float* in, int width, int height) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(size_t)(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(size_t)(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_doubles(double* out, const double* in, int width, int height) {
    __shared__ double tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[(size_t)y * width + x];
    __syncthreads();
    out[(size_t)(blockIdx.x * 16 + threadIdx.y) * height + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void many_tiles(float* out, const float* in, int width, int height, int tiles) {
    __shared__ float tile[2][32][33];
    for (int n = blockIdx.x, now = 0; n < tiles; n += gridDim.x, now ^= 1) {
        int across = width / 32, bx = n % across, by = n / across;
        for (int k = 0; k < 32; k += 8)
            tile[now][threadIdx.y + k][threadIdx.x] = in[(size_t)(by * 32 + threadIdx.y + k) * width + bx * 32 + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k += 8)
            out[(size_t)(bx * 32 + threadIdx.y + k) * height + by * 32 + threadIdx.x] = tile[now][threadIdx.x][threadIdx.y + k];
    }
}

// ---- streams

extern "C" __global__ void smooth_stages(float* out, const float* in, int rounds) {
    __shared__ float part[4][512];
    int t = threadIdx.x;
    const float* from = in + (size_t)blockIdx.x * rounds * 512;
    float* to = out + (size_t)blockIdx.x * rounds * 512;
    for (int s = 0; s < 3; s++) {
        if (s < rounds) __pipeline_memcpy_async(&part[s][4 * t], from + 512 * s + 4 * t, 16);
        __pipeline_commit();
    }
    for (int r = 0; r < rounds; r++) {
        if (r + 3 < rounds) __pipeline_memcpy_async(&part[(r + 3) % 4][4 * t], from + 512 * (r + 3) + 4 * t, 16);
        __pipeline_commit();
        __pipeline_wait_prior(3);
        __syncthreads();
        for (int k = t; k < 512; k += 128) {
            float sum = 0;
            for (int d = -4; d <= 4; d++) sum += part[r % 4][min(max(k + d, 0), 511)];
            to[512 * r + k] = sum / 9;
        }
        __syncthreads();
    }
}
extern "C" __global__ void row_softmax(float* out, const float* in, int width) {
    extern __shared__ float row[];
    __shared__ float part[8];
    const float* from = in + (size_t)blockIdx.x * width;
    float most = -1e30f, sum = 0;
    for (int k = threadIdx.x; k < width; k += 256) most = fmaxf(most, row[k] = from[k]);
    for (int s = 16; s; s >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    for (int k = 0; k < 8; k++) most = fmaxf(most, part[k]);
    __syncthreads();
    for (int k = threadIdx.x; k < width; k += 256) sum += row[k] = __expf(row[k] - most);
    for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int k = sum = 0; k < 8; k++) sum += part[k];
    for (int k = threadIdx.x; k < width; k += 256) out[(size_t)blockIdx.x * width + k] = row[k] / sum;
}
extern "C" __global__ void scan_tree(int* out, const int* in) {
    __shared__ int v[1024];
    int t = threadIdx.x, step = 1;
    size_t at = (size_t)blockIdx.x * 1024 + t;
    v[t] = in[at], v[t + 512] = in[at + 512];
    for (int d = 512; d; d >>= 1, step *= 2) {
        __syncthreads();
        if (t < d) v[step * (2 * t + 2) - 1] += v[step * (2 * t + 1) - 1];
    }
    if (t == 0) v[1023] = 0;
    for (int d = 1; d < 1024; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, w = v[a];
            v[a] = v[b], v[b] += w;
        }
    }
    __syncthreads();
    out[at] = v[t], out[at + 512] = v[t + 512];
}
extern "C" __global__ void stencil_tile(float* out, const float* in, int n) {
    __shared__ float tile[18][34];
    int x = blockIdx.x * 32, y = blockIdx.y * 16;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 18 * 34; k += 512) {
        int r = min(max(y + k / 34 - 1, 0), n - 1), c = min(max(x + k % 34 - 1, 0), n - 1);
        tile[k / 34][k % 34] = in[(size_t)r * n + c];
    }
    __syncthreads();
    int i = threadIdx.y + 1, j = threadIdx.x + 1;
    out[(size_t)(y + i - 1) * n + x + j - 1] =
        0.2f * (tile[i][j] + tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] + tile[i][j + 1]);
}
extern "C" __global__ void bins(int* out, const unsigned char* in, int n) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int k = blockIdx.x * 256 + threadIdx.x; k < n; k += gridDim.x * 256) atomicAdd(&own[in[k]], 1);
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = own[threadIdx.x];
}
extern "C" __global__ void exchange(float2* out, const float2* in, int rounds) {
    __shared__ float2 v[16][17];
    int t = threadIdx.x, r = t / 16, c = t % 16;
    for (int k = 0; k < rounds; k++) {
        size_t at = ((size_t)blockIdx.x * rounds + k) * 256 + t;
        v[r][c] = in[at];
        __syncthreads();
        float2 a = v[c][r], b = v[c][r ^ 1];
        out[at] = make_float2(a.x + b.y, a.y - b.x);
        __syncthreads();
    }
}
extern "C" __global__ void small_products(float* c, const float* a, const float* b) {
    __shared__ float x[16][16], y[16][16];
    int i = threadIdx.y, j = threadIdx.x;
    size_t at = (size_t)blockIdx.x * 256 + 16 * i + j;
    x[i][j] = a[at], y[i][j] = b[at];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += x[i][k] * y[k][j];
    c[at] = sum;
}
extern "C" __global__ void matrix_vector(float* out, const float* a, const float* v, int n) {
    extern __shared__ float own[];
    for (int k = threadIdx.x; k < n; k += 256) own[k] = v[k];
    __syncthreads();
    for (int r = blockIdx.x * 8 + threadIdx.x / 32; r < n; r += gridDim.x * 8) {
        float sum = 0;
        for (int k = threadIdx.x % 32; k < n; k += 32) sum += a[(size_t)r * n + k] * own[k];
        for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
        if (threadIdx.x % 32 == 0) out[r] = sum;
    }
}
