/* Graphs made by hand with the runtime API. Where its parameters differ from the driver's, the function that would
   do a node's work is called while this thread records (graphs.h). */
#include "runtime.h"

#include <string.h>

void banksim_record(void);
CUresult banksim_recorded(CUresult failed, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *node);
CUresult banksim_replaced(CUresult failed, CUgraphNode node);
CUgraphNode banksim_node_of(CUgraphExec made, CUgraphNode node);
CUresult banksim_filled(const CUDA_MEMSET_NODE_PARAMS *fill);

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
/* Nodes that do what CALL does: one is added, its work is replaced, and so is that of its copy in an executable graph. */
#define NODES(KIND, ENDING, CALL, ...)                                                                               \
    ADD(KIND##Node##ENDING, __VA_ARGS__) { MAKE(CALL); }                                                              \
    cudaError_t cudaGraph##KIND##NodeSetParams##ENDING(cudaGraphNode_t node, __VA_ARGS__) { REPLACE(node, CALL); }    \
    cudaError_t cudaGraphExec##KIND##NodeSetParams##ENDING(cudaGraphExec_t made, cudaGraphNode_t node, __VA_ARGS__) { \
        REPLACE(banksim_node_of(made, node), CALL);                                                                  \
    }

/* ---- kernels */
static cudaError_t launched(const struct cudaKernelNodeParams *p) {
    return cudaLaunchKernel(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, NULL);
}
NODES(Kernel, , launched(parameters), const struct cudaKernelNodeParams *parameters)
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

/* ---- copies and fills */
NODES(Memcpy, , cudaMemcpy3DAsync(copy, NULL), const struct cudaMemcpy3DParms *copy)
NODES(Memcpy, 1D, cudaMemcpyAsync(to, from, size, kind, NULL), void *to, const void *from, size_t size,
      enum cudaMemcpyKind kind)
NODES(Memcpy, ToSymbol, cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, NULL), const void *symbol,
      const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind)
NODES(Memcpy, FromSymbol, cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, NULL), void *to,
      const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind)
static CUresult filled(const struct cudaMemsetParams *p) {
    return banksim_filled(&(CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)p->dst, p->pitch, p->value, p->elementSize, p->width,
                                                     p->height});
}
NODES(Memset, , filled(fill), const struct cudaMemsetParams *fill)

/* ---- nodes whose parameters are the driver's */
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
