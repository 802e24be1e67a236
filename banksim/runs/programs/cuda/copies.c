/* Copies and fills of the driver API, in one to three dimensions. */
#include "arrays.h"
#include "graphs.h"

#include <stdio.h>
#include <string.h>

/* Whether `size` bytes at an address lie within one allocation, or in no allocation and so in the host's own memory. */
static bool fits(CUdeviceptr address, size_t size, bool on_device) {
    struct memory *found = banksim_find(address);
    if (!found) return !on_device;
    if (size <= found->start + found->size - address) return true;
    char text[200];
    int length = snprintf(text, sizeof text, "a copy of %zu bytes at byte %llu of allocation %u, which has %zu bytes",
                          size, (unsigned long long)(address - found->start), banksim_ordinal(found), found->size);
    banksim_tell('W', text, length);
    return false;
}

struct copy { /* a box of bytes, and how far rows and layers lie apart at both of its places */
    CUdeviceptr to, from;
    size_t width, height, depth, to_pitch, from_pitch, to_layer, from_layer;
};

/* Whether the bytes of a line are on the device already, as where a loop copies the same input there again and again.
   Launches are then known to see what they saw before, and to compare takes less than to copy. */
static bool there_already(const struct copy *c) {
    if (c->height > 1 || c->depth > 1 || !banksim_find(c->to)) return false;
    return !memcmp(banksim_bytes(c->to), banksim_bytes(c->from), c->width);
}

/* A GPU has in its L2 cache what it copied or filled itself, but for smaller copies than these not what came from the
   host. */
#define SMALL_COPY (1 << 16)
static void note(const struct memory *found, size_t size, bool cached, bool stored) {
    if (!found || size <= SMALL_COPY) return;
    uint64_t message[] = {banksim_number(found), size, cached, stored};
    banksim_tell('c', message, sizeof message);
}
static void note_copy(const struct copy *c) {
    size_t size = c->width * c->height * c->depth;
    if (size <= SMALL_COPY) return;
    const struct memory *from = banksim_find(c->from), *to = banksim_find(c->to);
    if (to) note(from, size, true, false);
    note(to, size, from, true);
}

CUresult banksim_perform_copy(void *arguments) {
    const struct copy *c = arguments;
    banksim_settle();
    if (banksim_pending) return CUDA_SUCCESS;
    banksim_flush();
    note_copy(c);
    if (there_already(c)) return CUDA_SUCCESS;
    banksim_settle_to_change(c->to);
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(banksim_bytes(c->to + z * c->to_layer + y * c->to_pitch),
                    banksim_bytes(c->from + z * c->from_layer + y * c->from_pitch), c->width);
    return CUDA_SUCCESS;
}

static CUresult submit_copy(struct copy c, bool to_device, bool from_device, CUstream stream) {
    BEGIN();
    if (!c.width || !c.height || !c.depth) return CUDA_SUCCESS;
    size_t to = (c.depth - 1) * c.to_layer + (c.height - 1) * c.to_pitch + c.width;
    size_t from = (c.depth - 1) * c.from_layer + (c.height - 1) * c.from_pitch + c.width;
    if (!c.to || !c.from || !fits(c.to, to, to_device) || !fits(c.from, from, from_device))
        return CUDA_ERROR_INVALID_VALUE;
    return banksim_submit(stream, banksim_perform_copy, &c, sizeof c);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p) {
    if (!node || !p || node->perform != banksim_perform_copy) return CUDA_ERROR_INVALID_VALUE;
    const struct copy *c = node->arguments;
    *p = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = c->from, .srcPitch = c->from_pitch,
                         .srcHeight = c->from_pitch ? c->from_layer / c->from_pitch : 0,
                         .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = c->to, .dstPitch = c->to_pitch,
                         .dstHeight = c->to_pitch ? c->to_layer / c->to_pitch : 0,
                         .WidthInBytes = c->width, .Height = c->height, .Depth = c->depth};
    return CUDA_SUCCESS;
}

static CUresult line(CUdeviceptr to, bool to_device, CUdeviceptr from, bool from_device, size_t size, CUstream stream) {
    return submit_copy((struct copy){to, from, size, 1, 1}, to_device, from_device, stream);
}

#define HOST(address) (CUdeviceptr)(uintptr_t)(address), false
#define ON_DEVICE(address) (address), true
#define ANYWHERE(address) (address), false
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return line(ANYWHERE(to), ANYWHERE(from), size, stream);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    return line(ON_DEVICE(to), HOST(from), size, stream);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    return line(HOST(to), ON_DEVICE(from), size, stream);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return line(ON_DEVICE(to), ON_DEVICE(from), size, NULL);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return line(ON_DEVICE(to), ON_DEVICE(from), size, stream);
}

