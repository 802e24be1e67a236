/* The device, errors and versions of the runtime API. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

static __thread cudaError_t last;
static __thread bool ready;

cudaError_t banksim_done(int error) {
    if (error) last = (cudaError_t)error;
    return (cudaError_t)error;
}

CUresult banksim_begin(void) {
    CUcontext context;
    if (ready) return banksim_connect(); /* which fails in a child */
    CUresult failed = cuDevicePrimaryCtxRetain(&context, 0);
    if (!failed) failed = cuCtxSetCurrent(context);
    ready = !failed;
    return failed;
}

/* ---- errors */
static const struct {
    int error;
    const char *name;
} names[] = {
#include "error_names.h" /* generated from driver_types.h */
};

cudaError_t cudaGetLastError(void) {
    cudaError_t found = last;
    last = cudaSuccess;
    return found;
}
cudaError_t cudaPeekAtLastError(void) { return last; }
const char *cudaGetErrorName(cudaError_t error) {
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (names[n].error == (int)error) return names[n].name;
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error) {
    const char *text;
    switch ((int)error) { /* errors that the driver does not have */
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidPitchValue: return "invalid pitch argument";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorMissingConfiguration: return "__global__ function call is not configured";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    }
    return cuGetErrorString((CUresult)error, &text) ? cudaGetErrorName(error) : text;
}

