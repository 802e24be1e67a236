// Kernels for grids of more than a million blocks, whose counts depend on the block in many ways: grids.py has the launches.
#include "grids.cuh"

template <int PAD> __device__ void transposed(float* out, const float* in, unsigned rows, unsigned columns) {
    __shared__ float tile[32][32 + PAD];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(size_t)(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void transpose(float* out, const float* in, unsigned rows, unsigned columns) {
    transposed<0>(out, in, rows, columns);
}
extern "C" __global__ void transpose_padded(float* out, const float* in, unsigned rows, unsigned columns) {
    transposed<1>(out, in, rows, columns);
}
extern "C" __global__ void product(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    __shared__ float s[16][16], t[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (unsigned at = 0; at < k; at += 16) {
        s[y][x] = row < m && at + x < k ? a[(size_t)row * k + at + x] : 0;
        t[y][x] = column < n && at + y < k ? b[(size_t)(at + y) * n + column] : 0;
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    if (row < m && column < n) c[(size_t)row * n + column] = sum;
}
KERNEL(reduce) {  // m: whether neighbours are added first, with conflicts
    __shared__ unsigned s[128];
    INDICES
    size_t at = (size_t)bx * 128 + tid;
    s[tid] = at < n ? in[at & WORDS] : 0;
    __syncthreads();
    if (m)
        for (unsigned step = 1; step < 128; step *= 2) {
            if (tid < 64 / step) s[2 * step * tid] += s[2 * step * tid + step];
            __syncthreads();
        }
    else
        for (unsigned step = 64; step; step /= 2) {
            if (tid < step) s[tid] += s[tid + step];
            __syncthreads();
        }
    if (!tid) out[bx & WORDS] = s[0];
}
KERNEL(scan) {
    __shared__ unsigned s[128];
    INDICES
    for (unsigned j = 0; j < 2; ++j) s[2 * tid + j] = bx * 128 + 2 * tid + j < n ? in[WHERE] : 0;
    unsigned step = 1;
    for (unsigned d = 64; d; d /= 2, step *= 2) {
        __syncthreads();
        if (tid < d) s[step * (2 * tid + 2) - 1] += s[step * (2 * tid + 1) - 1];
    }
    if (!tid) s[127] = 0;
    for (unsigned d = 1; d < 128; d *= 2) {
        step /= 2;
        __syncthreads();
        if (tid < d) {
            unsigned v = s[step * (2 * tid + 1) - 1];
            s[step * (2 * tid + 1) - 1] = s[step * (2 * tid + 2) - 1];
            s[step * (2 * tid + 2) - 1] += v;
        }
    }
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(strides) {
    __shared__ unsigned s[64 * 8];
    INDICES
    s[tid * (bx % 5 + 1)] = in[WHERE];
    s[(tid * (by % 3) + bx / 16 * 32) & 511] = 1;
    __syncthreads();
    out[WHERE] = s[tid * 8 + bx % 8];
}
KERNEL(swizzles) {
    __shared__ unsigned s[1024];
    INDICES
    for (unsigned j = 0; j < 8; ++j) s[(tid * 8 + (j ^ (tid + bx) & 7)) & 1023] = in[WHERE];
    __syncthreads();
    unsigned sum = 0;
    for (unsigned j = 0; j < 4; ++j) sum += s[(tid ^ (by & 31)) * 4 + j];
    out[WHERE] = sum;
}
KERNEL(causal) {
    __shared__ unsigned s[32 * 33];
    INDICES
    if (by > bx) return;
    unsigned row = tid / 8, column = tid % 8;
    if (by * 8 + row <= bx * 8 + column) s[row * 32 + column * 4] = in[WHERE];
    __syncthreads();
    out[WHERE] = by == bx ? s[tid * 2] : s[column * 33 + row];
}
KERNEL(loops) {
    __shared__ unsigned s[512];
    INDICES
    unsigned sum = in[WHERE];
    for (unsigned k = 0; k < bx % 7; ++k) s[tid * (k + 1)] = sum + k;
    __syncthreads();
    for (unsigned k = by; k < 9; k += 2) {
        if (k * 1000 > bx) break;
        sum += s[(tid * 2 + k * 32) & 511];
    }
    out[WHERE] = sum;
}
KERNEL(decomposed) {  // blocks numbered in rows of n
    __shared__ unsigned s[512];
    INDICES
    unsigned row = bx / n, column = bx % n;
    if (row * 8 + tid / 8 < m && column * 8 + tid % 8 < n * 8 - 5) s[(tid * 4) & 511] = in[WHERE];
    if (column == 0 || column == n - 1) s[tid * 8] = 1;
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(wrapping) {
    __shared__ unsigned s[512];
    INDICES
    unsigned i = bx * 4099u + tid * 17;  // passes 2^32 at block 1,047,809
    if (i < 0x40000000u) s[tid * 2] = i;
    if ((int)i < -1000) s[tid * 4] = i;
    if ((bx & 31) == 7) s[tid] = in[WHERE];
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(stencil) {
    __shared__ unsigned s[10][34];
    INDICES
    unsigned x = bx * 32 + threadIdx.x, y = by * 8 + threadIdx.y;
    s[threadIdx.y + 1][threadIdx.x + 1] = x < n && y < m ? in[WHERE] : 0;
    if (threadIdx.y == 0) s[0][threadIdx.x + 1] = y && x < n ? in[WHERE] : 0;
    if (threadIdx.y == 7) s[9][threadIdx.x + 1] = y + 1 < m && x < n ? in[WHERE] : 0;
    if (threadIdx.x == 0) s[threadIdx.y + 1][0] = x && y < m ? in[WHERE] : 0;
    if (threadIdx.x == 31 && x + 1 < n) s[threadIdx.y + 1][33] = in[WHERE];
    __syncthreads();
    if (x < n && y < m)
        out[WHERE] = s[threadIdx.y][threadIdx.x + 1] + s[threadIdx.y + 2][threadIdx.x + 1] +
                     s[threadIdx.y + 1][threadIdx.x] + s[threadIdx.y + 1][threadIdx.x + 2];
}
KERNEL(convolution) {
    __shared__ unsigned s[128 + 16];
    INDICES
    int at = (int)(bx * 128 + tid) - 8;
    s[tid] = at >= 0 && at < (int)n ? in[WHERE] : 0;
    if (tid < 16) s[tid + 128] = at + 128 < (int)n ? in[WHERE] : 0;
    __syncthreads();
    unsigned sum = 0;
    if (bx * 128 + tid < n)
        for (unsigned k = 0; k < m; ++k) sum += s[tid + k] * k;
    out[WHERE] = sum;
}
KERNEL(wide) {
    __shared__ __align__(16) float4 s[128];
    INDICES
    s[tid] = make_float4(in[WHERE], 1, 2, bx);
    if (bx * 64 + tid < n) s[(tid * (bx & 3)) & 127] = make_float4(1, 2, 3, 4);
    __syncthreads();
    double sum = ((double*)s)[(tid * 3 + by) & 255] + ((float2*)s)[(tid ^ by) & 255].x;
    out[WHERE] = (unsigned)sum + (unsigned)s[(tid * 2) & 127].w;
}
KERNEL(atomics) {
    __shared__ unsigned s[64];
    INDICES
    s[tid] = in[WHERE];
    __syncthreads();
    atomicAdd(&s[(tid * (bx % 4)) & 63], 1u);
    unsigned old = atomicMax(&s[(tid >> (by & 3)) & 63], tid);
    if (bx * 64 + tid < n) old += atomicCAS(&s[tid & 15], 3u, tid);
    __syncthreads();
    out[WHERE] = s[tid] + old;
}
KERNEL(warps) {
    __shared__ unsigned s[4];
    INDICES
    unsigned v = bx * 128 + tid < n ? in[WHERE] : 0;
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    unsigned guarded = __popc(__ballot_sync(~0u, (tid & 31) < bx % 9));
    if (tid % 32 < guarded) s[tid / 32] = v;
    __syncthreads();
    if (__syncthreads_count(tid < by * 3) > 64) v += s[tid & 3];
    out[WHERE] = v;
}
KERNEL(local_arrays) {
    __shared__ unsigned s[512];
    INDICES
    unsigned a[8];
    for (unsigned k = 0; k < 8; ++k) a[k] = (bx >> 13) * k + tid;
    a[(tid + by) & 7] = 5;
    s[(a[bx & 7] + tid) & 511] = in[WHERE];
    s[a[tid & 3] & 511] = 1;
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(copies) {
    __shared__ __align__(16) unsigned s[2][512];
    INDICES
    unsigned to = (unsigned)__cvta_generic_to_shared(s[bx & 1]) + 16 * ((tid * (bx % 3 + 1)) & 127);
    unsigned other = (unsigned)__cvta_generic_to_shared(s[~bx & 1]) + 4 * (tid * (by % 4 + 1));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 4 * tid));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(other), "l"(in + 32 * tid));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[WHERE] = s[bx & 1][tid * 4];
}
KERNEL(volume) {
    __shared__ unsigned s[4][4][5];
    INDICES
    unsigned x = bx * 4 + tid % 4, y = by * 4 + tid / 4 % 4, z = bz * 4 + tid / 16;
    bool inside = x < n && y < m && z < m + 3;
    if (inside) s[tid / 16][tid / 4 % 4][tid % 4] = in[WHERE];
    __syncthreads();
    if (inside && (bz & 1)) out[WHERE] = s[tid % 4][tid / 16][tid / 4 % 4];
}
KERNEL(striding) {  // some blocks have a row more than others, or none
    __shared__ unsigned s[512];
    INDICES
    unsigned sum = 0;
    for (unsigned row = bx; row < n; row += gridDim.x) {
        s[(tid * 2 + row / gridDim.x) & 511] = in[WHERE];
        __syncthreads();
        sum += s[tid * 4];
        __syncthreads();
    }
    out[WHERE] = sum;
}
KERNEL(distant) {
    __shared__ unsigned s[512];
    INDICES
    unsigned long long i = ((unsigned long long)by << 33) + bx * 64 + tid;
    long long back = (long long)by * 7 - bx;
    if (i < (1ull << 33) + n) s[tid * 2] = in[WHERE];
    if (back < -500000) s[tid * 4] = 1;
    s[(tid * ((bx >> 10) % 3)) & 511] = 2;
    __syncthreads();
    out[WHERE] = s[tid];
}
KERNEL(matrices) {
    __shared__ __align__(16) unsigned s[1024];
    INDICES
    for (unsigned j = 0; j < 16; ++j) s[tid * 16 + j] = in[WHERE];
    __syncthreads();
    unsigned a, b, c, d, row = tid & 31, at = (unsigned)__cvta_generic_to_shared(s);
    at += 64 * row + 16 * ((bx + row / (by % 4 + 1)) & 3);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at));
    out[WHERE] = a + b + c + d;
}
__device__ __noinline__ unsigned placed(unsigned* s, unsigned tid, unsigned v) {
    if (v & 1) s[tid] = v;
    else s[tid * 2] = v;
    return v > 1000 ? s[tid ^ 1] : v;
}
KERNEL(divergent) {
    __shared__ unsigned s[512];
    INDICES
    if (bx * 64 + tid < n) {
        if (tid & by) s[tid] = 1;
        else {
            s[tid * 2] = in[WHERE];
            if (bx > m) return;
        }
    }
    __syncwarp(__activemask());
    out[WHERE] = placed(s, tid, bx / 3 + (tid & 4));
}
