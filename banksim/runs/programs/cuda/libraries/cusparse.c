/* The stand-in for libcusparse.so.12: matrices stored by rows, by columns or as coordinates, and dense ones. What they
   are is kept here; libraries/cusparse.py computes. */
#include "cusparse_parts.h"

/* ---- handles */
cusparseStatus_t cusparseCreate(cusparseHandle_t *handle) {
    NEED(handle);
    if (banksim_connect() || banksim_fault) return CUSPARSE_STATUS_NOT_INITIALIZED;
    *handle = banksim_zeroed(sizeof **handle);
    OK;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version) {
    NEED(handle && version);
    *version = CUSPARSE_VERSION;
    OK;
}
const char *cusparseGetErrorName(cusparseStatus_t status) {
    switch (status) {
#define STATUS(NAME, NUMBER, TEXT) \
    case NUMBER: return "CUSPARSE_STATUS_" #NAME;
        BANKSIM_CUSPARSE_STATUSES(STATUS)
#undef STATUS
    }
    return "unrecognized error code";
}
const char *cusparseGetErrorString(cusparseStatus_t status) {
    switch (status) {
#define STATUS(NAME, NUMBER, TEXT) \
    case NUMBER: return TEXT;
        BANKSIM_CUSPARSE_STATUSES(STATUS)
    }
    return "unrecognized error code";
}
#define FIELD(NAME, TYPE, MEMBER, MOST)                                       \
    cusparseStatus_t cusparseSet##NAME(cusparseHandle_t handle, TYPE value) { \
        NEED(handle && (uintptr_t)value <= MOST);                             \
        handle->MEMBER = value;                                               \
        OK;                                                                   \
    }                                                                         \
    cusparseStatus_t cusparseGet##NAME(cusparseHandle_t handle, TYPE *value) { \
        NEED(handle && value);                                                \
        *value = handle->MEMBER;                                              \
        OK;                                                                   \
    }
FIELD(Stream, cudaStream_t, stream, UINTPTR_MAX)
FIELD(PointerMode, cusparsePointerMode_t, mode, 1)

/* ---- what a matrix is said to be, by the older functions */
cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *made) {
    NEED(made);
    *made = banksim_zeroed(sizeof **made);
    OK;
}
#define SAID(NAME, TYPE, MEMBER, MOST)                                             \
    cusparseStatus_t cusparseSetMat##NAME(cusparseMatDescr_t descr, TYPE value) {  \
        NEED(descr && (unsigned)value <= MOST);                                    \
        descr->MEMBER = value;                                                     \
        OK;                                                                        \
    }                                                                              \
    TYPE cusparseGetMat##NAME(const cusparseMatDescr_t descr) { return descr->MEMBER; }
SAID(Type, cusparseMatrixType_t, type, 3)
SAID(FillMode, cusparseFillMode_t, fill, 1)
SAID(DiagType, cusparseDiagType_t, diagonal, 1)
SAID(IndexBase, cusparseIndexBase_t, base, 1)

/* ---- matrices and vectors. Those that are read only have functions of their own. */
static cusparseStatus_t sparse(cusparseSpMatDescr_t *made, struct cusparseSpMatDescr as) {
    NEED(made && as.rows >= 0 && as.cols >= 0 && as.nnz >= 0 && (unsigned)as.base < 2);
    NEED(as.rows * as.cols >= as.nnz);
    *made = banksim_zeroed(sizeof **made);
    **made = as;
    (*made)->count = 1;
    OK;
}
#define COMPRESSED(NAME, FORMAT, CONST, KIND)                                                                          \
    cusparseStatus_t cusparseCreate##NAME(KIND *made, int64_t rows, int64_t cols, int64_t nnz, CONST void *offsets,    \
                                          CONST void *indices, CONST void *values, cusparseIndexType_t of_offsets,     \
                                          cusparseIndexType_t of_indices, cusparseIndexBase_t base,                    \
                                          cudaDataType type) {                                                         \
        return sparse((cusparseSpMatDescr_t *)made,                                                                    \
                      (struct cusparseSpMatDescr){FORMAT, rows, cols, nnz, (void *)offsets, (void *)indices,           \
                                                  (void *)values, of_offsets, of_indices, base, type});                \
    }
