// cuFFT, as programs use it: its results against the definition, computed on the host.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cufftXt.h>

typedef std::complex<double> complex;
static int line_of_check;
#define CHECK (line_of_check = __LINE__)
template <typename T> struct device { // an array on the device
    T *at;
    size_t count;
    device(const std::vector<T> &v) : count(v.size()) {
        cudaMalloc(&at, count * sizeof(T));
        cudaMemcpy(at, v.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    }
    device(size_t n) : count(n) { cudaMalloc(&at, n * sizeof(T)), cudaMemset(at, 0, n * sizeof(T)); }
    ~device() { cudaFree(at); }
    template <typename U = T> std::vector<U> values() const {
        std::vector<U> v(count * sizeof(T) / sizeof(U));
        cudaMemcpy(v.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost);
        return v;
    }
};
static double number(int k) { return (k * 37 + 11) % 19 - 9.0; }

// The transform of n[0] x n[1] x n[2] values by its definition.
static std::vector<complex> defined(const std::vector<complex> &v, const int *n, int sign) {
    std::vector<complex> out(v.size());
    for (int a = 0; a < n[0]; a++) for (int b = 0; b < n[1]; b++) for (int c = 0; c < n[2]; c++)
        for (int x = 0; x < n[0]; x++) for (int y = 0; y < n[1]; y++) for (int z = 0; z < n[2]; z++)
            out[(a * n[1] + b) * n[2] + c] += v[(x * n[1] + y) * n[2] + z] *
                std::polar(1.0, sign * 2 * M_PI * (double(a) * x / n[0] + double(b) * y / n[1] + double(c) * z / n[2]));
    return out;
}
template <typename A, typename B> static void near(const A &a, const B &b, double tolerance) {
    if (!(std::abs(complex(a) - complex(b)) <= tolerance * (1 + std::abs(complex(b)))))
        printf("line %d: %g + %gi, not %g + %gi\n", line_of_check, complex(a).real(), complex(a).imag(), complex(b).real(), complex(b).imag());
}
static void is(int status, int expected) {
    if (status != expected) printf("line %d: status %d, not %d\n", line_of_check, status, expected);
}

static cufftResult run(cufftHandle p, std::complex<float> *f, std::complex<float> *t, int sign) { return cufftExecC2C(p, (cufftComplex *)f, (cufftComplex *)t, sign); }
static cufftResult run(cufftHandle p, std::complex<double> *f, std::complex<double> *t, int sign) { return cufftExecZ2Z(p, (cufftDoubleComplex *)f, (cufftDoubleComplex *)t, sign); }
static cufftResult forward(cufftHandle p, float *f, std::complex<float> *t) { return cufftExecR2C(p, f, (cufftComplex *)t); }
static cufftResult forward(cufftHandle p, double *f, std::complex<double> *t) { return cufftExecD2Z(p, f, (cufftDoubleComplex *)t); }
static cufftResult back(cufftHandle p, std::complex<float> *f, float *t) { return cufftExecC2R(p, (cufftComplex *)f, t); }
static cufftResult back(cufftHandle p, std::complex<double> *f, double *t) { return cufftExecZ2D(p, (cufftDoubleComplex *)f, t); }

// A plan of as many dimensions as there are sizes above 1, at least one.
static void plan(cufftHandle *p, const int *n, cufftType type, int batch) {
    if (n[0] > 1) is(cufftPlan3d(p, n[0], n[1], n[2], type), 0);
    else if (n[1] > 1) is(cufftPlan2d(p, n[1], n[2], type), 0);
    else is(cufftPlan1d(p, n[2], type, batch), 0);
}
template <typename T> static void transforms(int a, int b, int c, int batch, cufftType between, cufftType forth, cufftType again) {
    int n[3] = {a, b, c}, all = a * b * c, half = a * b * (c / 2 + 1), row = c / 2 + 1;
    double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-10;
    cufftHandle p;
    std::vector<std::complex<T>> v(all * batch);
    for (int k = 0; k < all * batch; k++) v[k] = {T(number(k)), T(number(k + 5))};
    for (int sign : {CUFFT_FORWARD, CUFFT_INVERSE}) for (bool in_place : {false, true}) {
        device<std::complex<T>> from(v), to(v.size());
        plan(&p, n, between, batch);
        is(run(p, from.at, in_place ? from.at : to.at, sign), 0);
        is(cufftDestroy(p), 0);
        auto got = (in_place ? from : to).values();
        for (int k = 0; k < batch; k++) {
            auto right = defined({v.begin() + k * all, v.begin() + (k + 1) * all}, n, sign);
            for (int i = 0; i < all; i++) near(got[k * all + i], right[i], tolerance);
        }
    }
    std::vector<T> r(all * batch), padded(2 * half * batch);
    for (int k = 0; k < all * batch; k++) padded[k / c * 2 * row + k % c] = r[k] = T(number(k));
    for (bool in_place : {false, true}) {
        device<T> from(in_place ? padded : r);
        device<std::complex<T>> to(half * batch);
        plan(&p, n, forth, batch);
        is(forward(p, from.at, in_place ? (std::complex<T> *)from.at : to.at), 0);
        is(cufftDestroy(p), 0);
        auto got = in_place ? from.template values<std::complex<T>>() : to.values();
        for (int k = 0; k < batch; k++) {
            auto right = defined({r.begin() + k * all, r.begin() + (k + 1) * all}, n, CUFFT_FORWARD);
            for (int i = 0; i < half; i++) near(got[k * half + i], right[i / row * c + i % row], tolerance);
        }
        plan(&p, n, again, batch);
        is(back(p, in_place ? (std::complex<T> *)from.at : to.at, from.at), 0);
        is(cufftDestroy(p), 0);
        auto whole = from.values();
        for (int k = 0; k < all * batch; k++) near(whole[in_place ? k / c * 2 * row + k % c : k], r[k] * all, tolerance);
    }
}

extern "C" cufftResult cufftXtSetGPUs(cufftHandle plan, int count, int *which);

int main(int argc, char **argv) {
    cufftHandle p;
    if (argc > 1 && !strcmp(argv[1], "missing")) {
        printf("%d\n", cufftXtSetGPUs(1, 0, nullptr));
        long long eight = 8;
        size_t bytes;
        is(cufftCreate(&p), 0);
        printf("%d\n", cufftXtMakePlanMany(p, 1, &eight, nullptr, 1, 1, CUDA_C_16F, nullptr, 1, 1, CUDA_C_16F, 1, &bytes, CUDA_C_16F));
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "outside")) {
        device<cufftComplex> v(7);
        is(cufftPlan1d(&p, 8, CUFFT_C2C, 1), 0);
        printf("%d\n", cufftExecC2C(p, v.at, v.at, CUFFT_FORWARD));
        return 0;
    }
    CHECK; transforms<float>(1, 1, 8, 3, CUFFT_C2C, CUFFT_R2C, CUFFT_C2R);
    CHECK; transforms<double>(1, 1, 7, 2, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D);
    CHECK; transforms<float>(1, 4, 6, 1, CUFFT_C2C, CUFFT_R2C, CUFFT_C2R);
    CHECK; transforms<double>(3, 4, 5, 1, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D);

    // The columns of a matrix of 6 rows and 5 columns, in place; then its rows, each into a column of another.
    CHECK;
    int n = 6, across = 5, columns[1] = {6};
    std::vector<std::complex<double>> m(30);
    for (int k = 0; k < 30; k++) m[k] = {number(k), number(k + 3)};
    device<std::complex<double>> matrix(m), other(30);
    is(cufftPlanMany(&p, 1, &n, columns, 5, 1, columns, 5, 1, CUFFT_Z2Z, 5), 0);
    is(run(p, matrix.at, matrix.at, CUFFT_FORWARD), 0);
    is(cufftDestroy(p), 0);
    auto got = matrix.values();
    for (int c = 0; c < 5; c++) {
        std::vector<complex> v(6);
        for (int r = 0; r < 6; r++) v[r] = m[r * 5 + c];
        auto right = defined(v, (const int[]){1, 1, 6}, -1);
        for (int r = 0; r < 6; r++) near(got[r * 5 + c], right[r], 1e-10);
    }
    CHECK;
    is(cufftPlanMany(&p, 1, &across, &across, 1, 5, &across, 6, 1, CUFFT_Z2Z, 6), 0);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    is(cufftSetStream(p, stream), 0);
    cudaMemcpy(matrix.at, m.data(), 30 * sizeof(complex), cudaMemcpyHostToDevice);
    is(run(p, matrix.at, other.at, CUFFT_INVERSE), 0);
    cudaStreamSynchronize(stream);
    is(cufftDestroy(p), 0);
    got = other.values();
    for (int r = 0; r < 6; r++) {
        auto right = defined({m.begin() + r * 5, m.begin() + r * 5 + 5}, (const int[]){1, 1, 5}, 1);
        for (int c = 0; c < 5; c++) near(got[c * 6 + r], right[c], 1e-10);
    }
    // A corner of 2 x 3 of rows of 5 values.
    CHECK;
    int corner[2] = {2, 3}, stored[2] = {6, 5};
    is(cufftPlanMany(&p, 2, corner, stored, 1, 30, stored, 1, 30, CUFFT_Z2Z, 1), 0);
    is(run(p, matrix.at, matrix.at, CUFFT_FORWARD), 0);
    is(cufftDestroy(p), 0);
    got = matrix.values();
    auto right = defined({m[0], m[1], m[2], m[5], m[6], m[7]}, (const int[]){1, 2, 3}, -1);
    for (int k = 0; k < 30; k++) near(got[k], k < 10 && k % 5 < 3 ? right[k / 5 * 3 + k % 5] : m[k], 1e-10);

    // The same corner, and real numbers, by types of values.
    size_t bytes;
    CHECK; is(cufftCreate(&p), 0);
    long long sides[2] = {2, 3}, rows[2] = {6, 5}, eight = 8;
    is(cufftXtGetSizeMany(p, 2, sides, rows, 1, 30, CUDA_C_64F, rows, 1, 30, CUDA_C_64F, 1, &bytes, CUDA_C_64F), 0);
    is(cufftXtMakePlanMany(p, 2, sides, rows, 1, 30, CUDA_C_64F, rows, 1, 30, CUDA_C_64F, 1, &bytes, CUDA_C_64F), 0);
    cudaMemcpy(matrix.at, m.data(), 30 * sizeof(complex), cudaMemcpyHostToDevice);
    is(cufftXtExec(p, matrix.at, matrix.at, CUFFT_FORWARD), 0);
    is(cufftDestroy(p), 0);
    for (int k = 0; k < 30; k++) near(matrix.values()[k], got[k], 1e-12);
    CHECK; is(cufftCreate(&p), 0);
    is(cufftXtMakePlanMany(p, 1, &eight, nullptr, 1, 1, CUDA_R_32F, nullptr, 1, 1, CUDA_C_32F, 1, &bytes, CUDA_C_32F), 0);
    device<float> real({3, 1, -4, 1, 5, -9, 2, 6});
    device<std::complex<float>> halves(5);
    is(cufftXtExec(p, real.at, halves.at, CUFFT_FORWARD), 0);
    is(cufftDestroy(p), 0);
    right = defined({3, 1, -4, 1, 5, -9, 2, 6}, (const int[]){1, 1, 8}, -1);
    for (int k = 0; k < 5; k++) near(halves.values()[k], right[k], 1e-4);

    CHECK; is(CUFFT_MISSING_DEPENDENCY + CUFFT_NVRTC_FAILURE + CUFFT_NVJITLINK_FAILURE + CUFFT_NVSHMEM_FAILURE, 74);
    CHECK; is(cufftCreate(&p), 0);
    CHECK; is(run(p, matrix.at, matrix.at, -1), CUFFT_INVALID_PLAN);
    CHECK; is(cufftGetSize(p, &bytes), CUFFT_INVALID_PLAN);
    CHECK; is(cufftGetSize(p, nullptr), CUFFT_INVALID_VALUE);
    CHECK; is(cufftMakePlan1d(p, 30, CUFFT_Z2Z, 1, &bytes), 0);
    CHECK; is(cufftMakePlan1d(p, 30, CUFFT_Z2Z, 1, &bytes), CUFFT_INVALID_PLAN);
    CHECK; is(run(p, matrix.at, matrix.at, 0), CUFFT_INVALID_VALUE);
    CHECK; is(run(p, matrix.at, nullptr, -1), CUFFT_EXEC_FAILED);
    // The plan says what is transformed, whichever function executes it.
    CHECK; cudaMemcpy(matrix.at, m.data(), 30 * sizeof(complex), cudaMemcpyHostToDevice);
    is(cufftExecC2C(p, (cufftComplex *)matrix.at, (cufftComplex *)other.at, -1), 0);
    right = defined(m, (const int[]){1, 1, 30}, -1);
    for (int k = 0; k < 30; k++) near(other.values()[k], right[k], 1e-10);
    CHECK; is(cufftDestroy(p), 0);
    CHECK; is(cufftDestroy(p), CUFFT_INVALID_PLAN);
    CHECK; is(cufftPlan1d(&p, 8, CUFFT_R2C, 1), 0);
    CHECK; is(cufftExecZ2D(p, (cufftDoubleComplex *)matrix.at, (double *)other.at), CUFFT_INVALID_VALUE);
    CHECK; is(cufftXtExec(p, matrix.at, other.at, CUFFT_INVERSE), CUFFT_INVALID_VALUE);
    CHECK; is(cufftExecR2C(p, real.at + 1, (cufftComplex *)halves.at), CUFFT_INVALID_VALUE); // real numbers too lie as complex ones
    CHECK; is(cufftXtExec(p, real.at, halves.at, CUFFT_FORWARD), 0);
    CHECK; is(cufftDestroy(p), 0);
    // Of the types that cufftXtMakePlanMany takes: six pairs, each by way of a real or a complex type.
    CHECK; int pairs = 0;
    const cudaDataType kinds[] = {CUDA_R_32F, CUDA_C_32F, CUDA_R_64F, CUDA_C_64F, CUDA_R_8I};
    for (auto from : kinds) for (auto to : kinds) for (auto by : kinds) {
        is(cufftCreate(&p), 0);
        cufftResult made = cufftXtMakePlanMany(p, 1, &eight, nullptr, 1, 1, from, nullptr, 1, 1, to, 1, &bytes, by);
        if (made) is(made, CUFFT_INVALID_TYPE);
        else pairs++;
        is(cufftDestroy(p), 0);
    }
    is(pairs, 12);
    int version = 0, parts[3] = {0};
    CHECK; is(cufftGetVersion(&version), 0);
    for (int part = 0; part < 3; part++) is(cufftGetProperty((libraryPropertyType)part, &parts[part]), 0);
    CHECK; is(parts[0] * 1000 + parts[1] * 100 + parts[2], version);
    CHECK; is(cufftGetProperty((libraryPropertyType)3, parts), CUFFT_INVALID_TYPE);
    CHECK; is(cufftPlan1d(&p, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
    CHECK; is(cufftPlan1d(&p, 8, CUFFT_C2C, 0), CUFFT_INVALID_SIZE);
    CHECK; is(cufftPlan1d(&p, 8, (cufftType)0, 1), CUFFT_INVALID_TYPE);
    CHECK; is(cufftPlanMany(&p, 4, stored, nullptr, 1, 1, nullptr, 1, 1, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
    CHECK; is(cufftPlanMany(&p, 1, stored, stored, 1, 6, nullptr, 1, 6, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
    CHECK; is(cufftPlanMany(&p, 1, stored, nullptr, 1, 6, stored, 1, 6, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
    for (int size : {1, 30, 4096, 65536, 1 << 20}) for (int batch : {1, 3}) {
        size_t of_complex = size > 4096 ? size_t(batch) * size * 8 : 0, of_real = size > 4096 ? size_t(batch) * (size / 2 + 1) * 16 : 0;
        CHECK; is(cufftCreate(&p), 0);
        is(cufftMakePlan1d(p, size, CUFFT_C2C, batch, &bytes), 0);
        is(bytes != of_complex, 0);
        is(cufftDestroy(p), 0);
        is(cufftEstimate1d(size, CUFFT_D2Z, batch, &bytes), 0);
        is(bytes != of_real, 0);
    }
    CHECK; is(cufftPlan1d(&p, 8, CUFFT_C2C, 1), 0);
    CHECK; is(cufftDestroy(p), 0);
    puts("done");
}
