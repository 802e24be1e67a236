// What blocks take that follow one another, of which eight are resident: barriers, sums, shuffles, issue, one load, one store.
#include <cstdint>
#define G extern "C" __global__ void
__device__ __forceinline__ void halves(float* s, uint32_t n) { uint32_t t = threadIdx.x; for (uint32_t k = 0; k < n; ++k) { if (t < 128u) s[t] += s[t + 128]; __syncthreads(); } }
G bars(float* out, const float* in, uint32_t n) { __shared__ float s[1024]; s[threadIdx.x] = threadIdx.x; __syncthreads(); for (uint32_t k = 0; k < n; ++k) { float v = s[threadIdx.x ^ 1]; __syncthreads(); s[threadIdx.x] = v; __syncthreads(); } if (s[5] == 12345.f) out[0] = 1; }
G bars_only(float* out, const float* in, uint32_t n) { for (uint32_t k = 0; k < n; ++k) __syncthreads(); if (n == 12345) out[0] = 1; }
G sums(float* out, const float* in, uint32_t n) { __shared__ float s[1024]; s[threadIdx.x] = threadIdx.x; __syncthreads(); halves(s, n); if (s[5] == 12345.f) out[0] = 1; }
G sums_loaded(float* out, const float* in, uint32_t n) { __shared__ float s[1024]; s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x]; __syncthreads(); halves(s, n); if (s[5] == 12345.f) out[0] = 1; }
G sums_both(float* out, const float* in, uint32_t n) { __shared__ float s[1024]; s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x]; __syncthreads(); halves(s, n); if (threadIdx.x == 0) out[blockIdx.x] = s[0]; }
G shuffles(float* out, const float* in, uint32_t n) { float v = threadIdx.x; for (uint32_t k = 0; k < n; ++k) v += __shfl_xor_sync(~0u, v, 1); if (v == 12345.f) out[0] = 1; }
G chain(float* out, const float* in, uint32_t n) { float v = threadIdx.x; for (uint32_t k = 0; k < n; ++k) { v = v * 1.5f + 1; v = v * 1.5f + 1; v = v * 1.5f + 1; v = v * 1.5f + 1; } if (v == 12345.f) out[0] = 1; }
G wide(float* out, const float* in, uint32_t n) { float v = threadIdx.x, w = 1, x = 2, y = 3; for (uint32_t k = 0; k < n; ++k) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) { v = v * 1.5f + 1; w = w * 1.5f + 1; x = x * 1.5f + 1; y = y * 1.5f + 1; } } if (v + w + x + y == 12345.f) out[0] = 1; }
G integers(uint32_t* out, const float* in, uint32_t n) { uint32_t v = threadIdx.x, w = 1, x = 2, y = 3; for (uint32_t k = 0; k < n; ++k) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) { v = v * 5 + 1; w ^= v >> 3; x += w & v; y = y * 3 + x; } } if (v + w + x + y == 12345) out[0] = 1; }
G loads(float* out, const float* in, uint32_t n) { float v = 0; for (uint32_t k = 0; k < n; ++k) v += in[(blockIdx.x * n + k) * blockDim.x + threadIdx.x]; if (v == 12345.f) out[0] = 1; }
G stores(float* out, const float* in, uint32_t n) { for (uint32_t k = 0; k < n; ++k) out[(blockIdx.x * n + k) * blockDim.x + threadIdx.x] = k; }
G copies(float* out, const float* in, uint32_t n) { for (uint32_t k = 0; k < n; ++k) { uint32_t i = (blockIdx.x * n + k) * blockDim.x + threadIdx.x; out[i] = in[i]; } }
G copies4(float4* out, const float4* in, uint32_t n) { for (uint32_t k = 0; k < n; ++k) { uint32_t i = (blockIdx.x * n + k) * blockDim.x + threadIdx.x; out[i] = in[i]; } }
G roots(float* out, const float* in, uint32_t n) { float v = threadIdx.x, w = v + 1; for (uint32_t k = 0; k < n; ++k) { v = rsqrtf(v * v + w * w + .01f); w = v * w + w * .5f; } if (v + w == 12345.f) out[0] = 1; }
G shared_rows(float* out, const float* in, uint32_t n) { __shared__ float4 s[256]; s[threadIdx.x & 255] = {1, 2, 3, 4}; __syncthreads(); float v = 0, w = threadIdx.x; for (uint32_t k = 0; k < n; ++k) { float4 q = s[k & 255]; float x = q.x - w, y = q.y - w, z = q.z - w; v += x * x + y * y + z * z; } if (v == 12345.f) out[0] = 1; }
