/* What CUDA 13 removed, and older programs still use. Included before every source that banksim run compiles. */
#ifndef BANKSIM_COMPATIBILITY_H
#define BANKSIM_COMPATIBILITY_H
#include <cuda_runtime.h>

#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#define cudaThreadGetLimit cudaDeviceGetLimit
#define cudaThreadSetLimit cudaDeviceSetLimit
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig
#define cudaThreadGetCacheConfig cudaDeviceGetCacheConfig

#ifdef __cplusplus
/* The properties of a device, with those that CUDA 13 has made attributes. */
struct banksim_properties : cudaDeviceProp {
    int clockRate, memoryClockRate, deviceOverlap, computeMode, kernelExecTimeoutEnabled;
    int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};

static inline cudaError_t banksim_get_properties(banksim_properties *properties, int device) {
    cudaError_t error = cudaGetDeviceProperties(properties, device);
    if (error != cudaSuccess) return error;
    cudaDeviceGetAttribute(&properties->clockRate, cudaDevAttrClockRate, device);
    cudaDeviceGetAttribute(&properties->memoryClockRate, cudaDevAttrMemoryClockRate, device);
    cudaDeviceGetAttribute(&properties->deviceOverlap, cudaDevAttrGpuOverlap, device);
    cudaDeviceGetAttribute(&properties->computeMode, cudaDevAttrComputeMode, device);
    cudaDeviceGetAttribute(&properties->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout, device);
    cudaDeviceGetAttribute(&properties->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio,
                           device);
    properties->cooperativeMultiDeviceLaunch = 0;
    return cudaSuccess;
}
#define cudaDeviceProp banksim_properties
#define cudaGetDeviceProperties banksim_get_properties

/* Devices were named by their numbers, not by a cudaMemLocation. */
static inline cudaMemLocation banksim_location(int device) {
    cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}
static inline cudaError_t cudaMemPrefetchAsync(const void *start, size_t size, int device, cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(start, size, banksim_location(device), 0, stream);
}
static inline cudaError_t cudaMemAdvise(const void *start, size_t size, cudaMemoryAdvise advice, int device) {
    return cudaMemAdvise(start, size, advice, banksim_location(device));
}

/* What lanes of a warp told each other before programs named these lanes: all that were active did. (__any is left out:
   headers of CUDA 13 name something of their own so.) */
#if __CUDA_ARCH__ >= 700
#define __all(predicate) __all_sync(__activemask(), predicate)
#define __ballot(predicate) __ballot_sync(__activemask(), predicate)
template <class T> static __device__ inline T __shfl(T value, int lane, int width = warpSize) {
    return __shfl_sync(__activemask(), value, lane, width);
}
template <class T> static __device__ inline T __shfl_up(T value, unsigned int delta, int width = warpSize) {
    return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T> static __device__ inline T __shfl_down(T value, unsigned int delta, int width = warpSize) {
    return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T> static __device__ inline T __shfl_xor(T value, int mask, int width = warpSize) {
    return __shfl_xor_sync(__activemask(), value, mask, width);
}
#endif
#endif
#endif
