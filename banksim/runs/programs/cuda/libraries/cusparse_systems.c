/* The stand-in for libcusparse.so.12: products of sparse matrices, products at the places of one, systems of triangular
   ones, and incomplete factors. Nothing is written to buffers, and nothing is kept from one step to the next. */
#include "cusparse_parts.h"

enum { BUFFER = 8 };

/* ---- products of sparse matrices: their size, then their values */
struct cusparseSpGEMMDescr {
    int64_t count, products; /* values of the product, and of how many products of two they are sums */
};
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *made) {
    NEED(made);
    *made = banksim_zeroed(sizeof **made);
    OK;
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t given) {
    free(given);
    OK;
}
#define SPARSE_MATRICES                                                                                             \
    cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,                          \
        cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c,          \
        cudaDataType computed, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t d
#define OF_SPARSE_MATRICES h, op, opb, alpha, a, b, beta, c, computed, algorithm, d
static cusparseStatus_t multiplied(SPARSE_MATRICES) {
    NEED(h && alpha && a && b && beta && c && d && (unsigned)op < 3 && (unsigned)opb < 3);
    NEED(a->cols == b->rows && a->rows == c->rows && b->cols == c->cols);
    bool of_rows = a->format == CUSPARSE_FORMAT_CSR && b->format == a->format && c->format == a->format;
    bool known = is_known(a->type, computed) && b->type == computed && c->type == computed;
    return !of_rows || !known || op || opb ? CUSPARSE_STATUS_NOT_SUPPORTED : CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t d, int64_t *products) {
    NEED(d && products);
    *products = d->products;
    OK;
}
static cusparseStatus_t count(SPARSE_MATRICES) {
    COMPUTE("SpGEMM_workEstimation", d, sizeof *d, OF_SPARSE(a), OF_SPARSE(b));
}
cusparseStatus_t cusparseSpGEMM_workEstimation(SPARSE_MATRICES, size_t *size, void *buffer) {
    NEED((unsigned)algorithm <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t failed = multiplied(OF_SPARSE_MATRICES);
    if (failed) return failed;
    NEED(size);
    if (buffer) return count(OF_SPARSE_MATRICES);
    *size = BUFFER;
    OK;
}
cusparseStatus_t cusparseSpGEMM_estimateMemory(SPARSE_MATRICES, float part, size_t *third, void *buffer, size_t *second) {
    cusparseStatus_t failed = multiplied(OF_SPARSE_MATRICES);
    NEED(failed || third);
    if (!failed && buffer && second) *second = BUFFER;
    if (!failed && !buffer) *third = BUFFER;
    return failed;
}
cusparseStatus_t cusparseSpGEMM_compute(SPARSE_MATRICES, size_t *size, void *buffer) {
    cusparseStatus_t failed = multiplied(OF_SPARSE_MATRICES);
    if (failed) return failed;
    NEED(size);
    /* as an H200's cuSPARSE answers for those of SpGEMMreuse */
    if (algorithm == CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC || algorithm == CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC)
        return CUSPARSE_STATUS_INTERNAL_ERROR;
    if (buffer) c->nnz = d->count;
    else *size = BUFFER;
    OK;
}
cusparseStatus_t cusparseSpGEMM_copy(SPARSE_MATRICES) {
    cusparseStatus_t failed = multiplied(OF_SPARSE_MATRICES);
    if (failed) return failed;
    COMPUTE("SpGEMM_copy", NULL, 0, SCALAR(alpha, computed), SCALAR(beta, computed), OF_SPARSE(a), OF_SPARSE(b),
            OF_SPARSE(c));
}

/* ---- products of dense matrices, at the places of a sparse one */
#define PLACES                                                                                                      \
    cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,                          \
        cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseSpMatDescr_t c,          \
        cudaDataType computed, cusparseSDDMMAlg_t algorithm
#define OF_PLACES h, op, opb, alpha, a, b, beta, c, computed, algorithm
static cusparseStatus_t sampled(PLACES) {
    NEED(h && alpha && a && b && beta && c && (unsigned)op < 3 && (unsigned)opb < 3);
    NEED((op ? a->cols : a->rows) == c->rows && (opb ? b->rows : b->cols) == c->cols);
    NEED((op ? a->rows : a->cols) == (opb ? b->cols : b->rows));
    bool known = is_known(a->type, computed) && b->type == computed && c->type == computed;
    bool conjugates = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE || opb == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
    return !known || conjugates || c->format != CUSPARSE_FORMAT_CSR ? CUSPARSE_STATUS_NOT_SUPPORTED
                                                                    : CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM_bufferSize(PLACES, size_t *size) {
    cusparseStatus_t failed = sampled(OF_PLACES);
    NEED(failed || size);
    if (!failed) *size = BUFFER;
    return failed;
}
cusparseStatus_t cusparseSDDMM_preprocess(PLACES, void *buffer) { return sampled(OF_PLACES); }
static cusparseStatus_t sample(PLACES) {
    COMPUTE("SDDMM", NULL, 0, op, opb, SCALAR(alpha, computed), SCALAR(beta, computed), OF_SPARSE(c), OF_DENSE(a),
            OF_DENSE(b));
}
cusparseStatus_t cusparseSDDMM(PLACES, void *buffer) {
    cusparseStatus_t failed = sampled(OF_PLACES);
    cusparseConstDnMatDescr_t every_a = a, every_b = b;
    cusparseSpMatDescr_t every = c;
    for (int n = 0; !failed && n < every->count; n++) {
        struct cusparseDnMatDescr left = dense_one(every_a, n), right = dense_one(every_b, n);
        struct cusparseSpMatDescr to = sparse_one(every, n);
        a = &left, b = &right, c = &to;
        failed = sample(OF_PLACES);
    }
    return failed;
}

/* ---- systems of a triangular matrix */
struct cusparseSpSVDescr {
    bool analysed;
};
struct cusparseSpSMDescr {
    bool analysed;
};
static cusparseStatus_t solvable(cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,
                                 cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseConstDnMatDescr_t c,
                                 cudaDataType computed, const void *d) {
    NEED(h && alpha && a && b && c && d && (unsigned)op < 3 && (unsigned)opb < 3);
    NEED(a->rows == a->cols && (opb ? b->cols : b->rows) == a->rows && c->rows == a->rows);
    NEED((opb ? b->rows : b->cols) == c->cols);
    bool known = is_known(a->type, computed) && b->type == computed && c->type == computed;
    return !known || a->format == CUSPARSE_FORMAT_CSC ? CUSPARSE_STATUS_NOT_SUPPORTED : CUSPARSE_STATUS_SUCCESS;
}
static cusparseStatus_t solve(cusparseHandle_t h, const char *name, cusparseOperation_t op, cusparseOperation_t opb,
                              const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              cusparseConstDnMatDescr_t c, cudaDataType computed) {
    COMPUTE(name, NULL, 0, op, opb, a->fill, a->diagonal, SCALAR(alpha, computed), OF_SPARSE(a), OF_DENSE(b),
            OF_DENSE(c));
}
#define ONE_SIDE                                                                                            \
    cusparseHandle_t h, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,              \
        cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y, cudaDataType computed, cusparseSpSVAlg_t algorithm, \
        cusparseSpSVDescr_t d
#define SIDES                                                                                               \
    cusparseHandle_t h, cusparseOperation_t op, cusparseOperation_t opb, const void *alpha,                  \
        cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType computed, \
        cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t d
#define SYSTEMS(NAME, PARAMETERS, ...)                                                                     \
    cusparseStatus_t cusparse##NAME##_createDescr(cusparse##NAME##Descr_t *made) {                         \
        NEED(made);                                                                                        \
        *made = banksim_zeroed(sizeof **made);                                                             \
        OK;                                                                                                \
    }                                                                                                      \
    cusparseStatus_t cusparse##NAME##_destroyDescr(cusparse##NAME##Descr_t given) {                        \
        free(given);                                                                                       \
        OK;                                                                                                \
    }                                                                                                      \
    cusparseStatus_t cusparse##NAME##_bufferSize(PARAMETERS, size_t *size) {                               \
        NEED(size);                                                                                        \
        *size = BUFFER;                                                                                    \
        return solvable(h, __VA_ARGS__, computed, d);                                                      \
    }                                                                                                      \
    cusparseStatus_t cusparse##NAME##_analysis(PARAMETERS, void *buffer) {                                 \
        cusparseStatus_t failed = solvable(h, __VA_ARGS__, computed, d);                                   \
        if (!failed) d->analysed = true;                                                                   \
        return failed;                                                                                     \
    }                                                                                                      \
    cusparseStatus_t cusparse##NAME##_solve(PARAMETERS) {                                                  \
        cusparseStatus_t failed = solvable(h, __VA_ARGS__, computed, d);                                   \
        NEED(failed || d->analysed);                                                                       \
        return failed ? failed : solve(h, #NAME, __VA_ARGS__, computed);                                   \
    }
