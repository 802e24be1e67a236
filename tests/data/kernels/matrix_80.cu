// As matrix.cu, what came with sm_80.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define FULL 0xffffffffu

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void reduce(const int *in, int *out) {
    int v = in[threadIdx.x];
    int h = __reduce_add_sync(FULL, v) + __reduce_min_sync(FULL, v - 9) * 3 + __reduce_max_sync(FULL, (unsigned)v) * 5;
    h ^= __reduce_and_sync(FULL, v | 0xf0) ^ __reduce_or_sync(FULL, v) ^ __reduce_xor_sync(FULL, v * 77);
    if (v & 1) h += __reduce_add_sync(__activemask(), v);
    out[threadIdx.x] = h;
}

extern "C" __global__ void copy(const float *in, float *out) {
    __shared__ __align__(16) float tile[2][128];
    for (int k = 0; k < 2; ++k) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                     ::"r"(shared_address(&tile[k][4 * threadIdx.x])), "l"(in + 128 * k + 4 * threadIdx.x));
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    float first = tile[0][127 - threadIdx.x];
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    out[threadIdx.x] = first + tile[1][threadIdx.x * 4];
}

// 16 x 8 = 16 x 16 by 16 x 8, of small whole numbers.
extern "C" __global__ void product(const __half *a, const __half *b, float *c) {
    __shared__ __align__(16) __half rows[16][16], columns[16][8];
    for (int k = threadIdx.x; k < 256; k += 32) rows[k / 16][k % 16] = a[k];
    for (int k = threadIdx.x; k < 128; k += 32) columns[k / 8][k % 8] = b[k];
    __syncthreads();
    unsigned x[4], y[2];
    float d[4] = {1, 2, 3, 4};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(&rows[threadIdx.x & 15][8 * (threadIdx.x / 16)])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1]) : "r"(shared_address(&columns[threadIdx.x & 15][0])));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int k = 0; k < 4; ++k) c[4 * threadIdx.x + k] = d[k];
}

extern "C" __global__ void bfloats(const float *a, const float *b, float *out) {
    __nv_bfloat162 x = __floats2bfloat162_rn(a[threadIdx.x], b[threadIdx.x]), y = __floats2bfloat162_rn(b[threadIdx.x], 3);
    __nv_bfloat162 z = __hfma2(x, y, x), w = __hmax2(__hmul2(x, y), y);
    out[4 * threadIdx.x] = __low2float(z), out[4 * threadIdx.x + 1] = __high2float(z);
    out[4 * threadIdx.x + 2] = __low2float(w), out[4 * threadIdx.x + 3] = __high2float(w);
}
