/* cuBLAS as it was called before CUDA 4.0: no handle, scalars and results by value, errors asked for afterwards. All of
   it calls the functions of cublas_v2.h. */
#ifndef CUBLAS_H_
#define CUBLAS_H_

#include "cublas_v2.h"

#include "banksim_cublas_older.h"

#ifndef BANKSIM_LOCAL
#define BANKSIM_LOCAL static inline
#endif
static cublasHandle_t banksim_cublas;
static cublasStatus_t banksim_cublas_error = CUBLAS_STATUS_SUCCESS;

static inline void banksim_cublas_note(cublasStatus_t status) {
    if (status) banksim_cublas_error = status;
}
static inline cublasOperation_t banksim_cublas_operation(char way) {
    return way == 't' || way == 'T' ? CUBLAS_OP_T : way == 'c' || way == 'C' ? CUBLAS_OP_C : CUBLAS_OP_N;
}
BANKSIM_LOCAL cublasStatus cublasInit(void) {
    return banksim_cublas ? CUBLAS_STATUS_SUCCESS : cublasCreate_v2(&banksim_cublas);
}
BANKSIM_LOCAL cublasStatus cublasShutdown(void) {
    cublasStatus_t status = banksim_cublas ? cublasDestroy_v2(banksim_cublas) : CUBLAS_STATUS_NOT_INITIALIZED;
    banksim_cublas = NULL;
    return status;
}
BANKSIM_LOCAL cublasStatus cublasGetError(void) {
    cublasStatus_t last = banksim_cublas_error;
    banksim_cublas_error = CUBLAS_STATUS_SUCCESS;
    return last;
}
BANKSIM_LOCAL cublasStatus cublasGetVersion(int *version) { return cublasGetVersion_v2(banksim_cublas, version); }
BANKSIM_LOCAL cublasStatus cublasSetKernelStream(cudaStream_t stream) {
    return cublasSetStream_v2(banksim_cublas, stream);
}
BANKSIM_LOCAL cublasStatus cublasAlloc(int count, int size, void **made) {
    if (count <= 0 || size <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    return cudaMalloc(made, (size_t)count * size) ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}
BANKSIM_LOCAL cublasStatus cublasFree(void *memory) {
    return cudaFree(memory) ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

#define BANKSIM_NOTED(NAME, ...) banksim_cublas_note(NAME##_v2(banksim_cublas, __VA_ARGS__))
#include "banksim_cublas_without_handle.h"
#undef BANKSIM_NOTED
#endif
