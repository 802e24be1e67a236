#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include "include/own.cuh"

// Each kernel does at its line marked HERE, by a function of the toolkit's or of a header's, what faults or is counted.

__device__ int twice(int* where) {
    return 2 * atomicAdd(where, 1);  // HERE of atomic
}

extern "C" __global__ void atomic(int* out) {
    __shared__ int s[32];
    s[threadIdx.x] = 0;
    out[threadIdx.x] = twice(&s[threadIdx.x * 1000]);
}

extern "C" __global__ void copied(int* out) {
    __shared__ int s[32];
    __pipeline_memcpy_async(&s[threadIdx.x * 1000], &out[threadIdx.x], 4);  // HERE of copied
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void matrix(int* out) {
    __shared__ int s[512];
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 20, r;
    s[threadIdx.x] = 1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(a));  // HERE of matrix
    out[threadIdx.x] = r;
}

extern "C" __global__ void waits(int* out) {
    if (threadIdx.x < 16) {
        __syncthreads();
        out[0] = 1;
    } else {
        __syncwarp();  // HERE of waits
        out[1] = 1;
    }
}

__device__ __noinline__ int deep(int n, volatile int* p) {
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = p[i & 1] + n;
    if (n == 0) return a[n & 63];
    int r = deep(n - 1, p);
    for (int i = 0; i < 64; i++) r += a[(i * r) & 63];
    return r;
}

extern "C" __global__ void nested(int* out) { out[threadIdx.x] = deep(500, out); }

extern "C" __global__ void headers(int* out) {
    __shared__ int s[1024];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = own(s, threadIdx.x);
}

__device__ __noinline__ int for_ever(volatile int* a) {
    volatile int buffer[64];
    buffer[a[0] & 63] = 1;
    if (a[0] == 123) return 1;
    return for_ever(a) + buffer[3];
}

extern "C" __global__ void nested_for_ever(int* out) { out[1] = for_ever(out); }
