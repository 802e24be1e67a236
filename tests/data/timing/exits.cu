// A kernel of which two parts are written over: what a warp does before it exits, in the last pass, and how long another
// waits for it at a barrier. And one that reads the clock behind barriers.
#include <cstdint>
typedef uint32_t u32;
__constant__ u32 table[1024];
#define C(i) asm volatile("mov.u32 %0, %%clock;" : "=r"(c[i])::"memory");
#define KEEP(x) asm volatile("mov.b32 %0, %0;" : "+r"(x));
#define ALL KEEP(near) KEEP(wide) KEEP(bank) KEEP(some) KEEP(zero) KEEP(a) KEEP(b) KEEP(d) KEEP(e) KEEP(spread) asm volatile("" : "+l"(far));
#define N 24
extern "C" __global__ void __launch_bounds__(1024) body(u32 *clocks, float *in, u32 roles, u32 passes) {
    extern __shared__ __align__(128) float s[];
    const u32 t = threadIdx.x, lane = t & 31, warp = t >> 5;
    for (u32 i = t; i < 10240; i += blockDim.x) s[i] = in[i & 1023];
    u32 c[N] = {}, near = (u32)__cvta_generic_to_shared(s) + 4 * t, wide = (u32)__cvta_generic_to_shared(s) + 128 * lane + 4096;
    u32 bank = 4 * warp, some = lane & 3, zero = lane & 0, a = 0, b = 0, d = 0, e = 0;
    float *far = in + 8192 + 8 * t;
    u32 spread = lane * 4;
    _Pragma("unroll 1") for (u32 pass = 0; pass < passes; ++pass) {
        int z = __syncthreads_or(a == 77);
        if (z == 5) in[0] = 1;
        ALL
        if (roles >> warp & 1) { _Pragma("unroll") for (int i = 0; i < N; ++i) C(i) _Pragma("unroll") for (int i = 0; i < 6 * N; ++i) C(i % N) }
        else { _Pragma("unroll") for (int i = 0; i < N; ++i) C(i) _Pragma("unroll") for (int i = 0; i < 2 * N; ++i) C(i % N) }
        ALL
        __syncthreads();
        if (lane == 0) _Pragma("unroll") for (int i = 0; i < N; ++i) clocks[(pass * 32 + warp) * N + i] = c[i];
        __syncthreads();
    }
    in[4096 + t] = near + wide + bank + some + zero + a + b + d + e + spread + s[t];
}
__device__ __forceinline__ u32 begin() {
    int zero = __syncthreads_or(0);
    u32 clock;
    asm volatile("{ .reg .u32 t; add.u32 t, %1, 0; mov.u32 %0, %%clock; }" : "=r"(clock) : "r"(zero) : "memory");
    return clock + zero;
}
extern "C" __global__ void __launch_bounds__(1024) barriers(const float *in, float *out, u32 *clocks, int n) {
    extern __shared__ __align__(16) float s[];
    const int t = threadIdx.x, B = blockDim.x, lane = t & 31, warp = t >> 5, warps = B >> 5;
    u32 c[22];
    for (int i = t; i < 12288; i += B) s[i] = in[i & 4095];
    float r = 0;
    _Pragma("unroll 1") for (int pass = 0; pass < 4; ++pass) {
        c[0] = begin();
        _Pragma("unroll") for (int k = 0; k < 20; ++k) { __syncthreads(); C(1 + k) }
        __syncthreads();
        if (lane == 0) _Pragma("unroll") for (int i = 0; i < 22; ++i) clocks[(pass * warps + warp) * 22 + i] = c[i];
        __syncthreads();
    }
    out[t] = r + s[t];
}
