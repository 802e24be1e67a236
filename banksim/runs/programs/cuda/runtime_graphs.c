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

/* ---- nodes of any type */
static struct cudaKernelNodeParams kernel_of(const struct cudaGraphNodeParams *p) {
    return (struct cudaKernelNodeParams){.func = p->kernel.func,
                                         .gridDim = p->kernel.gridDim,
                                         .blockDim = p->kernel.blockDim,
                                         .sharedMemBytes = p->kernel.sharedMemBytes,
                                         .kernelParams = p->kernel.kernelParams};
}
#define BY_TYPE(KERNEL, MEMCPY, ANY)                                                      \
    if (!p) return banksim_done(cudaErrorInvalidValue);                                   \
    struct cudaKernelNodeParams kernel = kernel_of(p);                                    \
    if (p->type == cudaGraphNodeTypeKernel) return KERNEL;                                \
    if (p->type == cudaGraphNodeTypeMemcpy) return MEMCPY;                                \
    DRIVER(ANY)
#define ANY_NODE (CUgraphNodeParams *)p
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                             const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p) {
    BY_TYPE(cudaGraphAddKernelNode(node, graph, before, count, &kernel),
            cudaGraphAddMemcpyNode(node, graph, before, count, &p->memcpy.copyParams),
            cuGraphAddNode(node, graph, before, NULL, count, ANY_NODE));
}
static bool is_of(cudaGraphNode_t node, enum cudaGraphNodeType type) {
    CUgraphNodeType found;
    return node && !cuGraphNodeGetType(node, &found) && found == (CUgraphNodeType)type;
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p) {
    if (!p || !is_of(node, p->type)) return banksim_done(cudaErrorInvalidValue);
    BY_TYPE(cudaGraphKernelNodeSetParams(node, &kernel), cudaGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams),
            cuGraphNodeSetParams(node, ANY_NODE));
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t made, cudaGraphNode_t node, struct cudaGraphNodeParams *p) {
    return cudaGraphNodeSetParams(banksim_node_of(made, node), p);
}
static enum cudaMemcpyKind kind_of(CUdeviceptr to, CUdeviceptr from) {
    struct cudaPointerAttributes there, here;
    cudaPointerGetAttributes(&there, (void *)to);
    cudaPointerGetAttributes(&here, (void *)from);
    bool to_device = there.type >= cudaMemoryTypeDevice, from_device = here.type >= cudaMemoryTypeDevice;
    return from_device ? to_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost
                       : to_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *p) {
    CUDA_MEMCPY3D c;
    BEGIN();
    CUresult failed = p ? cuGraphMemcpyNodeGetParams(node, &c) : CUDA_ERROR_INVALID_VALUE;
    if (failed) return banksim_done(failed);
    *p = (struct cudaMemcpy3DParms){
        .srcPtr = {(void *)c.srcDevice, c.srcPitch, 0, c.srcHeight},
        .dstPtr = {(void *)c.dstDevice, c.dstPitch, 0, c.dstHeight},
        .extent = {c.WidthInBytes, c.Height, c.Depth},
        .kind = kind_of(c.dstDevice, c.srcDevice)};
    return cudaSuccess;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *made, cudaGraph_t graph, unsigned initial,
                                             unsigned flags) {
    DRIVER(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)made, graph, NULL, initial, flags));
}
