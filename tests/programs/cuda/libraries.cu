// cuBLAS and cuRAND's host functions, as programs use them: their results against loops on the host.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include "cublas_v2.h"
#include <curand.h>
#include <cuda_fp16.h>
#include "expect.h"

#define NEAR(A, B)                                                                                          \
    do {                                                                                                    \
        double a_ = (A), b_ = (B);                                                                          \
        if (!(std::fabs(a_ - b_) <= 1e-4 * (1 + std::fabs(b_)))) printf("line %d: %g, not %g\n", __LINE__, a_, b_); \
    } while (0)

template <typename T> T *on_device(const std::vector<T> &v) {
    T *d;
    OK(cudaMalloc(&d, v.size() * sizeof(T)));
    OK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <typename T> std::vector<T> on_host(const T *d, size_t n) {
    std::vector<T> v(n);
    OK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}
template <typename T> std::vector<T> numbers(size_t n, int seed) {
    std::vector<T> v(n);
    for (size_t k = 0; k < n; k++) v[k] = (T)(((k * 37 + seed * 11) % 19) - 9.0f) / (T)4.0f;
    return v;
}
// Element (i, j) of op(m), m stored by columns.
template <typename T> double at(const std::vector<T> &m, int ld, bool t, int i, int j) {
    return t ? (double)(float)m[(size_t)i * ld + j] : (double)(float)m[(size_t)j * ld + i];
}

__global__ void twice(float *x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] *= 2;
}

static void vectors(cublasHandle_t h) {
    const int n = 100;
    auto x = numbers<float>(n, 1), y = numbers<float>(n, 2);
    float *dx = on_device(x), *dy = on_device(y), alpha = 2.5f, value;
    OK(cublasSaxpy(h, n, &alpha, dx, 1, dy, 1));
    auto got = on_host(dy, n);
    for (int k = 0; k < n; k++) NEAR(got[k], y[k] + alpha * x[k]);
    double sum = 0, square = 0, plain = 0;
    int most = 0;
    for (int k = 0; k < n; k++) {
        sum += (double)x[k] * got[n - 1 - k];
        square += x[k] * x[k];
        plain += std::fabs(x[k]);
        if (std::fabs(x[k]) > std::fabs(x[most])) most = k;
    }
    OK(cublasSdot(h, n, dx, -1, dy, 1, &value));
    NEAR(value, sum);
    OK(cublasSnrm2(h, n, dx, 1, &value));
    NEAR(value, std::sqrt(square));
    OK(cublasSasum(h, n, dx, 1, &value));
    NEAR(value, plain);
    int place;
    OK(cublasIsamax(h, n, dx, 1, &place));
    NEAR(place, most + 1);
    float *dresult = on_device(std::vector<float>(1, 0.f)), *dalpha = on_device(std::vector<float>(1, 3.f));
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasSscal(h, n / 2, dalpha, dx, 2));
    OK(cublasSnrm2(h, 1, dx, 1, dresult));
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    NEAR(on_host(dresult, 1)[0], 3 * std::fabs(x[0]));
    got = on_host(dx, n);
    for (int k = 0; k < n; k++) NEAR(got[k], k % 2 ? x[k] : 3 * x[k]);
    std::vector<double> a = numbers<double>(6, 3), b(6);
    double *da, third = 1.0 / 3;
    OK(cudaMalloc(&da, sizeof(double) * 12));
    OK(cublasSetMatrix(2, 3, sizeof(double), a.data(), 2, da, 4));
    OK(cublasGetMatrix(2, 3, sizeof(double), da, 4, b.data(), 2));
    for (int k = 0; k < 6; k++) NEAR(b[k], a[k]);
    OK(cublasSetVector(6, sizeof(double), a.data(), 1, da, 2));
    OK(cublasDscal(h, 6, &third, da, 2));
    OK(cublasGetVector(6, sizeof(double), da, 2, b.data(), 1));
    for (int k = 0; k < 6; k++) NEAR(b[k], a[k] / 3);
}

