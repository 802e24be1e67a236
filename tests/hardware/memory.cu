// Kinds of memory and widths of access: what the compiler makes of types, and what the banks make of strides.
#include <cuda_fp16.h>
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

template <typename T>
__device__ void stride_body(const int *in, int *out, int stride, int offset) {
    extern __shared__ __align__(16) unsigned char raw[];
    T *s = (T *)raw;
    int n = blockDim.x, x = threadIdx.x, size = 16384 / sizeof(T);
    for (int k = x; k < size; k += n) s[k] = (T)(k * 3 + in[0]);
    __syncthreads();
    int i = (x * stride + offset) % size;
    T v = s[i];
    __syncthreads();
    s[(i + 1) % size] = v;
    __syncthreads();
    if (x & 1) v = s[(x * 2 + offset) % size];
    out[THREAD] = (int)v;
}
extern "C" __global__ void stride_char(const int *in, int *out, int s, int o) { stride_body<signed char>(in, out, s, o); }
extern "C" __global__ void stride_short(const int *in, int *out, int s, int o) { stride_body<unsigned short>(in, out, s, o); }
extern "C" __global__ void stride_int(const int *in, int *out, int s, int o) { stride_body<int>(in, out, s, o); }
extern "C" __global__ void stride_long(const int *in, int *out, int s, int o) { stride_body<long long>(in, out, s, o); }
extern "C" __global__ void stride_double(const int *in, int *out, int s, int o) { stride_body<double>(in, out, s, o); }

// 16-byte accesses whose addresses pair up, or do not: lane ↦ element is a table.
extern "C" __global__ void wide_pairs(const int *table, int4 *out, unsigned mask) {
    __shared__ int4 s[256];
    int x = threadIdx.x, lane = x & 31;
    for (int k = x; k < 256; k += blockDim.x) s[k] = make_int4(k, k + 1, k * 2, ~k);
    __syncthreads();
    int4 v = make_int4(0, 0, 0, 0);
    for (int round = 0; round < 8; ++round) {
        int i = table[round * 32 + lane] & 255;
        if (mask >> lane & 1) {
            int4 u = s[i];
            v.x += u.x, v.y ^= u.y, v.z += u.z, v.w ^= u.w;
        }
        int2 w = ((int2 *)s)[i];
        v.x ^= w.x, v.y += w.y;
        __syncthreads();
        s[x * (table[round] | 1) & 255] = v;
        __syncthreads();
    }
    out[x] = v;
}

// Several lanes store to one place: which lane's value stays?
extern "C" __global__ void store_collision(const int *table, int *out, int2 *out8, int4 *out16) {
    __shared__ int s[64];
    __shared__ int2 s8[64];
    __shared__ int4 s16[64];
    int x = threadIdx.x, i = table[x] & 63;
    for (int k = x; k < 64; k += 32) {
        s[k] = -1;
        s8[k] = make_int2(-1, -1);
        s16[k] = make_int4(-1, -1, -1, -1);
    }
    __syncwarp();
    s[i] = x;
    s8[i] = make_int2(x, x + 100);
    s16[i] = make_int4(x, x + 100, x + 200, x + 300);
    __syncwarp();
    for (int k = x; k < 64; k += 32) {
        out[k] = s[k];
        out8[k] = s8[k];
        out16[k] = s16[k];
    }
    __syncwarp();
    out[64 + i] = x;
    ((short *)s)[i] = x;
    __syncwarp();
    out[128 + x] = s[x];
}

struct Particle { float x, y, z; int kind; float weight; };

extern "C" __global__ void array_of_structs(const float *in, float *out) {
    __shared__ Particle p[96];
    int x = threadIdx.x;
    p[x] = Particle{in[x], in[x + 1], in[x + 2], x & 3, in[x] * 2};
    __syncthreads();
    Particle q = p[(x * 5 + 1) % 96];
    __syncthreads();
    p[x].z = q.kind == 2 ? q.x : q.weight;
    __syncthreads();
    out[THREAD] = p[95 - x].z + q.y;
}

extern "C" __global__ void static_and_dynamic(const int *in, int *out) {
    __shared__ short head[50];
    extern __shared__ int tail[];
    __shared__ double middle[10];
    int x = threadIdx.x;
    if (x < 50) head[x] = in[x];
    if (x < 10) middle[x] = in[x] * 0.5;
    tail[x] = in[THREAD];
    __syncthreads();
    out[THREAD] = tail[(x * 17 + 5) % blockDim.x] + head[x % 50] + (int)middle[x % 10];
}

extern "C" __global__ void bytes(const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char s[512];
    int x = threadIdx.x;
    for (int k = 0; k < 4; ++k) s[x + k * 128] = in[blockIdx.x * 512 + x * 4 + k];
    __syncthreads();
    ((uchar4 *)out)[THREAD] = make_uchar4(s[x * 4], s[511 - x], s[(x * 33) & 511], s[x / 2] + 1);
}

