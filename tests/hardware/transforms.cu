// Transforms and filters of signals and images as samples write them.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 turn(float part) {
    float2 w;
    sincospif(-2 * part, &w.y, &w.x);
    return w;
}
__device__ void butterfly_4(float2 *v) {
    float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
    d = make_float2(d.y, -d.x);
    v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
}

// Fourier transform of 256 complex numbers by 64 threads: radix 4 in registers, exchanges through shared memory,
// real and imaginary parts one after another in the same place, with padding.
extern "C" __global__ void fourier_256(const float2 *in, float2 *out) {
    __shared__ float s[256 + 256 / 16];
    int t = threadIdx.x;
    float2 v[4];
    for (int r = 0; r < 4; ++r) v[r] = in[blockIdx.x * 256 + r * 64 + t];
    for (int n = 1; n < 256; n *= 4) {
        float part = (t % n) / (float)(n * 4);
        for (int r = 1; r < 4; ++r) v[r] = v[r] * turn(part * r);
        butterfly_4(v);
        int to = t / n * n * 4 + t % n;
        auto place = [](int i) { return i + i / 16; };
        __syncthreads();
        for (int r = 0; r < 4; ++r) s[place(to + r * n)] = v[r].x;
        __syncthreads();
        for (int r = 0; r < 4; ++r) v[r].x = s[place(r * 64 + t)];
        __syncthreads();
        for (int r = 0; r < 4; ++r) s[place(to + r * n)] = v[r].y;
        __syncthreads();
        for (int r = 0; r < 4; ++r) v[r].y = s[place(r * 64 + t)];
    }
    for (int r = 0; r < 4; ++r) out[blockIdx.x * 256 + r * 64 + t] = v[r];
}

// The same of doubles in place, radix 2, bits reversed on the way in; the factors from a table in shared memory.
extern "C" __global__ void fourier_doubles(const double2 *in, double2 *out) {
    __shared__ double2 s[128], w[64];
    int t = threadIdx.x; // 64
    sincospi(-t / 64.0, &w[t].y, &w[t].x);
    for (int k = t; k < 128; k += 64) s[__brev(k) >> 25] = in[blockIdx.x * 128 + k];
    for (int half = 1; half < 128; half *= 2) {
        __syncthreads();
        int low = t & (half - 1), i = 2 * t - low;
        double2 a = s[i], b = s[i + half], f = w[low * (64 / half)];
        double2 p = {b.x * f.x - b.y * f.y, b.x * f.y + b.y * f.x};
        s[i] = make_double2(a.x + p.x, a.y + p.y);
        s[i + half] = make_double2(a.x - p.x, a.y - p.y);
    }
    __syncthreads();
    for (int k = t; k < 128; k += 64) out[blockIdx.x * 128 + k] = s[k];
}

// Number-theoretic transform modulo 998244353 of 512 numbers.
extern "C" __global__ void transform_modular(const unsigned *in, unsigned *out) {
    const unsigned p = 998244353u;
    __shared__ unsigned s[512];
    int t = threadIdx.x;
    auto product = [&](unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b % p); };
    for (int k = t; k < 512; k += 256) s[__brev(k) >> 23] = in[k] % p;
    for (int half = 1; half < 512; half *= 2) {
        unsigned root = 1, base = 3, e = (p - 1) / (2 * half);
        int low = t & (half - 1);
        unsigned long long power = (unsigned long long)e * low % (p - 1);
        for (; power; power >>= 1, base = product(base, base))
            if (power & 1) root = product(root, base);
        __syncthreads();
        int i = 2 * t - low;
        unsigned a = s[i], b = product(s[i + half], root), sum = a + b;
        s[i] = sum >= p ? sum - p : sum;
        s[i + half] = a >= b ? a - b : a + p - b;
    }
    __syncthreads();
    for (int k = t; k < 512; k += 256) out[k] = s[k];
}

#define C_A 1.3870398453221475f
#define C_B 1.3065629648763766f
#define C_C 1.1758756024193588f
#define C_D 0.7856949583871022f
#define C_E 0.5411961001461971f
#define C_F 0.2758993792829431f
#define C_NORM 0.3535533905932737f

