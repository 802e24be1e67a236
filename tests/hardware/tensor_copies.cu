// Copies of tensors by descriptors (TMA) that wait for a time, not for bytes, so that none can hang.

struct alignas(64) Map { char bytes[128]; };
typedef unsigned long long Long;
static __device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void start(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static __device__ int passed(unsigned barrier) {
    int v;
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.s32 %0, 1, 0, p;\n}" : "=r"(v) : "r"(barrier) : "memory");
    return v;
}
#define TILE(n) "cp.async.bulk.tensor." #n "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {"
#define IM2COL(n) "cp.async.bulk.tensor." #n "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {"
#define END "}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) : "memory"
#define WITH_OFFSETS "r"(to), "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "h"(off[0]), "h"(off[1]), "h"(off[2]) : "memory"

static __device__ void copy_in(unsigned to, const Map *map, unsigned barrier, int how, const int *at, const int *offsets) {
    unsigned short off[3] = {(unsigned short)offsets[0], (unsigned short)offsets[1], (unsigned short)offsets[2]};
    switch (how) {
        case 1: asm volatile(TILE(1) "%3" END); break;
        case 2: asm volatile(TILE(2) "%3, %4" END); break;
        case 3: asm volatile(TILE(3) "%3, %4, %5" END); break;
        case 4: asm volatile(TILE(4) "%3, %4, %5, %6" END); break;
        case 5: asm volatile(TILE(5) "%3, %4, %5, %6, %7" END); break;
        case 13: asm volatile(IM2COL(3) "%3, %4, %5}], [%2], {%8};" ::WITH_OFFSETS); break;
        case 14: asm volatile(IM2COL(4) "%3, %4, %5, %6}], [%2], {%8, %9};" ::WITH_OFFSETS); break;
        case 15: asm volatile(IM2COL(5) "%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::WITH_OFFSETS); break;
    }
}

// What lies in shared memory after the copy, whether its `bytes` all came, and how long it took, or `times` of them.
extern "C" __global__ void load(const __grid_constant__ Map map, int how, const int *at_, unsigned char *out, int bytes, int times, int size, int *told) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ __align__(8) Long word;
    __shared__ int at[8];
    unsigned barrier = shared_address(&word), to = shared_address(s);
    for (int i = threadIdx.x; i < size; i += blockDim.x) s[i] = 0xEE;
    if (threadIdx.x < 8) at[threadIdx.x] = at_[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        start(barrier, bytes * times);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        Long t0 = clock64(), t1 = t0;
        for (int n = 0; n < times; n++) copy_in(to, &map, barrier, how, at, at + 5);
        bool done = false;
        while (t1 - t0 < 60000) {
            done = passed(barrier);
            t1 = clock64();
            if (done) break;
        }
        told[0] = done;
        told[1] = (int)(t1 - t0);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = s[i];
}

#define OUT(n, what, kind, list) asm volatile("cp." what "async.bulk.tensor." #n "d.global.shared::cta" kind ".bulk_group [%0, {" list "}], [%1];" ::"l"(map), "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) : "memory")
#define REDUCE(op) OUT(2, "reduce.", "." op ".tile", "%2, %3")
static __device__ void copy_out(const Map *map, unsigned from, int how, const int *at) {
    switch (how) {
        case 1: OUT(1, "", ".tile", "%2"); break;
        case 2: OUT(2, "", ".tile", "%2, %3"); break;
        case 3: OUT(3, "", ".tile", "%2, %3, %4"); break;
        case 4: OUT(4, "", ".tile", "%2, %3, %4, %5"); break;
        case 5: OUT(5, "", ".tile", "%2, %3, %4, %5, %6"); break;
        case 13: OUT(3, "", ".im2col_no_offs", "%2, %3, %4"); break;
        case 14: OUT(4, "", ".im2col_no_offs", "%2, %3, %4, %5"); break;
        case 15: OUT(5, "", ".im2col_no_offs", "%2, %3, %4, %5, %6"); break;
        case 20: REDUCE("add"); break;
        case 21: REDUCE("min"); break;
        case 22: REDUCE("max"); break;
        case 23: REDUCE("inc"); break;
        case 24: REDUCE("dec"); break;
        case 25: REDUCE("and"); break;
        case 26: REDUCE("or"); break;
        case 27: REDUCE("xor"); break;
    }
}
// A box of the tensor from `in`; `times` of them are timed.
extern "C" __global__ void store(const __grid_constant__ Map map, int how, const int *at_, const unsigned char *in, int times, int size, int *told) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ int at[8];
    for (int i = threadIdx.x; i < size; i += blockDim.x) s[i] = in[i];
    if (threadIdx.x < 8) at[threadIdx.x] = at_[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        Long t0 = clock64();
        for (int n = 0; n < times; n++) copy_out(&map, shared_address(s), how, at);
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
        told[1] = (int)(clock64() - t0);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        told[0] = 1;
    }
}

