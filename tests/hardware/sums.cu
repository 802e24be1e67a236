// Reductions by cooperative groups, rows normalized, attention, options, random numbers, bodies: what samples and
// machine-learning libraries compute.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_fp16.h>
#include <cstdint>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

template <class T> struct Shared {
    __device__ operator T *() {
        extern __shared__ int memory[];
        return (T *)memory;
    }
};
template <> struct Shared<double> {
    __device__ operator double *() {
        extern __shared__ double memory_double[];
        return memory_double;
    }
};

template <class T> __device__ T warp_sum(unsigned mask, T v) {
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(mask, v, d);
    return v;
}
template <> __device__ int warp_sum<int>(unsigned mask, int v) { return __reduce_add_sync(mask, v); }

// The sample's ladder of reductions, by template: n, whether n is a power of two, type.
template <class T, unsigned SIZE, bool POWER>
__global__ void reduce_first(const T *in, T *out, unsigned n) {
    cg::thread_block block = cg::this_thread_block();
    T *s = Shared<T>();
    unsigned t = threadIdx.x, i = blockIdx.x * SIZE * 2 + t, step = SIZE * 2 * gridDim.x;
    T sum = 0;
    while (i < n) {
        sum += in[i];
        if (POWER || i + SIZE < n) sum += in[i + SIZE];
        i += step;
    }
    s[t] = sum;
    cg::sync(block);
    if (SIZE >= 256 && t < 128) s[t] = sum = sum + s[t + 128];
    cg::sync(block);
    if (SIZE >= 128 && t < 64) s[t] = sum = sum + s[t + 64];
    cg::sync(block);
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    if (block.thread_rank() < 32) {
        if (SIZE >= 64) sum += s[t + 32];
        for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
    }
    if (block.thread_rank() == 0) out[blockIdx.x] = sum;
}
template __global__ void reduce_first<int, 256, true>(const int *, int *, unsigned);
template __global__ void reduce_first<float, 128, false>(const float *, float *, unsigned);
template __global__ void reduce_first<double, 64, false>(const double *, double *, unsigned);

template <class T, unsigned SIZE, bool POWER>
__global__ void reduce_ballot(const T *__restrict__ in, T *__restrict__ out, unsigned n) {
    T *s = Shared<T>();
    unsigned t = threadIdx.x, step = SIZE * gridDim.x, mask_length = SIZE & 31;
    mask_length = mask_length > 0 ? 32 - mask_length : mask_length;
    const unsigned mask = FULL >> mask_length;
    T sum = 0;
    if (POWER) {
        unsigned i = blockIdx.x * SIZE * 2 + t;
        step <<= 1;
        while (i < n) {
            sum += in[i];
            if (i + SIZE < n) sum += in[i + SIZE];
            i += step;
        }
    } else {
        unsigned i = blockIdx.x * SIZE + t;
        while (i < n) {
            sum += in[i];
            i += step;
        }
    }
    sum = warp_sum<T>(mask, sum);
    if (t % warpSize == 0) s[t / warpSize] = sum;
    __syncthreads();
    const unsigned length = SIZE / warpSize > 0 ? SIZE / warpSize : 1, ballot = __ballot_sync(mask, t < length);
    if (t < length) {
        sum = s[t];
        sum = warp_sum<T>(ballot, sum);
    }
    if (t == 0) out[blockIdx.x] = sum;
}
template __global__ void reduce_ballot<int, 128, false>(const int *, int *, unsigned);
template __global__ void reduce_ballot<float, 256, true>(const float *, float *, unsigned);
template __global__ void reduce_ballot<double, 128, true>(const double *, double *, unsigned);

// The group's own reduction, per warp and then among the warps' leaders.
template <class T>
__global__ void reduce_group(const T *in, T *out, unsigned n) {
    T *s = Shared<T>();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    unsigned rank = block.thread_rank(), i = blockIdx.x * block.size() + rank, step = block.size() * gridDim.x;
    T sum = 0;
    for (; i < n; i += step) sum += in[i];
    s[rank] = cg::reduce(tile, sum, cg::plus<T>());
    cg::sync(block);
    if (rank == 0) {
        sum = 0;
        for (int k = 0; k < blockDim.x; k += tile.size()) sum += s[k];
        out[blockIdx.x] = sum;
    }
}
template __global__ void reduce_group<int>(const int *, int *, unsigned);
template __global__ void reduce_group<float>(const float *, float *, unsigned);
template __global__ void reduce_group<long long>(const long long *, long long *, unsigned);

