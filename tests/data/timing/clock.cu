// What one mechanism of an SM takes, by its clock, for 1 to 32 warps of one block; h200_clock.json has what one H200 took.
#include <cstdint>
#define DEVICE __device__ __forceinline__
constexpr int PASSES = 3;
extern __shared__ __align__(128) unsigned char shared[];
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
DEVICE uint32_t base() { return (uint32_t)__cvta_generic_to_shared(shared); }
#define PARAMETERS uint32_t active, uint32_t rounds, uint32_t seed, uint32_t stride, uint32_t *time, uint32_t *out, uint32_t *buffer
#define GIVEN active, rounds, seed, stride, time, out, buffer
#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
DEVICE void clear_shared() { for (int i = threadIdx.x; i < 10240; i += blockDim.x) ((uint32_t *)shared)[i] = 0; __syncthreads(); }
DEVICE void start_together(uint32_t r, uint32_t *out) {
    __threadfence_block();
    uint32_t s = now();
    while (now() - s < 4000);
    uint32_t x = __syncthreads_count(r != 0x12345);
    if (x == 0x777) out[0] = x;
}
struct Given { uint32_t seed, lane, warp, shared, stride; uint32_t *buffer; };
DEVICE uint32_t word(float x) { return __float_as_uint(x); }
DEVICE uint32_t word(uint32_t x) { return x; }
#define OPERATION(name, type, constraint, first, second, text) \
    struct name { type x; \
        DEVICE void init(const Given &g, int i) { x = first; } \
        DEVICE void step(const Given &g) { type y = second; asm volatile(text : "+" constraint(x) : constraint(y)); } \
        DEVICE uint32_t use() { return word(x); } };
#define INTEGER(name, text) OPERATION(name, uint32_t, "r", g.seed + i, g.seed * 3 + 1, text)
#define FLOAT(name, text) OPERATION(name, float, "f", __uint_as_float(0x3f800000 + g.seed + i), __uint_as_float(0x3f900000 + g.seed), text)
// x: zero; a: the lane's address in shared memory (word lane * stride); c: without conflicts; b: global
#define MEMORY(name, text) \
    struct name { uint32_t x, a, c, d, l; uint32_t *b; \
        DEVICE void init(const Given &g, int i) { x = 0; a = g.shared + ((g.lane * g.stride) & 1023) * 4; c = g.shared + g.lane * 4; d = g.shared + ((g.lane * 16) & 4095); l = g.lane; b = g.buffer + 4 * (threadIdx.x + i * 0); } \
        DEVICE void step(const Given &g) { asm volatile(text : "+r"(x) : "r"(a + x), "r"(c + x), "r"(d + x), "l"(b), "r"(l), "r"(g.shared + 16384 + x) : "memory"); } \
        DEVICE uint32_t use() { return x; } };
namespace operation {
// chains of several pipes
INTEGER(imad_xor_shf, "{.reg .b32 t; mad.lo.u32 %0,%0,%1,%1; shf.l.wrap.b32 t,%0,%0,%1; xor.b32 %0,t,%1;}")
FLOAT(fma_max, "fma.rn.f32 %0,%0,%1,%1; max.f32 %0,%0,%1;")
INTEGER(xor_xor, "xor.b32 %0,%0,%1; shf.l.wrap.b32 %0,%0,%0,%1;")
// MATCH.ANY of `stride` different values
struct matchc { uint32_t x, v; DEVICE void init(const Given &g, int i) { x = 0; v = g.lane % g.stride; }
  DEVICE void step(const Given &g) { uint32_t t; asm volatile("match.any.sync.b32 %0,%1,-1;" : "=r"(t) : "r"(v + (x >> 31))); x = t & 0x7fffffff; } DEVICE uint32_t use() { return x; } };
// copies within shared memory: the store waits for the load
MEMORY(copy4, "{.reg .b32 t; ld.volatile.shared.u32 t,[%2]; st.volatile.shared.u32 [%1+4096],t;}")
MEMORY(copy8, "{.reg .b32 t,u; .reg .b32 e; mad.lo.u32 e,%5,4,%2; ld.volatile.shared.v2.u32 {t,u},[e]; st.volatile.shared.v2.u32 [e+4096],{t,u};}")
MEMORY(copy16, "{.reg .b32 t,u,v,w; .reg .b32 e; ld.volatile.shared.v4.u32 {t,u,v,w},[%3]; st.volatile.shared.v4.u32 [%3+4096],{t,u,v,w};}")
MEMORY(st16_ld16, "{.reg .b32 t,u,v,w; st.volatile.shared.v4.u32 [%3+4096],{%0,%0,%0,%0}; ld.volatile.shared.v4.u32 {%0,u,v,w},[%3];}")
// barriers with something around
MEMORY(bar_bar, "bar.sync 0;")
MEMORY(ld_bar_st_bar, "{.reg .b32 t; ld.volatile.shared.u32 t,[%2]; bar.sync 0; st.volatile.shared.u32 [%2+4096],t; bar.sync 0;}")
#define F4 "fma.rn.f32 f,f,f,f; fma.rn.f32 f,f,f,f; fma.rn.f32 f,f,f,f; fma.rn.f32 f,f,f,f;"
#define REGS "{.reg .f32 f,g0,g1,g2,g3,g4,g5,g6,g7; mov.b32 f,%0; mov.b32 g0,%1; mov.b32 g1,%1; mov.b32 g2,%1; mov.b32 g3,%1; mov.b32 g4,%1; mov.b32 g5,%1; mov.b32 g6,%1; mov.b32 g7,%1;"
MEMORY(bar_f4, REGS "bar.sync 0;" F4 "mov.b32 %0,f;}")
}
template <class Op, int CHAINS, int STEPS> DEVICE void measure(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    Given g = {seed, threadIdx.x & 31, (uint32_t)warp, base(), stride, buffer};
    bool on = (active >> warp) & 1;
    clear_shared();
    Op op[CHAINS];
    uint32_t r = 0;
    #pragma unroll
    for (int i = 0; i < CHAINS; i++) op[i].init(g, i);
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        start_together(r, out);
        if (on) {
            uint32_t t0 = now();
            #pragma unroll 1
            for (uint32_t k = 0; k < rounds; k++) {
                #pragma unroll
                for (int u = 0; u < STEPS; u++) {
                    #pragma unroll
                    for (int i = 0; i < CHAINS; i++) op[i].step(g);
                }
            }
            r = 0;
            #pragma unroll
            for (int i = 0; i < CHAINS; i++) r ^= op[i].use();
            if (r == 0x12345) out[0] = r;
            uint32_t t1 = now();
            if ((threadIdx.x & 31) == 0) { uint32_t *q = time + (warp * PASSES + p) * 2; q[0] = t0; q[1] = t1; }
        }
        __syncthreads();
    }
}
#define CHAIN(name) KERNEL chain_##name(PARAMETERS) { measure<operation::name, 1, 16>(GIVEN); }
CHAIN(imad_xor_shf) CHAIN(fma_max) CHAIN(xor_xor) CHAIN(matchc) CHAIN(copy4) CHAIN(copy8) CHAIN(copy16) CHAIN(st16_ld16)
CHAIN(bar_bar) CHAIN(bar_f4) CHAIN(ld_bar_st_bar)
