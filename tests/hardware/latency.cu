// What instructions take on one SM, by its clock: every warp stores raw readings, nothing is evaluated here.
//
//   chain_NAME    each instruction needs the result of the one before: latency.
//   rate_NAME     eight independent chains in turn: throughput of a warp, a sub-core, an SM.
//   line_NAME     24 times the instruction and a clock reading: when each was issued.
//   other kernels say below what they do.
//
// All kernels take (active, rounds, seed, stride, time, out, buffer). active: bit w = warp w takes part, the others wait at the
// barrier. time: (warps, PASSES, slots) of uint32, slots 2 or SLOTS; written by lane 0. A pass begins behind a barrier reduction,
// whose result must arrive before the clock is read; the first pass meets a cold instruction cache.
#include <cstdint>
#include <cuda_fp16.h>
#define DEVICE __device__ __forceinline__
constexpr int PASSES = 3, SLOTS = 49, COUNT = 24;
extern __shared__ __align__(128) unsigned char shared[];
__constant__ uint32_t constants[2048];
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
DEVICE uint32_t base() { return (uint32_t)__cvta_generic_to_shared(shared); }
#define PARAMETERS uint32_t active, uint32_t rounds, uint32_t seed, uint32_t stride, uint32_t *time, uint32_t *out, uint32_t *buffer
DEVICE void clear_shared() {
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((uint32_t *)shared)[i] = 0;
    __syncthreads();
}
DEVICE void start_together(uint32_t r, uint32_t *out) {
    __threadfence_block();
    uint32_t s = now();
    while (now() - s < 4000);
    uint32_t x = __syncthreads_count(r != 0x12345);
    if (x == 0x777) out[0] = x;
}

// What an operation may use beside its own value.
struct Given { uint32_t seed, lane, shared; uint32_t *buffer; };
DEVICE uint32_t word(uint32_t x) { return x; }
DEVICE uint32_t word(float x) { return __float_as_uint(x); }
DEVICE uint32_t word(double x) { return __double2loint(x) ^ __double2hiint(x); }
DEVICE uint32_t word(uint64_t x) { return (uint32_t)x ^ (uint32_t)(x >> 32); }

#define OPERATION(name, type, constraint, first, second, text) \
    struct name { type x; \
        DEVICE void init(const Given &g, int i) { x = first; } \
        DEVICE void step(const Given &g) { type y = second; asm volatile(text : "+" constraint(x) : constraint(y)); } \
        DEVICE uint32_t use() { return word(x); } };
