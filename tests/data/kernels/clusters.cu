// Clusters of blocks: their barrier, their shared memory by C++ and by PTX, the special registers.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block's numbers go to the next block of the cluster, the last one's to the first.
extern "C" __global__ void __cluster_dims__(2, 2, 1) passed_on(int *out, const int *in) {
    __shared__ int mine[64];
    cg::cluster_group cluster = cg::this_cluster();
    int block = blockIdx.y * gridDim.x + blockIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.map_shared_rank(mine, next)[threadIdx.x] = in[64 * block + threadIdx.x];
    cluster.sync();
    out[64 * block + threadIdx.x] = mine[threadIdx.x];
}

// A histogram that lies in the shared memory of all blocks of a cluster of any size.
extern "C" __global__ void histogram(unsigned *bins, const unsigned *in, int n) {
    extern __shared__ unsigned part[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 32; i += blockDim.x) part[i] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads())
        atomicAdd(cluster.map_shared_rank(part, in[i] / 32) + in[i] % 32, 1u);
    cluster.sync();
    for (int i = threadIdx.x; i < 32; i += blockDim.x) bins[32 * cluster.block_rank() + i] = part[i];
}

// Warps of a block that wait apart; the last ones leave before the barrier is passed.
extern "C" __global__ void early(int *out) {
    __shared__ int told;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) *cluster.map_shared_rank(&told, cluster.block_rank() ^ 1) = 10 + cluster.block_rank();
    auto token = cluster.barrier_arrive();
    if (threadIdx.x >= 32 && cluster.block_rank() == 1) return;
    cluster.barrier_wait(std::move(token));
    out[blockIdx.x * blockDim.x + threadIdx.x] = told;
}

static __device__ unsigned mapped(unsigned address, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// The operations of PTX on shared::cluster: lane by lane in the block opposite.
extern "C" __global__ void by_ptx(unsigned *out) {
    __shared__ __align__(16) unsigned s[4][128];
    __shared__ unsigned counts[32];
    unsigned rank, blocks, lane = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;\n\tmov.u32 %1, %%cluster_nctarank;" : "=r"(rank), "=r"(blocks));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) s[i][4 * lane + j] = 1000 * rank + 4 * lane + j;
    counts[lane] = rank;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    unsigned other = blocks - 1 - rank, there = mapped((unsigned)__cvta_generic_to_shared(s), other) + 16 * lane;
    unsigned a, b, c, d, e, ranked, place = mapped((unsigned)__cvta_generic_to_shared(counts), other);
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(a) : "r"(there) : "memory");
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];" : "=r"(b), "=r"(c) : "r"(there + 8) : "memory");
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %1, %1, %2};" ::"r"(there + 512), "r"(lane), "r"(rank) : "memory");
    asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(there + 1024), "r"(7u) : "memory");
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], 5;" : "=r"(d) : "r"(place + 4 * lane) : "memory");
    asm volatile("atom.shared::cluster.cas.b32 %0, [%1], %2, 77;" : "=r"(e) : "r"(there + 1536), "r"(a) : "memory");
    asm volatile("red.shared::cluster.max.u32 [%0], 2000;" ::"r"(there + 1540) : "memory");
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(ranked) : "r"(there));
    unsigned x, y, z, explicitly;
    asm("mov.u32 %0, %%cluster_ctaid.x;\n\tmov.u32 %1, %%clusterid.x;\n\tmov.u32 %2, %%nclusterid.x;" : "=r"(x), "=r"(y), "=r"(z));
    asm("{.reg .pred p;\n\tmov.pred p, %%is_explicit_cluster;\n\tselp.u32 %0, 1, 0, p;}" : "=r"(explicitly));
    unsigned inside, anywhere;
    asm("{.reg .pred p;\n\t.reg .u64 g, h;\n\tcvta.shared::cluster.u64 g, %2;\n\tisspacep.shared::cta p, g;\n\tselp.u32 %0, 1, 0, p;\n\tisspacep.shared::cluster p, g;\n\tselp.u32 %1, 1, 0, p;}" : "=r"(inside), "=r"(anywhere) : "l"((unsigned long long)there));
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned values[] = {a, b, c, d, e, ranked, x, y, z, explicitly, s[1][4 * lane], s[1][4 * lane + 3], s[2][4 * lane], s[3][4 * lane], s[3][4 * lane + 1], counts[lane], inside, anywhere};
    for (int i = 0; i < 18; i++) out[(18 * blockIdx.x + i) * 32 + lane] = values[i];
}

