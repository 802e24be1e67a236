// Pipelines of tensor copies and products of warp groups, as libraries have them for sm_90a. `clocks`: two readings of each
// block, or null.
#include <cuda_fp16.h>
#include <cstdint>
#define DEVICE static __device__ __forceinline__
struct alignas(64) Map { char bytes[128]; };
extern __shared__ __align__(1024) unsigned char tiles[];
DEVICE uint32_t place(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
DEVICE void wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
DEVICE void init(uint32_t barrier, uint32_t count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
DEVICE void expect(uint32_t barrier, uint32_t bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
DEVICE void arrive_at(uint32_t barrier, uint32_t rank) {
    asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];\n}" ::"r"(barrier), "r"(rank) : "memory");
}
DEVICE void load(uint32_t to, const Map &map, uint32_t barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
DEVICE void load_both(uint32_t to, const Map &map, uint32_t barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "h"((unsigned short)3) : "memory");
}
DEVICE uint64_t descriptor(uint32_t address, uint32_t leading = 16, uint32_t stride = 1024) {  // lines of 128 bytes under a swizzle of 128
    return (address & 0x3FFFF) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | 1ull << 62;
}
#define EIGHT(d, n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])
#define D32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define D64 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
DEVICE void multiply128(float *d, uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " D64 ", %64, %65, 1, 1, 1, 0, 0;"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56) : "l"(a), "l"(b));
}
DEVICE void multiply64(float *d, uint64_t a, uint64_t b, int add) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D32 ", %32, %33, p, 1, 1, 0, 0;\n}"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) : "l"(a), "l"(b), "r"(add));
}
DEVICE void multiply64_turned(float *d, const uint32_t *a, uint64_t b) {  // A from registers, B's rows along K
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")

// C = A · B': 128 rows and 128 columns of a block, 64 of K at a time; a loading group of warps and two that multiply 64 rows each.
// In clusters of two along the rows of A, each block loads half of B's tile for both.
constexpr int STAGES = 3, TILE = 128 * 128, STAGE = 2 * TILE;
template <int CLUSTER> DEVICE void product_of(const Map &a, const Map &b, float *c, int k, uint32_t *clocks) {
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    uint32_t rank = 0, t0 = now();
    if (CLUSTER > 1) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) init(place(full + s), 1), init(place(empty + s), 2 * CLUSTER);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (CLUSTER > 1) asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    else __syncthreads();
    int group = threadIdx.x / 128, steps = k / 64;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int n = 0; n < steps; n++) {
                int s = n % STAGES, round = n / STAGES;
                if (round) wait(place(empty + s), round - 1 & 1);
                expect(place(full + s), STAGE);
                uint32_t to = place(tiles) + s * STAGE;
                load(to, a, place(full + s), n * 64, blockIdx.x * 128);
                if (CLUSTER == 1) {
                    load(to + TILE, b, place(full + s), n * 64, blockIdx.y * 128);
                    load(to + TILE + TILE / 2, b, place(full + s), n * 64, blockIdx.y * 128 + 64);
                } else load_both(to + TILE + rank * TILE / 2, b, place(full + s), n * 64, blockIdx.y * 128 + rank * 64);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int n = 0; n < 64; n++) d[n] = 0;
        for (int n = 0; n < steps; n++) {
            int s = n % STAGES;
            wait(place(full + s), n / STAGES & 1);
            uint32_t at = place(tiles) + s * STAGE, left = at + (group - 1) * TILE / 2;
            FENCE();
            for (int step = 0; step < 4; step++) multiply128(d, descriptor(left + 32 * step), descriptor(at + TILE + 32 * step));
            COMMIT();
            if (n) {
                WAIT(1);
                if (threadIdx.x % 128 < CLUSTER) arrive_at(place(empty + (n - 1) % STAGES), CLUSTER > 1 ? threadIdx.x % 128 : 0);
            }
        }
        WAIT(0);
        int thread = threadIdx.x % 128, row = blockIdx.x * 128 + (group - 1) * 64 + thread / 32 * 16 + thread % 32 / 4, width = gridDim.y * 128;
        for (int n = 0; n < 16; n++)
            for (int i = 0; i < 2; i++)
                *(float2 *)&c[(row + i * 8) * width + blockIdx.y * 128 + 8 * n + thread % 4 * 2] = make_float2(d[4 * n + 2 * i], d[4 * n + 2 * i + 1]);
    }
    if (CLUSTER > 1) asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    else __syncthreads();
    if (threadIdx.x == 0 && clocks) clocks[2 * (blockIdx.x + gridDim.x * blockIdx.y)] = t0, clocks[2 * (blockIdx.x + gridDim.x * blockIdx.y) + 1] = now();
}
extern "C" __global__ void __launch_bounds__(384, 1) product(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int k, uint32_t *clocks) { product_of<1>(a, b, c, k, clocks); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) product_of_two(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int k, uint32_t *clocks) { product_of<2>(a, b, c, k, clocks); }

