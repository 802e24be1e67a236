// Asynchronous copies, matrix instructions and their loads, transaction barriers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cstdint>
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void load_matrix_x4(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ void load_matrix_x2_trans(unsigned (&r)[2], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)) : "memory");
}

// Every form of ldmatrix and stmatrix, rows `pitch` bytes apart.
extern "C" __global__ void matrix_load_store(const unsigned *in, unsigned *out, int pitch) {
    extern __shared__ __align__(16) unsigned s[];
    int x = threadIdx.x;
    for (int k = x; k < 4096; k += 32) s[k] = in[k & 1023] + k;
    __syncwarp();
    unsigned p = shared_address(s) + x * pitch, q = p + 8192, a, b[2], c[4], d, e[2], f[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(p) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(p) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3]) : "r"(p) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d) : "r"(p) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(e[0]), "=r"(e[1]) : "r"(p) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(p) : "memory");
    unsigned *o = out + x * 14;
    *o++ = a, *o++ = b[0], *o++ = b[1], *o++ = c[0], *o++ = c[1], *o++ = c[2], *o++ = c[3];
    *o++ = d, *o++ = e[0], *o++ = e[1], *o++ = f[0], *o++ = f[1], *o++ = f[2], *o++ = f[3];
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(q), "r"(a) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(q + 16), "r"(b[0]), "r"(b[1]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(q + 4096), "r"(c[0]), "r"(c[1]),
                 "r"(f[2]), "r"(f[3]) : "memory");
    __syncwarp();
    for (int k = x; k < 4096; k += 32) out[448 + k] = s[k];
}

// C = A·B in halves, 32 × 32 a block of 4 warps, padded rows, ldmatrix and mma.m16n8k16; C in floats.
extern "C" __global__ void gemm_half(const __half *a, const __half *b, float *c, int n) {
    __shared__ __align__(16) __half as[32][16 + 8], bs[16][32 + 8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, top = warp / 2 * 16, left = warp % 2 * 16;
    float sum[2][4] = {};
    for (int k = 0; k < n; k += 16) {
        *(uint2 *)&as[t / 4][t % 4 * 4] = *(const uint2 *)(a + (blockIdx.y * 32 + t / 4) * n + k + t % 4 * 4);
        *(uint2 *)&bs[t / 8][t % 8 * 4] = *(const uint2 *)(b + (k + t / 8) * n + blockIdx.x * 32 + t % 8 * 4);
        __syncthreads();
        unsigned u[4], v[2];
        load_matrix_x4(u, &as[top + lane % 16][lane / 16 * 8]);
        for (int j = 0; j < 2; ++j) {
            load_matrix_x2_trans(v, &bs[lane % 16][left + j * 8]);
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                         : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(v[0]), "r"(v[1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        for (int r = 0; r < 4; ++r)
            c[(blockIdx.y * 32 + top + lane / 4 + r / 2 * 8) * n + blockIdx.x * 32 + left + j * 8 + lane % 4 * 2 + r % 2] = sum[j][r];
}

// The other shapes and types, fragments straight from memory: one warp, results as they lie in the registers.
extern "C" __global__ void matrix_shapes(const unsigned *in, float *out, int *out_int, double *out_double) {
    int x = threadIdx.x;
    unsigned a[4], b[2], h = 0x3c00bc00;
    for (int k = 0; k < 4; ++k) a[k] = in[x * 6 + k];
    for (int k = 0; k < 2; ++k) b[k] = in[x * 6 + 4 + k];
    unsigned af[4], bf[2];
    for (int k = 0; k < 4; ++k) af[k] = __float_as_uint((float)(int)(a[k] & 15) - 8);
    for (int k = 0; k < 2; ++k) bf[k] = __float_as_uint((float)(int)(b[k] & 15) - 8);
    float c[4] = {1, 2, 3, 4};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(af[0]), "r"(af[1]), "r"(af[2]), "r"(af[3]), "r"(bf[0]), "r"(bf[1]));
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(af[0]), "r"(af[1]), "r"(bf[0]));
    for (int k = 0; k < 4; ++k) out[x * 16 + k] = c[k];
    for (int k = 0; k < 4; ++k) af[k] = (unsigned)__bfloat16_as_ushort(__float2bfloat16((a[k] & 7) - 3.0f)) * 65536 +
                                        __bfloat16_as_ushort(__float2bfloat16((a[k] >> 4 & 7) - 4.0f));
    for (int k = 0; k < 2; ++k) bf[k] = (unsigned)__bfloat16_as_ushort(__float2bfloat16((b[k] & 7) - 3.0f)) * 65536 +
                                        __bfloat16_as_ushort(__float2bfloat16((b[k] >> 4 & 7) - 4.0f));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(af[0]), "r"(af[1]), "r"(af[2]), "r"(af[3]), "r"(bf[0]), "r"(bf[1]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(h + (x & 1)), "r"(h), "r"(h - (x & 3)));
    for (int k = 0; k < 4; ++k) out[x * 16 + 4 + k] = c[k];
    unsigned d[2] = {0x3c003c00, 0x40004200};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2,%3,%3}, {%2,%3}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1]) : "r"(h), "r"(h + x));
    out[x * 16 + 8] = __uint_as_float(d[0]);
    out[x * 16 + 9] = __uint_as_float(d[1]);
    int i[4] = {x, 5, 6, 7};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(i[0]), "+r"(i[1]) : "r"(a[2]), "r"(b[1]));
    for (int k = 0; k < 4; ++k) out_int[x * 4 + k] = i[k];
    double e[2] = {1.5, x * 1.0}, p = (int)a[0] * 0x1p-20, q = (int)b[0] * 0x1p-22;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(e[0]), "+d"(e[1]) : "d"(p), "d"(q));
    out_double[x * 2] = e[0];
    out_double[x * 2 + 1] = e[1];
}