__device__ void cosine_line(float *v, unsigned step) {
    float *p0 = v, *p1 = v + step, *p2 = p1 + step, *p3 = p2 + step, *p4 = p3 + step, *p5 = p4 + step, *p6 = p5 + step, *p7 = p6 + step;
    float x07p = *p0 + *p7, x16p = *p1 + *p6, x25p = *p2 + *p5, x34p = *p3 + *p4;
    float x07m = *p0 - *p7, x61m = *p6 - *p1, x25m = *p2 - *p5, x43m = *p4 - *p3;
    float e0 = x07p + x34p, e1 = x07p - x34p, e2 = x16p + x25p, e3 = x16p - x25p;
    *p0 = C_NORM * (e0 + e2);
    *p2 = C_NORM * (C_B * e1 + C_E * e3);
    *p4 = C_NORM * (e0 - e2);
    *p6 = C_NORM * (C_E * e1 - C_B * e3);
    *p1 = C_NORM * (C_A * x07m - C_C * x61m + C_D * x25m - C_F * x43m);
    *p3 = C_NORM * (C_C * x07m + C_F * x61m - C_A * x25m + C_D * x43m);
    *p5 = C_NORM * (C_D * x07m + C_A * x61m + C_F * x25m - C_C * x43m);
    *p7 = C_NORM * (C_F * x07m + C_D * x61m + C_C * x25m + C_A * x43m);
}
__device__ void cosine_back(float *v, unsigned step) {
    float y0 = v[0], y1 = v[step], y2 = v[2 * step], y3 = v[3 * step], y4 = v[4 * step], y5 = v[5 * step], y6 = v[6 * step], y7 = v[7 * step];
    float p04 = y0 + y4, m04 = y0 - y4, p26 = C_B * y2 + C_E * y6, m26 = C_E * y2 - C_B * y6;
    float a = p04 + p26, b = m04 + m26, c = m04 - m26, d = p04 - p26;
    float o0 = C_A * y1 + C_C * y3 + C_D * y5 + C_F * y7, o1 = C_C * y1 - C_F * y3 - C_A * y5 - C_D * y7;
    float o2 = C_D * y1 - C_A * y3 + C_F * y5 + C_C * y7, o3 = C_F * y1 - C_D * y3 + C_C * y5 - C_A * y7;
    v[0] = C_NORM * (a + o0), v[7 * step] = C_NORM * (a - o0);
    v[step] = C_NORM * (b + o1), v[6 * step] = C_NORM * (b - o1);
    v[2 * step] = C_NORM * (c + o2), v[5 * step] = C_NORM * (c - o2);
    v[3 * step] = C_NORM * (d + o3), v[4 * step] = C_NORM * (d - o3);
}

// Cosine transform of blocks of 8 × 8 pixels: a block of threads (8, 4, 2) does 32 × 16 pixels.
template <bool BACK>
__global__ void cosine_blocks(float *out, const float *in, unsigned stride) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float s[16 * (32 + 1)];
    unsigned tx = threadIdx.x, ty = threadIdx.y * 8, tz = threadIdx.z * 8;
    in += (blockIdx.y * 16 + tz) * stride + blockIdx.x * 32 + ty + tx;
    out += (blockIdx.y * 16 + tz) * stride + blockIdx.x * 32 + ty + tx;
    float *mine = s + tz * 33 + ty;
    for (unsigned i = 0; i < 8; ++i) mine[i * 33 + tx] = in[i * stride];
    cg::sync(block);
    if (BACK) cosine_back(mine + tx * 33, 1);
    else cosine_line(mine + tx * 33, 1);
    cg::sync(block);
    if (BACK) cosine_back(mine + tx, 33);
    else cosine_line(mine + tx, 33);
    cg::sync(block);
    for (unsigned i = 0; i < 8; ++i) out[i * stride] = mine[i * 33 + tx];
}
template __global__ void cosine_blocks<false>(float *, const float *, unsigned);
template __global__ void cosine_blocks<true>(float *, const float *, unsigned);

// By the definition: each pixel the product of three 8 × 8 matrices, the cosines in constant memory.
__constant__ float cosines[64] = {
    0.3535533905932738f, 0.4903926402016152f, 0.4619397662556434f, 0.4157348061512726f, 0.3535533905932738f, 0.2777851165098011f, 0.1913417161825449f, 0.0975451610080642f,
    0.3535533905932738f, 0.4157348061512726f, 0.1913417161825449f, -0.0975451610080641f, -0.3535533905932737f, -0.4903926402016152f, -0.4619397662556434f, -0.2777851165098011f,
    0.3535533905932738f, 0.2777851165098011f, -0.1913417161825449f, -0.4903926402016152f, -0.3535533905932738f, 0.0975451610080642f, 0.4619397662556433f, 0.4157348061512727f,
    0.3535533905932738f, 0.0975451610080642f, -0.4619397662556434f, -0.2777851165098011f, 0.3535533905932737f, 0.4157348061512727f, -0.1913417161825450f, -0.4903926402016153f,
    0.3535533905932738f, -0.0975451610080641f, -0.4619397662556434f, 0.2777851165098009f, 0.3535533905932738f, -0.4157348061512726f, -0.1913417161825453f, 0.4903926402016152f,
    0.3535533905932738f, -0.2777851165098010f, -0.1913417161825452f, 0.4903926402016153f, -0.3535533905932733f, -0.0975451610080649f, 0.4619397662556437f, -0.4157348061512720f,
    0.3535533905932738f, -0.4157348061512727f, 0.1913417161825450f, 0.0975451610080640f, -0.3535533905932736f, 0.4903926402016152f, -0.4619397662556435f, 0.2777851165098022f,
    0.3535533905932738f, -0.4903926402016152f, 0.4619397662556433f, -0.4157348061512721f, 0.3535533905932733f, -0.2777851165098008f, 0.1913417161825431f, -0.0975451610080625f};
