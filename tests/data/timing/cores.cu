// On which sub-core the warps of blocks are, and what it takes if one warp of each block works.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
G slots(uint32_t* out, uint32_t spin) {
    uint32_t s, w, t, u; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); asm volatile("mov.u32 %0,%%warpid;" : "=r"(w));
    asm volatile("mov.u32 %0,%%clock;" : "=r"(t));
    do asm volatile("mov.u32 %0,%%clock;" : "=r"(u) :: "memory"); while (u - t < spin);
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = s << 16 | w;
}
// which: 0: the first warp of each block works; 1: warp block % 4; 2: warp block / 132 % 4; 3: all warps, a share each
G works(uint32_t* out, uint32_t rounds, uint32_t which) {
    uint32_t warp = threadIdx.x / 32, mine = which == 0 ? 0 : which == 1 ? blockIdx.x % 4 : blockIdx.x / 132 % 4, x = threadIdx.x, y = x + 1, z = x + 2, v = x + 3;
    if (which == 3 ? true : warp == mine)
        #pragma unroll 1
        for (uint32_t r = which == 3 ? rounds / (blockDim.x / 32) : rounds; r; --r) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) { asm volatile("lop3.b32 %0,%0,%1,%2,0x96;" : "+r"(x) : "r"(y), "r"(r)); asm volatile("lop3.b32 %0,%0,%1,%2,0x96;" : "+r"(y) : "r"(z), "r"(r)); asm volatile("lop3.b32 %0,%0,%1,%2,0x96;" : "+r"(z) : "r"(v), "r"(r)); asm volatile("lop3.b32 %0,%0,%1,%2,0x96;" : "+r"(v) : "r"(x), "r"(r)); }
        }
    __syncthreads();
    if (x + y + z + v == 123456789) out[0] = x;
}
template <int K> __device__ __forceinline__ void walk(uint32_t* out, uint32_t lanes, uint32_t apart, uint32_t stride, uint32_t steps) {
    uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32, at = (w * 32 + l) * apart, v = 0;
    if (l < lanes)
        #pragma unroll 1
        for (uint32_t k = 0; k < steps; ++k) { uint32_t* p = out + (at & 0xffffff) + (v >> 31); uint32_t o;
            if (K == 0) asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(o) : "l"(p), "r"(1) : "memory");
            if (K == 1) asm volatile("atom.global.cas.b32 %0,[%1],%2,%3;" : "=r"(o) : "l"(p), "r"(0), "r"(1) : "memory");
            if (K == 2) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(o) : "l"(p) : "memory");
            v = o; at += stride; }
    if (v == 12345) out[0] = v;
}
G walk_add(uint32_t* o, uint32_t l, uint32_t a, uint32_t d, uint32_t s) { walk<0>(o, l, a, d, s); }
G walk_cas(uint32_t* o, uint32_t l, uint32_t a, uint32_t d, uint32_t s) { walk<1>(o, l, a, d, s); }
G walk_load(uint32_t* o, uint32_t l, uint32_t a, uint32_t d, uint32_t s) { walk<2>(o, l, a, d, s); }
