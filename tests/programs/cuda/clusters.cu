// Launches of clusters by attributes, as the runtime and the driver take them.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void sizes(int *out) {
    __shared__ int mine;
    unsigned count = __clusterSizeInBlocks();
    if (threadIdx.x == 0) *(int *)__cluster_map_shared_rank(&mine, count - 1 - __clusterRelativeBlockRank()) = blockIdx.x;
    __cluster_barrier_arrive(), __cluster_barrier_wait();
    if (threadIdx.x == 0) out[blockIdx.x] = 100 * count + mine;
}
__global__ void __cluster_dims__(2) pairs(int *out) { out[blockIdx.x] = __clusterSizeInBlocks(); }

static int failed;
static void expect(bool right, const char *what) { if (!right) failed = 1, printf("wrong: %s\n", what); }

int main() {
    int *out, host[16];
    cudaMalloc(&out, sizeof host);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = 16, config.blockDim = 64, config.attrs = &attribute, config.numAttrs = 1;
    expect(cudaLaunchKernelEx(&config, sizes, out) == cudaSuccess, "a launch of clusters");
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 16; i++) expect(host[i] == 400 + i / 4 * 4 + 3 - i % 4, "four blocks");
    config.gridDim = 14;
    expect(cudaLaunchKernelEx(&config, sizes, out) == cudaErrorInvalidClusterSize, "a grid of 14");
    config.gridDim = 16, attribute.val.clusterDim.x = 16;
    expect(cudaLaunchKernelEx(&config, sizes, out) == cudaErrorInvalidClusterSize, "16 blocks");
    cudaFuncSetAttribute(sizes, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    expect(cudaLaunchKernelEx(&config, sizes, out) == cudaSuccess, "16 blocks, allowed");
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    expect(host[5] == 1610, "sixteen blocks");
    pairs<<<4, 1>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    expect(host[3] == 2, "a cluster that the kernel names");
    return failed;
}
