/* The stand-in for libcublasLt.so.13. Descriptors are arrays of their attributes; libraries/cublaslt.py computes products
   and what follows them. */
#include "cublasLt.h"
#include "library_calls.h"

#include <stdlib.h>
#include <string.h>

struct cublasLtContext {
    int unused;
};
CUresult banksim_missing(const char *name);

#define OK return CUBLAS_STATUS_SUCCESS
#define NEED(CONDITION) \
    if (!(CONDITION)) return CUBLAS_STATUS_INVALID_VALUE

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    if (banksim_connect() || banksim_fault) return CUBLAS_STATUS_NOT_INITIALIZED;
    NEED(handle);
    *handle = banksim_zeroed(sizeof **handle);
    OK;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    NEED(handle);
    free(handle);
    OK;
}
size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }

/* ---- descriptors. Their attributes by number: the bytes of each, or 0 where there is none of it. */
static const unsigned char of_product[27] = {4, 4, 4, 4, 4, 4, 4, 4, 8, 0, 8, 8, 8, 8, 8, 4, 0, 8, 8, 8, 8, 8, 4, 8, 8, 1, 4};
static const unsigned char of_layout[7] = {4, 4, 8, 8, 8, 4, 8};
static const unsigned char of_preference[2] = {4, 8};

static cublasStatus_t set(uint64_t *data, const unsigned char *sizes, size_t count, unsigned which, const void *value,
                          size_t size) {
    NEED(data && value && which < count && sizes[which] && size >= sizes[which]);
    data[which] = 0;
    memcpy(&data[which], value, sizes[which]);
    OK;
}
static cublasStatus_t get(const uint64_t *data, const unsigned char *sizes, size_t count, unsigned which, void *value,
                          size_t size, size_t *written) {
    NEED(data && which < count && sizes[which] && (size ? value && size >= sizes[which] : written != NULL));
    if (written) *written = sizes[which];
    if (size) memcpy(value, &data[which], sizes[which]);
    OK;
}
#define DESCRIPTOR(KIND, ATTRIBUTE, SIZES, BEGIN, ...)                                                                 \
    cublasStatus_t cublasLt##KIND##Init(cublasLt##KIND##Opaque_t *of __VA_ARGS__) {                                     \
        NEED(of);                                                                                                      \
        *of = (cublasLt##KIND##Opaque_t){{BEGIN}};                                                                     \
        OK;                                                                                                            \
    }                                                                                                                  \
    cublasStatus_t cublasLt##KIND##Create(cublasLt##KIND##Opaque_t **of __VA_ARGS__) {                                  \
        NEED(of);                                                                                                      \
        *of = banksim_zeroed(sizeof **of);                                                                             \
        **of = (cublasLt##KIND##Opaque_t){{BEGIN}};                                                                    \
        OK;                                                                                                            \
    }                                                                                                                  \
    cublasStatus_t cublasLt##KIND##Destroy(cublasLt##KIND##Opaque_t *of) {                                              \
        free(of);                                                                                                      \
        OK;                                                                                                            \
    }                                                                                                                  \
    cublasStatus_t cublasLt##KIND##SetAttribute(cublasLt##KIND##Opaque_t *of, ATTRIBUTE which, const void *value,       \
                                                size_t size) {                                                         \
        return set(of ? of->data : NULL, SIZES, sizeof SIZES, which, value, size);                                     \
    }                                                                                                                  \
    cublasStatus_t cublasLt##KIND##GetAttribute(cublasLt##KIND##Opaque_t *of, ATTRIBUTE which, void *value,             \
                                                size_t size, size_t *written) {                                        \
        return get(of ? of->data : NULL, SIZES, sizeof SIZES, which, value, size, written);                            \
    }