#define COORDINATES(NAME, CONST, KIND)                                                                                 \
    cusparseStatus_t cusparseCreate##NAME(KIND *made, int64_t rows, int64_t cols, int64_t nnz, CONST void *row,        \
                                          CONST void *col, CONST void *values, cusparseIndexType_t of_indices,         \
                                          cusparseIndexBase_t base, cudaDataType type) {                               \
        return sparse((cusparseSpMatDescr_t *)made,                                                                    \
                      (struct cusparseSpMatDescr){CUSPARSE_FORMAT_COO, rows, cols, nnz, (void *)row, (void *)col,      \
                                                  (void *)values, of_indices, of_indices, base, type});                \
    }
static cusparseStatus_t dense(struct cusparseDnMatDescr **made, struct cusparseDnMatDescr as) {
    NEED(made && as.rows >= 0 && as.cols >= 0);
    NEED(as.ld >= (as.order == CUSPARSE_ORDER_ROW ? as.cols : as.rows));
    *made = banksim_zeroed(sizeof **made);
    **made = as;
    OK;
}
#define DENSE(NAME, CONST, KIND)                                                                                  \
    cusparseStatus_t cusparseCreate##NAME##DnMat(KIND##MatDescr_t *made, int64_t rows, int64_t cols, int64_t ld,  \
                                                 CONST void *values, cudaDataType type, cusparseOrder_t order) {  \
        return dense((struct cusparseDnMatDescr **)made,                                                          \
                     (struct cusparseDnMatDescr){rows, cols, ld, (void *)values, type, order, 1});                \
    }                                                                                                             \
    cusparseStatus_t cusparseCreate##NAME##DnVec(KIND##VecDescr_t *made, int64_t size, CONST void *values,        \
                                                 cudaDataType type) {                                             \
        return dense((struct cusparseDnMatDescr **)made,                                                          \
                     (struct cusparseDnMatDescr){size, 1, size, (void *)values, type, CUSPARSE_ORDER_COL, 1});    \
    }
COMPRESSED(Csr, CUSPARSE_FORMAT_CSR, , cusparseSpMatDescr_t)
COMPRESSED(ConstCsr, CUSPARSE_FORMAT_CSR, const, cusparseConstSpMatDescr_t)
COMPRESSED(Csc, CUSPARSE_FORMAT_CSC, , cusparseSpMatDescr_t)
COMPRESSED(ConstCsc, CUSPARSE_FORMAT_CSC, const, cusparseConstSpMatDescr_t)
COORDINATES(Coo, , cusparseSpMatDescr_t)
COORDINATES(ConstCoo, const, cusparseConstSpMatDescr_t)
DENSE(, , cusparseDn)
DENSE(Const, const, cusparseConstDn)

DESTROY(, cusparseHandle_t)
DESTROY(MatDescr, cusparseMatDescr_t)
DESTROY(SpMat, cusparseConstSpMatDescr_t)
DESTROY(DnVec, cusparseConstDnVecDescr_t)
DESTROY(DnMat, cusparseConstDnMatDescr_t)

/* ---- what they are */
#define GET(NAME, TYPE, MEMBER, KIND)                                               \
    cusparseStatus_t cusparse##NAME(cusparse##KIND##Descr_t of, TYPE *found) {      \
        NEED(of && found);                                                          \
        *found = of->MEMBER;                                                        \
        OK;                                                                         \
    }
#define POINTERS(KIND, MEMBER)                                                       \
    GET(KIND##GetValues, void *, MEMBER, KIND)                                       \
    GET(Const##KIND##GetValues, const void *, MEMBER, Const##KIND)                   \
    cusparseStatus_t cusparse##KIND##SetValues(cusparse##KIND##Descr_t of, void *values) { \
        NEED(of && values);                                                          \
        of->MEMBER = values;                                                         \
        OK;                                                                          \
    }
POINTERS(SpMat, values)
POINTERS(DnVec, column.values)
POINTERS(DnMat, values)
GET(SpMatGetFormat, cusparseFormat_t, format, ConstSpMat)
GET(SpMatGetIndexBase, cusparseIndexBase_t, base, ConstSpMat)
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t of, int64_t *rows, int64_t *cols, int64_t *nnz) {
    NEED(of && rows && cols && nnz);
    *rows = of->rows, *cols = of->cols, *nnz = of->nnz;
    OK;
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t of, int64_t *rows, int64_t *cols, int64_t *nnz, void **offsets,
                                void **indices, void **values, cusparseIndexType_t *of_offsets,
                                cusparseIndexType_t *of_indices, cusparseIndexBase_t *base, cudaDataType *type) {
    NEED(of && offsets && indices && values && of_offsets && of_indices && base && type);
    *offsets = of->offsets, *indices = of->indices, *values = of->values;
    *of_offsets = of->of_offsets, *of_indices = of->of_indices, *base = of->base, *type = of->type;
    return cusparseSpMatGetSize(of, rows, cols, nnz);
}
#define SET_POINTERS(NAME)                                                                                            \
    cusparseStatus_t cusparse##NAME##SetPointers(cusparseSpMatDescr_t of, void *offsets, void *indices, void *values) { \
        NEED(of && offsets && indices && values);                                                                     \
        of->offsets = offsets, of->indices = indices, of->values = values;                                            \
        OK;                                                                                                           \
    }
