// A whole program: host code, headers of the host, templates that nothing or only the host instantiates.
#include "whole.h"
#include <cuda_runtime.h>
#include <cstdint>
#include <stdio.h>
#include <vector>

namespace ns {
enum Mode { PLAIN, PADDED };
template <int T, class X, Mode M> __global__ void transpose(X* out, const X* in) {
    __shared__ X tile[T][T + M];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * T + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * T + threadIdx.x] = tile[threadIdx.x][threadIdx.y] * SCALE;
}
}  // namespace ns
template <unsigned N> __global__ void fill(float* a) { a[threadIdx.x] = N; }
template <class T, bool B = true> __global__ void flag(T* a) { a[B] = 3; }
namespace {
__global__ void hidden(int* a) { a[0] = 2; }
}
__global__ void same(int* a) { a[0] = 1; }
__global__ void same(float* a) { a[0] = 1; }
__global__ __launch_bounds__(128) void bounded(uint32_t* a) { a[0] = OFFSET; }

static void
report(const char* text)
{
    printf("%s {\n", text);  // a brace in a string, and one in a comment {
}

int main() {
    std::vector<int> host(4);
    int* a;
    if (cudaMalloc(&a, 16) != cudaSuccess) {
        report("no memory");
        return 1;
    }
    hidden<<<1, 1>>>(a);
    fill<7><<<1, 32>>>((float*)a);
    return 0;
}
