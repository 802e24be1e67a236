// cuBLAS as programs before CUDA 4.0 call it: each function against a loop on the host. Prints what differs, then "done".
#include <cmath>
#include <cstdio>
#include <cublas.h>

const int N = 6;
static void same(const char *what, double found, double expected) {
    if (fabs(found - expected) > 1e-5 * (1 + fabs(expected))) printf("%s: %g, not %g\n", what, found, expected);
}

#define CHECK(S, s, T)                                                                            \
    {                                                                                             \
        T x[N], y[N], a[N * N], b[N * N], c[N * N], *dx, *dy, *da, *db, *dc;                      \
        for (int n = 0; n < N; n++) x[n] = n - 3.5, y[n] = 2 * n + 1;                             \
        for (int n = 0; n < N * N; n++) a[n] = n % 7, b[n] = n % 5 - 2, c[n] = 1;                 \
        cublasAlloc(N, sizeof(T), (void **)&dx), cublasAlloc(N, sizeof(T), (void **)&dy);         \
        cublasAlloc(N * N, sizeof(T), (void **)&da), cublasAlloc(N * N, sizeof(T), (void **)&db); \
        cublasAlloc(N * N, sizeof(T), (void **)&dc);                                              \
        cublasSetVector(N, sizeof(T), x, 1, dx, 1), cublasSetVector(N, sizeof(T), y, 1, dy, 1);   \
        cublasSetMatrix(N, N, sizeof(T), a, N, da, N), cublasSetMatrix(N, N, sizeof(T), b, N, db, N); \
        cublasSetMatrix(N, N, sizeof(T), c, N, dc, N);                                            \
        double dot = 0, sum = 0, square = 0;                                                      \
        for (int n = 0; n < N; n++) dot += x[n] * y[n], sum += fabs(x[n]), square += x[n] * x[n]; \
        same(#S "dot", cublas##S##dot(N, dx, 1, dy, 1), dot);                                     \
        same(#S "asum", cublas##S##asum(N, dx, 1), sum);                                          \
        same(#S "nrm2", cublas##S##nrm2(N, dx, 1), sqrt(square));                                 \
        same("I" #s "amax", cublasI##s##amax(N, dx, 1), 1);                                       \
        same("I" #s "amin", cublasI##s##amin(N, dx, 1), 4);                                       \
        cublas##S##gemm('n', 'T', N, N, N, 2, da, N, db, N, 3, dc, N);                            \
        cublas##S##gemv('t', N, N, 1, da, N, dx, 1, -1, dy, 1);                                   \
        cublas##S##ger(N, N, 2, dx, 1, dx, 1, da, N);                                             \
        cublasGetMatrix(N, N, sizeof(T), dc, N, c, N);                                            \
        for (int i = 0; i < N; i++) {                                                             \
            double row = -y[i];                                                                   \
            for (int k = 0; k < N; k++) row += a[i * N + k] * x[k];                               \
            y[i] = row;                                                                           \
            for (int j = 0; j < N; j++) {                                                         \
                double entry = 3;                                                                 \
                for (int k = 0; k < N; k++) entry += 2 * a[k * N + i] * b[k * N + j];             \
                same(#S "gemm", c[j * N + i], entry);                                             \
            }                                                                                     \
        }                                                                                         \
        cublas##S##axpy(N, 0.5, dx, 1, dy, 1), cublas##S##scal(N, 4, dx, 1);                      \
        cublas##S##swap(N, dx, 1, dy, 1), cublas##S##copy(N, dx, 1, db, 1);                       \
        T first[N], last[N], turned[N * N];                                                       \
        cublasGetVector(N, sizeof(T), db, 1, first, 1), cublasGetVector(N, sizeof(T), dy, 1, last, 1); \
        cublasGetMatrix(N, N, sizeof(T), da, N, turned, N);                                       \
        for (int n = 0; n < N; n++) {                                                             \
            same(#S "gemv, " #S "axpy", first[n], y[n] + x[n] / 2);                               \
            same(#S "scal", last[n], 4 * x[n]);                                                   \
            same(#S "ger", turned[n], a[n] + 2 * x[n] * x[0]);                                    \
        }                                                                                         \
        cublasFree(dx), cublasFree(dy), cublasFree(da), cublasFree(db), cublasFree(dc);           \
    }

int main(int argc, char **argv) {
    if (cublasInit()) return 1;
    if (argc > 1) {  // an error, which is kept until it is asked for
        float *device;
        cublasAlloc(1, sizeof(float), (void **)&device);
        cublasSscal(2, 1, device, 1), cublasSscal(1, 1, device, 1);
        int first = cublasGetError(), second = cublasGetError();
        printf("%d %d\n", first, second);
        return 0;
    }
    CHECK(S, s, float)
    CHECK(D, d, double)
    float *none;
    same("no memory", cublasAlloc(0, 4, (void **)&none), CUBLAS_STATUS_INVALID_VALUE);
    same("errors", cublasGetError(), CUBLAS_STATUS_SUCCESS);
    if (cublasShutdown()) return 2;
    printf("done\n");
}