// Tiles of several warps, with memory for them in shared memory.
extern "C" __global__ void reduce_wide_tiles(const int *in, int *out, unsigned n) {
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    int sum = 0;
    for (unsigned i = THREAD; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    int total = cg::reduce(tile, sum, cg::plus<int>()), most = cg::reduce(tile, sum, cg::greater<int>());
    if (tile.thread_rank() == 0) {
        int k = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
        out[2 * k] = total, out[2 * k + 1] = most;
    }
}

// Other operators, types and sizes of tiles; a reduction that all threads update by atomics at its end.
extern "C" __global__ void reduce_operators(const int *in, int *out, float *floats) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    int v = in[THREAD];
    out[THREAD] = cg::reduce(warp, v, cg::less<int>()) ^ cg::reduce(eight, v, cg::bit_or<int>()) + cg::reduce(eight, v, cg::bit_and<int>());
    floats[THREAD] = cg::reduce(eight, v * 0.25f, cg::greater<float>()) + cg::reduce(warp, v * 0.5f, cg::plus<float>());
    auto four = cg::tiled_partition<4>(eight);
    if (four.meta_group_rank() == 1) floats[THREAD] += four.shfl(v, 2) + four.any(v > 50) + four.all(v > 5) + four.ballot(v & 1);
    if (v > 30) {
        auto big = cg::coalesced_threads();
        out[THREAD] += cg::reduce(big, v, cg::plus<int>()) * 7 + big.thread_rank() + big.shfl_up(v, 1) + big.shfl_down(v, 1) * 3;
    }
}

// One launch over several blocks: the last to come adds the blocks' sums.
__device__ unsigned retired = 0;
template <bool POWER>
__global__ void reduce_last_block(const float *in, volatile float *partial, float *out, unsigned n) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ bool last;
    extern __shared__ float s_sum[];
    unsigned t = threadIdx.x;
    auto reduce = [&](float v) {
        s_sum[t] = v;
        cg::sync(block);
        if (t < 64) s_sum[t] = v = v + s_sum[t + 64];
        cg::sync(block);
        if (t < 32) {
            auto tile = cg::tiled_partition<32>(block);
            v += s_sum[t + 32];
            for (int d = 16; d > 0; d /= 2) v += tile.shfl_down(v, d);
        }
        return v;
    };
    float sum = 0;
    for (unsigned i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) {
        sum += in[i];
        if (POWER || i + 128 < n) sum += in[i + 128];
    }
    sum = reduce(sum);
    if (t == 0) partial[blockIdx.x] = sum;
    if (gridDim.x > 1) {
        __threadfence();
        if (t == 0) last = atomicInc(&retired, gridDim.x) == gridDim.x - 1;
        cg::sync(block);
        if (last) {
            sum = 0;
            for (unsigned i = t; i < gridDim.x; i += 128) sum += partial[i];
            sum = reduce(sum);
            if (t == 0) *out = sum, retired = 0;
        }
    }
}
template __global__ void reduce_last_block<false>(const float *, volatile float *, float *, unsigned);