// O = softmax(Q · K' / 8) · V for 64 rows of Q of 64 halves by a group of warps; a fifth warp loads K and V, two stages of each.
extern "C" __global__ void __launch_bounds__(160, 1) attention(const __grid_constant__ Map q, const __grid_constant__ Map keys, const __grid_constant__ Map values, float *o, int length, uint32_t *clocks) {
    __shared__ __align__(8) uint64_t come, full[2], empty[2];
    uint32_t t0 = now();
    if (threadIdx.x == 0) {
        init(place(&come), 1);
        for (int s = 0; s < 2; s++) init(place(full + s), 1), init(place(empty + s), 128);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    uint32_t qs = place(tiles), ks = qs + 8192, vs = ks + 16384;
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            expect(place(&come), 8192);
            load(qs, q, place(&come), 0, blockIdx.x * 64);
            for (int n = 0; n < length / 64; n++) {
                int s = n % 2;
                if (n > 1) wait(place(empty + s), n / 2 - 1 & 1);
                expect(place(full + s), 16384);
                load(ks + 8192 * s, keys, place(full + s), 0, n * 64);
                load(vs + 8192 * s, values, place(full + s), 0, n * 64);
            }
        }
    } else {
        float out[32], most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
        for (int n = 0; n < 32; n++) out[n] = 0;
        wait(place(&come), 0);
        for (int n = 0; n < length / 64; n++) {
            int s = n % 2;
            float score[32];
            wait(place(full + s), n / 2 & 1);
            FENCE();
            for (int step = 0; step < 4; step++) multiply64(score, descriptor(qs + 32 * step), descriptor(ks + 8192 * s + 32 * step), step);
            COMMIT();
            WAIT(0);
            uint32_t weights[16];
            for (int i = 0; i < 2; i++) {
                float m = most[i];
                for (int j = 0; j < 8; j++) m = fmaxf(m, fmaxf(score[4 * j + 2 * i], score[4 * j + 2 * i + 1]));
                m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
                m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
                float shrink = exp2f((most[i] - m) * 0.18033688f);
                most[i] = m;
                sum[i] *= shrink;
                for (int j = 0; j < 8; j++) {
                    float x = exp2f((score[4 * j + 2 * i] - m) * 0.18033688f), y = exp2f((score[4 * j + 2 * i + 1] - m) * 0.18033688f);
                    sum[i] += x + y;
                    out[4 * j + 2 * i] *= shrink, out[4 * j + 2 * i + 1] *= shrink;
                    __half2 both = __floats2half2_rn(x, y);
                    weights[2 * j + i] = *(uint32_t *)&both;
                }
            }
            FENCE();
            for (int step = 0; step < 4; step++) multiply64_turned(out, weights + 4 * step, descriptor(vs + 8192 * s + 2048 * step, 16, 1024));
            COMMIT();
            WAIT(0);
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(empty + s)) : "memory");
        }
        int row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
        for (int i = 0; i < 2; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], 1);
            sum[i] += __shfl_xor_sync(~0u, sum[i], 2);
            for (int j = 0; j < 8; j++)
                *(float2 *)&o[(row + 8 * i) * 64 + 8 * j + threadIdx.x % 4 * 2] = make_float2(out[4 * j + 2 * i] / sum[i], out[4 * j + 2 * i + 1] / sum[i]);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && clocks) clocks[2 * blockIdx.x] = t0, clocks[2 * blockIdx.x + 1] = now();
}

// Column sums of a matrix: each block adds the rows of its tile of 64 by 32, then adds its line to the sums by a tensor reduction.
extern "C" __global__ void column_sums(const __grid_constant__ Map in, const __grid_constant__ Map out) {
    __shared__ __align__(128) float tile[64][32], line[32];
    __shared__ __align__(8) uint64_t come;
    if (threadIdx.x == 0) {
        init(place(&come), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(place(&come), sizeof tile);
        load(place(tile), in, place(&come), blockIdx.x * 32, blockIdx.y * 64);
    }
    __syncthreads();
    wait(place(&come), 0);
    float sum = 0;
    for (int row = 0; row < 64; row++) sum += tile[row][threadIdx.x];
    line[threadIdx.x] = sum;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&out), "r"(place(line)), "r"(blockIdx.x * 32) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// A convolution of 3 by 3 over an image of (n, height, width, 16 channels), weights one for each tap and channel: im2col loads of 64 pixels.
extern "C" __global__ void convolution(const __grid_constant__ Map image, const float *weights, float *out, int pixels, int width, int height) {
    __shared__ __align__(128) float tile[64][16];
    __shared__ __align__(8) uint64_t come;
    if (threadIdx.x == 0) { init(place(&come), 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    __syncthreads();
    float sum = 0;
    int first = blockIdx.x * 64, x = first % width, y = first / width % height, n = first / width / height;
    for (int tap = 0; tap < 9; tap++) {
        if (threadIdx.x == 0) {
            expect(place(&come), sizeof tile);
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(place(tile)), "l"(&image), "r"(place(&come)),
                         "r"(0), "r"(x - 1), "r"(y - 1), "r"(n), "h"((unsigned short)(tap % 3)), "h"((unsigned short)(tap / 3)) : "memory");
        }
        wait(place(&come), tap & 1);
        for (int channel = 0; channel < 16; channel++) sum += tile[threadIdx.x][channel] * weights[16 * tap + channel];
        __syncthreads();
    }
    if (first + threadIdx.x < pixels) out[first + threadIdx.x] = sum;
}
