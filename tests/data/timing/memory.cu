// What global memory takes of blocks of a grid: loads, stores and atomics by their lines and sectors; what one H200 took is in
// h200_memory.json. The words of lanes, warps, blocks and steps are lane_words … apart; `back to back` ends at the host.
//   level l1: mask 8,191, every block the same words; l2: 2^22 - 1, all over 16 MB; dram: memory that nobody used before
// Compiled: nvcc -arch=sm_90 -cubin memory.cu. As it ran, `stamp` wrote the multiprocessor's number first.
// stamps: (block, 4): 0, clock at start, at end, globaltimer at start (low words)
#include <cstdint>
#define DEVICE __device__ __forceinline__
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
#define GRID uint32_t *stamps, float *data, uint32_t rounds, uint32_t lane_words, uint32_t warp_words, uint32_t block_words, uint32_t step_words, uint32_t mask_words
DEVICE uint32_t timer() { uint32_t s; asm volatile("mov.u32 %0,%%globaltimer_lo;" : "=r"(s) :: "memory"); return s; }
template <class T> DEVICE float sum(T v);
template <> DEVICE float sum(float v) { return v; }
template <> DEVICE float sum(float4 v) { return v.x + v.y + v.z + v.w; }
template <class T, int CACHE> DEVICE T get(const float *p);
template <> DEVICE float get<float, 0>(const float *p) { float v; asm volatile("ld.global.f32 %0,[%1];" : "=f"(v) : "l"(p)); return v; }
template <> DEVICE float get<float, 1>(const float *p) { float v; asm volatile("ld.global.cg.f32 %0,[%1];" : "=f"(v) : "l"(p)); return v; }
template <> DEVICE float4 get<float4, 0>(const float *p) { float4 v; asm volatile("ld.global.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p)); return v; }
template <> DEVICE float4 get<float4, 1>(const float *p) { float4 v; asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p)); return v; }
DEVICE void stamp(uint32_t *stamps, uint32_t t0, uint32_t g0) { if (threadIdx.x == 0) { uint32_t *q = stamps + 4 * blockIdx.x; q[0] = 0; q[1] = t0; q[2] = now(); q[3] = g0; } }
template <class T, int U, int CACHE, bool CHAINED> DEVICE void loads(GRID) {
    uint32_t g0 = timer(), t0 = now();
    uint32_t at = (threadIdx.x & 31) * lane_words + (threadIdx.x >> 5) * warp_words + blockIdx.x * block_words;
    float s = 0; uint32_t z = 0;
    #pragma unroll 1
    for (uint32_t k = 0; k < rounds; k++) {
        T v[U];
        #pragma unroll
        for (int u = 0; u < U; u++) { v[u] = get<T, CACHE>(data + ((at + z) & mask_words)); at += step_words; }
        #pragma unroll
        for (int u = 0; u < U; u++) s += sum(v[u]);
        z = __float_as_uint(s) & 0x80000000u;  // zero: the next round waits for this one
        z >>= 31;
    }
    if (s == 12345.f) stamps[0] = 1;
    __syncthreads();
    stamp(stamps, t0, g0);
}
template <class T, int U> DEVICE void stores(GRID) {
    uint32_t g0 = timer(), t0 = now();
    uint32_t at = (threadIdx.x & 31) * lane_words + (threadIdx.x >> 5) * warp_words + blockIdx.x * block_words;
    #pragma unroll 1
    for (uint32_t k = 0; k < rounds; k++) {
        #pragma unroll
        for (int u = 0; u < U; u++) { *(T *)(data + (at & mask_words)) = T(); at += step_words; }
    }
    stamp(stamps, t0, g0);
}
#define GIVE stamps, data, rounds, lane_words, warp_words, block_words, step_words, mask_words
KERNEL load4_1(GRID) { loads<float, 1, 0, true>(GIVE); }  KERNEL load4_4(GRID) { loads<float, 4, 0, true>(GIVE); }  KERNEL load4_8(GRID) { loads<float, 8, 0, true>(GIVE); }
KERNEL load4g_1(GRID) { loads<float, 1, 1, true>(GIVE); } KERNEL load4g_4(GRID) { loads<float, 4, 1, true>(GIVE); } KERNEL load4g_8(GRID) { loads<float, 8, 1, true>(GIVE); }
KERNEL load16_1(GRID) { loads<float4, 1, 0, true>(GIVE); } KERNEL load16_4(GRID) { loads<float4, 4, 0, true>(GIVE); }
KERNEL load16g_1(GRID) { loads<float4, 1, 1, true>(GIVE); } KERNEL load16g_4(GRID) { loads<float4, 4, 1, true>(GIVE); }
KERNEL store4(GRID) { stores<float, 4>(GIVE); } KERNEL store16(GRID) { stores<float4, 4>(GIVE); }
// Atomics on global memory without a result, and with.
KERNEL red4(GRID) { uint32_t g0 = timer(), t0 = now(); uint32_t at = (threadIdx.x & 31) * lane_words + (threadIdx.x >> 5) * warp_words + blockIdx.x * block_words;
    for (uint32_t k = 0; k < rounds; k++) { atomicAdd((uint32_t *)data + (at & mask_words), k); at += step_words; } stamp(stamps, t0, g0); }
KERNEL atom4(GRID) { uint32_t g0 = timer(), t0 = now(); uint32_t at = (threadIdx.x & 31) * lane_words + (threadIdx.x >> 5) * warp_words + blockIdx.x * block_words, z = 0;
    for (uint32_t k = 0; k < rounds; k++) { z += atomicAdd((uint32_t *)data + (at & mask_words), k + (z == 12345)); at += step_words; } if (z == 12347) stamps[0] = 1; __syncthreads(); stamp(stamps, t0, g0); }
// The rows `launch`: a kernel that does nothing, and one whose blocks each wait for `rounds` cycles.
KERNEL empty(GRID) { if (rounds == 12345) stamps[0] = 1; }
KERNEL still(GRID) { uint32_t t0 = now(); while (now() - t0 < rounds); }
// The rows `begins`: the same with stamps.
KERNEL wait(GRID) { uint32_t g0 = timer(), t0 = now(); while (now() - t0 < rounds); stamp(stamps, t0, g0); }