// Squares of rows, and rows normalized: sums of four numbers a thread, by warps, then by the first warp.
__device__ float block_sum(float v, float *s) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d);
    if (lane == 0) s[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x + 31) / 32 ? s[lane] : 0;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d);
    __syncthreads();
    return v;
}
extern "C" __global__ void norm_layer(const float4 *in, const float4 *gain, const float4 *bias, float4 *out, int fours, float epsilon) {
    __shared__ float s[32];
    const float4 *row = in + blockIdx.x * fours;
    float sum = 0, square = 0;
    for (int k = threadIdx.x; k < fours; k += blockDim.x) {
        float4 v = row[k];
        sum += v.x + v.y + v.z + v.w;
    }
    float mean = block_sum(sum, s) / (4 * fours);
    for (int k = threadIdx.x; k < fours; k += blockDim.x) {
        float4 v = row[k];
        v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
        square += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float scale = rsqrtf(block_sum(square, s) / (4 * fours) + epsilon);
    for (int k = threadIdx.x; k < fours; k += blockDim.x) {
        float4 v = row[k], g = gain[k], b = bias[k];
        out[blockIdx.x * fours + k] = make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y, (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w);
    }
}
// By Welford's update, joined by shuffles, in halves.
extern "C" __global__ void norm_welford(const __half2 *in, float *mean_out, float *variance_out, int pairs) {
    __shared__ float means[4], squares[4];
    __shared__ int counts[4];
    float mean = 0, square = 0;
    int count = 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = threadIdx.x; k < pairs; k += blockDim.x) {
        float2 v = __half22float2(in[blockIdx.x * pairs + k]);
        for (int j = 0; j < 2; ++j) {
            float x = j ? v.y : v.x, d = x - mean;
            mean += d / ++count;
            square += d * (x - mean);
        }
    }
    auto join = [&](float m, float q, int c) {
        if (c == 0) return;
        float d = m - mean;
        int n = count + c;
        mean += d * c / n;
        square += q + d * d * count * c / n;
        count = n;
    };
    for (int d = 1; d < 32; d *= 2) {
        float m = __shfl_xor_sync(FULL, mean, d), q = __shfl_xor_sync(FULL, square, d);
        int c = __shfl_xor_sync(FULL, count, d);
        join(m, q, c);
    }
    if (lane == 0) means[warp] = mean, squares[warp] = square, counts[warp] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) join(means[w], squares[w], counts[w]);
        mean_out[blockIdx.x] = mean, variance_out[blockIdx.x] = square / count;
    }
}
// Softmax in one pass over the row: the maximum and the sum move together; a row a warp, or a row a block.
extern "C" __global__ void softmax_warps(const float *in, float *out, int rows, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float v[4], most = -INFINITY, sum = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = lane + k * 32 < n ? in[row * n + lane + k * 32] : -INFINITY;
        most = fmaxf(most, v[k]);
    }
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(FULL, most, d));
    for (int k = 0; k < 4; ++k) {
        v[k] = expf(v[k] - most);
        sum += v[k];
    }
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(FULL, sum, d);
    for (int k = 0; k < 4; ++k)
        if (lane + k * 32 < n) out[row * n + lane + k * 32] = v[k] / sum;
}
struct Moving {
    float most, sum;
};
__device__ Moving joined(Moving a, Moving b) {
    bool greater = a.most > b.most;
    Moving big = greater ? a : b, small = greater ? b : a;
    return {big.most, big.sum + small.sum * __expf(small.most - big.most)};
}
extern "C" __global__ void softmax_online(const float *in, float *out, int n) {
    __shared__ Moving s[4];
    const float *row = in + blockIdx.x * n;
    Moving m = {-1e30f, 0};
    for (int k = threadIdx.x; k < n; k += blockDim.x) m = joined(m, Moving{row[k], 1});
    for (int d = 16; d; d /= 2) {
        Moving o = {__shfl_xor_sync(FULL, m.most, d), __shfl_xor_sync(FULL, m.sum, d)};
        m = joined(m, o);
    }
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    m = joined(joined(s[0], s[1]), joined(s[2], s[3]));
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[blockIdx.x * n + k] = __fdividef(__expf(row[k] - m.most), m.sum);
}
// Loss of a row's class and its gradient; rows whose class is negative are skipped.
extern "C" __global__ void cross_entropy(const float *in, const int *target, float *loss, float *gradient, int n) {
    __shared__ float s[32];
    int row = blockIdx.x, goal = target[row];
    if (goal < 0) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) gradient[row * n + k] = 0;
        if (threadIdx.x == 0) loss[row] = 0;
        return;
    }
    float sum = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) sum += __expf(in[row * n + k]);
    sum = block_sum(sum, s);
    for (int k = threadIdx.x; k < n; k += blockDim.x) gradient[row * n + k] = __expf(in[row * n + k]) / sum - (k == goal ? 1.0f : 0.0f);
    if (threadIdx.x == 0) loss[row] = __logf(sum) - in[row * n + goal];
}
// Gated activation of halves, two at a time, and rows scaled by the root of their mean square.
extern "C" __global__ void gated(const __half2 *in, __half2 *out, int n) {
    int i = THREAD;
    if (i >= n) return;
    __half2 a = in[i], b = in[n + i];
    float2 v = __half22float2(a);
    __half2 g = __floats2half2_rn(v.x / (1 + __expf(-v.x)), v.y / (1 + __expf(-v.y)));
    __half2 r = __hmul2(g, b);
    out[i] = __hmax2(__hmin2(r, __float2half2_rn(3)), __hneg2(__float2half2_rn(3)));
}
// Rotary angles on pairs of halves; the table of cosines and sines in shared memory.
extern "C" __global__ void rotate_pairs(const __half2 *in, __half2 *out, int heads) {
    __shared__ float2 table[32];
    if (threadIdx.x < 32) {
        float f = exp2f(-(float)threadIdx.x * 0.25f) * blockIdx.x;
        __sincosf(f, &table[threadIdx.x].y, &table[threadIdx.x].x);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < heads * 32; k += blockDim.x) {
        float2 v = __half22float2(in[blockIdx.x * heads * 32 + k]), w = table[k & 31];
        out[blockIdx.x * heads * 32 + k] = __floats2half2_rn(v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x);
    }
}

