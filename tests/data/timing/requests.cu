#include <cstdint>
// A kernel in whose two loops the instructions were written over: h200_requests.npz has what ran, and its clocks.
extern __shared__ __align__(128) unsigned char sm[];
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
extern "C" __global__ void __launch_bounds__(1024) k(uint32_t *time, float *out, uint32_t rounds, uint32_t active, uint32_t other) {
  uint32_t warp = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) ((uint32_t*)sm)[i] = 0;
  float v[40];
  #pragma unroll
  for (int i = 0; i < 40; i++) v[i] = out[i];
  uint32_t t0 = 0, t1 = 0;
  #pragma unroll 1
  for (int p = 0; p < 2; p++) {
    uint32_t z = __syncthreads_or(v[0] == 77.f);
    if (z == 5) out[0] = 1;
    t0 = now() ;
    if (active >> warp & 1) {
    #pragma unroll 1
    for (uint32_t k = 0; k < rounds; k++) {
      #pragma unroll
      for (int u = 0; u < 256; u++) asm volatile("fma.rn.f32 %0,%1,%2,%0;" : "+f"(v[u % 40]) : "f"(v[(u + 5) % 40]), "f"(v[(u + 11) % 40]));
    } }
    if (other >> warp & 1) {
    #pragma unroll 1
    for (uint32_t k = 0; k < rounds; k++) {
      #pragma unroll
      for (int u = 0; u < 256; u++) asm volatile("fma.rn.f32 %0,%1,%2,%0;" : "+f"(v[u % 40]) : "f"(v[(u + 7) % 40]), "f"(v[(u + 13) % 40]));
    } }
    t1 = now();
    __syncthreads();
  }
  if ((threadIdx.x & 31) == 0) { time[warp * 2] = t0; time[warp * 2 + 1] = t1; }
  #pragma unroll
  for (int i = 0; i < 40; i++) if ((threadIdx.x & 31) == 0) time[64 + warp * 40 + i] = __float_as_uint(v[i]);
}
