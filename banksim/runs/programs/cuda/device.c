/* The device, its context, and what they say of themselves: one GPU of the architecture that banksim was given. */
#include "connection.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUctx_st {
    unsigned flags;
};
static struct CUctx_st primary;
static __thread CUcontext stack[64];
static __thread int depth;
#define LIMITS                                                                                                        \
    {[CU_LIMIT_STACK_SIZE] = 1024, [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20, [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,       \
     [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048}
static const size_t first_limits[CU_LIMIT_MAX] = LIMITS;
static size_t limits[CU_LIMIT_MAX] = LIMITS;

/* ---- attributes: lines of a number and a value, behind a line with the name */
static int attributes[CU_DEVICE_ATTRIBUTE_MAX + 1];
static char device_name[256];
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static void ask_attributes(void) {
    struct answer answer = banksim_ask('A', "", 0);
    char *save, *line = strtok_r(answer.bytes, "\n", &save);
    snprintf(device_name, sizeof device_name, "%s", line ? line : "");
    while ((line = strtok_r(NULL, "\n", &save))) {
        int number, value;
        if (sscanf(line, "%d %d", &number, &value) == 2 && number >= 0 && number <= CU_DEVICE_ATTRIBUTE_MAX)
            attributes[number] = value;
    }
    free(answer.bytes);
}

int banksim_attribute(CUdevice_attribute which) {
    if (banksim_connect()) return 0;
    pthread_once(&asked, ask_attributes);
    return which > 0 && which <= CU_DEVICE_ATTRIBUTE_MAX ? attributes[which] : 0;
}

CUresult cuInit(unsigned flags) { return banksim_connect(); }
CUresult cuDriverGetVersion(int *version) { GIVE(version, CUDA_VERSION); }
CUresult cuDeviceGetCount(int *count) {
    CUresult failed = banksim_connect();
    *count = !failed;
    return failed;
}
CUresult cuDeviceGet(CUdevice *device, int number) {
    if (number) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    banksim_attribute(1);
    snprintf(name, size, "%s", device_name);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    memset(uuid, 0, sizeof *uuid);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device) {
    memset(luid, 0, 8);
    *mask = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *size, CUdevice device) {
    size_t available;
    return device ? CUDA_ERROR_INVALID_DEVICE : cuMemGetInfo(&available, size);
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    if (which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX || !value) return CUDA_ERROR_INVALID_VALUE;
    *value = banksim_attribute(which);
    return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    *major = banksim_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = banksim_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
    snprintf(text, size, "0000:00:00.0");
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text) { GIVE(device, 0); }
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    *can = 0;
    return device || peer ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) { return CUDA_ERROR_INVALID_DEVICE; }
CUresult cuCtxDisablePeerAccess(CUcontext peer) { return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED; }

/* ---- contexts: the primary one, and others that share its memory */
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    CUresult failed = banksim_connect();
    *context = failed ? NULL : &primary;
    return failed;
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    CUresult failed = banksim_connect();
    if (failed) return failed;
    banksim_collect();
    banksim_flush();
    banksim_forget_memory();
    banksim_tell('R', "", 0);
    banksim_fault = banksim_pending = CUDA_SUCCESS;
    for (int which = 0; which < CU_LIMIT_MAX; which++) cuCtxSetLimit(which, first_limits[which]);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    primary.flags = flags;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    *flags = primary.flags;
    *active = 1;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) { GIVE(context, depth ? stack[depth - 1] : NULL); }
CUresult cuCtxPushCurrent(CUcontext context) {
    if (depth == sizeof stack / sizeof *stack) return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *context) {
    if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (context) *context = stack[depth];
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    if (depth) depth--;
    return context ? cuCtxPushCurrent(context) : CUDA_SUCCESS;
}
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
    CUresult failed = device ? CUDA_ERROR_INVALID_DEVICE : banksim_connect();
    if (failed) return failed;
    *context = banksim_zeroed(sizeof **context);
    (*context)->flags = flags;
    return cuCtxPushCurrent(*context);
}
#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    return cuCtxCreate_v4(context, NULL, flags, device);
}
CUresult cuCtxDestroy(CUcontext context) {
    banksim_flush();
    if (depth && stack[depth - 1] == context) depth--;
    if (context != &primary) free(context);
    return CUDA_SUCCESS;
}
#undef cuCtxGetDevice
CUresult cuCtxGetDevice(CUdevice *device) {
    *device = 0;
    return depth ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context) { GIVE(device, 0); }
#undef cuCtxSynchronize
CUresult cuCtxSynchronize(void) {
    BEGIN();
    return banksim_wait();
}
CUresult cuCtxSynchronize_v2(CUcontext context) { return cuCtxSynchronize(); }
CUresult cuCtxGetFlags(unsigned *flags) { GIVE(flags, depth ? stack[depth - 1]->flags : 0); }
CUresult cuCtxGetId(CUcontext context, unsigned long long *id) { GIVE(id, 1); }
CUresult cuCtxGetLimit(size_t *value, CUlimit which) {
    if (which < 0 || which >= CU_LIMIT_MAX || !value) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = limits[which];
    return CUDA_SUCCESS;
}
static size_t in_pieces(size_t bytes) { return (bytes + 15) / 16 * 16; }
CUresult cuCtxSetLimit(CUlimit which, size_t value) {
    BEGIN();
    if (which < 0 || which >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (which == CU_LIMIT_STACK_SIZE) { /* As one H200 answered. From where on above 262,160 it refused is not known. */
        if (value >= 524272) return CUDA_ERROR_INVALID_VALUE;
        if (in_pieces(value) != in_pieces(limits[which])) value = in_pieces(value);
    }
    limits[which] = value;
    uint64_t bytes = value;
    if (which == CU_LIMIT_MALLOC_HEAP_SIZE) banksim_tell('H', &bytes, sizeof bytes);
    if (which == CU_LIMIT_STACK_SIZE) banksim_tell('P', &bytes, sizeof bytes);
    if (which == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) banksim_tell('l', &bytes, sizeof bytes);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCacheConfig(CUfunc_cache *chosen) { GIVE(chosen, CU_FUNC_CACHE_PREFER_NONE); }
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *chosen) { GIVE(chosen, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE); }
CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) { GIVE(version, 3020); }
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
}
CUresult cuProfilerStart(void) { return CUDA_SUCCESS; }
CUresult cuProfilerStop(void) { return CUDA_SUCCESS; }
