// Kernels as people write them, of further kinds: written when the model of what they meet was done.
#include <cuda_pipeline.h>

// Structures of three floats to three arrays.
extern "C" __global__ void apart(float* x, float* y, float* z, const float* in) {
    __shared__ float v[768];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * 256;
    for (int k = t; k < 768; k += 256) v[k] = in[3 * at + k];
    __syncthreads();
    x[at + t] = v[3 * t], y[at + t] = v[3 * t + 1], z[at + t] = v[3 * t + 2];
}
// [a][b][c] to [c][b][a].
extern "C" __global__ void turned(float* out, const float* in, int a, int b, int c) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, z = blockIdx.y * 32 + threadIdx.y, y = blockIdx.z;
    for (int k = 0; k < 32; k += 16) tile[threadIdx.y + k][threadIdx.x] = in[((size_t)(z + k) * b + y) * c + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, z = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 16) out[((size_t)(z + k) * b + y) * a + x] = tile[threadIdx.x][threadIdx.y + k];
}
__device__ void order(unsigned char& a, unsigned char& b) {
    unsigned char low = min(a, b);
    b = max(a, b), a = low;
}
extern "C" __global__ void median(unsigned char* out, const unsigned char* in, int n) {
    __shared__ unsigned char tile[18][80];
    int x = blockIdx.x * 64, y = blockIdx.y * 16;
    for (int k = threadIdx.y * 64 + threadIdx.x; k < 18 * 66; k += 512) {
        int r = min(max(y + k / 66 - 1, 0), n - 1), c = min(max(x + k % 66 - 1, 0), n - 1);
        tile[k / 66][k % 66] = in[(size_t)r * n + c];
    }
    __syncthreads();
    for (int half = 0; half < 16; half += 8) {
        unsigned char v[9];
        for (int k = 0; k < 9; k++) v[k] = tile[threadIdx.y + half + k / 3][threadIdx.x + k % 3];
        for (int i = 0; i < 5; i++)
            for (int j = i + 1; j < 9; j++) order(v[i], v[j]);
        out[(size_t)(y + threadIdx.y + half) * n + x + threadIdx.x] = v[4];
    }
}
extern "C" __global__ void weighted(float* out, const float* in, const float* weights) {
    __shared__ float v[512 + 32], w[33];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * 512;
    if (t < 33) w[t] = weights[t];
    for (int k = t; k < 544; k += 256) v[k] = in[at + k];
    __syncthreads();
    float one = 0, two = 0;
    for (int k = 0; k < 33; k++) one += w[k] * v[t + k], two += w[k] * v[t + 256 + k];
    out[at + t] = one, out[at + t + 256] = two;
}
extern "C" __global__ void sorted(unsigned* out, const unsigned* in) {
    __shared__ unsigned v[512];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * 512;
    v[t] = in[at + t], v[t + 256] = in[at + t + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            int i = 2 * t - (t & step - 1), j = i + step;
            unsigned a = v[i], b = v[j];
            if ((a > b) == !(i & size)) v[i] = b, v[j] = a;
        }
    __syncthreads();
    out[at + t] = v[t], out[at + t + 256] = v[t + 256];
}
extern "C" __global__ void private_bins(unsigned* out, const unsigned* in, int n) {
    __shared__ unsigned bins[8][64];
    int t = threadIdx.x;
    for (int k = t; k < 512; k += 256) bins[k / 64][k % 64] = 0;
    __syncthreads();
    for (int k = blockIdx.x * 256 + t; k < n; k += gridDim.x * 256) atomicAdd(&bins[t / 32][in[k] & 63], 1);
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int w = 0; w < 8; w++) sum += bins[w][t];
        atomicAdd(out + t, sum);
    }
}
// The first matrix transposed.
extern "C" __global__ void product_turned(float* c, const float* a, const float* b, int n) {
    __shared__ float x[32][32], y[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 32, j = blockIdx.x * 32;
    float sum[2] = {};
    for (int k = 0; k < n; k += 32) {
        for (int r = ty; r < 32; r += 16) {
            x[r][tx] = a[(size_t)(k + r) * n + i + tx];
            y[r][tx] = b[(size_t)(k + r) * n + j + tx];
        }
        __syncthreads();
        for (int q = 0; q < 32; q++) sum[0] += x[q][ty] * y[q][tx], sum[1] += x[q][ty + 16] * y[q][tx];
        __syncthreads();
    }
    c[(size_t)(i + ty) * n + j + tx] = sum[0], c[(size_t)(i + ty + 16) * n + j + tx] = sum[1];
}
extern "C" __global__ void three_stages(float* out, const float* a, const float* b, int rounds) {
    __shared__ float x[3][1024], y[3][1024];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * rounds * 1024;
    auto fetch = [&](int r) {
        if (r < rounds) {
            __pipeline_memcpy_async(&x[r % 3][4 * t], a + at + 1024 * r + 4 * t, 16);
            __pipeline_memcpy_async(&y[r % 3][4 * t], b + at + 1024 * r + 4 * t, 16);
        }
        __pipeline_commit();
    };
    fetch(0), fetch(1);
    for (int r = 0; r < rounds; r++) {
        fetch(r + 2);
        __pipeline_wait_prior(2);
        __syncthreads();
        for (int k = t; k < 1024; k += 256) out[at + 1024 * r + k] = x[r % 3][k] * y[r % 3][k ^ 1] + x[r % 3][1023 - k];
        __syncthreads();
    }
}
extern "C" __global__ void scores(float* out, const float* q, const float* k, int n) {
    __shared__ float x[32][65], y[32][65];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 32, j = blockIdx.x * 32;
    for (int r = ty; r < 32; r += 8)
        for (int d = tx; d < 64; d += 32) x[r][d] = q[(size_t)(i + r) * 64 + d], y[r][d] = k[(size_t)(j + r) * 64 + d];
    __syncthreads();
    for (int r = ty; r < 32; r += 8) {
        float sum = 0;
        for (int d = 0; d < 64; d++) sum += x[r][d] * y[tx][d];
        out[(size_t)(i + r) * n + j + tx] = sum * 0.125f;
    }
}
extern "C" __global__ void largest_at(float* values, int* places, const float* in, int each) {
    __shared__ float v[256];
    __shared__ int p[256];
    int t = threadIdx.x;
    float most = -1;
    int where = 0;
    for (int k = t; k < each; k += 256) {
        float one = in[(size_t)blockIdx.x * each + k];
        if (one > most) most = one, where = k;
    }
    v[t] = most, p[t] = where;
    for (int s = 128; s; s >>= 1) {
        __syncthreads();
        if (t < s && v[t + s] > v[t]) v[t] = v[t + s], p[t] = p[t + s];
    }
    if (t == 0) values[blockIdx.x] = v[0], places[blockIdx.x] = p[0];
}
extern "C" __global__ void attracted(float4* out, const float4* bodies, int n) {
    __shared__ float4 tile[256];
    int own = blockIdx.x * 256 + threadIdx.x;
    float4 me = bodies[own], sum = {};
    for (int k = 0; k < n; k += 256) {
        tile[threadIdx.x] = bodies[k + threadIdx.x];
        __syncthreads();
        for (int q = 0; q < 256; q++) {
            float4 o = tile[q];
            float x = o.x - me.x, y = o.y - me.y, z = o.z - me.z, d = rsqrtf(x * x + y * y + z * z + 0.01f);
            d = d * d * d * o.w;
            sum.x += d * x, sum.y += d * y, sum.z += d * z;
        }
        __syncthreads();
    }
    out[own] = sum;
}
extern "C" __global__ void walsh(float* out, const float* in) {
    __shared__ float v[1024];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * 1024;
    for (int k = t; k < 1024; k += 128) v[k] = in[at + k];
    for (int step = 1; step < 1024; step *= 2) {
        __syncthreads();
        for (int k = t; k < 512; k += 128) {
            int i = 2 * k - (k & step - 1);
            float a = v[i], b = v[i + step];
            v[i] = a + b, v[i + step] = a - b;
        }
    }
    __syncthreads();
    for (int k = t; k < 1024; k += 128) out[at + k] = v[k];
}
extern "C" __global__ void row_sums(float* out, const float* in, int width) {
    __shared__ float tile[32][32];
    float sum = 0;
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int x = 0; x < width; x += 32) {
        for (int r = ty; r < 32; r += 8) tile[r][tx] = in[(size_t)(blockIdx.x * 32 + r) * width + x + tx];
        __syncthreads();
        if (ty == 0)
            for (int k = 0; k < 32; k++) sum += tile[tx][k];
        __syncthreads();
    }
    if (ty == 0) out[blockIdx.x * 32 + tx] = sum;
}
extern "C" __global__ void column_scan(float* out, const float* in, int n) {
    __shared__ float tile[64][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    float before = 0;
    for (int y = 0; y < n; y += 64) {
        for (int r = ty; r < 64; r += 8) tile[r][tx] = in[(size_t)(y + r) * n + blockIdx.x * 32 + tx];
        __syncthreads();
        if (ty == 0)
            for (int r = 0; r < 64; r++) tile[r][tx] = before += tile[r][tx];
        __syncthreads();
        for (int r = ty; r < 64; r += 8) out[(size_t)(y + r) * n + blockIdx.x * 32 + tx] = tile[r][tx];
        __syncthreads();
    }
}
