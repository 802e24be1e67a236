// Barriers: in uniform branches, with reductions, named, with counts, in partial blocks, after exits.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void barrier_by_block(const int *in, int *out) {
    __shared__ int s[256];
    int x = threadIdx.x, n = blockDim.x;
    s[x] = in[THREAD];
    if (blockIdx.x & 1) {
        __syncthreads();
        out[THREAD] = s[n - 1 - x];
    } else {
        for (int k = 0; k < (int)blockIdx.x + 1; ++k) {
            __syncthreads();
            int v = s[(x + 1) % n];
            __syncthreads();
            s[x] = v + 1;
        }
        out[THREAD] = s[x];
    }
}

extern "C" __global__ void barrier_counts(const int *in, int *out) {
    int v = in[THREAD], h;
    h = __syncthreads_count(v & 1);
    h = h * 31 + (__syncthreads_and(v < 60) ? 1 : 2);
    h = h * 31 + (__syncthreads_or(v == 63) ? 1 : 2);
    while (__syncthreads_or(v > 3)) {
        v = v / 2;
        ++h;
    }
    out[THREAD] = h;
}

// Flags from divergent lanes: the loop ends for all at once.
extern "C" __global__ void barrier_after_divergence(const int *in, int *out) {
    __shared__ int s[128];
    int x = threadIdx.x, v = in[THREAD];
    s[x] = 0;
    __syncthreads();
    if (v & 1) {
#pragma unroll 1
        for (int k = 0; k < (v & 15); ++k) s[x] += k;
    }
    __syncthreads();
    v = s[(x + 33) & 127];
    __syncthreads();
    if (v > 20) s[x] = v / 3;
    __syncthreads();
    out[THREAD] = s[x ^ 1];
}

// Two pairs of warps, each with its own named barrier; then one producer pair and one consumer pair.
extern "C" __global__ void barrier_named(const int *in, int *out) {
    __shared__ int s[128];
    int x = threadIdx.x, pair = x >> 6;
    s[x] = in[THREAD];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    int v = s[x ^ 63];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    if (pair == 0) {
        s[x] = v * 2;
        asm volatile("bar.arrive 3, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 3, 128;" ::: "memory");
        v += s[x - 64];
    }
    asm volatile("bar.sync 4;" ::: "memory");
    out[THREAD] = v;
}

extern "C" __global__ void barrier_named_fixed(const int *in, int *out) {
    __shared__ int s[96];
    int x = threadIdx.x;
    s[x] = in[THREAD];
    if (x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        int v = s[x ^ 32] + 1;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        s[x] = v;
    }
    __syncthreads();
    out[THREAD] = s[(x + 50) % 96];
}

extern "C" __global__ void barrier_reduction(const int *in, int *out) {
    int v = in[THREAD], count, all;
    asm volatile("{.reg .pred p; setp.gt.s32 p, %1, 20; barrier.cta.red.popc.u32 %0, 2, 64, p;}"
                 : "=r"(count) : "r"(v) : "memory");
    asm volatile("{.reg .pred p, q; setp.gt.s32 p, %1, 0; barrier.cta.red.and.pred q, 3, p; selp.s32 %0, 5, 6, q;}"
                 : "=r"(all) : "r"(v) : "memory");
    out[THREAD] = count * 10 + all;
}

// Whole warps leave before the barrier that the others pass.
extern "C" __global__ void barrier_after_warp_exit(const int *in, int *out) {
    __shared__ int s[160];
    int x = threadIdx.x;
    s[x] = in[THREAD];
    __syncthreads();
    if (x / 32 == 1 || x / 32 == 4) return;
    int v = s[x ^ 96];
    __syncthreads();
    s[x] = v;
    __syncthreads();
    out[THREAD] = s[x ^ 31];
}

extern "C" __global__ void barrier_partial_warp(const int *in, int *out) {
    __shared__ int s[128];
    int x = threadIdx.x, n = blockDim.x;
    s[x] = in[THREAD];
    __syncthreads();
    int v = s[n - 1 - x];
    int c = __syncthreads_count(v & 1);
    s[x] = v + c;
    __syncthreads();
    out[THREAD] = s[(x + 7) % n];
}

extern "C" __global__ void barrier_groups(const int *in, int *out) {
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    int x = block.thread_rank();
    s[x] = in[THREAD];
    block.sync();
    int v = s[(x * 5 + 1) & 127];
    auto token = block.barrier_arrive();
    v = v * 3 + 1;
    block.barrier_wait(std::move(token));
    s[x] = v;
    cg::sync(block);
    out[THREAD] = s[x ^ 64];
}

extern "C" __global__ void barrier_3d(const int *in, int *out) {
    __shared__ int s[4][6][8];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 192 + (z * 6 + y) * 8 + x;
    s[z][y][x] = in[i];
    __syncthreads();
    int v = s[x & 3][5 - y][z * 2 + (x >> 2)];
    __syncthreads();
    if (y & 1) s[z][y][x] = v;
    __syncthreads();
    out[i] = s[3 - z][(y + 1) % 6][x ^ 3];
}
