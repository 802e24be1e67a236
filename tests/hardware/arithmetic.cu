// Arithmetic whose results are compared bit by bit: integers of all sizes, float and double, and the special functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void integers(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned x = a[THREAD], y = b[THREAD];
    int i = x, j = y;
    unsigned *o = out + THREAD * 40;
    *o++ = x / (y | 1);
    *o++ = x % (y >> 20 | 1);
    *o++ = i / (j | 1);
    *o++ = i % ((j >> 24) | 1);
    *o++ = __umulhi(x, y);
    *o++ = __mulhi(i, j);
    *o++ = __clz(x);
    *o++ = __ffs(x);
    *o++ = __popc(x ^ y);
    *o++ = __brev(x);
    *o++ = __byte_perm(x, y, y & 0x7777);
    *o++ = __funnelshift_l(x, y, y & 63);
    *o++ = __funnelshift_rc(x, y, y >> 3 & 63);
    *o++ = y & 32 ? x << (y & 31) : i >> (y & 31);
    *o++ = __sad(i, j, x);
    *o++ = __usad(x, y, 7);
    *o++ = __hadd(i, j);
    *o++ = __urhadd(x, y);
    *o++ = __dp4a(i, j, 5);
    *o++ = __dp4a(x, y, 5u);
    *o++ = __dp2a_lo(i, j, 9);
    *o++ = abs(i);
    *o++ = min(i, j) ^ max(x, y);
    *o++ = x * y + (x ^ 0xffff);
    *o++ = (short)x * (short)y;
    *o++ = (signed char)(x >> 8) + (unsigned char)(y >> 16);
    *o++ = (x >> (y & 7)) & 0x3ff;
    *o++ = __vadd4(x, y) ^ __vmaxu4(x, y);
    *o++ = __vabsdiffu4(x, y) + __vsubss2(x, y);
    *o++ = __viaddmax_s32(i, j, 100) + __vimax3_s32(i, j, 7);
    *o++ = __viaddmin_s16x2_relu(x, y, 0x00100020) ^ __vibmax_u16x2(x, y, (bool *)&j, (bool *)&i);
    *o++ = x / 10 + y % 1000 * 3;
    *o++ = i / 7 - j % 12;
}

extern "C" __global__ void long_integers(const unsigned *a, const unsigned *b, unsigned long long *out) {
    unsigned long long x = (unsigned long long)a[THREAD] << 32 | b[THREAD], y = (unsigned long long)b[THREAD] * a[THREAD ^ 1];
    long long i = x, j = y;
    unsigned long long *o = out + THREAD * 20;
    *o++ = x + y;
    *o++ = x - y;
    *o++ = x * y;
    *o++ = x / (y >> (a[THREAD] & 63) | 1);
    *o++ = x % (y >> (b[THREAD] & 63) | 1);
    *o++ = i / (j >> (a[THREAD] & 63) | 1);
    *o++ = i % (j >> 40 | 1);
    *o++ = __umul64hi(x, y);
    *o++ = __mul64hi(i, j);
    *o++ = x << (b[THREAD] & 63);
    *o++ = i >> (a[THREAD] & 63);
    *o++ = __clzll(x >> (a[THREAD] & 63)) * 100 + __ffsll(y) * 10 + __popcll(x);
    *o++ = __brevll(x);
    *o++ = i < j ? i : -j;
    *o++ = max(x, y) ^ min(i, j);
    *o++ = llabs(i) + (x == y) + (i >= j);
}

