// Sorting, scanning, counting and searching as samples and libraries do it.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu
#define SIZE 512u

__device__ void exchange(unsigned &ka, unsigned &va, unsigned &kb, unsigned &vb, unsigned up) {
    if ((ka > kb) == up) {
        unsigned t = ka;
        ka = kb, kb = t;
        t = va;
        va = vb, vb = t;
    }
}

// Bitonic network over keys and values of one block; what does not fit is merged by the kernel below.
extern "C" __global__ void bitonic_pairs(unsigned *out_keys, unsigned *out_values, unsigned *keys, unsigned *values, unsigned length, unsigned up) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned k[SIZE], v[SIZE];
    unsigned t = threadIdx.x;
    keys += blockIdx.x * SIZE + t, values += blockIdx.x * SIZE + t, out_keys += blockIdx.x * SIZE + t, out_values += blockIdx.x * SIZE + t;
    k[t] = keys[0], v[t] = values[0];
    k[t + SIZE / 2] = keys[SIZE / 2], v[t + SIZE / 2] = values[SIZE / 2];
    for (unsigned size = 2; size < length; size <<= 1) {
        unsigned turn = up ^ ((t & (size / 2)) != 0);
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            cg::sync(block);
            unsigned i = 2 * t - (t & (stride - 1));
            exchange(k[i], v[i], k[i + stride], v[i + stride], turn);
        }
    }
    for (unsigned stride = length / 2; stride > 0; stride >>= 1) {
        cg::sync(block);
        unsigned i = 2 * t - (t & (stride - 1));
        exchange(k[i], v[i], k[i + stride], v[i + stride], up);
    }
    cg::sync(block);
    out_keys[0] = k[t], out_values[0] = v[t];
    out_keys[SIZE / 2] = k[t + SIZE / 2], out_values[SIZE / 2] = v[t + SIZE / 2];
}

extern "C" __global__ void bitonic_merge_global(unsigned *out_keys, unsigned *out_values, unsigned *keys, unsigned *values, unsigned length, unsigned size, unsigned stride, unsigned up) {
    unsigned i = THREAD, j = i & (length / 2 - 1), turn = up ^ ((j & (size / 2)) != 0), at = 2 * i - (i & (stride - 1));
    unsigned ka = keys[at], va = values[at], kb = keys[at + stride], vb = values[at + stride];
    exchange(ka, va, kb, vb, turn);
    out_keys[at] = ka, out_values[at] = va, out_keys[at + stride] = kb, out_values[at + stride] = vb;
}

extern "C" __global__ void odd_even_merge(unsigned *out_keys, unsigned *out_values, unsigned *keys, unsigned *values, unsigned length, unsigned up) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned k[SIZE], v[SIZE];
    unsigned t = threadIdx.x;
    keys += blockIdx.x * SIZE + t, values += blockIdx.x * SIZE + t, out_keys += blockIdx.x * SIZE + t, out_values += blockIdx.x * SIZE + t;
    k[t] = keys[0], v[t] = values[0];
    k[t + SIZE / 2] = keys[SIZE / 2], v[t + SIZE / 2] = values[SIZE / 2];
    for (unsigned size = 2; size <= length; size <<= 1) {
        unsigned stride = size / 2, offset = t & (stride - 1);
        {
            cg::sync(block);
            unsigned i = 2 * t - (t & (stride - 1));
            exchange(k[i], v[i], k[i + stride], v[i + stride], up);
            stride >>= 1;
        }
        for (; stride > 0; stride >>= 1) {
            cg::sync(block);
            unsigned i = 2 * t - (t & (stride - 1));
            if (offset >= stride) exchange(k[i - stride], v[i - stride], k[i], v[i], up);
        }
    }
    cg::sync(block);
    out_keys[0] = k[t], out_values[0] = v[t];
    out_keys[SIZE / 2] = k[t + SIZE / 2], out_values[SIZE / 2] = v[t + SIZE / 2];
}

__device__ unsigned search(unsigned value, const unsigned *data, unsigned length, bool inclusive) {
    if (length == 0) return 0;
    unsigned stride = length > 1 ? 1u << (32 - __clz(length - 1)) : 1, position = 0;
    for (; stride > 0; stride >>= 1) {
        unsigned next = min(position + stride, length);
        if (inclusive ? data[next - 1] <= value : data[next - 1] < value) position = next;
    }
    return position;
}