#define COMMA ,
#define BEGIN_PRODUCT                                                                                                  \
    compute COMMA scale COMMA [CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_DEFAULT COMMA                        \
        [CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE] = UINT32_MAX COMMA                                               \
        [CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] = UINT32_MAX
DESCRIPTOR(MatmulDesc, cublasLtMatmulDescAttributes_t, of_product, BEGIN_PRODUCT, , cublasComputeType_t compute,
           cudaDataType scale)
DESCRIPTOR(MatrixLayout, cublasLtMatrixLayoutAttribute_t, of_layout,
           type COMMA CUBLASLT_ORDER_COL COMMA rows COMMA cols COMMA ld COMMA 1, , cudaDataType type, uint64_t rows,
           uint64_t cols, int64_t ld)
DESCRIPTOR(MatmulPreference, cublasLtMatmulPreferenceAttributes_t, of_preference, 0)

/* ---- products */
#define OF(d, NAME) (d)->data[CUBLASLT_MATMUL_DESC_##NAME]
#define AS(l, NAME) (l)->data[CUBLASLT_MATRIX_LAYOUT_##NAME]

static bool turned(uint64_t op) { return op == CUBLAS_OP_T || op == CUBLAS_OP_C; }
static uint64_t rows_of(cublasLtMatrixLayout_t l, uint64_t op) { return turned(op) ? AS(l, COLS) : AS(l, ROWS); }
static uint64_t cols_of(cublasLtMatrixLayout_t l, uint64_t op) { return turned(op) ? AS(l, ROWS) : AS(l, COLS); }

/* What is refused by name. */
static const char *beyond(cublasLtMatmulDesc_t d) {
    if (OF(d, TRANSC)) return "cublasLtMatmul of a transposed C";
    if (OF(d, POINTER_MODE) > CUBLASLT_POINTER_MODE_DEVICE) return "cublasLtMatmul with vectors of scalars";
    for (int n = CUBLASLT_MATMUL_DESC_A_SCALE_POINTER; n <= CUBLASLT_MATMUL_DESC_AMAX_D_POINTER; n++)
        if (d->data[n]) return "cublasLtMatmul with scales of matrices";
    switch (OF(d, EPILOGUE)) {
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB: return "cublasLtMatmul with the gradient of a bias";
    }
    return NULL;
}
static cublasStatus_t fits(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                           cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to) {
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    NEED(d && a && b && c && to);
    NEED(rows_of(a, OF(d, TRANSA)) == AS(to, ROWS) && cols_of(b, OF(d, TRANSB)) == AS(to, COLS));
    NEED(cols_of(a, OF(d, TRANSA)) == rows_of(b, OF(d, TRANSB)));
    NEED(AS(c, ROWS) == AS(to, ROWS) && AS(c, COLS) == AS(to, COLS));
    cublasLtMatrixLayout_t all[] = {a, b, c, to};
    for (int n = 0; n < 4; n++) {
        NEED(AS(all[n], LD) >= (AS(all[n], ORDER) == CUBLASLT_ORDER_ROW ? AS(all[n], COLS) : AS(all[n], ROWS)));
        if (AS(all[n], ORDER) > CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    NEED(AS(a, TYPE) == AS(b, TYPE) && AS(c, TYPE) == AS(to, TYPE));
    /* A bias of rows stored one behind the other is not supported, as one H200 answered. */
    bool bias = OF(d, EPILOGUE) & CUBLASLT_EPILOGUE_BIAS;
    if (bias && AS(to, ORDER) == CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!beyond(d)) OK;
    banksim_missing(beyond(d));
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t to, cublasLtMatmulPreference_t preference,
                                              int wanted, cublasLtMatmulHeuristicResult_t *found, int *count) {
    NEED(preference && wanted > 0 && found && count);
    cublasStatus_t failed = fits(h, d, a, b, c, to);
    if (failed) return failed;
    *found = (cublasLtMatmulHeuristicResult_t){.wavesCount = 1}; /* there is one algorithm here */
    *count = 1;
    OK;
}

static uint64_t scalar(cublasLtMatmulDesc_t d, const void *pointer, int word) {
    uint64_t bits[2] = {(uintptr_t)pointer};
    static const unsigned char sizes[16] = {4, 8, 2, 1, 8, 16, 4, [10] = 4, [14] = 2}; /* by cudaDataType */
    if (OF(d, POINTER_MODE) == CUBLASLT_POINTER_MODE_HOST)
        bits[0] = 0, memcpy(bits, pointer, OF(d, SCALE_TYPE) < 16 ? sizes[OF(d, SCALE_TYPE)] : 0);
    return bits[word];
}
#define MATRIX(p, l)                                                                                          \
    (uintptr_t)(p), AS(l, TYPE), AS(l, ORDER), AS(l, ROWS), AS(l, COLS), AS(l, LD), AS(l, BATCH_COUNT),       \
        AS(l, STRIDED_BATCH_OFFSET)
cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t lc, void *to, cublasLtMatrixLayout_t lto,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t size, cudaStream_t stream) {
    cublasStatus_t status = fits(h, d, la, lb, lc, lto);
    if (status) return status;
    NEED(alpha && beta && a && b && to && (OF(d, BIAS_POINTER) || !(OF(d, EPILOGUE) & CUBLASLT_EPILOGUE_BIAS)));
    const uint64_t words[] = {OF(d, POINTER_MODE), OF(d, COMPUTE_TYPE), OF(d, SCALE_TYPE), OF(d, TRANSA),
                              OF(d, TRANSB), OF(d, EPILOGUE), scalar(d, alpha, 0), scalar(d, alpha, 1),
                              scalar(d, beta, 0), scalar(d, beta, 1), OF(d, BIAS_POINTER), OF(d, BIAS_DATA_TYPE),
                              OF(d, BIAS_BATCH_STRIDE), OF(d, EPILOGUE_AUX_POINTER), OF(d, EPILOGUE_AUX_DATA_TYPE),
                              OF(d, EPILOGUE_AUX_LD), OF(d, EPILOGUE_AUX_BATCH_STRIDE), MATRIX(a, la), MATRIX(b, lb),
                              MATRIX(c, lc), MATRIX(to, lto)};
    CUresult failed = banksim_compute(stream, "cuBLASLt", "Matmul", words, sizeof words / sizeof *words, NULL, 0);
    return !failed                             ? CUBLAS_STATUS_SUCCESS
           : failed == CUDA_ERROR_NOT_SUPPORTED ? CUBLAS_STATUS_NOT_SUPPORTED
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}
