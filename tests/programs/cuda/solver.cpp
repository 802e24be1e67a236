// Dense systems of equations, eigenvalues and singular values: as one H200's cuSOLVER answered.
#include <cmath>
#include <cstring>
#include <cusolverDn.h>
#include <vector>
#include "expect.h"

static cusolverDnHandle_t h;
static void near(double got, double wanted) {
    if (!(std::abs(got - wanted) < 1e-5)) printf("%g, not %g\n", got, wanted);
}
template <class T> static T *on_device(const std::vector<T> &from) {
    T *p;
    OK(cudaMalloc(&p, from.size() * sizeof(T) + 1));
    OK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> static std::vector<T> read(const T *device, int count) {
    std::vector<T> v(count);
    OK(cudaMemcpy(v.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}
template <class T> static void show(const char *what, const T *device, int count) {
    printf("%s", what);
    for (T one : read(device, count)) printf(" %.4g", std::abs((double)one) < 1e-5 ? 0. : (double)one);
    printf("\n");
}
template <class T> struct F;
#define FUNCTIONS(T, P)                                                                                             \
    template <> struct F<T> {                                                                                       \
        static constexpr auto getrf_size = cusolverDn##P##getrf_bufferSize;                                         \
        static constexpr auto getrf = cusolverDn##P##getrf;                                                         \
        static constexpr auto getrs = cusolverDn##P##getrs;                                                         \
        static constexpr auto potrf_size = cusolverDn##P##potrf_bufferSize;                                         \
        static constexpr auto potrf = cusolverDn##P##potrf;                                                         \
        static constexpr auto potrs = cusolverDn##P##potrs;                                                         \
        static constexpr auto geqrf_size = cusolverDn##P##geqrf_bufferSize;                                         \
        static constexpr auto geqrf = cusolverDn##P##geqrf;                                                         \
        static constexpr auto orgqr_size = cusolverDn##P##orgqr_bufferSize;                                         \
        static constexpr auto orgqr = cusolverDn##P##orgqr;                                                         \
        static constexpr auto ormqr_size = cusolverDn##P##ormqr_bufferSize;                                         \
        static constexpr auto ormqr = cusolverDn##P##ormqr;                                                         \
        static constexpr auto gesvd_size = cusolverDn##P##gesvd_bufferSize;                                         \
        static constexpr auto gesvd = cusolverDn##P##gesvd;                                                         \
        static constexpr auto syevd_size = cusolverDn##P##syevd_bufferSize;                                         \
        static constexpr auto syevd = cusolverDn##P##syevd;                                                         \
    };
FUNCTIONS(float, S)
FUNCTIONS(double, D)

template <class T> static T *workspace(int count) {
    T *p;
    OK(cudaMalloc(&p, (count + 1) * sizeof(T)));
    return p;
}
template <class T> static void systems() {
    typedef F<T> f;
    const int n = 4, ld = 5;
    std::vector<T> a(ld * n, 77), spd(ld * n, 77), b = {1, 2, 3, 4, 9, 2, 0, 1, 5, 9};
    for (int c = 0; c < n; c++)
        for (int r = 0; r < n; r++) a[c * ld + r] = (r * 3 + c * 5) % 7 - 2, spd[c * ld + r] = r == c ? 10 + r : 1 + (r + c) % 3;
    int size = 77, *info = on_device<int>({77}), *pivots = on_device(std::vector<int>(8, 77));
    T *d = on_device(a), *x = on_device(b);
    OK(f::getrf_size(h, n, n, d, ld, &size));
    T *work = workspace<T>(size);
    OK(f::getrf(h, n, n, d, ld, work, pivots, info));
    show("info", info, 1);
    show("pivots", pivots, n);
    show("factors", d, ld * n);
    OK(f::getrs(h, CUBLAS_OP_N, n, 2, d, ld, pivots, x, 5, info));
    show("x", x, 10);
    OK(f::getrs(h, CUBLAS_OP_T, n, 1, d, ld, pivots, x, 5, info));
    show("x", x, 5);
    OK(cudaMemcpy(d, a.data(), a.size() * sizeof(T), cudaMemcpyDefault));
    OK(f::getrf(h, n, n, d, ld, work, nullptr, info));
    show("without pivots", d, ld * n);
    show("info", info, 1);
    std::vector<T> singular(16, 1);
    T *e = on_device(singular);
    OK(f::getrf(h, 4, 4, e, 4, work, pivots, info));
    show("singular", e, 16);
    show("info", info, 1);
    for (int uplo = 0; uplo < 2; uplo++) {
        T *s = on_device(spd), *y = on_device(b);
        OK(f::potrf_size(h, (cublasFillMode_t)uplo, n, s, ld, &size));
        T *more = workspace<T>(size);
        OK(f::potrf(h, (cublasFillMode_t)uplo, n, s, ld, more, size, info));
        show("info", info, 1);
        show("factor", s, ld * n);
        OK(f::potrs(h, (cublasFillMode_t)uplo, n, 2, s, ld, y, 5, info));
        show("x", y, 10);
        std::vector<T> not_positive = {4, 1, 1, 1, -3, 1, 1, 1, 5};
        T *bad = on_device(not_positive);
        OK(f::potrf(h, (cublasFillMode_t)uplo, 3, bad, 3, more, size, info));
        show("info", info, 1);
    }
}
template <class T> static void values() {
    typedef F<T> f;
    const int m = 5, n = 3;
    std::vector<T> a(m * n);
    for (int k = 0; k < m * n; k++) a[k] = (k * 7) % 5 + (k == 3) * 4 - 1; // of rank 2
    int size = 77, *info = on_device<int>({77});
    T *d = on_device(a), *tau = workspace<T>(n);
    OK(f::geqrf_size(h, m, n, d, m, &size));
    T *work = workspace<T>(size);
    OK(f::geqrf(h, m, n, d, m, tau, work, size, info));
    show("info", info, 1);
    std::vector<T> r = read(d, m * n);
    T *c = on_device(std::vector<T>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    OK(f::ormqr_size(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m, 2, n, d, m, tau, c, m, &size));
    work = workspace<T>(size);
    OK(f::ormqr(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m, 2, n, d, m, tau, c, m, work, size, info));
    std::vector<T> turned = read(c, 10);
    OK(f::orgqr_size(h, m, n, n, d, m, tau, &size));
    work = workspace<T>(size);
    OK(f::orgqr(h, m, n, n, d, m, tau, work, size, info));
    std::vector<T> q = read(d, m * n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double product = 0;
            for (int k = 0; k <= j; k++) product += q[k * m + i] * r[j * m + k];
            near(product, a[j * m + i]);
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) {
            double product = 0;
            for (int k = 0; k < m; k++) product += q[i * m + k] * (j * m + k + 1);
            near(product, turned[j * m + i]);
        }
    for (const char *job : {"AA", "SS", "NN", "OS", "NS"}) {
        T *g = on_device(a), *s = workspace<T>(n), *u = on_device(std::vector<T>(m * m, 7)), *vt = on_device(std::vector<T>(n * n, 7)), *rest = workspace<T>(n);
        OK(f::gesvd_size(h, m, n, &size));
        work = workspace<T>(size);
        int status = f::gesvd(h, job[0], job[1], m, n, g, m, s, u, m, vt, n, work, size, rest, info);
        printf("gesvd %s: %d\n", job, status);
        show("info", info, 1);
        show("s", s, n);
        std::vector<T> of_u = read(job[0] == 'O' ? g : u, m * n), of_v = read(vt, n * n), of_s = read(s, n);
        if (job[0] == 'N') {
            IS(of_u[0], 7);
            continue;
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double product = 0;
                for (int k = 0; k < n; k++) product += of_u[k * m + i] * of_s[k] * of_v[j * n + k];
                near(product, a[j * m + i]);
            }
    }
    for (int mode = 0; mode < 2; mode++)
        for (int uplo = 0; uplo < 2; uplo++) {
            std::vector<T> sym = {4, 1, 2, 9, 3, 0, 9, 9, 5};
            if (uplo) sym = {4, 9, 9, 1, 3, 9, 2, 0, 5};
            T *e = on_device(sym), *w = workspace<T>(n);
            OK(f::syevd_size(h, (cusolverEigMode_t)mode, (cublasFillMode_t)uplo, 3, e, 3, w, &size));
            work = workspace<T>(size);
            OK(f::syevd(h, (cusolverEigMode_t)mode, (cublasFillMode_t)uplo, 3, e, 3, w, work, size, info));
            show("info", info, 1);
            show("w", w, 3);
            if (!mode) continue;
            const double full[] = {4, 1, 2, 1, 3, 0, 2, 0, 5};
            std::vector<T> vectors = read(e, 9), found = read(w, 3);
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < 3; i++) {
                    double product = 0;
                    for (int j = 0; j < 3; j++) product += full[i * 3 + j] * vectors[k * 3 + j];
                    near(product, found[k] * vectors[k * 3 + i]);
                }
        }
}
/* cuSOLVER's guide says of each function which sizes are invalid. */
static void wrong_sizes() {
    double *a = workspace<double>(9);
    int size, *ints = on_device<int>({0, 0, 0});
    const auto invalid = CUSOLVER_STATUS_INVALID_VALUE;
    IS(cusolverDnDgetrf_bufferSize(h, 3, 3, a, 2, &size), invalid);
    IS(cusolverDnDgetrf(h, -3, 3, a, 3, a, ints, ints), invalid);
    IS(cusolverDnDgetrf(h, 0, 0, a, 0, a, ints, ints), invalid);
    IS(cusolverDnDgetrf(nullptr, -3, 3, a, 3, a, ints, ints), CUSOLVER_STATUS_NOT_INITIALIZED);
    IS(cusolverDnDgetrs(h, CUBLAS_OP_N, 3, 1, a, 3, ints, a, 2, ints), invalid);
    IS(cusolverDnDgetrs(h, CUBLAS_OP_N, 3, -1, a, 3, ints, a, 3, ints), invalid);
    IS(cusolverDnDpotrf(h, CUBLAS_FILL_MODE_LOWER, 3, a, 2, a, 9, ints), invalid);
    IS(cusolverDnDpotrs(h, CUBLAS_FILL_MODE_LOWER, -1, 1, a, 1, a, 1, ints), invalid);
    IS(cusolverDnDgeqrf(h, 3, 2, a, 2, a, a, 9, ints), invalid);
    IS(cusolverDnDorgqr(h, 3, 2, 3, a, 3, a, a, 9, ints), invalid);
    IS(cusolverDnDormqr(h, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 3, 2, 1, a, 1, a, a, 3, a, 9, ints), invalid);
    IS(cusolverDnDgesvd(h, 'N', 'N', 3, 2, a, 2, a, a, 3, a, 3, a, 9, a, ints), invalid);
    IS(cusolverDnDsyevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 2, a, a, 9, ints), invalid);
}
int main() {
    IS(CUSOLVER_STATUS_NOT_INITIALIZED + 10 * CUSOLVER_STATUS_ALLOC_FAILED + 100 * CUSOLVER_STATUS_INVALID_VALUE + 1000 * CUSOLVER_STATUS_ARCH_MISMATCH, 4321);
    IS(CUSOLVER_STATUS_MAPPING_ERROR + 10 * CUSOLVER_STATUS_EXECUTION_FAILED + 100 * CUSOLVER_STATUS_INTERNAL_ERROR + 1000 * CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED, 8765);
    IS(CUSOLVER_STATUS_NOT_SUPPORTED, 9);
    IS(CUSOLVER_EIG_MODE_NOVECTOR + 10 * CUSOLVER_EIG_MODE_VECTOR, 10);
    OK(cusolverDnCreate(&h));
    systems<float>();
    systems<double>();
    values<float>();
    values<double>();
    wrong_sizes();
    OK(cusolverDnDestroy(h));
    printf("done\n");
}