// The three steps by which sorted runs are merged: ranks of samples, limits of pieces, pieces.
extern "C" __global__ void sample_ranks(unsigned *ranks_a, unsigned *ranks_b, const unsigned *keys, unsigned stride, unsigned n, unsigned threads) {
    unsigned t = THREAD;
    if (t >= threads) return;
    unsigned i = t & (stride / 64 - 1), base = (t - i) * 128;
    keys += base, ranks_a += base / 64, ranks_b += base / 64;
    unsigned length_a = stride, length_b = min(stride, n - base - stride), na = length_a / 64, nb = (length_b + 63) / 64;
    if (i < na) {
        ranks_a[i] = i * 64;
        ranks_b[i] = search(keys[i * 64], keys + stride, length_b, false);
    }
    if (i < nb) {
        ranks_b[stride / 64 + i] = i * 64;
        ranks_a[stride / 64 + i] = search(keys[stride + i * 64], keys, length_a, true);
    }
}

__device__ void merge(unsigned *keys, unsigned *values, unsigned *ka, unsigned *va, unsigned *kb, unsigned *vb, unsigned na, unsigned nb) {
    unsigned t = threadIdx.x, key_a, value_a, to_a, key_b, value_b, to_b;
    if (t < na) {
        key_a = ka[t], value_a = va[t];
        to_a = search(key_a, kb, nb, false) + t;
    }
    if (t < nb) {
        key_b = kb[t], value_b = vb[t];
        to_b = search(key_b, ka, na, true) + t;
    }
    __syncthreads();
    if (t < na) keys[to_a] = key_a, values[to_a] = value_a;
    if (t < nb) keys[to_b] = key_b, values[to_b] = value_b;
}
extern "C" __global__ void merge_pieces(unsigned *out_keys, unsigned *out_values, const unsigned *keys, const unsigned *values, const unsigned *limits_a,
                                        const unsigned *limits_b, unsigned stride, unsigned n) {
    __shared__ unsigned k[256], v[256], start_a, start_b, count_a, count_b, to;
    unsigned t = threadIdx.x, i = blockIdx.x & (2 * stride / 64 - 1), base = (blockIdx.x - i) * 64;
    keys += base, values += base, out_keys += base, out_values += base;
    if (t == 0) {
        unsigned length_a = stride, length_b = min(stride, n - base - stride), pieces = length_a / 64 + (length_b + 63) / 64;
        start_a = limits_a[blockIdx.x], start_b = limits_b[blockIdx.x];
        to = start_a + start_b;
        unsigned end_a = i + 1 < pieces ? limits_a[blockIdx.x + 1] : length_a, end_b = i + 1 < pieces ? limits_b[blockIdx.x + 1] : length_b;
        count_a = end_a - start_a, count_b = end_b - start_b;
    }
    __syncthreads();
    if (t < count_a) k[t] = keys[start_a + t], v[t] = values[start_a + t];
    if (t < count_b) k[128 + t] = keys[stride + start_b + t], v[128 + t] = values[stride + start_b + t];
    __syncthreads();
    merge(k, v, k, v, k + 128, v + 128, count_a, count_b);
    __syncthreads();
    if (t < count_a + count_b) out_keys[to + t] = k[t], out_values[to + t] = v[t];
    if (128 + t < count_a + count_b) out_keys[to + 128 + t] = k[128 + t], out_values[to + 128 + t] = v[128 + t];
}

