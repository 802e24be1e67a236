// cuSPARSE's products of sparse matrices, triangular systems, incomplete factors, vectors and conversions: as one H200's
// answered. Values are small whole numbers and powers of two, so that each result is exact.
#include <cstring>
#include <cusparse_v2.h>
#include <vector>
#include "expect.h"

typedef std::vector<int> Ints;
template <class T> static T *on_device(const std::vector<T> &from) {
    T *p;
    OK(cudaMalloc(&p, from.size() * sizeof(T) + 16));
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
static void *buffer_of(size_t size) {
    void *p;
    OK(cudaMalloc(&p, size + 1));
    return p;
}
static cusparseHandle_t h;
static const cusparseIndexType_t I = CUSPARSE_INDEX_32I;

template <class T> static void products(cudaDataType type, int base, cusparseSpGEMMAlg_t algorithm) {
    // a 4 x 5, b 5 x 4; columns of a's third row are not sorted; 1 * 4 - 2 * 2 is a 0 that stays
    Ints ao = {0, 2, 2, 5, 6}, ac = {0, 2, 4, 0, 1, 3}, bo = {0, 2, 3, 5, 5, 7}, bc = {3, 0, 1, 3, 2, 0, 1};
    for (auto v : {&ao, &ac, &bo, &bc}) for (int &n : *v) n += base;
    T *av = on_device<T>({1, -2, 3, 4, 5, 6}), *bv = on_device<T>({4, 1, 2, 2, 3, 5, 6}), alpha = 2, beta = 0;
    cusparseIndexBase_t from = (cusparseIndexBase_t)base;
    cusparseSpMatDescr_t a, b, c;
    int *co = on_device(Ints(8, 77));
    OK(cusparseCreateCsr(&a, 4, 5, 6, on_device(ao), on_device(ac), av, I, I, from, type));
    OK(cusparseCreateCsr(&b, 5, 4, 7, on_device(bo), on_device(bc), bv, I, I, from, type));
    OK(cusparseCreateCsr(&c, 4, 4, 0, nullptr, nullptr, nullptr, I, I, from, type));
    cusparseSpGEMMDescr_t d;
    OK(cusparseSpGEMM_createDescr(&d));
    size_t first = 0, second = 0;
    cusparseOperation_t n = CUSPARSE_OPERATION_NON_TRANSPOSE;
#define GIVEN h, n, n, &alpha, a, b, &beta, c, type, algorithm, d
    OK(cusparseSpGEMM_workEstimation(GIVEN, &first, nullptr));
    OK(cusparseSpGEMM_workEstimation(GIVEN, &first, buffer_of(first)));
    if (algorithm == CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC || algorithm == CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC) {
        printf("algorithm %d: %d\n", algorithm, cusparseSpGEMM_compute(GIVEN, &second, nullptr));
        return;
    }
    if (algorithm == CUSPARSE_SPGEMM_ALG2 || algorithm == CUSPARSE_SPGEMM_ALG3) {
        int64_t count = -1;
        OK(cusparseSpGEMM_getNumProducts(d, &count));
        size_t third = 0;
        OK(cusparseSpGEMM_estimateMemory(GIVEN, .5f, &third, nullptr, nullptr));
        OK(cusparseSpGEMM_estimateMemory(GIVEN, .5f, &third, buffer_of(third), &second));
        printf("%ld products\n", (long)count);
    } else OK(cusparseSpGEMM_compute(GIVEN, &second, nullptr));
    OK(cusparseSpGEMM_compute(GIVEN, &second, buffer_of(second)));
    int64_t rows, cols, count;
    OK(cusparseSpMatGetSize(c, &rows, &cols, &count));
    printf("product, type %d base %d algorithm %d: %ld x %ld, %ld\n", type, base, algorithm, (long)rows, (long)cols, (long)count);
    int *cc = on_device(Ints(count + 2, 77));
    T *cv = on_device(std::vector<T>(count + 2, 77));
    OK(cusparseCsrSetPointers(c, co, cc, cv));
    OK(cusparseSpGEMM_copy(GIVEN));
    show("offsets", co, 6);
    show("columns", cc, count + 1);
    show("values", cv, count + 1);
    alpha = 1, beta = 3;
    OK(cusparseSpGEMM_copy(GIVEN));
    show("again, and three times what is there", cv, count + 1);
    OK(cusparseSpGEMM_destroyDescr(d));
}

template <class T> static void systems(cudaDataType type, int base) {
    // 4 x 4 with values on both sides of the diagonal: each triangle is read alone
    Ints o = {0, 3, 5, 8, 11}, c = {0, 1, 3, 0, 1, 1, 2, 3, 0, 2, 3}, r = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3};
    for (auto v : {&o, &c, &r}) for (int &n : *v) n += base;
    T *v = on_device<T>({2, 3, 1, -1, 4, 2, 1, 5, 3, -2, 8}), alpha = 2;
    std::vector<T> right = {8, -4, 6, 16, 2, 4, -8, 32};
    cusparseIndexBase_t from = (cusparseIndexBase_t)base;
    for (int format = 0; format < 2; format++)
        for (int op = 0; op < 2; op++)
            for (int fill = 0; fill < 2; fill++)
                for (int diagonal = 0; diagonal < 2; diagonal++) {
                    cusparseSpMatDescr_t a;
                    if (format) OK(cusparseCreateCoo(&a, 4, 4, 11, on_device(r), on_device(c), v, I, from, type));
                    else OK(cusparseCreateCsr(&a, 4, 4, 11, on_device(o), on_device(c), v, I, I, from, type));
                    OK(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
                    OK(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
                    T *x = on_device(right), *y = on_device(std::vector<T>(8, 77));
                    cusparseDnVecDescr_t vx, vy;
                    OK(cusparseCreateDnVec(&vx, 4, x, type));
                    OK(cusparseCreateDnVec(&vy, 4, y, type));
                    cusparseSpSVDescr_t d;
                    OK(cusparseSpSV_createDescr(&d));
                    cusparseOperation_t how = (cusparseOperation_t)op;
                    size_t size;
                    OK(cusparseSpSV_bufferSize(h, how, &alpha, a, vx, vy, type, CUSPARSE_SPSV_ALG_DEFAULT, d, &size));
                    OK(cusparseSpSV_analysis(h, how, &alpha, a, vx, vy, type, CUSPARSE_SPSV_ALG_DEFAULT, d, buffer_of(size)));
                    OK(cusparseSpSV_solve(h, how, &alpha, a, vx, vy, type, CUSPARSE_SPSV_ALG_DEFAULT, d));
                    printf("SpSV type %d base %d format %d op %d fill %d diagonal %d:", type, base, format, op, fill, diagonal);
                    show("", y, 5);
                    OK(cusparseSpSV_destroyDescr(d));
                    for (int order = 0; order < 8; order++) {
                        cusparseDnMatDescr_t b, to;
                        int opb = order >> 2;
                        cusparseOrder_t ob = order & 1 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
                        cusparseOrder_t oc = order & 2 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
                        OK(cusparseCreateDnMat(&b, opb ? 2 : 4, opb ? 4 : 2, (opb == 1) != (order & 1) ? 2 : 4, x, type, ob));
                        OK(cusparseCreateDnMat(&to, 4, 2, order & 2 ? 2 : 4, y, type, oc));
                        cusparseSpSMDescr_t m;
                        OK(cusparseSpSM_createDescr(&m));
                        cusparseOperation_t howb = (cusparseOperation_t)opb;
                        OK(cudaMemset(y, 0, 8 * sizeof(T)));
                        int one = cusparseSpSM_bufferSize(h, how, howb, &alpha, a, b, to, type, CUSPARSE_SPSM_ALG_DEFAULT, m, &size);
                        int two = one ? -1 : cusparseSpSM_analysis(h, how, howb, &alpha, a, b, to, type, CUSPARSE_SPSM_ALG_DEFAULT, m, buffer_of(size));
                        int three = one ? -1 : cusparseSpSM_solve(h, how, howb, &alpha, a, b, to, type, CUSPARSE_SPSM_ALG_DEFAULT, m);
                        printf("SpSM order %d: %d %d %d:", order, one, two, three);
                        show("", y, 8);
                        OK(cusparseSpSM_destroyDescr(m));
                    }
                    cusparseFillMode_t told = (cusparseFillMode_t)7;
                    OK(cusparseSpMatGetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &told, sizeof told));
                    IS(told, fill);
                }
}

template <class T> static void at_places(cudaDataType type, int base) {
    // c's places of a product of dense matrices, 3 x 4 and 4 x 5
    Ints o = {0, 2, 3, 5}, c = {1, 4, 0, 2, 3};
    for (auto v : {&o, &c}) for (int &n : *v) n += base;
    std::vector<T> left, right;
    for (int n = 0; n < 20; n++) left.push_back(n % 7 - 2), right.push_back(n % 5 - 1);
    T *x = on_device(left), *y = on_device(right), alpha = 2, beta = 3;
    for (int ways = 0; ways < 16; ways++) {
        T *v = on_device<T>({1, 2, 3, 4, 5});
        cusparseOperation_t opa = (cusparseOperation_t)(ways & 1), opb = (cusparseOperation_t)(ways >> 1 & 1);
        bool by_row = ways & 4, other = ways & 8;
        cusparseDnMatDescr_t a, b;
        int ra = opa ? 4 : 3, ca = opa ? 3 : 4, rb = opb ? 5 : 4, cb = opb ? 4 : 5;
        OK(cusparseCreateDnMat(&a, ra, ca, by_row ? ca : ra, x, type, by_row ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
        OK(cusparseCreateDnMat(&b, rb, cb, other ? cb : rb, y, type, other ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
        cusparseSpMatDescr_t to;
        OK(cusparseCreateCsr(&to, 3, 5, 5, on_device(o), on_device(c), v, I, I, (cusparseIndexBase_t)base, type));
        size_t size = 0;
        int one = cusparseSDDMM_bufferSize(h, opa, opb, &alpha, a, b, &beta, to, type, CUSPARSE_SDDMM_ALG_DEFAULT, &size);
        void *buffer = buffer_of(size);
        int two = cusparseSDDMM_preprocess(h, opa, opb, &alpha, a, b, &beta, to, type, CUSPARSE_SDDMM_ALG_DEFAULT, buffer);
        int three = cusparseSDDMM(h, opa, opb, &alpha, a, b, &beta, to, type, CUSPARSE_SDDMM_ALG_DEFAULT, buffer);
        printf("SDDMM type %d base %d ways %d: %d %d %d:", type, base, ways, one, two, three);
        show("", v, 5);
    }
}

template <class T> static void vectors(cudaDataType type, int base) {
    Ints places = {1, 4, 6};
    for (int &n : places) n += base;
    int *at = on_device(places);
    T *v = on_device<T>({2, -3, 5}), *y = on_device<T>({1, 2, 3, 4, 5, 6, 7, 8}), alpha = 2, beta = 3, sum = 77;
    cusparseSpVecDescr_t x;
    cusparseDnVecDescr_t full;
    OK(cusparseCreateSpVec(&x, 8, 3, at, v, I, (cusparseIndexBase_t)base, type));
    OK(cusparseCreateDnVec(&full, 8, y, type));
    printf("vectors of type %d base %d\n", type, base);
    size_t size;
    OK(cusparseSpVV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, x, full, &sum, type, &size));
    OK(cusparseSpVV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, x, full, &sum, type, buffer_of(size)));
    printf("SpVV %g\n", (double)sum);
    OK(cusparseAxpby(h, &alpha, x, &beta, full));
    show("Axpby", y, 8);
    OK(cusparseGather(h, full, x));
    show("Gather", v, 3);
    OK(cudaMemset(y, 0, 8 * sizeof(T)));
    OK(cusparseScatter(h, x, full));
    show("Scatter", y, 8);
    int64_t whole, count;
    void *pi, *pv;
    cusparseIndexType_t index;
    cusparseIndexBase_t from;
    cudaDataType of;
    OK(cusparseSpVecGet(x, &whole, &count, &pi, &pv, &index, &from, &of));
    IS(whole * 10 + count, 83);
    IS(pi == at && pv == v && index == I && from == base && of == type, 1);
    OK(cusparseDestroySpVec(x));
}

template <class T> static void conversions(cudaDataType type, int base) {
    Ints o = {0, 3, 3, 5, 7}, c = {4, 0, 2, 1, 3, 4, 0}, r = {0, 0, 0, 2, 2, 3, 3};
    for (auto v : {&o, &c, &r}) for (int &n : *v) n += base;
    cusparseIndexBase_t from = (cusparseIndexBase_t)base;
    int *offsets = on_device(o), *columns = on_device(c), *rows = on_device(r), *to = on_device(Ints(9, 77)), *places = on_device(Ints(9, 77));
    T *v = on_device<T>({1, 2, 3, 4, 5, 6, 7}), *turned = on_device(std::vector<T>(9, 77));
    printf("conversions of type %d base %d\n", type, base);
    for (int action = 0; action < 2; action++) {
        size_t size;
        OK(cusparseCsr2cscEx2_bufferSize(h, 4, 5, 7, v, offsets, columns, turned, to, places, type, (cusparseAction_t)action, from, CUSPARSE_CSR2CSC_ALG_DEFAULT, &size));
        OK(cusparseCsr2cscEx2(h, 4, 5, 7, v, offsets, columns, turned, to, places, type, (cusparseAction_t)action, from, CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer_of(size)));
        show("columns begin", to, 7), show("rows", places, 8), show("values", turned, 8);
    }
    OK(cusparseXcoo2csr(h, rows, 7, 4, to, from));
    show("Xcoo2csr", to, 6);
    OK(cusparseXcsr2coo(h, offsets, 7, 4, places, from));
    show("Xcsr2coo", places, 8);
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    OK(cusparseSetMatIndexBase(d, from));
    size_t size;
    OK(cusparseCreateIdentityPermutation(h, 7, places));
    OK(cusparseXcsrsort_bufferSizeExt(h, 4, 5, 7, offsets, columns, &size));
    OK(cusparseXcsrsort(h, 4, 5, 7, d, offsets, columns, places, buffer_of(size)));
    show("Xcsrsort", columns, 7), show("from", places, 8);
    columns = on_device(c);
    OK(cusparseCreateIdentityPermutation(h, 7, places));
    OK(cusparseXcoosort_bufferSizeExt(h, 4, 5, 7, rows, columns, &size));
    OK(cusparseXcoosortByColumn(h, 4, 5, 7, rows, columns, places, buffer_of(size)));
    show("Xcoosort", rows, 7), show("columns", columns, 7), show("from", places, 8);
    OK(cusparseXcoosortByRow(h, 4, 5, 7, rows, columns, places, buffer_of(size)));
    show("Xcoosort", rows, 7), show("columns", columns, 7), show("from", places, 8);
}

static void counts() {
    double *full = on_device<double>({1, 0, 2, 0, 0, 0, 3, 4, 5, 0, 0, 6});
    int *each = on_device(Ints(8, 77)), total = 77;
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    OK(cusparseDnnz(h, CUSPARSE_DIRECTION_ROW, 4, 3, d, full, 4, each, &total));
    show("of rows", each, 5);
    OK(cusparseDnnz(h, CUSPARSE_DIRECTION_COLUMN, 4, 3, d, full, 4, each, &total));
    show("of columns", each, 5);
    printf("%d\n", total);
}

static void factors(int base, double corner) {
    Ints o = {0, 2, 5, 8, 10}, c = {0, 2, 0, 1, 3, 0, 2, 3, 1, 3};
    for (auto v : {&o, &c}) for (int &n : *v) n += base;
    std::vector<double> values = {2, 4, 4, corner, 8, 6, 16, 2, 2, 16};
    int *offsets = on_device(o), *columns = on_device(c);
    double *v = on_device(values);
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    OK(cusparseSetMatIndexBase(d, (cusparseIndexBase_t)base));
    csrilu02Info_t info;
    OK(cusparseCreateCsrilu02Info(&info));
    int size = 0, at = 77;
    OK(cusparseDcsrilu02_bufferSize(h, 4, 10, d, v, offsets, columns, info, &size));
    void *buffer = buffer_of(size);
    OK(cusparseDcsrilu02_analysis(h, 4, 10, d, v, offsets, columns, info, CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer));
    printf("factors, base %d, corner %g: %d", base, corner, cusparseXcsrilu02_zeroPivot(h, info, &at));
    printf(" %d\n", at);
    OK(cusparseDcsrilu02(h, 4, 10, d, v, offsets, columns, info, CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer));
    printf("pivot %d", cusparseXcsrilu02_zeroPivot(h, info, &at));
    printf(" %d", at);
    show("", v, 10);
    OK(cusparseDestroyCsrilu02Info(info));
}

int main() {
    OK(cusparseCreate(&h));
    for (int base = 0; base < 2; base++) {
        products<float>(CUDA_R_32F, base, CUSPARSE_SPGEMM_DEFAULT);
        products<double>(CUDA_R_64F, base, CUSPARSE_SPGEMM_DEFAULT);
        if (base) systems<double>(CUDA_R_64F, base);
        else systems<float>(CUDA_R_32F, base);
        at_places<float>(CUDA_R_32F, base);
        vectors<float>(CUDA_R_32F, base);
        vectors<double>(CUDA_R_64F, base);
        conversions<float>(CUDA_R_32F, base);
        conversions<double>(CUDA_R_64F, base);
        for (double corner : {8., 0., 0.}) factors(base, corner);
    }
    for (int algorithm = 0; algorithm < 6; algorithm++) products<float>(CUDA_R_32F, 0, (cusparseSpGEMMAlg_t)algorithm);
    counts();
    OK(cusparseDestroy(h));
}
