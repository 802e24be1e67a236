/* CUDA arrays, textures and surfaces of the runtime API: those of the driver, with other descriptors. */
#include "runtime.h"

#include <string.h>

#define ARRAY(array) ((CUarray)(array))

/* ---- formats */
static int format_of(const struct cudaChannelFormatDesc *as, CUarray_format *format, unsigned *channels) {
    static const CUarray_format formats[3][3] = {
        {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
        {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
        {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
    };
    if ((unsigned)as->f > cudaChannelFormatKindFloat) return banksim_missing("a channel format of such a kind");
    int wide = as->x == 8 ? 0 : as->x == 16 ? 1 : as->x == 32 ? 2 : -1;
    *channels = !!as->x + !!as->y + !!as->z + !!as->w;
    if (wide < 0 || !formats[as->f][wide] || (as->y && as->y != as->x) || (as->z && as->z != as->x) ||
        (as->w && as->w != as->x) || *channels == 3)
        return cudaErrorInvalidChannelDescriptor;
    *format = formats[as->f][wide];
    return 0;
}

static struct cudaChannelFormatDesc described(CUarray_format format, unsigned channels) {
    bool is_float = format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT;
    int bits = format == CU_AD_FORMAT_HALF  ? 16
               : format == CU_AD_FORMAT_FLOAT ? 32
                                              : 8 << ((format - 1) & 7);
    enum cudaChannelFormatKind kind = is_float                             ? cudaChannelFormatKindFloat
                                      : format >= CU_AD_FORMAT_SIGNED_INT8 ? cudaChannelFormatKindSigned
                                                                           : cudaChannelFormatKindUnsigned;
    return cudaCreateChannelDesc(bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *most, const struct cudaChannelFormatDesc *as, int device) {
    CUarray_format format;
    unsigned channels;
    if (!most || !as) return banksim_done(cudaErrorInvalidValue);
    int failed = device ? cudaErrorInvalidDevice : format_of(as, &format, &channels);
    size_t bytes = (as->x + as->y + as->z + as->w) / 8;
    if (!failed) *most = bytes > 4 ? (1ull << 32) / bytes : 1ull << 30; /* one H200's, of 1 and of 16 bytes */
    return banksim_done(failed);
}

/* ---- arrays */
static cudaError_t make(CUarray *array, const struct cudaChannelFormatDesc *as, struct cudaExtent extent,
                        unsigned flags, unsigned levels) {
    BEGIN();
    if (!array || !as) return banksim_done(cudaErrorInvalidValue);
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    int failed = format_of(as, &d.Format, &d.NumChannels);
    if (failed) return banksim_done(failed);
    return banksim_done(levels ? cuMipmappedArrayCreate((CUmipmappedArray *)array, &d, levels)
                               : cuArray3DCreate(array, &d));
}
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *as, size_t width, size_t height,
                            unsigned flags) {
    return make((CUarray *)array, as, (struct cudaExtent){width, height, 0}, flags, 0);
}
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *as, struct cudaExtent extent,
                              unsigned flags) {
    return make((CUarray *)array, as, extent, flags, 0);
}
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *as,
                                     struct cudaExtent extent, unsigned levels, unsigned flags) {
    return make((CUarray *)array, as, extent, flags, levels);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    DRIVER(cuArrayDestroy(ARRAY(array)));
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) { return cudaFreeArray((cudaArray_t)array); }
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *as, struct cudaExtent *extent, unsigned *flags,
                             cudaArray_t array) {
    CUDA_ARRAY3D_DESCRIPTOR d;
    int failed = cuArray3DGetDescriptor(&d, ARRAY(array));
    if (failed) return banksim_done(failed);
    if (as) *as = described(d.Format, d.NumChannels);
    if (extent) *extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
    if (flags) *flags = d.Flags;
    return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *as, cudaArray_const_t array) {
    return cudaArrayGetInfo(as, NULL, NULL, (cudaArray_t)array);
}

/* ---- copies */
static size_t element(cudaArray_const_t array) {
    struct cudaChannelFormatDesc as = {0};
    cudaGetChannelDesc(&as, array);
    return (as.x + as.y + as.z + as.w) / 8;
}

/* The two sides of a copy. The driver is told that addresses are unified, so that it finds out by itself where a
   pointer points. */
