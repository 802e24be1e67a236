// Loads of lines that are on their way already, since other warps have asked for them; loads and stores in turn.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t ld(const uint32_t* p) { uint32_t v; asm volatile("ld.global.ca.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
// Each round U loads: `lane` words from lane to lane, `warp` from warp to warp, `load` from load to load, `step` from round to round.
template <int U> __device__ __forceinline__ void pending(uint32_t* took, const uint32_t* data, uint32_t rounds, uint32_t lane, uint32_t warp, uint32_t load, uint32_t step, uint32_t mask) {
    uint32_t at = blockIdx.x * 4096 + threadIdx.x / 32 * warp + threadIdx.x % 32 * lane, s = 0;
    __syncthreads();
    uint32_t begin = now();
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) {
        uint32_t v[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) v[u] = ld(data + (at + u * load & mask));
        #pragma unroll
        for (int u = 0; u < U; ++u) s += v[u];
    }
    if (s == 12345) took[0] = s;
    uint32_t end = now();
    if (threadIdx.x % 32 == 0) { took[2 * ((blockIdx.x * blockDim.x + threadIdx.x) / 32)] = begin; took[2 * ((blockIdx.x * blockDim.x + threadIdx.x) / 32) + 1] = end; }
}
G pending1(uint32_t* took, const uint32_t* data, uint32_t rounds, uint32_t lane, uint32_t warp, uint32_t load, uint32_t step, uint32_t mask) { pending<1>(took, data, rounds, lane, warp, load, step, mask); }
G pending4(uint32_t* took, const uint32_t* data, uint32_t rounds, uint32_t lane, uint32_t warp, uint32_t load, uint32_t step, uint32_t mask) { pending<4>(took, data, rounds, lane, warp, load, step, mask); }
// A load, then a store of it, in turn, over a row of each warp.
G in_turn(uint32_t* out, const uint32_t* in, uint32_t n) {
    uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    #pragma unroll 1
    for (uint32_t i = lane; i < n; i += 32) out[(size_t)w * n + i] = ld(in + (size_t)w * n + i);
}
G only_loads(uint32_t* out, const uint32_t* in, uint32_t n) {
    uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    #pragma unroll 1
    for (uint32_t i = lane; i < n; i += 32) if (ld(in + (size_t)w * n + i) == 77) out[0] = i;
}
