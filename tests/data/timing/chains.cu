// Latency by footprint and page, and of DRAM beside streams of other multiprocessors.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
__device__ __forceinline__ uint32_t cg(const uint32_t* p) { uint32_t v; asm volatile("ld.volatile.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
G fill(uint32_t* data, const uint32_t* order, uint32_t n) { uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; if (k < n) data[(size_t)order[k] * 8] = order[k + 1 < n ? k + 1 : 0]; }
__device__ __forceinline__ void follow(const uint32_t* data, uint32_t at, uint32_t links, uint32_t* took, uint32_t passes) { __shared__ uint32_t s[4096];
  for (uint32_t p = 0; p < passes; ++p) for (uint32_t k = 0; k < links; ++k) { at = cg(data + (size_t)at * 8); s[k & 4095] = now(); }  // behind each load's issue, which waited for the last one's result
  s[(links - 1) & 4095] += at >> 31;
  if (threadIdx.x == 0) for (uint32_t k = 0; k < links && k < 4096; ++k) took[k] = s[k]; }
G chase(const uint32_t* data, uint32_t at, uint32_t links, uint32_t who, uint32_t* took, uint32_t passes) { if (smid() != who) return; follow(data, at, links, took, passes); }
// One warp of one multiprocessor follows a chain while `others` of them stream (a line of each warp, `gap` cycles apart).
G beside(const uint32_t* data, uint32_t at, uint32_t links, uint32_t* took, float4* far, uint32_t others, uint32_t what, uint32_t cycles, uint32_t gap, uint32_t* count, uint32_t units) { uint32_t sm = smid();
  if (sm == 131) { if (threadIdx.x < 32) { uint32_t t = now(); while (now() - t < 4000); follow(data, at, links, took, 1); } return; }
  if (sm >= others) return; uint32_t t = now(), n = 0, warp = threadIdx.x / 32, lane = threadIdx.x & 31, at2 = (sm * 32 + warp) * 2654435u % units; float s = 0;
  while (now() - t < cycles) { uint32_t u = now(); float4* p = far + (size_t)at2 * 32 + lane; if (what & 1) { float4 v = *p; s += v.x; } if (what & 2) { float4* q = what & 1 ? p + (size_t)units * 32 : p; *q = {1, 2, 3, s}; } at2 += others * 32; if (at2 >= units) at2 -= units; ++n; while (now() - u < gap); }
  if (lane == 0) atomicAdd(count, n); if (s == 1e30f) took[1] = 1; }
G reads(float* out, const float4* in, uint32_t n) { float v = 0; for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float4 q = in[i]; v += q.x + q.y + q.z + q.w; } if (v == 1e30f) *out = v; }
