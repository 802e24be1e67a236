// What requests to shared memory, or hits of the L1, of some warps take while others do one thing each.
#include <cstdint>
enum { NONE, ST_LINE, ST_HALVES, ST_OFF, ST_WORD, ST_BYTES, LD_LINE, LD_HALVES, LD_OFF, LD_WORD, LD_BYTES, PAST_LINE, HIT_LINE, HIT_HALVES, HIT_OFF, HIT_BYTES, TID, CTAID, SHUFFLE, CONSTANT };
enum { LOADS, STORES, HITS };
__constant__ uint32_t table[64];
__device__ __forceinline__ bool rows(int g) { return g == ST_HALVES || g == LD_HALVES || g == HIT_HALVES || g == ST_BYTES || g == LD_BYTES || g == HIT_BYTES; }
__device__ __forceinline__ uint32_t at(int g, int lane) {
    return g == ST_BYTES || g == LD_BYTES || g == HIT_BYTES ? (lane & 15) + (lane >> 4) * 4096
         : rows(g) ? (lane & 15) * 4 + (lane >> 4) * 4096
         : g == ST_OFF || g == LD_OFF || g == HIT_OFF ? lane * 4 + 16 : g == ST_WORD || g == LD_WORD ? 0 : lane * 4;
}
template <int G> __device__ __forceinline__ uint32_t far_turn(uint8_t* p, uint32_t r, uint32_t warp, uint32_t warps, uint32_t lane) {
    uint32_t got[8], sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        uint32_t n = G >= HIT_LINE ? (k + r & 7) * (rows(G) ? 64 : warps) + warp : rows(G) ? (r * 8 + k) * 64 + warp : (r * 8 + k) * warps + warp;
        uint8_t* q = p + (size_t)n * 128;
        if (G == TID || G == CTAID || G == SHUFFLE) asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(got[k]) : "r"(lane + k) : "memory");
        else if (G == CONSTANT) got[k] = table[(r * 8 + k + warp) & 63];
        else if (G == PAST_LINE) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(got[k]) : "l"(q) : "memory");
        else if (G == LD_BYTES || G == HIT_BYTES) asm volatile("ld.global.u8 %0, [%1];" : "=r"(got[k]) : "l"(q) : "memory");
        else if (G >= LD_LINE) asm volatile("ld.global.u32 %0, [%1];" : "=r"(got[k]) : "l"(q) : "memory");
        else if (G == ST_BYTES) asm volatile("st.global.u8 [%0], %1;" :: "l"(q), "r"(lane + k) : "memory");
        else asm volatile("st.global.u32 [%0], %1;" :: "l"(q), "r"(lane + k) : "memory");
    }
    if (G >= LD_LINE) for (int k = 0; k < 8; ++k) sum += got[k];
    return sum;
}
template <int S> __device__ __forceinline__ uint32_t near_turn(uint32_t s, uint8_t* p, uint32_t r, uint32_t lane) {
    uint32_t got[16], sum = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        if (S == STORES) asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(s + (i & 1) * 4096), "r"(lane) : "memory");
        else if (S == HITS) asm volatile("ld.global.u32 %0, [%1];" : "=r"(got[i]) : "l"(p + ((i + r) & 15) * 4096) : "memory");
        else asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(got[i]) : "r"(s + (i & 1) * 4096) : "memory");
    }
    if (S != STORES) for (int i = 0; i < 16; ++i) sum += got[i];
    return sum;
}
template <int G, int S> __device__ void body(uint32_t* clocks, uint8_t* far, uint32_t near_warps, uint32_t near_rounds, uint32_t far_rounds) {
    extern __shared__ uint32_t near[];
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, sum = 0, begin, end;
    uint32_t s = (uint32_t)__cvta_generic_to_shared(near + threadIdx.x);
    uint32_t others = warps - near_warps;
    uint8_t* p = far + at(G, lane) + (size_t)blockIdx.x * (1 << 20);
    uint8_t* hits = far + (160 << 20) + (size_t)blockIdx.x * 65536 + threadIdx.x * 4;
    near[threadIdx.x] = threadIdx.x;
    near[threadIdx.x + 1024] = threadIdx.x;
    if (S == HITS) sum = near_turn<S>(s, hits, 0, lane);
    if (G >= HIT_LINE && warp >= near_warps) sum += far_turn<G>(p, 0, warp - near_warps, others, lane);
    __syncthreads();
    if (__syncthreads_or(sum == 12345)) sum = 1;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(begin) :: "memory");
    if (warp < near_warps) {
#pragma unroll 1
        for (uint32_t r = 0; r < near_rounds; ++r) sum += near_turn<S>(s, hits, r, lane);
    } else if (G) {
#pragma unroll 1
        for (uint32_t r = 0; r < far_rounds; ++r) sum += far_turn<G>(p, r, warp - near_warps, others, lane);
    }
    if (sum == 0xfedcba98) near[1] = sum;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(end) :: "memory");
    if (lane == 0) { clocks[(blockIdx.x * 32 + warp) * 2] = begin; clocks[(blockIdx.x * 32 + warp) * 2 + 1] = end; }
    if (sum == 0xfedcba98) clocks[0] = near[1];
}
#define K(g, s) extern "C" __global__ void __launch_bounds__(1024) g##_##s(uint32_t* c, uint8_t* far, uint32_t near_warps, uint32_t near_rounds, uint32_t far_rounds) { body<g, s>(c, far, near_warps, near_rounds, far_rounds); }
#define KS(g) K(g, LOADS) K(g, STORES) K(g, HITS)
KS(NONE) KS(ST_LINE) KS(ST_HALVES) KS(ST_OFF) KS(ST_WORD) KS(ST_BYTES) KS(LD_LINE) KS(LD_HALVES) KS(LD_OFF) KS(LD_WORD) KS(LD_BYTES) KS(PAST_LINE) KS(HIT_LINE) KS(HIT_HALVES) KS(HIT_OFF) KS(HIT_BYTES) KS(TID) KS(CTAID) KS(SHUFFLE) KS(CONSTANT)