#define BARE(...) __VA_ARGS__
SYSTEMS(SpSV, BARE(ONE_SIDE), op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, COLUMN(x), COLUMN(y))
SYSTEMS(SpSM, BARE(SIDES), op, opb, alpha, a, b, c)

/* ---- incomplete factors with no values where the matrix has none: l · u, and l · lᴴ */
struct csrilu02Info {
    int first; /* the first pivot that is 0 (of l · lᴴ: or less), from 0 on; less than 0 where there is none */
};
struct csric02Info {
    int first;
    bool analysed;
};
static cusparseStatus_t pivot_told(cusparseHandle_t h, int first, int *position) {
    NEED(h && position);
    *position = first;
    return first < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t h, csrilu02Info_t info, int *position) {
    NEED(info);
    return pivot_told(h, info->first, position);
}
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t h, csric02Info_t info, int *position) {
    NEED(info && info->analysed);
    return pivot_told(h, info->first, position);
}
#define ANY_MATRIX(H, D, M, NNZ, INFO) NEED(H && D && INFO && M >= 0 && NNZ >= 0)
/* As one H200's cuSPARSE answered for l · lᴴ; it was not asked for l · u. */
#define GENERAL_MATRIX(H, D, M, NNZ, INFO)   \
    NEED(H && D && INFO && M > 0 && NNZ >= 0); \
    if (D->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED
static cusparseStatus_t factored(cusparseHandle_t h, const char *name, cudaDataType type, int m, int nnz,
                                 const cusparseMatDescr_t d, const void *values, const int *offsets, const int *columns,
                                 int *place) {
    const struct cusparseSpMatDescr a = {CUSPARSE_FORMAT_CSR, m, m, nnz, (void *)offsets, (void *)columns, (void *)values,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, d->base, type};
    const struct cusparseSpMatDescr *of = &a;
    int64_t first = -1;
    const uint64_t words[] = {h->mode, OF_SPARSE(of)};
    CUresult failed = banksim_compute(h->stream, "cuSPARSE", name, words, sizeof words / sizeof *words, &first, sizeof first);
    *place = first;
    return status_of(failed);
}
#define KIND_OF_FACTORS(KIND, Kind)                                               \
    cusparseStatus_t cusparseCreate##Kind##Info(KIND##Info_t *made) {             \
        NEED(made);                                                               \
        *made = banksim_zeroed(sizeof **made);                                    \
        (*made)->first = -1;                                                      \
        OK;                                                                       \
    }                                                                             \
    cusparseStatus_t cusparseDestroy##Kind##Info(KIND##Info_t given) {            \
        free(given);                                                              \
        OK;                                                                       \
    }
