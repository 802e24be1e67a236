// Blocks whose warps end one by one: when and where the next block's warps begin.
#include <cstdint>
// A warp waits for so many cycles: of the first blocks by a pattern, which its multiprocessor's number gives, and its slot
// there; of others `then`, and up to `spread` by its number; of these all but the first of a block for none, if `ones`.
struct Ends { uint32_t first, then, spread, ones; uint16_t lasts[4][64]; uint8_t pattern[132]; };
__device__ __forceinline__ uint32_t now() { uint32_t c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
template <int REGISTERS, bool SYNC> __device__ __forceinline__ void body(uint4* log, const Ends& p) {
    uint32_t begin = now(), end, sm, slot, held[REGISTERS ? REGISTERS : 1], all = 0;
#pragma unroll
    for (int k = 0; k < REGISTERS; ++k) held[k] = now();
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    uint32_t in_block = threadIdx.x / 32, warp = blockIdx.x * ((blockDim.x + 31) / 32) + in_block, by = p.ones ? blockIdx.x : warp, lasts = 0;
    if (in_block == 0 || !p.ones) lasts = p.then + (p.spread ? (by * 2654435761u >> 8) % p.spread : 0);
    if (blockIdx.x < p.first) lasts = 16 * p.lasts[p.pattern[sm]][slot];
    if (SYNC) __syncthreads();
    do end = now(); while (end - begin < lasts);
#pragma unroll
    for (int k = 0; k < REGISTERS; ++k) all ^= held[k];
    if (threadIdx.x % 32 == 0) log[warp] = make_uint4(sm << 16 | slot, begin, end, all);
}
#define G(NAME, R, S) extern "C" __global__ void __launch_bounds__(R > 60 ? 512 : 1024) NAME(uint4* log, Ends p) { body<R, S>(log, p); }
G(few, 0, false)
G(many, 108, false)
