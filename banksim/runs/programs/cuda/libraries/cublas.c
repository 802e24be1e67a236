/* The stand-in for libcublas.so.13. Handles are kept here; banksim computes the functions, with NumPy. */
#include "cublas_v2.h"
#include "library_calls.h"

#include <stdlib.h>
#include <string.h>

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t mode;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
};

static cublasStatus_t status_of(CUresult failed) {
    switch (failed) {
    case CUDA_SUCCESS: return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_INVALID_VALUE: return CUBLAS_STATUS_INVALID_VALUE;
    case CUDA_ERROR_NOT_SUPPORTED: return CUBLAS_STATUS_NOT_SUPPORTED;
    default: return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

/* ---- handles */
cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    if (banksim_connect()) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = banksim_zeroed(sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version) {
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t size) { return CUBLAS_STATUS_SUCCESS; }
#define FIELD(NAME, TYPE, MEMBER)                                       \
    cublasStatus_t cublasSet##NAME(cublasHandle_t handle, TYPE value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;              \
        handle->MEMBER = value;                                         \
        return CUBLAS_STATUS_SUCCESS;                                   \
    }                                                                   \
    cublasStatus_t cublasGet##NAME(cublasHandle_t handle, TYPE *value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;              \
        *value = handle->MEMBER;                                        \
        return CUBLAS_STATUS_SUCCESS;                                   \
    }
FIELD(Stream, cudaStream_t, stream)
FIELD(PointerMode, cublasPointerMode_t, mode)
FIELD(MathMode, cublasMath_t, math)
FIELD(AtomicsMode, cublasAtomicsMode_t, atomics)

const char *cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
#define NAME(STATUS) \
    case STATUS: return #STATUS
        NAME(CUBLAS_STATUS_SUCCESS);
        NAME(CUBLAS_STATUS_NOT_INITIALIZED);
        NAME(CUBLAS_STATUS_ALLOC_FAILED);
        NAME(CUBLAS_STATUS_INVALID_VALUE);
        NAME(CUBLAS_STATUS_ARCH_MISMATCH);
        NAME(CUBLAS_STATUS_MAPPING_ERROR);
        NAME(CUBLAS_STATUS_EXECUTION_FAILED);
        NAME(CUBLAS_STATUS_INTERNAL_ERROR);
        NAME(CUBLAS_STATUS_NOT_SUPPORTED);
        NAME(CUBLAS_STATUS_LICENSE_ERROR);
    }
    return "unknown status";
}
const char *cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

/* ---- copies: vectors whose elements lie `inc` apart, and matrices stored by columns */
static cublasStatus_t copy(size_t rows, size_t cols, const void *from, size_t from_pitch, void *to, size_t to_pitch,
                           cudaStream_t stream) {
    if (!rows || !cols) return CUBLAS_STATUS_SUCCESS;
    CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = from_pitch,
                         .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to, .dstPitch = to_pitch,
                         .WidthInBytes = rows, .Height = cols};
    return cuMemcpy2DAsync(&box, stream) ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
#define COPIES(WAY)                                                                                                    \
    cublasStatus_t cublas##WAY##VectorAsync(int n, int size, const void *x, int incx, void *y, int incy,               \
                                            cudaStream_t stream) {                                                     \
        if (n < 0 || size <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;                          \
        return copy(size, n, x, (size_t)incx * size, y, (size_t)incy * size, stream);                                  \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##Vector(int n, int size, const void *x, int incx, void *y, int incy) {                  \
        return cublas##WAY##VectorAsync(n, size, x, incx, y, incy, NULL);                                              \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##MatrixAsync(int rows, int cols, int size, const void *a, int lda, void *b, int ldb,    \
                                            cudaStream_t stream) {                                                     \
        if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows) return CUBLAS_STATUS_INVALID_VALUE;         \
        return copy((size_t)rows * size, cols, a, (size_t)lda * size, b, (size_t)ldb * size, stream);                  \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##Matrix(int rows, int cols, int size, const void *a, int lda, void *b, int ldb) {       \
        return cublas##WAY##MatrixAsync(rows, cols, size, a, lda, b, ldb, NULL);                                       \
    }
COPIES(Set)
COPIES(Get)

/* ---- what banksim computes. The words of a call are its arguments in order. Scalars are values where the pointers
   to them are the host's, else addresses; the first word tells which. */
#define POINTER(p) (uint64_t)(uintptr_t)(p)

static uint64_t scalar(cublasHandle_t handle, const void *pointer, size_t size) {
    uint64_t bits = 0;
    if (handle->mode == CUBLAS_POINTER_MODE_DEVICE) return POINTER(pointer);
    memcpy(&bits, pointer, size);
    return bits;
}

