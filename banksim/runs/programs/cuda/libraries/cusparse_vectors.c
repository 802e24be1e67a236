/* The stand-in for libcusparse.so.12: sparse vectors, and conversions by the older functions. */
#include "cusparse_parts.h"

/* ---- sparse vectors */
static cusparseStatus_t vector(struct cusparseSpMatDescr **made, struct cusparseSpMatDescr as) {
    NEED(made && as.rows >= 0 && as.nnz >= 0 && as.rows >= as.nnz && (unsigned)as.base < 2);
    *made = banksim_zeroed(sizeof **made);
    **made = as;
    OK;
}
#define VECTOR(NAME, CONST, KIND)                                                                                       \
    cusparseStatus_t cusparseCreate##NAME(KIND *made, int64_t size, int64_t nnz, CONST void *indices,                   \
                                          CONST void *values, cusparseIndexType_t of_indices,                           \
                                          cusparseIndexBase_t base, cudaDataType type) {                                \
        return vector((struct cusparseSpMatDescr **)made,                                                               \
                      (struct cusparseSpMatDescr){0, size, 1, nnz, 0, (void *)indices, (void *)values, of_indices,      \
                                                  of_indices, base, type});                                             \
    }
VECTOR(SpVec, , cusparseSpVecDescr_t)
VECTOR(ConstSpVec, const, cusparseConstSpVecDescr_t)
DESTROY(SpVec, cusparseConstSpVecDescr_t)
#define X ((cusparseConstSpMatDescr_t)x)
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t x, int64_t *size, int64_t *nnz, void **indices, void **values,
                                  cusparseIndexType_t *of_indices, cusparseIndexBase_t *base, cudaDataType *type) {
    NEED(x && size && nnz && indices && values && of_indices && base && type);
    *size = X->rows, *nnz = X->nnz, *indices = X->indices, *values = X->values;
    *of_indices = X->of_indices, *base = X->base, *type = X->type;
    OK;
}
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t x, void **values) {
    NEED(x && values);
    *values = X->values;
    OK;
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t x, void *values) {
    NEED(x && values);
    ((struct cusparseSpMatDescr *)x)->values = values;
    OK;
}
static cusparseStatus_t fits(cusparseHandle_t h, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y) {
    NEED(h && x && y && X->rows == COLUMN(y)->rows);
    return is_known(X->type, COLUMN(y)->type) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}
#define FITTING()                                 \
    cusparseStatus_t failed = fits(h, x, y);      \
    if (failed) return failed;                    \
    cudaDataType type = COLUMN(y)->type
cusparseStatus_t cusparseAxpby(cusparseHandle_t h, const void *alpha, cusparseConstSpVecDescr_t x, const void *beta,
                               cusparseDnVecDescr_t y) {
    NEED(alpha && beta);
    FITTING();
    COMPUTE("Axpby", NULL, 0, SCALAR(alpha, type), SCALAR(beta, type), OF_SPARSE(X), WORD(COLUMN(y)->values));
}
cusparseStatus_t cusparseRot(cusparseHandle_t h, const void *c, const void *s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y) {
    NEED(c && s);
    FITTING();
    COMPUTE("Rot", NULL, 0, SCALAR(c, type), SCALAR(s, type), OF_SPARSE(X), WORD(COLUMN(y)->values));
}
cusparseStatus_t cusparseGather(cusparseHandle_t h, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
    FITTING();
    COMPUTE("Gather", NULL, 0, 0, 0, 0, 0, OF_SPARSE(X), WORD(COLUMN(y)->values));
}
cusparseStatus_t cusparseScatter(cusparseHandle_t h, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
    FITTING();
    COMPUTE("Scatter", NULL, 0, 0, 0, 0, 0, OF_SPARSE(X), WORD(COLUMN(y)->values));
}
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t h, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, const void *result, cudaDataType computed,
                                         size_t *size) {
    NEED(size);
    *size = 8;
    return fits(h, x, y);
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t h, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void *result, cudaDataType computed, void *buffer) {
    NEED(result);
    FITTING();
    if (computed != type) return CUSPARSE_STATUS_NOT_SUPPORTED;
    bool on_device = h->mode == CUSPARSE_POINTER_MODE_DEVICE;
    COMPUTE("SpVV", on_device ? NULL : result, on_device ? 0 : value_bytes(type), WORD(result), op, 0, 0, OF_SPARSE(X),
            WORD(COLUMN(y)->values));
}

