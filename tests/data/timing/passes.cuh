// What kernels share that read the clock around six passes: each warp when it begins and when it ends one. Whoever includes
// this says first to how many bytes shared memory is aligned.
#include <cstdint>
__device__ __forceinline__ uint32_t begin() {
    int zero = __syncthreads_or(0);
    uint32_t clock;
    asm volatile("{ .reg .u32 t; add.u32 t, %1, 0; mov.u32 %0, %%clock; }" : "=r"(clock) : "r"(zero) : "memory");
    return clock + zero;
}
__device__ __forceinline__ uint32_t end() {
    uint32_t clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
    return clock;
}
#define KERNEL(NAME, ...) \
    extern "C" __global__ void __launch_bounds__(1024) NAME(const float *in, float *out, uint32_t *clocks, int n) { \
        extern __shared__ __align__(ALIGNED) float s[]; \
        const int t = threadIdx.x, B = blockDim.x, lane = t & 31, warp = t >> 5, warps = B >> 5; \
        for (int i = t; i < 12288; i += B) s[i] = in[i & 4095]; \
        float r = 0; \
        for (int pass = 0; pass < 6; ++pass) { \
            uint32_t begun = begin(); \
            __VA_ARGS__; \
            uint32_t ended = end(); \
            if (lane == 0) \
                clocks[(pass * warps + warp) * 2] = begun, clocks[(pass * warps + warp) * 2 + 1] = ended; \
            __syncthreads(); \
        } \
        out[t] = r + s[t]; \
    }
