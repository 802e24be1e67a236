// Stores, additions and loads at places that a list gives; searches; rows read twice; warps that go on for longer than others.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
template <int KIND> __device__ __forceinline__ void one(uint32_t* out, uint32_t at, uint32_t& v) {
    if (KIND == 0) out[at] = at;
    if (KIND == 1) asm volatile("red.global.add.u32 [%0],1;" :: "l"(out + at) : "memory");
    if (KIND == 2) asm volatile("red.global.add.f32 [%0],0f3F800000;" :: "l"(out + at) : "memory");
    if (KIND == 3) { uint32_t w; asm volatile("atom.global.add.u32 %0,[%1],1;" : "=r"(w) : "l"(out + at) : "memory"); v += w; }
    if (KIND == 4) { float w; asm volatile("atom.global.add.f32 %0,[%1],0f3F800000;" : "=f"(w) : "l"(out + at) : "memory"); v += __float_as_uint(w); }
    if (KIND == 5) { uint32_t w; asm volatile("atom.global.cas.b32 %0,[%1],0,%2;" : "=r"(w) : "l"(out + at), "r"(at | 1) : "memory"); v += w; }
    if (KIND == 6) { uint32_t w; asm volatile("ld.global.u32 %0,[%1];" : "=r"(w) : "l"(out + at) : "memory"); v += w; }
    if (KIND == 7) asm volatile("red.global.max.u32 [%0],%1;" :: "l"(out + at), "r"(at) : "memory");
    if (KIND == 8) ((uint8_t*)out)[at] = at;
    if (KIND == 9) ((ulonglong2*)out)[at] = {at, at};
}
template <int KIND> __device__ __forceinline__ void listed(uint32_t* out, const uint32_t* list, uint32_t n) {
    uint32_t v = 0;
    #pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) one<KIND>(out, list[i], v);
    if (v == 123456789) out[0] = v;
}
G stores(uint32_t* out, const uint32_t* list, uint32_t n) { listed<0>(out, list, n); }
G adds(uint32_t* out, const uint32_t* list, uint32_t n) { listed<1>(out, list, n); }
G adds_floats(uint32_t* out, const uint32_t* list, uint32_t n) { listed<2>(out, list, n); }
G atoms(uint32_t* out, const uint32_t* list, uint32_t n) { listed<3>(out, list, n); }
G atoms_floats(uint32_t* out, const uint32_t* list, uint32_t n) { listed<4>(out, list, n); }
G swaps(uint32_t* out, const uint32_t* list, uint32_t n) { listed<5>(out, list, n); }
G loads(uint32_t* out, const uint32_t* list, uint32_t n) { listed<6>(out, list, n); }
G maxima(uint32_t* out, const uint32_t* list, uint32_t n) { listed<7>(out, list, n); }
G bytes(uint32_t* out, const uint32_t* list, uint32_t n) { listed<8>(out, list, n); }
G quads(uint32_t* out, const uint32_t* list, uint32_t n) { listed<9>(out, list, n); }
// Keys that a thread looks for in a sorted list, or in a tree of the same (node k has 2k and 2k + 1 below it).
G search(uint32_t* out, const uint32_t* keys, const uint32_t* sorted, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i], low = 0;
    #pragma unroll 1
    for (uint32_t half = n / 2; half; half /= 2) if (sorted[low + half] <= key) low += half;
    out[i] = low;
}
G descend(uint32_t* out, const uint32_t* keys, const uint32_t* tree, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i], at = 1;
    #pragma unroll 1
    while (at < n) at = 2 * at + (tree[at] <= key);
    out[i] = at;
}
// Chains: each thread's next place is what it has read.
G chain(uint32_t* out, const uint32_t* next, uint32_t steps) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
    #pragma unroll 1
    for (uint32_t k = 0; k < steps; ++k) at = next[at];
    out[i] = at;
}
// A warp a row: what: 1 reads both arrays, 2 reads them again, 4 stores behind that
template <int WHAT> __device__ __forceinline__ void rows(float* out, const float* p, const float* g, uint32_t n) {
    size_t row = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32 * n;
    uint32_t lane = threadIdx.x % 32; float dot = 0, more = 0;
    if (WHAT & 1) for (uint32_t i = lane; i < n; i += 32) dot += p[row + i] * g[row + i];
    for (int d = 16; d; d /= 2) dot += __shfl_xor_sync(~0u, dot, d);
    if (WHAT == 3) for (uint32_t i = lane; i < n; i += 32) more += p[row + i] * (g[row + i] - dot);
    if (WHAT == 7) for (uint32_t i = lane; i < n; i += 32) out[row + i] = p[row + i] * (g[row + i] - dot);
    if (WHAT == 4 || WHAT == 5) for (uint32_t i = lane; i < n; i += 32) out[row + i] = dot;
    if (WHAT == 8) for (uint32_t i = lane; i < n; i += 32) out[row + i] = p[row + i] * g[row + i];
    if (dot + more == 1e30f) out[0] = more;
}
G rows_once(float* out, const float* p, const float* g, uint32_t n) { rows<1>(out, p, g, n); }
G rows_twice(float* out, const float* p, const float* g, uint32_t n) { rows<3>(out, p, g, n); }
G rows_all(float* out, const float* p, const float* g, uint32_t n) { rows<7>(out, p, g, n); }
G rows_stored(float* out, const float* p, const float* g, uint32_t n) { rows<4>(out, p, g, n); }
G rows_then(float* out, const float* p, const float* g, uint32_t n) { rows<5>(out, p, g, n); }
G rows_beside(float* out, const float* p, const float* g, uint32_t n) { rows<8>(out, p, g, n); }
// Warps that go on for as many steps as a list says, each of four multiply-adds that wait for each other.
G goes_on(float* out, const uint32_t* steps) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; float x = i;
    #pragma unroll 1
    for (uint32_t k = steps[i]; k; --k) { x = x * 1.5f + 1; x = x * .5f + 1; x = x * 1.5f + 1; x = x * .5f + 1; }
    out[i] = x;
}
// Each block reads its own part of an array again and again, past the L1.
G again(float* out, const float4* in, uint32_t n, uint32_t rounds) {
    const float4* own = in + (size_t)blockIdx.x * n; float s = 0;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r)
        #pragma unroll 4
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) { float4 v; asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(own + i) : "memory"); s += v.x; }
    if (s == 1e30f) out[0] = s;
}
// All blocks read all of an array, each from its own place on, again and again.
G around(float* out, const float4* in, uint32_t n, uint32_t rounds) {
    float s = 0; uint32_t per = n / gridDim.x;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r) { const float4* own = in + (size_t)((blockIdx.x + r * 37) % gridDim.x) * per;
        #pragma unroll 4
        for (uint32_t i = threadIdx.x; i < per; i += blockDim.x) { float4 v; asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3},[%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(own + i) : "memory"); s += v.x; } }
    if (s == 1e30f) out[0] = s;
}
// Atomics one after the other, each of which waits for the last: of `lanes` lanes a warp, `apart` words apart.
template <int K> __device__ __forceinline__ void chain(uint32_t* out, uint32_t lanes, uint32_t apart, uint32_t steps) {
    uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; uint32_t* p = out + (size_t)(w * 32 + l) * apart; uint32_t v = 0;
    if (l < lanes)
        #pragma unroll 1
        for (uint32_t k = 0; k < steps; ++k) { uint32_t o;
            if (K == 0) asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(o) : "l"(p + (v >> 31)), "r"(1) : "memory");
            if (K == 1) asm volatile("atom.global.cas.b32 %0,[%1],%2,%3;" : "=r"(o) : "l"(p + (v >> 31)), "r"(0), "r"(1) : "memory");
            if (K == 2) { float f; asm volatile("atom.global.add.f32 %0,[%1],%2;" : "=f"(f) : "l"(p + (v >> 31)), "f"(1.f) : "memory"); o = __float_as_uint(f); }
            if (K == 3) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(o) : "l"(p + (v >> 31)) : "memory");
            if (K == 4) asm volatile("atom.global.exch.b32 %0,[%1],%2;" : "=r"(o) : "l"(p + (v >> 31)), "r"(1) : "memory");
            v = o; }
    if (v == 12345) out[0] = v;
}
G chain_add(uint32_t* o, uint32_t l, uint32_t a, uint32_t s) { chain<0>(o, l, a, s); }
G chain_cas(uint32_t* o, uint32_t l, uint32_t a, uint32_t s) { chain<1>(o, l, a, s); }
G chain_float(uint32_t* o, uint32_t l, uint32_t a, uint32_t s) { chain<2>(o, l, a, s); }
G chain_load(uint32_t* o, uint32_t l, uint32_t a, uint32_t s) { chain<3>(o, l, a, s); }
G chain_exch(uint32_t* o, uint32_t l, uint32_t a, uint32_t s) { chain<4>(o, l, a, s); }