template <typename T> static void check(const std::vector<T> &c, const std::vector<T> &before, int m, int n, int k,
                                        double alpha, double beta, const std::vector<T> &a, int lda, bool ta,
                                        const std::vector<T> &b, int ldb, bool tb, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += at(a, lda, ta, i, l) * at(b, ldb, tb, l, j);
            double was = beta ? beta * (double)(float)before[(size_t)j * ldc + i] : 0;
            NEAR((double)(float)c[(size_t)j * ldc + i], alpha * sum + was);
        }
}

static void products(cublasHandle_t h) {
    const int m = 7, n = 5, k = 6, ld = 9;
    auto a = numbers<float>(ld * ld, 4), b = numbers<float>(ld * ld, 5), c = numbers<float>(ld * ld, 6);
    float alpha = 1.5f, beta = -0.5f, none = 0, *da = on_device(a), *db = on_device(b);
    for (int ta = 0; ta < 2; ta++)
        for (int tb = 0; tb < 2; tb++) {
            float *dc = on_device(c);
            OK(cublasSgemm(h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, da, ld,
                           db, ld, &beta, dc, ld));
            check(on_host(dc, c.size()), c, m, n, k, alpha, beta, a, ld, ta, b, ld, tb, ld);
        }
    auto nans = std::vector<float>(ld * ld, NAN);
    float *dn = on_device(nans);
    OK(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da, ld, db, ld, &none, dn, ld));
    check(on_host(dn, nans.size()), nans, m, n, k, alpha, 0, a, ld, false, b, ld, false, ld);
    float *dy = on_device(c);
    OK(cublasSgemv(h, CUBLAS_OP_T, m, n, &alpha, da, ld, db, 1, &beta, dy, 1));
    check(on_host(dy, c.size()), c, n, 1, m, alpha, beta, a, ld, true, b, ld, false, ld);
    float *dt = on_device(c);
    OK(cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &alpha, da, ld, &none, dt, ld, dt, ld));
    auto t = on_host(dt, c.size());
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) NEAR(t[j * ld + i], alpha * a[i * ld + j]);
    std::vector<const float *> as{da, db}, bs{db, da};
    float *dc[2] = {on_device(c), on_device(c)};
    std::vector<float *> cs{dc[0], dc[1]};
    const float **das = on_device(as), **dbs = on_device(bs);
    float **dcs = on_device(cs);
    OK(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, das, ld, dbs, ld, &beta, dcs, ld, 2));
    check(on_host(dc[0], c.size()), c, m, n, k, alpha, beta, a, ld, false, b, ld, false, ld);
    check(on_host(dc[1], c.size()), c, m, n, k, alpha, beta, b, ld, false, a, ld, false, ld);
    auto two = a, result = c;
    two.insert(two.end(), b.begin(), b.end());
    result.insert(result.end(), c.begin(), c.end());
    float *dtwo = on_device(two), *dresult = on_device(result);
    OK(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, dtwo, ld, ld * ld, db, ld, 0, &beta,
                                 dresult, ld, ld * ld, 2));
    auto got = on_host(dresult + ld * ld, c.size());
    check(got, c, m, n, k, alpha, beta, b, ld, false, b, ld, false, ld);
    std::vector<__half> ha(ld * ld), hb(ld * ld);
    for (int e = 0; e < ld * ld; e++) ha[e] = __float2half(a[e]), hb[e] = __float2half(b[e]);
    __half *dha = on_device(ha), *dhb = on_device(hb);
    float *df = on_device(c);
    OK(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, dha, CUDA_R_16F, ld, dhb, CUDA_R_16F, ld, &beta, df,
                    CUDA_R_32F, ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
    check(on_host(df, c.size()), c, m, n, k, alpha, beta, a, ld, false, b, ld, true, ld);
    double *dd = on_device(numbers<double>(9, 7)), one = 1, zero = 0;
    OK(cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 3, &one, dd, 1, dd + 3, 3, &zero, dd + 8, 1));
    auto d = on_host(dd, 9);
    NEAR(d[8], d[0] * d[3] + d[1] * d[4] + d[2] * d[5]);
}

