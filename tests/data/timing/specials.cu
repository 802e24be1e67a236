// Special registers of threads, constants, shuffles and comparisons beside loads that the L1 has, and beside stores; and kernels
// that do nothing, or ask for the index of their threads.
#include <cstdint>
#define G extern "C" __global__ void
#define D __device__ __forceinline__
D uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
D uint32_t far(const uint32_t* p) { uint32_t v; asm volatile("ld.global.ca.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__constant__ uint32_t some[1024];
template <int I> D uint32_t special() { uint32_t r = 0;
#define R(n, name) if (I == n) asm volatile("mov.u32 %0,%%" name ";" : "=r"(r) :: "memory");
  R(0, "lanemask_eq") R(1, "lanemask_lt") R(2, "lanemask_le") R(3, "lanemask_gt") R(4, "lanemask_ge") R(5, "laneid") R(6, "tid.y") R(7, "tid.z") return r; }
template <int N, int I = 0> D uint32_t specials() { if constexpr (I < N) return special<I>() + specials<N, I + 1>(); return 0; }
// In each round L requests of a kind by each warp (0: loads of a line that the L1 has; 1: of rows of 8 words in four lines; 2: stores
// of a line), and N special registers.
template <int KIND, int L, int N> D void mixed(uint32_t* clocks, uint32_t* data, uint32_t rounds, uint32_t step) {
  uint32_t s = 0, id = threadIdx.x, word = KIND == 1 ? (id & 7) + (id >> 3 & 3) * 256 + (id >> 5) * 8 : id;
  uint32_t* p = data + word;
  if (KIND < 2) s += far(p);
  p += s & step;
  __syncthreads();
  uint32_t t = now();
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; k++) {
    uint32_t v[L + 1];
    #pragma unroll
    for (int i = 0; i < L; i++) { if (KIND < 2) v[i] = far(p); else asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(s) : "memory"); p += step; }
    s += specials<N>();
    #pragma unroll
    for (int i = 0; i < L; i++) if (KIND < 2) s += v[i];
  }
  uint32_t u = now();
  if ((id & 31) == 0) { clocks[id >> 5 << 1] = t; clocks[(id >> 5 << 1) + 1] = u; }
  if (s == 12345) data[0] = s;
}
#define M(K, L, N) G mix_##K##_##L##_##N(uint32_t* c, uint32_t* d, uint32_t r, uint32_t z) { mixed<K, L, N>(c, d, r, z); }
M(0, 8, 0) M(0, 8, 4) M(0, 8, 8) M(1, 8, 0) M(1, 8, 4) M(1, 8, 8) M(2, 8, 0) M(2, 8, 4) M(2, 8, 8)
// The same with constants by index, and with registers of blocks.
template <int WHAT> D void others(uint32_t* clocks, uint32_t* data, uint32_t rounds, uint32_t step) {
  uint32_t s = 0, id = threadIdx.x, at = 0; uint32_t* p = data + id; s += far(p); p += s & step; at += s & step;
  __syncthreads();
  uint32_t t = now();
  #pragma unroll 1
  for (uint32_t k = 0; k < rounds; k++) {
    uint32_t v[8], r = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) { v[i] = far(p); p += step; }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
      uint32_t x;
      if (WHAT == 0) { asm volatile("ld.const.u32 %0,[%1];" : "=r"(x) : "l"((uint64_t)__cvta_generic_to_constant(some) + at + 4 * i) : "memory"); at += step; }
      else if (WHAT == 1) asm volatile("shfl.sync.bfly.b32 %0,%1,1,31,-1;" : "=r"(x) : "r"(s + i) : "memory");
      else asm volatile("match.any.sync.b32 %0,%1,-1;" : "=r"(x) : "r"(at + i * step) : "memory");
      r += x;
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) s += v[i];
    s += r & step;
  }
  uint32_t u = now();
  if ((id & 31) == 0) { clocks[id >> 5 << 1] = t; clocks[(id >> 5 << 1) + 1] = u; }
  if (s == 12345) data[0] = s;
}
G beside_constants(uint32_t* c, uint32_t* d, uint32_t r, uint32_t z) { others<0>(c, d, r, z); }
G beside_shuffles(uint32_t* c, uint32_t* d, uint32_t r, uint32_t z) { others<1>(c, d, r, z); }
G beside_matches(uint32_t* c, uint32_t* d, uint32_t r, uint32_t z) { others<2>(c, d, r, z); }
// Begins of blocks.
G nothing(uint32_t*, uint32_t) {}
G index1(uint32_t* out, uint32_t n) { uint32_t x = blockIdx.x * blockDim.x + threadIdx.x; if (x == n) out[x] = 1; }
G index2(uint32_t* out, uint32_t n) { uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x == n && y == n) out[x + y] = 1; }
G index3(uint32_t* out, uint32_t n) { uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z; if (x == n && y == n && z == n) out[x + y + z] = 1; }