extern "C" __global__ void gemm_wmma(const __half *a, const __half *b, float *c, int n) {
    using namespace nvcuda::wmma;
    __shared__ __half as[16 * 24], bs[16 * 24];
    fragment<matrix_a, 16, 16, 16, __half, row_major> u;
    fragment<matrix_b, 16, 16, 16, __half, row_major> v;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    int t = threadIdx.x;
    for (int k = 0; k < n; k += 16) {
        for (int j = t; j < 256; j += 32) {
            as[j / 16 * 24 + j % 16] = a[(blockIdx.y * 16 + j / 16) * n + k + j % 16];
            bs[j / 16 * 24 + j % 16] = b[(k + j / 16) * n + blockIdx.x * 16 + j % 16];
        }
        __syncwarp();
        load_matrix_sync(u, as, 24);
        load_matrix_sync(v, bs, 24);
        mma_sync(sum, u, v, sum);
        __syncwarp();
    }
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, mem_row_major);
}

// Tiled product with two stages of asynchronous copies in flight; 16, 8 and 4 bytes a copy.
extern "C" __global__ void gemm_async(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float as[2][16][16], bs[2][16][20];
    int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    float sum = 0;
    auto fetch = [&](int stage, int k) {
        if (t < 64) __pipeline_memcpy_async(&as[stage][t / 4][t % 4 * 4], a + (row + t / 4) * n + k + t % 4 * 4, 16);
        else if (t < 192)
            __pipeline_memcpy_async(&bs[stage][(t - 64) / 8][(t - 64) % 8 * 2], b + (k + (t - 64) / 8) * n + column + (t - 64) % 8 * 2, 8);
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += 16) {
        int stage = k / 16 & 1;
        if (k + 16 < n) {
            fetch(1 - stage, k + 16);
            __pipeline_wait_prior(1);
        } else __pipeline_wait_prior(0);
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += as[stage][y][j] * bs[stage][j][x];
        __syncthreads();
    }
    c[(row + y) * n + column + x] = sum;
}

extern "C" __global__ void copy_async_words(const float *in, float *out, int stride) {
    extern __shared__ float s4[];
    int x = threadIdx.x;
    __pipeline_memcpy_async(s4 + x * stride, in + THREAD, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[THREAD] = s4[(x ^ 1) * stride];
}

// A transaction barrier of the block: every thread arrives and waits, twice.
extern "C" __global__ void transaction_barrier(const int *in, int *out) {
    __shared__ __align__(8) uint64_t barrier;
    __shared__ int s[128];
    int x = threadIdx.x;
    unsigned b = shared_address(&barrier);
    if (x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x) : "memory");
    __syncthreads();
    int v = in[THREAD];
    for (int phase = 0; phase < 2; ++phase) {
        s[x] = v;
        uint64_t token;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(b) : "memory");
        unsigned done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                         : "=r"(done) : "r"(b), "l"(token) : "memory");
        v += s[x ^ 127];
        __syncthreads();
    }
    out[THREAD] = v;
}

// One thread orders a bulk copy, all wait for its bytes.
extern "C" __global__ void copy_bulk(const int *in, int *out) {
    __shared__ __align__(8) uint64_t barrier;
    __shared__ __align__(128) int s[256];
    int x = threadIdx.x;
    unsigned b = shared_address(&barrier);
    if (x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(
                         shared_address(s)), "l"(in + blockIdx.x * 256), "r"(b) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(b) : "memory");
    out[blockIdx.x * 256 + x] = s[255 - x];
}

// Attention of 32 queries over n keys of 32 numbers: scores, running maximum and sum, in tiles of shared memory.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int n) {
    __shared__ float qs[32][33], ks[32][33], vs[32][32], scores[32][33];
    int x = threadIdx.x, y = threadIdx.y; // 32 × 4
    for (int r = y; r < 32; r += 4) qs[r][x] = q[(blockIdx.x * 32 + r) * 32 + x];
    float top[8], total[8], sum[8];
    for (int j = 0; j < 8; ++j) top[j] = -1e30f, total[j] = 0, sum[j] = 0;
    for (int base = 0; base < n; base += 32) {
        __syncthreads();
        for (int r = y; r < 32; r += 4) {
            ks[r][x] = k[(base + r) * 32 + x];
            vs[r][x] = v[(base + r) * 32 + x];
        }
        __syncthreads();
        for (int j = 0; j < 8; ++j) {
            int r = y * 8 + j;
            float dot = 0;
            for (int d = 0; d < 32; ++d) dot += qs[r][d] * ks[x][d];
            dot *= 0.17677669f;
            float m = dot;
            for (int s = 16; s; s /= 2) m = fmaxf(m, __shfl_xor_sync(FULL, m, s));
            m = fmaxf(m, top[j]);
            float p = __expf(dot - m), scale = __expf(top[j] - m), t = p;
            for (int s = 16; s; s /= 2) t += __shfl_xor_sync(FULL, t, s);
            total[j] = total[j] * scale + t;
            top[j] = m;
            scores[r][x] = p;
            __syncwarp();
            float acc = 0;
            for (int d = 0; d < 32; ++d) acc += scores[r][d] * vs[d][x];
            sum[j] = sum[j] * scale + acc;
        }
    }
    for (int j = 0; j < 8; ++j) out[(blockIdx.x * 32 + y * 8 + j) * 32 + x] = sum[j] / total[j];
}

extern "C" __global__ void nap(const int *in, int *out) {
    if (in[THREAD] & 1) __nanosleep(100);
    long long start = clock64();
    out[THREAD] = in[THREAD] * 2 + (clock64() - start < 0) + (__activemask() == FULL);
}
