// What a launch takes besides its blocks: kernels do one thing and wait for so many cycles, behind that or (late) before it; and warps that
// wait for the same parameters tell when they begin, and when each line has come. With -DMODEL, as banksim runs it, blocks go around.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
#ifdef MODEL
__device__ __forceinline__ uint32_t smid() { return blockIdx.x % 132; }
#else
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
#endif
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }
__device__ __forceinline__ void wait(uint32_t cycles) { uint32_t t = now(); while (now() - t < cycles); }
#define USE(v) if ((v) == 0x12345678) asm volatile("trap;")
#define K(NAME, ...) \
    G NAME(uint32_t* p, uint32_t cycles) { uint32_t* q = p + blockIdx.x * blockDim.x + threadIdx.x; USE((uint32_t)(uint64_t)q); { __VA_ARGS__; } wait(cycles); } \
    G NAME##_late(uint32_t* p, uint32_t cycles) { uint32_t* q = p + blockIdx.x * blockDim.x + threadIdx.x; USE((uint32_t)(uint64_t)q); wait(cycles); { __VA_ARGS__; } }
G nothing() {}
G waits(uint32_t* p, uint32_t cycles) { wait(cycles); }
K(address, )
K(load, uint32_t v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(q) : "memory"); USE(v))
K(load_twice, uint32_t v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(q) : "memory"); asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(q + (v >> 31)) : "memory"); USE(v))
K(store, asm volatile("st.global.u32 [%0], %1;" :: "l"(q), "r"(cycles) : "memory"))
K(add, asm volatile("red.global.add.u32 [%0], %1;" :: "l"(q), "r"(cycles) : "memory"))
K(atom, uint32_t v; asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(q), "r"(cycles) : "memory"); USE(v))
K(load_store, uint32_t v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(q) : "memory"); asm volatile("st.global.u32 [%0], %1;" :: "l"(q), "r"(v) : "memory"))
K(of_local, volatile uint32_t a[64]; a[cycles & 63] = cycles; USE(a[(cycles + 1) & 63]))
K(of_shared, __shared__ volatile uint32_t a[1024]; a[threadIdx.x] = cycles; USE(a[threadIdx.x ^ 1]))
K(barrier, __syncthreads())
__constant__ uint32_t table[1024];
K(constant, USE(table[cycles & 511]))
K(fence, __threadfence())
#define AFTER(x, v) asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0x12345678; @p exit; mov.u32 %0, %%clock; }" : "=r"(x) : "r"(v) : "memory")
#define TELL(N) if (threadIdx.x % 32 == 0) { uint32_t* q = log + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 10; \
    _Pragma("unroll") for (int k = 0; k < N; ++k) q[k] = t[k]; q[9] = smid(); }
struct Words { uint32_t v[900]; };
// lines of parameters that ULDC reads, which comes to the sub-core
G lines_of_sub_cores(uint32_t* log, __grid_constant__ const Words g) {
    uint32_t t[9]; t[0] = now();
    #pragma unroll
    for (int k = 0; k < 8; ++k) { uint32_t x = t[k]; asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(g.v[58 + 16 * k])); AFTER(t[k + 1], x); }
    TELL(9)
}
// … and that LDC reads
G lines_of_ldc(uint32_t* log, __grid_constant__ const Words g) {
    uint32_t t[9]; t[0] = now();
    #pragma unroll
    for (int k = 0; k < 8; ++k) AFTER(t[k + 1], g.v[58 + 16 * k]);
    TELL(9)
}
// the common begin of kernels: a block's size, an address
G common(uint32_t* log) {
    uint32_t t[3]; t[0] = now();
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; AFTER(t[1], i);
    AFTER(t[2], (uint32_t)(uint64_t)(log + i / 32 * 10));
    TELL(3)
}