// Attention's forward tile: 64 queries a block, 16 a warp, keys and values of 64 numbers in tiles of 32, asynchronous
// copies one tile ahead, products by mma, the maximum and the sum of every row moved along, causal.
__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
extern "C" __global__ void __launch_bounds__(128) flash_attention(const __half *q, const __half *k, const __half *v, float *out, int n, float scale) {
    __shared__ __align__(128) __half ks[2][32 * 64], vs[2][32 * 64];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane / 4, p = lane % 4, row0 = blockIdx.x * 64 + warp * 16 + g;
    unsigned a[4][4];
    for (int j = 0; j < 4; ++j)
        for (int r = 0; r < 4; ++r) a[j][r] = *(const unsigned *)(q + (row0 + r % 2 * 8) * 64 + j * 16 + r / 2 * 8 + p * 2);
    float o[8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
    auto place = [](int r, int c) { return r * 64 + ((c ^ r % 8) * 8); };
    auto fetch = [&](int stage, int base) {
        for (int j = t; j < 256; j += 128) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(ks[stage] + place(j / 8, j % 8))), "l"(k + (base + j / 8) * 64 + j % 8 * 8) : "memory");
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(vs[stage] + place(j / 8, j % 8))), "l"(v + (base + j / 8) * 64 + j % 8 * 8) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    int end = min(n, (blockIdx.x + 1) * 64);
    fetch(0, 0);
    for (int base = 0; base < end; base += 32) {
        int stage = base / 32 & 1;
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (base + 32 < end) fetch(1 - stage, base + 32);
        if (base > row0 - g + 15) continue;
        float s[4][4] = {};
        for (int j = 0; j < 4; ++j)
            for (int c = 0; c < 2; ++c) {
                unsigned b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                             : "r"(shared_address(ks[stage] + place(c * 16 + lane % 8 + lane / 16 * 8, j * 2 + lane / 8 % 2))) : "memory");
                multiply(s[c * 2], a[j], b[0], b[1]);
                multiply(s[c * 2 + 1], a[j], b[2], b[3]);
            }
        for (int h = 0; h < 2; ++h) {
            float m = most[h], total = 0;
            for (int c = 0; c < 4; ++c)
                for (int e = 0; e < 2; ++e) {
                    float &x = s[c][h * 2 + e];
                    x = base + c * 8 + p * 2 + e > row0 + h * 8 ? -1e30f : x * scale;
                    m = fmaxf(m, x);
                }
            m = fmaxf(m, __shfl_xor_sync(FULL, m, 1));
            m = fmaxf(m, __shfl_xor_sync(FULL, m, 2));
            float f = exp2f(most[h] - m);
            for (int c = 0; c < 4; ++c)
                for (int e = 0; e < 2; ++e) {
                    float &x = s[c][h * 2 + e];
                    x = exp2f(x - m);
                    total += x;
                }
            most[h] = m, sum[h] = sum[h] * f + total;
            for (int c = 0; c < 8; ++c) o[c][h * 2] *= f, o[c][h * 2 + 1] *= f;
        }
        for (int j = 0; j < 2; ++j) {
            unsigned x[4];
            for (int r = 0; r < 4; ++r) {
                __half2 pair = __floats2half2_rn(s[j * 2 + r / 2][r % 2 * 2], s[j * 2 + r / 2][r % 2 * 2 + 1]);
                x[r] = *(unsigned *)&pair;
            }
            for (int c = 0; c < 4; ++c) {
                unsigned b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                             : "r"(shared_address(vs[stage] + place(j * 16 + lane % 16, c * 2 + lane / 16))) : "memory");
                multiply(o[c * 2], x, b[0], b[1]);
                multiply(o[c * 2 + 1], x, b[2], b[3]);
            }
        }
    }
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(FULL, sum[h], 1);
        sum[h] += __shfl_xor_sync(FULL, sum[h], 2);
        for (int c = 0; c < 8; ++c)
            *(float2 *)(out + (row0 + h * 8) * 64 + c * 8 + p * 2) = make_float2(o[c][h * 2] / sum[h], o[c][h * 2 + 1] / sum[h]);
    }
}

