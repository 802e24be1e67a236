// A kernel of which two parts are written over: between its barriers some warps of one sub-core execute the one (roles),
// others the other. So each warp reads the clock at chosen instructions, with stall counts and yields of their own.
#include <cstdint>
typedef uint32_t u32;
#define N 40
#define C(i) asm volatile("mov.u32 %0, %%clock;" : "=r"(c[i])::"memory");
#define D(i) asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(c[i])::"memory");
#define TIMES(n) _Pragma("unroll") for (int i = 0; i < n; ++i)
extern "C" __global__ void __launch_bounds__(1024) counters(u32 *clocks, float *in, u32 active, u32 roles) {
    extern __shared__ __align__(128) float s[];
    const u32 t = threadIdx.x, lane = t & 31, warp = t >> 5;
    for (u32 i = t; i < 4096; i += blockDim.x) s[i] = in[i & 1023];
    float v = in[lane], w = in[lane + 32], x = in[lane + 64];
    u32 c[N] = {};
    const u32 at = (u32)__cvta_generic_to_shared(s) + 4 * t;
    _Pragma("unroll 1") for (int pass = 0; pass < 4; ++pass) {
        int z = __syncthreads_or(v == 77.f);
        if (z == 5) in[0] = 1;
        if (active >> warp & 1) {
            if (roles >> warp & 1) {
                asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(v) : "f"(w), "f"(x));
                asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(c[0]) : "r"(lane), "r"(warp));
                asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(w) : "r"(at) : "memory");
                asm volatile("st.volatile.shared.f32 [%1], %0;" ::"f"(w), "r"(at) : "memory");
                asm volatile("add.f32 %0, %0, %1;" : "+f"(v) : "f"(w));
                TIMES(N) { C(i) }
            } else {
                TIMES(N) { D(i) }
            }
        }
        __syncthreads();
        if (lane == 0 && (active >> warp & 1))
            _Pragma("unroll") for (int i = 0; i < N; ++i) clocks[warp * N + i] = c[i];
        __syncthreads();
    }
    in[4096 + t] = v + w + x;
}
