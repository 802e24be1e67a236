// Races between the blocks of a cluster: planted where RACE stands, and correct kernels. BARRIER: a barrier is missing before.
#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
#define KERNEL(NAME) extern "C" __global__ void NAME
#define DEVICE static __device__ __forceinline__
DEVICE uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE uint32_t there(uint32_t p, uint32_t rank) { uint32_t r; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(rank)); return r; }
DEVICE void init(uint64_t *b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(at(b)), "r"(n) : "memory"); }
DEVICE void arrive(uint32_t b) { asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory"); }
DEVICE void expect(uint64_t *b, int n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(n) : "memory"); }
DEVICE void await(uint64_t *b, int parity) { asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra L;\n}" ::"r"(at(b)), "r"(parity) : "memory"); }
DEVICE void meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

KERNEL(ring)(int *out, const int *in) {
    __shared__ int mine[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.map_shared_rank(mine, next)[t] = in[t];
    cluster.sync();
    out[t] = mine[127 - t];
    cluster.sync();
    mine[t] = t;
    cluster.sync();
    out[t] += cluster.map_shared_rank(mine, next)[t ^ 1];
    cluster.sync();
}

KERNEL(racy_ring)(int *out, const int *in) {
    __shared__ int mine[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.map_shared_rank(mine, next)[t] = in[t];  // RACE
    __syncthreads();
    out[t] = mine[127 - t];  // RACE BARRIER
    cluster.sync();
}

// Warps of one block: a barrier of the block orders them, and nothing does in the last loop.
KERNEL(racy_own)(int *out, const int *in) {
    __shared__ int mine[128];
    int t = threadIdx.x;
    for (int n = 0; n < 3; n++) {
        mine[t] = in[t] + n;  // RACE BARRIER
        __syncthreads();
        out[t] += mine[127 - t];  // RACE
    }
    cg::this_cluster().sync();
}

KERNEL(blocks_alone)(int *out, const int *in) {
    __shared__ int mine[128];
    int t = threadIdx.x;
    for (int n = 0; n < 3; n++) {
        mine[t] = in[t] + n;
        __syncthreads();
        out[t] += mine[127 - t];
        asm volatile("barrier.sync 1, 128;" ::: "memory");
    }
}

// What is done between the arrival and the wait is in no order with others.
KERNEL(racy_between)(int *out, const int *in) {
    __shared__ int mine[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    mine[t] = in[t];  // RACE
    auto token = cluster.barrier_arrive();
    out[t] = cluster.map_shared_rank(mine, next)[t];  // RACE BARRIER
    cluster.barrier_wait(std::move(token));
    cluster.sync();
}

KERNEL(work_between)(int *out, const int *in) {
    __shared__ int mine[128], other[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    for (int n = 0; n < 3; n++) {
        mine[t] = in[t] + n;
        auto token = cluster.barrier_arrive();
        other[t] = n;
        cluster.barrier_wait(std::move(token));
        out[t] += cluster.map_shared_rank(mine, next)[t] + other[t];
        cluster.sync();
    }
}

KERNEL(racy_histogram)(int *out, const int *in) {
    __shared__ int bins[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    bins[t] = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(bins, in[t] % cluster.num_blocks()) + in[t] % 128, 1);  // RACE
    __syncthreads();
    out[t] = bins[t];  // RACE BARRIER
    cluster.sync();
}

KERNEL(histogram)(int *out, const int *in) {
    __shared__ int bins[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    bins[t] = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(bins, in[t] % cluster.num_blocks()) + in[t] % 128, 1);
    cluster.sync();
    out[t] = bins[t];
}

// Block 0 takes what the others put into its memory; an mbarrier there counts who is done, the sender's who has read (the
// racy one: who will).
template <bool READ> DEVICE void racy_mailbox_by(int *out, const int *in) {
    __shared__ int box[128];
    __shared__ __align__(8) uint64_t full, empty;
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
    if (t == 0) init(&full, 128), init(&empty, 128);
    meet();
    for (int n = 0; n < 4; n++) {
        if (rank == 0) {
            await(&full, n & 1);
            if (!READ) arrive(there(at(&empty), 1));
            out[t] += box[127 - t];  // RACE
            if (READ) arrive(there(at(&empty), 1));
        } else if (rank == 1) {
            if (n) await(&empty, n - 1 & 1);
            cluster.map_shared_rank(box, 0)[t] = in[t] + n;  // RACE BARRIER
            arrive(there(at(&full), 0));
        }
    }
    meet();
}
extern "C" __global__ void mailbox(int *out, const int *in) { racy_mailbox_by<true>(out, in); }
extern "C" __global__ void racy_mailbox(int *out, const int *in) { racy_mailbox_by<false>(out, in); }

// The same by st.async, whose bytes the mbarrier counts.
template <bool WAIT> DEVICE void racy_letters_by(int *out, const int *in) {
    __shared__ int got[128], sum;
    __shared__ __align__(8) uint64_t come;
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank(), to = (rank + 1) % cluster.num_blocks();
    if (t == 0) init(&come, 1), sum = 0;
    meet();
    if (t == 0) expect(&come, 8 * 128);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there(at(got + t), to)), "r"(in[t]), "r"(there(at(&come), to)) : "memory");  // RACE
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(there(at(&sum), to)), "r"(t), "r"(there(at(&come), to)) : "memory");
    if (WAIT) await(&come, 0);
    out[t] = got[127 - t] + (WAIT ? sum : 0);  // RACE BARRIER
    meet();
}
extern "C" __global__ void letters(int *out, const int *in) { racy_letters_by<true>(out, in); }
extern "C" __global__ void racy_letters(int *out, const int *in) { racy_letters_by<false>(out, in); }

// One block's bulk copy for all of them, which tell it when they have read: the racy one before.
template <bool READ> DEVICE void racy_multicast_by(int *out, const int *in) {
    __shared__ __align__(128) int tile[128];
    __shared__ __align__(8) uint64_t full, empty;
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank(), blocks = cluster.num_blocks();
    if (t == 0) init(&full, 1), init(&empty, 4 * blocks);
    meet();
    for (int n = 0; n < 3; n++) {
        if (t == 0) expect(&full, 512);
        if (t == 0 && rank == 0) {
            if (n) await(&empty, n - 1 & 1);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 512, [%2], %3;" ::"r"(at(tile)), "l"(in), "r"(at(&full)), "h"((unsigned short)((1 << blocks) - 1)) : "memory");  // RACE BARRIER
        }
        await(&full, n & 1);
        if (!READ && t % 32 == 0) arrive(there(at(&empty), 0));
        out[t] += tile[127 - t];  // RACE
        __syncwarp();
        if (READ && t % 32 == 0) arrive(there(at(&empty), 0));
    }
    meet();
}
extern "C" __global__ void multicast(int *out, const int *in) { racy_multicast_by<true>(out, in); }
extern "C" __global__ void racy_multicast(int *out, const int *in) { racy_multicast_by<false>(out, in); }

// Nobody writes the last words that the neighbour reads.
KERNEL(unwritten)(int *out, const int *in) {
    __shared__ int mine[128];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (t < 100) mine[t] = in[t];
    cluster.sync();
    out[t] = cluster.map_shared_rank(mine, next)[t];
    cluster.sync();
}