extern "C" __global__ void halves(const int *in, float *out) {
    __shared__ __half s[256];
    int x = threadIdx.x;
    s[x] = __int2half_rn(in[THREAD] & 255);
    __syncthreads();
    __half2 v = ((__half2 *)s)[x & 127];
    out[THREAD] = __half2float(s[(x * 3) & 255]) + __low2float(v) * 2 - __high2float(v);
}

extern "C" __global__ void local_array(const int *in, int *out) {
    int a[24], v = in[THREAD];
    for (int k = 0; k < 24; ++k) a[k] = k * v;
    for (int k = 0; k < 24; ++k) a[(k * v + 3) % 24] += a[(v >> (k & 3)) % 24];
    int h = 0;
    for (int k = 0; k < (v & 15); ++k) h = h * 31 + a[(k * 5 + v) % 24];
    out[THREAD] = h;
}

extern "C" __global__ void local_bytes(const int *in, int *out) {
    unsigned char digits[20];
    unsigned v = in[THREAD] * 2654435761u;
    int n = 0;
    do digits[n++] = v % 10;
    while (v /= 10);
    int h = 0;
    for (int k = n - 1; k >= 0; --k) h = h * 7 + digits[k];
    out[THREAD] = h;
}

__device__ __noinline__ int sum_of(const int *p, int n, int step) {
    int h = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) h = h * 3 + p[k * step];
    return h;
}
__device__ __noinline__ void store_to(int *p, int v) { *p = v; }

// One function reads through generic pointers into shared, local and global memory, mixed within a warp.
extern "C" __global__ void generic_pointers(const int *in, int *out) {
    __shared__ int s[256];
    int x = threadIdx.x, v = in[THREAD], a[8];
    for (int k = 0; k < 8; ++k) a[k] = v + k;
    s[x] = v;
    __syncthreads();
    const int *p = v % 3 == 0 ? s + (x & 127) : v % 3 == 1 ? a : in + x;
    int h = sum_of(p, 5, 1);
    h += sum_of(s + (x & 31), 6, 32);
    __syncthreads();
    store_to(v & 1 ? s + x : a + (v & 7), h);
    __syncthreads();
    int inside = __isShared(p) + 2 * __isLocal(p) + 4 * __isGlobal(p);
    out[THREAD] = s[(x + 1) & 255] + a[x & 7] + inside;
}

__constant__ int weights[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__constant__ double factors[4] = {0.5, 1.25, -2.0, 8.0};
__constant__ struct { char a; short b; int4 c; } record = {7, -300, {1, 2, 3, 4}};

extern "C" __global__ void constants(const int *in, double *out) {
    int v = in[THREAD], h = 0;
    for (int k = 0; k < 16; ++k) h = h * 3 + weights[k];
    h += weights[v & 15] + weights[blockIdx.x & 15] + record.a * record.b + (&record.c.x)[v & 3];
    out[THREAD] = h * factors[v & 3] + factors[1];
}

__device__ int table[8] = {10, 20, 30, 40, 50, 60, 70, 80};
__device__ int *pointer = table + 2;
__device__ float scratch[128];
__device__ const char text[] = "banks and lanes";

extern "C" __global__ void globals(const int *in, int *out) {
    int v = in[THREAD];
    scratch[THREAD & 127] = v * 0.5f;
    __syncthreads();
    out[THREAD] = pointer[v & 3] + table[v & 7] + text[v % 15] + (int)scratch[(THREAD & 127) ^ 31];
}

extern "C" __global__ void load_kinds(const int *in, const int4 *wide, int *out, long long *out8) {
    int v = __ldg(in + THREAD) + __ldcs(in + (THREAD ^ 1)) + __ldcg(in + THREAD / 2);
    int4 w = __ldg(wide + (THREAD & 31));
    short h = ((const short *)in)[THREAD * 2];
    signed char c = ((const signed char *)in)[THREAD * 4 + 1];
    __stcs(out + THREAD, v + w.x * w.w);
    out8[THREAD] = (long long)h * c - w.y;
}

struct Settings { int scale; float shift; double big; short order[4]; };

extern "C" __global__ void struct_parameter(const int *in, float *out, int scale, float shift, double big, short order,
                                            long long offset, unsigned char flag) {
    Settings s = {scale, shift, big, {order, 2, 3, 4}};
    out[THREAD] = in[THREAD + offset] * s.scale + s.shift + (float)(s.big * s.order[in[THREAD] & 3]) + flag;
}

// Shared accesses under predicates: some lanes, no lane, one lane.
extern "C" __global__ void predicated(const int *in, int *out) {
    __shared__ int s[256];
    int x = threadIdx.x, v = in[THREAD];
    s[x] = x;
    __syncthreads();
    int h = v & 1 ? s[x * 8 & 255] : 0;
    if (v > 1000) h += s[v & 255];
    if ((x & 31) == 7) s[x] = h;
    if (x >= 64 && x < 96) h += s[x * 32 + 3 & 255];
    __syncthreads();
    out[THREAD] = h + s[x | 7];
}
