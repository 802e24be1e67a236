// Kernels that make the compiler print operands of every form. They are compiled and decoded, not run.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdint>
#include <mma.h>

namespace cg = cooperative_groups;

__global__ void halves(__half* a, __half2* b, __nv_bfloat16* c, __nv_bfloat162* d, float* f, double* g) {
    int i = threadIdx.x;
    a[i] = __hfma(a[i], a[i + 1], a[i + 2]);
    b[i] = __hfma2(b[i], b[i + 1], __hneg2(b[i + 2]));
    c[i] = c[i] * c[i + 1];
    d[i] = __hfma2(d[i], d[i + 1], d[i]);
    f[i] = __half2float(a[i]) + __low2float(b[i]) + __high2float(b[i + 1]);
    a[i + 4] = __float2half(f[i]);
    b[i + 4] = __hmul2(b[i], __half2half2(a[i]));
    b[i + 8] = __floats2half2_rn(f[i], f[i + 1]);
    a[i + 9] = hexp(a[i]);
    a[i + 11] = a[i] > a[i + 1] ? a[i] : (__half)3.5f;
    a[i + 12] = __hmax(a[i], a[i + 3]);
    b[i + 12] = __hadd2_sat(b[i], b[i + 1]);
    b[i + 13] = __hle2(b[i], b[i + 1]);
    b[i + 21] = __habs2(b[i]);
    atomicAdd(a + i, a[i + 3]);
    atomicAdd(b + i, b[i]);
    g[i] = a[i];
    a[i + 20] = g[i + 1];
    a[i + 30] = __int2half_rd((int)f[3]);
}

__global__ void doubles(double* a, const double* b, int* n) {
    int i = threadIdx.x;
    double x = b[i];
    a[i] = sin(x) + sqrt(x) / x + exp(x) * pow(x, b[i + 1]) + log(x) + fmod(x, b[3]) + floor(x) + rint(x);
    a[i + 1] = fmin(x, b[2]) + fmax(x, 2.5) + fabs(x) - 1e300 + 1e-310;
    n[i] = (int)x;
    a[i + 2] = n[i + 1] + (double)(unsigned long long)n[i];
    n[i + 4] = (long long)x;
    a[i + 5] = x > 0 ? INFINITY : -INFINITY;
    a[i + 6] = isnan(x) ? NAN : x;
    a[i + 7] = __dadd_rz(x, b[4]) + __dmul_ru(x, 3.0);
    atomicAdd(a, x);
}

__global__ void floats(float* a, const float* b, int* n, unsigned* u) {
    int i = threadIdx.x;
    float x = b[i];
    a[i] = sinf(x) + cosf(x) * tanf(x) + expf(x) + logf(x) + powf(x, b[1]) + sqrtf(x) + rsqrtf(x) + x / b[2];
    a[i + 1] = __fdividef(x, b[3]) + __sinf(x) + __expf(x) + __logf(x) + fmodf(x, b[4]) + truncf(x) + ceilf(x);
    a[i + 2] = rintf(x) + copysignf(x, b[5]) + fminf(x, -0.f) + fmaxf(x, b[6]) + ldexpf(x, n[3]) + tanhf(x);
    a[i + 3] = __fmaf_rz(x, x, b[9]) + __fadd_ru(x, b[8]) + __fmul_rd(x, b[1]) + __saturatef(x) + 1.5e-10f;
    n[i] = (int)x + __float2int_rn(x) + __float2int_ru(x);
    u[i] = (unsigned)x;
    a[i + 4] = n[i + 2] + (float)(short)n[4] + (unsigned char)u[5];
    n[i + 5] = (char)x;
    a[i + 6] = __int_as_float(0x7f800000);
    a[i + 7] = x > 1 ? x : __int_as_float(0xffc00000);
    a[i + 8] = (float)(long long)(n[1] * 1234567890123ll);
}