extern "C" __global__ void float_rounding(const unsigned *a, const unsigned *b, float *out) {
    float x = __uint_as_float(a[THREAD]), y = __uint_as_float(b[THREAD]), z = (int)b[THREAD ^ 1] * 1e-5f;
    float *o = out + THREAD * 32;
    *o++ = x + y;
    *o++ = x * y;
    *o++ = fmaf(x, y, z);
    *o++ = __fadd_rz(x, y);
    *o++ = __fadd_ru(x, y);
    *o++ = __fmul_rd(x, y);
    *o++ = __fmaf_ru(x, z, y);
    *o++ = __fmaf_rz(z, y, x);
    *o++ = fminf(x, y);
    *o++ = fmaxf(fabsf(x), -y);
    *o++ = __saturatef(z);
    *o++ = floorf(z) + ceilf(z) * 2 + truncf(z) * 3 + rintf(z) * 4;
    *o++ = roundf(z) + nearbyintf(z * 0.5f);
    *o++ = __int_as_float(__float2int_rn(z));
    *o++ = __int_as_float(__float2int_rz(x));
    *o++ = __int_as_float(__float2uint_ru(y));
    *o++ = __int_as_float((int)__float2ll_rd(x));
    *o++ = __int2float_rz((int)a[THREAD]);
    *o++ = __uint2float_ru(b[THREAD]);
    *o++ = __ll2float_rn((long long)a[THREAD] * b[THREAD]);
    *o++ = copysignf(z, x);
    *o++ = x < y ? 1.0f : x > y ? 2.0f : 3.0f;
    *o++ = isnan(x) + 2 * isinf(y) + 4 * signbit(x) + 8 * isfinite(y);
    *o++ = fdimf(x, y);
    *o++ = ldexpf(z, (int)(a[THREAD] & 127) - 64);
    *o++ = (float)ilogbf(z);
    *o++ = fmodf(z, 0.37f);
    *o++ = x / y;
    *o++ = sqrtf(x);
    *o++ = __frcp_rn(y);
    *o++ = __fdiv_rd(z, y);
    *o++ = __fsqrt_ru(fabsf(z));
}

extern "C" __global__ void float_flush(const unsigned *a, const unsigned *b, float *out) {
    float x = __uint_as_float(a[THREAD] & 0x80ffffff), y = __uint_as_float(b[THREAD] & 0x817fffff), r;
    float *o = out + THREAD * 6;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    *o++ = r;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y * 1e30f));
    *o++ = r;
    asm("fma.rn.ftz.f32 %0, %1, %2, %1;" : "=f"(r) : "f"(x), "f"(y));
    *o++ = r;
    asm("max.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    *o++ = r;
    asm("add.sat.f32 %0, %1, 0f3F000000;" : "=f"(r) : "f"(x * 1e37f));
    *o++ = r;
    *o++ = x * 0.5f + y;
}

extern "C" __global__ void doubles(const unsigned *a, const unsigned *b, double *out) {
    double x = __hiloint2double(a[THREAD], b[THREAD]), y = (int)a[THREAD ^ 1] * 0x1p-20, z = (int)b[THREAD] * 0x1p-30;
    double *o = out + THREAD * 28;
    *o++ = x + y;
    *o++ = x * y;
    *o++ = fma(y, z, x);
    *o++ = fma(y, z, -y * z);
    *o++ = __dadd_rz(y, z);
    *o++ = __dmul_ru(y, z);
    *o++ = x / y;
    *o++ = y / z;
    *o++ = sqrt(fabs(y));
    *o++ = 1.0 / x;
    *o++ = fmin(x, y) + fmax(y, z);
    *o++ = floor(y) + ceil(z) * 2 + trunc(y) * 3 + rint(z) * 4;
    *o++ = (double)(float)y;
    *o++ = (double)__double2float_ru(z);
    *o++ = (double)(long long)(y * 1e6);
    *o++ = (double)__double2uint_rn(fabs(z));
    *o++ = __ll2double_rn((long long)a[THREAD] << 31 | b[THREAD]);
    *o++ = x < y ? 1.0 : 2.0;
    *o++ = isnan(x) + 2 * isinf(x);
    *o++ = exp(z * 20);
    *o++ = log(fabs(y));
    *o++ = sin(y);
    *o++ = cos(z * 1000);
    *o++ = pow(fabs(y), z);
    *o++ = tanh(z);
    *o++ = atan2(y, z);
    *o++ = rsqrt(fabs(y));
    *o++ = cbrt(y);
}