// Radix sort of 1,024 keys by digits of four bits: ranks within the warp by match, counters of every warp scanned.
extern "C" __global__ void radix_digits(const unsigned *in, unsigned *out, int bits) {
    __shared__ unsigned keys[1024], counts[16][8 + 1], first[16];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5; // 256 threads of 4 keys
    unsigned mine[4], rank[4];
    for (int j = 0; j < 4; ++j) mine[j] = in[blockIdx.x * 1024 + warp * 128 + j * 32 + lane];
    for (int bit = 0; bit < bits; bit += 4) {
        for (int k = t; k < 16 * 9; k += 256) (&counts[0][0])[k] = 0;
        __syncthreads();
        for (int j = 0; j < 4; ++j) {
            unsigned digit = mine[j] >> bit & 15, same = __match_any_sync(FULL, digit);
            int leader = __ffs(same) - 1, before = __popc(same & ((1u << lane) - 1));
            unsigned old = 0;
            if (lane == leader) {
                old = counts[digit][warp];
                counts[digit][warp] = old + __popc(same);
            }
            rank[j] = __shfl_sync(FULL, old, leader) + before;
            __syncwarp();
        }
        __syncthreads();
        if (t < 16) {
            unsigned sum = 0;
            for (int w = 0; w < 8; ++w) {
                unsigned c = counts[t][w];
                counts[t][w] = sum;
                sum += c;
            }
            unsigned total = sum;
            for (int d = 1; d < 16; d *= 2) {
                unsigned v = __shfl_up_sync(0xffffu, total, d);
                if (t >= d) total += v;
            }
            first[t] = total - sum;
        }
        __syncthreads();
        for (int j = 0; j < 4; ++j) {
            unsigned digit = mine[j] >> bit & 15;
            keys[first[digit] + counts[digit][warp] + rank[j]] = mine[j];
        }
        __syncthreads();
        for (int j = 0; j < 4; ++j) mine[j] = keys[warp * 128 + j * 32 + lane];
    }
    for (int j = 0; j < 4; ++j) out[blockIdx.x * 1024 + warp * 128 + j * 32 + lane] = mine[j];
}

// Sorting within a warp by shuffles over any number of values a lane; template over direction.
template <int N, bool DOWN>
__global__ void sort_in_registers(const int *in, int *out) {
    int lane = threadIdx.x & 31, base = (THREAD - lane) * N, v[N];
    for (int j = 0; j < N; ++j) v[j] = in[base + j * 32 + lane];
#pragma unroll
    for (int size = 2; size <= 32 * N; size *= 2)
#pragma unroll
        for (int stride = size / 2; stride > 0; stride /= 2) {
            if (stride >= 32) {
                for (int j = 0; j < N; ++j)
                    if (!(j & stride / 32)) {
                        int k = j + stride / 32;
                        bool up = (((j * 32 + lane) & size) == 0) != DOWN;
                        int low = min(v[j], v[k]), high = max(v[j], v[k]);
                        v[j] = up ? low : high, v[k] = up ? high : low;
                    }
            } else
                for (int j = 0; j < N; ++j) {
                    int other = __shfl_xor_sync(FULL, v[j], stride);
                    bool up = (((j * 32 + lane) & size) == 0) != DOWN, first = !(lane & stride);
                    v[j] = up == first ? min(v[j], other) : max(v[j], other);
                }
        }
    for (int j = 0; j < N; ++j) out[base + j * 32 + lane] = v[j];
}
template __global__ void sort_in_registers<1, false>(const int *, int *);
template __global__ void sort_in_registers<4, true>(const int *, int *);

// Scans as in the sample: each thread has two numbers in shared memory, and the first half of them are zeros.
__device__ unsigned scan_inclusive(unsigned v, volatile unsigned *s, unsigned size, cg::thread_block block) {
    unsigned at = 2 * threadIdx.x - (threadIdx.x & (size - 1));
    s[at] = 0;
    at += size;
    s[at] = v;
    for (unsigned offset = 1; offset < size; offset <<= 1) {
        cg::sync(block);
        unsigned t = s[at] + s[at - offset];
        cg::sync(block);
        s[at] = t;
    }
    return s[at];
}
extern "C" __global__ void scan_fours(uint4 *out, const uint4 *in, unsigned size) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned s[2 * 128];
    uint4 v = in[THREAD];
    v.y += v.x, v.z += v.y, v.w += v.z;
    unsigned before = scan_inclusive(v.w, s, size / 4, block) - v.w;
    uint4 r = {before, before + v.x, before + v.y, before + v.z};
    out[THREAD] = r;
}
extern "C" __global__ void scan_last(unsigned *buffer, unsigned *out, const unsigned *in, unsigned n, unsigned length) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned s[2 * 128];
    unsigned i = THREAD, v = 0;
    if (i < n) v = out[511 + 512 * i] + in[511 + 512 * i];
    unsigned r = scan_inclusive(v, s, length, block) - v;
    if (i < n) buffer[i] = r;
}
extern "C" __global__ void add_uniform(uint4 *data, const unsigned *buffer) {
    __shared__ unsigned b;
    if (threadIdx.x == 0) b = buffer[blockIdx.x];
    __syncthreads();
    uint4 v = data[THREAD];
    v.x += b, v.y += b, v.z += b, v.w += b;
    data[THREAD] = v;
}