// Bodies in tiles of the block's threads, float4 in shared memory; several threads a body, whose sums meet at the end.
template <bool SEVERAL>
__global__ void bodies(const float4 *in, float4 *out, int n, int tiles) {
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ float4 positions[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = in[i];
    float3 a = {0, 0, 0};
    for (int tile = threadIdx.y; tile < tiles; tile += blockDim.y) {
        positions[threadIdx.x + blockDim.x * threadIdx.y] = in[((blockIdx.x + tile) % tiles) * blockDim.x + threadIdx.x];
        cg::sync(block);
#pragma unroll 8
        for (int j = 0; j < blockDim.x; ++j) {
            float4 o = positions[j + blockDim.x * threadIdx.y];
            float3 r = {o.x - me.x, o.y - me.y, o.z - me.z};
            float d = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f;
            float f = rsqrtf(d), c = f * f * f, s = o.w * c;
            a.x += r.x * s, a.y += r.y * s, a.z += r.z * s;
        }
        cg::sync(block);
    }
    if (SEVERAL) {
        positions[threadIdx.x + blockDim.x * threadIdx.y] = make_float4(a.x, a.y, a.z, 0);
        cg::sync(block);
        if (threadIdx.y == 0)
            for (int k = 1; k < blockDim.y; ++k) {
                float4 o = positions[threadIdx.x + blockDim.x * k];
                a.x += o.x, a.y += o.y, a.z += o.z;
            }
    }
    if (threadIdx.y == 0) out[i] = make_float4(a.x, a.y, a.z, me.w);
}
template __global__ void bodies<false>(const float4 *, float4 *, int, int);
template __global__ void bodies<true>(const float4 *, float4 *, int, int);

// Options by the closed formula, two a thread.
__device__ float cumulative(float d) {
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267793994605993438f * __expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - c : c;
}
__device__ void option(float &call, float &put, float s, float x, float t, float r, float v) {
    float root = __fdividef(1.0f, rsqrtf(t)), d1 = __fdividef(__logf(s / x) + (r + 0.5f * v * v) * t, v * root), d2 = d1 - v * root;
    float p = cumulative(d1), q = cumulative(d2), e = __expf(-r * t);
    call = s * p - x * e * q;
    put = x * e * (1.0f - q) - s * (1.0f - p);
}
extern "C" __global__ void __launch_bounds__(128) options(float2 *__restrict call, float2 *__restrict put, const float2 *__restrict price, const float2 *__restrict strike,
                                                          const float2 *__restrict years, float rate, float volatility, int n) {
    int i = THREAD;
    if (i < n / 2) {
        float c1, c2, p1, p2;
        option(c1, p1, price[i].x * 25 + 5, strike[i].x * 99 + 1, years[i].x * 9.75f + 0.25f, rate, volatility);
        option(c2, p2, price[i].y * 25 + 5, strike[i].y * 99 + 1, years[i].y * 9.75f + 0.25f, rate, volatility);
        call[i] = make_float2(c1, c2);
        put[i] = make_float2(p1, p2);
    }
}
// Binomial trees: the steps of a thread kept in registers, ends exchanged through shared memory.
extern "C" __global__ void binomial_registers(const float *price, float *out, float up, float down, float step) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float ends[32 + 1];
    const int t = threadIdx.x;
    float s = price[blockIdx.x] * 20 + 20, call[16 + 1];
    for (int k = 0; k < 16; ++k) call[k] = fmaxf(s * expf(step * (2.0f * (t * 16 + k) - 511)) - 30.0f, 0.0f);
    if (t == 0) ends[32] = fmaxf(s * expf(step * (2.0f * 512 - 511)) - 30.0f, 0.0f);
    int final = max(0, t * 16 - 1);
    for (int i = 511; i > 0; --i) {
        ends[t] = call[0];
        cg::sync(block);
        call[16] = ends[t + 1];
        cg::sync(block);
        if (i > final)
            for (int k = 0; k < 16; ++k) call[k] = up * call[k + 1] + down * call[k];
    }
    if (t == 0) out[blockIdx.x] = call[0];
}
// Inverse normal distribution by rational functions, over quasi-random numbers of a table.
__constant__ unsigned table[3][31] = {
    {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608, 16777216, 33554432,
     67108864, 134217728, 268435456, 536870912, 1073741824},
    {1073741824, 1610612736, 1342177280, 2013265920, 1140850688, 1711276032, 1426063360, 2139095040, 1077936128, 1616904192, 1347420160, 2021130240, 1145324612, 1717986918, 1431655765,
     2147483647, 3, 5, 15, 17, 51, 85, 255, 257, 771, 1285, 3855, 4369, 13107, 21845, 65535},
    {7, 11, 13, 19, 25, 37, 41, 59, 61, 67, 91, 97, 103, 109, 131, 137, 143, 167, 185, 193, 203, 213, 229, 239, 241, 247, 253, 259, 265, 271, 277}};