extern "C" __global__ void half_precision(const unsigned *a, const unsigned *b, float *out) {
    float x = (int)a[THREAD] * 0x1p-28f, y = (int)b[THREAD] * 0x1p-29f;
    __half h = __float2half_rn(x), g = __float2half_rz(y);
    __half2 p = __floats2half2_rn(x, y), q = __floats2half2_rn(y, 0.5f);
    __nv_bfloat16 u = __float2bfloat16(x), v = __float2bfloat16(y);
    __nv_bfloat162 r = __floats2bfloat162_rn(x, y);
    float *o = out + THREAD * 16;
    *o++ = __half2float(h + g);
    *o++ = __half2float(h * g);
    *o++ = __half2float(__hfma(h, g, h));
    *o++ = __half2float(h / g);
    *o++ = __half2float(__hmax(h, g));
    *o++ = __half2float(hsqrt(__habs(h)));
    *o++ = __low2float(__hfma2(p, q, p)) + __high2float(__hadd2(p, q));
    *o++ = __low2float(__hmul2(p, q)) + (__hgt(h, g) ? 1.0f : 0.0f);
    *o++ = __bfloat162float(u + v);
    *o++ = __bfloat162float(__hfma(u, v, u));
    *o++ = __low2float(__hmul2(r, r)) - __high2float(__hadd2(r, r));
    *o++ = __half2float(__int2half_rn(a[THREAD] >> 20)) + __half2int_rz(h);
    *o++ = __half2float(hexp(h));
    *o++ = __half2float(__hadd_sat(h, g));
    *o++ = __high2float(__hmin2(p, q)) + __low2float(__hneg2(p));
    *o++ = __half2float(__ushort_as_half(a[THREAD] & 0xffff)) + __bfloat162float(__ushort_as_bfloat16(b[THREAD] & 0x7fff));
}

// Functions that go through the special-function unit (the fast forms), and those built on polynomials (the others).
extern "C" __global__ void functions_fast(const unsigned *a, float *out) {
    float x = (int)a[THREAD] * 0x1p-27f, y = fabsf(x) + 0x1p-20f;
    float *o = out + THREAD * 12;
    *o++ = __expf(x);
    *o++ = exp2f(x);
    *o++ = __logf(y);
    *o++ = __log2f(y);
    *o++ = __sinf(x);
    *o++ = __cosf(x);
    *o++ = __tanf(x);
    *o++ = rsqrtf(y);
    *o++ = __fdividef(x, y + 1);
    *o++ = __powf(y, x);
    *o++ = __frsqrt_rn(y);
    asm("tanh.approx.f32 %0, %1;" : "=f"(*o) : "f"(x));
}

extern "C" __global__ void functions_exact(const unsigned *a, float *out) {
    float x = (int)a[THREAD] * 0x1p-27f, y = fabsf(x) + 0x1p-20f;
    float *o = out + THREAD * 24;
    *o++ = expf(x);
    *o++ = logf(y);
    *o++ = sinf(x);
    *o++ = cosf(x);
    *o++ = tanf(x);
    *o++ = sinf(x * 1e6f); // in some lanes the slow path of the argument's reduction
    *o++ = cosf(a[THREAD] * 1.7f);
    *o++ = powf(y, x);
    *o++ = tanhf(x);
    *o++ = erff(x);
    *o++ = atanf(x);
    *o++ = atan2f(x, y + 0.5f);
    *o++ = asinf(x * 0x1p-4f);
    *o++ = cbrtf(x);
    *o++ = exp10f(x);
    *o++ = log10f(y);
    *o++ = log1pf(y);
    *o++ = expm1f(x);
    *o++ = sinhf(x);
    *o++ = hypotf(x, y);
    *o++ = remainderf(x, 0.7f);
    *o++ = lgammaf(y + 1);
    *o++ = 1.0f / sqrtf(y);
    *o++ = normcdff(x);
}

// The special-function unit by itself, over inputs of the whole range; ftz forms, which are one instruction each.
extern "C" __global__ void special_functions(const unsigned *in, float *out, int count) {
    for (int i = THREAD; i < count; i += gridDim.x * blockDim.x) {
        float x = __uint_as_float(in[i]);
        float *o = out + i;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("sin.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("cos.approx.ftz.f32 %0, %1;" : "=f"(*o) : "f"(x));
        o += count;
        asm("tanh.approx.f32 %0, %1;" : "=f"(*o) : "f"(x));
    }
}

extern "C" __global__ void special_functions_double(const unsigned *a, const unsigned *b, double *out) {
    double x = __hiloint2double(a[THREAD], b[THREAD]);
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(out[2 * THREAD]) : "d"(x));
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(out[2 * THREAD + 1]) : "d"(x));
}
