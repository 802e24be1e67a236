// Shuffles and votes from before programs named the lanes that take part: CUDA 13 has them no more.
#include <cstdio>

#include "expect.h"

__global__ void tell(float *sums, double *halves, long long *wide, int *others, unsigned *votes) {
    const int lane = threadIdx.x;
    float sum = lane;
    double half = lane * 0.5;
    for (int delta = 16; delta; delta /= 2) {
        sum += __shfl_down(sum, delta);
        half += __shfl_down(half, delta);
    }
    sums[lane] = sum;
    halves[lane] = half;
    wide[lane] = __shfl_xor((1LL << 40) + lane, 1);
    others[lane] = __shfl(lane, 3) + 100 * __shfl_up(lane, 1, 8);
    votes[lane] = __ballot(lane & 1);
    if (lane > 9) votes[lane] = __all(lane > 9) + 10 * __all(lane > 10);  // only those that are here
}

int main() {
    float *sums;
    double *halves;
    long long *wide;
    int *others;
    unsigned *votes;
    OK(cudaMallocManaged(&sums, 32 * sizeof *sums));
    OK(cudaMallocManaged(&halves, 32 * sizeof *halves));
    OK(cudaMallocManaged(&wide, 32 * sizeof *wide));
    OK(cudaMallocManaged(&others, 32 * sizeof *others));
    OK(cudaMallocManaged(&votes, 32 * sizeof *votes));
    tell<<<1, 32>>>(sums, halves, wide, others, votes);
    OK(cudaDeviceSynchronize());
    printf("%g %g %lld\n", sums[0], halves[0], wide[6] - (1LL << 40));
    printf("%d %d %d\n", others[0], others[7], others[8]);
    printf("%x %u\n", votes[9], votes[10]);
    return 0;
}
