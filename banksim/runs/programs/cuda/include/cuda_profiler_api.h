/* NVIDIA has this header in a wheel of its own; where that is installed, or a toolkit, theirs is found first. */
#ifndef BANKSIM_CUDA_PROFILER_API_H
#define BANKSIM_CUDA_PROFILER_API_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t CUDARTAPI cudaProfilerStart(void);
cudaError_t CUDARTAPI cudaProfilerStop(void);
#ifdef __cplusplus
}
#endif
#endif
