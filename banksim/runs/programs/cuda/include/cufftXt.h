/* Of cuFFT's further functions those that banksim has, as NVIDIA documents them: plans by types of values. */
#ifndef _CUFFTXT_H_
#define _CUFFTXT_H_

#include "cufft.h"

#ifdef __cplusplus
extern "C" {
#endif
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, cudaDataType input, long long *onembed, long long ostride,
                                long long odist, cudaDataType output, long long batch, size_t *bytes,
                                cudaDataType execution);
cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                               long long idist, cudaDataType input, long long *onembed, long long ostride,
                               long long odist, cudaDataType output, long long batch, size_t *bytes,
                               cudaDataType execution);
cufftResult cufftXtExec(cufftHandle plan, void *from, void *to, int direction);
#ifdef __cplusplus
}
#endif
#endif
