/* CUDA arrays of one level of detail, and copies of bytes in a row between them and memory. copies.c has the copies
   in two and three dimensions. */
#include "arrays.h"

#include <stdlib.h>

size_t banksim_channel_bytes(CUarray_format format) {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

#define LAID_OUT_ALIKE \
    (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_CUBEMAP)

/* A cube map has six square layers, one of several of them six for each. */
static bool is_cubes(const CUDA_ARRAY3D_DESCRIPTOR *as) {
    bool many = as->Flags & CUDA_ARRAY3D_LAYERED && as->Depth;
    return as->Width == as->Height && (many ? as->Depth % 6 == 0 : as->Depth == 6);
}

CUresult cuArray3DCreate(CUarray *made, const CUDA_ARRAY3D_DESCRIPTOR *as) {
    BEGIN();
    if (!made || !as || !as->Width) return CUDA_ERROR_INVALID_VALUE;
    if (as->Flags & ~LAID_OUT_ALIKE) return banksim_missing("a CUDA array that is sparse or of depths");
    if (as->Flags & CUDA_ARRAY3D_CUBEMAP && !is_cubes(as)) return CUDA_ERROR_INVALID_VALUE;
    size_t channel = banksim_channel_bytes(as->Format);
    if (!channel) return banksim_missing("a CUDA array of such a format");
    if (as->NumChannels != 1 && as->NumChannels != 2 && as->NumChannels != 4) return CUDA_ERROR_INVALID_VALUE;
    CUarray array = banksim_zeroed(sizeof *array);
    array->as = *as;
    array->element = channel * as->NumChannels;
    array->pitch = as->Width * array->element;
    array->rows = as->Height ? as->Height : 1;
    array->layers = as->Depth ? as->Depth : 1;
    CUresult failed = banksim_allocate(array->pitch * array->rows * array->layers, DEVICE, 0, &array->start);
    if (failed) free(array);
    else *made = array;
    return failed;
}

CUresult cuArrayCreate(CUarray *made, const CUDA_ARRAY_DESCRIPTOR *as) {
    if (!as) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR whole = {as->Width, as->Height, 0, as->Format, as->NumChannels, 0};
    return cuArray3DCreate(made, &whole);
}

CUresult cuArrayDestroy(CUarray array) {
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    CUresult failed = cuMemFree(array->start);
    if (!failed) free(array);
    return failed;
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *as, CUarray array) {
    if (!as || !array) return CUDA_ERROR_INVALID_HANDLE;
    *as = array->as;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *as, CUarray array) {
    if (!as || !array) return CUDA_ERROR_INVALID_HANDLE;
    *as = (CUDA_ARRAY_DESCRIPTOR){array->as.Width, array->as.Height, array->as.Format, array->as.NumChannels};
    return CUDA_SUCCESS;
}

/* ---- mipmapped arrays, which have one level here: the array itself */
CUresult cuMipmappedArrayCreate(CUmipmappedArray *made, const CUDA_ARRAY3D_DESCRIPTOR *as, unsigned levels) {
    if (levels > 1) return banksim_missing("a mipmapped array of several levels");
    return cuArray3DCreate((CUarray *)made, as);
}
CUresult cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray of, unsigned level) {
    if (!array || !of || level) return CUDA_ERROR_INVALID_VALUE;
    *array = (CUarray)of;
    return CUDA_SUCCESS;
}

/* ---- copies of bytes in a row */
static CUdeviceptr at(CUarray array, size_t offset) { return array ? array->start + offset : 0; }

CUresult cuMemcpyHtoAAsync(CUarray to, size_t offset, const void *from, size_t size, CUstream stream) {
    return cuMemcpyHtoDAsync(at(to, offset), from, size, stream);
}
CUresult cuMemcpyAtoHAsync(void *to, CUarray from, size_t offset, size_t size, CUstream stream) {
    return cuMemcpyDtoHAsync(to, at(from, offset), size, stream);
}
CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t size) {
    return cuMemcpyDtoD(at(to, offset), from, size);
}
CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t size) {
    return cuMemcpyDtoD(to, at(from, offset), size);
}
CUresult cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size) {
    return cuMemcpyDtoD(at(to, to_offset), at(from, from_offset), size);
}