static cublasStatus_t compute(cublasHandle_t handle, const char *name, const uint64_t *words, size_t count,
                              void *result, size_t size) {
    if (handle->mode == CUBLAS_POINTER_MODE_DEVICE) result = NULL;
    return status_of(banksim_compute(handle->stream, "cuBLAS", name, words, count, result, size));
}
#define RESULT(NAME, TO, SIZE, ...)                                                                      \
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;                                                        \
    const uint64_t words[] = {h->mode, __VA_ARGS__};                                                     \
    return compute(h, NAME, words, sizeof words / sizeof *words, TO, SIZE)
#define COMPUTE(NAME, ...) RESULT(NAME, NULL, 0, __VA_ARGS__)
#define SCALAR(p) scalar(h, p, sizeof *(p))
/* A pointer that is refused before it is followed. */
#define NEED(p)                                         \
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    if (!(p)) return CUBLAS_STATUS_INVALID_VALUE

#define OF_TYPE(S, s, T)                                                                                               \
    cublasStatus_t cublas##S##axpy(cublasHandle_t h, int n, const T *alpha, const T *x, int incx, T *y, int incy) {    \
        NEED(alpha);                                                                                                   \
        COMPUTE(#S "axpy", n, SCALAR(alpha), POINTER(x), incx, POINTER(y), incy);                                      \
    }                                                                                                                  \
    cublasStatus_t cublas##S##copy(cublasHandle_t h, int n, const T *x, int incx, T *y, int incy) {                    \
        COMPUTE(#S "copy", n, POINTER(x), incx, POINTER(y), incy);                                                     \
    }                                                                                                                  \
    cublasStatus_t cublas##S##swap(cublasHandle_t h, int n, T *x, int incx, T *y, int incy) {                          \
        COMPUTE(#S "swap", n, POINTER(x), incx, POINTER(y), incy);                                                     \
    }                                                                                                                  \
    cublasStatus_t cublas##S##scal(cublasHandle_t h, int n, const T *alpha, T *x, int incx) {                          \
        NEED(alpha);                                                                                                   \
        COMPUTE(#S "scal", n, SCALAR(alpha), POINTER(x), incx);                                                        \
    }                                                                                                                  \
    cublasStatus_t cublas##S##dot(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, T *result) {    \
        NEED(result);                                                                                                  \
        RESULT(#S "dot", result, sizeof *result, n, POINTER(x), incx, POINTER(y), incy, POINTER(result));              \
    }                                                                                                                  \
    cublasStatus_t cublas##S##nrm2(cublasHandle_t h, int n, const T *x, int incx, T *result) {                         \
        NEED(result);                                                                                                  \
        RESULT(#S "nrm2", result, sizeof *result, n, POINTER(x), incx, POINTER(result));                               \
    }                                                                                                                  \
    cublasStatus_t cublas##S##asum(cublasHandle_t h, int n, const T *x, int incx, T *result) {                         \
        NEED(result);                                                                                                  \
        RESULT(#S "asum", result, sizeof *result, n, POINTER(x), incx, POINTER(result));                               \
    }                                                                                                                  \
    cublasStatus_t cublasI##s##amax(cublasHandle_t h, int n, const T *x, int incx, int *result) {                      \
        NEED(result);                                                                                                  \
        RESULT(#S "amax", result, sizeof *result, n, POINTER(x), incx, POINTER(result));                               \
    }                                                                                                                  \
    cublasStatus_t cublasI##s##amin(cublasHandle_t h, int n, const T *x, int incx, int *result) {                      \
        NEED(result);                                                                                                  \
        RESULT(#S "amin", result, sizeof *result, n, POINTER(x), incx, POINTER(result));                               \
    }                                                                                                                  \
    cublasStatus_t cublas##S##gemv(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha, const T *a,   \
                                   int lda, const T *x, int incx, const T *beta, T *y, int incy) {                     \
        NEED(alpha && beta);                                                                                           \
        COMPUTE(#S "gemv", op, m, n, SCALAR(alpha), POINTER(a), lda, POINTER(x), incx, SCALAR(beta), POINTER(y),       \
                incy);                                                                                                 \
    }                                                                                                                  \
    cublasStatus_t cublas##S##ger(cublasHandle_t h, int m, int n, const T *alpha, const T *x, int incx, const T *y,    \
                                  int incy, T *a, int lda) {                                                           \
        NEED(alpha);                                                                                                   \
        COMPUTE(#S "ger", m, n, SCALAR(alpha), POINTER(x), incx, POINTER(y), incy, POINTER(a), lda);                   \
    }                                                                                                                  \
    cublasStatus_t cublas##S##geam(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n,       \
                                   const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c,      \
                                   int ldc) {                                                                          \
        NEED(alpha && beta);                                                                                           \
        COMPUTE(#S "geam", opa, opb, m, n, SCALAR(alpha), POINTER(a), lda, SCALAR(beta), POINTER(b), ldb, POINTER(c),  \
                ldc);                                                                                                  \
    }                                                                                                                  \
    cublasStatus_t cublas##S##dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n, const T *a, int lda,         \
                                   const T *x, int incx, T *c, int ldc) {                                              \
        COMPUTE(#S "dgmm", side, m, n, POINTER(a), lda, POINTER(x), incx, POINTER(c), ldc);                            \
    }
OF_TYPE(S, s, float)
OF_TYPE(D, d, double)

/* ---- products. One function does all of them, for any types of the matrices and of the computation, and any number
   of them. */
struct product {
    int opa, opb, m, n, k, lda, ldb, ldc, count;
    const void *alpha, *beta, *a, *b;
    void *c;
    cudaDataType atype, btype, ctype;
    cublasComputeType_t compute;
    long long stridea, strideb, stridec;
    int pointers; /* whether a, b and c are arrays of pointers */
};

static size_t scalar_size(cublasComputeType_t type) {
    switch (type) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return 8;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return 2;
    default: return 4;
    }
}

