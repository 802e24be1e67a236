// CUB's building blocks for a warp and a block, and types of numbers of the C++ library.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

template <cub::BlockReduceAlgorithm HOW>
__global__ void reduce_cub(const int *in, int *out) {
    using Reduce = cub::BlockReduce<int, 128, HOW>;
    __shared__ typename Reduce::TempStorage memory;
    int v[2] = {in[THREAD * 2], in[THREAD * 2 + 1]};
    int sum = Reduce(memory).Sum(v);
    __syncthreads();
    int most = Reduce(memory).Reduce(v[0] ^ v[1], cuda::maximum<>(), 100);
    if (threadIdx.x == 0) out[blockIdx.x * 2] = sum, out[blockIdx.x * 2 + 1] = most;
}
template __global__ void reduce_cub<cub::BLOCK_REDUCE_RAKING>(const int *, int *);
template __global__ void reduce_cub<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const int *, int *);

template <cub::BlockScanAlgorithm HOW>
__global__ void scan_cub(const int *in, int *out) {
    using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 64, HOW>;
    using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } memory;
    int v[4], total;
    Load(memory.load).Load(in + blockIdx.x * 256, v);
    __syncthreads();
    Scan(memory.scan).ExclusiveSum(v, v, total);
    __syncthreads();
    for (int k = 0; k < 4; ++k) v[k] += total * 1000;
    Store(memory.store).Store(out + blockIdx.x * 256, v);
}
template __global__ void scan_cub<cub::BLOCK_SCAN_RAKING>(const int *, int *);
template __global__ void scan_cub<cub::BLOCK_SCAN_RAKING_MEMOIZE>(const int *, int *);
template __global__ void scan_cub<cub::BLOCK_SCAN_WARP_SCANS>(const int *, int *);

extern "C" __global__ void radix_sort_cub(const unsigned *in, unsigned *out, unsigned *values, int end) {
    using Sort = cub::BlockRadixSort<unsigned, 64, 4, unsigned>;
    __shared__ typename Sort::TempStorage memory;
    unsigned k[4], v[4];
    for (int j = 0; j < 4; ++j) k[j] = in[THREAD * 4 + j], v[j] = THREAD * 4 + j;
    Sort(memory).SortDescendingBlockedToStriped(k, v, 0, end);
    for (int j = 0; j < 4; ++j) out[blockIdx.x * 256 + j * 64 + threadIdx.x] = k[j], values[blockIdx.x * 256 + j * 64 + threadIdx.x] = v[j];
}
extern "C" __global__ void merge_sort_cub(const int *in, int *out) {
    using Sort = cub::BlockMergeSort<int, 64, 3>;
    __shared__ typename Sort::TempStorage memory;
    int v[3];
    for (int j = 0; j < 3; ++j) v[j] = in[THREAD * 3 + j];
    Sort(memory).StableSort(v, cuda::std::less<int>());
    for (int j = 0; j < 3; ++j) out[THREAD * 3 + j] = v[j];
}
extern "C" __global__ void merge_sort_warps(const int *in, int *out) {
    using Sort = cub::WarpMergeSort<int, 2, 16>;
    __shared__ typename Sort::TempStorage memory[4];
    int v[2] = {in[THREAD * 2], in[THREAD * 2 + 1]};
    Sort(memory[threadIdx.x / 16]).Sort(v, cuda::std::greater<int>());
    out[THREAD * 2] = v[0], out[THREAD * 2 + 1] = v[1];
}
template <cub::BlockHistogramAlgorithm HOW>
__global__ void histogram_cub(const unsigned char *in, unsigned *out) {
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 64, HOW>;
    __shared__ typename Histogram::TempStorage memory;
    __shared__ unsigned bins[64];
    unsigned char v[4];
    for (int j = 0; j < 4; ++j) v[j] = in[THREAD * 4 + j];
    Histogram(memory).Histogram(v, bins);
    __syncthreads();
    out[THREAD] = bins[threadIdx.x];
}
template __global__ void histogram_cub<cub::BLOCK_HISTO_ATOMIC>(const unsigned char *, unsigned *);
template __global__ void histogram_cub<cub::BLOCK_HISTO_SORT>(const unsigned char *, unsigned *);

extern "C" __global__ void exchange_cub(const int *in, int *out) {
    using Exchange = cub::BlockExchange<int, 64, 4>;
    __shared__ typename Exchange::TempStorage memory;
    int v[4], r[4];
    for (int j = 0; j < 4; ++j) v[j] = in[THREAD * 4 + j], r[j] = (threadIdx.x * 4 + j) * 37 % 256;
    Exchange(memory).BlockedToStriped(v);
    __syncthreads();
    Exchange(memory).ScatterToBlocked(v, r);
    __syncthreads();
    Exchange(memory).StripedToBlocked(v);
    __syncthreads();
    Exchange(memory).BlockedToWarpStriped(v);
    for (int j = 0; j < 4; ++j) out[THREAD * 4 + j] = v[j];
}
extern "C" __global__ void flags_cub(const int *in, int *out, double *differences) {
    using Flags = cub::BlockDiscontinuity<int, 128>;
    using Differences = cub::BlockAdjacentDifference<double, 128>;
    __shared__ union {
        typename Flags::TempStorage flags;
        typename Differences::TempStorage differences;
    } memory;
    int v[1] = {in[THREAD]}, heads[1], tails[1];
    Flags(memory.flags).FlagHeadsAndTails(heads, tails, v, cuda::std::not_equal_to<int>());
    out[THREAD] = heads[0] * 2 + tails[0];
    __syncthreads();
    double d[1] = {v[0] * 0.5}, r[1];
    Differences(memory.differences).SubtractLeft(d, r, cuda::std::minus<double>());
    differences[THREAD] = r[0];
}
extern "C" __global__ void warps_cub(const float *in, float *out, int *counts) {
    using Scan = cub::WarpScan<float, 16>;
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Scan::TempStorage scan[4];
    __shared__ typename Reduce::TempStorage reduce[2];
    float v = in[THREAD], r;
    Scan(scan[threadIdx.x / 16]).InclusiveScan(v, r, cuda::maximum<>());
    out[THREAD] = r;
    int sum = Reduce(reduce[threadIdx.x / 32]).HeadSegmentedSum((int)v, threadIdx.x % 7 == 0);
    counts[THREAD] = threadIdx.x % 7 == 0 || threadIdx.x % 32 == 0 ? sum : 0;
}
