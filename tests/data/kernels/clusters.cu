// Code for sm_90 that waits for a cluster of blocks; that of older architectures need not, or cannot be made.

extern "C" __global__ void either(int* out) {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
    out[threadIdx.x] = 1;
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
extern "C" __global__ void only(int* out) {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    out[threadIdx.x] = 1;
}
#endif