__global__ void integers(int* a, unsigned* u, long long* l, unsigned long long* ul, short* s, unsigned char* c) {
    int i = threadIdx.x;
    a[i] = a[i + 1] / a[i + 2] + a[i] % 7 + u[i] / u[1] + u[2] % 10;
    l[i] = l[i + 1] / l[i + 2] + l[i] % 1000003;
    ul[i] = ul[i + 1] / ul[i + 3] + ul[i] * ul[1];
    a[i + 3] = __popc(a[4]) + __clz(a[5]) + __ffs(a[6]) + __brev(a[7]) + __byte_perm(a[1], a[2], a[3]);
    a[i + 4] = __funnelshift_l(a[1], a[2], a[3]) + __sad(a[1], a[2], a[3]) + __mulhi(a[1], a[2]);
    a[i + 5] = min(a[3], a[1]) + max(u[3], u[2]) + abs(a[9]) + __dp4a(a[1], a[2], a[3]) + __vabsdiffu4(a[1], a[2]);
    s[i] = s[i + 1] * s[i + 2] >> 3;
    c[i] = c[i + 1] + c[2];
    l[i + 4] = l[3] << a[1];
    l[i + 5] = l[3] >> a[1];
    ul[i + 3] = ul[2] >> a[2];
    a[i + 11] = (a[1] & a[2] | ~a[3]) ^ a[4];
    l[i + 6] = (long long)a[3] * a[4];
    ul[i + 7] = __umul64hi(ul[1], ul[2]);
    l[i + 8] = min(l[1] > l[2] ? l[3] : l[4], -l[8]);
}

__global__ void atomics(int* a, unsigned* u, float* f, unsigned long long* ul, double* d) {
    __shared__ int s[64];
    __shared__ unsigned long long sl[32];
    __shared__ float sf[32];
    __shared__ double sd[32];
    int i = threadIdx.x;
    s[i] = a[i];
    sl[i] = ul[i];
    sf[i] = f[i];
    sd[i] = d[i];
    __syncthreads();
    atomicAdd(&s[a[i]], 1);
    a[i] = atomicAdd(&s[a[i + 1]], a[2]);
    a[i + 3] = atomicExch(&s[i], 7);
    a[i + 4] = atomicCAS(&s[3], a[1], a[2]);
    atomicMin(&s[1], a[1]);
    atomicMax((unsigned*)&s[2], u[1]);
    u[5] = atomicDec((unsigned*)&s[3], u[2]);
    a[9] = atomicOr(&s[4], a[4]);
    ul[4] = atomicCAS(&sl[1], ul[1], ul[2]);
    ul[7] = atomicMax(&sl[1], ul[2]);
    f[3] = atomicAdd(&sf[2], f[1]);
    d[4] = atomicAdd(&sd[2], d[4]);
    atomicAdd(a + 40, 1);
    a[41] = atomicAdd(a + 42, a[2]);
    u[40] = atomicMax(u + 44, u[i]);
    a[46] = atomicCAS(a + 45, a[1], a[2]);
    f[41] = atomicAdd(f + 42, 1.f);
    atomicAdd(d + 10, d[i]);
    ul[31] = atomicCAS(ul + 32, ul[1], ul[2]);
    u[51] = atomicDec(u + 52, 9);
    a[61] = atomicXor(a + 62, 3);
    cuda::atomic_ref<int, cuda::thread_scope_device> r(a[80]);
    r.fetch_add(3, cuda::memory_order_acq_rel);
    a[81] = r.load(cuda::memory_order_acquire);
    __threadfence_system();
    a[91] = atomicCAS((unsigned short*)(a + 90), (unsigned short)3, (unsigned short)4);
}

__global__ void warps(int* a, float* f) {
    int i = threadIdx.x, v = a[i], same;
    a[i] = __shfl_sync(~0u, v, 3) + __shfl_up_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 2, 16);
    a[i + 32] = __ballot_sync(~0u, v > 3) + __any_sync(~0u, v) + __all_sync(~0u, v > 1) + __activemask();
    a[i + 64] = __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &same) + same;
    a[i + 96] = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_or_sync(~0u, (unsigned)v);
    if (v > 3) {
        __syncwarp(0xff);
        a[i + 3] = 2;
    }
    f[i] = __shfl_xor_sync(~0u, f[i], 16);
    a[200] = __syncthreads_count(v) + __syncthreads_or(v) + __syncthreads_and(v);
    asm volatile("bar.sync 1, 64;");
    asm volatile("bar.arrive 2, 64;");
    __nanosleep(100);
    a[300] = clock() + clock64() + gridDim.x * blockDim.y * blockIdx.z;
    if (a[306]) __trap();
}

