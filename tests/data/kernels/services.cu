// What the driver, the copy engine and memory do for a kernel: see tests/machine/test_services.py.
#include <cassert>
#include <cstdint>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void prints(int v, double d, const char *s) {
    if (threadIdx.x == 1) printf("%s|%-6s|%c%%|%lld|%#x|%u|%5.2e|%g|%a\n", s, "ab", 'x', -12345678901LL, v, -v, d, d, d);
    printf("%d.%d %*d|%-5d|%05d|%+d|%.3f %o %p\n", blockIdx.x, threadIdx.x, 4, v, v, v, v, d, v, (void *)0);
}

extern "C" __global__ void asserts(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) printf("block %d\n", blockIdx.x);
    assert(i < n);
}

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    int side;
    __device__ Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Line : Shape {
    __device__ int area() const override { return 0; }
};

extern "C" __global__ void allocates(int *out) {
    int x = threadIdx.x, *list = (int *)malloc(x * sizeof(int)), sum = 0;
    for (int i = 0; i < x; ++i) list[i] = i;
    Shape *shape = x & 1 ? (Shape *)new Square(x) : (Shape *)new Line;
    for (int i = 0; i < x; ++i) sum += list[i];
    out[x] = sum + shape->area();
    delete shape;
    free(list);
}

extern "C" __global__ void exhausts(int *out) {
    char *all = (char *)malloc(6 << 20), *more = (char *)malloc(6 << 20);
    *out = (all != 0) + 2 * (more == 0);
    free(all);
    *out += 4 * (malloc(6 << 20) == all);
}

// Atomics through pointers of which only the program's run tells where they lead.
extern "C" __global__ void atomics(unsigned long long *l, float *f, double *d, int *i, int in_shared) {
    __shared__ unsigned long long sl[4];
    __shared__ float sf[4];
    __shared__ double sd[4];
    __shared__ int si[4];
    int x = threadIdx.x;
    if (x < 4) sl[x] = 10, sf[x] = 1, sd[x] = 1, si[x] = 0;
    __syncthreads();
    bool here = in_shared == 2 ? x & 1 : in_shared;
    auto pl = here ? sl : l;
    auto pf = here ? sf : f;
    auto pd = here ? sd : d;
    auto pi = here ? si : i;
    atomicAdd(pl, 1ull);
    atomicMax(pl + 1, (unsigned long long)x);
    atomicMin((long long *)pl + 2, -(long long)x);
    atomicCAS(pl + 3, 10ull, (unsigned long long)x + 100);
    atomicAdd(pf, 0.5f);
    pf[1] = atomicExch(pf + 2, 7.0f);
    atomicAdd(pd, 0.25);
    int old = atomicAdd(pi, 1);
    atomicMax(pi + 1, old);
    __syncthreads();
    if (x < 4) l[4 + x] = sl[x], f[4 + x] = sf[x], d[4 + x] = sd[x], i[4 + x] = si[x];
}

extern "C" __global__ void half_atomics(__half2 *h, __nv_bfloat162 *b, float2 *f) {
    int x = threadIdx.x;
    atomicAdd(h, __floats2half2_rn(x, 0.5f));
    atomicAdd(b, __floats2bfloat162_rn(1, -(x & 7)));
    h[1 + x] = atomicAdd(h + 33, __floats2half2_rn(1, 2));
    float2 old = atomicAdd(f, make_float2(x, 1e-40f));
    f[1 + x].y = old.y;
}

extern "C" __global__ void eighths(const float *in, unsigned char *e4m3, unsigned char *e5m2, __half *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    e4m3[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3);
    e5m2[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
    if (i < 256) {
        from[i] = __half(__nv_cvt_fp8_to_halfraw(i, __NV_E4M3));
        from[256 + i] = __half(__nv_cvt_fp8_to_halfraw(i, __NV_E5M2));
    }
}

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Each of n threads copies a piece of 64 words; all wait; every thread changes its words; the pieces go back.
extern "C" __global__ void bulk(const int *in, int *out, int *sum, int n) {
    __shared__ __align__(128) int s[256];
    __shared__ uint64_t barrier;
    int x = threadIdx.x;
    unsigned b = shared_address(&barrier), piece = shared_address(s + 64 * x);
    if (x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(n) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (x < n) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     ::"r"(piece), "l"(in + 64 * x), "r"(b) : "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(b) : "memory");
    for (int i = x; i < 64 * n; i += blockDim.x) s[i] += 1000;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (x < n) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out + 64 * x), "r"(piece));
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;"
                     ::"l"(sum), "r"(piece));
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// Half of the threads leave a barrier for good; copies arrive at it for the others.
extern "C" __global__ void leaves(const int *in, int *out) {
    __shared__ uint64_t barrier;
    __shared__ int s[128];
    int x = threadIdx.x;
    unsigned b = shared_address(&barrier);
    if (x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(b) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(s + x)), "l"(in + x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(b) : "memory");
    if (x < 64) {
        asm volatile("{.reg .b64 t; mbarrier.arrive_drop.shared.b64 t, [%0];}" ::"r"(b) : "memory");
        return;
    }
    for (int phase = 0; phase < 3; ++phase) {
        asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0];}" ::"r"(b) : "memory");
        unsigned done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                         : "=r"(done) : "r"(b), "r"(phase & 1) : "memory");
    }
    out[x - 64] = s[127 - x];
}

// Neighbours' sums, step by step: every step needs what the whole grid did in the one before.
extern "C" __global__ void grid_steps(int *a, int steps) {
    auto grid = cooperative_groups::this_grid();
    int n = grid.size(), i = grid.thread_rank();
    for (int step = 0; step < steps; ++step) {
        int sum = a[(step & 1) * n + i] + a[(step & 1) * n + (i + 33) % n];
        a[(~step & 1) * n + i] = sum;
        grid.sync();
    }
}

// The first block does not come to the barrier.
extern "C" __global__ void grid_alone(int *a) {
    auto grid = cooperative_groups::this_grid();
    if (blockIdx.x) grid.sync();
    a[blockIdx.x] = 1;
}

// D = popc(A op B) + C for A of 16 rows and B of 8 columns of 256 bits: rows of 8 words.
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, int *both, int *either) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned a0 = a[8 * g + t], a1 = a[8 * (g + 8) + t], a2 = a[8 * g + t + 4], a3 = a[8 * (g + 8) + t + 4];
    unsigned b0 = b[8 * g + t], b1 = b[8 * g + t + 4];
    for (int n = 0; n < 2; ++n) {
        int *d = n ? either : both, c[4] = {n, n, n, n};
        if (n)
            asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        else
            asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        d[8 * g + 2 * t] = c[0], d[8 * g + 2 * t + 1] = c[1];
        d[8 * (g + 8) + 2 * t] = c[2], d[8 * (g + 8) + 2 * t + 1] = c[3];
    }
}
