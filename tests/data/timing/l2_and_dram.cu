// What the L2 and DRAM give a launch: streams of many sizes, atomics of all SMs on few places.
#include <cstdint>
#define G extern "C" __global__ void
G reads(float* out, const float4* in, int n, int) { float v = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float4 q = in[i]; v += q.x + q.y + q.z + q.w; } if (v == 1e30f) *out = v; }
G writes(float4* out, const float4*, int n, int) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = {1, 2, 3, 4}; }
G copies(float4* out, const float4* in, int n, int) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i]; }
G adds(uint32_t* out, const uint32_t*, int n, int words, int apart) { uint32_t x = blockIdx.x * blockDim.x + threadIdx.x; for (int i = 0; i < n; ++i) { x = x * 1664525u + 1013904223u; atomicAdd(&out[(x >> 10) % (uint32_t)words * apart], 1u); } }
G adds_got(uint32_t* out, const uint32_t*, int n, int words, int apart) { uint32_t x = blockIdx.x * blockDim.x + threadIdx.x; for (int i = 0; i < n; ++i) { x = x * 1664525u + 1013904223u; x += atomicAdd(&out[(x >> 10) % (uint32_t)words * apart], 1u) & 1; } if (x == 12345) out[0] = 7; }
G adds_rows(uint32_t* out, const uint32_t*, int n, int words, int apart) { uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; for (int i = 0; i < n; ++i) { w = w * 1664525u + 1013904223u; atomicAdd(&out[(w >> 10) % (uint32_t)(words / 32 + 1) * 32 + l * apart], 1u); } }
