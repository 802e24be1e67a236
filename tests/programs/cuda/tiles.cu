// A program of three kernels with bank conflicts of several kinds, and divergence, for `banksim validate`. Prints a sum.
// tests/data/validation has what Nsight Compute counted of it on an H100, recorded by
//   ncu --clock-control none --cache-control none --section SourceCounters --metrics COUNTERS -o tiles ./tiles
//   ncu --import tiles.ncu-rep --csv --print-kernel-base mangled --page source (and --page raw)
// of which only the columns were kept that are read; COUNTERS are METRICS of banksim/runs/validation/profiler.py.
#include <cstdio>

__global__ void transpose(float *out, const float *in, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
__global__ void sum(float *out, const float *in, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x;
    float own = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) own += in[i];
    part[t] = own;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (t % (2 * step) == 0) part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}
__global__ void histogram(unsigned *bins, const float *in, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(own + (int)in[i] % 64, 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}

int main() {
    const int n = 128;
    static float values[n * n];
    float *in, *turned, *total, result;
    unsigned *bins, counts[64];
    for (int i = 0; i < n * n; i++) values[i] = i * 7 % 101;
    cudaMalloc(&in, sizeof values);
    cudaMalloc(&turned, sizeof values);
    cudaMalloc(&total, sizeof result);
    cudaMalloc(&bins, sizeof counts);
    cudaMemset(total, 0, sizeof result);
    cudaMemset(bins, 0, sizeof counts);
    cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
    transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(turned, in, n);
    for (int threads = 64; threads <= 256; threads *= 2) sum<<<4, threads, threads * sizeof(float)>>>(total, turned, n * n - 5);
    histogram<<<3, 128>>>(bins, turned, n * n);
    cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost);
    cudaMemcpy(counts, bins, sizeof counts, cudaMemcpyDeviceToHost);
    printf("%.0f %u %u: %s\n", result, counts[0], counts[63], cudaGetErrorString(cudaGetLastError()));
}
