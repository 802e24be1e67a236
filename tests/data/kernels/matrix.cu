// What all architectures must compute alike: one kernel for each kind of instruction that their compilers choose for
// themselves. Results do not depend on the order of threads.
#include <cuda_fp16.h>
#define LANE (threadIdx.x & 31)
#define FULL 0xffffffffu

__constant__ int weights[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5};
__device__ int counter = 100;

extern "C" __global__ void scan(const int *in, int *out) {
    __shared__ int sums[4];
    int v = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(FULL, v, d);
        if (LANE >= d) v += left;
    }
    if (LANE == 31) sums[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < threadIdx.x / 32; ++w) v += sums[w];
    out[threadIdx.x] = v;
}

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int v = in[threadIdx.x];
    unsigned h = __ballot_sync(FULL, v & 1) + __any_sync(FULL, v == 7) + 2 * __all_sync(FULL, v >= 0);
    if (v & 2) h ^= __popc(__ballot_sync(__activemask(), v & 4)) << 8;
    h += __match_any_sync(FULL, v & 3) * 31;
    out[threadIdx.x] = h + __shfl_xor_sync(FULL, v, 5) + __shfl_sync(FULL, v, v & 31);
}

extern "C" __global__ void histogram(const int *in, int *out, float *total, unsigned long long *wide, int n) {
    __shared__ int bins[16];
    __shared__ float sum;
    __shared__ unsigned long long most;
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum = 0, most = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        int old = atomicAdd(&bins[in[k] & 15], 1);
        atomicAdd(&sum, (float)(in[k] & 7));
        atomicMax(&most, (unsigned long long)in[k] << 33);
        if (old < 0) atomicExch(out, 0);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(total, sum), atomicMax(wide, most), atomicAdd(&counter, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[16] = counter;
}

extern "C" __global__ void branches(const int *in, int *out, int scale) {
    int v = in[threadIdx.x], steps = 0;
    while (v > 1 && steps < 40) v = v & 1 ? 3 * v + 1 : v / 2, ++steps;
    switch (steps & 7) {
        case 0: v += scale; break;
        case 1: v *= 5; break;
        case 2: v = steps - v; break;
        case 3: return;
        case 4: v ^= 0x55; break;
        case 5: v = weights[steps & 31]; break;
        case 6: v = __brev(steps) + __clz(v); break;
        default: v = -steps;
    }
    out[threadIdx.x] = v + steps * 100;
}

__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
typedef int (*Function)(int);
__device__ Function functions[2] = {twice, square};
extern "C" __global__ void calls(const int *in, int *out) {
    int v = in[threadIdx.x] & 3;
    out[threadIdx.x] = ackermann(v & 1, v) * 1000 + functions[in[threadIdx.x] & 1](v + 1);
}

extern "C" __global__ void local_arrays(const int *in, int *out) {
    int v[8];
    for (int k = 0; k < 8; ++k) v[k] = in[8 * threadIdx.x + k];
    for (int k = 0; k < 8; ++k)
        for (int j = 0; j + 1 < 8 - k; ++j)
            if (v[j] > v[j + 1]) { int t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
    int s = 0;
    for (int k = 0; k < 8; ++k) s += v[(in[8 * threadIdx.x] + k) & 7] * (k + 1);
    out[threadIdx.x] = s;
}

extern "C" __global__ void generic(int *in, int *out, int n) {
    extern __shared__ int dynamic[];
    int local[4] = {1, 2, 3, 4};
    dynamic[threadIdx.x] = in[threadIdx.x] + 1;
    __syncthreads();
    int *p = n % 3 == 0 ? in : n % 3 == 1 ? dynamic : local;
    if (threadIdx.x & 1) p = dynamic;
    local[n & 3] += threadIdx.x;
    out[threadIdx.x] = p[threadIdx.x & 3] + dynamic[blockDim.x - 1 - threadIdx.x] * local[(n + 1) & 3];
}

extern "C" __global__ void longs(const long long *a, const long long *b, long long *out) {
    long long x = a[threadIdx.x], y = b[threadIdx.x];
    unsigned long long u = x, w = y;
    long long *o = out + 12 * threadIdx.x;
    o[0] = x + y - 7;
    o[1] = x * y;
    o[2] = y ? x / y : 0;
    o[3] = w ? u % w : 0;
    o[4] = min(x, y);
    o[5] = max(u, w);
    o[6] = (x << (y & 63)) ^ (u >> (y & 31));
    o[7] = x < y ? x - 1 : u < w ? y : 3;
    o[8] = __mul64hi(x, y) + __popcll(x) - __clzll(y);
    o[9] = llabs(x) & ~y;
    o[10] = (long long)((double)x * 0.5);
    o[11] = x == -1 || (x > 5 && u <= 0xfff8000000000000);
}

extern "C" __global__ void words(const int *a, const int *b, int *out) {
    int x = a[threadIdx.x], y = b[threadIdx.x], *o = out + 12 * threadIdx.x;
    unsigned u = x, w = y;
    o[0] = x / (y | 1) + x % (y | 1);
    o[1] = u / (w | 1) - u % (w | 1);
    o[2] = __mulhi(x, y) ^ __umulhi(u, w);
    o[3] = __byte_perm(x, y, 0x5273) + __funnelshift_r(u, w, y);
    o[4] = min(max(x, y), (x ^ y) >> 3);
    o[5] = __vmaxu4(u, w) - __vmins2(u, w);
    o[6] = __vabsdiffu4(u, w) + __dp4a(x, y, x);
    o[7] = (x >> (y & 31)) + (x << (y & 15)) + (x & 0x00ff00ff | y & ~u);
    o[8] = __ffs(x) * __clz(y) + __popc(u ^ w);
    o[9] = (signed char)x + (unsigned short)y;
    o[10] = __viaddmax_s32(x, y, x) + __vimin3_u32(u, w, 77u);
    o[11] = abs(x) - (x < 0 ? y : u > w);
}

extern "C" __global__ void floats(const float *a, const float *b, float *out, float scale, float shift) {
    float x = a[threadIdx.x], y = b[threadIdx.x], *o = out + 12 * threadIdx.x;
    float uniform = scale * shift + fminf(scale, 2.5f) - (shift > 1 ? scale : shift);
    o[0] = x * y + uniform;
    o[1] = fmaf(x, y, -scale);
    o[2] = x / y;
    o[3] = sqrtf(fabsf(x));
    o[4] = fminf(fminf(x, y), scale);
    o[5] = fmaxf(fabsf(x), fmaxf(y, shift));
    o[6] = floorf(x) + ceilf(y) * 4 + rintf(x) * 16 + truncf(y) * 64;
    o[7] = (float)(int)x - (float)(unsigned)fabsf(y);
    o[8] = __fadd_rz(x, y) + __fmul_ru(x, y);
    o[9] = x < y ? x : y >= scale ? 1.0f : copysignf(2.0f, x);
    o[10] = __saturatef(x) + fdimf(x, y);
    o[11] = (float)((double)x * y + 1.0 / 3);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out) {
    double x = a[threadIdx.x], y = b[threadIdx.x], *o = out + 6 * threadIdx.x;
    o[0] = x / y;
    o[1] = sqrt(fabs(x));
    o[2] = fma(x, y, -x);
    o[3] = fmin(x, y) + floor(x);
    o[4] = x < y ? (double)(float)x : (double)(long long)y;
    o[5] = x * y - x + y;
}

extern "C" __global__ void halves(const __half *a, const __half *b, __half *out) {
    __half2 x = __halves2half2(a[threadIdx.x], b[threadIdx.x]), y = __halves2half2(b[threadIdx.x], a[threadIdx.x]);
    __half2 *o = (__half2 *)out + 4 * threadIdx.x;
    o[0] = __hadd2(x, y);
    o[1] = __hmul2(x, y);
    o[2] = __hfma2(x, y, x);
    o[3] = __floats2half2_rn(__low2float(x) * 3, __int2half_rn(threadIdx.x - 7) > __high2half(x) ? 1.0f : -1.0f);
}
