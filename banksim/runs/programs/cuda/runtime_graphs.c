/* Graphs made by hand with the runtime API. Where its parameters differ from the driver's, the function that would
   do a node's work is called while this thread records (graphs.h). */
#include "runtime.h"

#include <string.h>

void banksim_record(void);
CUresult banksim_recorded(CUresult failed, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *node);
CUresult banksim_replaced(CUresult failed, CUgraphNode node);
CUgraphNode banksim_node_of(CUgraphExec made, CUgraphNode node);

#define MAKE(CALL)    \
    BEGIN();          \
    banksim_record(); \
    return banksim_done(banksim_recorded((CUresult)(CALL), graph, before, count, node))
#define REPLACE(NODE, CALL) \
    BEGIN();                \
    banksim_record();       \
    return banksim_done(banksim_replaced((CUresult)(CALL), NODE))
#define ADD(KIND, ...)                                                                                               \
    cudaError_t cudaGraphAdd##KIND(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,           \
                                   size_t count, __VA_ARGS__)

/* ---- kernels */
static cudaError_t launched(const struct cudaKernelNodeParams *p) {
    return cudaLaunchKernel(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, NULL);
}
ADD(KernelNode, const struct cudaKernelNodeParams *parameters) { MAKE(launched(parameters)); }
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *parameters) {
    REPLACE(node, launched(parameters));
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t made, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *parameters) {
    REPLACE(banksim_node_of(made, node), launched(parameters));
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p) {
    BEGIN();
    CUDA_KERNEL_NODE_PARAMS found;
    CUresult failed = cuGraphKernelNodeGetParams(node, &found);
    if (failed) return banksim_done(failed);
    *p = (struct cudaKernelNodeParams){.func = (void *)banksim_host_of(found.func),
                                       .gridDim = {found.gridDimX, found.gridDimY, found.gridDimZ},
                                       .blockDim = {found.blockDimX, found.blockDimY, found.blockDimZ},
                                       .sharedMemBytes = found.sharedMemBytes,
                                       .kernelParams = found.kernelParams};
    return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID which,
                                            const cudaLaunchAttributeValue *value) {
    return cudaSuccess; /* hints, like those of a stream */
}

/* ---- copies */
ADD(MemcpyNode, const struct cudaMemcpy3DParms *copy) { MAKE(cudaMemcpy3DAsync(copy, NULL)); }
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *copy) {
    REPLACE(node, cudaMemcpy3DAsync(copy, NULL));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t made, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms *copy) {
    REPLACE(banksim_node_of(made, node), cudaMemcpy3DAsync(copy, NULL));
}
#define ONE_DIMENSION void *to, const void *from, size_t size, enum cudaMemcpyKind kind
ADD(MemcpyNode1D, ONE_DIMENSION) { MAKE(cudaMemcpyAsync(to, from, size, kind, NULL)); }
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, ONE_DIMENSION) {
    REPLACE(node, cudaMemcpyAsync(to, from, size, kind, NULL));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t made, cudaGraphNode_t node, ONE_DIMENSION) {
    REPLACE(banksim_node_of(made, node), cudaMemcpyAsync(to, from, size, kind, NULL));
}
#define TO_SYMBOL const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind
#define FROM_SYMBOL void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind
ADD(MemcpyNodeToSymbol, TO_SYMBOL) { MAKE(cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, NULL)); }
ADD(MemcpyNodeFromSymbol, FROM_SYMBOL) { MAKE(cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, NULL)); }
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t made, cudaGraphNode_t node, TO_SYMBOL) {
    REPLACE(banksim_node_of(made, node), cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, NULL));
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t made, cudaGraphNode_t node, FROM_SYMBOL) {
    REPLACE(banksim_node_of(made, node), cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, NULL));
}

