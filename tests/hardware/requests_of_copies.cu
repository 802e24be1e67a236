// What recorded tests/data/h200_copies.npz: cp.async.ca of 4, 8 and 16 bytes from and to any places, on an H200.
// A table file holds, as int32, where 64 copies of 32 lanes come from (from[64][32], bytes) and where they go to
// (to[64][32]; -1: the lane does nothing), and then the next 64. One warp, one launch for 64 copies:
//     nvcc -arch=sm_90 -o copies requests_of_copies.cu
//     ncu --clock-control none --cache-control none --section SourceCounters -o report ./copies table4 table8 table16
//     ncu --import report.ncu-rep --csv --page source
// `transactions` is the source page's column "L1 Wavefronts Shared" of the 64 LDGSTS of each launch, in their order,
// `nsight_ideal` its column "… Ideal". Both were the same whether the source was in the L1 cache or not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(x) do { cudaError_t e = (x); if (e) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
constexpr int N = 64, SPAN = 32768, SHARED = 65536;

template <int SIZE>
__global__ void copies(const unsigned char *in, const int *from, const int *to, int *out) {
    extern __shared__ __align__(1024) unsigned char s[];
    int lane = threadIdx.x;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(s);
#pragma unroll
    for (int k = 0; k < N; ++k) {
        int source = from[k * 32 + lane], target = to[k * 32 + lane];
        if (target >= 0)
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(base + target), "l"(in + source), "n"(SIZE)
                         : "memory");
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
        __syncwarp();
    }
    out[lane] = ((int *)s)[lane];
}

template <int SIZE>
void record(const char *file, const unsigned char *in, int *from, int *to, int *out) {
    std::vector<int> a(N * 32), b(N * 32);
    FILE *table = fopen(file, "rb");
    if (!table) { printf("no %s\n", file); exit(1); }
    CHECK(cudaFuncSetAttribute(copies<SIZE>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    while (fread(a.data(), 4, N * 32, table) == N * 32 && fread(b.data(), 4, N * 32, table) == N * 32) {
        CHECK(cudaMemcpy(from, a.data(), N * 128, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(to, b.data(), N * 128, cudaMemcpyHostToDevice));
        copies<SIZE><<<1, 32, SHARED>>>(in, from, to, out);
        CHECK(cudaDeviceSynchronize());
    }
    fclose(table);
}

int main(int, char **argv) {
    unsigned char *in;
    int *from, *to, *out;
    CHECK(cudaMalloc(&in, SPAN));
    CHECK(cudaMemset(in, 1, SPAN));
    CHECK(cudaMalloc(&from, N * 128));
    CHECK(cudaMalloc(&to, N * 128));
    CHECK(cudaMalloc(&out, 128));
    record<4>(argv[1], in, from, to, out);
    record<8>(argv[2], in, from, to, out);
    record<16>(argv[3], in, from, to, out);
}
