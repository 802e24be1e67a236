/* Streams, events and captured graphs of the runtime API. */
#include "runtime.h"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *start, size_t size, unsigned flags) {
    DRIVER(cuStreamAttachMemAsync(stream, (CUdeviceptr)start, size, flags));
}

/* ---- events */
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }

/* ---- graphs */
