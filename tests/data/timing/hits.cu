// Micro-kernels: loads that the L1 has, local arrays, stores to few lines, by 1 to 64 warps of a multiprocessor. Each warp tells its multiprocessor, and the
// clock at its begin and its end. With -DMODEL, as banksim runs it, blocks go around.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024, 2)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
#ifdef MODEL
__device__ __forceinline__ uint32_t smid() { return blockIdx.x % 132; }
#else
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
#endif
#define BEGIN __syncthreads(); uint32_t begin = now();
#define END(v) uint32_t end = now(); if ((threadIdx.x & 31) == 0 || (v) == 12345.f) out[(blockIdx.x * blockDim.x + threadIdx.x) >> 5] = make_uint4(smid(), begin, end, 0);
__device__ __forceinline__ uint32_t mix(uint32_t x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
template <int W> __device__ __forceinline__ float get(const float* p) {
    float q[4] = {0, 0, 0, 0};
    if (W == 1) asm volatile("ld.global.f32 %0,[%1];" : "=f"(q[0]) : "l"(p) : "memory");
    if (W == 2) asm volatile("ld.global.v2.f32 {%0,%1},[%2];" : "=f"(q[0]), "=f"(q[1]) : "l"(p) : "memory");
    if (W == 4) asm volatile("ld.global.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(q[0]), "=f"(q[1]), "=f"(q[2]), "=f"(q[3]) : "l"(p) : "memory");
    return W == 1 ? q[0] : W == 2 ? q[0] + q[1] : (q[0] + q[1]) + (q[2] + q[3]);
}
// A round: U loads of W words, then S stores of a word to global and T to shared memory, F products. Lines of a load: P = 0: those of the warp,
// side by side; else P lines, the lanes spread over them, of all warps the same; P = 64: a random word of 64 lines
// each; 65 to 67: the first word of a random sector of 64, of 512 lines, or of a random half of one of 128; 68: 32 lines, of eight of which one bank has
// the words; -1: the warp's own 32.
template <int W, int U, int P, int S, int T, int F> __device__ __forceinline__ void hits(uint4* out, uint32_t n, float* data, uint32_t zero) {  // zero: 0
    __shared__ float s[1024];
    uint32_t t = threadIdx.x, lane = t & 31, warp = t / 32;
    constexpr int apart = P == 0 ? 32 * W : P == -1 ? 1 : 32 * P, each = P >= 64 ? U : 1;
    const float* at[each];
    #pragma unroll
    for (int u = 0; u < each; ++u)
        at[u] = data + (P == 0 ? warp * U * 32 * W + lane * W : P == 64 ? mix(t * 8 + u) & 2047 : P == -1 ? (warp * 32 + lane) * 32 : P == 65 ? (mix(t * 8 + u) & 255) * 8 : P == 66 ? (mix(t * 8 + u) & 2047) * 8 : P == 67 ? (mix(t * 8 + u) & 1023) * 4 : P == 68 ? lane * 32 + lane % 4 * 8 : lane * P / 32 * 32 + (W == 1 ? lane : 0));
    float v = t, a[4] = {1, 2, 3, 4};
    #pragma unroll
    for (int u = 0; u < U; ++u) v += get<W>(P >= 64 ? at[u % each] : at[0] + u * apart);
    float* own = data + (1 << 18) + blockIdx.x * 1024 + t;
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        float q[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) q[u] = get<W>(P >= 64 ? at[u % each] : at[0] + u * apart);
        #pragma unroll
        for (int u = 0; u < S; ++u) asm volatile("st.global.f32 [%0],%1;" :: "l"(own), "f"(v) : "memory");
        #pragma unroll
        for (int u = 0; u < T; ++u) asm volatile("st.volatile.shared.f32 [%0],%1;" :: "r"((uint32_t)__cvta_generic_to_shared(s + t)), "f"(v) : "memory");
        #pragma unroll
        for (int u = 0; u < each; ++u) at[u] += zero;
        #pragma unroll
        for (int f = 0; f < F; ++f) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(a[f & 3]) : "f"(1.5f));
        #pragma unroll
        for (int u = 0; u < U; ++u) v += q[u];
    }
    v += a[0] + a[1] + a[2] + a[3];
    END(v)
}
#define H(N, W, U, P, S, T, F) G hits_##W##_##U##_##N##_##S##_##T##_##F(uint4* out, uint32_t n, float* data, uint32_t zero) { hits<W, U, P, S, T, F>(out, n, data, zero); }
#define HU(N, W, P) H(N, W, 1, P, 0, 0, 0) H(N, W, 2, P, 0, 0, 0) H(N, W, 4, P, 0, 0, 0) H(N, W, 8, P, 0, 0, 0)
HU(own, 1, 0) HU(own, 2, 0) HU(own, 4, 0) HU(one, 1, 1) H(one, 4, 1, 1, 0, 0, 0) H(one, 4, 4, 1, 0, 0, 0) H(one, 2, 4, 1, 0, 0, 0)
HU(random, 1, 64) HU(rows, 1, -1) H(two, 1, 4, 2, 0, 0, 0) H(four, 1, 4, 4, 0, 0, 0) HU(eight, 1, 8) H(sixteen, 1, 4, 16, 0, 0, 0) HU(all, 1, 32)
HU(sectors, 1, 65) HU(far_sectors, 1, 66) HU(halves, 1, 67) HU(eights, 1, 68)
H(own, 1, 1, 0, 1, 0, 0) H(own, 1, 2, 0, 1, 0, 0) H(own, 1, 4, 0, 1, 0, 0) H(own, 1, 1, 0, 0, 1, 0) H(own, 1, 2, 0, 0, 1, 0) H(own, 1, 4, 0, 0, 2, 0) H(random, 1, 2, 64, 0, 1, 0)
H(own, 1, 2, 0, 0, 0, 8) H(own, 1, 4, 0, 0, 0, 16) H(own, 4, 2, 0, 0, 0, 8) H(one, 4, 2, 1, 0, 0, 8) H(one, 4, 2, 1, 0, 0, 16) H(random, 1, 2, 64, 0, 0, 16)
// Lines that come for the first time: each round asks for others, of which all warps ask (P lines a load), or each for its own (P = 0).
template <int U, int P> __device__ __forceinline__ void first(uint4* out, uint32_t n, float* data) {
    uint32_t t = threadIdx.x, lane = t & 31, warp = t / 32, warps = blockDim.x / 32;
    const float* at = data + (P == 0 ? warp * U * 32 + lane : lane * (P ? P : 1) / 32 * 32 + lane);
    uint32_t step = P ? U * P * 32 : warps * U * 32;
    float v = t;
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        float q[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) q[u] = get<1>(at + u * (P ? P : 1) * 32);
        at += step;
        #pragma unroll
        for (int u = 0; u < U; ++u) v += q[u];
    }
    END(v)
}
#define M(U, P) G first_##U##_##P(uint4* out, uint32_t n, float* data) { first<U, P>(out, n, data); }
M(1, 0) M(4, 0) M(1, 1) M(4, 1) M(1, 8) M(4, 8) M(1, 32) M(2, 32)
// Local arrays of 16 words: a round stores S of them and loads L, at an index that is one for all lanes (D = 1) or one of D; chained: each load's
// value is the next one's index.
template <int S, int L, int D, int C> __device__ __forceinline__ void local(uint4* out, uint32_t n, float* data) {
    volatile uint32_t a[16];
    uint32_t t = threadIdx.x, i = t % D, v = 0;
    for (uint32_t k = 0; k < 16; ++k) a[(k + i) & 15] = C ? i : 0;
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        uint32_t q[L + 1];
        #pragma unroll
        for (int u = 0; u < S; ++u) a[(i + u) & 15] = C ? i : 0;
        if (C) {
            #pragma unroll
            for (int u = 0; u < L; ++u) i = a[i & 15];
        } else {
            #pragma unroll
            for (int u = 0; u < L; ++u) q[u] = a[(i + u + (C ? 0 : 4)) & 15];
            #pragma unroll
            for (int u = 0; u < L; ++u) v += q[u];
            i += v;
        }
    }
    END((float)(v + i))
}
#define A(S, L, D, C) G local_##S##_##L##_##D##_##C(uint4* out, uint32_t n, float* data) { local<S, L, D, C>(out, n, data); }
A(0, 1, 1, 0) A(0, 4, 1, 0) A(1, 1, 1, 0) A(4, 4, 1, 0) A(0, 1, 1, 1) A(0, 4, 1, 1) A(1, 1, 1, 1) A(2, 2, 1, 1)
A(0, 1, 8, 0) A(0, 4, 8, 0) A(1, 0, 8, 0) A(4, 0, 8, 0) A(1, 1, 8, 0) A(4, 4, 8, 0) A(0, 4, 8, 1) A(1, 1, 8, 1) A(2, 2, 8, 1) A(4, 0, 2, 0) A(4, 0, 16, 0)
// An insertion into a sorted local array of 8, as often as n: lanes go as far as their values want.
template <int D> __device__ __forceinline__ void inserts(uint4* out, uint32_t n, float* data) {
    float best[8], v = 0;
    uint32_t t = threadIdx.x;
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) best[i] = -1;
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        float x = mix((D ? t : t / 32) * 4096 + k) >> 8;
        if (D == 2) x += k * 16777216.f / 8;
        if (x <= best[7]) continue;
        int at = 7;
        #pragma unroll 1
        while (at > 0 && best[at - 1] < x) best[at] = best[at - 1], --at;
        best[at] = x;
    }
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) v += best[i];
    END(v)
}
G inserts_0(uint4* out, uint32_t n, float* data) { inserts<0>(out, n, data); }
G inserts_1(uint4* out, uint32_t n, float* data) { inserts<1>(out, n, data); }
G inserts_2(uint4* out, uint32_t n, float* data) { inserts<2>(out, n, data); }
// A round: A additions or stores (T) of whole lines, D = 1, or of words 8 apart; J: warps begin together, else as the multiprocessor begins them.
template <int A, int D, int T, int J> __device__ __forceinline__ void sends(uint4* out, uint32_t n, float* data) {
    uint32_t t = threadIdx.x;
    float* own = data + (blockIdx.x & 1) * (1 << 18) + t * D;
    if (J) __syncthreads();
    uint32_t begin = now();
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int u = 0; u < A; ++u) {
            if (T) asm volatile("st.global.u32 [%0],%1;" :: "l"(own), "r"(k) : "memory");
            else asm volatile("red.global.add.u32 [%0],%1;" :: "l"(own), "r"(k) : "memory");
        }
        own += (int)(1024 * D) * (int)(k % 8 == 7 ? -7 : 1);
    }
    END(0.f)
}
#define X(A, D, T, J) G sends_##A##_##D##_##T##_##J(uint4* out, uint32_t n, float* data) { sends<A, D, T, J>(out, n, data); }
X(1, 1, 0, 0) X(1, 1, 0, 1) X(4, 1, 0, 0) X(4, 1, 0, 1) X(1, 8, 0, 0) X(1, 8, 0, 1) X(1, 1, 1, 0) X(1, 1, 1, 1) X(4, 1, 1, 1)
// A round: W products of 64 bits; L loads of shared memory, C of global memory at the first product, that are waited for; F products of floats.
template <int W, int L, int C, int F> __device__ __forceinline__ void wides(uint4* out, uint32_t n, float* data, uint32_t zero) {
    __shared__ float s[1024];
    uint32_t t = threadIdx.x, at = __cvta_generic_to_shared(s + t);
    const float* p[W ? W : 1];
    for (int w = 0; w < (W ? W : 1); ++w) p[w] = data + t + w;
    float v = t, a[4] = {1, 2, 3, 4}, one = 1 + zero;
    s[t] = t; v += *p[0];
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        float q = 0, r = 0;
        uint32_t z = (k ^ t) & zero;
        if (L) asm volatile("ld.volatile.shared.f32 %0,[%1];" : "=f"(q) : "r"(at) : "memory");
        if (C) asm volatile("ld.global.f32 %0,[%1];" : "=f"(r) : "l"(p[0]) : "memory");
        #pragma unroll
        for (int w = 0; w < W; ++w) asm volatile("mad.wide.u32 %0,%1,12,%0;" : "+l"(p[w]) : "r"(z));
        #pragma unroll
        for (int f = 0; f < F; ++f) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(a[f & 3]) : "f"(one));
        if (L) v += q;
        if (C) v += r;
    }
    for (int w = 0; w < W; ++w) v += *p[w];
    v += a[0] + a[1] + a[2] + a[3];
    END(v)
}
#define D(W, L, C, F) G wides_##W##_##L##_##C##_##F(uint4* out, uint32_t n, float* data, uint32_t zero) { wides<W, L, C, F>(out, n, data, zero); }
D(0, 0, 0, 4) D(1, 0, 0, 0) D(1, 0, 0, 4) D(2, 0, 0, 4) D(4, 0, 0, 4) D(0, 1, 0, 0) D(1, 1, 0, 0) D(2, 1, 0, 0) D(4, 1, 0, 0) D(1, 1, 0, 4) D(2, 1, 0, 4) D(1, 1, 0, 8) D(1, 0, 1, 0) D(2, 0, 1, 0) D(4, 0, 1, 0) D(1, 0, 1, 4) D(1, 0, 1, 8)
// Each warp stores to n lines of its own in turn: 0: all words; 1: a word of each sector; 2: one word; 3: all lanes the same word.
template <int N, int K> __device__ __forceinline__ void rings(uint4* out, uint32_t n, float* data, uint32_t zero) {
    uint32_t t = threadIdx.x, lane = t & 31;
    float* own = data + t / 32 * N * 32 + (K == 3 ? 0 : lane);
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int u = 0; u < N; ++u) if (K == 0 || K == 3 || (K == 1 && lane % 8 == 0) || (K == 2 && lane == 0)) asm volatile("st.global.u32 [%0],%1;" :: "l"(own + u * 32), "r"(k) : "memory");
        asm volatile("" ::: "memory");
    }
    END(0.f)
}
#define R(N, K) G rings_##N##_##K(uint4* out, uint32_t n, float* data, uint32_t zero) { rings<N, K>(out, n, data, zero); }
R(1, 0) R(2, 0) R(3, 0) R(1, 1) R(2, 1) R(3, 1) R(1, 2) R(2, 2) R(3, 2) R(1, 3) R(2, 3)
