// Each warp's begin and end beside what it does.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
#define B uint32_t begin = now();
#define E(used) if (used == 12345.f) out[0] = 1; uint32_t end = now(); if ((threadIdx.x & 31) == 0) { uint32_t* q = out + 4 + 4 * ((blockIdx.x * blockDim.x + threadIdx.x) >> 5); *(uint4*)q = make_uint4(smid(), begin, end, 0); } }
G chain(uint32_t* out, uint32_t n) { B float v = threadIdx.x;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) { v = v * 1.5f + 1; v = v * 1.5f + 1; v = v * 1.5f + 1; v = v * 1.5f + 1; } E(v)
G wide(uint32_t* out, uint32_t n) { B float v = threadIdx.x, w = 1, x = 2, y = 3;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) { v = v * 1.5f + 1; w = w * 1.5f + 1; x = x * 1.5f + 1; y = y * 1.5f + 1; } } E(v + w + x + y)
G integers(uint32_t* out, uint32_t n) { B uint32_t v = threadIdx.x, w = 1, x = 2, y = 3;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) { v = v * 5 + 1; w ^= v >> 3; x += w & v; y = y * 3 + x; } } E(float(v + w + x + y))
G roots(uint32_t* out, uint32_t n) { B float v = threadIdx.x, w = v + 1;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) { v = rsqrtf(v * v + w * w + .01f); w = v * w + w * .5f; } E(v + w)
G shared_rows(uint32_t* out, uint32_t n) { B __shared__ float4 s[256]; s[threadIdx.x & 255] = {1, 2, 3, 4}; __syncthreads(); float v = 0, w = threadIdx.x;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) { float4 q = s[k & 255]; float x = q.x - w, y = q.y - w, z = q.z - w; v += x * x + y * y + z * z; } E(v)
G halves(uint32_t* out, uint32_t n) { B __shared__ float s[2048]; uint32_t t = threadIdx.x, h = blockDim.x / 2; s[t] = t; s[t + 1024] = 1; __syncthreads();
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) { if (t < h) s[t] += s[t + h]; __syncthreads(); } E(s[5])
G bars(uint32_t* out, uint32_t n) { B float v = n;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) __syncthreads(); E(v)
G swaps(uint32_t* out, uint32_t n) { B __shared__ float s[1024]; uint32_t t = threadIdx.x; s[t] = t; volatile float* p = s; __syncthreads();
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) { float v = p[t ^ 1]; __syncwarp(); p[t] = v; __syncwarp(); } E(p[5])
G loads(uint32_t* out, uint32_t n, const float* in) { B float v = 0;
  #pragma unroll 1
  for (uint32_t k = 0; k < n; ++k) v += in[(blockIdx.x * n + k) * blockDim.x + threadIdx.x]; E(v)
G spin(uint32_t* out, uint32_t n) { B while (now() - begin < 50 * n); float v = n; E(v)