// A block of rank 1 signals the mbarrier of rank 0, which waits for the bytes of its stores.
extern "C" __global__ void __cluster_dims__(2, 1, 1) signalled(int *out) {
    __shared__ __align__(16) int got[64];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned rank, bar = (unsigned)__cvta_generic_to_shared(&barrier), lane = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (lane == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;\n\tfence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned there = mapped((unsigned)__cvta_generic_to_shared(got), 0), remote = mapped(bar, 0);
    if (rank == 0) {
        if (lane == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(32 * 8 + 32) : "memory");
        asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(bar) : "memory");
        out[lane] = got[lane];
        out[32 + lane] = got[32 + lane];
    } else {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there + 4 * lane), "r"(lane * lane), "r"(remote) : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(there + 128), "r"(lane), "r"(remote) : "memory");
        if (lane < 2) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %1, %1, %1}, [%2];" ::"r"(there + 192 + 16 * lane), "r"(90 + lane), "r"(remote) : "memory");
        if (lane == 0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void astray(int *out) {
    __shared__ int mine;
    unsigned there = mapped((unsigned)__cvta_generic_to_shared(&mine), 5), v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
    out[0] = v;
}

// One block never arrives.
extern "C" __global__ void stuck(int *out) {
    if (blockIdx.x == 0) asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
    else asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[blockIdx.x] = 1;
}
// Each lane reads from the block of rank lane % 2: block 0 from its own shared memory and from another's.
extern "C" __global__ void __cluster_dims__(2, 1, 1) both(int *out) {
    __shared__ int tile[32];
    auto cluster = cooperative_groups::this_cluster();
    tile[threadIdx.x] = 100 * cluster.block_rank() + threadIdx.x;
    cluster.sync();
    out[32 * blockIdx.x + threadIdx.x] = cluster.map_shared_rank(tile, threadIdx.x % 2)[threadIdx.x];
    cluster.sync();
}

// A block that ends while its neighbour still loads from its shared memory, stores to it, adds to it, arrives at an mbarrier
// there or copies to it: what an H200 answers by error 719. `waits`: at its end it waits for the neighbour.
extern "C" __global__ void __cluster_dims__(2, 1, 1) ended(int *out, int how, int waits) {
    extern __shared__ __align__(16) int s[];
    unsigned rank, there, counts, v = 0, own = (unsigned)__cvta_generic_to_shared(s);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 99;" ::"r"(own) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 1 && !waits) return;
    long long until = clock64() + 20000;
    while (clock64() < until);
    there = mapped(own + 128 + 4 * threadIdx.x, 1), counts = mapped(own, 1);
    if (rank == 0) switch (how) {
        case 0: asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory"); break;
        case 1: asm volatile("st.volatile.shared::cluster.u32 [%0], 7;" ::"r"(there) : "memory"); break;
        case 2: asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(there) : "memory"); break;
        case 3: asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(counts) : "memory"); break;
        case 4: if (threadIdx.x == 0) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];" ::"r"(there), "r"(own + 512), "r"(counts) : "memory"); break;
    }
    if (v == 0x12345) out[0] = 1;
    if (waits) asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// Atomics by generic addresses, in the own block's shared memory or in the other's (`far`): an H200 counted them.
#define A(n, name, type, c) case n: asm volatile("atom." name " %0,[%1],%2;" : "=" c(x) : "l"(there), c((type)3) : "memory"); break;
extern "C" __global__ void __cluster_dims__(2, 1, 1) generic(unsigned long long *out, int how, int far) {
    extern __shared__ unsigned long long words[];
    unsigned long long *s = words, x = 0; double f = 0;
    unsigned rank; asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    for (int n = threadIdx.x; n < 512; n += 32) s[n] = n * 5 % 7;
    unsigned long long there; asm("mapa.u64 %0,%1,%2;" : "=l"(there) : "l"((unsigned long long)(s + threadIdx.x * 3)), "r"(rank ^ far));
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0) switch (how) {
        A(0, "add.u64", unsigned long long, "l") A(1, "min.u64", unsigned long long, "l") A(2, "max.s64", unsigned long long, "l") A(3, "and.b64", unsigned long long, "l")
        A(4, "or.b64", unsigned long long, "l") A(5, "xor.b64", unsigned long long, "l") A(6, "exch.b64", unsigned long long, "l")
        case 7: asm volatile("atom.cas.b64 %0,[%1],3,4;" : "=l"(x) : "l"(there) : "memory"); break;
        case 8: asm volatile("atom.add.f64 %0,[%1],0d3FF8000000000000;" : "=d"(f) : "l"(there) : "memory"); x = __double_as_longlong(f); break;
        case 9: asm volatile("red.add.u64 [%0],5;" :: "l"(there) : "memory"); break;
        case 10: asm volatile("red.add.f64 [%0],0d3FF8000000000000;" :: "l"(there) : "memory"); break;
        case 11: { float g; asm volatile("atom.add.f32 %0,[%1],0f3FC00000;" : "=f"(g) : "l"(there) : "memory"); x = __float_as_uint(g); break; }
        case 12: asm volatile("red.add.f32 [%0],0f3FC00000;" :: "l"(there) : "memory"); break;
        case 13: { unsigned g; asm volatile("atom.add.noftz.f16x2 %0,[%1],%2;" : "=r"(g) : "l"(there), "r"(0x3C003C00) : "memory"); x = g; break; }
        case 14: asm volatile("red.or.b64 [%0],9;" :: "l"(there) : "memory"); break;
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    out[rank * 1024 + threadIdx.x] = x;
    for (int n = threadIdx.x; n < 512; n += 32) out[rank * 1024 + 64 + n] = s[n];
}