#define INTEGER(name, text) OPERATION(name, uint32_t, "r", g.seed + i, g.seed * 3 + 1, text)
#define FLOAT(name, text) OPERATION(name, float, "f", __uint_as_float(0x3f800000 + g.seed + i), __uint_as_float(0x3f900000 + g.seed), text)
#define DOUBLE(name, text) OPERATION(name, double, "d", 1.0 + g.seed + i, 3.0 + g.seed, text)
#define LONG(name, text) OPERATION(name, uint64_t, "l", g.seed + i, (uint64_t)g.seed * 3 + 1, text)
namespace operation {
FLOAT(rcp, "rcp.approx.ftz.f32 %0,%0; add.f32 %0,%0,%1;") FLOAT(rsq, "rsqrt.approx.ftz.f32 %0,%0;") FLOAT(sqrt_, "sqrt.approx.ftz.f32 %0,%0;")
FLOAT(ex2, "ex2.approx.ftz.f32 %0,%0;") FLOAT(lg2, "lg2.approx.ftz.f32 %0,%0;") FLOAT(sin_, "sin.approx.ftz.f32 %0,%0;")
FLOAT(cos_, "cos.approx.ftz.f32 %0,%0;") FLOAT(tanh_, "tanh.approx.f32 %0,%0;")
DOUBLE(rcp64h, "rcp.approx.ftz.f64 %0,%0;") DOUBLE(rsq64h, "rsqrt.approx.ftz.f64 %0,%0;")
FLOAT(f2i_i2f, "{.reg .b32 t; cvt.rni.s32.f32 t,%0; cvt.rn.f32.s32 %0,t;}")
FLOAT(f2u64_u642f, "{.reg .b64 t; cvt.rni.u64.f32 t,%0; cvt.rn.f32.u64 %0,t;}")
INTEGER(i2f, "cvt.rn.f32.u32 %0,%0;") INTEGER(f2i, "cvt.rni.u32.f32 %0,%0;")
DOUBLE(f2f_f32_f64, "{.reg .f32 t; cvt.rn.f32.f64 t,%0; cvt.f64.f32 %0,t;}")
DOUBLE(f2i_f64, "{.reg .b32 t; cvt.rni.s32.f64 t,%0; cvt.rn.f64.s32 %0,t;}")
FLOAT(f16_f32, "{.reg .b16 t; cvt.rn.f16.f32 t,%0; cvt.f32.f16 %0,t;}")
FLOAT(frnd, "cvt.rni.f32.f32 %0,%0;") DOUBLE(frnd64, "cvt.rni.f64.f64 %0,%0;")
INTEGER(popc, "popc.b32 %0,%0;") INTEGER(flo, "bfind.u32 %0,%0;") INTEGER(brev, "brev.b32 %0,%0;")
INTEGER(imad, "mad.lo.u32 %0,%0,%1,%1;") INTEGER(imad_hi, "mad.hi.u32 %0,%0,%1,%1;")
LONG(imad_wide, "{.reg .b32 a,b; mov.b64 {a,b},%0; mad.wide.u32 %0,a,b,%1;}")
INTEGER(iadd, "add.u32 %0,%0,%1; xor.b32 %0,%0,%1;") LONG(iadd64, "add.u64 %0,%0,%1;")
INTEGER(lop3, "lop3.b32 %0,%0,%1,%1,0x96;") INTEGER(xor_, "xor.b32 %0,%0,%1;")
INTEGER(shf, "shf.l.wrap.b32 %0,%0,%1,%1;") INTEGER(shl, "shl.b32 %0,%0,%1;") INTEGER(prmt, "prmt.b32 %0,%0,%1,0x4321;")
INTEGER(imnmx, "max.s32 %0,%0,%1; xor.b32 %0,%0,%1;") INTEGER(lea, "{.reg .b32 t; shl.b32 t,%0,3; add.u32 %0,t,%1;}")
INTEGER(sel, "{.reg .pred p; setp.gt.u32 p,%0,%1; selp.b32 %0,%0,77,p; xor.b32 %0,%0,%1;}")
INTEGER(dp4a, "dp4a.u32.u32 %0,%0,%1,%1;") INTEGER(sad, "sad.u32 %0,%0,%1,%1;") INTEGER(bfe, "bfe.u32 %0,%0,3,9;")
FLOAT(fadd, "add.f32 %0,%0,%1;") FLOAT(fmul, "mul.f32 %0,%0,%1;") FLOAT(ffma, "fma.rn.f32 %0,%0,%1,%1;") FLOAT(fmnmx, "max.f32 %0,%0,%1;")
FLOAT(fsel, "{.reg .pred p; setp.gt.f32 p,%0,%1; selp.f32 %0,%1,%0,p;}")
DOUBLE(dadd, "add.f64 %0,%0,%1;") DOUBLE(dmul, "mul.f64 %0,%0,%1;") DOUBLE(dfma, "fma.rn.f64 %0,%0,%1,%1;")
DOUBLE(dsetp, "{.reg .pred p; setp.gt.f64 p,%0,%1; selp.f64 %0,%1,%0,p;}")
INTEGER(hfma2, "fma.rn.f16x2 %0,%0,%1,%1;") INTEGER(hadd2, "add.f16x2 %0,%0,%1;") INTEGER(hmul2, "mul.f16x2 %0,%0,%1;")
INTEGER(hfma2_bf16, "fma.rn.bf16x2 %0,%0,%1,%1;") INTEGER(hmnmx2, "max.f16x2 %0,%0,%1;")
INTEGER(shfl_idx, "shfl.sync.idx.b32 %0,%0,%1,31,-1;") INTEGER(shfl_bfly, "shfl.sync.bfly.b32 %0,%0,5,31,-1;")
INTEGER(shfl_up, "shfl.sync.up.b32 %0,%0,1,0,-1;")
INTEGER(vote_ballot, "{.reg .pred p; setp.gt.u32 p,%0,%1; vote.sync.ballot.b32 %0,p,-1;}")
INTEGER(vote_any, "{.reg .pred p,q; setp.gt.u32 p,%0,%1; vote.sync.any.pred q,p,-1; selp.b32 %0,%1,%0,q;}")
INTEGER(match_any, "match.any.sync.b32 %0,%0,-1;") INTEGER(match_all, "match.all.sync.b32 %0,%0,-1;")
INTEGER(redux_add, "redux.sync.add.u32 %0,%0,-1;") INTEGER(redux_and, "redux.sync.and.b32 %0,%0,-1;") INTEGER(redux_max, "redux.sync.max.s32 %0,%0,-1;")
INTEGER(warpid, "{.reg .b32 t; mov.u32 t,%%warpid; add.u32 %0,%0,t;}") INTEGER(smid, "{.reg .b32 t; mov.u32 t,%%smid; add.u32 %0,%0,t;}")
INTEGER(activemask, "{.reg .b32 t; activemask.b32 t; add.u32 %0,%0,t;}")
INTEGER(globaltimer, "{.reg .b32 t; mov.u32 t,%%globaltimer_lo; add.u32 %0,%0,t;}")
INTEGER(clock_, "{.reg .b32 t; mov.u32 t,%%clock; add.u32 %0,%0,t;}") LONG(clock64_, "{.reg .b64 t; mov.u64 t,%%clock64; add.u64 %0,%0,t;}")
INTEGER(warpsync, "bar.warp.sync -1; add.u32 %0,%0,%1;") INTEGER(isetp_plop, "{.reg .pred p,q,r; setp.gt.u32 p,%0,%1; setp.lt.u32 q,%0,77; xor.pred r,p,q; selp.b32 %0,%1,%0,r;}")

// Memory: x is zero and what is read is zero, so addresses stay.
#define MEMORY(name, text) \
    struct name { uint32_t x, a, *b; \
        DEVICE void init(const Given &g, int i) { x = 0; a = g.shared; b = g.buffer + g.lane + 32 * i; } \
        DEVICE void step(const Given &g) { asm volatile(text : "+r"(x) : "r"(a + x), "l"(b), "r"(g.seed) : "memory"); } \
        DEVICE uint32_t use() { return x; } };
MEMORY(lds, "ld.volatile.shared.u32 %0,[%1];")
MEMORY(lds64, "{.reg .b32 t; ld.volatile.shared.v2.u32 {%0,t},[%1];}")
MEMORY(lds128, "{.reg .b32 t,u,v; ld.volatile.shared.v4.u32 {%0,t,u,v},[%1];}")
MEMORY(lds8, "ld.volatile.shared.u8 %0,[%1];")
MEMORY(ldsm1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];")
MEMORY(ldsm1t, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0},[%1];")
MEMORY(ldsm2, "{.reg .b32 t; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,t},[%1];}")
MEMORY(ldsm4, "{.reg .b32 t,u,v; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,t,u,v},[%1];}")
MEMORY(stsm1, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1],{%0};")
MEMORY(stsm2, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%1],{%0,%0};")
MEMORY(stsm4, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%1],{%0,%0,%0,%0};")
MEMORY(sts, "st.volatile.shared.u32 [%1],%0;")
MEMORY(sts_lds, "st.volatile.shared.u32 [%1],%0; ld.volatile.shared.u32 %0,[%1];")
MEMORY(lds_sts, "{.reg .b32 t; mov.u32 t,0; ld.volatile.shared.u32 %0,[%1]; st.volatile.shared.u32 [%1+4096],t;}")
MEMORY(lds_lds_sts, "{.reg .b32 t; mov.u32 t,0; ld.volatile.shared.u32 %0,[%1]; ld.volatile.shared.u32 %0,[%1+4096]; st.volatile.shared.u32 [%1+8192],t;}")
MEMORY(lds128_sts, "{.reg .b32 z,t,u,v; mov.u32 z,0; ld.volatile.shared.v4.u32 {%0,t,u,v},[%1]; st.volatile.shared.u32 [%1+4096],z;}")
MEMORY(lds_atoms, "{.reg .b32 t,u; mov.u32 t,0; ld.volatile.shared.u32 u,[%1]; atom.shared.add.u32 %0,[%1+4096],t; or.b32 %0,%0,u;}")
MEMORY(lds_ldg, "{.reg .b32 t; ld.volatile.shared.u32 t,[%1]; ld.global.u32 %0,[%2]; or.b32 %0,%0,t;}")
MEMORY(lds_stg, "{.reg .b32 t; mov.u32 t,0; ld.volatile.shared.u32 %0,[%1]; st.global.u32 [%2],t;}")
MEMORY(lds_shfl, "{.reg .b32 t; ld.volatile.shared.u32 t,[%1]; shfl.sync.bfly.b32 %0,t,5,31,-1;}")
MEMORY(atoms_one, "{.reg .b32 t,u; mov.u32 u,0; and.b32 t,%1,0xffffff80; atom.shared.add.u32 %0,[t],u;}")
MEMORY(atoms_add, "{.reg .b32 u; mov.u32 u,0; atom.shared.add.u32 %0,[%1],u;}")
MEMORY(atoms_red, "{.reg .b32 u; mov.u32 u,0; red.shared.add.u32 [%1],u;}")
MEMORY(atoms_max, "{.reg .b32 u; mov.u32 u,0; atom.shared.max.u32 %0,[%1],u;}")
MEMORY(atoms_exch, "{.reg .b32 u; mov.u32 u,0; atom.shared.exch.b32 %0,[%1],u;}")
MEMORY(atoms_cas, "{.reg .b32 u; mov.u32 u,0; atom.shared.cas.b32 %0,[%1],u,u;}")
MEMORY(cp4, "cp.async.ca.shared.global [%1],[%2],4; cp.async.commit_group;")
MEMORY(cp16, "{.reg .b64 t; mul.wide.u32 t,%1,0; add.u64 t,t,%2; and.b64 t,t,-16; .reg .b32 a; and.b32 a,%1,0xfffffff0; cp.async.cg.shared.global [a],[t],16; cp.async.commit_group;}")
MEMORY(cp4_wait, "cp.async.ca.shared.global [%1],[%2],4; cp.async.commit_group; cp.async.wait_group 0; ld.volatile.shared.u32 %0,[%1];")
MEMORY(stg, "st.volatile.global.u32 [%2],%0;") MEMORY(stg_plain, "st.global.u32 [%2],%0;")
MEMORY(lds_off, "{.reg .pred p; setp.eq.u32 p,%3,12345; @p ld.volatile.shared.u32 %0,[%1];}") MEMORY(sts_off, "{.reg .pred p; setp.eq.u32 p,%3,12345; @p st.volatile.shared.u32 [%1],%0;}")
MEMORY(bar_lds, "bar.sync 0; ld.volatile.shared.u32 %0,[%1];") MEMORY(sts_bar_lds, "st.volatile.shared.u32 [%1],%0; bar.sync 0; ld.volatile.shared.u32 %0,[%1]; bar.sync 0;")
MEMORY(red_g, "{.reg .b32 u; mov.u32 u,0; red.global.add.u32 [%2],u;}")
MEMORY(membar_cta, "membar.cta;") MEMORY(membar_gl, "membar.gl;") MEMORY(membar_sys, "membar.sys;")
MEMORY(sts_membar, "st.volatile.shared.u32 [%1],%0; membar.cta;") MEMORY(stg_membar, "st.global.u32 [%2],%0; membar.gl;")
MEMORY(bar, "bar.sync 0;") MEMORY(bar_red, "{.reg .pred p; setp.eq.u32 p,%0,0; .reg .b32 t; bar.red.popc.u32 t,0,p; sub.u32 %0,t,t;}")
MEMORY(sleep0, "nanosleep.u32 0;") MEMORY(sleep20, "nanosleep.u32 20;") MEMORY(sleep200, "nanosleep.u32 200;") MEMORY(sleep2000, "nanosleep.u32 2000;")
MEMORY(nothing, "")
// Global memory and constants: the address is 64 bits wide, the value read (zero) is added to it.
#define GLOBAL(name, text) \
    struct name { uint64_t a; uint32_t x; \
        DEVICE void init(const Given &g, int i) { x = 0; a = (uint64_t)(g.buffer + g.lane) + 0 * i; } \
        DEVICE void step(const Given &g) { asm volatile("{.reg .b64 t; cvt.u64.u32 t,%0; add.u64 t,t,%1; " text "}" : "+r"(x) : "l"(a) : "memory"); } \
        DEVICE uint32_t use() { return x; } };
GLOBAL(ldg, "ld.global.u32 %0,[t];") GLOBAL(ldg_cg, "ld.global.cg.u32 %0,[t];") GLOBAL(ldg_nc, "ld.global.nc.u32 %0,[t];")
GLOBAL(ldg_volatile, "ld.volatile.global.u32 %0,[t];")
GLOBAL(ldg64, "{.reg .b32 u; and.b64 t,t,-8; ld.global.v2.u32 {%0,u},[t]; or.b32 %0,%0,u;}") GLOBAL(ldg128, "{.reg .b32 u,v,w; and.b64 t,t,-16; ld.global.v4.u32 {%0,u,v,w},[t]; or.b32 %0,%0,u; or.b32 %0,%0,v; or.b32 %0,%0,w;}")
GLOBAL(atomg, "{.reg .b32 u; mov.u32 u,0; atom.global.add.u32 %0,[t],u;}") GLOBAL(atomg_cas, "{.reg .b32 u; mov.u32 u,0; atom.global.cas.b32 %0,[t],u,u;}")
struct ldc { uint32_t x; DEVICE void init(const Given &g, int i) { x = (g.seed + i) * 64 % 4096; }
    DEVICE void step(const Given &g) { x = *(const volatile uint32_t *)((const char *)constants + x); } DEVICE uint32_t use() { return x; } };
__device__ __noinline__ uint32_t function(uint32_t x) { asm volatile("mad.lo.u32 %0,%0,%0,%0;" : "+r"(x)); return x; }
struct call { uint32_t x; DEVICE void init(const Given &g, int i) { x = g.seed + i; }
    DEVICE void step(const Given &g) { x = function(x); } DEVICE uint32_t use() { return x; } };
// Branches that all lanes take (taken), none takes, or half of the lanes take; each passes twelve multiplications.
#define TWELVE "fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2;" \
               "fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2; fma.rn.f32 %0,%0,%2,%2;"
#define BRANCH(name, condition, text) \
    struct name { float x; DEVICE void init(const Given &g, int i) { x = __uint_as_float(0x3f800000 + g.seed + i); } \
        DEVICE void step(const Given &g) { asm volatile(text : "+f"(x) : "r"((uint32_t)(condition)), "f"(__uint_as_float(g.seed))); } DEVICE uint32_t use() { return word(x); } };
#define SKIP "{.reg .pred p; setp.ne.u32 p,%1,0; @p bra AFTER; " TWELVE " AFTER: }"
#define EITHER "{.reg .pred p; setp.ne.u32 p,%1,0; @p bra OTHER; " TWELVE " bra AFTER; OTHER: " TWELVE " add.f32 %0,%0,%2; AFTER: }"
BRANCH(branch_taken, g.seed != 12345, SKIP) BRANCH(branch_not_taken, g.seed == 12345, SKIP) BRANCH(branch_half, g.lane < 16, SKIP)
BRANCH(either_one, g.seed == 12345, EITHER) BRANCH(either_half, g.lane < 16, EITHER)
// Tensor cores: the accumulator is the chain.
#define MATRIX(name, type, constraint, registers, c_, text) \
    struct name { type c[registers]; \
        DEVICE void init(const Given &g, int i) { for (int j = 0; j < registers; j++) c[j] = (type)(i + j); } \
        DEVICE void step(const Given &g) { uint32_t a = g.seed, b = g.seed + 1; double d = a, e = b; (void)d; (void)e; asm volatile(text : c_ : "r"(a), "r"(b), "d"(d), "d"(e)); } \
        DEVICE uint32_t use() { uint32_t s = 0; for (int j = 0; j < registers; j++) s ^= word(c[j]); return s; } };
#define C4(k) "+" k(c[0]), "+" k(c[1]), "+" k(c[2]), "+" k(c[3])
#define C2(k) "+" k(c[0]), "+" k(c[1])
MATRIX(hmma_16816_f32, float, "f", 4, C4("f"), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MATRIX(hmma_16816_bf16, float, "f", 4, C4("f"), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MATRIX(hmma_1688_f32, float, "f", 4, C4("f"), "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%4},{%0,%1,%2,%3};")
MATRIX(hmma_1688_tf32, float, "f", 4, C4("f"), "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MATRIX(hmma_1684_tf32, float, "f", 4, C4("f"), "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5},{%4},{%0,%1,%2,%3};")
MATRIX(hmma_16816_f16, uint32_t, "r", 2, C2("r"), "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%2,%3},{%2,%3},{%0,%1};")
MATRIX(imma_16816_s8, uint32_t, "r", 4, C4("r"), "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%4},{%0,%1,%2,%3};")
MATRIX(imma_16832_s8, uint32_t, "r", 4, C4("r"), "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};")
MATRIX(dmma_884, double, "d", 2, C2("d"), "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%4},{%5},{%0,%1};")
// Two kinds of instruction in turn, independent of each other.
template <class A, class B> struct Both { A a; B b; DEVICE void init(const Given &g, int i) { a.init(g, i); b.init(g, i); }
    DEVICE void step(const Given &g) { a.step(g); b.step(g); } DEVICE uint32_t use() { return a.use() ^ b.use(); } };
using ffma_imad = Both<ffma, imad>; using ffma_iadd = Both<ffma, iadd>; using imad_iadd = Both<imad, iadd>; using ffma_rcp = Both<ffma, rcp>;
using ffma_dfma = Both<ffma, dfma>; using rcp_popc = Both<rcp, popc>; using ffma_hfma2 = Both<ffma, hfma2>; using lop3_shf = Both<lop3, shf>;
using rcp_f2i = Both<rcp, f2i>; using ffma_lds = Both<ffma, lds>; using dfma_hmma = Both<dfma, hmma_16816_f32>; using rcp_shfl = Both<rcp, shfl_bfly>;
using ffma_ldc = Both<ffma, ldc>; using iadd_prmt = Both<iadd, prmt>; using ffma_prmt = Both<ffma, prmt>; using imad_prmt = Both<imad, prmt>;
using dfma_prmt = Both<dfma, prmt>; using hfma2_prmt = Both<hfma2, prmt>; using hfma2_imad = Both<hfma2, imad>; using prmt_rcp = Both<prmt, rcp>; using ldc_shfl = Both<ldc, shfl_bfly>;
using f2i_i2fp = Both<f2i, i2f>; using dfma_imad = Both<dfma, imad>; using hmma_ffma = Both<hmma_16816_f32, ffma>; using prmt_shf = Both<prmt, shf>;

} // namespace operation

template <class Op, int N, int UNROLL> DEVICE void measure(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    Given g = {seed, threadIdx.x & 31, base() + (((threadIdx.x & 31) * stride) & 1023) * 4, buffer};
    bool on = (active >> warp) & 1;
    clear_shared();
    Op op[N];
    uint32_t r = 0;
    #pragma unroll
    for (int i = 0; i < N; i++) op[i].init(g, i);
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        start_together(r, out);
        if (on) {
            uint32_t t0 = now();
            #pragma unroll 1
            for (uint32_t k = 0; k < rounds; k++) {
                #pragma unroll
                for (int u = 0; u < UNROLL; u++) {
                    #pragma unroll
                    for (int i = 0; i < N; i++) op[i].step(g);
                }
            }
            r = 0;
            #pragma unroll
            for (int i = 0; i < N; i++) r ^= op[i].use();
            if (r == 0x12345) out[0] = r;
            uint32_t t1 = now();
            if (g.lane == 0) { uint32_t *q = time + (warp * PASSES + p) * 2; q[0] = t0; q[1] = t1; }
        }
        __syncthreads();
    }
}
template <class Op> DEVICE void line(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    Given g = {seed, threadIdx.x & 31, base() + (((threadIdx.x & 31) * stride) & 1023) * 4, buffer};
    bool on = (active >> warp) & 1;
    clear_shared();
    uint32_t r = 0;
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        Op op[COUNT];
        #pragma unroll
        for (int i = 0; i < COUNT; i++) op[i].init(g, i);
        start_together(r, out);
        if (on) {
            uint32_t issued[COUNT], t0 = now();
            #pragma unroll
            for (int u = 0; u < COUNT; u++) { op[u].step(g); issued[u] = now(); }
            r = 0;
            #pragma unroll
            for (int u = 0; u < COUNT; u++) r ^= op[u].use();
            if (r == 0x12345) out[0] = r;
            uint32_t t1 = now();
            if (g.lane == 0) {
                uint32_t *q = time + (warp * PASSES + p) * SLOTS;
                q[0] = t0; q[COUNT + 1] = t1;
                for (int u = 0; u < COUNT; u++) q[1 + u] = issued[u];
            }
        }
        __syncthreads();
    }
}
#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
#define GIVEN active, rounds, seed, stride, time, out, buffer
#define CHAIN(name) KERNEL chain_##name(PARAMETERS) { measure<operation::name, 1, 16>(GIVEN); }
#define RATE(name) KERNEL rate_##name(PARAMETERS) { measure<operation::name, 8, 2>(GIVEN); }
#define LINE(name) KERNEL line_##name(PARAMETERS) { line<operation::name>(GIVEN); }
#define BOTH(name) CHAIN(name) RATE(name)
BOTH(rcp) BOTH(rsq) BOTH(sqrt_) BOTH(ex2) BOTH(lg2) BOTH(sin_) BOTH(cos_) BOTH(tanh_) BOTH(rcp64h) BOTH(rsq64h)
BOTH(f2i_i2f) BOTH(f2u64_u642f) BOTH(i2f) BOTH(f2i) BOTH(f2f_f32_f64) BOTH(f2i_f64) BOTH(f16_f32) BOTH(frnd) BOTH(frnd64)
BOTH(popc) BOTH(flo) BOTH(brev) BOTH(imad) BOTH(imad_hi) BOTH(imad_wide) BOTH(iadd) BOTH(iadd64) BOTH(lop3) BOTH(shf) BOTH(shl)
BOTH(prmt) BOTH(imnmx) BOTH(lea) BOTH(sel) BOTH(dp4a) BOTH(sad) BOTH(bfe) BOTH(fadd) BOTH(fmul) BOTH(ffma) BOTH(fmnmx) BOTH(fsel)
BOTH(dadd) BOTH(dmul) BOTH(dfma) BOTH(dsetp) BOTH(hfma2) BOTH(hadd2) BOTH(hmul2) BOTH(hfma2_bf16) BOTH(hmnmx2)
BOTH(shfl_idx) BOTH(shfl_bfly) BOTH(shfl_up) BOTH(vote_ballot) BOTH(vote_any) BOTH(match_any) BOTH(match_all) BOTH(redux_add) BOTH(redux_and) BOTH(redux_max)
BOTH(warpid) BOTH(smid) BOTH(activemask) BOTH(globaltimer) BOTH(clock_) BOTH(clock64_) BOTH(warpsync) BOTH(isetp_plop)
BOTH(lds) BOTH(lds64) BOTH(lds128) BOTH(lds8) BOTH(ldsm1) BOTH(ldsm1t) BOTH(ldsm2) BOTH(ldsm4) RATE(stsm1) RATE(stsm2) RATE(stsm4) RATE(sts)
BOTH(sts_lds) RATE(lds_sts) RATE(lds_lds_sts) RATE(lds128_sts) RATE(lds_atoms) RATE(lds_ldg) RATE(lds_stg) RATE(lds_shfl)
BOTH(atoms_one) BOTH(atoms_add) RATE(atoms_red) BOTH(atoms_max) BOTH(atoms_exch) BOTH(atoms_cas) RATE(cp4) RATE(cp16) CHAIN(cp4_wait) RATE(stg) RATE(stg_plain) RATE(lds_off) RATE(sts_off) CHAIN(bar_lds) CHAIN(sts_bar_lds) RATE(red_g)
CHAIN(membar_cta) CHAIN(membar_gl) CHAIN(membar_sys) CHAIN(sts_membar) CHAIN(stg_membar) CHAIN(bar) CHAIN(bar_red)
CHAIN(sleep0) CHAIN(sleep20) CHAIN(sleep200) CHAIN(sleep2000)
BOTH(ldg) BOTH(ldg_cg) BOTH(ldg_nc) BOTH(ldg_volatile) BOTH(ldg64) BOTH(ldg128) BOTH(atomg) BOTH(atomg_cas) BOTH(ldc) CHAIN(call)
CHAIN(branch_taken) CHAIN(branch_not_taken) CHAIN(branch_half) CHAIN(either_one) CHAIN(either_half)
BOTH(hmma_16816_f32) BOTH(hmma_16816_bf16) BOTH(hmma_1688_f32) BOTH(hmma_1688_tf32) BOTH(hmma_1684_tf32) BOTH(hmma_16816_f16) BOTH(imma_16816_s8) BOTH(imma_16832_s8) BOTH(dmma_884)
RATE(ffma_imad) RATE(ffma_iadd) RATE(imad_iadd) RATE(ffma_rcp) RATE(ffma_dfma) RATE(rcp_popc) RATE(ffma_hfma2) RATE(lop3_shf) RATE(rcp_f2i) RATE(ffma_lds)
RATE(dfma_hmma) RATE(rcp_shfl) RATE(ffma_ldc) RATE(iadd_prmt) RATE(ffma_prmt) RATE(imad_prmt)
RATE(dfma_prmt) RATE(hfma2_prmt) RATE(hfma2_imad) RATE(prmt_rcp) RATE(ldc_shfl) RATE(f2i_i2fp) RATE(dfma_imad) RATE(hmma_ffma) RATE(prmt_shf)
LINE(nothing) LINE(ffma) LINE(iadd) LINE(rcp) LINE(dfma) LINE(lds) LINE(lds128) LINE(sts) LINE(ldsm4) LINE(stsm4) LINE(lds_sts) LINE(lds128_sts) LINE(atoms_cas) LINE(cp4) LINE(cp16)
LINE(ldg) LINE(stg) LINE(bar) LINE(warpsync) LINE(shfl_bfly) LINE(hmma_16816_f32) LINE(redux_add) LINE(ldc) LINE(popc) LINE(f2i) LINE(membar_cta)

