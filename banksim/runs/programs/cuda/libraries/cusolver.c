/* The stand-in for libcusolver.so.12: dense systems of equations, factors, eigenvalues and singular values. banksim
   computes them (libraries/cusolver.py). */
#include "cusolverDn.h"
#include "library_calls.h"

#include <stdlib.h>

struct cusolverDnContext {
    cudaStream_t stream;
};
struct syevjInfo {
    int sweeps, sorted;
};

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
    if (!handle) return CUSOLVER_STATUS_INVALID_VALUE;
    if (banksim_connect() || banksim_fault) return CUSOLVER_STATUS_NOT_INITIALIZED;
    *handle = banksim_zeroed(sizeof **handle);
    return CUSOLVER_STATUS_SUCCESS;
}
#define NEED(h) \
    if (!(h)) return CUSOLVER_STATUS_NOT_INITIALIZED
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
    NEED(handle);
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    NEED(handle);
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream) {
    NEED(handle);
    if (!stream) return CUSOLVER_STATUS_INVALID_VALUE;
    *stream = handle->stream;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetVersion(int *version) {
    if (!version) return CUSOLVER_STATUS_INVALID_VALUE;
    *version = CUSOLVER_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- how eigenvalues are looked for by Jacobi's method */
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *how) {
    if (!how) return CUSOLVER_STATUS_INVALID_VALUE;
    *how = banksim_zeroed(sizeof **how);
    (*how)->sweeps = 100;
    (*how)->sorted = 1;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t how) {
    free(how);
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t how, double tolerance) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t how, int sweeps) {
    how->sweeps = sweeps;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t how, int sorted) {
    how->sorted = sorted;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- what banksim computes. No working memory is needed here; programs are told a size that they can allocate. */
#define P(p) (uint64_t)(uintptr_t)(p)
/* Sizes that are none, and leading dimensions below them, are invalid values (cuSOLVER's guide, at each function), but
   one H200's cuSOLVER does not return so for them from getrf with pivots, nor where it tells the size of working
   memory, except for orders of eigenvalue problems. */
#define SHAPE(ROWS, COLUMNS, LEADING)                                                          \
    NEED(h);                                                                                   \
    if ((ROWS) < 0 || (COLUMNS) < 0 || (LEADING) < ((ROWS) > 1 ? (ROWS) : 1)) return CUSOLVER_STATUS_INVALID_VALUE
#define COMPUTE(NAME, ...)                                                                                     \
    NEED(h);                                                                                                   \
    const uint64_t words[] = {__VA_ARGS__};                                                                    \
    CUresult failed = banksim_compute(h->stream, "cuSOLVER", NAME, words, sizeof words / sizeof *words, 0, 0); \
    return !failed                             ? CUSOLVER_STATUS_SUCCESS                                       \
           : failed == CUDA_ERROR_NOT_SUPPORTED ? CUSOLVER_STATUS_NOT_SUPPORTED                                \
                                                : CUSOLVER_STATUS_EXECUTION_FAILED
#define SIZE(VALUE)                     \
    NEED(h);                            \
    *size = (VALUE) > 0 ? (VALUE) : 16; \
    return CUSOLVER_STATUS_SUCCESS
#define ORDER(N) \
    NEED(h);     \
    if ((N) < 0) return CUSOLVER_STATUS_INVALID_VALUE
#define LINEAR(L, T)                                                                                                   \
    cusolverStatus_t cusolverDn##L##getrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *size) {   \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##getrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *work, int *pivots,     \
                                          int *info) {                                                                 \
        if (!pivots) {                                                                                                 \
            SHAPE(m, n, lda);                                                                                          \
        }                                                                                                              \
        COMPUTE(#L "getrf", m, n, P(a), lda, P(pivots), P(info));                                                      \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##getrs(cusolverDnHandle_t h, cublasOperation_t op, int n, int nrhs, const T *a,     \
                                          int lda, const int *pivots, T *b, int ldb, int *info) {                      \
        SHAPE(n, n, lda);                                                                                              \
        SHAPE(n, nrhs, ldb);                                                                                           \
        COMPUTE(#L "getrs", op, n, nrhs, P(a), lda, P(pivots), P(b), ldb, P(info));                                    \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a,         \
                                                     int lda, int *size) {                                             \
        SIZE(n * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work,  \
                                          int size, int *info) {                                                       \
        SHAPE(n, n, lda);                                                                                              \
        COMPUTE(#L "potrf", uplo, n, P(a), lda, P(info));                                                              \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int nrhs, const T *a,    \
                                          int lda, T *b, int ldb, int *info) {                                         \
        SHAPE(n, n, lda);                                                                                              \
        SHAPE(n, nrhs, ldb);                                                                                           \
        COMPUTE(#L "potrs", uplo, n, nrhs, P(a), lda, P(b), ldb, P(info));                                             \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##geqrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *size) {   \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *tau, T *work,          \
                                          int size, int *info) {                                                       \
        SHAPE(m, n, lda);                                                                                              \
        COMPUTE(#L "geqrf", m, n, P(a), lda, P(tau), P(info));                                                         \
    }
/* `G`: what LAPACK calls matrices with orthonormal columns of this type; `E`: symmetric ones. */
#define OTHERS(L, T, R, G, E)                                                                                          \
    cusolverStatus_t cusolverDn##L##G##gqr_bufferSize(cusolverDnHandle_t h, int m, int n, int k, const T *a, int lda,  \
                                                      const T *tau, int *size) {                                       \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##G##gqr(cusolverDnHandle_t h, int m, int n, int k, T *a, int lda, const T *tau,     \
                                           T *work, int size, int *info) {                                             \
        SHAPE(m, n, lda);                                                                                              \
        if (k < 0 || k > n || n > m) return CUSOLVER_STATUS_INVALID_VALUE;                                             \
        COMPUTE(#L "orgqr", m, n, k, P(a), lda, P(tau), P(info));                                                      \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##G##mqr_bufferSize(cusolverDnHandle_t h, cublasSideMode_t side,                     \
                                                      cublasOperation_t op, int m, int n, int k, const T *a, int lda,  \
                                                      const T *tau, const T *c, int ldc, int *size) {                  \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##G##mqr(cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t op, int m,   \
                                           int n, int k, const T *a, int lda, const T *tau, T *c, int ldc, T *work,    \
                                           int size, int *info) {                                                      \
        SHAPE(side ? n : m, k, lda);                                                                                   \
        SHAPE(m, n, ldc);                                                                                              \
        COMPUTE(#L "ormqr", side, op, m, n, k, P(a), lda, P(tau), P(c), ldc, P(info));                                 \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##gesvd_bufferSize(cusolverDnHandle_t h, int m, int n, int *size) { SIZE(m * n); }    \
    cusolverStatus_t cusolverDn##L##gesvd(cusolverDnHandle_t h, signed char jobu, signed char jobvt, int m, int n,     \
                                          T *a, int lda, R *s, T *u, int ldu, T *vt, int ldvt, T *work, int size,      \
                                          R *more, int *info) {                                                        \
        if (m < n) return CUSOLVER_STATUS_INVALID_VALUE;                                                               \
        SHAPE(m, n, lda);                                                                                              \
        COMPUTE(#L "gesvd", jobu, jobvt, m, n, P(a), lda, P(s), P(u), ldu, P(vt), ldvt, P(info));                      \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evd_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t mode,                    \
                                                      cublasFillMode_t uplo, int n, const T *a, int lda, const R *w,   \
                                                      int *size) {                                                     \
        ORDER(n);                                                                                                      \
        SIZE(n * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evd(cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t uplo, int n, \
                                           T *a, int lda, R *w, T *work, int size, int *info) {                        \
        SHAPE(n, n, lda);                                                                                              \
        COMPUTE(#L "syevd", mode, uplo, n, P(a), lda, P(w), P(info));                                                  \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##gvd_bufferSize(cusolverDnHandle_t h, cusolverEigType_t type,                    \
                                                      cusolverEigMode_t mode, cublasFillMode_t uplo, int n,            \
                                                      const T *a, int lda, const T *b, int ldb, const R *w,            \
                                                      int *size) {                                                     \
        ORDER(n);                                                                                                      \
        SIZE(n * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##gvd(cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t mode,       \
                                           cublasFillMode_t uplo, int n, T *a, int lda, T *b, int ldb, R *w, T *work,  \
                                           int size, int *info) {                                                      \
        SHAPE(n, n, lda);                                                                                              \
        SHAPE(n, n, ldb);                                                                                              \
        COMPUTE(#L "sygvd", type, mode, uplo, n, P(a), lda, P(b), ldb, P(w), P(info));                                 \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evj_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t mode,                    \
                                                      cublasFillMode_t uplo, int n, const T *a, int lda, const R *w,   \
                                                      int *size, syevjInfo_t how) {                                    \
        ORDER(n);                                                                                                      \
        SIZE(n * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evj(cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t uplo, int n, \
                                           T *a, int lda, R *w, T *work, int size, int *info, syevjInfo_t how) {       \
        SHAPE(n, n, lda);                                                                                              \
        COMPUTE(#L "syevj", mode, uplo, n, P(a), lda, P(w), how->sweeps, how->sorted, 1, P(info));                     \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evjBatched_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t mode,             \
                                                             cublasFillMode_t uplo, int n, const T *a, int lda,        \
                                                             const R *w, int *size, syevjInfo_t how, int count) {      \
        ORDER(n);                                                                                                      \
        ORDER(count);                                                                                                  \
        SIZE(n * n * count);                                                                                           \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##E##evjBatched(cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t uplo, \
                                                  int n, T *a, int lda, R *w, T *work, int size, int *info,            \
                                                  syevjInfo_t how, int count) {                                        \
        SHAPE(n, n, lda);                                                                                              \
        COMPUTE(#L "syevj", mode, uplo, n, P(a), lda, P(w), how->sweeps, how->sorted, count, P(info));                 \
    }
LINEAR(S, float)
LINEAR(D, double)
LINEAR(C, cuComplex)
LINEAR(Z, cuDoubleComplex)
OTHERS(S, float, float, or, sy)
OTHERS(D, double, double, or, sy)
OTHERS(C, cuComplex, float, un, he)
OTHERS(Z, cuDoubleComplex, double, un, he)