// Scan of a warp, of a block and of blocks by shuffles of any width.
extern "C" __global__ void scan_shuffles(int *data, int width, int *sums) {
    extern __shared__ int s[];
    int i = THREAD, lane = i % warpSize, warp = threadIdx.x / warpSize, v = data[i];
#pragma unroll
    for (int k = 1; k <= width; k *= 2) {
        int n = __shfl_up_sync(FULL, v, k, width);
        if (lane >= k) v += n;
    }
    if (threadIdx.x % warpSize == warpSize - 1) s[warp] = v;
    __syncthreads();
    if (warp == 0 && lane < blockDim.x / warpSize) {
        int w = s[lane], mask = (1 << (blockDim.x / warpSize)) - 1;
        for (int k = 1; k <= blockDim.x / warpSize; k *= 2) {
            int n = __shfl_up_sync(mask, w, k, blockDim.x / warpSize);
            if (lane >= k) w += n;
        }
        s[lane] = w;
    }
    __syncthreads();
    int before = 0;
    if (warp > 0) before = s[warp - 1];
    v += before;
    data[i] = v;
    if (sums != nullptr && threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = v;
}

// Inclusive and exclusive scans of cooperative groups, by sum, maximum and xor.
extern "C" __global__ void scan_groups(const int *in, int *out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = in[THREAD], n = gridDim.x * blockDim.x;
    out[THREAD] = cg::inclusive_scan(tile, v);
    out[n + THREAD] = cg::exclusive_scan(tile, v, cg::greater<int>());
    out[2 * n + THREAD] = cg::inclusive_scan(tile, v, cg::bit_xor<int>());
    if (v & 1) {
        auto odd = cg::coalesced_threads();
        out[3 * n + THREAD] = cg::exclusive_scan(odd, v) + cg::reduce(odd, v, cg::plus<int>()) * 1000;
    }
}

// Segments: sums that begin anew at every flag, by pairs (flag, sum) in shared memory.
extern "C" __global__ void scan_segments(const int *in, const unsigned char *flags, int *out) {
    __shared__ int s[256];
    __shared__ unsigned char f[256];
    int t = threadIdx.x;
    s[t] = in[THREAD];
    f[t] = flags[THREAD];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int v = 0;
        bool g = f[t], take = t >= d;
        if (take) {
            if (!g) v = s[t - d];
            g |= f[t - d];
        }
        __syncthreads();
        s[t] += v;
        f[t] = g;
        __syncthreads();
    }
    out[THREAD] = s[t];
}

// Look-back over blocks: each waits for the one before it (the ticket gives the order).
extern "C" __global__ void scan_chained(const int *in, int *out, volatile int *state, int *ticket) {
    __shared__ int s[4], part, before;
    if (threadIdx.x == 0) part = atomicAdd(ticket, 1);
    __syncthreads();
    int i = part * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = in[i], w = v;
    for (int k = 1; k < 32; k *= 2) {
        int u = __shfl_up_sync(FULL, w, k);
        if (lane >= k) w += u;
    }
    if (lane == 31) s[threadIdx.x / 32] = w;
    __syncthreads();
    for (int k = 0; k < threadIdx.x / 32; ++k) w += s[k];
    if (threadIdx.x == blockDim.x - 1) {
        int sum = 0;
        if (part > 0)
            while (!(sum = state[part - 1])) {}
        before = sum & 0xffffff;
        __threadfence();
        state[part] = (sum + w) | 1 << 30;
    }
    __syncthreads();
    out[i] = w + before;
}

