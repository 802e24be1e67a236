// Products with sparse matrices: as one H200's cuSPARSE answered.
#include <cstring>
#include <cusparse.h>
#include <vector>
#include "expect.h"

template <class T> static T *on_device(const std::vector<T> &from) {
    T *p;
    OK(cudaMalloc(&p, from.size() * sizeof(T) + 1));
    OK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> static void show(const char *what, const T *device, int count) {
    std::vector<T> v(count);
    OK(cudaMemcpy(v.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    printf("%s", what);
    for (T one : v) printf(" %.9g", (double)one);
    printf("\n");
}
static cusparseHandle_t h;
static const int ROWS = 4, COLS = 5, NNZ = 9;

template <class T> static void products(cudaDataType type, int base) {
    std::vector<int> offsets = {0, 3, 4, 7, 9}, rows = {0, 0, 0, 1, 2, 2, 2, 3, 3}, cols = {0, 2, 3, 1, 0, 2, 3, 1, 4};
    for (int &n : offsets) n += base;
    for (int &n : rows) n += base;
    for (int &n : cols) n += base;
    std::vector<T> values, x, y;
    for (int n = 0; n < NNZ; n++) values.push_back(n + 1);
    for (int n = 0; n < 20; n++) x.push_back(n + 1), y.push_back(100 * n);
    int *o = on_device(offsets), *r = on_device(rows), *c = on_device(cols);
    T *v = on_device(values), *dx = on_device(x), *dy = on_device(y), alpha = 2, beta = 1, *scalars = on_device<T>({2, 0});
    cusparseIndexBase_t from = (cusparseIndexBase_t)base;
    for (int kind = 0; kind < 3; kind++) {
        cusparseSpMatDescr_t a;
        cusparseDnVecDescr_t vx, vy;
        if (kind == 0) OK(cusparseCreateCsr(&a, ROWS, COLS, NNZ, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, from, type));
        if (kind == 1) OK(cusparseCreateCoo(&a, ROWS, COLS, NNZ, r, c, v, CUSPARSE_INDEX_32I, from, type));
        if (kind == 2) OK(cusparseCreateCsc(&a, COLS, ROWS, NNZ, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, from, type));
        for (int op = 0; op < 2; op++) {
            bool turned = (op == 1) != (kind == 2);
            OK(cusparseCreateDnVec(&vx, turned ? ROWS : COLS, dx, type));
            OK(cusparseCreateDnVec(&vy, turned ? COLS : ROWS, dy, type));
            size_t size = 77;
            void *buffer;
            OK(cudaMemcpy(dy, y.data(), y.size() * sizeof(T), cudaMemcpyHostToDevice));
            OK(cusparseSpMV_bufferSize(h, (cusparseOperation_t)op, &alpha, a, vx, &beta, vy, type, CUSPARSE_SPMV_ALG_DEFAULT, &size));
            OK(cudaMalloc(&buffer, size + 1));
            OK(cusparseSpMV(h, (cusparseOperation_t)op, &alpha, a, vx, &beta, vy, type, CUSPARSE_SPMV_ALG_DEFAULT, buffer));
            printf("kind %d op %d type %d base %d: %zu bytes:", kind, op, type, base, kind == 1 ? 0 : size);
            show("", dy, turned ? COLS : ROWS);
            OK(cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_DEVICE));
            OK(cusparseSpMV(h, (cusparseOperation_t)op, scalars, a, vx, scalars + 1, vy, type, CUSPARSE_SPMV_ALG_DEFAULT, buffer));
            OK(cusparseSetPointerMode(h, CUSPARSE_POINTER_MODE_HOST));
            show("scalars of the device", dy, turned ? COLS : ROWS);
            OK(cusparseDestroyDnVec(vx));
            OK(cusparseDestroyDnVec(vy));
            OK(cudaFree(buffer));
        }
        for (int op = 0; op < 2; op++)
            for (int opb = 0; opb < 2; opb++)
                for (int order = 0; order < 4; order++) {
                    bool turned = (op == 1) != (kind == 2);
                    int m = turned ? COLS : ROWS, k = turned ? ROWS : COLS, n = 3;
                    cusparseOrder_t ob = order & 1 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
                    cusparseOrder_t oc = order & 2 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
                    int rb = opb ? n : k, cb = opb ? k : n;
                    cusparseDnMatDescr_t b, to;
                    OK(cusparseCreateDnMat(&b, rb, cb, order & 1 ? cb : rb, dx, type, ob));
                    OK(cusparseCreateDnMat(&to, m, n, order & 2 ? n : m, dy, type, oc));
                    OK(cudaMemcpy(dy, y.data(), y.size() * sizeof(T), cudaMemcpyHostToDevice));
                    size_t size = 77;
                    void *buffer;
                    int failed = cusparseSpMM_bufferSize(h, (cusparseOperation_t)op, (cusparseOperation_t)opb, &alpha, a, b, &beta, to, type, CUSPARSE_SPMM_ALG_DEFAULT, &size);
                    OK(cudaMalloc(&buffer, size + 1));
                    int then = cusparseSpMM(h, (cusparseOperation_t)op, (cusparseOperation_t)opb, &alpha, a, b, &beta, to, type, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
                    printf("SpMM kind %d op %d %d order %d: %d %d:", kind, op, opb, order, failed, then);
                    show("", dy, m * n);
                    OK(cusparseDestroyDnMat(b));
                    OK(cusparseDestroyDnMat(to));
                    OK(cudaFree(buffer));
                }
        OK(cusparseDestroySpMat(a));
    }
}

static void queries() {
    std::vector<int> offsets = {0, 3, 4, 7, 9}, cols = {0, 2, 3, 1, 0, 2, 3, 1, 4};
    std::vector<float> values(9, 1.f), x(20, 1.f);
    int *o = on_device(offsets), *c = on_device(cols);
    float *v = on_device(values), *dx = on_device(x), one = 1;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vx, vy;
    cusparseDnMatDescr_t b;
    IS(cusparseCreateCsr(&a, -1, 5, 9, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseCreateCsr(&a, 4, 5, 21, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseCreateCsr(&a, 4, 5, 9, nullptr, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    OK(cusparseCreateCsr(&a, 4, 5, 9, o, nullptr, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    IS(cusparseCreateCsr(nullptr, 4, 5, 9, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseCreateCsr(&a, 4, 5, 9, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, (cusparseIndexBase_t)2, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseCreateCsr(&a, 4, 5, 0, nullptr, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    OK(cusparseCsrSetPointers(a, o, c, v));
    OK(cusparseDestroySpMat(a));
    OK(cusparseCreateCsr(&a, 4, 5, 9, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    int64_t rows = 0, columns = 0, count = 0;
    OK(cusparseSpMatGetSize(a, &rows, &columns, &count));
    IS(rows * 100 + columns * 10 + count, 459);
    cusparseFormat_t format;
    OK(cusparseSpMatGetFormat(a, &format));
    IS(format, CUSPARSE_FORMAT_CSR);
    cusparseIndexBase_t base;
    OK(cusparseSpMatGetIndexBase(a, &base));
    IS(base, 0);
    void *got = nullptr;
    OK(cusparseSpMatGetValues(a, &got));
    IS(got == v, 1);
    void *go, *gc, *gv;
    cusparseIndexType_t io, ic;
    cudaDataType type;
    OK(cusparseCsrGet(a, &rows, &columns, &count, &go, &gc, &gv, &io, &ic, &base, &type));
    IS(go == o && gc == c && gv == v && io == CUSPARSE_INDEX_32I && type == CUDA_R_32F, 1);
    IS(cusparseCreateDnVec(&vx, -1, dx, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseCreateDnVec(&vx, 5, nullptr, CUDA_R_32F));
    IS(cusparseCreateDnMat(&b, 4, 5, 3, dx, CUDA_R_32F, CUSPARSE_ORDER_COL), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseCreateDnMat(&b, 4, 5, 4, dx, CUDA_R_32F, CUSPARSE_ORDER_ROW), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseCreateDnVec(&vx, 5, dx, CUDA_R_32F));
    OK(cusparseCreateDnVec(&vy, 3, dx, CUDA_R_32F));
    OK(cusparseDnVecGet(vx, &count, &got, &type));
    IS(count, 5);
    size_t size = 77;
    IS(cusparseSpMV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseSpMV(nullptr, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseDestroyDnVec(vy));
    OK(cusparseCreateDnVec(&vy, 4, dx + 8, CUDA_R_32F));
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_NOT_SUPPORTED);
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, nullptr, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, nullptr, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseSpMV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    for (int alg = 0; alg < 9; alg++) {
        int first = cusparseSpMV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, (cusparseSpMVAlg_t)alg, &size);
        void *buffer;
        OK(cudaMalloc(&buffer, 100000));
        int then = cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, (cusparseSpMVAlg_t)alg, buffer);
        printf("algorithm %d: %d %d\n", alg, first, then);
    }
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &one, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseDestroySpMat(a));
    // sizes of buffers of larger matrices: the values are not read
    for (int n : {10, 100, 1000, 100000})
        for (int64_t each : {1, 7, 64}) {
            if (each > n) continue;
            OK(cusparseCreateCsr(&a, n, n, n * each, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
            cusparseDnVecDescr_t wide, to;
            OK(cusparseCreateDnVec(&wide, n, dx, CUDA_R_32F));
            OK(cusparseCreateDnVec(&to, n, dx, CUDA_R_32F));
            for (int op = 0; op < 2; op++) {
                int status = cusparseSpMV_bufferSize(h, (cusparseOperation_t)op, &one, a, wide, &one, to, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size);
                printf("%d rows of %ld, op %d: %d, %zu bytes\n", n, (long)each, op, status, size);
            }
        }
    IS(cusparseSetPointerMode(h, (cusparsePointerMode_t)5), CUSPARSE_STATUS_INVALID_VALUE);
    cusparsePointerMode_t mode;
    OK(cusparseGetPointerMode(h, &mode));
    IS(mode, 0);
    cudaStream_t s = (cudaStream_t)5;
    OK(cusparseGetStream(h, &s));
    IS(s == nullptr, 1);
    IS(cusparseCreate(nullptr), CUSPARSE_STATUS_INVALID_VALUE);
    OK(cusparseDestroy(nullptr));
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    IS(cusparseGetMatType(d), CUSPARSE_MATRIX_TYPE_GENERAL);
    IS(cusparseGetMatIndexBase(d), CUSPARSE_INDEX_BASE_ZERO);
    IS(cusparseGetMatFillMode(d), CUSPARSE_FILL_MODE_LOWER);
    IS(cusparseGetMatDiagType(d), CUSPARSE_DIAG_TYPE_NON_UNIT);
    OK(cusparseSetMatType(d, CUSPARSE_MATRIX_TYPE_SYMMETRIC));
    OK(cusparseSetMatIndexBase(d, CUSPARSE_INDEX_BASE_ONE));
    IS(cusparseSetMatType(d, (cusparseMatrixType_t)7), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseSetMatIndexBase(d, (cusparseIndexBase_t)7), CUSPARSE_STATUS_INVALID_VALUE);
    IS(cusparseGetMatIndexBase(d), 1);
    OK(cusparseDestroyMatDescr(d));
    int version = 0;
    OK(cusparseGetVersion(h, &version));
    printf("version %d %d\n", version, CUSPARSE_VERSION);
    for (int n = 0; n < 13; n++) printf("%d %s: %s\n", n, cusparseGetErrorName((cusparseStatus_t)n), cusparseGetErrorString((cusparseStatus_t)n));
}

template <class T> static void dense(cudaDataType type) {
    std::vector<T> full = {1, 0, 2, 0, 0, 0, 3, 4, 5, 0, 0, 6}; // 4 x 3 by columns; 3 x 4 by rows
    T *d = on_device(full), *back = on_device(std::vector<T>(12, 9));
    for (int order = 1; order < 3; order++) {
        cusparseDnMatDescr_t m, out;
        cusparseSpMatDescr_t a;
        int *o = on_device(std::vector<int>(8, 9)), *c;
        T *v;
        size_t size = 77;
        void *buffer;
        OK(cusparseCreateDnMat(&m, 4, 3, order == 1 ? 4 : 3, d, type, (cusparseOrder_t)order));
        OK(cusparseCreateCsr(&a, 4, 3, 0, o, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
        OK(cusparseDenseToSparse_bufferSize(h, m, a, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &size));
        OK(cudaMalloc(&buffer, size + 1));
        OK(cusparseDenseToSparse_analysis(h, m, a, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
        int64_t rows, cols, nnz = 0;
        OK(cusparseSpMatGetSize(a, &rows, &cols, &nnz));
        IS(nnz, 6);
        OK(cudaMalloc(&c, nnz * 4));
        OK(cudaMalloc(&v, nnz * sizeof(T)));
        OK(cusparseCsrSetPointers(a, o, c, v));
        OK(cusparseDenseToSparse_convert(h, m, a, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
        show("offsets", o, 5);
        show("columns", c, 6);
        show("values", v, 6);
        OK(cusparseCreateDnMat(&out, 4, 3, order == 1 ? 4 : 3, back, type, (cusparseOrder_t)order));
        OK(cusparseSparseToDense_bufferSize(h, a, out, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &size));
        void *other;
        OK(cudaMalloc(&other, size + 1));
        OK(cusparseSparseToDense(h, a, out, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, other));
        show("back", back, 12);
    }
}

static void halves() {
    cusparseDnVecDescr_t v;
    cusparseSpMatDescr_t a;
    float one = 1;
    OK(cusparseCreate(&h));
    OK(cusparseCreateDnVec(&v, 1, nullptr, CUDA_R_16F));
    OK(cusparseCreateCsr(&a, 1, 1, 0, nullptr, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_16F));
    IS(cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, v, &one, v, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr), CUSPARSE_STATUS_NOT_SUPPORTED);
}
int main(int count, char **) {
    if (count > 1) return halves(), 0;
    IS(CUSPARSE_SPMV_COO_ALG1 + 10 * CUSPARSE_SPMV_CSR_ALG1 + 100 * CUSPARSE_SPMV_CSR_ALG2 + 1000 * CUSPARSE_SPMV_COO_ALG2, 4321);
    IS(CUSPARSE_SPMM_COO_ALG1 + 10 * CUSPARSE_SPMM_COO_ALG2 + 100 * CUSPARSE_SPMM_COO_ALG3, 321);
    IS(CUSPARSE_SPMM_CSR_ALG1 + 10 * CUSPARSE_SPMM_COO_ALG4 + 100 * CUSPARSE_SPMM_CSR_ALG2, 654);
    IS(CUSPARSE_SPMM_CSR_ALG3, 12);
    IS(CUSPARSE_INDEX_16U + 10 * CUSPARSE_INDEX_32I + 100 * CUSPARSE_INDEX_64I, 321);
    IS(CUSPARSE_FORMAT_CSR + 10 * CUSPARSE_FORMAT_CSC + 100 * CUSPARSE_FORMAT_COO, 321);
    IS(CUSPARSE_SPMV_ALG_DEFAULT + CUSPARSE_SPMM_ALG_DEFAULT + CUSPARSE_DENSETOSPARSE_ALG_DEFAULT + CUSPARSE_SPARSETODENSE_ALG_DEFAULT, 0);
    IS(CUSPARSE_SPMAT_FILL_MODE + 10 * CUSPARSE_SPMAT_DIAG_TYPE, 10);
    OK(cusparseCreate(&h));
    products<float>(CUDA_R_32F, 0);
    products<double>(CUDA_R_64F, 1);
    queries();
    dense<float>(CUDA_R_32F);
    dense<double>(CUDA_R_64F);
    OK(cusparseDestroy(h));
    printf("done\n");
}
