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
    if (banksim_connect() || banksim_fault) return CUBLAS_STATUS_NOT_INITIALIZED;
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
    if (!version) return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t size) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
#define FIELD(NAME, TYPE, MEMBER, VALID)                                \
    cublasStatus_t cublasSet##NAME(cublasHandle_t handle, TYPE value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;              \
        if (!(VALID)) return CUBLAS_STATUS_INVALID_VALUE;               \
        handle->MEMBER = value;                                         \
        return CUBLAS_STATUS_SUCCESS;                                   \
    }                                                                   \
    cublasStatus_t cublasGet##NAME(cublasHandle_t handle, TYPE *value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;              \
        if (!value) return CUBLAS_STATUS_INVALID_VALUE;                 \
        *value = handle->MEMBER;                                        \
        return CUBLAS_STATUS_SUCCESS;                                   \
    }
FIELD(Stream, cudaStream_t, stream, true)
FIELD(PointerMode, cublasPointerMode_t, mode, (unsigned)value < 2)
FIELD(MathMode, cublasMath_t, math, true)
FIELD(AtomicsMode, cublasAtomicsMode_t, atomics, (unsigned)value < 2)

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
#define COPIES(WAY, INT, WIDE)                                                                                         \
    cublasStatus_t cublas##WAY##VectorAsync##WIDE(INT n, INT size, const void *x, INT incx, void *y, INT incy,         \
                                                  cudaStream_t stream) {                                               \
        if (n < 0 || size <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;                          \
        return copy(size, n, x, (size_t)incx * size, y, (size_t)incy * size, stream);                                  \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##Vector##WIDE(INT n, INT size, const void *x, INT incx, void *y, INT incy) {            \
        return cublas##WAY##VectorAsync##WIDE(n, size, x, incx, y, incy, NULL);                                        \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##MatrixAsync##WIDE(INT rows, INT cols, INT size, const void *a, INT lda, void *b,       \
                                                  INT ldb, cudaStream_t stream) {                                      \
        if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows) return CUBLAS_STATUS_INVALID_VALUE;         \
        return copy((size_t)rows * size, cols, a, (size_t)lda * size, b, (size_t)ldb * size, stream);                  \
    }                                                                                                                  \
    cublasStatus_t cublas##WAY##Matrix##WIDE(INT rows, INT cols, INT size, const void *a, INT lda, void *b, INT ldb) { \
        return cublas##WAY##MatrixAsync##WIDE(rows, cols, size, a, lda, b, ldb, NULL);                                 \
    }
COPIES(Set, int, )
COPIES(Get, int, )
COPIES(Set, int64_t, _64)
COPIES(Get, int64_t, _64)

/* ---- what banksim computes. The words of a call are its arguments in order. Scalars are values where the pointers
   to them are the host's, else addresses; the first word tells which. They are two words, as complex doubles need. */
#define POINTER(p) (uint64_t)(uintptr_t)(p)

static uint64_t scalar(cublasHandle_t handle, const void *pointer, size_t size, int word) {
    uint64_t bits[2] = {POINTER(pointer)};
    if (handle->mode == CUBLAS_POINTER_MODE_HOST) bits[0] = 0, memcpy(bits, pointer, size);
    return bits[word];
}
static size_t size_of(cudaDataType type) {
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_32F: return 4;
    case CUDA_R_64F:
    case CUDA_C_32F: return 8;
    case CUDA_C_64F: return 16;
    default: return 0; /* banksim refuses it */
    }
}

/* Where a number that the program gets goes. Of several, each is two words of the answer. */
struct place {
    void *to;
    size_t size;
};
static cublasStatus_t compute(cublasHandle_t handle, const char *name, const struct place *results,
                              const uint64_t *words, size_t count) {
    uint64_t found[8][2];
    size_t n = 0;
    while (handle->mode == CUBLAS_POINTER_MODE_HOST && results[n].to) n++;
    void *result = n ? results->to : NULL; /* in host memory */
    /* Functions with several results work on host memory alone: they wait for no stream, and no capture takes them. */
    CUresult failed = n > 1 ? banksim_compute(NULL, "cuBLAS", name, words, count, found, n * sizeof *found)
                            : banksim_compute(handle->stream, "cuBLAS", name, words, count, result, results->size);
    for (size_t k = 0; n > 1 && !failed && k < n; k++) memcpy(results[k].to, found[k], results[k].size);
    return status_of(failed);
}
#define BARE(...) __VA_ARGS__
#define RESULTS(NAME, PLACES, ...)                                                                       \
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;                                                        \
    const uint64_t words[] = {h->mode, __VA_ARGS__};                                                     \
    return compute(h, NAME, (const struct place[])BARE PLACES, words, sizeof words / sizeof *words)
#define SCALAR_OF(p, size) scalar(h, p, size, 0), scalar(h, p, size, 1)
/* A pointer that is refused before it is followed. */
#define NEED(p)                                         \
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    if (!(p)) return CUBLAS_STATUS_INVALID_VALUE
#define TURNED(op) ((op) == CUBLAS_OP_T || (op) == CUBLAS_OP_C)
#define LEADS(ld, rows) ((ld) >= 1 && (ld) >= (rows))