#define SIDES(NAME, SIDE, ARRAY_TYPE)                                                           \
    static void NAME##_array(CUDA_MEMCPY3D *c, ARRAY_TYPE array, struct cudaPos at) {                \
        c->SIDE##MemoryType = CU_MEMORYTYPE_ARRAY, c->SIDE##Array = ARRAY(array);               \
        c->SIDE##XInBytes = at.x, c->SIDE##Y = at.y, c->SIDE##Z = at.z;                         \
    }                                                                                           \
    static void NAME##_pointer(CUDA_MEMCPY3D *c, struct cudaPitchedPtr p, struct cudaPos at) {  \
        c->SIDE##MemoryType = CU_MEMORYTYPE_HOST;                                               \
        c->SIDE##Host = p.ptr, c->SIDE##Pitch = p.pitch, c->SIDE##Height = p.ysize;             \
        c->SIDE##XInBytes = at.x, c->SIDE##Y = at.y, c->SIDE##Z = at.z;                         \
    }
SIDES(from, src, cudaArray_const_t)
SIDES(to, dst, cudaArray_t)

static cudaError_t perform(const CUDA_MEMCPY3D *c, cudaStream_t stream) {
    BEGIN();
    return banksim_done(cuMemcpy3DAsync(c, stream));
}

cudaError_t banksim_copy_of_arrays(const struct cudaMemcpy3DParms *c, cudaStream_t stream) {
    size_t unit = element(c->srcArray ? c->srcArray : c->dstArray);
    CUDA_MEMCPY3D box = {.WidthInBytes = c->extent.width * unit, .Height = c->extent.height, .Depth = c->extent.depth};
    struct cudaPos from = c->srcPos, to = c->dstPos;
    if (c->srcArray) from.x *= element(c->srcArray), from_array(&box, c->srcArray, from);
    else from_pointer(&box, c->srcPtr, from);
    if (c->dstArray) to.x *= element(c->dstArray), to_array(&box, c->dstArray, to);
    else to_pointer(&box, c->dstPtr, to);
    return perform(&box, stream);
}

static CUDA_MEMCPY3D rectangle(size_t width, size_t height) {
    return (CUDA_MEMCPY3D){.WidthInBytes = width, .Height = height, .Depth = 1};
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CUDA_MEMCPY3D c = rectangle(width, height);
    to_array(&c, to, (struct cudaPos){x, y, 0});
    from_pointer(&c, (struct cudaPitchedPtr){(void *)from, pitch, width, height}, (struct cudaPos){0});
    return perform(&c, stream);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CUDA_MEMCPY3D c = rectangle(width, height);
    from_array(&c, from, (struct cudaPos){x, y, 0});
    to_pointer(&c, (struct cudaPitchedPtr){to, pitch, width, height}, (struct cudaPos){0});
    return perform(&c, stream);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x,
                                     size_t y, size_t width, size_t height, enum cudaMemcpyKind kind) {
    CUDA_MEMCPY3D c = rectangle(width, height);
    from_array(&c, from, (struct cudaPos){x, y, 0});
    to_array(&c, to, (struct cudaPos){to_x, to_y, 0});
    return perform(&c, NULL);
}

/* The offset in an array of byte x of a row. */
static size_t byte_of(cudaArray_const_t array, size_t x, size_t y) {
    CUDA_ARRAY3D_DESCRIPTOR as = {0};
    cuArray3DGetDescriptor(&as, ARRAY(array));
    return y * as.Width * element(array) + x;
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t size,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    DRIVER(cuMemcpyHtoAAsync(ARRAY(to), byte_of(to, x, y), from, size, stream));
}
cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t size,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
    DRIVER(cuMemcpyAtoHAsync(to, ARRAY(from), byte_of(from, x, y), size, stream));
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y,
                                   size_t size, enum cudaMemcpyKind kind) {
    DRIVER(cuMemcpyAtoA(ARRAY(to), byte_of(to, to_x, to_y), ARRAY(from), byte_of(from, x, y), size));
}