// Arrays of pointers, numbers of any type, and results of several numbers.
static void extensions(cublasHandle_t h) {
    const int n = 3, count = 2;
    std::vector<double> a[count] = {{4, 1, 2, 1, 5, 3, 2, 3, 6}, {0, 1, 2, 1, 0, 3, 2, 3, 0}};
    double *da[count] = {on_device(a[0]), on_device(a[1])}, *dinv[count] = {on_device(a[0]), on_device(a[1])};
    double **as = on_device(std::vector<double *>(da, da + count)), **to = on_device(std::vector<double *>(dinv, dinv + count));
    int *info = on_device(std::vector<int>(count, 9)), *pivots = on_device(std::vector<int>(n * count)), status = 9;
    OK(cublasDmatinvBatched(h, n, as, n, to, n, info, count));
    OK(cublasDgetrfBatched(h, n, as, n, pivots, info, count));
    for (int i : on_host(info, count)) NEAR(i, 0);
    OK(cublasDgetrsBatched(h, CUBLAS_OP_N, n, n, as, n, pivots, to, n, &status, count));
    NEAR(status, 0);  // the inverse of the square
    for (int b = 0; b < count; b++) {
        auto x = on_host(dinv[b], n * n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    for (int l = 0; l < n; l++) sum += a[b][k * n + i] * a[b][l * n + k] * x[j * n + l];
                NEAR(sum, i == j);
            }
    }
    IS(cublasDmatinvBatched(h, 33, as, 33, to, 33, info, count), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasDgetrfBatched(h, n, as, n - 1, pivots, info, count), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasDgetrfBatched(h, n, as, n, pivots, info, -1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasDgetrsBatched(h, CUBLAS_OP_N, n, n, as, n, pivots, to, n, nullptr, count), CUBLAS_STATUS_INVALID_VALUE);
    double p = 3, q = 4, c = 0, s = 0, rotation[5] = {}, d1 = 1, d2 = 5, x1 = 2.1, y1 = 1.2;
    OK(cublasDrotg(h, &p, &q, &c, &s));
    NEAR(p, 5); NEAR(c, 0.6); NEAR(s, 0.8); NEAR(q, 1 / 0.6);
    OK(cublasDrotmg(h, &d1, &d2, &x1, &y1, rotation));
    NEAR(rotation[0], 1); NEAR(rotation[1], 0.35); NEAR(rotation[4], 1.75); NEAR(x1, 1.935); NEAR(d1, 5 / 1.6125);
    double *dp = on_device(std::vector<double>{3, 4, 0, 0}), one = 1, zero = 0, sum = 0;
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasDrotg(h, dp, dp + 1, dp + 2, dp + 3));
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    auto turned = on_host(dp, 4);
    NEAR(turned[0], 5); NEAR(turned[2], 0.6); NEAR(turned[3], 0.8);
    OK(cublasDotEx(h, 4, dp, CUDA_R_64F, 1, dp, CUDA_R_64F, 1, &sum, CUDA_R_64F, CUDA_R_64F));
    NEAR(sum, 25 + turned[1] * turned[1] + 1);
    __half *half = on_device(std::vector<__half>{__float2half(1), __float2half(3)});
    float third = 1.f / 3;
    OK(cublasScalEx(h, 2, &third, CUDA_R_32F, half, CUDA_R_16F, 1, CUDA_R_32F));
    NEAR(__half2float(on_host(half, 2)[0]), __half2float(__float2half(third)));
    IS(cublasDotEx(h, 1, dp, CUDA_R_64F, 1, dp, CUDA_R_64F, 1, nullptr, CUDA_R_64F, CUDA_R_64F), CUBLAS_STATUS_INVALID_VALUE);
    cublasOperation_t plain[] = {CUBLAS_OP_N, CUBLAS_OP_N};
    int sizes[] = {1, 2}, lds[] = {3, 3}, counts[] = {1, 1};
    double alphas[] = {one, 2}, betas[] = {zero, zero};
    OK(cublasDgemmGroupedBatched(h, plain, plain, sizes, sizes, sizes, alphas, (const double **)as, lds, (const double **)as, lds,
                                 betas, to, lds, 2, counts));
    auto first = on_host(da[0], 9), second = on_host(da[1], 9);
    NEAR(on_host(dinv[0], 1)[0], first[0] * first[0]);
    NEAR(on_host(dinv[1], 4)[3], 2 * (second[0] * second[3] + second[3] * second[4]));
}

