// Instructions that act across the lanes of a warp, with full and partial masks, converged and not.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
#define FULL 0xffffffffu

extern "C" __global__ void shuffle_kinds(const int *in, int *out) {
    int v = in[THREAD], h = 0;
    h = h * 31 + __shfl_sync(FULL, v, 5);
    h = h * 31 + __shfl_sync(FULL, v, LANE * 7 & 31);
    h = h * 31 + __shfl_up_sync(FULL, v, 3);
    h = h * 31 + __shfl_up_sync(FULL, v, 2, 8);
    h = h * 31 + __shfl_down_sync(FULL, v, 9);
    h = h * 31 + __shfl_down_sync(FULL, v, 5, 16);
    h = h * 31 + __shfl_xor_sync(FULL, v, 17);
    h = h * 31 + __shfl_xor_sync(FULL, v, 6, 4);
    h = h * 31 + __shfl_sync(FULL, v, v, 8);
    long long w = __shfl_xor_sync(FULL, (long long)v << 33 | LANE, 1);
    double d = __shfl_down_sync(FULL, (double)v, 4);
    out[THREAD] = h + (int)(w >> 31) + (int)d;
}

extern "C" __global__ void shuffle_reduce(const float *in, float *out) {
    float v = in[THREAD];
    for (int k = 16; k; k >>= 1) v += __shfl_down_sync(FULL, v, k);
    if (LANE == 0) out[THREAD / 32] = v;
}

extern "C" __global__ void shuffle_scan(const int *in, int *out) {
    int v = in[THREAD];
    for (int k = 1; k < 32; k *= 2) {
        int u = __shfl_up_sync(FULL, v, k);
        if (LANE >= k) v += u;
    }
    out[THREAD] = v;
}

// Odd and even lanes reduce apart, each in its own branch, with its own mask.
extern "C" __global__ void shuffle_in_branches(const int *in, int *out) {
    int v = in[THREAD];
    if (LANE & 1) {
        for (int k = 2; k < 32; k *= 2) v += __shfl_xor_sync(0xaaaaaaaau, v, k);
        v *= 3;
    } else if (LANE < 16) {
        for (int k = 2; k < 16; k *= 2) v = max(v, __shfl_xor_sync(0x00005555u, v, k));
    } else {
        v = __shfl_sync(0x55550000u, v, 16 + (v & 14)) - v;
    }
    out[THREAD] = v;
}

// A mask that each lane computes, so that the compiler knows nothing of it.
extern "C" __global__ void shuffle_by_ballot(const int *in, int *out) {
    int v = in[THREAD];
    unsigned mask = __ballot_sync(FULL, v & 2);
    if (v & 2) {
        int leader = __ffs(mask) - 1;
        v += __shfl_sync(mask, v, leader) * 100;
#pragma unroll 1
        for (int k = 0; k < (v & 3); ++k) v = v * 3 + 1;
        v += __popc(__ballot_sync(mask, v & 1)) << 20;
    } else {
        v -= __reduce_add_sync(~mask, v);
    }
    out[THREAD] = v;
}

extern "C" __global__ void shuffle_in_loop(const int *in, int *out) {
    int v = in[THREAD], n = v & 7;
    unsigned mask = FULL;
    for (int k = 0;; ++k) {
        mask = __ballot_sync(mask, k < n);
        if (k >= n) break;
        v += __shfl_sync(mask, v, __ffs(mask) - 1) + __popc(mask);
    }
    out[THREAD] = v;
}

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int v = in[THREAD];
    unsigned h = __ballot_sync(FULL, v & 1);
    h = h * 31 + __any_sync(FULL, v == 7) + 2 * __all_sync(FULL, v < 100);
    if (v & 4) {
        unsigned active = __activemask();
        h = h * 31 + active;
        if (v & 8) h = h * 31 + __ballot_sync(__activemask(), v & 16);
        else h = h * 31 + __popc(__activemask());
    }
#pragma unroll 1
    for (int k = 0; k < (v & 3); ++k) h = h * 31 + __activemask();
    out[THREAD] = h;
}

extern "C" __global__ void match(const int *in, unsigned *out) {
    int v = in[THREAD] & 7, all;
    unsigned h = __match_any_sync(FULL, v);
    h ^= __match_all_sync(FULL, v >> 3, &all) + all;
    h = h * 31 + __match_any_sync(FULL, (unsigned long long)v << 40);
    if (v < 3) h = h * 31 + __match_any_sync(__activemask(), in[THREAD] >> 4 & 1);
    out[THREAD] = h;
}

extern "C" __global__ void redux(const int *in, unsigned *out) {
    int v = in[THREAD];
    unsigned h = __reduce_add_sync(FULL, v);
    h = h * 31 + __reduce_min_sync(FULL, v - 9) + __reduce_max_sync(FULL, (unsigned)v * 0x10000001u);
    h = h * 31 + __reduce_and_sync(FULL, (unsigned)v | 0xf0) + __reduce_or_sync(FULL, (unsigned)v);
    unsigned mask = __match_any_sync(FULL, v & 3);
    h = h * 31 + __reduce_xor_sync(mask, (unsigned)v * 77);
    if (v & 1) h += __reduce_add_sync(__ballot_sync(__activemask(), 1), v);
    out[THREAD] = h;
}

