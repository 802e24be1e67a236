// Streams by loops over arrays, by blocks of so many waves.
#include <cstdio>
#include <cuda_runtime.h>
template <int> __global__ void reads(const float4 *a, float4 *o, int n) { float v = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float4 q = a[i]; v += q.x + q.y + q.z + q.w; } if (v == 1e30f) o[0].x = v; }
template <int> __global__ void writes(const float4 *a, float4 *o, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = make_float4(1, 2, 3, 4); }
template <int> __global__ void copies(const float4 *a, float4 *o, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = a[i]; }
#define RUN(L, k, blocks, mb) for (int r = 0; r < 3; r++) k<L><<<blocks, 256>>>(a, o, mb << 16); cudaDeviceSynchronize();
#define ALL(L, blocks, mb) RUN(L, reads, blocks, mb) RUN(L, writes, blocks, mb) RUN(L, copies, blocks, mb)
int main() {
    float4 *a, *o; cudaMalloc(&a, 128 << 20); cudaMalloc(&o, 128 << 20); cudaMemset(a, 0, 128 << 20); cudaMemset(o, 0, 128 << 20);
    ALL(641, 1056, 64) ALL(642, 2112, 64) ALL(643, 3168, 64) ALL(644, 4224, 64) ALL(646, 6336, 64) ALL(648, 8448, 64) ALL(649, 16384, 64)
    ALL(1281, 1056, 128) ALL(1282, 2112, 128) ALL(1283, 3168, 128) ALL(1284, 4224, 128) ALL(1286, 6336, 128) ALL(1288, 8448, 128) ALL(1289, 32768, 128)
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
