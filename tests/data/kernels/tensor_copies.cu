// Copies of tensors by descriptors (TMA), bulk copies in all directions, and maps that a kernel changes.

struct alignas(64) Map { char bytes[128]; };
static __device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void start(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static __device__ void wait(unsigned barrier) {
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(barrier) : "memory");
}
#define LOAD "cp.async.bulk.tensor."
#define TO ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "

// A box of a tensor of 1 to 5 axes, as it lies in shared memory.
extern "C" __global__ void load(const __grid_constant__ Map map, int axes, const int *at, unsigned char *out, int bytes) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ __align__(8) unsigned long long word;
    unsigned barrier = shared_address(&word), to = shared_address(s);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) s[i] = 0xEE;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
        start(barrier, bytes);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (axes == 1) asm volatile(LOAD "1d" TO "[%0], [%1, {%3}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(at[0]) : "memory");
        if (axes == 2) asm volatile(LOAD "2d" TO "[%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]) : "memory");
        if (axes == 3) asm volatile(LOAD "3d" TO "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]) : "memory");
        if (axes == 4) asm volatile(LOAD "4d" TO "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]) : "memory");
        if (axes == 5) asm volatile(LOAD "5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to), "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "l"(0x1234567812345678ull) : "memory");
    }
    __syncthreads();
    wait(barrier);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = s[i];
}

// What lies in `in` goes to a box of the tensor: how 0 stores it, 1 adds it, 2 takes the larger.
extern "C" __global__ void store(const __grid_constant__ Map map, const unsigned char *in, int bytes, int x, int y, int how) {
    extern __shared__ __align__(1024) unsigned char s[];
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) s[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned from = shared_address(s);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (how == 0) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
        if (how == 1) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
        if (how == 2) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map), "r"(x), "r"(y) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// One block loads for several of its cluster.
extern "C" __global__ void __cluster_dims__(4) multicast(const __grid_constant__ Map map, float *out, unsigned short blocks) {
    __shared__ __align__(128) float s[64];
    __shared__ __align__(8) unsigned long long word;
    unsigned barrier = shared_address(&word), rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    s[threadIdx.x] = s[threadIdx.x + 32] = -1;
    if (threadIdx.x == 0) start(barrier, 256);
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 1 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(s)), "l"(&map), "r"(barrier), "r"(0), "r"(1), "h"(blocks) : "memory");
    if (blocks >> rank & 1) wait(barrier);
    out[64 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
    out[64 * blockIdx.x + threadIdx.x + 32] = s[threadIdx.x + 32];
}

// Bulk copies and reductions between the blocks of a cluster, and reductions of floats.
extern "C" __global__ void __cluster_dims__(2) bulk(unsigned *out, unsigned *counts, unsigned short *halves, unsigned short *brains, float *floats, double *doubles) {
    __shared__ __align__(16) unsigned mine[64], got[64];
    __shared__ __align__(8) unsigned long long word;
    unsigned barrier = shared_address(&word), rank, there, remote;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    mine[threadIdx.x] = 1000 * rank + threadIdx.x, mine[threadIdx.x + 32] = 2;
    got[threadIdx.x] = got[threadIdx.x + 32] = 2 * threadIdx.x;
    if (threadIdx.x == 0) start(barrier, 128 + 128);
    asm volatile("fence.proxy.async;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(got)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(barrier), "r"(rank ^ 1));
    if (threadIdx.x == 0) {
        unsigned from = shared_address(mine);
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(there), "r"(from), "r"(remote) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], 128, [%2];" ::"r"(there + 128), "r"(from), "r"(remote) : "memory");
        if (rank == 1) {
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], 128;" ::"l"(counts), "r"(from) : "memory");
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], 64;" ::"l"(halves), "r"(from) : "memory");
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], 64;" ::"l"(brains), "r"(from) : "memory");
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" ::"l"(floats), "r"(from) : "memory");
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], 128;" ::"l"(doubles), "r"(from) : "memory");
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" ::"l"(counts) : "memory");
        }
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
    wait(barrier);
    out[64 * blockIdx.x + threadIdx.x] = got[threadIdx.x];
    out[64 * blockIdx.x + threadIdx.x + 32] = got[threadIdx.x + 32];
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
