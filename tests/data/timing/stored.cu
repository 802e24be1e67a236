// Loads of what the same multiprocessor has stored, or added to, before.
#include <cstdint>
#define G extern "C" __global__ void
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t ld(const uint32_t* p) { uint32_t v; asm volatile("ld.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ __forceinline__ void st(uint32_t* p, uint32_t v) { asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(v) : "memory"); }
// One block of two warps; the first one stores to `lines` lines: 1 all words, 2 a word of each sector, 3 half of each sector,
// 4 both halves by two instructions, 5 one addition each word, 6 float4s, 7 all but the last word of a sector, 8 atomics with
// an answer, 9 bytes of one word a sector. before: they are loaded first. Then warp `who` loads word `word` of each, one
// after the other, from the last on if `back`. took: cycles of a load, by line.
G behind(uint32_t* took, uint32_t* data, uint32_t lines, uint32_t how, uint32_t before, uint32_t word, uint32_t who, uint32_t back, uint32_t wait) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32, z = 0;
    if (before && warp == (before == 2)) for (uint32_t k = 0; k < lines; ++k) z += ld(data + k * 32 + lane);
    if (z == 12345) took[0] = z;
    __syncthreads();
    if (warp == 0) for (uint32_t k = 0; k < lines; ++k) {
        uint32_t* p = data + k * 32 + lane;
        if (how == 1) st(p, 0);
        if (how == 2 && lane % 8 == 0) st(p, 0);
        if (how == 3 && lane % 8 < 4) st(p, 0);
        if (how == 4) { if (lane % 8 < 4) st(p, 0); __syncwarp(); if (lane % 8 >= 4) st(p, 0); }
        if (how == 5) atomicAdd(p, 0);
        if (how == 6 && lane < 8) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" :: "l"(data + k * 32 + lane * 4), "r"(0) : "memory");
        if (how == 7 && lane % 8 != 7) st(p, 0);
        if (how == 8) z += atomicAdd(p, 0);
        if (how == 9 && lane % 8 == 0) *(volatile uint8_t*)p = 0;
    }
    uint32_t t = now();
    if (wait) while (now() - t < wait);
    __syncthreads();
    if (warp != who || lane) return;
    for (uint32_t k = 0; k < lines; ++k) {
        uint32_t n = back ? lines - 1 - k : k;
        t = now();
        z = ld(data + n * 32 + word + z);
        z &= 1u << 31; z >>= 31;
        took[k] = now() - t + z;
    }
}
// Loads of one array by all blocks in its own rows, or of all of it side by side: n float4s each thread, U at a time.
template <int U> __device__ __forceinline__ void in_rows(float* out, const float4* in, uint32_t n, uint32_t side) {
    uint32_t at = side ? blockIdx.x * blockDim.x + threadIdx.x : blockIdx.x * blockDim.x * n + threadIdx.x, step = side ? gridDim.x * blockDim.x : blockDim.x;
    float v = 0;
    #pragma unroll 1
    for (uint32_t k = 0; k < n; k += U) {
        float4 q[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) { q[u] = in[at]; at += step; }
        #pragma unroll
        for (int u = 0; u < U; ++u) v += q[u].x + q[u].y + q[u].z + q[u].w;
        at += __float_as_uint(v) >> 31;
    }
    if (v == 1e30f) *out = v;
}
G rows1(float* out, const float4* in, uint32_t n, uint32_t side) { in_rows<1>(out, in, n, side); }
G rows4(float* out, const float4* in, uint32_t n, uint32_t side) { in_rows<4>(out, in, n, side); }
// As often as `rounds`: each warp loads a line, all wait at a barrier; or without.
G waits(float* out, const float* in, uint32_t rounds, uint32_t barrier) {
    float v = 0; uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    #pragma unroll 1
    for (uint32_t k = 0; k < rounds; ++k) { v += in[at]; at += step + (__float_as_uint(v) >> 31); if (barrier) __syncthreads(); }
    if (v == 1e30f) *out = v;
}

// Blocks of two kinds on each multiprocessor: the first `count` times 132 do `a`, n times; others b, m times. took: cycles of each.
__device__ __forceinline__ void act(uint32_t what, uint32_t n, uint32_t at) {
    uint32_t v[8], t = threadIdx.x;
    #pragma unroll 1
    for (uint32_t k = 0; k < n; ++k) {
        if (what == 0) {
            #pragma unroll
            for (int u = 0; u < 8; ++u) asm volatile("ld.shared.u32 %0,[%1];" : "=r"(v[u]) : "r"(at + (u & 1) * 4096) : "memory");
        } else if (what == 1) {
            #pragma unroll
            for (int u = 0; u < 8; ++u) asm volatile("st.shared.u32 [%0],%1;" :: "r"(at + (u & 1) * 4096), "r"(t) : "memory");
        } else if (what == 2) {
            #pragma unroll
            for (int u = 0; u < 4; ++u) __syncthreads();
        } else if (what == 3) {
            #pragma unroll
            for (int u = 0; u < 4; ++u) { asm volatile("st.shared.u32 [%0],%1;" :: "r"(at + (u & 1) * 4096), "r"(t) : "memory"); __syncthreads(); }
        } else {
            #pragma unroll
            for (int u = 0; u < 4; ++u) { asm volatile("ld.shared.u32 %0,[%1];" : "=r"(v[u]) : "r"(at + (u & 1) * 4096) : "memory"); __syncthreads(); }
        }
    }
}
G two_kinds(uint32_t* took, uint32_t a, uint32_t n, uint32_t b, uint32_t m, uint32_t count) {
    __shared__ uint32_t s[2048];
    s[threadIdx.x] = 0;
    __syncthreads();
    bool first = blockIdx.x < count * 132;
    uint32_t at = (uint32_t)__cvta_generic_to_shared(s + threadIdx.x), t = now();
    act(first ? a : b, first ? n : m, at);
    t = now() - t;
    if (threadIdx.x == 0) took[blockIdx.x] = t;
}
// A word of each lane, `words` apart, of all blocks side by side; with `bytes`, each lane a byte of them in a row.
G strided(float* out, const float* in, uint32_t rounds, uint32_t words) {
    uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x; float v = 0;
    #pragma unroll 4
    for (uint32_t k = 0; k < rounds; ++k) v += in[(size_t)(id + k * all) * words];
    if (v == 1e30f) *out = v;
}
G strided_stores(float* out, const float* in, uint32_t rounds, uint32_t words) {
    uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    #pragma unroll 4
    for (uint32_t k = 0; k < rounds; ++k) out[(size_t)(id + k * all) * words] = k;
}
