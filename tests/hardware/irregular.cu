// Kernels whose counts depend on the block in further ways than those of grids.cu; grids.py has their launches too.
#include "grids.cuh"

KERNEL(switched) {
    __shared__ unsigned s[2048];
    INDICES
    unsigned at = tid;
    switch ((bx + by / 3) % 11) {
        case 0: at = tid * 2; break;
        case 1: s[tid * 4] = bx; at = tid * 3; break;
        case 3: s[tid * 8] = s[tid]; at = tid * 7; break;
        case 5: return;
        case 6: atomicAdd(s + (tid & 7), by); break;
        case 7: if (tid & 1) return; at = tid * 9; break;
        case 9: __syncthreads(); at = tid * 32; break;
    }
    unsigned target = (bx >> 3 ^ by) & 3, more;  // a table of jumps
    asm volatile("{\n"
                 "ways: .branchtargets first, second, third, fourth;\n"
                 "brx.idx %1, ways;\n"
                 "first: mul.lo.u32 %0, %2, 5; bra.uni behind;\n"
                 "second: shr.u32 %0, %2, 2; bra.uni behind;\n"
                 "third: sub.u32 %0, 2047, %2; bra.uni behind;\n"
                 "fourth: exit;\n"
                 "behind:\n"
                 "}"
                 : "=r"(more)
                 : "r"(target), "r"(tid));
    s[(at + more) & 2047] = in[WHERE];
    out[WHERE] = s[(at * 3 + more) & 2047];
}
__device__ __noinline__ unsigned even_rows(unsigned* s, unsigned v) { return s[2 * v & 511] + 1; }
__device__ __noinline__ unsigned odd_rows(unsigned* s, unsigned v) { return v > 40 ? s[(2 * v + 1) & 511] : v; }
__device__ __noinline__ unsigned same_row(unsigned* s, unsigned v) { s[v >> 3] = v; return v * 3; }
__device__ __noinline__ unsigned far_row(unsigned* s, unsigned v) { return s[(v * 16) & 511] ^ s[v & 511]; }
KERNEL(pointers) {  // calls whose function the block chooses
    __shared__ unsigned s[512];
    INDICES
    unsigned (*ways[4])(unsigned*, unsigned) = {even_rows, odd_rows, same_row, far_row};
    unsigned (*chosen)(unsigned*, unsigned) = ways[(bx >> 5) % 3], (*other)(unsigned*, unsigned) = ways[(by + m) & 3];
    s[tid] = in[WHERE];
    s[tid + 64] = tid;
    unsigned v = chosen(s, tid + bx % 2);
    if (bx < n) v += other(s, tid * (by % 4));
    out[WHERE] = v;
}
KERNEL(shuffled) {  // addresses that come from other lanes
    __shared__ unsigned s[512];
    INDICES
    unsigned v = __shfl_xor_sync(~0u, tid * (bx % 6 + 1), by & 31);
    s[v & 511] = in[WHERE];
    v = __shfl_sync(~0u, v + (bx >> 7), tid / (by % 5 + 1), 16);
    s[(v * 2) & 511] = 1;
    unsigned mates = __match_any_sync(~0u, tid / (bx % 4 + 1));
    if (__popc(mates) > 2) s[__ffs(mates) * 3 & 511] = v;
    unsigned sum = __reduce_add_sync(~0u, tid & bx);
    out[WHERE] = s[(sum + tid * (sum & 3)) & 511];
}
extern "C" __global__ void __launch_bounds__(64, 32) spilled(unsigned* out, const unsigned* in, unsigned n, unsigned m) {
    __shared__ unsigned s[1024];  // 32 registers, and more that lives: what addresses are made of goes to local memory
    INDICES
    unsigned a[40];
#pragma unroll
    for (unsigned k = 0; k < 40; ++k) a[k] = tid * (k % 7 + 1) + (bx >> 12) * k + (by & 3);
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (unsigned k = 0; k < 40; ++k) s[(a[k] + a[(k * 7) % 40]) & 1023] = k;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 40; ++k) sum += s[(a[39 - k] ^ a[k]) & 1023] + in[a[k] & 1023];
    if (bx < n) s[(a[11] + a[bx & 7]) & 1023] = sum;
    out[WHERE] = sum + s[a[m % 40] & 1023];
}
KERNEL(triangle) {  // blocks numbered by rows of a triangle; a root tells the row
    __shared__ unsigned s[1024];
    INDICES
    unsigned row = (unsigned)((sqrtf(8.0f * (bx >> 10) + 1.0f) - 1.0f) * 0.5f), column = (bx >> 10) - row * (row + 1) / 2;
    s[(tid * (row % 5 + 1)) & 1023] = in[WHERE];
    if (column == row) s[tid * 16 & 1023] = 1;
    else if (column < row / 2) s[tid * 3] = 2;
    __syncthreads();
    out[WHERE] = s[(tid * 8 + column) & 1023];
}
KERNEL(rastered) {  // neighbours in both directions, as products of matrices order their blocks for the L2 cache
    __shared__ __align__(16) unsigned s[64][16];
    INDICES
    unsigned wide = 1u << m, group = bx / (wide * gridDim.y), rest = bx % (wide * gridDim.y) + by * wide;
    unsigned x = group * wide + rest % wide, y = rest / wide % gridDim.y;
    if (x * 64 + tid < n) *(uint4*)&s[tid][((tid ^ y) & 3) * 4] = make_uint4(1, 2, 3, in[WHERE]);
    __syncthreads();
    if (y & 8) return;
    unsigned sum = 0;
    for (unsigned k = 0; k < 4; ++k) sum += s[(tid & 7) * 8 + k][(tid / 8 ^ x) & 15];
    out[WHERE] = sum;
}
KERNEL(bits) {  // of the block's index: reversed, counted, shifted across words, picked by bytes
    __shared__ unsigned s[1024];
    INDICES
    s[(tid * (__popc(bx >> 14) + 1)) & 1023] = in[WHERE];
    s[(tid * (__brev(bx << 12) >> 29)) & 1023] = 1;
    if (__clz(bx) > 14) s[tid * 7 & 1023] = 2;
    s[(tid * (__funnelshift_l(bx, by, 13) & 7)) & 1023] = 3;
    s[(tid + (__byte_perm(bx, by, 0x2104) >> 17)) & 1023] = 4;
    s[(tid * 4 + (bx >> 9 & by)) & 1023] = 5;
    __syncthreads();
    out[WHERE] = s[tid * 2];
}
KERNEL(signs) {  // division and remainders of what passes 0, borders that clamp
    __shared__ unsigned s[1024];
    INDICES
    int x = (int)bx - (int)n, y = (int)(by * 0x55555556u);
    s[(tid * (unsigned)(x / 65536 + 20)) & 1023] = in[WHERE];
    s[(tid + (x >> 15) % 5) & 1023] = 1;
    if (y < 0) s[tid * 2] = 1;
    int left = max(-3, min(x, 5)), far = abs(x) > 500000 ? 8 : 1;
    s[(tid * (left + 4)) & 1023] = 2;
    s[(tid * far) & 1023] = 3;
    __syncthreads();
    out[WHERE] = s[(tid ^ (unsigned)left) & 1023];
}
KERNEL(doubling) {  // loops whose passes grow with the block's index, and end early
    __shared__ unsigned s[1024];
    INDICES
    unsigned sum = in[WHERE], passes = 0;
    for (unsigned k = (bx >> 4) + 1; k < n; k *= 2) s[(tid * ++passes) & 1023] = k;
    __syncthreads();
    for (unsigned k = 0; k < 12; ++k) {
        if ((k + 1) * (bx >> 6) > m) break;
        if (k == tid / 8) continue;
        sum += s[(tid * 2 + k * 33) & 1023];
    }
    while (passes-- > by) sum ^= s[(tid + passes * tid) & 1023];
    out[WHERE] = sum;
}
KERNEL(crossed) {  // products of indices, beyond 32 bits and wrapped around
    __shared__ unsigned s[1024];
    INDICES
    unsigned long long far = (unsigned long long)(bx >> 8) * (by << 20 | 0xFFFFF);
    if (far >> 32 > m) s[tid * 2] = in[WHERE];
    if ((bx >> 10) * (by + 1) % 3 == 1) s[tid * 4] = 1;
    unsigned wrapped = (bx >> 6) * 0x00300001u + bz * 0x80000000u;
    if (wrapped - 5000u < 0x7FFFF000u) s[(tid * 8) & 1023] = 2;
    if (bx * (size_t)gridDim.y * 64 + tid > n) s[tid * 3] = 3;
    __syncthreads();
    out[WHERE] = s[tid * 16 & 1023];
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(unsigned* out, const unsigned* in, unsigned n, unsigned m) {
    __shared__ unsigned s[512];
    INDICES
    unsigned rank, other;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    s[(tid * (bx % 3 + 1 + rank)) & 511] = in[WHERE];
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned at = (unsigned)__cvta_generic_to_shared(s + (tid & 15));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(at), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(other) : "r"(at));
    if (bx * 64 + tid < n) s[tid * 2] = other;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    out[WHERE] = s[tid];
}
KERNEL(boxes) {  // three axes, borders on each, some warps leave early
    __shared__ unsigned s[6][6][6];
    INDICES
    unsigned x = bx * 4 + tid % 4 - 1, y = by * 4 + tid / 4 % 4 - 1, z = bz * 4 + tid / 16 % 4 - 1;
    if (tid / 32 && bz == gridDim.z - 1) return;
    bool inside = x < n && y < n && z < m;
    s[tid / 16 % 4 + (bz & 1)][tid / 4 % 4 + (by & 1)][tid % 4 + (bx & 1)] = inside ? in[WHERE] : 0;
    __syncwarp();
    if (!inside && !(bx & by & 3)) return;
    out[WHERE] = s[tid % 4][tid / 16 % 4][tid / 4 % 4 + (y == n - 1)];
}
