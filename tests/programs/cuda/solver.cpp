// Dense systems of equations, eigenvalues and singular values: as one H200's cuSOLVER answered.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <cusolverDn.h>
#include <vector>
#include "expect.h"

static cusolverDnHandle_t h;
static void near(double got, double wanted) {
    if (!(std::abs(got - wanted) < 1e-5 * std::max(1., std::abs(wanted)))) printf("%g, not %g\n", got, wanted);
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
        static constexpr auto sygvd_size = cusolverDn##P##sygvd_bufferSize;                                         \
        static constexpr auto sygvd = cusolverDn##P##sygvd;                                                         \
        static constexpr auto syevj_size = cusolverDn##P##syevj_bufferSize;                                         \
        static constexpr auto syevj = cusolverDn##P##syevj;                                                         \
        static constexpr auto syevjs_size = cusolverDn##P##syevjBatched_bufferSize;                                 \
        static constexpr auto syevjs = cusolverDn##P##syevjBatched;                                                 \
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
typedef std::vector<double> Full; // 3 × 3
static std::vector<double> product(const Full &a, const double *x) {
    std::vector<double> y(3);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) y[i] += a[i * 3 + j] * x[j];
    return y;
}
static double dot(const std::vector<double> &x, const double *y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }
/* Of which one triangle is stored, with `ld` rows. */
template <class T> static std::vector<T> triangle(const Full &full, int uplo, int ld) {
    std::vector<T> to(3 * ld, 77);
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            if (uplo ? r <= c : r >= c) to[c * ld + r] = full[r * 3 + c];
    return to;
}
template <class T> static void eigenvalues() {
    typedef F<T> f;
    const Full full = {4, 1, 2, 1, 3, 0, 2, 0, 5}, other = {4, 2, 0, 2, 5, 2, 0, 2, 6}, not_positive = {4, 2, 0, 2, 1, 0, 0, 0, 9};
    int size, *info = on_device<int>({7, 7});
    const auto vector = CUSOLVER_EIG_MODE_VECTOR;
    for (int type = 1; type < 4; type++)
        for (int uplo = 0; uplo < 2; uplo++) {
            T *a = on_device(triangle<T>(full, uplo, 4)), *b = on_device(triangle<T>(other, uplo, 5)), *w = workspace<T>(3);
            OK(f::sygvd_size(h, (cusolverEigType_t)type, vector, (cublasFillMode_t)uplo, 3, a, 4, b, 5, w, &size));
            OK(f::sygvd(h, (cusolverEigType_t)type, vector, (cublasFillMode_t)uplo, 3, a, 4, b, 5, w, workspace<T>(size), size, info));
            printf("sygvd %d %d\n", type, uplo);
            show("info", info, 1);
            show("w", w, 3);
            show("b", b, 15);
            std::vector<T> vectors = read(a, 12), found = read(w, 3);
            for (int k = 0; k < 3; k++) {
                const double x[] = {(double)vectors[k * 4], (double)vectors[k * 4 + 1], (double)vectors[k * 4 + 2]};
                const auto ax = product(full, x), bx = product(other, x);
                const auto left = type == 1 ? ax : type == 2 ? product(full, bx.data()) : product(other, ax.data());
                for (int i = 0; i < 3; i++) near(left[i], found[k] * (type == 1 ? bx[i] : x[i]));
                near(type == 3 ? dot(ax, x) : dot(bx, x), type == 3 ? found[k] : 1);
            }
        }
    T *a = on_device(triangle<T>(full, 0, 3)), *b = on_device(triangle<T>(not_positive, 0, 3)), *w = workspace<T>(6);
    OK(f::sygvd(h, CUSOLVER_EIG_TYPE_1, vector, CUBLAS_FILL_MODE_LOWER, 3, a, 3, b, 3, w, workspace<T>(size), size, info));
    show("sygvd of a matrix that is not positive: info", info, 1);

    syevjInfo_t how;
    OK(cusolverDnCreateSyevjInfo(&how));
    OK(cusolverDnXsyevjSetTolerance(how, 1e-7));
    OK(cusolverDnXsyevjSetMaxSweeps(how, 15));
    OK(cusolverDnXsyevjSetSortEig(how, 1));
    for (int uplo = 0; uplo < 2; uplo++)
        for (int count = 1; count < 3; count++) {
            std::vector<T> both = triangle<T>(full, uplo, 4), second = triangle<T>(other, uplo, 4);
            both.insert(both.end(), second.begin(), second.end());
            T *e = on_device(both);
            if (count == 1) {
                OK(f::syevj_size(h, vector, (cublasFillMode_t)uplo, 3, e, 4, w, &size, how));
                OK(f::syevj(h, vector, (cublasFillMode_t)uplo, 3, e, 4, w, workspace<T>(size), size, info, how));
            } else {
                OK(f::syevjs_size(h, vector, (cublasFillMode_t)uplo, 3, e, 4, w, &size, how, 2));
                OK(f::syevjs(h, vector, (cublasFillMode_t)uplo, 3, e, 4, w, workspace<T>(size), size, info, how, 2));
            }
            printf("syevj of %d\n", count);
            show("info", info, count);
            show("w", w, 3 * count);
            std::vector<T> vectors = read(e, 24), found = read(w, 6);
            for (int k = 0; k < 3 * count; k++) {
                const double x[] = {(double)vectors[k * 4], (double)vectors[k * 4 + 1], (double)vectors[k * 4 + 2]};
                const auto left = product(k < 3 ? full : other, x);
                for (int i = 0; i < 3; i++) near(left[i], found[k] * x[i]);
                near(dot({x[0], x[1], x[2]}, x), 1);
            }
        }
    OK(cusolverDnDestroySyevjInfo(how));
}
/* Which sizes are invalid values: of getrf with pivots none. */
static void wrong_sizes() {
    double *a = workspace<double>(9);
    int size, *ints = on_device<int>({0, 0, 0});
    const auto invalid = CUSOLVER_STATUS_INVALID_VALUE;
    syevjInfo_t how;
    OK(cusolverDnCreateSyevjInfo(&how));
    const auto vector = CUSOLVER_EIG_MODE_VECTOR;
    const auto lower = CUBLAS_FILL_MODE_LOWER;
    OK(cusolverDnDgetrf_bufferSize(h, 3, 3, a, 2, &size));
    OK(cusolverDnDgetrf_bufferSize(h, -3, 3, a, 3, &size));
    OK(cusolverDnDpotrf_bufferSize(h, lower, -3, a, 3, &size));
    OK(cusolverDnDgeqrf_bufferSize(h, 3, 2, a, 2, &size));
    OK(cusolverDnDorgqr_bufferSize(h, 3, 2, 3, a, 2, a, &size));
    OK(cusolverDnDormqr_bufferSize(h, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 3, 2, 1, a, 1, a, a, 2, &size));
    OK(cusolverDnDgesvd_bufferSize(h, -3, 2, &size));
    OK(cusolverDnDsyevd_bufferSize(h, vector, lower, 3, a, 2, a, &size));
    IS(cusolverDnDsyevd_bufferSize(h, vector, lower, -3, a, 3, a, &size), invalid);
    OK(cusolverDnDsygvd_bufferSize(h, CUSOLVER_EIG_TYPE_1, vector, lower, 3, a, 2, a, 2, a, &size));
    IS(cusolverDnDsygvd_bufferSize(h, CUSOLVER_EIG_TYPE_1, vector, lower, -3, a, 3, a, 3, a, &size), invalid);
    OK(cusolverDnDsyevj_bufferSize(h, vector, lower, 3, a, 2, a, &size, how));
    IS(cusolverDnDsyevj_bufferSize(h, vector, lower, -3, a, 3, a, &size, how), invalid);
    IS(cusolverDnDsyevjBatched_bufferSize(h, vector, lower, -3, a, 3, a, &size, how, 2), invalid);
    OK(cusolverDnDsyevjBatched_bufferSize(h, vector, lower, 3, a, 2, a, &size, how, 0));
    IS(cusolverDnDsyevjBatched_bufferSize(h, vector, lower, 3, a, 3, a, &size, how, -1), invalid);
    OK(cusolverDnDsyevjBatched(h, vector, lower, 3, a, 3, a, a, 9, ints, how, -1));
    OK(cusolverDnDestroySyevjInfo(how));
    OK(cusolverDnDgetrf(h, 0, 0, a, 0, a, ints, ints));
    IS(cusolverDnDgetrf(nullptr, -3, 3, a, 3, a, ints, ints), CUSOLVER_STATUS_NOT_INITIALIZED);
    IS(cusolverDnDgetrs(h, CUBLAS_OP_N, 3, 1, a, 3, ints, a, 2, ints), invalid);
    IS(cusolverDnDgetrs(h, CUBLAS_OP_N, 3, -1, a, 3, ints, a, 3, ints), invalid);
    IS(cusolverDnDpotrf(h, CUBLAS_FILL_MODE_LOWER, 3, a, 2, a, 9, ints), invalid);
    IS(cusolverDnDpotrs(h, lower, -1, 1, a, 1, a, 1, ints), invalid);
    IS(cusolverDnDgetrf(h, 3, 3, a, 2, a, nullptr, ints), invalid);
    IS(cusolverDnDgeqrf(h, 3, 2, a, 2, a, a, 9, ints), invalid);
    IS(cusolverDnDorgqr(h, 3, 2, 3, a, 3, a, a, 9, ints), invalid);
    IS(cusolverDnDormqr(h, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 3, 2, 1, a, 1, a, a, 3, a, 9, ints), invalid);
    IS(cusolverDnDgesvd(h, 'N', 'N', 3, 2, a, 2, a, a, 3, a, 3, a, 9, a, ints), invalid);
    IS(cusolverDnDsyevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 2, a, a, 9, ints), invalid);
}
/* Which arguments are invalid values, and what then stands where the function says whether it failed. */
#define REFUSED(NAME, ...)                                                                            \
    do {                                                                                              \
        OK(cudaMemcpy(info, &before, 4, cudaMemcpyHostToDevice));                                     \
        int status_ = cusolverDnD##NAME(h, __VA_ARGS__);                                              \
        printf(#NAME ": %d", status_);                                                                \
        show(" info", info, 1);                                                                       \
    } while (0)
static void wrong_arguments() {
    const int before = 77, n = 1 << 10;
    const std::vector<double> given = {4, 1, 2, 1, 3, 0, 2, 0, 5};
    double *a = on_device(given), *b = on_device(given), *w = workspace<double>(9), *u = workspace<double>(9), *v = workspace<double>(9);
    double *tau = workspace<double>(9), *rest = workspace<double>(9), *work = workspace<double>(n);
    int *info = on_device<int>({77}), *pivots = on_device<int>({1, 2, 3});
    const auto lower = CUBLAS_FILL_MODE_LOWER;
    const auto left = CUBLAS_SIDE_LEFT, right = CUBLAS_SIDE_RIGHT;
    const auto op = CUBLAS_OP_N;
    const auto vector = CUSOLVER_EIG_MODE_VECTOR;
    const auto one = CUSOLVER_EIG_TYPE_1;
    REFUSED(getrs, op, -1, 1, a, 3, pivots, b, 3, info);
    REFUSED(getrs, op, 3, -1, a, 3, pivots, b, 3, info);
    REFUSED(getrs, op, 3, 1, a, 2, pivots, b, 3, info);
    REFUSED(getrs, op, 3, 1, a, 3, pivots, b, 2, info);
    REFUSED(getrf, -1, 3, a, 3, work, nullptr, info);
    REFUSED(getrf, 3, -1, a, 3, work, nullptr, info);
    REFUSED(getrf, 3, 3, a, 2, work, nullptr, info);
    REFUSED(potrf, lower, -1, a, 3, work, n, info);
    REFUSED(potrf, lower, 3, a, 2, work, n, info);
    REFUSED(potrs, lower, -1, 1, a, 3, b, 3, info);
    REFUSED(potrs, lower, 3, -1, a, 3, b, 3, info);
    REFUSED(potrs, lower, 3, 1, a, 2, b, 3, info);
    REFUSED(potrs, lower, 3, 1, a, 3, b, 2, info);
    REFUSED(geqrf, -1, 2, a, 3, tau, work, n, info);
    REFUSED(geqrf, 3, -1, a, 3, tau, work, n, info);
    REFUSED(geqrf, 3, 2, a, 2, tau, work, n, info);
    REFUSED(orgqr, -1, 2, 2, a, 3, tau, work, n, info);
    REFUSED(orgqr, 3, -1, 2, a, 3, tau, work, n, info);
    REFUSED(orgqr, 3, 4, 2, a, 3, tau, work, n, info);
    REFUSED(orgqr, 3, 2, 3, a, 3, tau, work, n, info);
    REFUSED(orgqr, 3, 2, -1, a, 3, tau, work, n, info);
    REFUSED(orgqr, 3, 2, 2, a, 2, tau, work, n, info);
    REFUSED(ormqr, left, op, -1, 2, 2, a, 3, tau, b, 3, work, n, info);
    REFUSED(ormqr, left, op, 3, -1, 2, a, 3, tau, b, 3, work, n, info);
    REFUSED(ormqr, left, op, 3, 2, -1, a, 3, tau, b, 3, work, n, info);
    REFUSED(ormqr, left, op, 3, 2, 4, a, 3, tau, b, 3, work, n, info);
    REFUSED(ormqr, left, op, 3, 2, 2, a, 2, tau, b, 3, work, n, info);
    REFUSED(ormqr, left, op, 3, 2, 2, a, 3, tau, b, 2, work, n, info);
    REFUSED(ormqr, right, op, 3, 2, 3, a, 3, tau, b, 3, work, n, info);
    REFUSED(ormqr, right, op, 3, 2, 1, a, 1, tau, b, 3, work, n, info);
    REFUSED(gesvd, 'A', 'A', -1, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'A', 3, -1, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'A', 2, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'A', 3, 3, a, 2, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'A', 3, 3, a, 3, w, u, 2, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'A', 3, 3, a, 3, w, u, 3, v, 2, work, n, rest, info);
    REFUSED(gesvd, 'N', 'N', 3, 3, a, 3, w, u, 0, v, 0, work, n, rest, info);
    REFUSED(gesvd, 'S', 'S', 3, 2, a, 3, w, u, 3, v, 1, work, n, rest, info);
    REFUSED(gesvd, 'X', 'A', 3, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'A', 'X', 3, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'a', 'n', 3, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(gesvd, 'O', 'O', 3, 3, a, 3, w, u, 3, v, 3, work, n, rest, info);
    REFUSED(syevd, vector, lower, -1, a, 3, w, work, n, info);
    REFUSED(syevd, vector, lower, 3, a, 2, w, work, n, info);
    for (int mode : {-1, 2, 3}) REFUSED(syevd, (cusolverEigMode_t)mode, lower, 3, a, 3, w, work, n, info);
    for (int uplo : {-1, 2, 3}) {
        const auto fill = (cublasFillMode_t)uplo;
        REFUSED(syevd, vector, fill, 3, a, 3, w, work, n, info);
        REFUSED(potrf, fill, 3, a, 3, work, n, info);
        REFUSED(potrs, fill, 3, 1, a, 3, b, 3, info);
        REFUSED(sygvd, one, vector, fill, 3, a, 3, b, 3, w, work, n, info);
    }
    for (int type : {-1, 0, 4}) REFUSED(sygvd, (cusolverEigType_t)type, vector, lower, 3, a, 3, b, 3, w, work, n, info);
    for (int mode : {-1, 2, 3}) REFUSED(sygvd, one, (cusolverEigMode_t)mode, lower, 3, a, 3, b, 3, w, work, n, info);
    REFUSED(sygvd, one, vector, lower, -1, a, 3, b, 3, w, work, n, info);
    REFUSED(sygvd, one, vector, lower, 3, a, 2, b, 3, w, work, n, info);
    REFUSED(sygvd, one, vector, lower, 3, a, 3, b, 2, w, work, n, info);
    for (int other : {-1, 2, 3, 4}) REFUSED(ormqr, left, (cublasOperation_t)other, 3, 2, 2, a, 3, tau, b, 3, work, n, info);
    for (int side : {-1, 2, 3}) REFUSED(ormqr, (cublasSideMode_t)side, op, 3, 3, 2, a, 3, tau, b, 3, work, n, info);
    syevjInfo_t how;
    OK(cusolverDnCreateSyevjInfo(&how));
    REFUSED(syevj, vector, lower, -1, a, 3, w, work, n, info, how);
    REFUSED(syevj, vector, lower, 3, a, 2, w, work, n, info, how);
    REFUSED(syevj, (cusolverEigMode_t)2, lower, 3, a, 3, w, work, n, info, how);
    REFUSED(syevj, vector, (cublasFillMode_t)2, 3, a, 3, w, work, n, info, how);
    OK(cusolverDnDestroySyevjInfo(how));
    IS(cusolverDnDgetrs(h, (cublasOperation_t)3, 3, 1, a, 3, pivots, b, 3, info), CUSOLVER_STATUS_INVALID_VALUE);
    IS(cusolverDnDgetrs(h, (cublasOperation_t)-1, 3, 1, a, 3, pivots, b, 3, info), CUSOLVER_STATUS_INVALID_VALUE);
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
    eigenvalues<float>();
    eigenvalues<double>();
    wrong_sizes();
    wrong_arguments();
    OK(cusolverDnDestroy(h));
    printf("done\n");
}