static cublasStatus_t product(cublasHandle_t h, const char *name, struct product p) {
    NEED(p.alpha && p.beta);
    size_t size = scalar_size(p.compute);
    const uint64_t alpha = scalar(h, p.alpha, size), beta = scalar(h, p.beta, size);
    COMPUTE(name, p.opa, p.opb, p.m, p.n, p.k, alpha, POINTER(p.a), p.atype, p.lda, p.stridea, POINTER(p.b), p.btype,
            p.ldb, p.strideb, beta, POINTER(p.c), p.ctype, p.ldc, p.stridec, p.count, p.compute, p.pointers);
}
#define SHAPE .opa = opa, .opb = opb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc
#define VALUES .alpha = alpha, .a = a, .b = b, .beta = beta, .c = (void *)c
#define TYPES(T, C) .atype = T, .btype = T, .ctype = T, .compute = C
#define GEMM(S, T, TYPE, COMPUTED)                                                                                     \
    cublasStatus_t cublas##S##gemm(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n,       \
                                   int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta,     \
                                   T *c, int ldc) {                                                                    \
        return product(h, #S "gemm", (struct product){SHAPE, VALUES, TYPES(TYPE, COMPUTED), .count = 1});              \
    }                                                                                                                  \
    cublasStatus_t cublas##S##gemmBatched(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m,       \
                                          int n, int k, const T *alpha, const T *const a[], int lda,                   \
                                          const T *const b[], int ldb, const T *beta, T *const c[], int ldc,           \
                                          int count) {                                                                 \
        return product(h, #S "gemmBatched",                                                                            \
                       (struct product){SHAPE, VALUES, TYPES(TYPE, COMPUTED), .count = count, .pointers = 1});         \
    }                                                                                                                  \
    cublasStatus_t cublas##S##gemmStridedBatched(                                                                      \
        cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k, const T *alpha,           \
        const T *a, int lda, long long stridea, const T *b, int ldb, long long strideb, const T *beta, T *c, int ldc,  \
        long long stridec, int count) {                                                                                \
        return product(h, #S "gemmStridedBatched",                                                                     \
                       (struct product){SHAPE, VALUES, TYPES(TYPE, COMPUTED), .count = count, .stridea = stridea,      \
                                        .strideb = strideb, .stridec = stridec});                                      \
    }
GEMM(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM(H, __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
#undef TYPES
#define TYPES .atype = atype, .btype = btype, .ctype = ctype
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType atype, int lda, const void *b,
                            cudaDataType btype, int ldb, const void *beta, void *c, cudaDataType ctype, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algo) {
    return product(h, "GemmEx", (struct product){SHAPE, VALUES, TYPES, .compute = compute, .count = 1});
}
cublasStatus_t cublasSgemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                             const float *alpha, const void *a, cudaDataType atype, int lda, const void *b,
                             cudaDataType btype, int ldb, const float *beta, void *c, cudaDataType ctype, int ldc) {
    return product(h, "SgemmEx", (struct product){SHAPE, VALUES, TYPES, .compute = CUBLAS_COMPUTE_32F, .count = 1});
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                   const void *alpha, const void *const a[], cudaDataType atype, int lda,
                                   const void *const b[], cudaDataType btype, int ldb, const void *beta,
                                   void *const c[], cudaDataType ctype, int ldc, int count,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algo) {
    return product(h, "GemmBatchedEx",
                   (struct product){SHAPE, VALUES, TYPES, .compute = compute, .count = count, .pointers = 1});
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
                                          int k, const void *alpha, const void *a, cudaDataType atype, int lda,
                                          long long stridea, const void *b, cudaDataType btype, int ldb,
                                          long long strideb, const void *beta, void *c, cudaDataType ctype, int ldc,
                                          long long stridec, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algo) {
    return product(h, "GemmStridedBatchedEx",
                   (struct product){SHAPE, VALUES, TYPES, .compute = compute, .count = count, .stridea = stridea,
                                    .strideb = strideb, .stridec = stridec});
}

/* ---- what is not there */
CUresult banksim_missing(const char *name);
#define BANKSIM_MISSING(NAME)       \
    cublasStatus_t NAME() {         \
        banksim_missing(#NAME);     \
        return CUBLAS_STATUS_NOT_SUPPORTED; \
    }
#include "banksim_cublas_missing.h"
