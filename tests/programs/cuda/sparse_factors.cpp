// Incomplete factors and systems of three diagonals: as one H200's cuSPARSE answered.
#include <cmath>
#include <cusparse.h>
#include <vector>
#include "expect.h"

static cusparseHandle_t h;
static void *buffer;
template <class T> static T *on_device(const std::vector<T> &from) {
    T *p;
    OK(cudaMalloc((void **)&p, from.size() * sizeof(T) + 1));
    OK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> static void show(const char *what, const T *device, int count) {
    std::vector<T> v(count);
    OK(cudaMemcpy(v.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    printf(" %s", what);
    for (T one : v) printf(std::isnan(one) ? " nan" : " %.6g", (double)one);
    printf("\n");
}
template <class T> struct F;
#define FUNCTIONS(T, P)                                                              \
    template <> struct F<T> {                                                        \
        static constexpr auto size = cusparse##P##csric02_bufferSize;                \
        static constexpr auto analysis = cusparse##P##csric02_analysis;              \
        static constexpr auto factor = cusparse##P##csric02;                         \
        static constexpr auto solve_size = cusparse##P##gtsv2_bufferSizeExt;         \
        static constexpr auto solve = cusparse##P##gtsv2;                            \
        static constexpr auto plain_size = cusparse##P##gtsv2_nopivot_bufferSizeExt; \
        static constexpr auto plain = cusparse##P##gtsv2_nopivot;                    \
        static constexpr auto batch_size = cusparse##P##gtsv2StridedBatch_bufferSizeExt; \
        static constexpr auto batch = cusparse##P##gtsv2StridedBatch;                \
    };
FUNCTIONS(float, S)
FUNCTIONS(double, D)

template <class T>
static void factors(const char *what, std::vector<int> offsets, std::vector<int> columns, const std::vector<T> &values,
                    int base = 0, cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL, int upper = 0) {
    for (int &one : offsets) one += base;
    for (int &one : columns) one += base;
    const int m = offsets.size() - 1, count = values.size(), *o = on_device(offsets), *c = on_device(columns);
    T *v = on_device(values);
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    OK(cusparseSetMatType(d, type));
    OK(cusparseSetMatFillMode(d, (cusparseFillMode_t)upper));
    OK(cusparseSetMatIndexBase(d, (cusparseIndexBase_t)base));
    csric02Info_t info;
    OK(cusparseCreateCsric02Info(&info));
    const auto policy = CUSPARSE_SOLVE_POLICY_NO_LEVEL;
    int size, at = -7;
    printf("%s: %d", what, F<T>::size(h, m, count, d, v, o, c, info, &size));
    printf(" %d", F<T>::analysis(h, m, count, d, v, o, c, info, policy, buffer));
    printf(" zero %d", cusparseXcsric02_zeroPivot(h, info, &at));
    printf(" at %d;", at);
    at = -7;
    printf(" %d", F<T>::factor(h, m, count, d, v, o, c, info, policy, buffer));
    printf(" zero %d", cusparseXcsric02_zeroPivot(h, info, &at));
    printf(" at %d", at);
    show("values", v, count);
    OK(cusparseDestroyCsric02Info(info));
}
template <class T> static void all_factors() {
    const std::vector<int> o = {0, 3, 6, 9, 12}, c = {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3};
    const std::vector<T> values = {4, 2, 1, 2, 5, 1, 1, 6, 2, 1, 2, 9};
    auto with = [&](int place, T value) {
        auto other = values;
        other[place] = value;
        return other;
    };
    factors<T>("full", o, c, values);
    factors<T>("based one", o, c, values, 1);
    factors<T>("lower only", {0, 1, 3, 5, 8}, {0, 0, 1, 1, 2, 0, 2, 3}, {4, 2, 5, 1, 6, 1, 2, 9});
    factors<T>("upper only", {0, 3, 5, 7, 8}, {0, 1, 3, 1, 2, 2, 3, 3}, {4, 2, 1, 5, 1, 6, 2, 9});
    factors<T>("symmetric type", o, c, values, 0, CUSPARSE_MATRIX_TYPE_SYMMETRIC);
    factors<T>("fill upper", o, c, values, 0, CUSPARSE_MATRIX_TYPE_GENERAL, 1);
    factors<T>("triangular type", o, c, values, 0, CUSPARSE_MATRIX_TYPE_TRIANGULAR);
    factors<T>("zero pivot 1", o, c, with(4, 1));
    factors<T>("negative pivot 1", o, c, with(4, -3));
    factors<T>("negative pivot 0", o, c, with(0, -4), 1);
    factors<T>("zero pivot 0", o, c, with(0, 0));
    factors<T>("negative last", o, c, with(11, -1));
    factors<T>("missing diagonal 2", {0, 3, 6, 8, 11}, {0, 1, 3, 0, 1, 2, 1, 3, 0, 2, 3}, {4, 2, 1, 2, 5, 1, 1, 2, 1, 2, 9});
    factors<T>("asymmetric values", o, c, {4, 20, 10, 2, 5, 10, 1, 6, 20, 1, 2, 9});
    factors<T>("empty", {0}, {}, {});
}
template <class T> static void diagonals() {
    typedef F<T> f;
    size_t size;
    for (int m : {1, 2, 3, 4, 7, 20})
        for (int n : {1, 2}) {
            std::vector<T> lower(m), middle(m), upper(m), right(m * n);
            for (int i = 0; i < m; i++) lower[i] = i ? 1 + i % 2 : 0, middle[i] = 4 + i % 3, upper[i] = i + 1 < m;
            for (int i = 0; i < m * n; i++) right[i] = i % 5 - 1;
            T *l = on_device(lower), *d = on_device(middle), *u = on_device(upper), *x = on_device(right);
            printf("gtsv2 %d %d: %d", m, n, f::solve_size(h, m, n, l, d, u, x, m, &size));
            printf(" %d", f::solve(h, m, n, l, d, u, x, m, buffer));
            show("x", x, m * n);
            show("d", d, m);
            x = on_device(right);
            printf("nopivot %d %d: %d", m, n, f::plain_size(h, m, n, l, d, u, x, m, &size));
            printf(" %d", f::plain(h, m, n, l, d, u, x, m, buffer));
            show("x", x, m * n);
            if (n > 1) continue;
            x = on_device(right);
            printf("batch %d: %d", m, f::batch_size(h, m, l, d, u, x, 1, m, &size));
            printf(" %d", f::batch(h, m, l, d, u, x, 1, m, buffer));
            show("x", x, m);
        }
    T *l = on_device<T>({0, 1, 2, 1, 9, 9, 0, 1, 1, 1}), *d = on_device<T>({0, 2, 1, 5, 9, 9, 4, 5, 6, 7});
    T *u = on_device<T>({2, 1, 1, 0, 9, 9, 1, 2, 1, 0}), *x = on_device<T>({1, 2, 3, 4, 9, 9, 5, 6, 7, 8});
    printf("ldb 3 size: %d\n", f::solve_size(h, 4, 1, l, d, u, x, 3, &size));
    printf("ldb 3: %d\n", f::solve(h, 4, 1, l, d, u, x, 3, buffer));
    printf("m -1: %d\n", f::solve(h, -1, 1, l, d, u, x, 4, buffer));
    printf("n 0: %d\n", f::solve(h, 4, 0, l, d, u, x, 4, buffer));
    printf("n -1: %d\n", f::solve(h, 4, -1, l, d, u, x, 4, buffer));
    printf("m 0: %d\n", f::solve(h, 0, 1, l, d, u, x, 4, buffer));
    printf("pivots: %d", f::solve(h, 4, 1, l, d, u, x, 4, buffer));
    show("x", x, 10);
    printf("stride 3: %d\n", f::batch(h, 4, l, d, u, x, 2, 3, buffer));
    printf("batch of 0: %d\n", f::batch(h, 4, l, d, u, x, 0, 4, buffer));
}
/* Of complex numbers. */
static void others() {
    csric02Info_t info;
    cusparseMatDescr_t d;
    OK(cusparseCreateMatDescr(&d));
    OK(cusparseCreateCsric02Info(&info));
    int size, *offsets = on_device<int>({0, 2, 4}), *columns = on_device<int>({0, 1, 0, 1});
    cuDoubleComplex *values = on_device<cuDoubleComplex>({{4, 0}, {1, -1}, {1, 1}, {5, 0}});
    const auto policy = CUSPARSE_SOLVE_POLICY_NO_LEVEL;
    OK(cusparseZcsric02_bufferSize(h, 2, 4, d, values, offsets, columns, info, &size));
    OK(cusparseZcsric02_analysis(h, 2, 4, d, values, offsets, columns, info, policy, buffer));
    printf("Z %d", cusparseZcsric02(h, 2, 4, d, values, offsets, columns, info, policy, buffer));
    show("v", (double *)values, 8);
    OK(cusparseDestroyCsric02Info(info));
}
int main() {
    OK(cudaMalloc(&buffer, 1 << 20));
    OK(cusparseCreate(&h));
    all_factors<float>();
    all_factors<double>();
    diagonals<double>();
    others();
    OK(cusparseDestroy(h));
}