// A loop around N additions of eight chains: what the branch and the instruction cache cost.
#define LOOP(N) KERNEL loop_##N(PARAMETERS) { loop<N>(GIVEN); }
template <int N> DEVICE void loop(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    bool on = (active >> warp) & 1;
    float x[8], y = __uint_as_float(seed);
    uint32_t r = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) x[i] = i + y;
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        start_together(r, out);
        if (on) {
            uint32_t t0 = now();
            #pragma unroll 1
            for (uint32_t k = 0; k < rounds; k++) {
                #pragma unroll
                for (int u = 0; u < N; u++) asm volatile("add.f32 %0,%0,%1;" : "+f"(x[u % 8]) : "f"(y));
            }
            r = 0;
            #pragma unroll
            for (int i = 0; i < 8; i++) r ^= word(x[i]);
            if (r == 0x12345) out[0] = r;
            uint32_t t1 = now();
            if ((threadIdx.x & 31) == 0) { uint32_t *q = time + (warp * PASSES + p) * 2; q[0] = t0; q[1] = t1; }
        }
        __syncthreads();
    }
}
LOOP(1) LOOP(2) LOOP(3) LOOP(4) LOOP(5) LOOP(6) LOOP(7) LOOP(8) LOOP(12) LOOP(16) LOOP(20) LOOP(24) LOOP(28) LOOP(32) LOOP(40) LOOP(48) LOOP(64) LOOP(96) LOOP(112)
LOOP(128) LOOP(160) LOOP(192) LOOP(256) LOOP(384) LOOP(512) LOOP(768) LOOP(1024) LOOP(2048) LOOP(4096)