KIND_OF_FACTORS(csrilu02, Csrilu02)
KIND_OF_FACTORS(csric02, Csric02)
#define FACTORS(X, T, TYPE, KIND, CHECK, ANALYSED)                                                                      \
    cusparseStatus_t cusparse##X##KIND##_bufferSize(cusparseHandle_t h, int m, int nnz, const cusparseMatDescr_t d,      \
                                                    T *values, const int *offsets, const int *columns,                  \
                                                    KIND##Info_t info, int *size) {                                     \
        CHECK(h, d, m, nnz, info);                                                                                      \
        NEED(size);                                                                                                     \
        *size = BUFFER;                                                                                                 \
        OK;                                                                                                             \
    }                                                                                                                   \
    cusparseStatus_t cusparse##X##KIND##_analysis(cusparseHandle_t h, int m, int nnz, const cusparseMatDescr_t d,        \
                                                  const T *values, const int *offsets, const int *columns,              \
                                                  KIND##Info_t info, cusparseSolvePolicy_t policy, void *buffer) {      \
        CHECK(h, d, m, nnz, info);                                                                                      \
        ANALYSED;                                                                                                       \
        return factored(h, "csrilu02_analysis", TYPE, m, nnz, d, values, offsets, columns, &info->first);               \
    }                                                                                                                   \
    cusparseStatus_t cusparse##X##KIND(cusparseHandle_t h, int m, int nnz, const cusparseMatDescr_t d, T *values,        \
                                       const int *offsets, const int *columns, KIND##Info_t info,                       \
                                       cusparseSolvePolicy_t policy, void *buffer) {                                    \
        CHECK(h, d, m, nnz, info);                                                                                      \
        return factored(h, #KIND, TYPE, m, nnz, d, values, offsets, columns, &info->first);                             \
    }

/* ---- systems of three diagonals */
static cusparseStatus_t three(cusparseHandle_t h, const char *name, cudaDataType type, int m, int n, int count,
                              int64_t stride, const void *lower, const void *middle, const void *upper, void *right,
                              int ld) {
    COMPUTE(name, NULL, 0, type, m, n, count, stride, WORD(lower), WORD(middle), WORD(upper), WORD(right), ld);
}
#define DIAGONALS(X, T, TYPE, NAME)                                                                                     \
    cusparseStatus_t cusparse##X##NAME##_bufferSizeExt(cusparseHandle_t h, int m, int n, const T *lower,                 \
                                                       const T *middle, const T *upper, const T *right, int ld,         \
                                                       size_t *size) {                                                  \
        NEED(h && size);                                                                                                \
        *size = BUFFER;                                                                                                 \
        OK;                                                                                                             \
    }                                                                                                                   \
    cusparseStatus_t cusparse##X##NAME(cusparseHandle_t h, int m, int n, const T *lower, const T *middle,                \
                                       const T *upper, T *right, int ld, void *buffer) {                                \
        NEED(h && m >= 3 && n >= 0 && ld >= m);                                                                         \
        return three(h, #NAME, TYPE, m, n, 1, 0, lower, middle, upper, right, ld);                                      \
    }
#define BATCHED_DIAGONALS(X, T, TYPE)                                                                                   \
    cusparseStatus_t cusparse##X##gtsv2StridedBatch_bufferSizeExt(cusparseHandle_t h, int m, const T *lower,             \
                                                                  const T *middle, const T *upper, const T *right,      \
                                                                  int count, int stride, size_t *size) {                \
        NEED(h && size && m >= 3 && count > 0 && stride >= m);                                                          \
        *size = BUFFER;                                                                                                 \
        OK;                                                                                                             \
    }                                                                                                                   \
    cusparseStatus_t cusparse##X##gtsv2StridedBatch(cusparseHandle_t h, int m, const T *lower, const T *middle,          \
                                                    const T *upper, T *right, int count, int stride, void *buffer) {    \
        NEED(h && m >= 3 && count > 0 && stride >= m);                                                                  \
        return three(h, "gtsv2_nopivot", TYPE, m, 1, count, stride, lower, middle, upper, right, m);                    \
    }
#define OF_TYPE(X, T, TYPE)                                                        \
    FACTORS(X, T, TYPE, csrilu02, ANY_MATRIX, )                                    \
    FACTORS(X, T, TYPE, csric02, GENERAL_MATRIX, info->analysed = true)            \
    DIAGONALS(X, T, TYPE, gtsv2)                                                   \
    DIAGONALS(X, T, TYPE, gtsv2_nopivot)                                           \
    BATCHED_DIAGONALS(X, T, TYPE)
OF_TYPE(S, float, CUDA_R_32F)
OF_TYPE(D, double, CUDA_R_64F)
OF_TYPE(C, cuComplex, CUDA_C_32F)
OF_TYPE(Z, cuDoubleComplex, CUDA_C_64F)