struct side { /* one side of a copy in two or three dimensions: its first byte, and how far rows and layers lie apart */
    CUdeviceptr start;
    size_t pitch, layer;
    bool on_device;
};

/* `start` is 0 if the box does not lie within the array. */
static struct side in_array(CUarray array, size_t x, size_t y, size_t z, const CUDA_MEMCPY3D *c) {
    struct side side = {0, array->pitch, array->pitch * array->rows, true};
    if (x + c->WidthInBytes <= array->pitch && y + c->Height <= array->rows && z + c->Depth <= array->layers)
        side.start = array->start + z * side.layer + y * side.pitch + x;
    return side;
}

static struct side in_memory(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t rows) {
    bool of_host = type == CU_MEMORYTYPE_HOST;
    return (struct side){of_host ? (CUdeviceptr)(uintptr_t)host : device, pitch, pitch * rows,
                         type == CU_MEMORYTYPE_DEVICE};
}

static struct side moved(struct side side, size_t x, size_t y, size_t z) {
    side.start += z * side.layer + y * side.pitch + x;
    return side;
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream) {
    bool to_array = c->dstMemoryType == CU_MEMORYTYPE_ARRAY, from_array = c->srcMemoryType == CU_MEMORYTYPE_ARRAY;
    if ((to_array && !c->dstArray) || (from_array && !c->srcArray)) return CUDA_ERROR_INVALID_HANDLE;
    struct side to = to_array ? in_array(c->dstArray, c->dstXInBytes, c->dstY, c->dstZ, c)
                              : moved(in_memory(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstPitch, c->dstHeight),
                                      c->dstXInBytes, c->dstY, c->dstZ);
    struct side from =
        from_array ? in_array(c->srcArray, c->srcXInBytes, c->srcY, c->srcZ, c)
                   : moved(in_memory(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcPitch, c->srcHeight),
                           c->srcXInBytes, c->srcY, c->srcZ);
    struct copy box = {to.start, from.start, c->WidthInBytes, c->Height, c->Depth, to.pitch, from.pitch,
                       to.layer, from.layer};
    return submit_copy(box, to.on_device, from.on_device, stream);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream) {
    CUDA_MEMCPY3D box = {.srcArray = c->srcArray, .dstArray = c->dstArray,
                         .srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
                         .srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcPitch = c->srcPitch,
                         .dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
                         .dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstPitch = c->dstPitch,
                         .WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1};
    return cuMemcpy3DAsync(&box, stream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size, CUstream s) {
    return cuMemcpyAsync(to, from, size, s); /* all contexts are of one device */
}

/* Copies in a batch. Attribute k is of the copies from `starts[k]` on; it tells when a source may be read, which is at
   once here, and where memory lies. */
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *kinds,
                            size_t *starts, size_t kind_count, CUstream stream) {
    BEGIN();
    if (!stream || stream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureStatus status;
    CUresult failed = cuStreamIsCapturing(stream, &status);
    if (!failed && status != CU_STREAM_CAPTURE_STATUS_NONE) failed = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    bool good = to && from && sizes && count && kinds && starts && kind_count && kind_count <= count && !starts[0];
    for (size_t k = 0; good && k < kind_count; k++)
        good = kinds[k].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_INVALID &&
               kinds[k].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY && starts[k] < count &&
               (!k || starts[k] > starts[k - 1]);
    for (size_t n = 0; good && n < count; n++) good = to[n] && from[n] && sizes[n];
    if (!failed && !good) failed = CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; !failed && n < count; n++) failed = cuMemcpyAsync(to[n], from[n], sizes[n], stream);
    return failed;
}

