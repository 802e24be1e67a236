// Matrix products as libraries write them: tiles in two or three stages of asynchronous copies, ldmatrix with swizzled
// rows, mma.sync in every type, register tiles of several shapes, sparse and batched products.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_for_all_but() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ void load_x4(unsigned (&r)[4], unsigned p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
__device__ void load_x4_trans(unsigned (&r)[4], unsigned p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 64 × 64 of C by 4 warps of 32 × 32, tiles of 64 × 32 and 32 × 64 in STAGES stages, rows swizzled in pieces of 16 bytes.
template <typename T, int STAGES>
__global__ void __launch_bounds__(128) gemm_stages(const T *a, const T *b, float *c, int n) {
    extern __shared__ __align__(128) unsigned char memory[];
    T *as = (T *)memory, *bs = as + STAGES * 64 * 32;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, top = warp / 2 * 32, left = warp % 2 * 32;
    float sum[2][4][4] = {};
    auto fetch = [&](int k) {
        int stage = k % STAGES;
        if (k * 32 < n)
            for (int j = t; j < 256; j += 128) {
                int r = j / 4, p = j % 4;
                copy_16(as + stage * 2048 + r * 32 + (p ^ r / 2 % 4) * 8, a + (blockIdx.y * 64 + r) * n + k * 32 + p * 8);
                r = j / 8, p = j % 8;
                copy_16(bs + stage * 2048 + r * 64 + (p ^ r % 8) * 8, b + (k * 32 + r) * n + blockIdx.x * 64 + p * 8);
            }
        commit();
    };
    for (int k = 0; k < STAGES - 1; ++k) fetch(k);
    for (int k = 0; k < n / 32; ++k) {
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        fetch(k + STAGES - 1);
        const T *at = as + k % STAGES * 2048, *bt = bs + k % STAGES * 2048;
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned u[2][4], v[2][4];
            for (int i = 0; i < 2; ++i) {
                int r = top + i * 16 + lane % 16, p = step * 2 + lane / 16;
                load_x4(u[i], shared_address(at + r * 32 + (p ^ r / 2 % 4) * 8));
                r = step * 16 + lane % 16, p = left / 8 + i * 2 + lane / 16;
                load_x4_trans(v[i], shared_address(bt + r * 64 + (p ^ r % 8) * 8));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], u[i], v[j / 2][j % 2 * 2], v[j / 2][j % 2 * 2 + 1], T());
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h)
                *(float2 *)(c + (blockIdx.y * 64 + top + i * 16 + lane / 4 + h * 8) * n + blockIdx.x * 64 + left + j * 8 + lane % 4 * 2) =
                    make_float2(sum[i][j][h * 2], sum[i][j][h * 2 + 1]);
}
template __global__ void gemm_stages<__half, 2>(const __half *, const __half *, float *, int);
template __global__ void gemm_stages<__half, 3>(const __half *, const __half *, float *, int);
template __global__ void gemm_stages<__nv_bfloat16, 4>(const __nv_bfloat16 *, const __nv_bfloat16 *, float *, int);

// TF32: fragments by 4-byte loads from padded rows, registers fetched ahead of the tile in place of asynchronous copies.
extern "C" __global__ void __launch_bounds__(128) gemm_tf32(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float as[2][32][16 + 4], bs[2][16][32 + 8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, top = warp / 2 * 16, left = warp % 2 * 16, g = lane / 4, q = lane % 4;
    float sum[2][4] = {};
    float4 u, v;
    auto fetch = [&](int k) {
        u = *(const float4 *)(a + (blockIdx.y * 32 + t / 4) * n + k + t % 4 * 4);
        v = *(const float4 *)(b + (k + t / 8) * n + blockIdx.x * 32 + t % 8 * 4);
    };
    auto keep = [&](int stage) {
        *(float4 *)&as[stage][t / 4][t % 4 * 4] = u;
        *(float4 *)&bs[stage][t / 8][t % 8 * 4] = v;
    };
    fetch(0);
    keep(0);
    __syncthreads();
    for (int k = 0; k < n; k += 16) {
        int stage = k / 16 & 1;
        if (k + 16 < n) fetch(k + 16);
        for (int s = 0; s < 16; s += 8) {
            unsigned x[4], y[2];
            for (int r = 0; r < 4; ++r)
                asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[r]) : "f"(as[stage][top + g + r % 2 * 8][s + q + r / 2 * 4]));
            for (int j = 0; j < 2; ++j) {
                for (int r = 0; r < 2; ++r)
                    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[r]) : "f"(bs[stage][s + q + r * 4][left + j * 8 + g]));
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
        }
        if (k + 16 < n) keep(1 - stage);
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        for (int r = 0; r < 4; ++r)
            c[(blockIdx.y * 32 + top + g + r / 2 * 8) * n + blockIdx.x * 32 + left + j * 8 + q * 2 + r % 2] = sum[j][r];
}

