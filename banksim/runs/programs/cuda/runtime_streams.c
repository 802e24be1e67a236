/* Streams, events and captured graphs of the runtime API. */
#include "runtime.h"

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    DRIVER(cuStreamCreateWithPriority(stream, flags, priority));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { DRIVER(cuStreamDestroy(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { DRIVER(cuStreamSynchronize(stream)); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { DRIVER(cuStreamQuery(stream)); }
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) { DRIVER(cuStreamGetPriority(stream, priority)); }
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) { DRIVER(cuStreamGetFlags(stream, flags)); }
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) { DRIVER(cuStreamGetId(stream, id)); }
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) { DRIVER(cuStreamGetDevice(stream, device)); }
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID which, const cudaStreamAttrValue *value) {
    DRIVER(cuStreamSetAttribute(stream, (CUstreamAttrID)which, (const CUstreamAttrValue *)value));
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID which, cudaStreamAttrValue *value) {
    DRIVER(cuStreamGetAttribute(stream, (CUstreamAttrID)which, (CUstreamAttrValue *)value));
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) { DRIVER(cuStreamCopyAttributes(to, from)); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    DRIVER(cuStreamWaitEvent(stream, event, flags));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned flags) {
    DRIVER(cuStreamAddCallback(stream, (CUstreamCallback)function, data, flags));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    DRIVER(cuLaunchHostFunc(stream, function, data));
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *start, size_t size, unsigned flags) {
    DRIVER(cuStreamAttachMemAsync(stream, (CUdeviceptr)start, size, flags));
}

/* ---- events */
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { DRIVER(cuEventCreate(event, flags)); }
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { DRIVER(cuEventDestroy(event)); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    DRIVER(cuEventRecordWithFlags(event, stream, flags));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }
cudaError_t cudaEventQuery(cudaEvent_t event) { DRIVER(cuEventQuery(event)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { DRIVER(cuEventSynchronize(event)); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    DRIVER(cuEventElapsedTime(milliseconds, start, end));
}

/* ---- graphs */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    DRIVER(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *before,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode) {
    DRIVER(cuStreamBeginCaptureToGraph(stream, graph, before, NULL, count, (CUstreamCaptureMode)mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { DRIVER(cuStreamEndCapture(stream, graph)); }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    DRIVER(cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                     size_t *count) {
    DRIVER(cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, nodes,
                                  (const CUgraphEdgeData **)edges, count));
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *edges, size_t count, unsigned flags) {
    DRIVER(cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags));
}
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) { return cudaSuccess; }
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) { DRIVER(cuGraphCreate(graph, flags)); }
cudaError_t cudaGraphClone(cudaGraph_t *copy, cudaGraph_t graph) { DRIVER(cuGraphClone(copy, graph)); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { DRIVER(cuGraphDestroy(graph)); }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    DRIVER(cuGraphGetNodes(graph, nodes, count));
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags) {
    DRIVER(cuGraphInstantiateWithFlags(made, graph, flags));
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiate(made, graph, flags);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made) { DRIVER(cuGraphExecDestroy(made)); }
cudaError_t cudaGraphUpload(cudaGraphExec_t made, cudaStream_t stream) { DRIVER(cuGraphUpload(made, stream)); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) { DRIVER(cuGraphLaunch(made, stream)); }