// One atomic per group of lanes with the same key.
extern "C" __global__ void aggregate_by_key(const int *in, int *counts, int *out) {
    int key = in[THREAD] & 7;
    unsigned peers = __match_any_sync(FULL, key);
    int leader = __ffs(peers) - 1, base = 0;
    if (LANE == leader) base = atomicAdd(counts + key + 8 * (THREAD / 32), __popc(peers));
    base = __shfl_sync(peers, base, leader);
    out[THREAD] = base + __popc(peers & ((1u << LANE) - 1));
}

// Exchange through shared memory between lanes that only their own __syncwarp() orders.
extern "C" __global__ void syncwarp_partial(const int *in, int *out) {
    __shared__ int s[128];
    int x = threadIdx.x, v = in[THREAD];
    s[x] = v;
    __syncwarp();
    v += s[x ^ 3];
    __syncwarp();
    if (LANE < 12) {
        s[x] = v * 3;
        __syncwarp(0x00000fffu);
        v = s[x / 32 * 32 + (LANE + 5) % 12];
    } else if (LANE & 1) {
#pragma unroll 1
        for (int k = 0; k < (v & 3); ++k) v += k;
        s[x] = v;
        __syncwarp(0xaaaaa000u);
        v = s[x / 32 * 32 + 13 + (LANE - 13 + 4) % 20 / 2 * 2];
    } else {
        s[x] = -v;
        __syncwarp(0x55555000u);
        v = s[x / 32 * 32 + 12 + (LANE - 12 + 6) % 20 / 2 * 2];
    }
    __syncwarp();
    out[THREAD] = v;
}

// A fraction of the lanes leaves, the rest syncs by its ballot after a divergent loop.
extern "C" __global__ void syncwarp_after_exit(const int *in, int *out) {
    __shared__ volatile int s[64];
    int x = threadIdx.x, v = in[THREAD];
    unsigned mask = __ballot_sync(FULL, v % 5 != 0);
    if (v % 5 == 0) return;
    s[x] = v;
    if (v & 1) {
#pragma unroll 1
        for (int k = 0; k < (v & 7); ++k) s[x] = s[x] * 5 + 1;
    }
    __syncwarp(mask);
    int first = __ffs(mask) - 1;
    v += s[(x & 32) + first];
    __syncwarp(mask);
    out[THREAD] = v;
}

template <typename Tile>
__device__ int tile_sum(Tile tile, int v) {
    for (int k = tile.size() / 2; k; k /= 2) v += tile.shfl_down(v, k);
    return tile.shfl(v, 0) + tile.thread_rank() + 100 * tile.meta_group_rank();
}

extern "C" __global__ void group_tiles(const int *in, int *out) {
    cg::thread_block block = cg::this_thread_block();
    int v = in[THREAD], h;
    h = tile_sum(cg::tiled_partition<32>(block), v);
    h = h * 31 + tile_sum(cg::tiled_partition<8>(block), v);
    auto four = cg::tiled_partition<4>(block);
    h = h * 31 + tile_sum(four, v) + four.any(v & 1) + (int)four.ballot(v & 2);
    if (threadIdx.x / 8 & 1) h += tile_sum(cg::tiled_partition<2>(four), h);
    block.sync();
    out[THREAD] = h;
}

extern "C" __global__ void group_tiles_in_branch(const int *in, int *out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = in[THREAD];
    if (tile.meta_group_rank() & 1) {
        for (int k = 4; k; k /= 2) v += tile.shfl_xor(v, k);
        tile.sync();
    } else if (tile.meta_group_rank() & 2) {
        v = tile.match_any(v & 3) + tile.shfl_up(v, 1);
    } else {
        v = cg::reduce(tile, v, cg::plus<int>()) + cg::inclusive_scan(tile, v);
    }
    out[THREAD] = v;
}

extern "C" __global__ void group_coalesced(const int *in, int *counter, int *out) {
    int v = in[THREAD], r = -1;
    if (v & 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(counter + THREAD / 32, active.size());
        r = active.shfl(base, 0) + active.thread_rank();
        if (v & 2) r += 1000 * cg::coalesced_threads().size();
    }
    out[THREAD] = r;
}

extern "C" __global__ void group_labeled(const int *in, int *out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int v = in[THREAD];
    auto same = cg::labeled_partition(warp, v & 3);
    int sum = cg::reduce(same, v, cg::plus<int>());
    auto two = cg::binary_partition(warp, (v & 4) != 0);
    out[THREAD] = sum * 100 + (int)two.size() + cg::reduce(two, v, cg::greater<int>()) * 10000;
}

// 32 keys sorted in registers.
extern "C" __global__ void warp_bitonic_sort(const int *in, int *out) {
    int v = in[THREAD];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            int u = __shfl_xor_sync(FULL, v, j);
            bool up = (LANE & k) == 0, low = (LANE & j) == 0;
            v = up == low ? min(u, v) : max(u, v);
        }
    out[THREAD] = v;
}

extern "C" __global__ void partial_warps(const int *in, int *out) {
    int v = in[THREAD];
    unsigned mask = __activemask();
    for (int k = 16; k; k /= 2) {
        int u = __shfl_down_sync(mask, v, k);
        if (LANE + k < __popc(mask)) v += u;
    }
    out[THREAD] = v + (threadIdx.x & 1 ? __popc(__activemask()) : 0);
}