SET_POINTERS(Csr)
SET_POINTERS(Csc)
SET_POINTERS(Coo)
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t of, cusparseSpMatAttribute_t which, void *value,
                                           size_t size) {
    NEED(of && value && (unsigned)which < 2 && size == 4);
    memcpy(which == CUSPARSE_SPMAT_FILL_MODE ? (void *)&of->fill : &of->diagonal, value, size);
    OK;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t of, cusparseSpMatAttribute_t which, void *value,
                                           size_t size) {
    NEED(of && value && (unsigned)which < 2 && size == 4);
    memcpy(value, which == CUSPARSE_SPMAT_FILL_MODE ? (void *)&of->fill : &of->diagonal, size);
    OK;
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t of, int count, int64_t offsets_stride, int64_t stride) {
    NEED(of && count > 0 && offsets_stride >= 0 && stride >= 0);
    of->count = count, of->offsets_stride = offsets_stride, of->stride = stride;
    OK;
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t of, int count, int64_t stride) {
    return cusparseCsrSetStridedBatch(of, count, stride, stride);
}
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t of, int64_t *size, void **values, cudaDataType *type) {
    NEED(of && size && values && type);
    *size = of->column.rows, *values = of->column.values, *type = of->column.type;
    OK;
}
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t of, int64_t *rows, int64_t *cols, int64_t *ld, void **values,
                                  cudaDataType *type, cusparseOrder_t *order) {
    NEED(of && rows && cols && ld && values && type && order);
    *rows = of->rows, *cols = of->cols, *ld = of->ld;
    *values = of->values, *type = of->type, *order = of->order;
    OK;
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t of, int count, int64_t stride) {
    NEED(of && count > 0 && stride >= 0);
    of->count = count, of->stride = stride;
    OK;
}

/* ---- products with dense matrices */
static cusparseStatus_t fits(cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,
                             cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta,
                             cusparseConstDnMatDescr_t c, cudaDataType computed) {
    NEED(h && alpha && a && b && beta && c && (unsigned)op < 3 && (unsigned)opb < 3);
    NEED((op ? a->cols : a->rows) == c->rows && (opb ? b->rows : b->cols) == c->cols);
    NEED((op ? a->rows : a->cols) == (opb ? b->cols : b->rows));
    bool known = is_known(b->type, computed) && a->type == computed && c->type == computed;
    if (!known || (a->count > 1 && a->count != c->count) || (b->count > 1 && b->count != c->count))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    OK;
}
static cusparseStatus_t product_of(cusparseHandle_t h, const char *name, cusparseOperation_t op, cusparseOperation_t opb,
                                   const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                   const void *beta, cusparseConstDnMatDescr_t c, cudaDataType computed) {
    COMPUTE(name, NULL, 0, op, opb, SCALAR(alpha, computed), SCALAR(beta, computed), OF_SPARSE(a), OF_DENSE(b),
            OF_DENSE(c));
}
static cusparseStatus_t product(cusparseHandle_t h, const char *name, cusparseOperation_t op, cusparseOperation_t opb,
                                const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                const void *beta, cusparseConstDnMatDescr_t c, cudaDataType computed) {
    for (int n = 0; n < c->count; n++) {
        struct cusparseSpMatDescr left = sparse_one(a, n);
        struct cusparseDnMatDescr right = dense_one(b, n), to = dense_one(c, n);
        cusparseStatus_t failed = product_of(h, name, op, opb, alpha, &left, &right, beta, &to, computed);
        if (failed) return failed;
    }
    OK;
}
#define VECTORS                                                                                              \
    cusparseHandle_t h, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,               \
        cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType computed,          \
        cusparseSpMVAlg_t algorithm
#define MATRICES                                                                                             \
    cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,                   \
        cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c,   \
        cudaDataType computed, cusparseSpMMAlg_t algorithm
