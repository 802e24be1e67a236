// What loads and atomics take of lines that no cache has, alone and where other multiprocessors ask for the same lines.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
// Groups of `share` blocks ask for the same lines, the next block of a group `delay` cycles later; a line a warp and round,
// `apart` words from the next. what: 0 loads, 1 loads that pass the L1, 2 atomics
template <int WHAT> __device__ void ask(uint32_t* data, uint32_t* took, uint32_t rounds, uint32_t share, uint32_t apart, uint32_t delay) {
    __shared__ uint32_t s[2048];
    uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32, groups = gridDim.x / share;
    uint32_t group = blockIdx.x / share, begun = now();
    while (now() - begun < 2000 + blockIdx.x % share * delay) {}
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r) {
        __syncthreads();
        uint32_t* p = data + (size_t)((r * groups + group) * warps + warp) * apart + lane;
        uint32_t t = now(), v;
        if (WHAT == 0) asm volatile("ld.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
        if (WHAT == 1) asm volatile("ld.volatile.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
        if (WHAT == 2) asm volatile("atom.global.add.u32 %0,[%1],1;" : "=r"(v) : "l"(p) : "memory");
        if (__reduce_or_sync(~0u, v) == 12345) took[1] = 1;  // waits for all lanes
        uint32_t e = now();
        if (lane == 0) s[r * warps + warp] = e - t;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < rounds * warps; i += blockDim.x) took[blockIdx.x * rounds * warps + i] = s[i];
}
G loads(uint32_t* d, uint32_t* t, uint32_t r, uint32_t s, uint32_t a, uint32_t y) { ask<0>(d, t, r, s, a, y); }
G loads_past(uint32_t* d, uint32_t* t, uint32_t r, uint32_t s, uint32_t a, uint32_t y) { ask<1>(d, t, r, s, a, y); }
G atoms(uint32_t* d, uint32_t* t, uint32_t r, uint32_t s, uint32_t a, uint32_t y) { ask<2>(d, t, r, s, a, y); }
// Launches whose blocks load a line a warp, or store one or a part of it, and end.
G load_once(float* out, const float* in, uint32_t apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; float v = in[(size_t)w * apart + threadIdx.x % 32]; if (v == 1e30f) out[0] = v; }
G store_once(float* out, const float* in, uint32_t apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; out[(size_t)w * apart + threadIdx.x % 32] = 1; }
G store_part(float* out, const float* in, uint32_t apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; if (threadIdx.x % 32 < 4) out[(size_t)w * apart + threadIdx.x % 32] = 1; }
G add_once(float* out, const float* in, uint32_t apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; atomicAdd(out + (size_t)w * apart + threadIdx.x % 32, 1.f); }
G copy_once(float* out, const float* in, uint32_t apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; out[(size_t)w * apart + threadIdx.x % 32] = in[(size_t)w * apart + threadIdx.x % 32]; }
// Blocks that load with halos, tiles whose rows lie n words apart, and loops over all of an array.
G halo(float* out, const float* in, uint32_t n) { __shared__ float s[264]; uint32_t t = threadIdx.x, i = blockIdx.x * 256 + t; s[t + 4] = in[i]; if (t < 4) { s[t] = i >= 4 ? in[i - 4] : 0; s[t + 260] = i + 256 < n ? in[i + 256] : 0; } __syncthreads(); float v = 0; for (int k = 0; k < 9; ++k) v += s[t + k]; out[i] = v; }
G tile(float* out, const float* in, uint32_t n) { __shared__ float s[32][33]; uint32_t x = threadIdx.x % 32, y = threadIdx.x / 32, w = n / 32, bx = blockIdx.x % w, by = blockIdx.x / w; s[y][x] = in[(by * 32 + y) * n + bx * 32 + x]; __syncthreads(); out[(bx * 32 + y) * n + by * 32 + x] = s[x][y]; }
G loop(float* out, const float* in, uint32_t n) { float v = 0; 
    #pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i]; out[blockIdx.x * blockDim.x + threadIdx.x] = v; }
G loop4(float* out, const float* in, uint32_t n) { float v = 0; 
    #pragma unroll 4
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i]; out[blockIdx.x * blockDim.x + threadIdx.x] = v; }
// Steps in which the blocks of a group load the same line for each warp, and wait at a barrier.
G steps(float* out, const float* in, uint32_t rounds, uint32_t share) { uint32_t groups = gridDim.x / share, group = blockIdx.x / share; float v = 0; 
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r) { v += in[(size_t)(r * groups + group) * blockDim.x + threadIdx.x]; if (v == 1e30f) out[0] = v; __syncthreads(); } out[blockIdx.x * blockDim.x + threadIdx.x] = v; }
