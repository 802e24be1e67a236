// Kernels of kinds that the other files have not: function tables, carry chains, carved buffers, wrapping rings, exits lane
// by lane, sorted warps, barriers of some warps; grids.py has their launches.
#include "grids.cuh"
#define AT(i) ((unsigned)(i) & WORDS)
#define SHARED(place) ((unsigned)__cvta_generic_to_shared(place))

__device__ __noinline__ unsigned straight(unsigned v, unsigned n) { return v; }
__device__ __noinline__ unsigned twofold(unsigned v, unsigned n) { return v * 2; }
__device__ __noinline__ unsigned wrapped(unsigned v, unsigned n) { return v < n ? v : v - n; }
__device__ __noinline__ unsigned turned(unsigned v, unsigned n) { return v ^ n; }
__constant__ unsigned (*ways[4])(unsigned, unsigned) = {straight, twofold, wrapped, turned};
__constant__ unsigned char strides[16] = {1, 2, 1, 3, 4, 1, 8, 5, 16, 1, 2, 7, 32, 1, 9, 6};
struct Layout {
    unsigned short rows, pitch;
    int shift;
    unsigned char skew[4];
};
__constant__ Layout layouts[3] = {{8, 33, 0, {0, 1, 2, 3}}, {16, 16, -3, {0, 0, 4, 4}}, {4, 65, 7, {1, 0, 1, 0}}};