#include "banksim_cublas_defined.h"

/* ---- products. One function does all of them, for any types of the matrices and of the computation, and any number
   of them. */
struct product {
    int opa, opb;
    int64_t m, n, k, lda, ldb, ldc, count;
    const void *alpha, *beta, *a, *b;
    void *c;
    cudaDataType atype, btype, ctype;
    cublasComputeType_t compute;
    long long stridea, strideb, stridec;
    int pointers; /* whether a, b and c are arrays of pointers */
};

static size_t scalar_size(cublasComputeType_t type, cudaDataType of_matrix) {
    const size_t parts = of_matrix == CUDA_C_32F || of_matrix == CUDA_C_64F ? 2 : 1;
    switch (type) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return 8 * parts;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return 2;
    default: return 4 * parts;
    }
}

static cublasStatus_t product(cublasHandle_t h, const char *name, struct product p) {
    NEED(p.alpha && p.beta && (unsigned)p.opa < 4 && (unsigned)p.opb < 4 && p.m >= 0 && p.n >= 0 && p.k >= 0);
    NEED(p.count >= 0 && LEADS(p.lda, TURNED(p.opa) ? p.k : p.m) && LEADS(p.ldb, TURNED(p.opb) ? p.n : p.k) &&
         LEADS(p.ldc, p.m));
    size_t size = scalar_size(p.compute, p.ctype);
    RESULTS(name, ({{0}}), p.opa, p.opb, p.m, p.n, p.k, SCALAR_OF(p.alpha, size), POINTER(p.a), p.atype, p.lda, p.stridea,
           POINTER(p.b), p.btype, p.ldb, p.strideb, SCALAR_OF(p.beta, size), POINTER(p.c), p.ctype, p.ldc, p.stridec,
           p.count, p.compute, p.pointers);
}
#include "banksim_cublas_products.h"

/* Groups of products, whose arrays lie in host memory. Those of pointers lie on the device, one group behind the other. */
#define GROUPED_EX(INT, WIDE)                                                                                          \
    cublasStatus_t cublasGemmGroupedBatchedEx##WIDE(                                                                   \
        cublasHandle_t h, const cublasOperation_t opa[], const cublasOperation_t opb[], const INT m[], const INT n[],  \
        const INT k[], const void *alpha, const void *const a[], cudaDataType atype, const INT lda[],                  \
        const void *const b[], cudaDataType btype, const INT ldb[], const void *beta, void *const c[],                 \
        cudaDataType ctype, const INT ldc[], INT groups, const INT counts[], cublasComputeType_t compute) {            \
        NEED(groups >= 0 && alpha && beta);                                                                            \
        size_t size = scalar_size(compute, ctype), first = 0;                                                          \
        for (INT g = 0; g < groups; first += counts[g++]) {                                                            \
            struct product one = {opa[g], opb[g], m[g], n[g], k[g], lda[g], ldb[g], ldc[g], counts[g],                 \
                                  (const char *)alpha + g * size, (const char *)beta + g * size, a + first, b + first, \
                                  (void *)(c + first), atype, btype, ctype, compute, .pointers = 1};                   \
            cublasStatus_t failed = product(h, "GemmGroupedBatchedEx" #WIDE, one);                                     \
            if (failed) return failed;                                                                                 \
        }                                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                  \
    }
#define GROUPED(S, T, TYPE, COMPUTED, INT, WIDE)                                                                       \
    cublasStatus_t cublas##S##gemmGroupedBatched##WIDE(                                                                \
        cublasHandle_t h, const cublasOperation_t opa[], const cublasOperation_t opb[], const INT m[], const INT n[],  \
        const INT k[], const T alpha[], const T *const a[], const INT lda[], const T *const b[], const INT ldb[],      \
        const T beta[], T *const c[], const INT ldc[], INT groups, const INT counts[]) {                               \
        return cublasGemmGroupedBatchedEx##WIDE(h, opa, opb, m, n, k, alpha, (const void *const *)a, TYPE, lda,        \
                                                (const void *const *)b, TYPE, ldb, beta, (void *const *)c, TYPE, ldc,  \
                                                groups, counts, COMPUTED);                                             \
    }
#define ALL_GROUPED(INT, WIDE)                                                                                         \
    GROUPED_EX(INT, WIDE)                                                                                              \
    GROUPED(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F, INT, WIDE)                                                       \
    GROUPED(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F, INT, WIDE)
ALL_GROUPED(int, )
ALL_GROUPED(int64_t, _64)

/* ---- what is not there */
CUresult banksim_missing(const char *name);
#define BANKSIM_MISSING(NAME)       \
    cublasStatus_t NAME() {         \
        banksim_missing(#NAME);     \
        return CUBLAS_STATUS_NOT_SUPPORTED; \
    }
#include "banksim_cublas_missing.h"

/* ---- as programs linked to NVIDIA's own library call it without handles */
#ifndef BANKSIM_DECLARING
#define BANKSIM_LOCAL
#include "cublas.h"
#endif
