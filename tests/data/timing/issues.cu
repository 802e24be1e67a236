// Kernels whose warps read the clock between a few instructions, so that it shows which warp of a sub-core issues when.
#include <cstdint>
typedef uint32_t u32;
#define N 40
#define C(i) asm volatile("mov.u32 %0, %%clock;" : "=r"(c[i])::"memory");
#define KERNEL(NAME, ...) \
    extern "C" __global__ void __launch_bounds__(1024) NAME(u32 *clocks, float *in, u32 active) { \
        extern __shared__ __align__(128) float s[]; \
        const u32 t = threadIdx.x, lane = t & 31, warp = t >> 5; \
        for (u32 i = t; i < 10240; i += blockDim.x) s[i] = in[i & 1023]; \
        float v = in[lane], w = in[lane + 32], x = in[lane + 64], y = in[lane + 96]; \
        float a = in[lane + 128], b = in[lane + 160]; \
        u32 h = lane, g = active, c[N] = {}; \
        const u32 at = (u32)__cvta_generic_to_shared(s) + 4 * t; \
        _Pragma("unroll 1") for (int pass = 0; pass < 3; ++pass) { \
            int z = __syncthreads_or(v == 77.f); \
            if (z == 5) in[0] = 1; \
            if (active >> warp & 1) { __VA_ARGS__ } \
            __syncthreads(); \
            if (lane == 0 && (active >> warp & 1)) \
                _Pragma("unroll") for (int i = 0; i < N; ++i) clocks[warp * N + i] = c[i]; \
            __syncthreads(); \
        } \
        in[4096 + t] = v + w + x + y + h + g; \
    }
#define FMA(d) asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(d) : "f"(a), "f"(b));
#define XOR asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(h) : "r"(g), "r"(lane));
#define ADD asm volatile("add.u32 %0, %0, %1;" : "+r"(g) : "r"(h));
#define LDS(d, o) asm volatile("ld.volatile.shared.f32 %0, [%1+" #o "];" : "=f"(d) : "r"(at) : "memory");
#define STS(d, o) asm volatile("st.volatile.shared.f32 [%1+" #o "], %0;" ::"f"(d), "r"(at) : "memory");
#define OFF(d, o) asm volatile("{ .reg .pred q; setp.eq.u32 q, %2, 12345; @q st.volatile.shared.f32 [%1+" #o "], %0; }" ::"f"(d), "r"(at), "r"(g) : "memory");
#define USE(d) asm volatile("add.f32 %0, %0, %1;" : "+f"(v) : "f"(d));
#define SHFL(d) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+f"(d));
#define BAR asm volatile("bar.sync 0;" ::: "memory");
#define TIMES(n) _Pragma("unroll") for (int i = 0; i < n; ++i)
KERNEL(clk, TIMES(40) { C(i) })
KERNEL(clk_fma3, TIMES(40) { C(i) FMA(v) FMA(w) FMA(x) })
KERNEL(clk_chain3, TIMES(40) { C(i) FMA(v) FMA(v) FMA(v) })
KERNEL(clk_xor3, TIMES(40) { C(i) XOR XOR XOR })
KERNEL(clk_xor_add, TIMES(40) { C(i) XOR ADD XOR ADD })
KERNEL(nb_lds, TIMES(40) { LDS(w, 0) C(i) })
KERNEL(nb_lds2, TIMES(20) { LDS(w, 0) LDS(x, 4096) C(i) })
KERNEL(nb_lds_use, TIMES(40) { LDS(w, 0) USE(w) C(i) })
KERNEL(nb_lds2_use, TIMES(20) { LDS(w, 0) LDS(x, 4096) USE(w) USE(x) C(i) })
KERNEL(nb_sts, TIMES(40) { STS(w, 0) C(i) })
KERNEL(nb_sts2, TIMES(20) { STS(w, 0) STS(w, 4096) C(i) })
KERNEL(nb_off, TIMES(40) { OFF(w, 0) C(i) })
KERNEL(nb_off2, TIMES(20) { OFF(w, 0) OFF(w, 4096) C(i) })
KERNEL(nb_sts_lds_use, TIMES(40) { STS(v, 0) LDS(w, 0) USE(w) C(i) })
KERNEL(nb_shfl, TIMES(40) { SHFL(w) C(i) })
KERNEL(nb_shfl_use, TIMES(40) { SHFL(v) USE(v) C(i) })
KERNEL(bar, TIMES(40) { BAR C(i) })
KERNEL(bar_lds, TIMES(20) { BAR LDS(w, 0) C(2 * i) USE(w) C(2 * i + 1) })
KERNEL(bar_lds2, TIMES(20) { BAR LDS(w, 0) LDS(x, 4096) C(2 * i) USE(w) USE(x) C(2 * i + 1) })
KERNEL(bar_lds2c, TIMES(13) { BAR LDS(w, 0) C(3 * i) LDS(x, 4096) C(3 * i + 1) USE(w) USE(x) C(3 * i + 2) })
KERNEL(bar_lds4, TIMES(20) { BAR LDS(w, 0) LDS(x, 4096) LDS(y, 8192) LDS(a, 12288) C(2 * i) USE(w) USE(x) USE(y) USE(a) C(2 * i + 1) })
KERNEL(bar_sts, TIMES(40) { BAR STS(w, 0) C(i) })
KERNEL(bar_sts2, TIMES(40) { BAR STS(w, 0) STS(w, 4096) C(i) })
KERNEL(bar_sts2c, TIMES(20) { BAR STS(w, 0) C(2 * i) STS(w, 4096) C(2 * i + 1) })
KERNEL(bar_sts4, TIMES(40) { BAR STS(w, 0) STS(w, 4096) STS(w, 8192) STS(w, 12288) C(i) })
KERNEL(bar_sts_lds, TIMES(20) { BAR STS(v, 0) LDS(w, 0) C(2 * i) USE(w) C(2 * i + 1) })
KERNEL(bar_step, TIMES(20) { BAR LDS(w, 0) LDS(x, 4096) USE(w) USE(x) STS(v, 8192) C(2 * i) BAR C(2 * i + 1) })
KERNEL(bar_fma4, TIMES(40) { BAR FMA(v) FMA(v) FMA(v) FMA(v) C(i) })