KERNEL(table_of_functions) {  // the block chooses one, half of each warp the next
    __shared__ unsigned s[512];
    INDICES
    unsigned which = bx / m + (tid & 16 ? 1 : 0);
    s[ways[which & 3](tid, n) & 511] = in[WHERE];
    __syncthreads();
    out[WHERE] = s[ways[which + 2 & 3](tid * 3, n) & 511];
}
KERNEL(jumps) {  // a table of twelve jumps, by the block and by groups of lanes
    __shared__ unsigned s[512];
    INDICES
    unsigned v = in[WHERE];
    switch ((bx * 7 + tid / 8 * (bx % n == 0)) % 12) {
        case 0: s[tid] = v; break;
        case 1: s[tid * 2] = v + 1;
        case 2: s[tid * 3] = v; break;
        case 3: s[tid ^ 5] = s[tid * 4] + v; break;
        case 4: atomicAdd(&s[tid & 7], v); break;
        case 5: s[tid * 5 % 101] = v * 2; break;
        case 6: for (unsigned k = 0; k < tid % 4; ++k) s[tid * 8 + k & 511] = k; break;
        case 7: ((uint2*)s)[tid] = make_uint2(v, 1); break;
        case 8: if (bx > m) s[tid * 8] = v;
        case 9: s[tid * 7 & 511] = v * 3; break;
        case 10: s[0] = v; break;
        default: s[511 - tid] = v;
    }
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(layouts_of_structs) {  // rows, pitch, shift and skew are those of a struct in constant memory
    __shared__ unsigned s[1280];
    INDICES
    Layout l = layouts[bx / n % 3];
    for (unsigned at = tid; at < l.rows * 32u; at += blockDim.x) {
        unsigned row = at / 32, column = at % 32;
        s[((row * l.pitch + column + l.skew[row & 3]) << 1 >> (l.shift < 0)) % 1280] = in[WHERE];
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = l.shift; k < l.rows; k += 3) sum += s[(unsigned)(k * (int)l.pitch + (int)tid + 1280) % 1280];
    out[WHERE] = sum + m;
}
KERNEL(strides_of_bytes) {  // taps step by what a table of bytes has for the block
    __shared__ unsigned s[512];
    INDICES
    for (unsigned k = 0; k < 8; ++k) s[tid + 64 * k] = in[WHERE];
    __syncthreads();
    unsigned sum = 0;
    for (unsigned k = 0; k < n; ++k) sum += s[tid * strides[(bx + k) % 16] + k * m & 511];
    out[WHERE] = sum;
}
KERNEL(carved) {  // one buffer for bytes, halves, words and pairs, each as many as the block's group has
    extern __shared__ __align__(16) char buffer[];
    INDICES
    unsigned size = n + bx / m % 5 * 3;
    char* bytes = buffer;
    short* halves = (short*)(buffer + (size + 1 & ~1u));
    unsigned* words = (unsigned*)((size_t)(halves + size) + 3 & ~(size_t)3);
    uint2* pairs = (uint2*)((size_t)(words + size) + 7 & ~(size_t)7);
    for (unsigned at = tid; at < size; at += blockDim.x) {
        unsigned v = in[WHERE];
        bytes[at] = v, halves[size - 1 - at] = v, words[at * 3 % size] = v, pairs[at] = make_uint2(v, at);
    }
    __syncthreads();
    unsigned at = tid * 2 % size;
    out[WHERE] = bytes[at] + halves[at] + words[at] + pairs[at].y;
}
KERNEL(carries) {  // sums of 96 bits, whose carries choose the place
    __shared__ unsigned s[512];
    INDICES
    unsigned x = bx * n + tid, y = 0xffffff00u + by * m, low, middle, high;
    asm("add.cc.u32 %0, %3, %4; addc.cc.u32 %1, %4, %3; addc.u32 %2, %3, 0;" : "=r"(low), "=r"(middle), "=r"(high) : "r"(x), "r"(y));
    s[(high - x) * 64 + tid] = in[WHERE];
    __syncthreads();
    asm("sub.cc.u32 %0, %3, %4; subc.cc.u32 %1, %4, %3; subc.u32 %2, 3, 0;" : "=r"(low), "=r"(middle), "=r"(high) : "r"(x), "r"(y));
    out[WHERE] = s[tid * high & 511] + (middle >> 31 ? s[tid * 2] : 0);
}
KERNEL(ring) {  // head and tail wrap around 2^32; the capacity is no power of two
    __shared__ unsigned s[480];
    INDICES
    unsigned head = 0xfffff000u + bx * n, tail = head - m % 300;
    for (unsigned at = tail + tid; (int)(at - head) < 0; at += blockDim.x) s[at % 480] = in[WHERE];
    __syncthreads();
    out[WHERE] = head - tail > tid ? s[(head - 1 - tid) % 480] : 0;
}
KERNEL(leaving_lanes) {  // lanes end one by one; those that are left share out the rest
    __shared__ unsigned s[512];
    INDICES
    for (unsigned k = 0; k < 6; ++k) {
        if ((tid * (bx % n + 1) + k) % 13 == 5) return;
        unsigned left = __activemask(), rank = __popc(left & ((1u << (tid & 31)) - 1));
        s[rank * (k + 1) + (tid / 32) * 256] = in[WHERE];
        out[WHERE] = s[(rank * m + k) % 256 + tid / 32 * 256] + left;
    }
}
KERNEL(elected) {  // groups of equal numbers, a leader each, and what the group has in all
    __shared__ unsigned s[512];
    INDICES
    unsigned key = (tid * n + bx) / 8 % m, peers = __match_any_sync(~0u, key), leader = __ffs(peers) - 1;
    if (leader == (tid & 31)) s[key * __popc(peers) & 511] = in[WHERE];
    unsigned most = __reduce_max_sync(~0u, key), all = __reduce_add_sync(~0u, key & 7);
    __syncthreads();
    out[WHERE] = s[most * tid & 511] + s[all + tid & 511] + __shfl_sync(~0u, key, leader);
}
KERNEL(sorted_warps) {  // keys of the indices sorted by exchanges; ranks by votes on each of their bits
    __shared__ unsigned s[64];
    INDICES
    unsigned key = (bx * n + tid * m) % 61, lane = tid & 31;
    for (unsigned size = 2; size <= 32; size *= 2)
        for (unsigned d = size / 2; d; d /= 2) {
            unsigned other = __shfl_xor_sync(~0u, key, d);
            key = ((lane & d) == 0) == ((lane & size) == 0 || size == 32) ? min(key, other) : max(key, other);
        }
    unsigned rank = lane;
    for (unsigned bit = 0; bit < 3; ++bit) {
        unsigned ones = __ballot_sync(~0u, key >> bit & 1), below = (1u << lane) - 1;
        rank = key >> bit & 1 ? __popc(~ones) + __popc(ones & below) : __popc(~ones & below);
        key = __shfl_sync(~0u, key, rank);
    }
    s[(tid & 32) + (rank ^ key & 31)] = in[WHERE];
    __syncwarp();
    out[WHERE] = s[tid] + s[key];
}
KERNEL(some_warps) {  // two pairs of warps, each with a barrier of its own, and as many rounds as their block has for them
    __shared__ unsigned s[512];
    INDICES
    unsigned pair = tid / 64, rounds = (pair ? bx : by) % n + 1, sum = 0;
    for (unsigned k = 0; k < rounds; ++k) {
        s[pair * 256 + (tid % 64 * (k + 1) & 255)] = in[WHERE];
        asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1));
        sum += s[pair * 256 + (tid * m + k & 255)];
        asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1));
    }
    out[WHERE] = sum;
}
KERNEL(stored_matrices) {  // ldmatrix and stmatrix, rows moved by their number and the block's
    __shared__ __align__(128) unsigned s[1024];
    INDICES
    unsigned lane = tid & 31, base = SHARED(s), a, b, c, d;
    for (unsigned k = 0; k < 16; ++k) s[k * 64 + tid] = in[WHERE];
    __syncthreads();
    unsigned row = lane & 15, from = base + row * (n & ~15u) + ((lane / 16 ^ bx + row) & 3) * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from));
    __syncthreads();
    unsigned to = base + row * 128 + ((lane / 16 + tid / 32 * 2 ^ row * m) & 7) * 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d));
    __syncthreads();
    out[WHERE] = s[tid * 8 + by & 1023];
}
KERNEL(signed_places) {  // negative places of 64 bits, divided and shifted; mirrored at the edges
    __shared__ unsigned s[256];
    INDICES
    long long place = ((long long)bx - 500'000) * n + (int)tid - 7;
    long long row = place / (int)m, column = place % (int)m;
    int folded = (int)(column < 0 ? -column - 1 : column);
    s[(int)(row >> 3 & 3) * 64 + (folded & 63)] = in[WHERE];
    __syncthreads();
    out[WHERE] = s[(unsigned)(place >> 5) * 3 + tid & 255] + (row < -3000 ? s[tid * 4] : 0);
}
KERNEL(hashed_shift) {  // the upper bits of a product that wraps, as many as an argument says
    __shared__ unsigned s[512];
    INDICES
    unsigned bucket = bx * n >> (m & 31), sign = (int)(bx * n) >> 31;
    if (bucket + tid / 32 == 1) s[tid * 2] = in[WHERE];
    s[(bucket & 7) * 64 + tid] = 1;
    __syncthreads();
    out[WHERE] = s[tid * (4 + (int)sign)] + (((int)(bx * n) >> (m & 31)) < -1 ? s[tid * 8] : 0);
}
KERNEL(filled_copies) {  // cp.async that reads fewer bytes than it writes, at the end of rows
    __shared__ __align__(16) unsigned s[512];
    INDICES
    unsigned column = bx * 64 % n + tid * 4 % 64, row = tid / 16;
    int left = (int)n - (int)column;
    unsigned bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0, to = SHARED(s) + (row * (64 + m % 3 * 4) + (column & 63)) * 4;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2; cp.async.commit_group;" ::"r"(to & ~15u), "l"(in + (AT(column) & ~3u)), "r"(bytes));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[WHERE] = s[row * (64 + m % 3 * 4) + tid % 16] + s[tid * (bx % 3)];
}
KERNEL(compacted_by_index) {  // places that a condition on indices leaves, counted by votes and through shared memory
    __shared__ unsigned s[256], count[4];
    INDICES
    unsigned at = bx * 128 + tid, lane = tid & 31;
    bool kept = at % n < m || tid % 5 == bx % 3;
    unsigned votes = __ballot_sync(~0u, kept);
    if (!lane) count[tid / 32] = __popc(votes);
    __syncthreads();
    unsigned first = 0, all = 0;
    for (unsigned w = 0; w < 4; ++w) first += w < tid / 32 ? count[w] : 0, all += count[w];
    if (kept) s[(first + __popc(votes & ((1u << lane) - 1))) * 2] = in[WHERE];
    __syncthreads();
    if (tid < all) out[WHERE] = s[tid * 2];
}
KERNEL(diagonals) {  // a table of 64 by 64 by its diagonals; blocks at the end have shorter ones
    __shared__ int s[2][66], best[64];
    INDICES
    unsigned rows = min(64u, n - bx * 64 % n), columns = min(64u, m - by * 64 % m);
    s[0][tid] = s[1][tid] = 0, best[tid] = 0;
    __syncthreads();
    for (unsigned d = 0; d < rows + columns - 1; ++d) {
        if (tid <= d && d - tid < columns && tid < rows) {
            int v = max(s[d & 1][tid] + 1, s[d + 1 & 1][tid + 1] - 1);
            s[d & 1][tid + 1] = v, best[tid] = max(best[tid], v);
        }
        __syncthreads();
    }
    out[WHERE] = best[63 - tid];
}
extern "C" __global__ void __cluster_dims__(2, 2, 1) ranks(unsigned* out, const unsigned* in, unsigned n, unsigned m) {  // clusters of two by two blocks, whose ranks choose the part
    __shared__ unsigned s[512];
    INDICES
    unsigned rank, across;
    asm("mov.u32 %0, %%cluster_ctarank; mov.u32 %1, %%cluster_ctaid.x;" : "=r"(rank), "=r"(across));
    s[tid * (rank + 1) + across * 3] = in[WHERE];
    __syncthreads();
    out[WHERE] = bx * 64 + tid < n ? s[tid * (bx / 2 % m)] : 0;
}
KERNEL(plain) {  // next to nothing, for grids as large as may be
    __shared__ unsigned s[64];
    s[threadIdx.x * 2 & 63] = blockIdx.x;
    if (blockIdx.x * 32 + threadIdx.x < n && blockIdx.x % m < 3) s[threadIdx.x] += s[threadIdx.x * 8 & 63];
    if (blockIdx.x == m) out[threadIdx.x] = s[63 - threadIdx.x];
}
