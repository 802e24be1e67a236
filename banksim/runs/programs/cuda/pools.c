/* Memory of pools, in the order of streams: there is one pool, which allocates like cuMemAlloc. While a stream is
   captured, nodes of its graph do it. */
#include "graphs.h"
#include "memory.h"

#include <string.h>

#define POOL ((CUmemoryPool)0x10)
/* Memory that a graph allocates is there as soon as its node is made, and stays: the nodes do nothing. */
CUresult banksim_perform_allocation(void *arguments) { return CUDA_SUCCESS; }
CUresult banksim_perform_release(void *arguments) { return CUDA_SUCCESS; }
CUresult cuMemAllocAsync(CUdeviceptr *start, size_t size, CUstream stream) {
    BEGIN();
    CUstreamCaptureStatus status;
    CUresult failed = cuStreamIsCapturing(stream, &status);
    if (!failed) failed = cuMemAlloc(start, size);
    if (failed || status == CU_STREAM_CAPTURE_STATUS_NONE) return failed;
    banksim_find(*start)->of_graph = true;
    CUDA_MEM_ALLOC_NODE_PARAMS made = {.bytesize = size, .dptr = *start};
    return banksim_submit(stream, banksim_perform_allocation, &made, sizeof made);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *start, size_t size, CUmemoryPool pool, CUstream stream) {
    return cuMemAllocAsync(start, size, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr start, CUstream stream) {
    BEGIN();
    CUstreamCaptureStatus status;
    CUresult failed = cuStreamIsCapturing(stream, &status);
    if (failed) return failed;
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) return banksim_release(start, false);
    return banksim_submit(stream, banksim_perform_release, &start, sizeof start); /* a graph's memory stays */
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) { GIVE(pool, POOL); }
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { GIVE(pool, POOL); }
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) { GIVE(pool, POOL); }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value) {
    memset(value, 0, which >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? sizeof(cuuint64_t) : sizeof(int));
    return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *place) {
    if (!flags || !place || place->type != CU_MEM_LOCATION_TYPE_DEVICE || place->id) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