// Histogram of 64 bins: byte counters of every thread, placed so that threads of a warp meet in no bank.
extern "C" __global__ void histogram_bytes(unsigned *partial, const uint4 *in, unsigned n) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned char s[64 * 64];
    const unsigned position = (threadIdx.x & ~63) | ((threadIdx.x & 15) << 2) | ((threadIdx.x & 48) >> 4);
    for (int k = 0; k < 64 / 4; ++k) ((unsigned *)s)[threadIdx.x + k * 64] = 0;
    unsigned char *mine = s + position;
    cg::sync(block);
    for (unsigned i = THREAD; i < n; i += blockDim.x * gridDim.x) {
        uint4 v = in[i];
        unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int k = 0; k < 4; ++k) {
            mine[(words[k] >> 2 & 63) * 64]++;
            mine[(words[k] >> 10 & 63) * 64]++;
            mine[(words[k] >> 18 & 63) * 64]++;
            mine[(words[k] >> 26 & 63) * 64]++;
        }
    }
    cg::sync(block);
    if (threadIdx.x < 64) {
        unsigned char *bin = s + threadIdx.x * 64;
        unsigned sum = 0, at = 4 * (threadIdx.x & 15);
        for (int k = 0; k < 64 / 4; ++k) {
            sum += bin[at] + bin[at + 1] + bin[at + 2] + bin[at + 3];
            at = (at + 4) & 63;
        }
        partial[blockIdx.x * 64 + threadIdx.x] = sum;
    }
}
extern "C" __global__ void histogram_join(unsigned *out, const unsigned *partial, unsigned count) {
    __shared__ unsigned s[128];
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += 128) sum += partial[blockIdx.x + i * 64];
    s[threadIdx.x] = sum;
    for (unsigned stride = 64; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride) s[threadIdx.x] += s[threadIdx.x + stride];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
// Of 256 bins: a table for every warp; and one whose counters carry a tag of the lane that wrote last.
extern "C" __global__ void histogram_warps(unsigned *partial, const unsigned *in, unsigned n) {
    __shared__ unsigned s[6 * 256];
    unsigned *mine = s + (threadIdx.x >> 5) * 256;
    for (unsigned k = 0; k < 6 * 256 / 192; ++k) s[threadIdx.x + k * 192] = 0;
    __syncthreads();
    for (unsigned i = THREAD; i < n; i += blockDim.x * gridDim.x) {
        unsigned v = in[i];
        atomicAdd(mine + (v & 255), 1);
        atomicAdd(mine + (v >> 8 & 255), 1);
        atomicAdd(mine + (v >> 16 & 255), 1);
        atomicAdd(mine + (v >> 24), 1);
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < 256; bin += 192) {
        unsigned sum = 0;
        for (unsigned k = 0; k < 6; ++k) sum += s[bin + k * 256];
        partial[blockIdx.x * 256 + bin] = sum;
    }
}
extern "C" __global__ void histogram_tagged(const unsigned *in, unsigned *out, unsigned n) {
    __shared__ unsigned s[2 * 64];
    volatile unsigned *mine = s + (threadIdx.x >> 5) * 64;
    s[threadIdx.x] = 0, s[threadIdx.x + 64] = 0;
    __syncthreads();
    unsigned tag = threadIdx.x << 27;
    for (unsigned i = threadIdx.x; i < n; i += 64) {
        unsigned bin = in[i] & 63, count;
        do {
            count = mine[bin] & 0x07ffffff;
            count = tag | (count + 1);
            mine[bin] = count;
        } while (mine[bin] != count);
    }
    __syncthreads();
    out[threadIdx.x] = (s[threadIdx.x] & 0x07ffffff) + (s[threadIdx.x + 64] & 0x07ffffff);
}

// Threads of equal keys found by the groups' labels; one atomic for each label.
extern "C" __global__ void aggregate_partition(const int *in, int *odd, int *even_sums, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    for (int i = block.group_index().x * block.size() + block.thread_rank(); i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        auto part = cg::binary_partition(tile, (v & 1) == 1);
        if (v & 1) {
            if (part.thread_rank() == 0) atomicAdd(odd, (int)part.size());
        } else {
            int sum = cg::reduce(part, v, cg::plus<int>());
            if (part.thread_rank() == 0) atomicAdd(even_sums, sum);
        }
        tile.sync();
    }
}
extern "C" __global__ void aggregate_labels(const int *in, int *counts, int *order, int n) {
    int i = THREAD;
    if (i >= n) return;
    int key = in[i];
    auto part = cg::labeled_partition(cg::coalesced_threads(), key);
    int base = 0;
    if (part.thread_rank() == 0) base = atomicAdd(counts + key, (int)part.size());
    order[i] = part.shfl(base, 0) * 64 + part.thread_rank();
}

