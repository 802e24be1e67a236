/* Functions that CUDA 13 removed, and that older programs still call. Included before every source that banksim run
   compiles. */
#ifndef BANKSIM_COMPATIBILITY_H
#define BANKSIM_COMPATIBILITY_H
#include <cuda_runtime_api.h>
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#define cudaThreadGetLimit cudaDeviceGetLimit
#define cudaThreadSetLimit cudaDeviceSetLimit
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig
#define cudaThreadGetCacheConfig cudaDeviceGetCacheConfig
#endif
