// Micro-kernels: blocks that are resident together: barriers beside requests to shared and global memory, products, additions.
// Each warp tells its multiprocessor, and the clock at its begin and its end. With -DMODEL, as banksim runs it, blocks go around.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024, 2)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
#ifdef MODEL
__device__ __forceinline__ uint32_t smid() { return blockIdx.x % 132; }
#else
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
#endif
#define BAR asm volatile("bar.sync 0;" ::: "memory")
#define BEGIN uint32_t begin = now();
#define END(v) uint32_t end = now(); if ((threadIdx.x & 31) == 0 || (v) == 12345.f) out[(blockIdx.x * blockDim.x + threadIdx.x) >> 5] = make_uint4(smid(), begin, end, 0);
// A round: L loads, which the warp waits for before it stores or goes on if W, H shuffles, S stores, N barriers.
template <int L, int S, int N, int W, int H, int C> struct Round {
    uint32_t at, own; float v, q[L + 1];
    __device__ __forceinline__ void begin() {
        extern __shared__ float s[];
        uint32_t t = threadIdx.x;
        s[t] = t;
        at = __cvta_generic_to_shared(s + (t ^ 1)); own = __cvta_generic_to_shared(s + t);
        if (C > 1) at = own = __cvta_generic_to_shared(s + (t & ~31u)) + (t & 31) / C * 4 + (t & 31) % C * 128;
        v = t;
        __syncthreads();
    }
    __device__ __forceinline__ void requests() {
        #pragma unroll
        for (int k = 0; k < L; ++k) asm volatile("ld.volatile.shared.f32 %0,[%1];" : "=f"(q[k]) : "r"(at) : "memory");
        #pragma unroll
        for (int k = 0; k < L; ++k) if (W) v += q[k];
        #pragma unroll
        for (int k = 0; k < H; ++k) asm volatile("shfl.sync.bfly.b32 %0,%0,1,31,-1;" : "+f"(v));
        #pragma unroll
        for (int k = 0; k < S; ++k) asm volatile("st.volatile.shared.f32 [%0],%1;" :: "r"(own), "f"(v) : "memory");
    }
    __device__ __forceinline__ void go() {
        requests();
        #pragma unroll
        for (int k = 0; k < N; ++k) BAR;
        #pragma unroll
        for (int k = 0; k < L; ++k) if (!W) v += q[k];
    }
};
// Begin and end of each warp around n rounds.
template <class R> __device__ __forceinline__ void paced(uint4* out, uint32_t n) {
    R r; r.begin();
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) r.go();
    END(r.v)
}
#define PACED(L, S, N, W, H, C) G paced_##L##_##S##_##N##_##W##_##H##_##C(uint4* out, uint32_t n) { paced<Round<L, S, N, W, H, C>>(out, n); }
PACED(0, 0, 1, 0, 0, 1) PACED(0, 0, 2, 0, 0, 1) PACED(0, 0, 4, 0, 0, 1)
PACED(1, 0, 1, 1, 0, 1) PACED(2, 0, 1, 1, 0, 1) PACED(4, 0, 1, 1, 0, 1) PACED(8, 0, 1, 1, 0, 1) PACED(1, 0, 1, 0, 0, 1) PACED(4, 0, 1, 0, 0, 1)
PACED(0, 1, 1, 0, 0, 1) PACED(0, 2, 1, 0, 0, 1) PACED(0, 4, 1, 0, 0, 1) PACED(0, 8, 1, 0, 0, 1)
PACED(1, 1, 1, 1, 0, 1) PACED(2, 1, 1, 1, 0, 1) PACED(4, 4, 1, 1, 0, 1)
PACED(1, 0, 0, 1, 0, 1) PACED(2, 0, 0, 1, 0, 1) PACED(4, 0, 0, 1, 0, 1) PACED(8, 0, 0, 1, 0, 1) PACED(0, 1, 0, 0, 0, 1) PACED(0, 2, 0, 0, 0, 1) PACED(0, 4, 0, 0, 0, 1) PACED(1, 1, 0, 1, 0, 1) PACED(2, 1, 0, 1, 0, 1) PACED(4, 4, 0, 1, 0, 1)
PACED(0, 0, 1, 0, 1, 1) PACED(0, 0, 0, 0, 1, 1) PACED(0, 0, 1, 0, 4, 1) PACED(0, 0, 0, 0, 4, 1)
PACED(1, 0, 1, 1, 0, 8) PACED(1, 0, 0, 1, 0, 8) PACED(1, 0, 1, 1, 0, 4) PACED(1, 0, 0, 1, 0, 4) PACED(0, 1, 1, 0, 0, 8) PACED(0, 1, 0, 0, 0, 8)
// Groups of warps of one block with a barrier of their own each.
template <int S> __device__ __forceinline__ void named(uint4* out, uint32_t n, uint32_t group) {
    Round<0, S, 0, 0, 0, 1> r; r.begin();
    uint32_t id = threadIdx.x / group;
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) { r.requests(); asm volatile("bar.sync %0,%1;" :: "r"(id), "r"(group) : "memory"); }
    END(r.v)
}
G named_0(uint4* out, uint32_t n, uint32_t group) { named<0>(out, n, group); }
G named_1(uint4* out, uint32_t n, uint32_t group) { named<1>(out, n, group); }
// Barriers beside arithmetic: F products behind each.
template <int F> __device__ __forceinline__ void worked(uint4* out, uint32_t n) {
    float v = threadIdx.x, w = 1;
    __syncthreads();
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int f = 0; f < F; f += 2) { v = v * 1.5f + 1; w = w * 1.5f + 1; }
        BAR;
    }
    END(v + w)
}
G worked_8(uint4* out, uint32_t n) { worked<8>(out, n); }
G worked_32(uint4* out, uint32_t n) { worked<32>(out, n); }
// A round of n: L loads of W words of shared memory, all lanes from one place if A, F products behind each, S stores there; C global loads that
// the L1 has, U that only the L2 has, T stores; N barriers.
template <int L, int W, int A, int F, int S, int C, int U, int T, int N> __device__ __forceinline__ void round(uint4* out, uint32_t n, float* data) {
    extern __shared__ float s[];
    uint32_t t = threadIdx.x;
    s[t] = t; s[t + blockDim.x] = 1;
    uint32_t at = __cvta_generic_to_shared(A ? s : s + (t ^ 1)), own = __cvta_generic_to_shared(s + t);
    float* place = data + blockIdx.x * blockDim.x * 4 + t;
    float v = t, a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (C) { float q; for (int k = 0; k < C; ++k) { asm volatile("ld.global.f32 %0,[%1];" : "=f"(q) : "l"(place + k * blockDim.x)); v += q; } }
    __syncthreads();
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int u = 0; u < L; ++u) {
            float q[4];
            if (W == 4) asm volatile("ld.volatile.shared.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(q[0]), "=f"(q[1]), "=f"(q[2]), "=f"(q[3]) : "r"(at));
            if (W == 1) asm volatile("ld.volatile.shared.f32 %0,[%1];" : "=f"(q[0]) : "r"(at));
            if (F == 0) v += q[W - 1];
            #pragma unroll
            for (int f = 0; f < F; ++f) a[f & 7] = a[f & 7] * 1.5f + q[f % W];
        }
        #pragma unroll
        for (int u = 0; u < C; ++u) { float q; asm volatile("ld.global.f32 %0,[%1];" : "=f"(q) : "l"(place + u * blockDim.x) : "memory"); v += q; }
        #pragma unroll
        for (int u = 0; u < U; ++u) { float q; asm volatile("ld.global.cg.f32 %0,[%1];" : "=f"(q) : "l"(place + u * blockDim.x) : "memory"); v += q; }
        if (L == 0) {
            #pragma unroll
            for (int f = 0; f < F; ++f) a[f & 7] = a[f & 7] * 1.5f + v;
        }
        #pragma unroll
        for (int u = 0; u < S; ++u) asm volatile("st.volatile.shared.f32 [%0],%1;" :: "r"(own), "f"(v) : "memory");
        #pragma unroll
        for (int u = 0; u < T; ++u) asm volatile("st.global.f32 [%0],%1;" :: "l"(place + u * blockDim.x), "f"(v) : "memory");
        #pragma unroll
        for (int u = 0; u < N; ++u) BAR;
    }
    for (int f = 0; f < 8; ++f) v += a[f];
    END(v)
}
#define R(L, W, A, F, S, C, U, T, N) G round_##L##_##W##_##A##_##F##_##S##_##C##_##U##_##T##_##N(uint4* out, uint32_t n, float* data) { round<L, W, A, F, S, C, U, T, N>(out, n, data); }
// global memory with barriers and without
R(0, 1, 0, 0, 0, 1, 0, 0, 0) R(0, 1, 0, 0, 0, 1, 0, 0, 1) R(0, 1, 0, 0, 0, 4, 0, 0, 0) R(0, 1, 0, 0, 0, 4, 0, 0, 1)
R(0, 1, 0, 0, 0, 0, 1, 0, 0) R(0, 1, 0, 0, 0, 0, 1, 0, 1) R(0, 1, 0, 0, 0, 0, 4, 0, 0) R(0, 1, 0, 0, 0, 0, 4, 0, 1)
R(0, 1, 0, 0, 0, 0, 0, 1, 0) R(0, 1, 0, 0, 0, 0, 0, 1, 1) R(0, 1, 0, 0, 0, 0, 0, 4, 0) R(0, 1, 0, 0, 0, 0, 0, 4, 1)
R(0, 1, 0, 0, 1, 1, 0, 0, 1) R(4, 1, 0, 0, 0, 0, 1, 0, 1) R(4, 1, 0, 0, 1, 0, 1, 0, 2)
// who of several blocks goes first: without barriers
R(1, 1, 0, 0, 1, 0, 0, 0, 0) R(2, 1, 0, 0, 1, 0, 0, 0, 0) R(1, 1, 0, 0, 0, 0, 0, 0, 0) R(4, 1, 0, 0, 0, 0, 0, 0, 0) R(0, 1, 0, 0, 4, 0, 0, 0, 0)
R(0, 1, 0, 8, 0, 0, 0, 0, 0) R(0, 1, 0, 32, 0, 0, 0, 0, 0) R(4, 4, 1, 4, 0, 0, 0, 0, 0) R(4, 4, 1, 8, 0, 0, 0, 0, 0) R(4, 1, 0, 4, 0, 0, 0, 0, 0) R(2, 1, 0, 8, 0, 1, 0, 0, 0)
R(4, 4, 1, 4, 0, 0, 0, 0, 1) R(4, 4, 1, 8, 1, 0, 0, 0, 2) R(4, 1, 0, 4, 1, 0, 0, 0, 2)
// Factors of matrices of 16 x 16, P: 1 roots, 2 quotients, 4 products.
template <int P> __device__ __forceinline__ void factors(uint4* out, uint32_t n, float* a) {
    __shared__ float s[16][17];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    s[y][x] = a[threadIdx.x];
    __syncthreads();
    BEGIN
    for (int k = 0; k < n; ++k) {
        if (P & 1) { if (x == k && y == k) s[k][k] = sqrtf(s[k][k]); }
        __syncthreads();
        if (P & 2) { if (x == k && y > k) s[y][k] /= s[k][k]; }
        __syncthreads();
        if (P & 4) { if (x > k && y >= x) s[y][x] -= s[y][k] * s[x][k]; }
        __syncthreads();
    }
    END(s[y][x])
}
G factors_0(uint4* out, uint32_t n, float* a) { factors<0>(out, n, a); }
G factors_1(uint4* out, uint32_t n, float* a) { factors<1>(out, n, a); }
G factors_2(uint4* out, uint32_t n, float* a) { factors<2>(out, n, a); }
G factors_4(uint4* out, uint32_t n, float* a) { factors<4>(out, n, a); }
G factors_7(uint4* out, uint32_t n, float* a) { factors<7>(out, n, a); }
// A additions by all lanes to one word (O) or to words of their own, R of them give the old value; L loads, N barriers.
template <int A, int O, int R, int L, int N> __device__ __forceinline__ void adds(uint4* out, uint32_t n) {
    extern __shared__ uint32_t words[];
    uint32_t t = threadIdx.x, v = 0;
    words[t] = t; words[t + blockDim.x] = 1;
    uint32_t at = __cvta_generic_to_shared(O ? words + blockDim.x : words + t), own = __cvta_generic_to_shared(words + (t ^ 1));
    __syncthreads();
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int u = 0; u < A; ++u) {
            if (R) { uint32_t q; asm volatile("atom.shared.add.u32 %0,[%1],%2;" : "=r"(q) : "r"(at), "r"(k) : "memory"); v += q; }
            else asm volatile("red.shared.add.u32 [%0],%1;" :: "r"(at), "r"(k) : "memory");
        }
        #pragma unroll
        for (int u = 0; u < L; ++u) { uint32_t q; asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(q) : "r"(own) : "memory"); v += q; }
        #pragma unroll
        for (int u = 0; u < N; ++u) BAR;
    }
    END(__uint_as_float(v))
}
#define ADDS(a, o, r, l, n) G adds_##a##_##o##_##r##_##l##_##n(uint4* out, uint32_t n_) { adds<a, o, r, l, n>(out, n_); }
ADDS(1, 0, 0, 0, 0) ADDS(1, 0, 0, 0, 1) ADDS(1, 1, 0, 0, 0) ADDS(1, 1, 0, 0, 1) ADDS(1, 0, 1, 0, 0) ADDS(1, 0, 1, 0, 1) ADDS(1, 1, 1, 0, 0) ADDS(1, 1, 1, 0, 1) ADDS(4, 0, 0, 0, 0) ADDS(4, 0, 0, 0, 1) ADDS(1, 0, 0, 4, 0) ADDS(1, 0, 0, 4, 1) ADDS(1, 1, 0, 4, 1)
// L loads of W words at one place, F products each: they need what was loaded (U) or not.
template <int L, int W, int F, int U> __device__ __forceinline__ void ports(uint4* out, uint32_t n) {
    extern __shared__ float s[];
    uint32_t t = threadIdx.x;
    s[t] = t; s[t + blockDim.x] = 1;
    uint32_t at = __cvta_generic_to_shared(s);
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, v = 0, q[L][4];
    for (int u = 0; u < L; ++u) for (int w = 0; w < 4; ++w) q[u][w] = t;
    __syncthreads();
    BEGIN
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        #pragma unroll
        for (int u = 0; u < L; ++u) {
            if (W == 4) asm volatile("ld.volatile.shared.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(q[u][0]), "=f"(q[u][1]), "=f"(q[u][2]), "=f"(q[u][3]) : "r"(at + 16 * u));
            if (W == 2) asm volatile("ld.volatile.shared.v2.f32 {%0,%1},[%2];" : "=f"(q[u][0]), "=f"(q[u][1]) : "r"(at + 16 * u));
            if (W == 1) asm volatile("ld.volatile.shared.f32 %0,[%1];" : "=f"(q[u][0]) : "r"(at + 16 * u));
        }
        #pragma unroll
        for (int f = 0; f < L * F; ++f) asm volatile("fma.rn.f32 %0,%0,%1,%2;" : "+f"(a[f & 7]) : "f"(1.5f), "f"(U ? q[f / F][f % W] : 2.f));
    }
    for (int f = 0; f < 8; ++f) v += a[f];
    for (int u = 0; u < L; ++u) for (int w = 0; w < W; ++w) v += q[u][w];
    END(v)
}
#define PORTS(l, w, f, u) G ports_##l##_##w##_##f##_##u(uint4* out, uint32_t n) { ports<l, w, f, u>(out, n); }
PORTS(2, 1, 8, 0) PORTS(2, 2, 8, 0) PORTS(2, 4, 8, 0) PORTS(2, 4, 16, 0) PORTS(2, 4, 4, 0) PORTS(2, 1, 8, 1) PORTS(2, 2, 8, 1) PORTS(2, 4, 8, 1) PORTS(2, 4, 16, 1) PORTS(2, 4, 4, 1) PORTS(2, 1, 4, 0) PORTS(2, 1, 16, 0)
// When the warps of blocks begin that do nothing but wait.
G joined(uint4* out, uint32_t wait) { uint32_t begin = now(); while (now() - begin < wait); __syncthreads(); uint32_t end = now(); if ((threadIdx.x & 31) == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) >> 5] = make_uint4(smid(), begin, end, 0); }