/* ---- objects */
static int resource_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to) {
    memset(to, 0, sizeof *to);
    to->resType = (CUresourcetype)from->resType;
    switch (from->resType) {
    case cudaResourceTypeArray: to->res.array.hArray = ARRAY(from->res.array.array); return 0;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
        return 0;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = AT(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return format_of(&from->res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels);
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = AT(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return format_of(&from->res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels);
    default: return cudaErrorInvalidValue;
    }
}

/* Whether elements can be read in this way. Which error comes first is an H100's answer, for arrays. */
static cudaError_t readable(const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture) {
    struct cudaChannelFormatDesc element;
    if (resource->resType == cudaResourceTypePitch2D) element = resource->res.pitch2D.desc;
    else if (resource->resType != cudaResourceTypeArray || cudaGetChannelDesc(&element, resource->res.array.array))
        return cudaSuccess;
    bool as_it_is = texture->readMode == cudaReadModeElementType, real = element.f == cudaChannelFormatKindFloat;
    if (texture->filterMode == cudaFilterModeLinear && !real && (as_it_is || element.x == 32))
        return cudaErrorInvalidFilterSetting;
    return !as_it_is && element.x == 32 ? cudaErrorInvalidNormSetting : cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *made, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view) {
    BEGIN();
    if (!made || !resource || !texture) return banksim_done(cudaErrorInvalidValue);
    CUDA_RESOURCE_DESC from;
    int failed = resource_of(resource, &from);
    if (!failed) failed = readable(resource, texture);
    if (failed) return banksim_done(failed);
    CUDA_TEXTURE_DESC how = {.filterMode = (CUfilter_mode)texture->filterMode};
    for (int axis = 0; axis < 3; axis++) how.addressMode[axis] = (CUaddress_mode)texture->addressMode[axis];
    if (texture->readMode == cudaReadModeElementType) how.flags |= CU_TRSF_READ_AS_INTEGER;
    if (texture->normalizedCoords) how.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (texture->sRGB) how.flags |= CU_TRSF_SRGB;
    if (texture->seamlessCubemap) how.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    memcpy(how.borderColor, texture->borderColor, sizeof how.borderColor);
    return banksim_done(cuTexObjectCreate(made, &from, &how, (const CUDA_RESOURCE_VIEW_DESC *)view));
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *made, const struct cudaResourceDesc *resource) {
    BEGIN();
    CUDA_RESOURCE_DESC from;
    if (!made || !resource) return banksim_done(cudaErrorInvalidValue);
    int failed = resource_of(resource, &from);
    return banksim_done(failed ? failed : cuSurfObjectCreate(made, &from));
}

/* ---- what objects were made of */
static cudaError_t resource_seen(struct cudaResourceDesc *to, int failed, const CUDA_RESOURCE_DESC *from) {
    if (failed) return banksim_done(failed);
    memset(to, 0, sizeof *to);
    to->resType = (enum cudaResourceType)from->resType;
    switch (from->resType) {
    case CU_RESOURCE_TYPE_ARRAY: to->res.array.array = (cudaArray_t)from->res.array.hArray; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        to->res.linear.devPtr = (void *)from->res.linear.devPtr;
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        to->res.linear.desc = described(from->res.linear.format, from->res.linear.numChannels);
        break;
    default:
        to->res.pitch2D.devPtr = (void *)from->res.pitch2D.devPtr;
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        to->res.pitch2D.desc = described(from->res.pitch2D.format, from->res.pitch2D.numChannels);
    }
    return cudaSuccess;
}
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object) {
    CUDA_RESOURCE_DESC from;
    return resource_seen(resource, cuTexObjectGetResourceDesc(&from, object), &from);
}
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t object) {
    CUDA_RESOURCE_DESC from;
    return resource_seen(resource, cuSurfObjectGetResourceDesc(&from, object), &from);
}
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object) {
    CUDA_TEXTURE_DESC how;
    int failed = cuTexObjectGetTextureDesc(&how, object);
    if (failed) return banksim_done(failed);
    memset(texture, 0, sizeof *texture);
    texture->filterMode = (enum cudaTextureFilterMode)how.filterMode;
    for (int axis = 0; axis < 3; axis++) texture->addressMode[axis] = (enum cudaTextureAddressMode)how.addressMode[axis];
    if (!(how.flags & CU_TRSF_READ_AS_INTEGER)) texture->readMode = cudaReadModeNormalizedFloat;
    texture->normalizedCoords = !!(how.flags & CU_TRSF_NORMALIZED_COORDINATES);
    texture->sRGB = !!(how.flags & CU_TRSF_SRGB);
    texture->seamlessCubemap = !!(how.flags & CU_TRSF_SEAMLESS_CUBEMAP);
    memcpy(texture->borderColor, how.borderColor, sizeof how.borderColor);
    return cudaSuccess;
}