/* ---- fills */
static CUDA_MEMSET_NODE_PARAMS fill_of(const struct cudaMemsetParams *p) {
    return (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
}
ADD(MemsetNode, const struct cudaMemsetParams *fill) {
    CUDA_MEMSET_NODE_PARAMS same = fill_of(fill);
    DRIVER(cuGraphAddMemsetNode(node, graph, before, count, &same, NULL));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *fill) {
    CUDA_MEMSET_NODE_PARAMS same = fill_of(fill);
    DRIVER(cuGraphMemsetNodeSetParams(node, &same));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t made, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *fill) {
    CUDA_MEMSET_NODE_PARAMS same = fill_of(fill);
    DRIVER(cuGraphExecMemsetNodeSetParams(made, node, &same, NULL));
}

/* ---- nodes whose parameters are the driver's */
ADD(HostNode, const struct cudaHostNodeParams *host) {
    DRIVER(cuGraphAddHostNode(node, graph, before, count, (const CUDA_HOST_NODE_PARAMS *)host));
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *host) {
    DRIVER(cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)host));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t made, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *host) {
    DRIVER(cuGraphExecHostNodeSetParams(made, node, (const CUDA_HOST_NODE_PARAMS *)host));
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                  size_t count) {
    DRIVER(cuGraphAddEmptyNode(node, graph, before, count));
}
ADD(ChildGraphNode, cudaGraph_t child) { DRIVER(cuGraphAddChildGraphNode(node, graph, before, count, child)); }
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child) {
    DRIVER(cuGraphChildGraphNodeGetGraph(node, child));
}
ADD(EventRecordNode, cudaEvent_t event) { DRIVER(cuGraphAddEventRecordNode(node, graph, before, count, event)); }
ADD(EventWaitNode, cudaEvent_t event) { DRIVER(cuGraphAddEventWaitNode(node, graph, before, count, event)); }
ADD(MemAllocNode, struct cudaMemAllocNodeParams *parameters) {
    CUDA_MEM_ALLOC_NODE_PARAMS same = {.bytesize = parameters->bytesize};
    BEGIN();
    CUresult failed = cuGraphAddMemAllocNode(node, graph, before, count, &same);
    parameters->dptr = (void *)same.dptr;
    return banksim_done(failed);
}
ADD(MemFreeNode, void *start) { DRIVER(cuGraphAddMemFreeNode(node, graph, before, count, (CUdeviceptr)start)); }
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                             const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p) {
    if (!p) return banksim_done(cudaErrorInvalidValue);
    switch (p->type) {
    case cudaGraphNodeTypeKernel: {
        struct cudaKernelNodeParams kernel = {.func = p->kernel.func,
                                              .gridDim = p->kernel.gridDim,
                                              .blockDim = p->kernel.blockDim,
                                              .sharedMemBytes = p->kernel.sharedMemBytes,
                                              .kernelParams = p->kernel.kernelParams};
        return cudaGraphAddKernelNode(node, graph, before, count, &kernel);
    }
    case cudaGraphNodeTypeMemcpy: return cudaGraphAddMemcpyNode(node, graph, before, count, &p->memcpy.copyParams);
    default: DRIVER(cuGraphAddNode(node, graph, before, NULL, count, (CUgraphNodeParams *)p));
    }
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *made, cudaGraph_t graph, unsigned initial,
                                             unsigned flags) {
    DRIVER(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)made, graph, NULL, initial, flags));
}

/* ---- what a graph is made of */
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    DRIVER(cuGraphNodeGetType(node, (CUgraphNodeType *)type));
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    DRIVER(cuGraphGetRootNodes(graph, nodes, count));
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                              size_t *count) {
    DRIVER(cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)edges, count));
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                         size_t *count) {
    DRIVER(cuGraphNodeGetDependencies(node, nodes, (CUgraphEdgeData *)edges, count));
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                           size_t *count) {
    DRIVER(cuGraphNodeGetDependentNodes(node, nodes, (CUgraphEdgeData *)edges, count));
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edges, size_t count) {
    DRIVER(cuGraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count));
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edges, size_t count) {
    DRIVER(cuGraphRemoveDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count));
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) { DRIVER(cuGraphDestroyNode(node)); }
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t origin, cudaGraph_t copy) {
    DRIVER(cuGraphNodeFindInClone(found, origin, copy));
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t made, cudaGraphNode_t node, unsigned enabled) {
    DRIVER(cuGraphNodeSetEnabled(made, node, enabled));
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t made, cudaGraphNode_t node, unsigned *enabled) {
    DRIVER(cuGraphNodeGetEnabled(made, node, enabled));
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t made, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    DRIVER(cuGraphExecUpdate(made, graph, (CUgraphExecUpdateResultInfo *)info));
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *made, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *parameters) {
    DRIVER(cuGraphInstantiateWithParams(made, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)parameters));
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags) {
    DRIVER(cuGraphDebugDotPrint(graph, path, flags));
}

/* ---- what graphs keep alive */
cudaError_t cudaUserObjectCreate(cudaUserObject_t *made, void *object, cudaHostFn_t destroy, unsigned references,
                                 unsigned flags) {
    DRIVER(cuUserObjectCreate(made, object, destroy, references, flags));
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned references) {
    DRIVER(cuUserObjectRetain(object, references));
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned references) {
    DRIVER(cuUserObjectRelease(object, references));
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references, unsigned flags) {
    DRIVER(cuGraphRetainUserObject(graph, object, references, flags));
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references) {
    DRIVER(cuGraphReleaseUserObject(graph, object, references));
}
