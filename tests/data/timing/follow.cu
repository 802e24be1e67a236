// Blocks that follow one another: one warp of each waits for some cycles, the others at a barrier (WAITS) or not at all.
#include <cstdint>
template <int SHARED, bool WAITS> __device__ void body(unsigned* log, int cycles, int spread) {
    __shared__ volatile char s[SHARED ? SHARED : 1];
    unsigned c0, c1, sm;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(c0)::"memory");
    if (threadIdx.x < 32) {
        if (SHARED) s[threadIdx.x] = 1;
        unsigned h = (blockIdx.x * 2654435761u) >> 16;
        unsigned until = cycles + (spread ? h % spread : 0);
        do { asm volatile("mov.u32 %0, %%clock;" : "=r"(c1)::"memory"); } while (c1 - c0 < until);
    }
    if (WAITS) __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        log[blockIdx.x * 3] = sm, log[blockIdx.x * 3 + 1] = c0;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(c1)::"memory");
        log[blockIdx.x * 3 + 2] = c1;
    }
}
#define K(NAME, S, W) extern "C" __global__ void NAME(unsigned* log, int cycles, int spread) { body<S, W>(log, cycles, spread); }
K(none_waits, 0, true)
K(none_goes, 0, false)
K(k1_waits, 1024, true)
K(k1_goes, 1024, false)
K(k16_waits, 16384, true)
// the same with nothing written down, for the time of the launch
#define P(NAME, S, W) extern "C" __global__ void NAME(unsigned* log, int cycles, int spread) { \
    __shared__ volatile char s[S ? S : 1]; \
    unsigned c0, c1; \
    asm volatile("mov.u32 %0, %%clock;" : "=r"(c0)::"memory"); \
    if (threadIdx.x < 32) { \
        if (S) s[threadIdx.x] = 1; \
        unsigned h = (blockIdx.x * 2654435761u) >> 16; \
        unsigned until = cycles + (spread ? h % spread : 0); \
        do { asm volatile("mov.u32 %0, %%clock;" : "=r"(c1)::"memory"); } while (c1 - c0 < until); \
    } \
    if (W) __syncthreads(); \
}
P(p_none_waits, 0, true)
P(p_none_goes, 0, false)
P(p_k1_waits, 1024, true)
P(p_k16_waits, 16384, true)
