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
/* As one H200's cuSOLVER does, invalid values among the arguments are told by their place behind the handle, below zero,
   where a function says otherwise whether it failed; getrs tells none. Sizes of getrf with pivots are not looked at, nor
   those of which only the working memory is asked, but for orders of eigenvalue problems. */
static cusolverStatus_t refused(cusolverDnHandle_t h, int place, int *info) {
    int value = -place;
    if (info) cudaMemcpyAsync(info, &value, sizeof value, cudaMemcpyHostToDevice, h->stream);
    return CUSOLVER_STATUS_INVALID_VALUE;
}
#define WANT(PLACE, CONDITION) \
    NEED(h);                   \
    if (!(CONDITION)) return refused(h, PLACE, info)
#define COUNT(PLACE, N) WANT(PLACE, (N) >= 0)
#define LEADING(PLACE, LEADING, ROWS) WANT(PLACE, (LEADING) >= ((ROWS) > 1 ? (ROWS) : 1))
#define ONE_OF(PLACE, VALUE, COUNT) WANT(PLACE, (unsigned)(VALUE) < (COUNT))
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
            COUNT(1, m);                                                                                               \
            COUNT(2, n);                                                                                               \
            LEADING(4, lda, m);                                                                                        \
        }                                                                                                              \
        COMPUTE(#L "getrf", m, n, P(a), lda, P(pivots), P(info));                                                      \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##getrs(cusolverDnHandle_t h, cublasOperation_t op, int n, int nrhs, const T *a,     \
                                          int lda, const int *pivots, T *b, int ldb, int *told) {                      \
        int *const info = NULL;                                                                                        \
        ONE_OF(1, op, 3);                                                                                              \
        COUNT(2, n);                                                                                                   \
        COUNT(3, nrhs);                                                                                                \
        LEADING(5, lda, n);                                                                                            \
        LEADING(8, ldb, n);                                                                                            \
        COMPUTE(#L "getrs", op, n, nrhs, P(a), lda, P(pivots), P(b), ldb, P(told));                                    \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a,         \
                                                     int lda, int *size) {                                             \
        SIZE(n * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work,  \
                                          int size, int *info) {                                                       \
        ONE_OF(1, uplo, 2);                                                                                            \
        COUNT(2, n);                                                                                                   \
        LEADING(4, lda, n);                                                                                            \
        COMPUTE(#L "potrf", uplo, n, P(a), lda, P(info));                                                              \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##potrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int nrhs, const T *a,    \
                                          int lda, T *b, int ldb, int *info) {                                         \
        ONE_OF(1, uplo, 2);                                                                                            \
        COUNT(2, n);                                                                                                   \
        COUNT(3, nrhs);                                                                                                \
        LEADING(5, lda, n);                                                                                            \
        LEADING(7, ldb, n);                                                                                            \
        COMPUTE(#L "potrs", uplo, n, nrhs, P(a), lda, P(b), ldb, P(info));                                             \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##geqrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *size) {   \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *tau, T *work,          \
                                          int size, int *info) {                                                       \
        COUNT(1, m);                                                                                                   \
        COUNT(2, n);                                                                                                   \
        LEADING(4, lda, m);                                                                                            \
        COMPUTE(#L "geqrf", m, n, P(a), lda, P(tau), P(info));                                                         \
    }
#define IS_JOB(JOB) ((JOB) == 'A' || (JOB) == 'S' || (JOB) == 'O' || (JOB) == 'N')
#define HAS_PLACE(JOB) ((JOB) == 'A' || (JOB) == 'S')
#define EIGENVALUES(OF_MODE)                                                                                           \
    ONE_OF(OF_MODE, mode, 2);                                                                                          \
    ONE_OF(OF_MODE + 1, uplo, 2);                                                                                      \
    COUNT(OF_MODE + 2, n);                                                                                             \
    LEADING(OF_MODE + 4, lda, n)
/* `G`: what LAPACK calls matrices with orthonormal columns of this type; `E`: symmetric ones. */
#define OTHERS(L, T, R, G, E)                                                                                          \
    cusolverStatus_t cusolverDn##L##G##gqr_bufferSize(cusolverDnHandle_t h, int m, int n, int k, const T *a, int lda,  \
                                                      const T *tau, int *size) {                                       \
        SIZE(m * n);                                                                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##G##gqr(cusolverDnHandle_t h, int m, int n, int k, T *a, int lda, const T *tau,     \
                                           T *work, int size, int *info) {                                             \
        COUNT(1, m);                                                                                                   \
        WANT(2, n >= 0 && n <= m);                                                                                     \
        WANT(3, k >= 0 && k <= n);                                                                                     \
        LEADING(5, lda, m);                                                                                            \
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
        ONE_OF(1, side, 2);                                                                                            \
        ONE_OF(2, op, sizeof(T) == sizeof(R) ? 2 : 3);                                                                 \
        COUNT(3, m);                                                                                                   \
        COUNT(4, n);                                                                                                   \
        WANT(5, k >= 0 && k <= (side ? n : m));                                                                        \
        LEADING(7, lda, side ? n : m);                                                                                 \
        LEADING(10, ldc, m);                                                                                           \
        COMPUTE(#L "ormqr", side, op, m, n, k, P(a), lda, P(tau), P(c), ldc, P(info));                                 \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##L##gesvd_bufferSize(cusolverDnHandle_t h, int m, int n, int *size) { SIZE(m * n); }   \
    cusolverStatus_t cusolverDn##L##gesvd(cusolverDnHandle_t h, signed char jobu, signed char jobvt, int m, int n,     \
                                          T *a, int lda, R *s, T *u, int ldu, T *vt, int ldvt, T *work, int size,      \
                                          R *more, int *info) {                                                        \
        WANT(1, IS_JOB(jobu));                                                                                         \
        WANT(2, IS_JOB(jobvt) && !(jobu == 'O' && jobvt == 'O'));                                                      \
        COUNT(3, m);                                                                                                   \
        COUNT(4, n);                                                                                                   \
        WANT(0, m >= n);                                                                                               \
        LEADING(6, lda, m);                                                                                            \
        LEADING(9, ldu, HAS_PLACE(jobu) ? m : 1);                                                                      \
        LEADING(11, ldvt, HAS_PLACE(jobvt) ? n : 1);                                                                   \
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
        EIGENVALUES(1);                                                                                                \
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
        WANT(1, type >= CUSOLVER_EIG_TYPE_1 && type <= CUSOLVER_EIG_TYPE_3);                                           \
        EIGENVALUES(2);                                                                                                \
        LEADING(8, ldb, n);                                                                                            \
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
        EIGENVALUES(1);                                                                                                \
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
                                                  int n, T *a, int lda, R *w, T *work, int size, int *told,            \
                                                  syevjInfo_t how, int count) {                                        \
        int *const info = NULL;                                                                                        \
        EIGENVALUES(1);                                                                                                \
        COMPUTE(#L "syevj", mode, uplo, n, P(a), lda, P(w), how->sweeps, how->sorted, count, P(told));                 \
    }
LINEAR(S, float)
LINEAR(D, double)
LINEAR(C, cuComplex)
LINEAR(Z, cuDoubleComplex)
OTHERS(S, float, float, or, sy)
OTHERS(D, double, double, or, sy)
OTHERS(C, cuComplex, float, un, he)
OTHERS(Z, cuDoubleComplex, double, un, he)