#define OF_VECTORS h, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, COLUMN(x), beta, COLUMN(y), computed
#define OF_MATRICES h, op, opb, alpha, a, b, beta, c, computed
/* Nothing is written to buffers here. Their sizes are one H200's for SpMV of rows or columns by the default algorithm. */
static size_t buffer_of(cusparseConstSpMatDescr_t a) { return 7 + (a->nnz + 4095) / 4096 * 4; }
static bool multiplies(cusparseConstSpMatDescr_t a, cusparseSpMVAlg_t algorithm) {
    if (!a || algorithm == CUSPARSE_SPMV_ALG_DEFAULT) return true;
    bool of_coordinates = algorithm == CUSPARSE_SPMV_COO_ALG1 || algorithm == CUSPARSE_SPMV_COO_ALG2;
    return algorithm > 0 && algorithm <= CUSPARSE_SPMV_COO_ALG2 && of_coordinates == (a->format == CUSPARSE_FORMAT_COO);
}
#define PRODUCTS(NAME, PARAMETERS, ARGUMENTS, CHECKED, VALID, WITH_BUFFER)                             \
    cusparseStatus_t cusparse##NAME##_bufferSize(PARAMETERS, size_t *size) {                           \
        NEED(a && size && (VALID));                                                                    \
        *size = buffer_of(a);                                                                          \
        return fits(ARGUMENTS);                                                                        \
    }                                                                                                  \
    cusparseStatus_t cusparse##NAME##_preprocess(PARAMETERS, void *buffer) { return fits(ARGUMENTS); } \
    cusparseStatus_t cusparse##NAME(PARAMETERS, void *buffer) {                                        \
        NEED(a && (VALID));                                                                            \
        cusparseStatus_t failed = fits(ARGUMENTS);                                                     \
        if (failed) return failed;                                                                     \
        NEED(WITH_BUFFER);                                                                             \
        return product(h, #NAME, CHECKED);                                                             \
    }
#define BARE(...) __VA_ARGS__
PRODUCTS(SpMV, BARE(VECTORS), BARE(OF_VECTORS),
         BARE(op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, COLUMN(x), beta, COLUMN(y), computed),
         multiplies(a, algorithm), buffer || a->format == CUSPARSE_FORMAT_COO)
PRODUCTS(SpMM, BARE(MATRICES), BARE(OF_MATRICES), BARE(op, opb, alpha, a, b, beta, c, computed), true, true)

/* ---- from dense to sparse, in two steps: how many values there are, and the values; and back */
enum { BUFFER = 8 };
static cusparseStatus_t alike(cusparseHandle_t h, cusparseConstDnMatDescr_t m, cusparseConstSpMatDescr_t a) {
    NEED(h && m && a && m->rows == a->rows && m->cols == a->cols && m->type == a->type);
    OK;
}
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t h, cusparseConstDnMatDescr_t from,
                                                  cusparseSpMatDescr_t to, cusparseDenseToSparseAlg_t algorithm,
                                                  size_t *size) {
    NEED(size);
    *size = BUFFER;
    return alike(h, from, to);
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t h, cusparseConstDnMatDescr_t from,
                                                cusparseSpMatDescr_t to, cusparseDenseToSparseAlg_t algorithm,
                                                void *buffer) {
    cusparseStatus_t failed = alike(h, from, to);
    if (failed) return failed;
    COMPUTE("DenseToSparse_analysis", &to->nnz, sizeof to->nnz, OF_SPARSE(to), OF_DENSE(from));
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t h, cusparseConstDnMatDescr_t from,
                                               cusparseSpMatDescr_t to, cusparseDenseToSparseAlg_t algorithm,
                                               void *buffer) {
    cusparseStatus_t failed = alike(h, from, to);
    if (failed) return failed;
    COMPUTE("DenseToSparse_convert", NULL, 0, OF_SPARSE(to), OF_DENSE(from));
}
cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t h, cusparseConstSpMatDescr_t from,
                                                  cusparseDnMatDescr_t to, cusparseSparseToDenseAlg_t algorithm,
                                                  size_t *size) {
    NEED(size);
    *size = BUFFER;
    return alike(h, to, from);
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t h, cusparseConstSpMatDescr_t from, cusparseDnMatDescr_t to,
                                       cusparseSparseToDenseAlg_t algorithm, void *buffer) {
    cusparseStatus_t failed = alike(h, to, from);
    if (failed) return failed;
    COMPUTE("SparseToDense", NULL, 0, OF_SPARSE(from), OF_DENSE(to));
}
