// Micro-kernels: dispatch of blocks, loads and additions at random places, slices of the L2, what stands in the L2.
#include <cstdint>
#define G extern "C" __global__ void
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t timer() { uint32_t s; asm volatile("mov.u32 %0,%%globaltimer_lo;" : "=r"(s) :: "memory"); return s; }
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
G stamps(uint32_t* out, uint32_t wait) { uint32_t g = timer(), t = now(); while (now() - t < wait); if (threadIdx.x == 0) { uint32_t* q = out + 4 * blockIdx.x; q[0] = smid(); q[1] = t; q[2] = now(); q[3] = g; } }
__device__ __forceinline__ uint32_t mix(uint32_t x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
// Each group of `lanes` lanes loads neighbouring words at a random place among `places`, which are `words` apart.
template <int C> __device__ __forceinline__ uint32_t get(const uint32_t* p) { uint32_t v; if (C) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(v) : "l"(p)); else asm volatile("ld.global.u32 %0,[%1];" : "=r"(v) : "l"(p)); return v; }
template <int C> __device__ __forceinline__ void loads(uint32_t* out, const uint32_t* in, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) {
  uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, s = 0, group = id / lanes, in_group = id % lanes, x = mix(group + 1);
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) { uint32_t v[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) { x = x * 1664525u + 1013904223u; v[u] = get<C>(in + (size_t)((x >> 8) & (places - 1)) * words + in_group); }
    s += v[0] + v[1] + v[2] + v[3]; x += s >> 31; }
  if (s == 12345) out[id] = s; }
G random_loads(uint32_t* out, const uint32_t* in, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { loads<0>(out, in, rounds, lanes, places, words); }
G random_cg(uint32_t* out, const uint32_t* in, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { loads<1>(out, in, rounds, lanes, places, words); }
G random_adds(uint32_t* out, const uint32_t*, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, group = id / lanes, x = mix(group + 1);
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) { x = x * 1664525u + 1013904223u; atomicAdd(out + (size_t)((x >> 8) & (places - 1)) * words + id % lanes, 1u); } }
G random_floats(float* out, const uint32_t*, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, group = id / lanes, x = mix(group + 1);
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) { x = x * 1664525u + 1013904223u; atomicAdd(out + (size_t)((x >> 8) & (places - 1)) * words + id % lanes, 1.f); } }
G random_atoms(uint32_t* out, const uint32_t* in, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, group = id / lanes, x = mix(group + 1), s = 0;
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) { x = x * 1664525u + 1013904223u; s += atomicAdd(out + (size_t)((x >> 8) & (places - 1)) * words + id % lanes, 1u); } if (s == 12345) out[0] = in[0]; }
G random_stores(uint32_t* out, const uint32_t*, uint32_t rounds, uint32_t lanes, uint32_t places, uint32_t words) { uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, group = id / lanes, x = mix(group + 1);
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) { x = x * 1664525u + 1013904223u; out[(size_t)((x >> 8) & (places - 1)) * words + id % lanes] = k; } }
// Which lines meet in a slice: half of the blocks add to line a, half to b; the cycles from barrier to barrier.
__device__ __forceinline__ void all(uint32_t* gate, uint32_t n) { __syncthreads(); if (threadIdx.x == 0) { __threadfence(); atomicAdd(gate, 1u); while (*(volatile uint32_t*)gate < n * gridDim.x); __threadfence(); } __syncthreads(); }
G pairs(uint32_t* data, uint32_t* gate, const uint2* tests, uint32_t* took, uint32_t n) { uint32_t step = 0;
  for (uint32_t k = 0; k < n; ++k) { uint2 p = tests[k]; uint32_t* q = data + (size_t)(blockIdx.x & 1 ? p.x : p.y) * 32 + (threadIdx.x & 31); all(gate, ++step); uint32_t t = now();
    uint32_t a = atomicAdd(q, 1u), b = atomicAdd(q, 1u); if (a + b == 12345678) took[0] = a; all(gate, ++step); if (blockIdx.x == 0 && threadIdx.x == 0) took[k] = now() - t; } }
// What stands in the L2: a stream over n float4.
G reads(float* out, const float4* in, uint32_t n) { float v = 0; for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float4 q = in[i]; v += q.x + q.y + q.z + q.w; } if (v == 1e30f) *out = v; }
G writes(float4* out, const float4*, uint32_t n) { for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = {1, 2, 3, 4}; }
// Blocks of a given length, between which memory waits: what comes of rounds.
G chained(uint32_t* out, const uint32_t* in, uint32_t links, uint32_t spin) { uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, at = id, s = 0;
  for (uint32_t k = 0; k < links; ++k) { s = in[at + (s >> 31)]; at = (at + 65536) & 0xfffff; at += s >> 31; }
  uint32_t t = now(); while (now() - t < spin); out[id] = s; }
G empty(uint32_t* out, uint32_t a) { if (a == 12345) out[0] = 1; }
