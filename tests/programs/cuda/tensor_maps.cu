// A tensor map that the host makes, by the driver's function as programs find it.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void box(const __grid_constant__ CUtensorMap map, float *out) {
    __shared__ __align__(128) float s[32];
    __shared__ __align__(8) unsigned long long word;
    unsigned barrier = (unsigned)__cvta_generic_to_shared(&word), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(barrier) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(4), "r"(6) : "memory");
    }
    __syncwarp();
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(barrier) : "memory");
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void pixels(const __grid_constant__ CUtensorMap map, float *out) {
    __shared__ __align__(128) float s[32];
    __shared__ __align__(8) unsigned long long word;
    unsigned barrier = (unsigned)__cvta_generic_to_shared(&word), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(barrier) : "memory");
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2], {%6};" ::"r"(to), "l"(&map), "r"(barrier), "r"(4), "r"(2), "r"(0), "h"((unsigned short)1) : "memory");
    }
    __syncwarp();
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(barrier) : "memory");
    out[threadIdx.x] = s[threadIdx.x];
}

int main() {
    static float host[8][64], got[32];
    for (int i = 0; i < 512; i++) host[i / 64][i % 64] = i;
    float *tensor, *out;
    cudaMalloc(&tensor, sizeof host);
    cudaMalloc(&out, sizeof got);
    cudaMemcpy(tensor, host, sizeof host, cudaMemcpyHostToDevice);
    void *found;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    auto encode = (decltype(&cuTensorMapEncodeTiled))found;
    CUtensorMap map;
    cuuint64_t sizes[] = {64, 8}, strides[] = {256};
    cuuint32_t box_sizes[] = {8, 4}, steps[] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, tensor, sizes, strides, box_sizes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        return 1;
    box<<<1, 32>>>(map, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) {
        float want = 6 + i / 8 < 8 ? host[6 + i / 8][4 + i % 8] : 0;
        if (got[i] != want) return printf("%d: %g, not %g\n", i, got[i], want), 1;
    }
    // The same four rows of eight as pixels: two images of a row of four.
    cuuint64_t images[] = {64, 4, 2}, apart[] = {256, 1024};
    int lower[] = {0}, upper[] = {0};
    cuuint32_t all[] = {1, 1, 1};
    if (cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, tensor, images, apart, lower, upper, 8, 4, all, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        return 3;
    pixels<<<1, 32>>>(map, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) {
        int row = 2 + i / 8;  // pixel 2 of image 0, …, pixel 1 of image 1, each shifted by 1
        float want = row % 4 == 3 ? 0 : host[row + 1][4 + i % 8];
        if (got[i] != want) return printf("pixel %d: %g, not %g\n", i, got[i], want), 1;
    }
    sizes[0] = 0;
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, tensor, sizes, strides, box_sizes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_ERROR_INVALID_VALUE;
}
