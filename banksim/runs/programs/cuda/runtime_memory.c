/* Allocation, copies and fills of the runtime API. */
#include "runtime.h"

#include <string.h>

cudaError_t cudaMalloc(void **to, size_t size) {
    BEGIN();
    if (!to) return banksim_done(cudaErrorInvalidValue);
    *to = NULL;
    return size ? banksim_done(cuMemAlloc((CUdeviceptr *)to, size)) : cudaSuccess;
}
cudaError_t cudaHostAlloc(void **to, size_t size, unsigned flags) {
    BEGIN();
    if (!to) return banksim_done(cudaErrorInvalidValue);
    *to = NULL;
    return size ? banksim_done(cuMemHostAlloc(to, size, flags)) : cudaSuccess;
}
cudaError_t cudaMallocHost(void **to, size_t size) { return cudaHostAlloc(to, size, 0); }
cudaError_t cudaMallocPitch(void **to, size_t *pitch, size_t width, size_t height) {
    DRIVER(cuMemAllocPitch((CUdeviceptr *)to, pitch, width, height, 4));
}
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *to, struct cudaExtent extent) {
    BEGIN();
    to->xsize = extent.width;
    to->ysize = extent.height;
    return banksim_done(
        cuMemAllocPitch((CUdeviceptr *)&to->ptr, &to->pitch, extent.width, extent.height * extent.depth, 4));
}
cudaError_t cudaFree(void *start) { DRIVER(cuMemFree(AT(start))); }
cudaError_t cudaFreeAsync(void *start, cudaStream_t stream) { DRIVER(cuMemFreeAsync(AT(start), stream)); }

/* ---- copies */
static bool is(const void *pointer, unsigned wanted) {
    unsigned type = 0;
    return !cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, AT(pointer)) && type & wanted;
}
static bool managed(const void *pointer) {
    unsigned yes = 0;
    return !cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_MANAGED, AT(pointer)) && yes;
}

/* Whether a copy may be of this kind. Pointers themselves tell where bytes are, but a side that the kind calls the
   device's must be memory that CUDA knows. (Measured on one H200 for all kinds of copies and of memory.) */
static bool right_way(const void *to, const void *from, enum cudaMemcpyKind kind) {
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return (!to_device || is(to, CU_MEMORYTYPE_HOST | CU_MEMORYTYPE_DEVICE)) &&
           (!from_device || is(from, CU_MEMORYTYPE_HOST | CU_MEMORYTYPE_DEVICE));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
    BEGIN();
    if (!size) return cudaSuccess;
    if ((unsigned)kind > cudaMemcpyDefault) return banksim_done(cudaErrorInvalidMemcpyDirection);
    if (!to || !from || !right_way(to, from, kind)) return banksim_done(cudaErrorInvalidValue);
    return banksim_done(cuMemcpyAsync(AT(to), AT(from), size, stream));
}
cudaError_t cudaMemcpyPeerAsync(void *to, int device, const void *from, int peer, size_t size, cudaStream_t stream) {
    if (device || peer) return banksim_done(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
}

/* The driver is told that addresses are unified, so that it finds out by itself where a pointer points. */
static cudaError_t box(struct cudaPitchedPtr to, struct cudaPos to_at, struct cudaPitchedPtr from,
                       struct cudaPos from_at, struct cudaExtent extent, enum cudaMemcpyKind kind,
                       cudaStream_t stream) {
    BEGIN();
    if (!extent.width || !extent.height || !extent.depth) return cudaSuccess;
    if (extent.width + to_at.x > to.pitch || extent.width + from_at.x > from.pitch)
        return banksim_done(cudaErrorInvalidPitchValue);
    if (!to.ptr || !from.ptr || !right_way(to.ptr, from.ptr, kind)) return banksim_done(cudaErrorInvalidValue);
    CUDA_MEMCPY3D c = {.srcXInBytes = from_at.x, .srcY = from_at.y, .srcZ = from_at.z, .srcPitch = from.pitch,
                       .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from.ptr, .srcHeight = from.ysize,
                       .dstXInBytes = to_at.x, .dstY = to_at.y, .dstZ = to_at.z, .dstPitch = to.pitch,
                       .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to.ptr, .dstHeight = to.ysize,
                       .WidthInBytes = extent.width, .Height = extent.height, .Depth = extent.depth};
    return banksim_done(cuMemcpy3DAsync(&c, stream));
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    struct cudaPitchedPtr there = {to, to_pitch, width, height}, here = {(void *)from, from_pitch, width, height};
    return box(there, (struct cudaPos){0}, here, (struct cudaPos){0}, (struct cudaExtent){width, height, 1}, kind,
               stream);
}
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *c, cudaStream_t stream) {
    if (c->srcArray || c->dstArray) return banksim_copy_of_arrays(c, stream);
    return box(c->dstPtr, c->dstPos, c->srcPtr, c->srcPos, c->extent, c->kind, stream);
}
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *c, cudaStream_t stream) {
    if (c->srcDevice || c->dstDevice) return banksim_done(cudaErrorInvalidDevice);
    struct cudaMemcpy3DParms same = {c->srcArray, c->srcPos, c->srcPtr, c->dstArray, c->dstPos,
                                     c->dstPtr,   c->extent, cudaMemcpyDefault};
    return cudaMemcpy3DAsync(&same, stream);
}

/* ---- fills */
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream) {
    DRIVER(cuMemsetD8Async(AT(to), value, size, stream));
}
cudaError_t cudaMemset(void *to, int value, size_t size) { return cudaMemsetAsync(to, value, size, NULL); }
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    DRIVER(cuMemsetD2D8Async(AT(to), pitch, value, width, height, stream));
}
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream) {
    for (size_t z = 0; z < extent.depth; z++) {
        char *layer = (char *)to.ptr + z * to.pitch * to.ysize;
        cudaError_t failed = cudaMemset2DAsync(layer, to.pitch, value, extent.width, extent.height, stream);
        if (failed) return failed;
    }
    return cudaSuccess;
}
cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    return cudaMemset3DAsync(to, value, extent, NULL);
}

/* ---- hints, and what a pointer is */
#define LOCATION(l) (CUmemLocation){(CUmemLocationType)(l).type, (l).id}
cudaError_t cudaMemPrefetchAsync(const void *start, size_t size, struct cudaMemLocation to, unsigned flags,
                                 cudaStream_t stream) {
    DRIVER(cuMemPrefetchAsync(AT(start), size, LOCATION(to), flags, stream));
}
cudaError_t cudaMemAdvise(const void *start, size_t size, enum cudaMemoryAdvise advice, struct cudaMemLocation at) {
    DRIVER(cuMemAdvise(AT(start), size, (CUmem_advise)advice, LOCATION(at)));
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    BEGIN();
    memset(attributes, 0, sizeof *attributes);
    if (!is(pointer, CU_MEMORYTYPE_HOST | CU_MEMORYTYPE_DEVICE)) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2;
        attributes->hostPointer = (void *)pointer;
        return cudaSuccess;
    }
    bool of_host = is(pointer, CU_MEMORYTYPE_HOST);
    attributes->type = managed(pointer) ? cudaMemoryTypeManaged : of_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    cuPointerGetAttribute(&attributes->devicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, AT(pointer));
    if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = (void *)pointer;
    return cudaSuccess;
}