// Hash table of the block, open addressing, keys set by compare-and-swap; then its cells are written as they lie.
extern "C" __global__ void hash_count(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned keys[128], counts[128];
    int t = threadIdx.x;
    for (int k = t; k < 128; k += blockDim.x) keys[k] = 0xffffffff, counts[k] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) {
        unsigned k = in[i], at = k * 2654435761u >> 25;
        while (true) {
            unsigned old = atomicCAS(keys + at, 0xffffffffu, k);
            if (old == 0xffffffffu || old == k) break;
            at = (at + 1) & 127;
        }
        atomicAdd(counts + at, 1);
    }
    __syncthreads();
    for (int k = t; k < 128; k += blockDim.x)
        if (keys[k] != 0xffffffffu) out[keys[k]] = counts[k];
}

// Breadth first over a graph in rows of neighbours: one block, frontier in shared memory, its length by atomics.
extern "C" __global__ void breadth_first(const int *start, const int *next, int *depth, int source) {
    __shared__ int now[128], then[128], length, grown;
    int t = threadIdx.x;
    if (t == 0) now[0] = source, length = 1, depth[source] = 0;
    __syncthreads();
    for (int level = 1; length > 0; ++level) {
        if (t == 0) grown = 0;
        __syncthreads();
        for (int i = t; i < length; i += blockDim.x)
            for (int e = start[now[i]]; e < start[now[i] + 1]; ++e)
                if (atomicCAS(depth + next[e], -1, level) == -1) then[atomicAdd(&grown, 1)] = next[e];
        __syncthreads();
        for (int i = t; i < grown; i += blockDim.x) now[i] = then[i];
        if (t == 0) length = grown;
        __syncthreads();
    }
}

// The k greatest of a row, one after another, by a reduction of pairs.
extern "C" __global__ void greatest(const float *in, float *values, int *places, int n, int k) {
    __shared__ float v[4];
    __shared__ int p[4];
    const float *row = in + blockIdx.x * n;
    float limit = 1e30f;
    int last = -1;
    for (int round = 0; round < k; ++round) {
        float best = -1e30f;
        int at = n;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            float x = row[i];
            if ((x < limit || (x == limit && i > last)) && (x > best || (x == best && i < at))) best = x, at = i;
        }
        for (int d = 16; d; d /= 2) {
            float x = __shfl_down_sync(FULL, best, d);
            int j = __shfl_down_sync(FULL, at, d);
            if (x > best || (x == best && j < at)) best = x, at = j;
        }
        if (threadIdx.x % 32 == 0) v[threadIdx.x / 32] = best, p[threadIdx.x / 32] = at;
        __syncthreads();
        best = v[0], at = p[0];
        for (int w = 1; w < blockDim.x / 32; ++w)
            if (v[w] > best || (v[w] == best && p[w] < at)) best = v[w], at = p[w];
        if (threadIdx.x == 0) values[blockIdx.x * k + round] = best, places[blockIdx.x * k + round] = at;
        limit = best, last = at;
        __syncthreads();
    }
}

// Lengths of runs: heads flagged, counted by ballots, written by one pass.
extern "C" __global__ void run_lengths(const int *in, int *value, int *length, int *count, int n) {
    __shared__ int heads[8], at[257];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    bool head = t < n && (t == 0 || in[t] != in[t - 1]);
    unsigned mask = __ballot_sync(FULL, head);
    if (lane == 0) heads[warp] = __popc(mask);
    __syncthreads();
    int before = __popc(mask & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < 8; ++w) {
        if (w < warp) before += heads[w];
        total += heads[w];
    }
    if (head) at[before] = t;
    if (t == 0) at[total] = n, *count = total;
    __syncthreads();
    if (t < total) value[t] = in[at[t]], length[t] = at[t + 1] - at[t];
}
