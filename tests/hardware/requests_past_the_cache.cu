// What recorded tests/data/h200_bypass.npz: cp.async.cg of 16 bytes, and cp.async.cg and .ca with a number of bytes to
// read, from and to any places, on an H200. A table file holds, as int32, for each launch of 128 copies the kind, a mask
// of lanes, then of each copy where its 32 lanes read (from[128][32], bytes), where they write, and how many bytes they
// read. One warp; no copy stands behind a predicate, for then the page shows 0 for those past the L1 cache:
//     nvcc -arch=sm_90 -O3 -lineinfo -o copies requests_past_the_cache.cu
//     ncu --clock-control none --cache-control none --section SourceCounters -o report ./copies table
//     ncu --import report.ncu-rep --csv --page source
// `transactions` is the source page's column "L1 Wavefronts Shared" of the LDGSTS of each launch, in their order,
// `nsight_ideal` its column "... Ideal". The first copy of each launch was lost in reading the page.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#define CHECK(x) do { cudaError_t e = (x); if (e) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
constexpr int N = 128, SPAN = 32768;
// KIND 0: .cg; 1: .cg with a source size; 2, 3, 4: .ca of 4, 8, 16 bytes with a source size
template <int KIND>
__global__ void copies(const unsigned char *in, const int *from, const int *to, const int *bytes, unsigned lanes, int *out) {
    extern __shared__ __align__(1024) unsigned char s[];
    int lane = threadIdx.x;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(s);
    if (!(lanes >> lane & 1)) return;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        int source = from[k * 32 + lane], target = to[k * 32 + lane], n = bytes[k * 32 + lane];
        if constexpr (KIND == 0) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + target), "l"(in + source) : "memory");
        else if constexpr (KIND == 1) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(base + target), "l"(in + source), "r"(n) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(base + target), "l"(in + source), "n"(1 << KIND), "r"(n) : "memory");
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    }
    out[2 + lane] = ((int *)s)[lane];
}
int main(int argc, char **argv) {
    unsigned char *in; int *data, *out;
    CHECK(cudaMalloc(&in, SPAN)); CHECK(cudaMemset(in, 1, SPAN)); CHECK(cudaMalloc(&out, 4096));
    CHECK(cudaMalloc(&data, 3 * N * 128));
    FILE *f = fopen(argv[1], "rb"); if (!f) { printf("no %s\n", argv[1]); return 1; }
    std::vector<int> round(3 * N * 32 + 2);  // kind, lanes, then the three tables
#define SET(K) CHECK(cudaFuncSetAttribute(K, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536))
    SET(copies<0>); SET(copies<1>); SET(copies<2>); SET(copies<3>); SET(copies<4>);
    while (fread(round.data(), 4, round.size(), f) == round.size()) {
        CHECK(cudaMemcpy(data, round.data() + 2, 3 * N * 128, cudaMemcpyHostToDevice));
        const int *a = data, *b = data + N * 32, *c = data + 2 * N * 32;
        unsigned lanes = round[1];
        switch (round[0]) {
            case 0: copies<0><<<1, 32, 65536>>>(in, a, b, c, lanes, out); break;
            case 1: copies<1><<<1, 32, 65536>>>(in, a, b, c, lanes, out); break;
            case 2: copies<2><<<1, 32, 65536>>>(in, a, b, c, lanes, out); break;
            case 3: copies<3><<<1, 32, 65536>>>(in, a, b, c, lanes, out); break;
            case 4: copies<4><<<1, 32, 65536>>>(in, a, b, c, lanes, out); break;
        }
        CHECK(cudaDeviceSynchronize());
    }
    printf("done\n");
}
