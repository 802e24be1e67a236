// Global memory under load: how many loads of 4, 8 and 16 bytes are on their way from the L2 and from DRAM, by warps and in each; what data that come
// and leave take of the memory that is L1 and shared memory; neighbours in a picture; columns.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
typedef uint32_t u;
#define GIVEN float* out, float* in, u a, u b, u c, u d, u e, u f
template <int W> __device__ __forceinline__ float get(const float* p) {
    float q[4] = {0, 0, 0, 0};
    if (W == 1) asm volatile("ld.global.f32 %0,[%1];" : "=f"(q[0]) : "l"(p) : "memory");
    if (W == 2) asm volatile("ld.global.v2.f32 {%0,%1},[%2];" : "=f"(q[0]), "=f"(q[1]) : "l"(p) : "memory");
    if (W == 4) asm volatile("ld.global.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(q[0]), "=f"(q[1]), "=f"(q[2]), "=f"(q[3]) : "l"(p) : "memory");
    return W == 1 ? q[0] : W == 2 ? q[0] + q[1] : (q[0] + q[1]) + (q[2] + q[3]);
}
template <int W> __device__ __forceinline__ void put(float* p, float v) {
    if (W == 1) asm volatile("st.global.f32 [%0],%1;" :: "l"(p), "f"(v) : "memory");
    if (W == 2) asm volatile("st.global.v2.f32 [%0],{%1,%1};" :: "l"(p), "f"(v) : "memory");
    if (W == 4) asm volatile("st.global.v4.f32 [%0],{%1,%1,%1,%1};" :: "l"(p), "f"(v) : "memory");
}
// Rounds of U loads (WHAT & 1), stores (2) of W words a lane: words between blocks, warps, loads, rounds; mask; rounds.
template <int W, int U, int WHAT> __device__ __forceinline__ void flow(GIVEN) {
    u at = blockIdx.x * a + threadIdx.x / 32 * b + threadIdx.x % 32 * W; float s = 0;
    #pragma unroll 1
    for (u k = 0; k < f; ++k) {
        float v[U];
        #pragma unroll
        for (int i = 0; i < U; ++i) v[i] = WHAT & 1 ? get<W>(in + (at + i * c & e)) : k;
        #pragma unroll
        for (int i = 0; i < U; ++i) if (WHAT & 2) put<W>(out + (at + i * c & e), v[i]); else s += v[i];
        at += d;
    }
    if (s == 1e30f) out[0] = s;
}
#define F(W, U, T) G flow_##W##_##U##_##T(GIVEN) { flow<W, U, T>(out, in, a, b, c, d, e, f); }
#define FU(W, T) F(W, 1, T) F(W, 2, T) F(W, 4, T) F(W, 8, T)
FU(1, 1) FU(2, 1) FU(4, 1) F(1, 1, 3) F(1, 4, 3) F(4, 1, 3) F(4, 2, 3) F(1, 1, 2) F(4, 1, 2)
// A round: one access to global memory (0: none, 1: a load, 4: of 16 bytes, 2: a store, 8: of 16 bytes, 3: an addition) of words of its own, and K
// accesses (SH 0: loads, 1: stores of shared memory). mask, rounds.
template <int KIND, int K, int SH> __device__ __forceinline__ void beside(GIVEN) {
    __shared__ float sh[2048];
    constexpr int W = KIND == 4 || KIND == 8 ? 4 : 1;
    u t = threadIdx.x, at = (blockIdx.x * blockDim.x + t) * W, m = __cvta_generic_to_shared(sh + t);
    float v = t, s = 0;
    for (u k = t; k < 2048; k += blockDim.x) sh[k] = 0;
    __syncthreads();
    #pragma unroll 1
    for (u k = 0; k < b; ++k) {
        float got = 0, q[K ? K : 1];
        if (KIND == 1 || KIND == 4) got = get<W>(in + (at & a));
        if (KIND == 2 || KIND == 8) put<W>(in + (at & a), v);
        if (KIND == 3) asm volatile("red.global.add.f32 [%0],%1;" :: "l"(in + (at & a)), "f"(v) : "memory");
        #pragma unroll
        for (int i = 0; i < K; ++i) {
            if (SH == 0) asm volatile("ld.volatile.shared.f32 %0,[%1];" : "=f"(q[i]) : "r"(m) : "memory");
            if (SH == 1) asm volatile("st.volatile.shared.f32 [%0],%1;" :: "r"(m), "f"(v) : "memory");
        }
        if (SH != 1)
            #pragma unroll
            for (int i = 0; i < K; ++i) s += q[i];
        s += got;
        at += gridDim.x * blockDim.x * W;
    }
    if (s == 1e30f) out[0] = s;
}
#define B(K, N, S) G beside_##K##_##N##_##S(GIVEN) { beside<K, N, S>(out, in, a, b, c, d, e, f); }
#define BK(N, S) B(0, N, S) B(1, N, S) B(2, N, S) B(3, N, S) B(4, N, S) B(8, N, S)
BK(8, 0) BK(16, 0) BK(8, 1) BK(16, 1)
// A picture: a word a thread, N of its neighbours; a: words of a row; b: where the first begins; WHAT 1: stored to rows of c words.
template <int N, int WHAT> __device__ __forceinline__ void near(GIVEN) {
    u x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; const float* p = in + y * a + x + b; float s = 0;
    #pragma unroll
    for (int j = 0; j < (N == 5 || N == 9 ? 3 : 1); ++j)
        #pragma unroll
        for (int i = 0; i < (N > 1 ? 3 : 1); ++i) if (N != 5 || i == 1 || j == 1) s += p[j * a + i];
    if (WHAT) out[y * c + x] = s; else if (s == 1e30f) out[0] = s;
}
#define P(N, T) G near_##N##_##T(GIVEN) { near<N, T>(out, in, a, b, c, d, e, f); }
P(1, 0) P(3, 0) P(5, 0) P(9, 0) P(1, 1) P(3, 1) P(5, 1) P(9, 1)
// Columns: tiles of 32 x 32, a: words between lanes, b: between warps, c: how often.
G columns(GIVEN) {
    u x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; float s = 0;
    #pragma unroll 1
    for (u k = 0; k < c; ++k) {
        float v[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) v[j] = get<1>(in + x * a + (y + j * 8) * b);
        #pragma unroll
        for (int j = 0; j < 4; ++j) s += v[j];
    }
    if (s == 1e30f) out[0] = s;
}
