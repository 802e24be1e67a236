/* Texture and surface objects. An object is a number: the upper half of the address at which its descriptor begins.
   banksim.machine.operations.texels says what a descriptor holds. */
#include "arrays.h"

#include <stdlib.h>
#include <string.h>

enum { UNSIGNED, SIGNED, FLOAT };
struct descriptor {
    CUdeviceptr start;
    uint32_t width, height, depth, pitch, layer, how, border[4];
};

struct object { /* what an object was made of, for programs that ask */
    struct descriptor seen;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
};

static unsigned kind_of(CUarray_format format) {
    if (format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT) return FLOAT;
    return format >= CU_AD_FORMAT_SIGNED_INT8 ? SIGNED : UNSIGNED;
}

/* The resource of an object: where the elements are, and their format. */
static CUresult elements(const CUDA_RESOURCE_DESC *resource, struct descriptor *d) {
    CUarray_format format;
    unsigned channels, axes = 1, layered = 0;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
        CUarray array = resource->res.array.hArray;
        if (!array) return CUDA_ERROR_INVALID_HANDLE;
        layered = !!(array->as.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
        axes = array->as.Depth && !layered ? 3 : array->as.Height ? 2 : 1;
        format = array->as.Format;
        channels = array->as.NumChannels;
        *d = (struct descriptor){array->start, array->as.Width, array->rows, array->layers, array->pitch,
                                 array->pitch * array->rows};
        break;
    }
    case CU_RESOURCE_TYPE_LINEAR:
        format = resource->res.linear.format;
        channels = resource->res.linear.numChannels;
        *d = (struct descriptor){resource->res.linear.devPtr, 0, 1, 1};
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        format = resource->res.pitch2D.format;
        channels = resource->res.pitch2D.numChannels;
        axes = 2;
        *d = (struct descriptor){resource->res.pitch2D.devPtr, resource->res.pitch2D.width,
                                 resource->res.pitch2D.height, 1, resource->res.pitch2D.pitchInBytes};
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    size_t bytes = banksim_channel_bytes(format);
    if (!bytes) return banksim_missing("a texture of such a format");
    if (!banksim_find(d->start) || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR) d->width = resource->res.linear.sizeInBytes / (bytes * channels);
    d->how = bytes | channels << 4 | kind_of(format) << 8 | axes << 10 | layered << 12;
    return CUDA_SUCCESS;
}

/* How a texture is read. As documented, wrap and mirror apply to normalized coordinates only, and whatever lies
   outside linear memory is 0. */
static CUresult reading(const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture, struct descriptor *d) {
    bool linear_memory = resource->resType == CU_RESOURCE_TYPE_LINEAR, is_float = d->how >> 8 & FLOAT;
    bool normalized = texture->flags & CU_TRSF_NORMALIZED_COORDINATES;
    bool linear = texture->filterMode == CU_TR_FILTER_MODE_LINEAR && !linear_memory;
    unsigned bytes = d->how & 7;
    bool as_float = !is_float && bytes < 4 && !(texture->flags & CU_TRSF_READ_AS_INTEGER);
    if (texture->flags & CU_TRSF_SRGB) return banksim_missing("a texture of sRGB");
    bool of_array = resource->resType == CU_RESOURCE_TYPE_ARRAY;
    bool cubes = of_array && resource->res.array.hArray->as.Flags & CUDA_ARRAY3D_CUBEMAP;
    if (cubes && texture->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        return banksim_missing("a cube map filtered across its edges");
    if (cubes && !normalized) return banksim_missing("a cube map whose coordinates are not normalized");
    if (linear && !is_float && !as_float) return CUDA_ERROR_INVALID_VALUE;
    d->how |= normalized << 13 | linear << 14 | as_float << 15;
    for (unsigned axis = 0; axis < 3; axis++) {
        unsigned mode = texture->addressMode[axis];
        bool turns = mode == CU_TR_ADDRESS_MODE_WRAP || mode == CU_TR_ADDRESS_MODE_MIRROR;
        if (turns && !normalized) mode = CU_TR_ADDRESS_MODE_CLAMP;
        if (linear_memory) mode = CU_TR_ADDRESS_MODE_BORDER;
        d->how |= mode << (16 + 2 * axis);
    }
    /* As measured on an H200, a fraction of the border is one that a channel can hold, and a half is cut toward zero. */
    const float EVEN = 0x1.8p23f; /* added and taken away again, it rounds to a whole number */
    bool is_signed = d->how >> 8 & SIGNED;
    float greatest = (bytes == 1 ? 0xff : 0xffff) >> is_signed;
    for (unsigned n = 0; n < 4 && !linear_memory; n++) {
        float colour = texture->borderColor[n];
        float least = is_signed ? -1 : 0, fraction = colour > 1 ? 1 : colour > least ? colour : least;
        int32_t whole = as_float ? (int32_t)(fraction * greatest + EVEN - EVEN) : colour;
        memcpy(&d->border[n], is_float ? (void *)&colour : (void *)&whole, 4);
        if (is_float && bytes == 2 && colour - colour == 0) d->border[n] &= ~0x1fffu;
    }
    return CUDA_SUCCESS;
}

static CUresult make(unsigned long long *made, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture) {
    BEGIN();
    if (!made || !resource) return CUDA_ERROR_INVALID_VALUE;
    struct object object = {.resource = *resource};
    CUdeviceptr start;
    CUresult failed = elements(resource, &object.seen);
    if (!failed && texture) {
        object.texture = *texture;
        failed = reading(resource, texture, &object.seen);
    }
    if (!failed) failed = banksim_allocate(sizeof object, DEVICE, 0, &start);
    if (failed) return failed;
    memcpy(banksim_bytes(start), &object, sizeof object);
    *made = start >> 32;
    return CUDA_SUCCESS;
}

static const struct object *find(unsigned long long object) {
    struct memory *found = banksim_find((CUdeviceptr)object << 32);
    return found && found->size == sizeof(struct object) ? banksim_bytes(found->start) : NULL;
}

static CUresult destroy(unsigned long long object) {
    return find(object) ? cuMemFree((CUdeviceptr)object << 32) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectCreate(CUtexObject *made, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                           const CUDA_RESOURCE_VIEW_DESC *view) {
    if (view && view->format) return banksim_missing("a view of a texture as another format");
    return texture ? make(made, resource, texture) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuTexObjectDestroy(CUtexObject object) { return destroy(object); }
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object) {
    if (!find(object)) return CUDA_ERROR_INVALID_VALUE;
    *resource = find(object)->resource;
    return CUDA_SUCCESS;
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject object) {
    if (!find(object)) return CUDA_ERROR_INVALID_VALUE;
    *texture = find(object)->texture;
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject *made, const CUDA_RESOURCE_DESC *resource) {
    if (!resource || resource->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    return make(made, resource, NULL);
}
CUresult cuSurfObjectDestroy(CUsurfObject object) { return destroy(object); }
