#include <cstdint>
// Kernels in whose loop 256 instructions were written over: h200_sequences.npz has the machine code that ran and its clocks.
extern __shared__ __align__(128) unsigned char sm[];
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
template<int N> __device__ __forceinline__ void body(uint32_t *time, float *out, uint32_t rounds, uint32_t active) {
  uint32_t warp = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) ((uint32_t*)sm)[i] = 0;
  float v[24];
  #pragma unroll
  for (int i = 0; i < 24; i++) v[i] = out[i];
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
      for (int u = 0; u < 256; u++) asm volatile("fma.rn.f32 %0,%1,%2,%0;" : "+f"(v[u % 24]) : "f"(v[(u + 5) % 24]), "f"(v[(u + 11) % 24]));
    } }
    t1 = now();
    __syncthreads();
  }
  float s = N;
  #pragma unroll
  for (int i = 0; i < 24; i++) s += v[i];
  if (s == 12345.f) out[1] = s;
  if ((threadIdx.x & 31) == 0) { time[warp * 2] = t0; time[warp * 2 + 1] = t1; }
}
#define K(n) extern "C" __global__ void __launch_bounds__(1024) k##n(uint32_t *time, float *out, uint32_t rounds, uint32_t active) { body<n>(time, out, rounds, active); }
#define K8(n) K(n##0) K(n##1) K(n##2) K(n##3) K(n##4) K(n##5) K(n##6) K(n##7)
K8(1) K8(2) K8(3) K8(4) K8(5) K8(6) K8(7) K8(8) K8(9) K8(10) K8(11) K8(12)