extern "C" __global__ void cosine_plain(float *out, const float *in, int width) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float a[64], b[64];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y, at = (by << 3) + ty, i = (ty << 3) + tx;
    a[i] = in[at * width + (bx << 3) + tx] - 128;
    cg::sync(block);
    float v = 0;
    int c = ty, s = tx;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v += cosines[c] * a[s];
        c += 8, s += 8;
    }
    b[i] = v;
    cg::sync(block);
    v = 0;
    s = ty << 3, c = tx;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v += b[s] * cosines[c];
        c += 8, s += 1;
    }
    out[at * width + (bx << 3) + tx] = v;
}

// Coefficients divided and multiplied by a table, rounded; shorts, with halves rounded up.
__constant__ short quanta[64] = {32, 33, 51, 81, 66, 39, 34, 17, 33, 36, 48, 47, 28, 23, 12, 12, 51, 48, 47, 28, 23, 12, 12, 12, 81, 47, 28, 23, 12, 12, 12, 12,
                                 66, 28, 23, 12, 12, 12, 12, 12, 39, 23, 12, 12, 12, 12, 12, 12, 34, 12, 12, 12, 12, 12, 12, 12, 17, 12, 12, 12, 12, 12, 12, 12};
extern "C" __global__ void quantize_floats(float *data, int stride) {
    int tx = threadIdx.x, ty = threadIdx.y, i = (blockIdx.y * 8 + ty) * stride + blockIdx.x * 8 + tx;
    float q = quanta[ty * 8 + tx], v = data[i], r = roundf(v / q);
    data[i] = r * q;
}
extern "C" __global__ void quantize_shorts(short *data, int stride) {
    int tx = threadIdx.x, ty = threadIdx.y;
    short v = data[(blockIdx.y * 8 + ty) * stride + blockIdx.x * 8 + tx], q = quanta[ty * 8 + tx];
    if (v < 0) {
        v = -v;
        v += q >> 1;
        v /= q;
        v = -v;
    } else {
        v += q >> 1;
        v /= q;
    }
    data[(blockIdx.y * 8 + ty) * stride + blockIdx.x * 8 + tx] = v * q;
}
// Integers: lines of shorts in shared memory, products of 16 bits.
__device__ int high(int x, int y) { return (x * y + 0x4000) >> 15; }
__device__ void cosine_shorts(short *v, int step) {
    int a[8];
    for (int k = 0; k < 8; ++k) a[k] = v[k * step];
    int p = a[0] + a[7], q = a[1] + a[6], r = a[2] + a[5], s = a[3] + a[4];
    v[0] = high(p + q + r + s, 11585), v[4 * step] = high(p - q - r + s, 11585);
    v[2 * step] = high(p - s, 15137) + high(q - r, 6270), v[6 * step] = high(p - s, 6270) - high(q - r, 15137);
    p = a[0] - a[7], q = a[1] - a[6], r = a[2] - a[5], s = a[3] - a[4];
    v[step] = high(p, 16069) + high(q, 13623) + high(r, 9102) + high(s, 3196);
    v[3 * step] = high(p, 13623) - high(q, 3196) - high(r, 16069) - high(s, 9102);
    v[5 * step] = high(p, 9102) - high(q, 16069) + high(r, 3196) + high(s, 13623);
    v[7 * step] = high(p, 3196) - high(q, 9102) + high(r, 13623) - high(s, 16069);
}
extern "C" __global__ void cosine_whole(short *data, int stride) {
    __shared__ short s[32 * (32 + 2)];
    int tx = threadIdx.x, ty = threadIdx.y * 8, tz = threadIdx.z * 8; // (8, 4, 4)
    data += (blockIdx.y * 32 + tz) * stride + blockIdx.x * 32 + ty;
    short *mine = s + tz * 34 + ty;
    if (tx < 4)
        for (int k = 0; k < 8; ++k) ((int *)mine)[k * 17 + tx] = ((int *)data)[k * (stride / 2) + tx];
    __syncthreads();
    cosine_shorts(mine + tx * 34, 1);
    __syncthreads();
    cosine_shorts(mine + tx, 34);
    __syncthreads();
    if (tx < 4)
        for (int k = 0; k < 8; ++k) ((int *)data)[k * (stride / 2) + tx] = ((int *)mine)[k * 17 + tx];
}

