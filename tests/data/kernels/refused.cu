// Code for sm_90 that is refused, the memory of several GPUs; that of older architectures need not be, or cannot be made.

extern "C" __global__ void either(int* out) {
#if __CUDA_ARCH__ >= 900
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(out[32]) : "l"(out) : "memory");
#endif
    out[threadIdx.x] = 1;
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
extern "C" __global__ void only(int* out) {
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(out[32]) : "l"(out) : "memory");
    out[threadIdx.x] = 1;
}
#endif
