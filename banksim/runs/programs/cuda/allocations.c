/* What programs allocate and free, apart from pools and virtual memory. */
#include "memory.h"

CUresult cuMemAlloc(CUdeviceptr *start, size_t size) {
    BEGIN();
    return start ? banksim_allocate(size, DEVICE, 0, start) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocPitch(CUdeviceptr *start, size_t *pitch, size_t width, size_t height, unsigned element) {
    BEGIN();
    if (!start || !pitch || !width || !height) return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + 511) / 512 * 512;
    return banksim_allocate(*pitch * height, DEVICE, 0, start);
}

CUresult cuMemAllocManaged(CUdeviceptr *start, size_t size, unsigned flags) {
    BEGIN();
    return start ? banksim_allocate(size, MANAGED, flags, start) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **start, size_t size, unsigned flags) {
    BEGIN();
    return start ? banksim_allocate(size, PINNED, flags, (CUdeviceptr *)start) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocHost(void **start, size_t size) { return cuMemHostAlloc(start, size, 0); }

CUresult cuMemFree(CUdeviceptr start) {
    BEGIN();
    CUresult failed = banksim_wait();
    return failed ? failed : banksim_release(start, false);
}

CUresult cuMemFreeHost(void *start) {
    BEGIN();
    CUresult failed = banksim_wait();
    return failed ? failed : banksim_release((CUdeviceptr)start, true);
}
