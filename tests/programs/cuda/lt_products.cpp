// Products with epilogues: as one H200's cuBLASLt answered.
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cublasLt.h>
#include <vector>
#include "expect.h"

static cublasLtHandle_t h;
static const int M = 16, N = 8, K = 32;

template <class T> static T *on_device(int count, int seed) {
    std::vector<T> v;
    for (int n = 0; n < count; n++) v.push_back((T)(float)((n * 7 + seed * 5) % 11 - 5));
    T *p;
    OK(cudaMalloc(&p, count * sizeof(T)));
    OK(cudaMemcpy(p, v.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
// In hundredths where the GPU's tanh is one of few digits.
template <class T> static void show(const char *what, const T *device, int count, bool roughly = false) {
    std::vector<T> v(count);
    OK(cudaMemcpy(v.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    printf("%s", what);
    for (T one : v)
        if (roughly) printf(" %lld", llround(100 * (double)(float)one));
        else printf(" %.9g", (double)(float)one);
    printf("\n");
}
struct Product {
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t a, b, c;
};
static cublasLtMatrixLayout_t layout(cudaDataType type, int rows, int cols, int ld, int row_order, int count, long stride) {
    cublasLtMatrixLayout_t l;
    OK(cublasLtMatrixLayoutCreate(&l, type, rows, cols, ld));
    cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
    if (row_order) OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    int64_t by = stride;
    if (count > 1) {
        OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
        OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &by, sizeof by));
    }
    return l;
}
template <class T> static void products(const char *name, cudaDataType type, cublasComputeType_t compute, cudaDataType scale) {
    T *a = on_device<T>(2 * M * K, 1), *b = on_device<T>(2 * K * N, 2), *c = on_device<T>(2 * M * N, 3), *bias = on_device<T>(M, 4);
    T *out, *aux;
    OK(cudaMalloc(&out, 2 * M * N * sizeof(T)));
    OK(cudaMalloc(&aux, 2 * M * N * sizeof(T) + 4096));
    const int epilogues[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                             CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
                             CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU};
    for (int e = 0; e < 10; e++)
        for (int form = 0; form < (e < 4 ? 5 : 1); form++) {
            int row = form == 4, ta = form & 1, tb = form == 2 || form == 3, count = form == 3 ? 2 : 1;
            cublasLtMatmulDesc_t d;
            OK(cublasLtMatmulDescCreate(&d, compute, scale));
            cublasOperation_t opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
            OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &opa, sizeof opa));
            OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSB, &opb, sizeof opb));
            cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)epilogues[e];
            OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
            if (epilogue & 4) OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
            int64_t ld = M;
            if (e >= 8) ld = 128;
            if (epilogue & 128) {
                OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux));
                OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld));
            }
            if (e == 7) OK(cudaMemcpy(aux, c, M * N * sizeof(T), cudaMemcpyDefault));
            cublasLtMatrixLayout_t la = layout(type, ta ? K : M, ta ? M : K, row ? (ta ? M : K) : ta ? K : M, row, count, M * K);
            cublasLtMatrixLayout_t lb = layout(type, tb ? N : K, tb ? K : N, row ? (tb ? K : N) : tb ? N : K, row, count, K * N);
            cublasLtMatrixLayout_t lc = layout(type, M, N, row ? N : M, row, count, M * N);
            cublasLtMatmulPreference_t pref;
            OK(cublasLtMatmulPreferenceCreate(&pref));
            size_t most = 1 << 22;
            OK(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most));
            cublasLtMatmulHeuristicResult_t found[4] = {};
            int n = 77;
            int first = cublasLtMatmulAlgoGetHeuristic(h, d, la, lb, lc, lc, pref, 1, found, &n);
            float alpha = 0.5f, beta = 2;
            double alpha2 = 0.5, beta2 = 2;
            void *workspace;
            OK(cudaMalloc(&workspace, most));
            bool wide = scale == CUDA_R_64F;
            OK(cudaMemset(out, 0, M * N * sizeof(T)));
            int status = cublasLtMatmul(h, d, wide ? (void *)&alpha2 : &alpha, a, la, b, lb, wide ? (void *)&beta2 : &beta, c, lc, out, lc,
                                        first ? nullptr : &found[0].algo, workspace, most, 0);
            OK(cudaDeviceSynchronize());
            printf("%s epilogue %d form %d: %d, %d found (%d), %d\n", name, epilogue, form, first, n, n > 0 ? found[0].state : 0, status);
            show("", out, count * M * N, epilogue & 96);
            if (!status && epilogue & 128 && e < 7) show("aux", aux, M * N);
            if (!status && e == 8) {
                std::vector<unsigned char> mask(128);
                OK(cudaMemcpy(mask.data(), aux, 128, cudaMemcpyDefault));
                for (int k = 0; k < 128; k += 16) printf("%02x%02x ", mask[k], mask[k + 1]);
                printf("\n");
            }
            OK(cublasLtMatmulPreferenceDestroy(pref));
            OK(cublasLtMatrixLayoutDestroy(la));
            OK(cublasLtMatrixLayoutDestroy(lb));
            OK(cublasLtMatrixLayoutDestroy(lc));
            OK(cublasLtMatmulDescDestroy(d));
            OK(cudaFree(workspace));
        }
}
static void statuses() {
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t a, b, wide, half, narrow, c;
    float *p = on_device<float>(1024, 1), one = 1, zero = 0;
    OK(cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 8, 4, 8));
    OK(cublasLtMatrixLayoutCreate(&wide, CUDA_R_32F, 5, 4, 5));
    OK(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, 4, 4, 4));
    OK(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 8, 4, 8));
    OK(cublasLtMatrixLayoutCreate(&half, CUDA_R_16F, 4, 4, 4));
    OK(cublasLtMatrixLayoutCreate(&narrow, CUDA_R_32F, 8, 4, 7));
    auto product = [&](cublasLtHandle_t h, float *x, cublasLtMatrixLayout_t of_x, cublasLtMatrixLayout_t of_y, float *z) {
        return cublasLtMatmul(h, d, &one, x, of_x, p, of_y, &zero, z, c, p + 100, c, nullptr, nullptr, 0, 0);
    };
    IS(product(h, p, a, wide, p + 100), CUBLAS_STATUS_INVALID_VALUE);
    OK(product(h, p, a, b, p + 100));
    IS(product(nullptr, p, a, b, p + 100), CUBLAS_STATUS_NOT_INITIALIZED);
    IS(product(h, nullptr, a, b, p + 100), CUBLAS_STATUS_INVALID_VALUE);
    OK(product(h, p, a, b, nullptr));
    IS(product(h, p, a, half, p + 100), CUBLAS_STATUS_INVALID_VALUE);
    IS(product(h, p, narrow, b, p + 100), CUBLAS_STATUS_INVALID_VALUE);
    cublasLtMatmulPreference_t pref;
    OK(cublasLtMatmulPreferenceCreate(&pref));
    cublasLtMatmulHeuristicResult_t found[8];
    int n = 77;
    IS(cublasLtMatmulAlgoGetHeuristic(h, d, a, b, c, c, pref, 0, found, &n), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasLtMatmulAlgoGetHeuristic(h, d, a, wide, c, c, pref, 8, found, &n), CUBLAS_STATUS_INVALID_VALUE);
    IS(n, 77);
    cublasLtEpilogue_t with_bias = CUBLASLT_EPILOGUE_BIAS;
    cublasOperation_t op = CUBLAS_OP_T;
    IS(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &op, 1), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasLtMatmulDescSetAttribute(d, (cublasLtMatmulDescAttributes_t)99, &op, 4), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasLtMatrixLayoutSetAttribute(a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, 1), CUBLAS_STATUS_INVALID_VALUE);
    int got = 0;
    size_t written = 0, most = 77;
    OK(cublasLtMatmulDescGetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &got, 4, &written));
    IS(got * 10 + written, 14);
    written = 0;
    OK(cublasLtMatmulDescGetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, nullptr, 0, &written));
    IS(written, 4);
    OK(cublasLtMatmulDescGetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &got, 4, &written));
    IS(got, -1);
    OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &with_bias, sizeof with_bias));
    IS(product(h, p, a, b, p + 100), CUBLAS_STATUS_INVALID_VALUE);
    uint64_t rows = 0;
    OK(cublasLtMatrixLayoutGetAttribute(a, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, 8, &written));
    IS(rows, 8);
    OK(cublasLtMatmulPreferenceGetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, 8, &written));
    IS(most, 0);
    IS(sizeof(cublasLtMatmulAlgo_t) + 1000 * sizeof(cublasLtMatmulHeuristicResult_t), 96064);
    IS(sizeof(cublasLtMatmulDescOpaque_t) + 1000 * sizeof(cublasLtMatrixLayoutOpaque_t), 64256);
    IS(cublasLtCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasLtDestroy(nullptr), CUBLAS_STATUS_INVALID_VALUE);
    IS(cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
}
int main() {
    const int wanted[] = {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0, CUBLASLT_MATMUL_DESC_SCALE_TYPE, 1, CUBLASLT_MATMUL_DESC_POINTER_MODE, 2,
        CUBLASLT_MATMUL_DESC_TRANSA, 3, CUBLASLT_MATMUL_DESC_TRANSB, 4, CUBLASLT_MATMUL_DESC_TRANSC, 5, CUBLASLT_MATMUL_DESC_FILL_MODE, 6,
        CUBLASLT_MATMUL_DESC_EPILOGUE, 7, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 10,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 13,
        CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25,
        CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26, CUBLASLT_EPILOGUE_DEFAULT, 1, CUBLASLT_EPILOGUE_RELU, 2, CUBLASLT_EPILOGUE_RELU_AUX, 130,
        CUBLASLT_EPILOGUE_BIAS, 4, CUBLASLT_EPILOGUE_RELU_BIAS, 6, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, 134, CUBLASLT_EPILOGUE_DRELU, 136,
        CUBLASLT_EPILOGUE_DRELU_BGRAD, 152, CUBLASLT_EPILOGUE_GELU, 32, CUBLASLT_EPILOGUE_GELU_AUX, 160, CUBLASLT_EPILOGUE_GELU_BIAS, 36,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 164, CUBLASLT_EPILOGUE_DGELU, 192, CUBLASLT_EPILOGUE_DGELU_BGRAD, 208, CUBLASLT_EPILOGUE_BGRADA, 256,
        CUBLASLT_EPILOGUE_BGRADB, 512, CUBLASLT_MATRIX_LAYOUT_TYPE, 0, CUBLASLT_MATRIX_LAYOUT_ORDER, 1, CUBLASLT_MATRIX_LAYOUT_ROWS, 2,
        CUBLASLT_MATRIX_LAYOUT_COLS, 3, CUBLASLT_MATRIX_LAYOUT_LD, 4, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5,
        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6, CUBLASLT_ORDER_COL, 0, CUBLASLT_ORDER_ROW, 1, CUBLASLT_MATMUL_PREF_SEARCH_MODE, 0,
        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1};
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n += 2)
        if (wanted[n] != wanted[n + 1]) printf("constant %zu is %d, not %d\n", n / 2, wanted[n], wanted[n + 1]);
    OK(cublasLtCreate(&h));
    products<float>("float", CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    products<__half>("half", CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    products<__nv_bfloat16>("bfloat16", CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    products<double>("double", CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F);

    statuses();
    OK(cublasLtDestroy(h));
    printf("done\n");
}