// Walsh: two steps in one kernel over global memory; a product after it.
extern "C" __global__ void walsh_step(float *out, const float *in, int stride) {
    int i = THREAD, n = blockDim.x * gridDim.x * 4;
    const float *from = in + blockIdx.y * n;
    float *to = out + blockIdx.y * n;
    int low = i & (stride - 1), a = ((i - low) << 2) + low, b = a + stride, c = b + stride, d = c + stride;
    float p = from[a], q = from[b], r = from[c], s = from[d], t;
    t = p, p = p + r, r = t - r;
    t = q, q = q + s, s = t - s;
    t = p, to[a] = p + q, to[b] = t - q;
    t = r, to[c] = r + s, to[d] = t - s;
}
extern "C" __global__ void modulate(float *a, const float *b, int n) {
    float scale = 1.0f / n;
    for (int i = THREAD; i < n; i += blockDim.x * gridDim.x) a[i] *= b[i] * scale;
}

// Haar by levels, as the sample: the index of the last stored number spread over the banks.
extern "C" __global__ void haar_levels(const float *in, float *decomposed, float *approximation, unsigned levels, unsigned half) {
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ float s[];
    unsigned width = gridDim.x * blockDim.x, tid = threadIdx.x, whole = 2 * blockDim.x, at = blockIdx.x * whole + tid;
    s[tid] = in[at];
    s[tid + blockDim.x] = in[at + blockDim.x];
    cg::sync(block);
    float a = s[2 * tid], b = s[2 * tid + 1];
    cg::sync(block);
    decomposed[THREAD + half] = (a - b) * 0.70710678f;
    unsigned place = tid + (tid >> 5);
    s[place] = (a + b) * 0.70710678f;
    cg::sync(block);
    if (levels > 1) {
        unsigned step = 1, threads = blockDim.x >> 1, target = 1;
        for (unsigned i = 1; i < levels; ++i) {
            if (tid < threads) {
                unsigned p = tid * (target << 1), q = p + step;
                p += p >> 5, q += q >> 5;
                decomposed[(width >> i) + blockIdx.x * threads + tid] = (s[p] - s[q]) * 0.70710678f;
                s[p] = (s[p] + s[q]) * 0.70710678f;
                threads >>= 1, target <<= 1, step <<= 1;
            }
            cg::sync(block);
        }
    }
    if (tid == 0) approximation[blockIdx.x] = s[0];
}

// Convolution by rows and by columns, 8 results a thread, halos of one more step on both sides.
__constant__ float kernel17[17] = {1, 3, -2, 5, 7, 1, -4, 6, 9, 2, 4, -1, 3, 8, -5, 2, 1};
extern "C" __global__ void convolve_rows(float *out, const float *in, int width, int height, int pitch) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float s[4][(8 + 2) * 16];
    int x0 = ((int)blockIdx.x * 8 - 1) * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    in += y * pitch + x0, out += y * pitch + x0;
#pragma unroll
    for (int i = 1; i < 9; ++i) s[threadIdx.y][threadIdx.x + i * 16] = in[i * 16];
    s[threadIdx.y][threadIdx.x] = x0 >= 0 ? in[0] : 0;
    s[threadIdx.y][threadIdx.x + 9 * 16] = width - x0 > 9 * 16 ? in[9 * 16] : 0;
    cg::sync(block);
#pragma unroll
    for (int i = 1; i < 9; ++i) {
        float sum = 0;
#pragma unroll
        for (int j = -8; j <= 8; ++j) sum += kernel17[8 - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
        out[i * 16] = sum;
    }
}
extern "C" __global__ void convolve_columns_8(float *out, const float *in, int width, int height, int pitch) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float s[16][(4 + 2) * 8 + 1];
    int x = blockIdx.x * 16 + threadIdx.x, y0 = ((int)blockIdx.y * 4 - 1) * 8 + threadIdx.y;
    in += y0 * pitch + x, out += y0 * pitch + x;
#pragma unroll
    for (int i = 1; i < 5; ++i) s[threadIdx.x][threadIdx.y + i * 8] = in[i * 8 * pitch];
    s[threadIdx.x][threadIdx.y] = y0 >= 0 ? in[0] : 0;
    s[threadIdx.x][threadIdx.y + 40] = height - y0 > 40 ? in[40 * pitch] : 0;
    cg::sync(block);
#pragma unroll
    for (int i = 1; i < 5; ++i) {
        float sum = 0;
#pragma unroll
        for (int j = -8; j <= 8; ++j) sum += kernel17[8 - j] * s[threadIdx.x][threadIdx.y + i * 8 + j];
        out[i * 8 * pitch] = sum;
    }
}