__global__ void groups(float* a, float* b) {
    extern __shared__ float s[];
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    float x = cg::reduce(tile, a[grid.thread_rank()], cg::plus<float>());
    s[threadIdx.x] = tile.shfl(x, 3);
    cg::memcpy_async(block, s, a, sizeof(float) * 64);
    cg::wait(block);
    if (tile.thread_rank() == 0) b[blockIdx.x] = s[3] + tile.any(x > 3);
    auto together = cg::coalesced_threads();
    if (together.thread_rank() == 0) atomicAdd(b, (float)together.size());
    __pipeline_memcpy_async(s + 4 * threadIdx.x, a + 4 * threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    auto cluster = cg::this_cluster();
    cluster.sync();
    cluster.map_shared_rank(s, 1)[threadIdx.x] = 2;
    grid.sync();
}

__global__ void matrices(__half* a, __half* b, float* c, int* z) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    __shared__ __half s[16 * 24];
    for (int i = threadIdx.x; i < 16 * 24; i += 32) s[i] = a[i];
    __syncwarp();
    fill_fragment(fc, 0.f);
    load_matrix_sync(fa, s, 24);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
    uint32_t p = (uint32_t)__cvta_generic_to_shared(s + threadIdx.x * 8), r0, r1, r2, r3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(p));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(p), "r"(r0), "r"(r1));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r0), "r"(r1));
}

__global__ void locals(int* a, int n) {
    int l[40];
    char c[16];
    int4 v[4];
    for (int i = 0; i < n; i++) l[i] = a[i];
    for (int i = 0; i < n; i++) c[(i * 7) & 15] = a[i];
    for (int i = 0; i < n; i++) a[i] = l[a[i]] + c[a[i + 3] & 15];
    int* p = n > 3 ? l : a;
    p[n + 1] = 4;
    v[n] = ((int4*)a)[3];
    v[a[3]] = ((int4*)a)[7];
    ((int4*)a)[8] = v[a[11] & 3];
}

__global__ void memories(const float* __restrict__ a, float* b, float4* c, volatile float* d) {
    int i = threadIdx.x;
    b[i] = __ldg(a + i) + __ldcg(a + i + 1) + __ldcs(a + i + 9) + __ldcv(a + 4);
    __stcs(b + 7, 2.f);
    c[i] = c[i + 1];
    c[i + 2].x = 3;
    d[3] = d[4];
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
    unsigned char* q = (unsigned char*)b;
    q[i + 801] = q[i + 900] + 3;
    short* h = (short*)b;
    h[i + 501] = h[i + 600];
    if (__isShared(b)) b[4] = 3;
}

__global__ void textures(float* b, cudaTextureObject_t t) { b[0] = tex2D<float>(t, b[1], b[2]); }

struct Base {
    __device__ virtual int f(int x) = 0;
};
struct Next : Base {
    __device__ int f(int x) override { return x + 1; }
};
struct Times : Base {
    int k;
    __device__ int f(int x) override { return x * k; }
};
__global__ void virtuals(int* a) {
    Next x;
    Times y;
    y.k = a[9];
    Base* p = a[3] ? (Base*)&x : (Base*)&y;
    a[0] = p->f(a[1]);
}

// Eight conditions that live at once: P2R and R2P.
__global__ void predicates(const float** p, float* o, int i) {
    bool c[8];
    for (int k = 0; k < 8; k++) c[k] = o[k] > i;
    for (int k = 0; k < 8; k++) o[8 + k] = sinf(o[k]) + c[k] + c[(k + 3) & 7];
}
