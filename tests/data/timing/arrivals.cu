// Kernels whose warps read the clock around six passes: barriers at which half of the warps arrive and half wait, barriers
// that no thread executes, floats that become doubles. h200_arrivals.npz has the machine code and what one H200 took for
// the last five passes of three launches.
#define ALIGNED 16
#include "passes.cuh"
#define ROUNDS(N) _Pragma("unroll 1") for (int j = 0; j < N; ++j)
#define SYNC(NUMBER, THREADS) asm volatile("bar.sync " #NUMBER ", " #THREADS ";" ::: "memory")
#define ARRIVE(NUMBER, THREADS) asm volatile("bar.arrive " #NUMBER ", " #THREADS ";" ::: "memory")
#define SYNC_SOME(NUMBER) asm volatile("bar.sync " #NUMBER ", %0;" ::"r"(B) : "memory")
#define ARRIVE_SOME(NUMBER) asm volatile("bar.arrive " #NUMBER ", %0;" ::"r"(B) : "memory")
#define HALVES(ONE, OTHER) \
    if (warp >= warps / 2) ROUNDS(8) { ONE; } \
    else if (warps > 1) ROUNDS(8) { OTHER; }
#define SIZE(THREADS) \
    if (B == THREADS) { HALVES(SYNC(1, THREADS); ARRIVE(2, THREADS), ARRIVE(1, THREADS); SYNC(2, THREADS)) }
KERNEL(handing_over, { SIZE(64) SIZE(128) SIZE(256) SIZE(512) SIZE(1024) })
KERNEL(handing_over_by_register, {
    if (warps > 1) { HALVES(SYNC_SOME(1); ARRIVE_SOME(2), ARRIVE_SOME(1); SYNC_SOME(2)) }
})
KERNEL(one_way_by_register, {
    if (warps > 1) { HALVES(SYNC_SOME(1); SYNC_SOME(2), ARRIVE_SOME(1); SYNC_SOME(2)) }
})
#define NONE(INSTRUCTION) asm volatile("{ .reg .pred q; setp.gt.s32 q, %0, 4096; @q " INSTRUCTION "; }" ::"r"(t + j), "r"(B) : "memory");
KERNEL(barriers_of_none, ROUNDS(8) { NONE("bar.sync 1, %1") NONE("bar.sync 1, %1") __syncthreads(); })
KERNEL(arrivals_of_none, ROUNDS(8) { NONE("bar.arrive 1, %1") NONE("bar.arrive 1, %1") __syncthreads(); })
KERNEL(barriers_of_all, ROUNDS(8) { __syncthreads(); })
KERNEL(values_to_doubles, {
    float x = s[t];
    double sum = 0;
    _Pragma("unroll") for (int k = 0; k < 16; ++k) {
        sum += (double)x;
        x += 1.5f;
    }
    r += (float)sum;
})
KERNEL(loads_to_doubles, {
    double sum = 0;
    _Pragma("unroll") for (int k = 0; k < 24; ++k) sum += (double)s[k * 4 + lane];
    r += (float)sum;
})