/* ---- the device */
static int attribute(CUdevice_attribute which) {
    int value = 0;
    cuDeviceGetAttribute(&value, which, 0);
    return value;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 0;
    DRIVER(cuDeviceGetCount(count));
}
cudaError_t cudaGetDevice(int *device) {
    BEGIN();
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    BEGIN();
    return banksim_done(device ? cudaErrorInvalidDevice : cudaSuccess);
}
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) { return cudaSetDevice(device); }
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) { return cudaGetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned flags) { DRIVER(cuDevicePrimaryCtxSetFlags(0, flags)); }
cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    int active;
    DRIVER(cuDevicePrimaryCtxGetState(0, flags, &active));
}
cudaError_t cudaDeviceReset(void) { DRIVER(cuDevicePrimaryCtxReset(0)); }
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *chosen) {
    *chosen = cudaFuncCachePreferNone;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *chosen) {
    *chosen = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { return banksim_done(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return banksim_done(cudaErrorPeerAccessNotEnabled); }
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int device, int peer) {
    return banksim_done(cudaErrorInvalidDevice); /* there is only one */
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    BEGIN();
    if (device) return banksim_done(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    cuDeviceGetName(p->name, sizeof p->name, 0);
    cuDeviceTotalMem(&p->totalGlobalMem, 0);
#define PROPERTY(FIELD, WHICH) p->FIELD = attribute(CU_DEVICE_ATTRIBUTE_##WHICH)
#define PROPERTIES_2(FIELD, WHICH, A, B) PROPERTY(FIELD[0], WHICH##A), PROPERTY(FIELD[1], WHICH##B)
#define PROPERTIES_3(FIELD, WHICH, A, B, C) PROPERTIES_2(FIELD, WHICH, A, B), PROPERTY(FIELD[2], WHICH##C)
    PROPERTY(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
    PROPERTY(regsPerBlock, MAX_REGISTERS_PER_BLOCK);
    PROPERTY(warpSize, WARP_SIZE);
    PROPERTY(memPitch, MAX_PITCH);
    PROPERTY(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    PROPERTIES_3(maxThreadsDim, MAX_BLOCK_DIM_, X, Y, Z);
    PROPERTIES_3(maxGridSize, MAX_GRID_DIM_, X, Y, Z);
    PROPERTY(totalConstMem, TOTAL_CONSTANT_MEMORY);
    PROPERTY(major, COMPUTE_CAPABILITY_MAJOR);
    PROPERTY(minor, COMPUTE_CAPABILITY_MINOR);
    PROPERTY(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH);
    PROPERTY(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
    PROPERTIES_2(maxTexture2D, MAXIMUM_TEXTURE2D_, WIDTH, HEIGHT);
    PROPERTIES_2(maxTexture2DMipmap, MAXIMUM_TEXTURE2D_MIPMAPPED_, WIDTH, HEIGHT);
    PROPERTIES_3(maxTexture2DLinear, MAXIMUM_TEXTURE2D_LINEAR_, WIDTH, HEIGHT, PITCH);
    PROPERTIES_2(maxTexture2DGather, MAXIMUM_TEXTURE2D_GATHER_, WIDTH, HEIGHT);
    PROPERTIES_3(maxTexture3D, MAXIMUM_TEXTURE3D_, WIDTH, HEIGHT, DEPTH);
    PROPERTIES_3(maxTexture3DAlt, MAXIMUM_TEXTURE3D_, WIDTH_ALTERNATE, HEIGHT_ALTERNATE, DEPTH_ALTERNATE);
    PROPERTY(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH);
    PROPERTIES_2(maxTexture1DLayered, MAXIMUM_TEXTURE1D_LAYERED_, WIDTH, LAYERS);
    PROPERTIES_3(maxTexture2DLayered, MAXIMUM_TEXTURE2D_LAYERED_, WIDTH, HEIGHT, LAYERS);
    PROPERTIES_2(maxTextureCubemapLayered, MAXIMUM_TEXTURECUBEMAP_LAYERED_, WIDTH, LAYERS);
    PROPERTY(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH);
    PROPERTIES_2(maxSurface2D, MAXIMUM_SURFACE2D_, WIDTH, HEIGHT);
    PROPERTIES_3(maxSurface3D, MAXIMUM_SURFACE3D_, WIDTH, HEIGHT, DEPTH);
    PROPERTIES_2(maxSurface1DLayered, MAXIMUM_SURFACE1D_LAYERED_, WIDTH, LAYERS);
    PROPERTIES_3(maxSurface2DLayered, MAXIMUM_SURFACE2D_LAYERED_, WIDTH, HEIGHT, LAYERS);
    PROPERTY(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH);
    PROPERTIES_2(maxSurfaceCubemapLayered, MAXIMUM_SURFACECUBEMAP_LAYERED_, WIDTH, LAYERS);
    PROPERTY(textureAlignment, TEXTURE_ALIGNMENT);
    PROPERTY(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT);
    PROPERTY(multiProcessorCount, MULTIPROCESSOR_COUNT);
    PROPERTY(integrated, INTEGRATED);
    PROPERTY(canMapHostMemory, CAN_MAP_HOST_MEMORY);
    PROPERTY(surfaceAlignment, SURFACE_ALIGNMENT);
    PROPERTY(concurrentKernels, CONCURRENT_KERNELS);
    PROPERTY(ECCEnabled, ECC_ENABLED);
    PROPERTY(tccDriver, TCC_DRIVER);
    PROPERTY(asyncEngineCount, ASYNC_ENGINE_COUNT);
    PROPERTY(unifiedAddressing, UNIFIED_ADDRESSING);
    PROPERTY(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH);
    PROPERTY(l2CacheSize, L2_CACHE_SIZE);
    PROPERTY(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE);
    PROPERTY(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR);
    PROPERTY(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED);
    PROPERTY(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED);
    PROPERTY(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED);
    PROPERTY(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    PROPERTY(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
    PROPERTY(managedMemory, MANAGED_MEMORY);
    PROPERTY(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED);
    PROPERTY(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS);
    PROPERTY(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS);
    PROPERTY(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED);
    PROPERTY(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    PROPERTY(cooperativeLaunch, COOPERATIVE_LAUNCH);
    PROPERTY(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    PROPERTY(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
    PROPERTY(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK);
    PROPERTY(hostRegisterSupported, HOST_REGISTER_SUPPORTED);
    PROPERTY(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED);
    PROPERTY(clusterLaunch, CLUSTER_LAUNCH);
    PROPERTY(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE);
    PROPERTY(isMultiGpuBoard, MULTI_GPU_BOARD);
#undef PROPERTY
    return cudaSuccess;
}

/* ---- versions, and functions of the driver by their names */
cudaError_t cudaDriverGetVersion(int *version) { return banksim_done(cuDriverGetVersion(version)); }
cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status) {
    CUdriverProcAddressQueryResult found;
    CUresult failed = cuGetProcAddress(name, function, version, flags, &found);
    if (status) *status = (enum cudaDriverEntryPointQueryResult)found;
    return failed == CUDA_ERROR_NOT_FOUND ? cudaSuccess : banksim_done(failed);
}
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *status) {
    return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