// What a call read is changed, and what it wrote, before the same call comes again.
// Sizes and places of 64 bits.
static void wide(cublasHandle_t h) {
    const int64_t n = 3;
    const double host[n] = {1, -5, 2}, one = 1, zero = 0;
    double *x = on_device(std::vector<double>(n)), *y = on_device(std::vector<double>(3)), got[3];
    OK(cublasSetVector_64(n, sizeof *x, host, 1, x, 1));
    int64_t place, *places = on_device(std::vector<int64_t>(2, -1));
    OK(cublasIdamax_64(h, n, x, 1, &place));
    NEAR(place, 2);
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasIdamin_64(h, n, x, 1, places));
    OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    NEAR(on_host(places, 2)[0], 1); NEAR(on_host(places, 2)[1], -1);
    OK(cublasDgemm_64(h, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, &one, x, n, x, n, &zero, y, 1));
    OK(cublasGemmEx_64(h, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, &one, x, CUDA_R_64F, n, x, CUDA_R_64F, n, &zero, y + 1, CUDA_R_64F, 1,
                       CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
    OK(cublasDgemv_64(h, CUBLAS_OP_T, n, 1, &one, x, n, x, -1, &zero, y + 2, 1));
    OK(cublasGetMatrix_64(1, 3, sizeof *y, y, 1, got, 1));
    NEAR(got[0], 30); NEAR(got[1], 30); NEAR(got[2], 29);
    IS(cublasDgemm_64(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, -1, n, &one, x, 1, x, n, &zero, y, 1), CUBLAS_STATUS_INVALID_VALUE);
    double **of_x = on_device(std::vector<double *>{x}), **of_y = on_device(std::vector<double *>{y});
    const cublasOperation_t t[] = {CUBLAS_OP_T}, plain[] = {CUBLAS_OP_N};
    const int64_t single[] = {1}, depth[] = {n};
    OK(cublasDgemmGroupedBatched_64(h, t, plain, single, single, depth, &one, (const double **)of_x, depth,
                                    (const double **)of_x, depth, &one, of_y, single, 1, single));
    NEAR(on_host(y, 1)[0], 60);
}

static void again(cublasHandle_t h) {
    float *x = on_device(numbers<float>(8, 1)), *y = on_device(numbers<float>(8, 2)), sum;
    for (int k = 0; k < 9; k++) {
        auto from = std::vector<float>(8, 1.f + k % 3), to = std::vector<float>(8, 7.f);
        OK(cudaMemcpy(x, from.data(), 32, cudaMemcpyHostToDevice));
        OK(cublasSasum(h, 8, x, 1, &sum));
        NEAR(sum, 8 * from[0]);
        OK(cudaMemcpy(y, to.data(), 32, cudaMemcpyHostToDevice));
        OK(cublasScopy(h, 8, x, 1, y, 1));
        NEAR(on_host(y, 8)[5], from[5]);
    }
}

// As cuBLAS's guide says; of vectors alone a size below one means nothing. That of CUDA 13.0 on an H200 answered likewise
// but for gemv, which it called a success, and for the missing factor, which it read.
static void refused(cublasHandle_t h) {
    const auto no = CUBLAS_OP_N, t = CUBLAS_OP_T;
    const auto low = CUBLAS_FILL_MODE_LOWER;
    float *a = on_device(numbers<float>(64, 1)), *b = on_device(numbers<float>(64, 2)), one = 1, sum = 5;
    OK(cublasSaxpy(h, -1, &one, nullptr, 1, nullptr, 1));
    OK(cublasSasum(h, 4, a, -1, &sum));
    NEAR(sum, 0);
    OK(cublasSgemv(h, no, 0, 4, &one, a, 1, b, 1, &one, b, 1));
    IS(cublasSaxpy(h, 4, nullptr, a, 1, b, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemv(h, no, 4, 4, &one, a, 4, b, 0, &one, b, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemv(h, no, 4, -1, &one, a, 4, b, 1, &one, b, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemv(h, (cublasOperation_t)9, 4, 4, &one, a, 4, b, 1, &one, b, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemm(h, t, no, 4, 4, 8, &one, a, 4, b, 8, &one, b, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemm(h, no, no, 4, 4, -1, &one, a, 4, b, 4, &one, b, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSgemmStridedBatched(h, no, no, 2, 2, 2, &one, a, 2, 4, b, 2, 4, &one, b, 2, 4, -1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSsbmv(h, low, 4, 3, &one, a, 3, b, 1, &one, b, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSsyrk(h, (cublasFillMode_t)7, no, 4, 2, &one, a, 4, &one, b, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSsyrk(h, low, t, 4, 8, &one, a, 4, &one, b, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSetPointerMode(h, (cublasPointerMode_t)5), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasGetStream(h, nullptr), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasSger(nullptr, 4, 4, &one, a, 1, b, 1, b, 4), CUBLAS_STATUS_NOT_INITIALIZED);
}

static void streams(cublasHandle_t h) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    float *dx = on_device(std::vector<float>(4, 1.f)), alpha = 3;
    double p = 3, q = 4, cosine, sine;
    OK(cudaStreamCreate(&stream));
    OK(cublasSetStream(h, stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cublasSscal(h, 4, &alpha, dx, 1));
    OK(cublasDrotg(h, &p, &q, &cosine, &sine)); // of host memory: no part of the graph
    NEAR(p, 5);
    twice<<<1, 4, 0, stream>>>(dx, 4);
    OK(cudaStreamEndCapture(stream, &graph));
    NEAR(on_host(dx, 1)[0], 1);
    OK(cudaGraphInstantiate(&made, graph, 0));
    for (int k = 0; k < 2; k++) OK(cudaGraphLaunch(made, stream));
    NEAR(on_host(dx, 1)[0], 36);
    OK(cublasSetStream(h, nullptr));
}

static void randoms() {
    const size_t n = 20000;
    float *d;
    curandGenerator_t g, of_host;
    OK(cudaMalloc(&d, n * sizeof(float)));
    OK(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT));
    OK(curandSetPseudoRandomGeneratorSeed(g, 1234ULL));
    OK(curandGenerateUniform(g, d, n));
    auto u = on_host(d, n);
    double sum = 0;
    for (float v : u) {
        sum += v;
        if (!(v > 0 && v <= 1)) printf("%g is not in (0, 1]\n", v);
    }
    if (std::fabs(sum / n - 0.5) > 0.01) printf("uniform: mean %g\n", sum / n);
    OK(curandGenerateUniform(g, d, n));
    if (on_host(d, n) == u) printf("the same numbers again\n");
    OK(curandSetPseudoRandomGeneratorSeed(g, 1234ULL));
    OK(curandGenerateUniform(g, d, n));
    if (on_host(d, n) != u) printf("other numbers of the same seed\n");
    OK(curandGenerateNormal(g, d, n, 3.f, 2.f));
    sum = 0;
    for (float v : on_host(d, n)) sum += v;
    if (std::fabs(sum / n - 3) > 0.1) printf("normal: mean %g\n", sum / n);
    if (curandGenerateNormal(g, d, 3, 0.f, 1.f) != CURAND_STATUS_LENGTH_NOT_MULTIPLE) printf("an odd count\n");
    std::vector<double> h(10);
    OK(curandCreateGeneratorHost(&of_host, CURAND_RNG_PSEUDO_MT19937));
    OK(curandGenerateUniformDouble(of_host, h.data(), h.size()));
    for (double v : h)
        if (!(v > 0 && v <= 1)) printf("%g is not in (0, 1]\n", v);
    OK(curandGenerateNormalDouble(of_host, h.data(), h.size(), 0., -1.));
    OK(curandDestroyGenerator(of_host));
    // What an H200 refuses.
    curandGenerator_t other;
    IS(curandCreateGenerator(nullptr, CURAND_RNG_PSEUDO_XORWOW), CURAND_STATUS_NOT_INITIALIZED);
    IS(curandCreateGenerator(&other, (curandRngType_t)99), CURAND_STATUS_TYPE_ERROR);
    IS(curandCreateGenerator(&other, (curandRngType_t)143), CURAND_STATUS_TYPE_ERROR);
    IS(curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT), CURAND_STATUS_OUT_OF_RANGE);
    for (int order : {0, 99, 105, 200})  // documented
        IS(curandSetGeneratorOrdering(g, (curandOrdering_t)order), CURAND_STATUS_OUT_OF_RANGE);
    IS(curandGeneratePoisson(g, (unsigned *)d, 7, 0), CURAND_STATUS_OUT_OF_RANGE);
    IS(curandGeneratePoisson(g, (unsigned *)d, 7, 1e9), CURAND_STATUS_OUT_OF_RANGE);
    IS(curandGenerateLongLong(g, (unsigned long long *)d, 8), CURAND_STATUS_TYPE_ERROR);
    OK(curandCreateGenerator(&other, CURAND_RNG_PSEUDO_MRG32K3A));
    IS(curandSetGeneratorOrdering(other, CURAND_ORDERING_PSEUDO_SEEDED), CURAND_STATUS_OUT_OF_RANGE);
    OK(curandDestroyGenerator(other));
    IS(curandDestroyGenerator(nullptr), CURAND_STATUS_NOT_INITIALIZED);
    IS(curandSetQuasiRandomGeneratorDimensions(g, 1), CURAND_STATUS_TYPE_ERROR);
    OK(curandDestroyGenerator(g));
    // Quasirandom numbers; what cuRAND's guide says of wrong calls.
    std::vector<unsigned long long> quasi(6);
    OK(curandCreateGeneratorHost(&other, CURAND_RNG_QUASI_SOBOL64));
    OK(curandGenerateLongLong(other, quasi.data(), 2));
    OK(curandGenerateLongLong(other, quasi.data() + 2, 2));
    OK(curandSetGeneratorOffset(other, 3));
    OK(curandGenerateLongLong(other, quasi.data() + 4, 2));
    const unsigned expected[] = {0, 8, 12, 4, 4, 6};
    for (int k = 0; k < 6; k++) NEAR((double)(quasi[k] >> 60), expected[k]);
    IS(curandGenerate(other, (unsigned *)quasi.data(), 2), CURAND_STATUS_TYPE_ERROR);
    IS(curandSetPseudoRandomGeneratorSeed(other, 1), CURAND_STATUS_TYPE_ERROR);
    IS(curandSetGeneratorOrdering(other, CURAND_ORDERING_PSEUDO_BEST), CURAND_STATUS_OUT_OF_RANGE);
    IS(curandSetQuasiRandomGeneratorDimensions(other, 0), CURAND_STATUS_OUT_OF_RANGE);
    IS(curandSetQuasiRandomGeneratorDimensions(other, 20001), CURAND_STATUS_OUT_OF_RANGE);
    OK(curandSetQuasiRandomGeneratorDimensions(other, 4));
    IS(curandGenerateLongLong(other, quasi.data(), 6), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    OK(curandDestroyGenerator(other));
}

int main(int argc, char **argv) {
    cublasHandle_t h;
    OK(cublasCreate(&h));
    const char *what = argc > 1 ? argv[1] : "";
    if (!*what) vectors(h), again(h), refused(h), products(h), extensions(h), wide(h), streams(h), randoms(), printf("done\n");
    if (!strcmp(what, "missing")) printf("%s\n", cublasGetStatusString(cublasSgelsBatched(h, 1, 2, 3)));
    if (!strcmp(what, "fault")) {  // a result is waited for, so that the kernel's error is found there
        float *d = on_device(std::vector<float>(8, 1.f)), sum;
        twice<<<1, 1>>>(d + (1 << 28), 1);
        printf("%d", cublasSasum(h, 8, d, 1, &sum));
        printf(" %d %d\n", cudaDeviceSynchronize(), cublasCreate(&h));
        return 0;
    }
    if (!strcmp(what, "threads")) {  // what one frees, another is given
        std::vector<std::thread> threads;
        for (int n = 0; n < 4; n++)
            threads.emplace_back([] {
                cublasHandle_t own;
                OK(cublasCreate(&own));
                for (int turn = 0; turn < 100; turn++) {
                    float *d, one = 1;
                    OK(cudaMalloc(&d, 32));
                    OK(cublasSscal(own, 8, &one, d, 1));
                    OK(cudaFree(d));
                }
            });
        for (auto &thread : threads) thread.join();
    }
    if (!strcmp(what, "outside")) {
        float *d = on_device(std::vector<float>(8, 1.f)), one = 1;
        printf("%d\n", cublasSscal(h, 9, &one, d, 1));
    }
    OK(cublasDestroy(h));
}