/* Boxes in a batch. Lengths count elements of the array that is copied to or from; else bytes. */
static CUmemorytype type_of(const CUmemcpy3DOperand *side) {
    return side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
}
static bool side_fits(const CUmemcpy3DOperand *side, const CUextent3D *extent) {
    if (side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return side->op.array.array;
    size_t row = side->op.ptr.rowLength, rows = side->op.ptr.layerHeight;
    return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER && side->op.ptr.ptr && (!row || row >= extent->width) &&
           (!rows || rows >= extent->height);
}
#define SIDE(NAME, FROM)                                                                          \
    c.NAME##MemoryType = type_of(FROM);                                                           \
    if (c.NAME##MemoryType == CU_MEMORYTYPE_ARRAY) {                                              \
        c.NAME##Array = (FROM)->op.array.array;                                                   \
        c.NAME##XInBytes = (FROM)->op.array.offset.x * unit;                                      \
        c.NAME##Y = (FROM)->op.array.offset.y, c.NAME##Z = (FROM)->op.array.offset.z;             \
    } else {                                                                                      \
        c.NAME##Host = (void *)(FROM)->op.ptr.ptr;                                                \
        c.NAME##Pitch = ((FROM)->op.ptr.rowLength ? (FROM)->op.ptr.rowLength : o->extent.width) * unit; \
        c.NAME##Height = (FROM)->op.ptr.layerHeight ? (FROM)->op.ptr.layerHeight : o->extent.height; \
    }
CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *all, unsigned long long flags, CUstream stream) {
    BEGIN();
    if (!count || !all || flags || !stream || stream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
    CUresult failed = CUDA_SUCCESS;
    for (const CUDA_MEMCPY3D_BATCH_OP *o = all; o < all + count; o++)
        if (!o->extent.width || !o->extent.height || !o->extent.depth || !side_fits(&o->src, &o->extent) ||
            !side_fits(&o->dst, &o->extent) || o->srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_INVALID ||
            o->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
            return CUDA_ERROR_INVALID_VALUE;
    for (const CUDA_MEMCPY3D_BATCH_OP *o = all; o < all + count && !failed; o++) {
        size_t unit = 1;
        if (type_of(&o->src) == CU_MEMORYTYPE_ARRAY) unit = o->src.op.array.array->element;
        if (type_of(&o->dst) == CU_MEMORYTYPE_ARRAY) unit = o->dst.op.array.array->element;
        CUDA_MEMCPY3D c = {.WidthInBytes = o->extent.width * unit, .Height = o->extent.height, .Depth = o->extent.depth};
        SIDE(src, &o->src)
        SIDE(dst, &o->dst)
        failed = cuMemcpy3DAsync(&c, stream);
    }
    return failed;
}

/* ---- fills */
struct fill { /* `height` rows, `pitch` bytes apart, of `width` values; `bytes`: of a value */
    CUdeviceptr to;
    size_t pitch, width, height;
    unsigned value, bytes;
};

CUresult banksim_perform_fill(void *arguments) {
    const struct fill *f = arguments;
    banksim_settle_to_change(f->to);
    if (banksim_pending) return CUDA_SUCCESS;
    note(banksim_find(f->to), f->width * f->bytes * f->height, true, true);
    for (size_t y = 0; y < f->height; y++) {
        char *row = banksim_bytes(f->to + y * f->pitch);
        if (f->bytes == 1) memset(row, f->value, f->width);
        else
            for (size_t x = 0; x < f->width; x++) memcpy(row + x * f->bytes, &f->value, f->bytes);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p) {
    if (!node || !p || node->perform != banksim_perform_fill) return CUDA_ERROR_INVALID_VALUE;
    const struct fill *f = node->arguments;
    GIVE(p, ((CUDA_MEMSET_NODE_PARAMS){f->to, f->pitch, f->value, f->bytes, f->width, f->height}));
}

static CUresult submit_fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned bytes, size_t width, size_t height,
                            CUstream stream) {
    BEGIN();
    struct fill f = {to, pitch, width, height, value, bytes};
    if (!width || !height) return CUDA_SUCCESS;
    const struct memory *found = banksim_find(to);
    if (!fits(to, (height - 1) * pitch + width * bytes, true) || found->hidden) return CUDA_ERROR_INVALID_VALUE;
    return banksim_submit(stream, banksim_perform_fill, &f, sizeof f);
}

#define FILLS(BITS, TYPE)                                                                                            \
    CUresult cuMemsetD##BITS##Async(CUdeviceptr to, TYPE value, size_t count, CUstream stream) {                      \
        return submit_fill(to, 0, value, BITS / 8, count, 1, stream);                                                \
    }                                                                                                                \
    CUresult cuMemsetD##BITS(CUdeviceptr to, TYPE value, size_t count) {                                             \
        return cuMemsetD##BITS##Async(to, value, count, NULL);                                                       \
    }                                                                                                                \
    CUresult cuMemsetD2D##BITS##Async(CUdeviceptr to, size_t pitch, TYPE value, size_t width, size_t height,          \
                                      CUstream stream) {                                                             \
        return submit_fill(to, pitch, value, BITS / 8, width, height, stream);                                       \
    }                                                                                                                \
    CUresult cuMemsetD2D##BITS(CUdeviceptr to, size_t pitch, TYPE value, size_t width, size_t height) {               \
        return cuMemsetD2D##BITS##Async(to, pitch, value, width, height, NULL);                                      \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
