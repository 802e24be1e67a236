/* What the parts of the stand-in for libcusparse.so.12 share: matrices as programs describe them, and calls of banksim. */
#ifndef BANKSIM_CUSPARSE_PARTS_H
#define BANKSIM_CUSPARSE_PARTS_H

#include "cusparse.h"
#include "library_calls.h"

#include <stdlib.h>
#include <string.h>

struct cusparseContext {
    cudaStream_t stream;
    cusparsePointerMode_t mode;
};
struct cusparseMatDescr {
    cusparseMatrixType_t type;
    cusparseFillMode_t fill;
    cusparseDiagType_t diagonal;
    cusparseIndexBase_t base;
};
/* `offsets`: where each row (of CSC: column) begins, or the row of each value (COO); `indices`: the other coordinate.
   Of a vector, `rows` is its size, and `offsets` is not used. */
struct cusparseSpMatDescr {
    cusparseFormat_t format;
    int64_t rows, cols, nnz;
    void *offsets, *indices, *values;
    cusparseIndexType_t of_offsets, of_indices;
    cusparseIndexBase_t base;
    cudaDataType type;
    cusparseFillMode_t fill;
    cusparseDiagType_t diagonal;
    int count; /* of matrices, and how far they lie apart */
    int64_t offsets_stride, stride;
};
struct cusparseDnMatDescr {
    int64_t rows, cols, ld;
    void *values;
    cudaDataType type;
    cusparseOrder_t order;
    int count;
    int64_t stride;
};
struct cusparseDnVecDescr {
    struct cusparseDnMatDescr column; /* a matrix of one column */
};
#define COLUMN(v) ((cusparseConstDnMatDescr_t)(v))

#define OK return CUSPARSE_STATUS_SUCCESS
#define NEED(CONDITION) \
    if (!(CONDITION)) return CUSPARSE_STATUS_INVALID_VALUE
#define DESTROY(NAME, TYPE)                              \
    cusparseStatus_t cusparseDestroy##NAME(TYPE given) { \
        free((void *)given);                             \
        OK;                                              \
    }

/* ---- what banksim computes: scalars as those of cuBLAS (cublas.c), a sparse matrix, dense ones */
#define WORD(p) (uint64_t)(uintptr_t)(p)
#define OF_SPARSE(a)                                                                                       \
    a->format, a->rows, a->cols, a->nnz, WORD(a->offsets), WORD(a->indices), WORD(a->values), a->of_offsets, \
        a->of_indices, a->base, a->type
#define OF_DENSE(b) b->rows, b->cols, b->ld, WORD(b->values), b->type, b->order
#define SCALAR(POINTER, TYPE) scalar(h, POINTER, TYPE, 0), scalar(h, POINTER, TYPE, 1)
#define COMPUTE(NAME, RESULT, SIZE, ...)                                                                            \
    const uint64_t words[] = {h->mode, __VA_ARGS__};                                                                \
    return status_of(banksim_compute(h->stream, "cuSPARSE", NAME, words, sizeof words / sizeof *words, RESULT, SIZE))

static inline cusparseStatus_t status_of(CUresult failed) {
    return !failed                             ? CUSPARSE_STATUS_SUCCESS
           : failed == CUDA_ERROR_NOT_SUPPORTED ? CUSPARSE_STATUS_NOT_SUPPORTED
                                                : CUSPARSE_STATUS_EXECUTION_FAILED;
}
static inline uint64_t scalar(cusparseHandle_t h, const void *pointer, cudaDataType type, int word) {
    uint64_t bits[2] = {WORD(pointer)};
    size_t size = type == CUDA_R_32F ? 4 : type == CUDA_C_64F ? 16 : 8;
    if (h->mode == CUSPARSE_POINTER_MODE_HOST) bits[0] = 0, memcpy(bits, pointer, size);
    return bits[word];
}
static inline size_t index_bytes(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_64I ? 8 : 4; }
static inline size_t value_bytes(cudaDataType type) {
    return type == CUDA_C_64F ? 16 : type == CUDA_R_64F || type == CUDA_C_32F ? 8 : 4;
}
/* Whether banksim computes with values of a type, all alike; it says when they are halves or bytes. */
static inline bool is_known(cudaDataType type, cudaDataType computed) {
    bool halves = type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_C_16F || type == CUDA_C_16BF;
    if (halves || type == CUDA_R_8I) banksim_missing("cusparse products of halves or bytes");
    bool known = computed == CUDA_R_32F || computed == CUDA_R_64F || computed == CUDA_C_32F || computed == CUDA_C_64F;
    return known && type == computed;
}
/* The matrix with number n of several. */
static inline struct cusparseDnMatDescr dense_one(cusparseConstDnMatDescr_t m, int n) {
    struct cusparseDnMatDescr one = *m;
    one.values = (char *)m->values + n * m->stride * value_bytes(m->type);
    return one;
}
static inline struct cusparseSpMatDescr sparse_one(cusparseConstSpMatDescr_t m, int n) {
    struct cusparseSpMatDescr one = *m;
    one.offsets = (char *)m->offsets + n * m->offsets_stride * index_bytes(m->of_offsets);
    one.indices = (char *)m->indices + n * m->stride * index_bytes(m->of_indices);
    one.values = (char *)m->values + n * m->stride * value_bytes(m->type);
    return one;
}

#endif
