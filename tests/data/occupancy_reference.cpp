// Resident blocks by NVIDIA's cuda_occupancy.h (c++ -I DIRECTORY_OF_THE_HEADER). A line of standard input gives a device and a block:
//   major minor threads_of_SM registers_of_block registers_of_SM shared_of_block shared_of_SM opt_in reserved threads registers shared
// and for each one line is printed: error, blocks.
#include <cstdio>
#include "cuda_occupancy.h"
int main() {
    cudaOccDeviceProp device = {};
    cudaOccFuncAttributes function = {};
    cudaOccDeviceState state = {};
    device.maxThreadsPerBlock = function.maxThreadsPerBlock = 1024;
    device.warpSize = 32;
    device.numSms = 1;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.numBlockBarriers = 1;
    state.carveoutConfig = -1;
    int threads, shared;
    while (scanf("%d %d %d %d %d %zu %zu %zu %zu %d %d %d", &device.computeMajor, &device.computeMinor, &device.maxThreadsPerMultiprocessor,
                 &device.regsPerBlock, &device.regsPerMultiprocessor, &device.sharedMemPerBlock, &device.sharedMemPerMultiprocessor,
                 &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock, &threads, &function.numRegs, &shared) == 12) {
        cudaOccResult result = {};
        function.maxDynamicSharedSizeBytes = shared;
        int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared);
        printf("%d %d\n", error, error ? 0 : result.activeBlocksPerMultiprocessor);
    }
}