// Bytes: B lies transposed, both tiles by ldmatrix as if of 2-byte numbers, m16n8k32, two stages.
extern "C" __global__ void __launch_bounds__(128) gemm_bytes(const signed char *a, const signed char *b, int *c, int n) {
    __shared__ __align__(16) signed char as[2][32][64 + 16], bs[2][32][64 + 16];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, top = warp / 2 * 16, left = warp % 2 * 16;
    int sum[2][4] = {};
    auto fetch = [&](int stage, int k) {
        copy_16(&as[stage][t / 4][t % 4 * 16], a + (blockIdx.y * 32 + t / 4) * n + k + t % 4 * 16);
        copy_16(&bs[stage][t / 4][t % 4 * 16], b + (blockIdx.x * 32 + t / 4) * n + k + t % 4 * 16);
        commit();
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += 64) {
        int stage = k / 64 & 1;
        if (k + 64 < n) fetch(1 - stage, k + 64);
        else commit();
        wait_for_all_but<1>();
        __syncthreads();
        for (int s = 0; s < 64; s += 32) {
            unsigned u[4], v[4];
            load_x4(u, shared_address(&as[stage][top + lane % 16][s + lane / 16 * 16]));
            load_x4(v, shared_address(&bs[stage][left + lane % 8 + lane / 16 * 8][s + lane / 8 % 2 * 16]));
            for (int j = 0; j < 2; ++j)
                asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+r"(sum[j][0]), "+r"(sum[j][1]), "+r"(sum[j][2]), "+r"(sum[j][3])
                             : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(v[j * 2]), "r"(v[j * 2 + 1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        for (int r = 0; r < 4; ++r)
            c[(blockIdx.y * 32 + top + lane / 4 + r / 2 * 8) * n + blockIdx.x * 32 + left + j * 8 + lane % 4 * 2 + r % 2] = sum[j][r];
}

// Doubles: m8n8k4 from 8-byte loads, copies of 16 and of 8 bytes, two stages.
extern "C" __global__ void __launch_bounds__(128) gemm_doubles(const double *a, const double *b, double *c, int n) {
    __shared__ __align__(16) double as[2][16][8 + 2], bs[2][8][16 + 1];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, top = warp / 2 * 8, left = warp % 2 * 8;
    double s0 = 0, s1 = 0;
    auto fetch = [&](int stage, int k) {
        if (t < 64) copy_16(&as[stage][t / 4][t % 4 * 2], a + (blockIdx.y * 16 + t / 4) * n + k + t % 4 * 2);
        __pipeline_memcpy_async(&bs[stage][t / 16][t % 16], b + (k + t / 16) * n + blockIdx.x * 16 + t % 16, 8);
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += 8) {
        int stage = k / 8 & 1;
        __pipeline_wait_prior(0);
        __syncthreads();
        if (k + 8 < n) fetch(1 - stage, k + 8);
        for (int s = 0; s < 8; s += 4)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(s0), "+d"(s1) : "d"(as[stage][top + lane / 4][s + lane % 4]), "d"(bs[stage][s + lane % 4][left + lane / 4]));
    }
    double2 *to = (double2 *)(c + (blockIdx.y * 16 + top + lane / 4) * n + blockIdx.x * 16 + left + lane % 4 * 2);
    *to = make_double2(s0, s1);
}

// The interface of fragments, with the tile of the accumulator going through shared memory and C read as well.
template <typename T, typename R, typename S, int M, int N, int K>
__device__ void fragments(const T *a, const T *b, S *c, int n, S *tile, S factor) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, M, N, K, R, row_major> u;
    fragment<matrix_b, M, N, K, R, col_major> v;
    fragment<accumulator, M, N, K, S> sum, old;
    fill_fragment(sum, (S)0);
    S *corner = c + blockIdx.y * M * n + blockIdx.x * N;
    for (int k = 0; k < n; k += K) {
        load_matrix_sync(u, a + blockIdx.y * M * n + k, n);
        load_matrix_sync(v, b + blockIdx.x * N * n + k, n);
        mma_sync(sum, u, v, sum);
    }
    for (int j = threadIdx.x; j < M * N; j += 32) tile[j] = corner[j / N * n + j % N];
    __syncwarp();
    load_matrix_sync(old, tile, N, mem_row_major);
    for (int j = 0; j < sum.num_elements; ++j) sum.x[j] = factor * sum.x[j] + old.x[j];
    __syncwarp();
    store_matrix_sync(tile, sum, N, mem_row_major);
    __syncwarp();
    for (int j = threadIdx.x; j < M * N; j += 32) corner[j / N * n + j % N] = tile[j];
}
extern "C" __global__ void wmma_bfloat(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n) {
    __shared__ float tile[256];
    fragments<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16>(a, b, c, n, tile, 0.5f);
}
extern "C" __global__ void wmma_bytes(const signed char *a, const signed char *b, int *c, int n) {
    __shared__ int tile[256];
    fragments<signed char, signed char, int, 16, 16, 16>(a, b, c, n, tile, 3);
}
extern "C" __global__ void wmma_unsigned_wide(const unsigned char *a, const unsigned char *b, int *c, int n) {
    __shared__ int tile[256];
    fragments<unsigned char, unsigned char, int, 8, 32, 16>(a, b, c, n, tile, -1);
}
extern "C" __global__ void wmma_doubles(const double *a, const double *b, double *c, int n) {
    __shared__ double tile[64];
    fragments<double, double, double, 8, 8, 4>(a, b, c, n, tile, 0.25);
}
extern "C" __global__ void wmma_tf32(const float *a, const float *b, float *c, int n) {
    __shared__ float tile[256];
    fragments<float, nvcuda::wmma::precision::tf32, float, 16, 16, 8>(a, b, c, n, tile, 2.0f);
}
extern "C" __global__ void wmma_halves_tall(const __half *a, const __half *b, __half *c, int n) {
    __shared__ __half tile[256];
    fragments<__half, __half, __half, 32, 8, 16>(a, b, c, n, tile, __float2half(1.5f));
}

// Tiles of any shape: ROWS × COLUMNS of C by a block of threads × one, each thread U × V numbers strided over the tile.
template <int ROWS, int COLUMNS, int DEPTH, int U, int V>
__global__ void product_tiles(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[DEPTH][ROWS + 1], bs[DEPTH][COLUMNS];
    constexpr int X = COLUMNS / V, Y = ROWS / U;
    int x = threadIdx.x % X, y = threadIdx.x / X;
    float sum[U][V] = {};
    for (int base = 0; base < k; base += DEPTH) {
        for (int j = threadIdx.x; j < ROWS * DEPTH; j += X * Y) {
            int r = blockIdx.y * ROWS + j / DEPTH, d = base + j % DEPTH;
            as[j % DEPTH][j / DEPTH] = r < m && d < k ? a[r * k + d] : 0;
        }
        for (int j = threadIdx.x; j < DEPTH * COLUMNS; j += X * Y) {
            int d = base + j / COLUMNS, q = blockIdx.x * COLUMNS + j % COLUMNS;
            bs[j / COLUMNS][j % COLUMNS] = d < k && q < n ? b[d * n + q] : 0;
        }
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < DEPTH; ++d) {
            float u[U], v[V];
            for (int i = 0; i < U; ++i) u[i] = as[d][y + i * Y];
            for (int j = 0; j < V; ++j) v[j] = bs[d][x + j * X];
            for (int i = 0; i < U; ++i)
                for (int j = 0; j < V; ++j) sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < U; ++i)
        for (int j = 0; j < V; ++j) {
            int r = blockIdx.y * ROWS + y + i * Y, q = blockIdx.x * COLUMNS + x + j * X;
            if (r < m && q < n) c[r * n + q] = sum[i][j];
        }
}
template __global__ void product_tiles<16, 16, 16, 1, 1>(const float *, const float *, float *, int, int, int);
template __global__ void product_tiles<32, 16, 8, 4, 1>(const float *, const float *, float *, int, int, int);
template __global__ void product_tiles<8, 64, 4, 1, 4>(const float *, const float *, float *, int, int, int);
template __global__ void product_tiles<64, 48, 12, 4, 3>(const float *, const float *, float *, int, int, int);

// As the toolkit's first sample: a block of T × T, pointers that step over A and B, unrolled.
template <int T>
__global__ void product_blocks(float *c, const float *a, const float *b, int wa, int wb) {
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int first = wa * T * by, last = first + wa - 1, step = T, j = T * bx, jump = T * wb;
    float sum = 0;
    for (int i = first; i <= last; i += step, j += jump) {
        __shared__ float as[T][T], bs[T][T];
        as[ty][tx] = a[i + wa * ty + tx];
        bs[ty][tx] = b[j + wb * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[wb * T * by + T * bx + wb * ty + tx] = sum;
}
template __global__ void product_blocks<8>(float *, const float *, const float *, int, int);
template __global__ void product_blocks<16>(float *, const float *, const float *, int, int);
template __global__ void product_blocks<32>(float *, const float *, const float *, int, int);

// 128 × 64 of C, 8 × 8 numbers a thread, float4 from shared memory, the next tile and the next fragment fetched ahead.
extern "C" __global__ void __launch_bounds__(128) product_ahead(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float as[2][8][128], bs[2][8][64];
    int t = threadIdx.x, x = t % 8 * 8, y = t / 8 * 8;
    float4 p, q, r;
    float sum[8][8] = {}, u[2][8], v[2][8];
    auto fetch = [&](int k) {
        p = *(const float4 *)(a + (blockIdx.y * 128 + t) * n + k);
        q = *(const float4 *)(a + (blockIdx.y * 128 + t) * n + k + 4);
        r = *(const float4 *)(b + (k + t / 16) * n + blockIdx.x * 64 + t % 16 * 4);
    };
    auto keep = [&](int s) {
        as[s][0][t] = p.x, as[s][1][t] = p.y, as[s][2][t] = p.z, as[s][3][t] = p.w;
        as[s][4][t] = q.x, as[s][5][t] = q.y, as[s][6][t] = q.z, as[s][7][t] = q.w;
        *(float4 *)&bs[s][t / 16][t % 16 * 4] = r;
    };
    auto take = [&](int s, int d, int f) {
        *(float4 *)&u[f][0] = *(float4 *)&as[s][d][y], *(float4 *)&u[f][4] = *(float4 *)&as[s][d][y + 4];
        *(float4 *)&v[f][0] = *(float4 *)&bs[s][d][x], *(float4 *)&v[f][4] = *(float4 *)&bs[s][d][x + 4];
    };
    fetch(0);
    keep(0);
    __syncthreads();
    take(0, 0, 0);
    for (int k = 0; k < n; k += 8) {
        int s = k / 8 & 1;
        if (k + 8 < n) fetch(k + 8);
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            if (d == 7 && k + 8 < n) {
                keep(1 - s);
                __syncthreads();
            }
            if (d < 7) take(s, d + 1, d + 1 & 1);
            else if (k + 8 < n) take(1 - s, 0, 0);
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sum[i][j] += u[d & 1][i] * v[d & 1][j];
        }
    }
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; j += 4)
            *(float4 *)(c + (blockIdx.y * 128 + y + i) * n + blockIdx.x * 64 + x + j) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}

// Bytes by dot products of four (dp4a), words in shared memory.
extern "C" __global__ void product_dot4(const int *a, const int *b, int *c, int words) {
    __shared__ int as[16][16], bs[16][17];
    int x = threadIdx.x, y = threadIdx.y, sum = 0;
    for (int k = 0; k < words; k += 16) {
        as[y][x] = a[(blockIdx.y * 16 + y) * words + k + x];
        bs[y][x] = b[(blockIdx.x * 16 + y) * words + k + x];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum = __dp4a(as[y][j], bs[x][j], sum);
        __syncthreads();
    }
    c[(blockIdx.y * 16 + y) * gridDim.x * 16 + blockIdx.x * 16 + x] = sum;
}

// Complex numbers of two floats.
extern "C" __global__ void product_complex(const float2 *a, const float2 *b, float2 *c, int n) {
    __shared__ float2 as[8][8 + 1], bs[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float2 sum = {0, 0};
    for (int k = 0; k < n; k += 8) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 8; ++j) {
            float2 u = as[y][j], v = bs[j][x];
            sum.x += u.x * v.x - u.y * v.y;
            sum.y += u.x * v.y + u.y * v.x;
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Sparse rows times a vector: TILE threads a row.
template <int TILE>
__global__ void sparse_rows(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / TILE;
    if (row >= rows) return;
    float sum = 0;
    for (int k = start[row] + tile.thread_rank(); k < start[row + 1]; k += TILE) sum += value[k] * x[column[k]];
    for (int s = TILE / 2; s; s /= 2) sum += tile.shfl_down(sum, s);
    if (tile.thread_rank() == 0) y[row] = sum;
}
template __global__ void sparse_rows<1>(const int *, const int *, const float *, const float *, float *, int);
template __global__ void sparse_rows<8>(const int *, const int *, const float *, const float *, float *, int);
template __global__ void sparse_rows<32>(const int *, const int *, const float *, const float *, float *, int);

// One 16 × 16 system a block: L·Lᵀ by columns in shared memory, then both triangles.
extern "C" __global__ void cholesky_solve(const double *in, const double *right, double *out) {
    __shared__ double s[16][17], v[16];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = in[blockIdx.x * 256 + y * 16 + x];
    if (y == 0) v[x] = right[blockIdx.x * 16 + x];
    for (int k = 0; k < 16; ++k) {
        __syncthreads();
        if (x == k && y == k) s[k][k] = sqrt(s[k][k]);
        __syncthreads();
        if (x == k && y > k) s[y][k] /= s[k][k];
        __syncthreads();
        if (x > k && y >= x) s[y][x] -= s[y][k] * s[x][k];
    }
    for (int k = 0; k < 16; ++k) {
        __syncthreads();
        if (x == 0 && y == k) v[k] /= s[k][k];
        __syncthreads();
        if (x == 0 && y > k) v[y] -= s[y][k] * v[k];
    }
    for (int k = 15; k >= 0; --k) {
        __syncthreads();
        if (x == 0 && y == k) v[k] /= s[k][k];
        __syncthreads();
        if (x == 0 && y < k) v[y] -= s[k][y] * v[k];
    }
    __syncthreads();
    if (y == 0) out[blockIdx.x * 16 + x] = v[x];
}

// Gauss's elimination with a pivot found by shuffles; n numbers a row, one more column of right sides; one warp.
extern "C" __global__ void eliminate(const float *in, float *out, int n) {
    __shared__ float s[32][33 + 1];
    int x = threadIdx.x;
    for (int j = 0; j <= n; ++j) s[x][j] = x < n ? in[(blockIdx.x * n + x) * (n + 1) + j] : 0;
    __syncwarp();
    for (int k = 0; k < n; ++k) {
        float best = x >= k && x < n ? fabsf(s[x][k]) : -1;
        int at = x;
        for (int d = 16; d; d /= 2) {
            float other = __shfl_xor_sync(FULL, best, d);
            int there = __shfl_xor_sync(FULL, at, d);
            if (other > best || (other == best && there < at)) best = other, at = there;
        }
        if (at != k)
            for (int j = x; j <= n; j += 32) {
                float v = s[k][j];
                s[k][j] = s[at][j];
                s[at][j] = v;
            }
        __syncwarp();
        if (x != k && x < n) {
            float f = s[x][k] / s[k][k];
            for (int j = k; j <= n; ++j) s[x][j] -= f * s[k][j];
        }
        __syncwarp();
    }
    if (x < n) out[blockIdx.x * n + x] = s[x][n] / s[x][x];
}

// Tridiagonal systems by parallel cyclic reduction, one of 128 unknowns a block.
extern "C" __global__ void cyclic_reduction(const float *lower, const float *middle, const float *upper, const float *right, float *out) {
    __shared__ float a[128], b[128], c[128], d[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    a[t] = t ? lower[i] : 0, b[t] = middle[i], c[t] = t < 127 ? upper[i] : 0, d[t] = right[i];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        int l = max(t - step, 0), r = min(t + step, 127);
        float f = t - step >= 0 ? a[t] / b[l] : 0, g = t + step < 128 ? c[t] / b[r] : 0;
        float na = -a[l] * f, nb = b[t] - c[l] * f - a[r] * g, nc = -c[r] * g, nd = d[t] - d[l] * f - d[r] * g;
        __syncthreads();
        a[t] = na, b[t] = nb, c[t] = nc, d[t] = nd;
        __syncthreads();
    }
    out[i] = d[t] / b[t];
}
