/* What a pointer points to: its allocation, and the attributes of that. */
#include "memory.h"

#include <string.h>

CUresult cuMemGetAddressRange(CUdeviceptr *start, size_t *size, CUdeviceptr address) {
    struct memory *found = banksim_find(address);
    if (!found) return CUDA_ERROR_NOT_FOUND;
    if (start) *start = found->start;
    if (size) *size = found->size;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute which, CUdeviceptr address) {
    struct memory *own = banksim_registered((void *)address), *found = own ? own : banksim_find(address);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr seen = own ? own->start + (address - (CUdeviceptr)own->host) : address;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return cuCtxGetCurrent(value);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = found->kind == PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = found->hidden ? 0 : seen; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (found->kind == DEVICE) return CUDA_ERROR_INVALID_VALUE;
        *(void **)value = (void *)address;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)value = banksim_number(found); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = found->kind == MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)value = found->start; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)value = found->size; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)value = 1; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **values, CUdeviceptr address) {
    for (unsigned n = 0; n < count; n++)
        if (cuPointerGetAttribute(values[n], which[n], address)) memset(values[n], 0, sizeof(int));
    return CUDA_SUCCESS;
}