__device__ float inverse_normal(unsigned x) {
    const float a[4] = {2.50662823884f, -18.61500062529f, 41.39119773534f, -25.44106049637f};
    const float b[4] = {-8.4735109309f, 23.08336743743f, -21.06224101826f, 3.13082909833f};
    const float c[9] = {0.337475482272615f, 0.976169019091719f, 0.160797971491821f, 2.76438810333863e-2f, 3.8405729373609e-3f, 3.951896511919e-4f, 3.21767881768e-5f, 2.888167364e-7f, 3.960315187e-7f};
    bool negate = false;
    if (x >= 0x80000000u) x = 0xffffffff - x, negate = true;
    float y = x * (1.0f / 4294967296.0f) + (1.0f / 8589934592.0f), z;
    y = 0.5f - y;
    if (y < 0.42f) {
        z = y * y;
        z = y * (((a[3] * z + a[2]) * z + a[1]) * z + a[0]) / ((((b[3] * z + b[2]) * z + b[1]) * z + b[0]) * z + 1.0f);
    } else {
        z = __logf(-__logf(0.5f - y));
        z = c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * (c[4] + z * (c[5] + z * (c[6] + z * (c[7] + z * c[8])))))));
    }
    return negate ? -z : z;
}
extern "C" __global__ void quasi_random(float *out, unsigned seed, unsigned n) {
    unsigned tid = blockDim.x * blockIdx.x + threadIdx.x, total = blockDim.x * gridDim.x, dimension = threadIdx.y;
    for (unsigned i = tid; i < n; i += total) {
        unsigned result = 0, data = seed + i;
        for (int bit = 0; bit < 31; ++bit, data >>= 1)
            if (data & 1) result ^= table[dimension][bit];
        out[dimension * n + i] = inverse_normal(result * 2);
    }
}
// Counts of eigenvalues below a bound of a tridiagonal matrix (Sturm), intervals halved until small.
extern "C" __global__ void bisect(const float *diagonal, const float *side, float *out, int n, float left, float right, float precision) {
    __shared__ float d[64], s[64];
    int t = threadIdx.x;
    if (t < n) d[t] = diagonal[t] * 4, s[t] = t ? side[t] : 0;
    __syncthreads();
    float low = left, high = right;
    if (t >= n) return;
    while (high - low > precision * fmaxf(fabsf(low), fabsf(high))) {
        float middle = low + (high - low) * 0.5f, delta = 1;
        int count = 0;
        for (int k = 0; k < n; ++k) {
            delta = d[k] - middle - (k ? s[k] * s[k] / delta : 0);
            count += delta < 0;
        }
        if (count > t) high = middle;
        else low = middle;
    }
    out[t] = (low + high) * 0.5f;
}
// Jacobi's method for linear equations, rows in shared memory, warps by tiles, the error by shuffles and one atomic.
extern "C" __global__ void jacobi_rows(const float *a, const double *b, const double *x, double *next, double *error) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ double xs[64], bs[5];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) xs[i] = x[i];
    if (threadIdx.x < 4) bs[threadIdx.x] = b[blockIdx.x * 4 + threadIdx.x];
    cg::sync(block);
    auto tile = cg::tiled_partition<32>(block);
    for (int k = 0, i = blockIdx.x * 4; k < 4; ++k, ++i) {
        double sum = 0;
        for (int j = threadIdx.x; j < 64; j += blockDim.x) sum += a[i * 64 + j] * xs[j];
        for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
        if (tile.thread_rank() == 0) atomicAdd(&bs[k], -sum);
    }
    cg::sync(block);
    if (threadIdx.x < 4) {
        auto four = cg::tiled_partition<4>(block);
        double d = bs[threadIdx.x] / (a[(blockIdx.x * 4 + threadIdx.x) * 64 + blockIdx.x * 4 + threadIdx.x] + 100);
        next[blockIdx.x * 4 + threadIdx.x] = d + xs[blockIdx.x * 4 + threadIdx.x];
        double sum = fabs(d);
        for (int k = four.size() / 2; k > 0; k /= 2) sum += four.shfl_down(sum, k);
        if (four.thread_rank() == 0) atomicAdd(error, sum);
    }
}
// Copies by the group, whole and in steps, from more than the thread's share.
extern "C" __global__ void copy_by_group(const int *in, int *out, int n) {
    extern __shared__ int buffer[];
    auto block = cg::this_thread_block();
    int sum = 0;
    for (int base = 0; base < n; base += 512) {
        int count = min(512, n - base);
        cg::memcpy_async(block, buffer, in + base, sizeof(int) * count);
        cg::wait(block);
        for (int k = threadIdx.x; k < count; k += blockDim.x) sum += buffer[count - 1 - k] * (k + 1);
        block.sync();
    }
    out[threadIdx.x] = sum;
}
// Votes: whole warps whose threads agree, in blocks of warps that do not.
extern "C" __global__ void vote_kinds(const unsigned *in, unsigned *out, int width) {
    int t = threadIdx.x;
    out[t] = __any_sync(FULL, in[t]);
    out[blockDim.x + t] = __all_sync(FULL, in[t]);
    bool *info = (bool *)(out + 2 * blockDim.x);
    info[t * 3] = __any_sync(FULL, t >= width * 3 / 2);
    info[t * 3 + 1] = t >= width * 3 / 2;
    if (__all_sync(FULL, t >= width * 3 / 2)) info[t * 3 + 2] = true;
}
// All operations of atomics on one number each.
extern "C" __global__ void atomic_kinds(int *out) {
    unsigned i = THREAD;
    atomicAdd(out, 10);
    atomicSub(out + 1, 10);
    atomicExch(out + 2, 77);
    atomicMax(out + 3, i);
    atomicMin(out + 4, i);
    atomicInc((unsigned *)out + 5, 17);
    atomicDec((unsigned *)out + 6, 137);
    atomicCAS(out + 7, i - 1, i);
    atomicAnd(out + 8, 2 * i + 7);
    atomicOr(out + 9, 1 << i);
    atomicXor(out + 10, i);
    atomicAdd_system(out + 11, 3);
    atomicAdd_block(out + 12, 5);
}
// The lane's number by inline PTX; overloads; structures of bytes by their alignment.
extern "C" __global__ void inline_code(int *out, int n) {
    int i = THREAD;
    if (i >= n) return;
    unsigned lane, warp, sum;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .u32 t; mov.u32 t, %%warpid; and.b32 %0, t, 0; }" : "=r"(warp));
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(lane), "r"(lane), "r"(warp));
    asm("lop3.b32 %0, %0, %1, %2, 0xe8;" : "+r"(sum) : "r"(lane * 3), "r"(i));
    asm("bfe.u32 %0, %1, 3, 7; bfi.b32 %0, %0, %2, 11, 5; brev.b32 %0, %0;" : "=&r"(sum) : "r"(sum * 77), "r"(i));
    asm("{ .reg .pred p; setp.gt.s32 p, %1, 40; @p add.u32 %0, %0, 3; @!p xor.b32 %0, %0, 5; prmt.b32 %0, %0, %1, 0x3165; }" : "+r"(sum) : "r"(i));
    out[i] = sum;
}
// A texture's work without one: a table of 4 levels in shared memory, read with interpolation and clamping.
extern "C" __global__ void interpolate(const float *table_in, const float *at, float *out, int n) {
    __shared__ float s[65];
    for (int k = threadIdx.x; k < 65; k += blockDim.x) s[k] = table_in[k];
    __syncthreads();
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        float x = fminf(fmaxf(at[i] * 70 - 3, 0), 63.99f), f = floorf(x), w = x - f;
        int k = (int)f;
        out[i] = s[k] + (s[k + 1] - s[k]) * w;
    }
}
