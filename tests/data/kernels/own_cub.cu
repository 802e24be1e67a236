#include <cub/block/block_scan.cuh>

extern "C" __global__ void scanned(int* out) {
    using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
    __shared__ Scan::TempStorage space;
    int n = out[threadIdx.x];
    Scan(space).InclusiveSum(n, n);  // HERE
    out[threadIdx.x] = n;
}
