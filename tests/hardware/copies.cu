// What asynchronous copies and barriers of the C++ library do, and what copies of 4, 8 and 16 bytes cost by pattern.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

// One warp; copy k takes piece from[k][lane] of memory to piece to[k][lane] of shared memory, unless that is negative.
template <int SIZE, int N>
__global__ void copy_patterns(const unsigned char *in, const int *from, const int *to, unsigned char *out) {
    extern __shared__ __align__(128) unsigned char s[];
    int lane = threadIdx.x;
    for (int k = lane; k < 4096; k += 32) ((int *)s)[k] = 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < N; ++k) {
        int source = from[k * 32 + lane], target = to[k * 32 + lane];
        if (target >= 0) __pipeline_memcpy_async(s + target * SIZE, in + source * SIZE, SIZE);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
    }
    for (int k = lane; k < 4096; k += 32) ((int *)out)[k] = ((int *)s)[k];
}
template __global__ void copy_patterns<16, 64>(const unsigned char *, const int *, const int *, unsigned char *);
template __global__ void copy_patterns<8, 64>(const unsigned char *, const int *, const int *, unsigned char *);
template __global__ void copy_patterns<4, 64>(const unsigned char *, const int *, const int *, unsigned char *);

// Shuffles that read threads which do not take part.
extern "C" __global__ void shuffle_absent(const int *in, int *out, int n) {
    int lane = threadIdx.x, v = in[lane], a = -1, b = -1, c = -1, d = -1;
    if (lane < n) {
        a = __shfl_down_sync((1u << n) - 1, v, 3);
        b = __shfl_xor_sync((1u << n) - 1, v, 9);
        c = __shfl_sync((1u << n) - 1, v, (lane * 5 + 2) & 31);
        d = __shfl_up_sync((1u << n) - 1, v, 2, 8);
    } else if (lane & 1) a = __shfl_xor_sync(0xaaaaaaaau & ~((1u << n) - 1), v, 1);
    out[lane] = a, out[32 + lane] = b, out[64 + lane] = c, out[96 + lane] = d;
}

// Products whose tiles come by pipelines: stages that the block shares, or of each thread's own.
extern "C" __global__ void product_pipeline(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float as[2][16][16], bs[2][16][16];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    const auto four = cuda::aligned_size_t<alignof(float4)>(sizeof(float4));
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16;
    float sum = 0;
    auto fetch = [&](int k) {
        pipe.producer_acquire();
        if (x % 4 == 0) {
            cuda::memcpy_async(&as[k & 1][y][x], a + row * n + k * 16 + x, four, pipe);
            cuda::memcpy_async(&bs[k & 1][y][x], b + (k * 16 + y) * n + column + x, four, pipe);
        }
        pipe.producer_commit();
    };
    fetch(0);
    for (int k = 0; k < n / 16; ++k) {
        if (k + 1 < n / 16) fetch(k + 1);
        else {
            pipe.producer_acquire();
            pipe.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; ++j) sum += as[k & 1][y][j] * bs[k & 1][j][x];
        pipe.consumer_release();
        __syncthreads();
    }
    c[row * n + column + x] = sum;
}
extern "C" __global__ void product_barrier(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    if (x == 0 && y == 0) init(&bar, 256);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        cuda::memcpy_async(&as[y][x], a + row * n + k + x, sizeof(float), bar);
        cuda::memcpy_async(&bs[y][x], b + (k + y) * n + column, sizeof(float), bar);
        bar.arrive_and_wait();
        for (int j = 0; j < 16; ++j) sum += as[y][j] * bs[j][x];
        bar.arrive_and_wait();
    }
    c[row * n + column] = sum;
}
// Sums by warps that arrive at a barrier whose first warp waits for them.
extern "C" __global__ void reduce_barrier(const double *in, double *out, int n) {
    extern __shared__ double sums[];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    block.sync();
    double v = 0;
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) v += in[i];
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = v;
    auto token = bar.arrive();
    if (threadIdx.x < 32) {
        bar.wait(std::move(token));
        v = tile.thread_rank() < tile.meta_group_size() ? sums[tile.thread_rank()] : 0;
        for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}
// Rows fetched ahead by the whole group, three stages.
extern "C" __global__ void stream_groups(const int *in, int *out, int rows) {
    __shared__ __align__(16) int s[3][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, next = 0;
    for (int k = 0; k < rows; ++k) {
        for (; next < rows && next < k + 3; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[next % 3], in + (blockIdx.x * rows + next) * 256, sizeof(int) * 256, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[k % 3][(threadIdx.x * 2 + 1) % 256] * (k + 1);
        pipe.consumer_release();
    }
    out[THREAD] = sum;
}