// Channels of an image times filters, all in shared memory: 3 × 3 over 4 channels to 8.
extern "C" __global__ void convolve_channels(const float *in, const float *weight, float *out, int n) {
    __shared__ float s[4][10][10 + 2], w[8][4][9];
    int x = threadIdx.x, y = threadIdx.y, t = (threadIdx.z * 8 + y) * 8 + x; // (8, 8, 2)
    for (int k = t; k < 400; k += 128) {
        int c = k / 100, j = k / 10 % 10, i = k % 10, u = blockIdx.x * 8 + i - 1, v = blockIdx.y * 8 + j - 1;
        s[c][j][i] = u >= 0 && v >= 0 && u < n && v < n ? in[(c * n + v) * n + u] : 0.0f;
    }
    for (int k = t; k < 288; k += 128) (&w[0][0][0])[k] = weight[k];
    __syncthreads();
    float sum[4] = {};
    for (int c = 0; c < 4; ++c)
        for (int k = 0; k < 9; ++k) {
            float v = s[c][y + k / 3][x + k % 3];
            for (int f = 0; f < 4; ++f) sum[f] += v * w[threadIdx.z * 4 + f][c][k];
        }
    for (int f = 0; f < 4; ++f) out[((threadIdx.z * 4 + f) * n + blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x] = sum[f];
}

// Finite differences in space: planes march along z in registers, a plane with halo of RADIUS in shared memory.
template <int RADIUS>
__global__ void march_volume(float *out, const float *in, int dx, int dy, int dz) {
    bool valid = true;
    const int gx = blockIdx.x * blockDim.x + threadIdx.x, gy = blockIdx.y * blockDim.y + threadIdx.y;
    const int lx = threadIdx.x, ly = threadIdx.y, wx = blockDim.x, wy = blockDim.y;
    cg::thread_block block = cg::this_thread_block();
    __shared__ float tile[8 + 2 * RADIUS][16 + 2 * RADIUS];
    const int sy = dx + 2 * RADIUS, sz = sy * (dy + 2 * RADIUS);
    int input = RADIUS * sy + RADIUS + gy * sy + gx, output = 0;
    float infront[RADIUS], behind[RADIUS], current;
    const float factor[5] = {0.5f, 0.25f, -0.125f, 0.0625f, 2.0f};
    const int tx = lx + RADIUS, ty = ly + RADIUS;
    if (gx >= dx + RADIUS || gy >= dy + RADIUS) valid = false;
    if (gx >= dx || gy >= dy) valid = false;
    for (int i = RADIUS - 2; i >= 0; --i) {
        behind[i] = in[input];
        input += sz;
    }
    current = in[input];
    output = input;
    input += sz;
    for (int i = 0; i < RADIUS; ++i) {
        infront[i] = in[input];
        input += sz;
    }
#pragma unroll 3
    for (int iz = 0; iz < dz; ++iz) {
        for (int i = RADIUS - 1; i > 0; --i) behind[i] = behind[i - 1];
        behind[0] = current;
        current = infront[0];
        for (int i = 0; i < RADIUS - 1; ++i) infront[i] = infront[i + 1];
        infront[RADIUS - 1] = in[input];
        input += sz;
        output += sz;
        cg::sync(block);
        if (ly < RADIUS) {
            tile[ly][tx] = in[output - RADIUS * sy];
            tile[ly + wy + RADIUS][tx] = in[output + wy * sy];
        }
        if (lx < RADIUS) {
            tile[ty][lx] = in[output - RADIUS];
            tile[ty][lx + wx + RADIUS] = in[output + wx];
        }
        tile[ty][tx] = current;
        cg::sync(block);
        float value = factor[0] * current;
        for (int i = 1; i <= RADIUS; ++i)
            value += factor[i] * (infront[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
        if (valid) out[output] = value;
    }
}
template __global__ void march_volume<1>(float *, const float *, int, int, int);
template __global__ void march_volume<4>(float *, const float *, int, int, int);

// Heat in space, tiles with halos on every side in shared memory.
extern "C" __global__ void stencil_27(const int *in, int *out, int n) {
    __shared__ int s[6][10][10];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, t = (z * 8 + y) * 8 + x; // (8, 8, 4)
    for (int k = t; k < 600; k += 256) {
        int i = blockIdx.x * 8 + k % 10 - 1, j = blockIdx.y * 8 + k / 10 % 10 - 1, l = blockIdx.z * 4 + k / 100 - 1;
        s[k / 100][k / 10 % 10][k % 10] = min(min(i, j), l) >= 0 && max(max(i, j), l) < n ? in[(l * n + j) * n + i] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int l = 0; l < 3; ++l)
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 3; ++i) sum += s[z + l][y + j][x + i] * (4 - abs(l - 1) - abs(j - 1) - abs(i - 1));
    out[((blockIdx.z * 4 + z) * n + blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x] = sum;
}

// Transpositions as in the sample: blocks along diagonals, fine and coarse grains, copies through shared memory.
extern "C" __global__ void transpose_diagonal(float *out, const float *in, int width, int height) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float tile[32][32 + 1];
    int bx, by;
    if (width == height) {
        by = blockIdx.x;
        bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    } else {
        int b = blockIdx.x + gridDim.x * blockIdx.y;
        by = b % gridDim.y;
        bx = (b / gridDim.y + by) % gridDim.x;
    }
    int x = bx * 32 + threadIdx.x, y = by * 32 + threadIdx.y, from = x + y * width;
    x = by * 32 + threadIdx.x, y = bx * 32 + threadIdx.y;
    int to = x + y * height;
    for (int i = 0; i < 32; i += 16) tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
    cg::sync(block);
    for (int i = 0; i < 32; i += 16) out[to + i * height] = tile[threadIdx.x][threadIdx.y + i];
}
extern "C" __global__ void transpose_fine(float *out, const float *in, int width, int height) {
    __shared__ float tile[32][32 + 1];
    int i = blockIdx.x * 32 + threadIdx.x + (blockIdx.y * 32 + threadIdx.y) * width;
    for (int k = 0; k < 32; k += 16) tile[threadIdx.y + k][threadIdx.x] = in[i + k * width];
    __syncthreads();
    for (int k = 0; k < 32; k += 16) out[i + k * height] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_coarse(float *out, const float *in, int width, int height) {
    __shared__ float tile[32][32 + 1];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y, from = x + y * width;
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    int to = x + y * height;
    for (int i = 0; i < 32; i += 16) tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
    __syncthreads();
    for (int i = 0; i < 32; i += 16) out[to + i * height] = tile[threadIdx.y + i][threadIdx.x];
}
extern "C" __global__ void copy_shared(float *out, const float *in, int width, int height) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y, i = x + y * width;
    for (int k = 0; k < 32; k += 16)
        if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[i];
    __syncthreads();
    for (int k = 0; k < 32; k += 16)
        if (x < height && y < width) out[i] = tile[threadIdx.y][threadIdx.x];
}
// Records of 16 bytes, and pairs of halves transposed in registers by permutations of bytes.
extern "C" __global__ void transpose_fours(const float4 *in, float4 *out, int n) {
    __shared__ float4 tile[16][16 + 1];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x];
    __syncthreads();
    out[(blockIdx.x * 16 + y) * n + blockIdx.y * 16 + x] = tile[x][y];
}
extern "C" __global__ void transpose_shorts(const unsigned *in, unsigned *out, int words) {
    __shared__ unsigned tile[32][16 + 1];
    int x = threadIdx.x, y = threadIdx.y; // (16, 16)
    tile[y * 2][x] = in[(blockIdx.y * 32 + y * 2) * words + blockIdx.x * 16 + x];
    tile[y * 2 + 1][x] = in[(blockIdx.y * 32 + y * 2 + 1) * words + blockIdx.x * 16 + x];
    __syncthreads();
    unsigned a = tile[x * 2][y], b = tile[x * 2 + 1][y];
    out[(blockIdx.x * 32 + y * 2) * words + blockIdx.y * 16 + x] = __byte_perm(a, b, 0x5410);
    out[(blockIdx.x * 32 + y * 2 + 1) * words + blockIdx.y * 16 + x] = __byte_perm(a, b, 0x7632);
}

// Filters of images: medians by exchanges, a window of ranges by shuffles, running sums of boxes, edges.
extern "C" __global__ void median_3x3(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char s[18][20];
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = y * 16 + x; k < 324; k += 256) {
        int u = min(max((int)blockIdx.x * 16 + k % 18 - 1, 0), n - 1), v = min(max((int)blockIdx.y * 16 + k / 18 - 1, 0), n - 1);
        s[k / 18][k % 18] = in[v * n + u];
    }
    __syncthreads();
    int v[9];
    for (int k = 0; k < 9; ++k) v[k] = s[y + k / 3][x + k % 3];
    for (int i = 0; i < 5; ++i)
        for (int j = i + 1; j < 9; ++j)
            if (v[j] < v[i]) {
                int t = v[i];
                v[i] = v[j], v[j] = t;
            }
    out[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = v[4];
}
extern "C" __global__ void sobel_edges(const unsigned char *in, unsigned char *out, int width, int height, float scale) {
    __shared__ unsigned char s[(4 + 2) * (4 * 16 + 8)];
    const int pitch = 72, tx = threadIdx.x, ty = threadIdx.y; // (16, 4), 4 pixels a thread
    for (int r = ty; r < 6; r += 4)
        for (int q = tx; q < 66; q += 16) {
            int u = min(max((int)blockIdx.x * 64 + q - 1, 0), width - 1), v = min(max((int)blockIdx.y * 4 + r - 1, 0), height - 1);
            s[r * pitch + q] = in[v * width + u];
        }
    __syncthreads();
    uchar4 result;
    unsigned char *to = (unsigned char *)&result;
    for (int k = 0; k < 4; ++k) {
        const unsigned char *p = s + ty * pitch + tx * 4 + k;
        int h = p[2] + 2 * p[pitch + 2] + p[2 * pitch + 2] - p[0] - 2 * p[pitch] - p[2 * pitch];
        int v = p[0] + 2 * p[1] + p[2] - p[2 * pitch] - 2 * p[2 * pitch + 1] - p[2 * pitch + 2];
        int sum = (int)(scale * (float)(abs(h) + abs(v)));
        to[k] = sum < 0 ? 0 : sum > 255 ? 255 : sum;
    }
    ((uchar4 *)out)[((blockIdx.y * 4 + ty) * width + blockIdx.x * 64) / 4 + tx] = result;
}
extern "C" __global__ void box_columns(const float *in, float *out, int n, int height, int r) {
    int x = THREAD;
    in += x, out += x;
    float scale = 1.0f / (2 * r), t = in[0] * r;
    for (int y = 0; y < r + 1; ++y) t += in[y * n];
    out[0] = t * scale;
    for (int y = 1; y < r + 1; ++y) {
        t += in[(y + r) * n];
        t -= in[0];
        out[y * n] = t * scale;
    }
    for (int y = r + 1; y < height - r; ++y) {
        t += in[(y + r) * n];
        t -= in[(y - r) * n - n];
        out[y * n] = t * scale;
    }
    for (int y = height - r; y < height; ++y) {
        t += in[(height - 1) * n];
        t -= in[(y - r) * n - n];
        out[y * n] = t * scale;
    }
}
// Recursive filter forwards and backwards over packed bytes of colours.
__device__ float4 unpack(unsigned v) { return make_float4((v & 255) / 255.0f, (v >> 8 & 255) / 255.0f, (v >> 16 & 255) / 255.0f, (v >> 24) / 255.0f); }
__device__ unsigned pack(float4 v) {
    v.x = __saturatef(fabsf(v.x)), v.y = __saturatef(fabsf(v.y)), v.z = __saturatef(fabsf(v.z)), v.w = __saturatef(fabsf(v.w));
    return ((unsigned)(v.w * 255) << 24) | ((unsigned)(v.z * 255) << 16) | ((unsigned)(v.y * 255) << 8) | (unsigned)(v.x * 255);
}
extern "C" __global__ void recursive_filter(const unsigned *in, unsigned *out, int width, int height, float a) {
    int x = THREAD;
    if (x >= width) return;
    in += x, out += x;
    float4 y = unpack(*in);
    for (int k = 0; k < height; ++k) {
        float4 c = unpack(*in);
        y.x = c.x + a * (y.x - c.x), y.y = c.y + a * (y.y - c.y), y.z = c.z + a * (y.z - c.z), y.w = c.w + a * (y.w - c.w);
        *out = pack(y);
        in += width, out += width;
    }
    in -= width, out -= width;
    y = unpack(*in);
    for (int k = height - 1; k >= 0; --k) {
        float4 c = unpack(*in), o = unpack(*out);
        y.x = c.x + a * (y.x - c.x), y.y = c.y + a * (y.y - c.y), y.z = c.z + a * (y.z - c.z), y.w = c.w + a * (y.w - c.w);
        o.x += y.x, o.y += y.y, o.z += y.z, o.w += y.w;
        *out = pack(o);
        in -= width, out -= width;
    }
}
// Disparity of two images: absolute differences of four bytes, sums of windows in shared memory.
extern "C" __global__ void disparity(const unsigned *left, const unsigned *right, unsigned *out, int width, int height, int lowest, int highest) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned difference[8 + 2 * 4][32 + 2 * 4];
    const int sx = threadIdx.x + 4, sy = threadIdx.y + 4, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    auto at = [&](const unsigned *p, int i, int j) { return i < 0 || j < 0 || i >= width || j >= height ? 0u : p[j * width + i]; };
    unsigned best = 9999999, where = 0;
    for (int d = lowest; d <= highest; ++d) {
        for (int i = 0; i < 2; ++i) {
            int v = y - 4 + i * 8;
            if (threadIdx.y + i * 8 < 16) difference[threadIdx.y + i * 8][sx - 4] = __vabsdiffu4(at(left, x - 4, v), at(right, x - 4 + d, v)) * 0x01010101u >> 24;
            if (threadIdx.x < 8 && threadIdx.y + i * 8 < 16) {
                unsigned p = at(left, x + 28, v), q = at(right, x + 28 + d, v);
                difference[threadIdx.y + i * 8][sx + 28] = __vsadu4(p, q);
            }
        }
        cg::sync(block);
        unsigned sum = 0;
        for (int i = -4; i <= 4; ++i) sum += difference[sy + i][sx];
        cg::sync(block);
        difference[sy][sx] = sum;
        cg::sync(block);
        sum = 0;
        for (int i = -4; i <= 4; ++i) sum += difference[sy][sx + i];
        if (sum < best) best = sum, where = d + 16;
        cg::sync(block);
    }
    if (y < height && x < width) out[y * width + x] = where;
}
// Vertical pass of an integral image: 8 columns of 32 by a block, sums across warps by shared memory.
extern "C" __global__ void integral_columns(unsigned *data, int width, int height) {
    __shared__ unsigned s[32][8 + 1];
    int lane = threadIdx.x, x = blockIdx.x * 8 + lane, t = threadIdx.y, k = t * 8 + lane; // (8, 32)
    unsigned step = 0;
    for (int base = 0; base < height; base += 32) {
        s[t][lane] = data[(base + t) * width + x];
        __syncthreads();
        unsigned partial = s[k & 31][k >> 5];
        for (int d = 1; d < 32; d *= 2) {
            unsigned n = __shfl_up_sync(FULL, partial, d, 32);
            if ((k & 31) >= d) partial += n;
        }
        s[k & 31][k >> 5] = partial;
        __syncthreads();
        data[(base + t) * width + x] = s[t][lane] + step;
        step += s[31][lane];
        __syncthreads();
    }
}
// Weights of distance and of value, exponentials of the fast kind.
extern "C" __global__ void bilateral(const float *in, float *out, int n, int r, float e) {
    extern __shared__ float s[];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, w = 16 + 2 * r;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < w * w; k += 256) {
        int u = min(max((int)blockIdx.x * 16 + k % w - r, 0), n - 1), v = min(max((int)blockIdx.y * 16 + k / w - r, 0), n - 1);
        s[k] = in[v * n + u];
    }
    __syncthreads();
    float center = s[(threadIdx.y + r) * w + threadIdx.x + r], sum = 0, t = 0;
    for (int i = -r; i <= r; ++i)
        for (int j = -r; j <= r; ++j) {
            float v = s[(threadIdx.y + r + i) * w + threadIdx.x + r + j], d = v - center;
            float f = __expf(-(i * i + j * j) * 0.1f) * __expf(-d * d / (2 * e * e));
            sum += f, t += f * v;
        }
    out[y * n + x] = t / sum;
}
// Relaxation of an optical flow: two fields and a border that mirrors, whole tiles in shared memory.
extern "C" __global__ void relax_flow(const float *du0, const float *dv0, const float *ix, const float *iy, const float *iz, float *du1, float *dv1, int w, int h, float alpha) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float du[(32 + 2) * (6 + 2)], dv[(32 + 2) * (6 + 2)];
    const int x = threadIdx.x + blockIdx.x * 32, y = threadIdx.y + blockIdx.y * 6, i = min(y, h - 1) * w + min(x, w - 1);
    const int p = threadIdx.x + 1 + (threadIdx.y + 1) * 34;
    du[p] = du0[i], dv[p] = dv0[i];
    if (threadIdx.y == 0) {
        int v = blockIdx.y * 6 - 1;
        if (v < 0) v = 1;
        int at = min(v, h - 1) * w + min(x, w - 1);
        du[threadIdx.x + 1] = du0[at], dv[threadIdx.x + 1] = dv0[at];
        v = blockIdx.y * 6 + 6;
        if (v >= h) v = h - 2;
        at = v * w + min(x, w - 1);
        du[p + 6 * 34] = du0[at], dv[p + 6 * 34] = dv0[at];
    }
    if (threadIdx.x == 0) {
        int u = blockIdx.x * 32 - 1;
        if (u < 0) u = 1;
        int at = min(y, h - 1) * w + u;
        du[p - 1] = du0[at], dv[p - 1] = dv0[at];
        u = blockIdx.x * 32 + 32;
        if (u >= w) u = w - 2;
        at = min(y, h - 1) * w + u;
        du[p + 32] = du0[at], dv[p + 32] = dv0[at];
    }
    cg::sync(block);
    if (x >= w || y >= h) return;
    float su = (du[p - 1] + du[p + 1] + du[p - 34] + du[p + 34]) * 0.25f, sv = (dv[p - 1] + dv[p + 1] + dv[p - 34] + dv[p + 34]) * 0.25f;
    float f = (ix[i] * su + iy[i] * sv + iz[i]) / (ix[i] * ix[i] + iy[i] * iy[i] + alpha);
    du1[i] = su - ix[i] * f, dv1[i] = sv - iy[i] * f;
}
