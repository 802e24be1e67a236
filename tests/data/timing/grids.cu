// Micro-kernels: banks of the L1's tags and words, loads beside stores, blocks that end apart, slices of the L2.
#include <cstdint>
#define G extern "C" __global__ void
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t smid() { uint32_t s; asm volatile("mov.u32 %0,%%smid;" : "=r"(s)); return s; }
// Loads at words that a table gives for each lane, again and again: the L1 has them.
template <class T> __device__ __forceinline__ uint32_t get(const uint32_t* p);
template <> __device__ __forceinline__ uint32_t get<uint32_t>(const uint32_t* p) { uint32_t v; asm volatile("ld.global.ca.u32 %0,[%1];" : "=r"(v) : "l"(p)); return v; }
template <> __device__ __forceinline__ uint32_t get<uint2>(const uint32_t* p) { uint32_t v, w; asm volatile("ld.global.ca.v2.u32 {%0,%1},[%2];" : "=r"(v), "=r"(w) : "l"(p)); return v + w; }
template <> __device__ __forceinline__ uint32_t get<uint4>(const uint32_t* p) { uint32_t v, w, x, y; asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(p)); return v + w + x + y; }
template <class T> __device__ __forceinline__ void hits(uint32_t* took, const uint32_t* data, const uint32_t* table, uint32_t rounds) { const uint32_t* p = data + table[threadIdx.x & 31]; uint32_t s = get<T>(p); __syncthreads(); s += get<T>(p); __syncthreads(); uint32_t t = now();
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) {
    #pragma unroll
    for (int u = 0; u < 8; ++u) s += get<T>(p); }
  if (s == 12345) took[4] = s; __syncthreads(); t = now() - t; if (threadIdx.x == 0) took[0] = t; }
G hits1(uint32_t* took, const uint32_t* data, const uint32_t* table, uint32_t rounds) { hits<uint32_t>(took, data, table, rounds); }
G hits2(uint32_t* took, const uint32_t* data, const uint32_t* table, uint32_t rounds) { hits<uint2>(took, data, table, rounds); }
G hits4(uint32_t* took, const uint32_t* data, const uint32_t* table, uint32_t rounds) { hits<uint4>(took, data, table, rounds); }
G stores1(uint32_t* took, uint32_t* data, const uint32_t* table, uint32_t rounds) { uint32_t* p = data + table[threadIdx.x & 31]; __syncthreads(); uint32_t t = now();
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; ++k) {
    #pragma unroll
    for (int u = 0; u < 8; ++u) asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(k) : "memory"); }
  __syncthreads(); t = now() - t; if (threadIdx.x == 0) took[0] = t; }
// n float4 of each array, r of them read and w written.
template <int R, int W> __device__ __forceinline__ void streams(float4* a, uint32_t n) { for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float4 s = {1, 2, 3, 4};
    #pragma unroll
    for (int k = 0; k < R; ++k) { float4 q = a[k * n + i]; s.x += q.x; s.y += q.y; s.z += q.z; s.w += q.w; }
    #pragma unroll
    for (int k = 0; k < W; ++k) a[(R + k) * n + i] = s; if (W == 0 && s.x == 1e30f) a[0] = s; } }
#define S(r, w) G stream_##r##w(float4* a, uint32_t n) { streams<r, w>(a, n); }
S(1, 0) S(0, 1) S(1, 1) S(2, 1) S(3, 1) S(1, 2) S(1, 3) S(4, 1)
#define T(R, W) G blocks_##R##W(float4* a, uint32_t n) { uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; float4 s = {1, 2, 3, 4}; for (int k = 0; k < R; ++k) { float4 q = a[k * n + i]; s.x += q.x; s.y += q.y; s.z += q.z; s.w += q.w; } for (int k = 0; k < W; ++k) a[(R + k) * n + i] = s; if (W == 0 && s.x == 1e30f) a[0] = s; }
T(1, 0) T(0, 1) T(1, 1) T(2, 1)
// One warp of a block waits for so many cycles, longer by `more` for each 132 blocks; the others at the barrier.
G still(uint32_t* out, uint32_t wait, uint32_t more) { uint32_t t = now(); wait += more * (blockIdx.x / 132); if (threadIdx.x < 32) while (now() - t < wait) __nanosleep(20); __syncthreads(); if (threadIdx.x == 0) { uint32_t* q = out + 4 * blockIdx.x; q[0] = smid(); q[1] = t; q[2] = now(); } }
G quiet(uint32_t* out, uint32_t wait, uint32_t more) { uint32_t t = now(); wait += more * (blockIdx.x / 132); if (threadIdx.x < 32) while (now() - t < wait); __syncthreads(); if (wait == 12345) out[0] = 1; }
__device__ __forceinline__ void all(uint32_t* gate, uint32_t n) { __syncthreads(); if (threadIdx.x == 0) { __threadfence(); atomicAdd(gate, 1u); while (*(volatile uint32_t*)gate < n * gridDim.x); __threadfence(); } __syncthreads(); }
G pairs(uint32_t* data, uint32_t* gate, const uint2* tests, uint32_t* took, uint32_t n) { uint32_t step = 0;
  for (uint32_t k = 0; k < n; ++k) { uint2 p = tests[k]; uint32_t* q = data + (size_t)(blockIdx.x & 1 ? p.x : p.y) * 32 + (threadIdx.x & 31); all(gate, ++step); uint32_t t = now();
    uint32_t a = atomicAdd(q, 1u), b = atomicAdd(q, 1u), c = atomicAdd(q, 1u); if (a + b + c == 12345678) took[0] = a; all(gate, ++step); if (blockIdx.x == 0 && threadIdx.x == 0) took[k] = now() - t; } }