// Who issues: every warp of a sub-core has enough to do, and reads the clock after each eight.
#define ORDER(name) KERNEL order_##name(PARAMETERS) { order<operation::name>(GIVEN); }
template <class Op> DEVICE void order(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    Given g = {seed, threadIdx.x & 31, 0, buffer};
    bool on = (active >> warp) & 1;
    Op op[8];
    uint32_t r = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) op[i].init(g, i);
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        start_together(r, out);
        if (on) {
            uint32_t at[COUNT], t0 = now();
            #pragma unroll
            for (int u = 0; u < COUNT; u++) {
                #pragma unroll
                for (int i = 0; i < 8; i++) op[i].step(g);
                at[u] = now();
            }
            r = 0;
            #pragma unroll
            for (int i = 0; i < 8; i++) r ^= op[i].use();
            if (r == 0x12345) out[0] = r;
            uint32_t t1 = now();
            if (g.lane == 0) {
                uint32_t *q = time + (warp * PASSES + p) * SLOTS;
                q[0] = t0; q[COUNT + 1] = t1;
                for (int u = 0; u < COUNT; u++) q[1 + u] = at[u];
            }
        }
        __syncthreads();
    }
}
ORDER(ffma) ORDER(prmt) ORDER(iadd) ORDER(imad) ORDER(rcp) ORDER(ffma_iadd)

