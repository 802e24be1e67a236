// Stores to parts of sectors, one after the other; streams of a few blocks; and which lines of an array the L2 has.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
__device__ __forceinline__ uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ uint32_t cg(const uint32_t* p) { uint32_t v; asm volatile("ld.volatile.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ __forceinline__ void st(uint32_t* p, uint32_t v) { asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(v) : "memory"); }
__device__ __forceinline__ uint32_t warp() { return (blockIdx.x * blockDim.x + threadIdx.x) / 32; }
// Each lane stores W words of its own, one after the other: `stride` words from lane to lane, `span` from warp to warp,
// `step` from round to round.
template <int W> __device__ __forceinline__ void words(uint32_t* data, uint32_t rounds, uint32_t stride, uint32_t span, uint32_t step, uint32_t mask) {
    uint32_t at = warp() * span, of = (threadIdx.x & 31) * stride;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) {
        uint32_t* p = data + (at & mask) + of;
        #pragma unroll
        for (int k = 0; k < W; ++k) st(p + k, r);
    }
}
#define WORDS(W) G words##W(uint32_t* data, uint32_t rounds, uint32_t stride, uint32_t span, uint32_t step, uint32_t mask) { words<W>(data, rounds, stride, span, step, mask); }
WORDS(1) WORDS(2) WORDS(3) WORDS(4) WORDS(5) WORDS(6) WORDS(8) WORDS(12) WORDS(16) WORDS(32)
// Bytes of a word, one after the other.
G bytes4(uint32_t* data, uint32_t rounds, uint32_t stride, uint32_t span, uint32_t step, uint32_t mask) {
    uint32_t at = warp() * span, of = (threadIdx.x & 31) * stride;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) {
        volatile uint8_t* p = (volatile uint8_t*)(data + (at & mask) + of);
        #pragma unroll
        for (int k = 0; k < 4; ++k) p[k] = r;
    }
}
// Words 0 to 7 of sectors, `groups` of 32 sectors between a word and the next, and `wait` cycles.
G apart(uint32_t* data, uint32_t rounds, uint32_t groups, uint32_t wait, uint32_t span, uint32_t step, uint32_t mask) {
    uint32_t at = warp() * span, of = (threadIdx.x & 31) * 8;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) {
        uint32_t* p = data + (at & mask) + of;
        #pragma unroll 1
        for (uint32_t k = 0; k < 8; ++k) {
            #pragma unroll 1
            for (uint32_t g = 0; g < groups; ++g) st(p + k + g * 256, r);
            if (wait) { uint32_t t = now(); while (now() - t < wait); }
        }
    }
}
// Each of 8 warps of a block stores one word of the same sectors; all wait for each other after each round, if `barrier`.
G shared8(uint32_t* data, uint32_t rounds, uint32_t barrier, uint32_t step, uint32_t mask) {
    uint32_t at = blockIdx.x * 256, of = (threadIdx.x & 31) * 8 + threadIdx.x / 32;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) { st(data + (at & mask) + of, r); if (barrier) __syncthreads(); }
}
// Four words of each lane, and behind each a load of a line from elsewhere.
G between4(uint32_t* data, const uint32_t* far, uint32_t rounds, uint32_t stride, uint32_t span, uint32_t step, uint32_t mask) {
    uint32_t at = warp() * span, of = (threadIdx.x & 31) * stride, z = 0;
    #pragma unroll 1
    for (uint32_t r = 0; r < rounds; ++r, at += step) {
        uint32_t* p = data + (at & mask) + of;
        const uint32_t* q = far + (at & mask) + (threadIdx.x & 31);
        #pragma unroll
        for (int k = 0; k < 4; ++k) { st(p + k, r); uint32_t v; asm volatile("ld.global.ca.u32 %0,[%1];" : "=r"(v) : "l"(q + 32 * k) : "memory"); z += v; }
    }
    if (z == 12345) data[0] = z;
}
// Loops over an array by all threads of a grid.
G adds(float* out, const float* a, const float* b, uint32_t n) { for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] + b[i]; }
G copies(float* out, const float* a, const float* b, uint32_t n) { for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i]; }
G fills(float* out, const float* a, const float* b, uint32_t n) { for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 1; }
G sums(float* out, const float* a, const float* b, uint32_t n) { float v = 0; 
    #pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i]; if (v == 1e30f) *out = v; }
G scales(float* out, const float* a, const float* b, uint32_t n) { uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = out[i] * 2; }
G add1(float* out, const float* a, const float* b, uint32_t n) { uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = a[i] + b[i]; }
G copy1(float* out, const float* a, const float* b, uint32_t n) { uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = a[i]; }
G write1(float* out, const float* a, const float* b, uint32_t n) { uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 0; }
G quiet(float* out, const float* a, const float* b, uint32_t n) { if (n == 12345) *out = 0; }
// When each of `count` loads past the L1 issues, whose address waits for the one before it: of words `step` apart.
G probe(uint32_t* took, const uint32_t* data, uint32_t count, uint32_t step) {
    __shared__ uint32_t s[4097];
    uint32_t z = 0;
    if (threadIdx.x == 0) for (uint32_t k = 0; k < count; ++k) { z = cg(data + (size_t)k * step + z) >> 31; s[k] = now(); }
    if (threadIdx.x == 0) { z = cg(data + z) >> 31; s[count] = now() + z; }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < count; k += blockDim.x) took[k] = s[k + 1] - s[k];
}
