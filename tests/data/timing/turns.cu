// Kernels whose warps read the clock around six passes: barriers whose number of threads is in a register, and shared requests
// of which a warp has several. h200_turns.npz has the machine code and what one H200 took for the last five passes.
#define ALIGNED 16
#include "passes.cuh"
#define ROUNDS(N) _Pragma("unroll 1") for (int j = 0; j < N; ++j)
#define SYNC(NUMBER) asm volatile("bar.sync " NUMBER ", %0;" ::"r"(B) : "memory")
KERNEL(barriers_of_some_threads, ROUNDS(8) { SYNC("1"); })
KERNEL(two_barriers_of_some_threads, ROUNDS(8) { SYNC("1"); SYNC("2"); })
KERNEL(barriers_by_number, {
    int number = n;
    ROUNDS(8) { asm volatile("bar.sync %1, %0;" ::"r"(B), "r"(number) : "memory"); }
})
#define REQUESTS(NAME, BARRIER, ...) \
    KERNEL(NAME, { \
        float v = s[t]; \
        uint32_t at = (uint32_t)__cvta_generic_to_shared(s) + 4 * t; \
        ROUNDS(16) { BARRIER; uint32_t p = t > 4096 + j; (void)p; __VA_ARGS__ asm volatile("" : "+f"(v)); } \
        r += v; \
    })
#define LOAD(GUARD, PLACE) asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; " GUARD " ld.shared.f32 %0, [%2+" #PLACE "]; }" : "+f"(v) : "r"(p), "r"(at));
#define STORE(GUARD, PLACE) asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; " GUARD " st.shared.f32 [%2+" #PLACE "], %0; }" ::"f"(v), "r"(p), "r"(at));
REQUESTS(two_loads_behind_a_barrier, __syncthreads(), LOAD("@q", 32768) LOAD("@q", 36864))
REQUESTS(two_stores_behind_a_barrier, __syncthreads(), STORE("@q", 32768) STORE("@q", 36864))
REQUESTS(four_stores_behind_a_barrier, __syncthreads(), STORE("@!q", 32768) STORE("@!q", 36864) STORE("@!q", 36868) STORE("@!q", 36872))
REQUESTS(two_stores, , STORE("@q", 32768) STORE("@q", 36864))