// Bulk copies, `times` of them: 0 from global, 1 to global, 2 to the next block of the cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk(unsigned char *at, int how, int bytes, int times, int *told) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ __align__(8) Long word;
    unsigned barrier = shared_address(&word), here = shared_address(s), rank, there, remote;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = threadIdx.x; i < 32768; i += blockDim.x) s[i] = i;
    if (threadIdx.x == 0) start(barrier, bytes * times);
    asm volatile("fence.proxy.async;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0) {
        Long t0 = clock64(), t1 = t0;
        asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(here));
        asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(barrier));
        for (int n = 0; n < times; n++) {
            if (how == 0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(here), "l"(at), "r"(bytes), "r"(barrier) : "memory");
            if (how == 1) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(at), "r"(here), "r"(bytes) : "memory");
            if (how == 2) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there), "r"(here), "r"(bytes), "r"(remote) : "memory");
        }
        bool done = false;
        if (how == 1) asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
        else while (t1 - t0 < 100000 && !done) { done = how == 0 && passed(barrier); t1 = clock64(); }
        t1 = clock64();
        told[0] = done, told[1] = (int)(t1 - t0);
    }
    if (threadIdx.x == 0 && rank == 1 && how == 2) {
        Long t0 = clock64(), t1 = t0;
        bool done = false;
        while (t1 - t0 < 100000 && !done) { done = passed(barrier); t1 = clock64(); }
        told[2] = done, told[3] = (int)(t1 - t0);
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// One warp's requests to the next block of the cluster (or, near, to its own), `times` of them: 0 ld, 1 st, 2 atom; 4 bytes, or 8, or 16.
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote(int how, int near, const int *places, int times, int *told) {
    extern __shared__ __align__(1024) unsigned char s[];
    unsigned rank, lane = threadIdx.x, place = places[lane];
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((int *)s)[i] = 0;
    unsigned there, here = shared_address(s) + place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(near ? rank : rank ^ 1));
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0 && !(place >> 31)) {
        unsigned a = 0, b, c, d, sum = 0;
        unsigned t0 = clock();
        if (how == 0) for (int n = 0; n < times; n++) { asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(a) : "r"(there + (a & 0)) : "memory"); sum += a; }
        if (how == 10) for (int n = 0; n < times; n++) { asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(there) : "memory"); sum += a ^ b; }
        if (how == 20) for (int n = 0; n < times; n++) { asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(there) : "memory"); sum += a ^ b ^ c ^ d; }
        if (how == 1) for (int n = 0; n < times; n++) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(n) : "memory");
        if (how == 11) for (int n = 0; n < times; n++) asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %1};" ::"r"(there), "r"(n) : "memory");
        if (how == 21) for (int n = 0; n < times; n++) asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(there), "r"(n) : "memory");
        if (how == 2) for (int n = 0; n < times; n++) { asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(a) : "r"(there) : "memory"); sum += a; }
        if (how == 3) for (int n = 0; n < times; n++) asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(there) : "memory");
        unsigned t1 = clock();
        asm volatile("fence.acq_rel.cluster;" ::: "memory");
        unsigned t2 = clock();
        told[3 * lane] = t1 - t0, told[3 * lane + 1] = t2 - t0, told[3 * lane + 2] = sum;
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