// Each warp comes to six barriers later than the one before it by `stride` cycles: clocks before, at once behind, and when a load behind
// the barrier has come back.
KERNEL barrier_skew(PARAMETERS) {
    int warp = threadIdx.x >> 5;
    uint32_t r = 0, a = base();
    clear_shared();
    #pragma unroll 1
    for (int p = 0; p < PASSES; p++) {
        uint32_t t[18];
        start_together(r, out);
        uint32_t t0 = now();
        #pragma unroll
        for (int u = 0; u < 6; u++) {
            uint32_t s = now(), late = stride * (u & 1 ? warp : (blockDim.x >> 5) - 1 - warp);
            while (now() - s < late);
            t[3 * u] = now();
            if (u < 2) __syncthreads(); else if (u < 4) r += __syncthreads_count(r != 77); else asm volatile("bar.arrive 1,1024;" ::: "memory");
            t[3 * u + 1] = now();
            uint32_t x;
            asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(x) : "r"(a) : "memory");
            r += x;
            if (r == 0x12345) out[0] = r;
            t[3 * u + 2] = now();
        }
        if ((threadIdx.x & 31) == 0) {
            uint32_t *q = time + (warp * PASSES + p) * SLOTS;
            q[0] = t0;
            for (int u = 0; u < 18; u++) q[1 + u] = t[u];
        }
        __syncthreads();
    }
}
// Pointer chase: buffer holds 64-bit addresses, written by chase_fill with `seed` bytes from one to the next, `rounds` of them.
KERNEL chase_fill(PARAMETERS) {
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rounds; i += gridDim.x * blockDim.x)
        *(uint64_t *)((char *)buffer + i * seed) = (uint64_t)((char *)buffer + (i + 1) % rounds * seed);
}
#define CHASE(name, modifier) KERNEL chase_##name(PARAMETERS) { \
    uint64_t x = (uint64_t)buffer; \
    for (int p = 0; p < PASSES; p++) { \
        start_together((uint32_t)x, out); \
        uint32_t t0 = now(); \
        for (uint32_t k = 0; k < rounds; k++) { \
            _Pragma("unroll") for (int u = 0; u < 16; u++) asm volatile("ld.global" modifier ".u64 %0,[%0];" : "+l"(x) :: "memory"); \
        } \
        if (x == 0x12345) out[0] = 1; \
        uint32_t t1 = now(); \
        if (threadIdx.x == 0) { time[p * 2] = t0; time[p * 2 + 1] = t1; } \
    } }
CHASE(plain, "") CHASE(cg, ".cg")
// A local array with an index that is known only when it runs.
KERNEL chain_ldl(PARAMETERS) {
    volatile uint32_t a[64];
    for (int i = 0; i < 64; i++) a[i] = 0;
    uint32_t x = seed & 31;
    for (int p = 0; p < PASSES; p++) {
        start_together(x, out);
        uint32_t t0 = now();
        for (uint32_t k = 0; k < rounds; k++) {
            #pragma unroll
            for (int u = 0; u < 16; u++) x = a[x];
        }
        if (x == 0x12345) out[0] = 1;
        uint32_t t1 = now();
        if (threadIdx.x == 0) { time[p * 2] = t0; time[p * 2 + 1] = t1; }
    }
}
