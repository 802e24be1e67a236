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
#define BANKSIM_BEFORE_HANDLES(S, s, T)                                                                              \
    BANKSIM_LOCAL void cublas##S##axpy(int n, T alpha, const T *x, int incx, T *y, int incy) {                       \
        BANKSIM_NOTED(cublas##S##axpy, n, &alpha, x, incx, y, incy);                                                 \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##copy(int n, const T *x, int incx, T *y, int incy) {                                \
        BANKSIM_NOTED(cublas##S##copy, n, x, incx, y, incy);                                                         \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##swap(int n, T *x, int incx, T *y, int incy) {                                      \
        BANKSIM_NOTED(cublas##S##swap, n, x, incx, y, incy);                                                         \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##scal(int n, T alpha, T *x, int incx) {                                             \
        BANKSIM_NOTED(cublas##S##scal, n, &alpha, x, incx);                                                          \
    }                                                                                                                \
    BANKSIM_LOCAL T cublas##S##dot(int n, const T *x, int incx, const T *y, int incy) {                              \
        T found = 0;                                                                                                 \
        BANKSIM_NOTED(cublas##S##dot, n, x, incx, y, incy, &found);                                                  \
        return found;                                                                                                \
    }                                                                                                                \
    BANKSIM_LOCAL T cublas##S##nrm2(int n, const T *x, int incx) {                                                   \
        T found = 0;                                                                                                 \
        BANKSIM_NOTED(cublas##S##nrm2, n, x, incx, &found);                                                          \
        return found;                                                                                                \
    }                                                                                                                \
    BANKSIM_LOCAL T cublas##S##asum(int n, const T *x, int incx) {                                                   \
        T found = 0;                                                                                                 \
        BANKSIM_NOTED(cublas##S##asum, n, x, incx, &found);                                                          \
        return found;                                                                                                \
    }                                                                                                                \
    BANKSIM_LOCAL int cublasI##s##amax(int n, const T *x, int incx) {                                                \
        int found = 0;                                                                                               \
        BANKSIM_NOTED(cublasI##s##amax, n, x, incx, &found);                                                         \
        return found;                                                                                                \
    }                                                                                                                \
    BANKSIM_LOCAL int cublasI##s##amin(int n, const T *x, int incx) {                                                \
        int found = 0;                                                                                               \
        BANKSIM_NOTED(cublasI##s##amin, n, x, incx, &found);                                                         \
        return found;                                                                                                \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##gemv(char way, int m, int n, T alpha, const T *a, int lda, const T *x, int incx,   \
                                       T beta, T *y, int incy) {                                                     \
        cublasOperation_t op = banksim_cublas_operation(way);                                                        \
        BANKSIM_NOTED(cublas##S##gemv, op, m, n, &alpha, a, lda, x, incx, &beta, y, incy);                           \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##ger(int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *a,       \
                                      int lda) {                                                                     \
        BANKSIM_NOTED(cublas##S##ger, m, n, &alpha, x, incx, y, incy, a, lda);                                       \
    }                                                                                                                \
    BANKSIM_LOCAL void cublas##S##gemm(char waya, char wayb, int m, int n, int k, T alpha, const T *a, int lda,      \
                                       const T *b, int ldb, T beta, T *c, int ldc) {                                 \
        cublasOperation_t opa = banksim_cublas_operation(waya), opb = banksim_cublas_operation(wayb);                \
        BANKSIM_NOTED(cublas##S##gemm, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);                    \
    }
BANKSIM_BEFORE_HANDLES(S, s, float)
BANKSIM_BEFORE_HANDLES(D, d, double)
#undef BANKSIM_BEFORE_HANDLES
#undef BANKSIM_NOTED
#endif
