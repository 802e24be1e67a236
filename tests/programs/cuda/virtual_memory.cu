// A vector that grows in place by virtual memory, and moves where it cannot; what is not mapped is out of bounds.
#include <cstring>
#include <cuda.h>
#include "expect.h"

__global__ void put(int *x, size_t at, int value) { x[at] = value; }

int main(int argc, char **argv) {
    const size_t piece = 2 << 20, ints = piece / sizeof(int);
    int supported = 0;
    OK(cudaFree(0));
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    CUmemAllocationProp how = {};
    how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t granularity;
    OK(cuMemGetAllocationGranularity(&granularity, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr first, second;
    CUmemGenericAllocationHandle a, b;
    CUmemAccessDesc access = {how.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemAddressReserve(&first, 4 * piece, 0, 0, 0));
    OK(cuMemCreate(&a, piece, &how, 0));
    OK(cuMemCreate(&b, piece, &how, 0));
    OK(cuMemMap(first, piece, 0, a, 0));
    OK(cuMemSetAccess(first, piece, &access, 1));
    put<<<1, 1>>>((int *)first, ints - 1, 7);
    if (argc > 1 && !strcmp(argv[1], "outside")) {
        put<<<1, 1>>>((int *)first, 2 * ints, 8);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    OK(cuMemMap(first + piece, piece, 0, b, 0));
    OK(cuMemSetAccess(first, 2 * piece, &access, 1));
    put<<<1, 1>>>((int *)first, ints, 8);
    int two[2] = {};
    OK(cudaMemcpy(two, (int *)first + ints - 1, sizeof two, cudaMemcpyDeviceToHost));
    printf("%d %llu %d %d\n", supported, (unsigned long long)granularity, two[0], two[1]);
    OK(cuMemUnmap(first, 2 * piece));
    OK(cuMemAddressFree(first, 4 * piece));
    OK(cuMemAddressReserve(&second, 8 * piece, 0, 0, 0));
    OK(cuMemMap(second, piece, 0, b, 0));
    OK(cuMemMap(second + piece, piece, 0, a, 0));
    OK(cuMemSetAccess(second, 2 * piece, &access, 1));
    OK(cuMemRelease(a));
    OK(cuMemRelease(b));
    int moved[2] = {};
    OK(cudaMemcpy(moved, (int *)second, sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(moved + 1, (int *)second + 2 * ints - 1, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d %d\n", moved[0], moved[1]);
    OK(cuMemUnmap(second, 2 * piece));
    printf("%d %d\n", cuMemUnmap(second, piece), cuMemAddressFree(second, piece));
    OK(cuMemAddressFree(second, 8 * piece));
    cudaIpcMemHandle_t handle;
    int *x;
    OK(cudaMalloc(&x, 4));
    if (argc > 1) printf("%s\n", cudaGetErrorName(cudaIpcGetMemHandle(&handle, x)));
}