/* ---- rows to columns, and their places */
#define ROWS                                                                                                           \
    cusparseHandle_t h, int m, int n, int nnz, const void *values, const int *offsets, const int *columns, void *turned, \
        int *begins, int *rows, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,                   \
        cusparseCsr2CscAlg_t algorithm
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(ROWS, size_t *size) {
    NEED(h && size && m >= 0 && n >= 0 && nnz >= 0);
    *size = 8;
    OK;
}
cusparseStatus_t cusparseCsr2cscEx2(ROWS, void *buffer) {
    NEED(h && m >= 0 && n >= 0 && nnz >= 0);
    COMPUTE("Csr2cscEx2", NULL, 0, m, n, nnz, WORD(values), WORD(offsets), WORD(columns), WORD(turned), WORD(begins),
            WORD(rows), type, action, base);
}
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t h, const int *rows, int nnz, int m, int *offsets,
                                  cusparseIndexBase_t base) {
    NEED(h && nnz >= 0 && m >= 0);
    COMPUTE("Xcoo2csr", NULL, 0, WORD(rows), nnz, m, WORD(offsets), base);
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t h, const int *offsets, int nnz, int m, int *rows,
                                  cusparseIndexBase_t base) {
    NEED(h && nnz >= 0 && m >= 0);
    COMPUTE("Xcsr2coo", NULL, 0, WORD(offsets), nnz, m, WORD(rows), base);
}

/* ---- in another order */
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t h, int n, int *p) {
    NEED(h && n >= 0);
    COMPUTE("CreateIdentityPermutation", NULL, 0, n, WORD(p));
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t h, int m, int n, int nnz, const int *offsets,
                                                const int *columns, size_t *size) {
    NEED(h && size && m >= 0 && n >= 0 && nnz >= 0);
    *size = 8;
    OK;
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t h, int m, int n, int nnz, const cusparseMatDescr_t d,
                                  const int *offsets, int *columns, int *p, void *buffer) {
    NEED(h && d && m >= 0 && n >= 0 && nnz >= 0);
    COMPUTE("Xcsrsort", NULL, 0, m, nnz, WORD(offsets), WORD(columns), WORD(p), d->base);
}
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t h, int m, int n, int nnz, const int *rows,
                                                const int *columns, size_t *size) {
    return cusparseXcsrsort_bufferSizeExt(h, m, n, nnz, rows, columns, size);
}
#define SORTED(BY, FIRST, SECOND)                                                                                    \
    cusparseStatus_t cusparseXcoosortBy##BY(cusparseHandle_t h, int m, int n, int nnz, int *rows, int *columns, int *p, \
                                            void *buffer) {                                                          \
        NEED(h && m >= 0 && n >= 0 && nnz >= 0);                                                                     \
        COMPUTE("XcoosortBy" #BY, NULL, 0, nnz, WORD(FIRST), WORD(SECOND), WORD(p));                                 \
    }
SORTED(Row, rows, columns)
SORTED(Column, columns, rows)

/* ---- how many values of a dense matrix are not 0 */
static cusparseStatus_t nonzeros(cusparseHandle_t h, cudaDataType type, cusparseDirection_t by, int m, int n,
                                 const void *values, int ld, int *each, int *total) {
    NEED(h && m >= 0 && n >= 0 && ld >= m && total);
    bool on_device = h->mode == CUSPARSE_POINTER_MODE_DEVICE;
    COMPUTE("nnz", on_device ? NULL : total, on_device ? 0 : sizeof *total, WORD(total), by, m, n, ld, WORD(values), type,
            WORD(each));
}
#define NONZEROS(P, T, TYPE)                                                                                        \
    cusparseStatus_t cusparse##P##nnz(cusparseHandle_t h, cusparseDirection_t by, int m, int n,                     \
                                      const cusparseMatDescr_t d, const T *values, int ld, int *each, int *total) { \
        return nonzeros(h, TYPE, by, m, n, values, ld, each, total);                                                \
    }
NONZEROS(S, float, CUDA_R_32F)
NONZEROS(D, double, CUDA_R_64F)
NONZEROS(C, cuComplex, CUDA_C_32F)
NONZEROS(Z, cuDoubleComplex, CUDA_C_64F)
