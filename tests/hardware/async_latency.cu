// What asynchronous instructions take on one SM, by its clock: bulk and tensor copies, mbarriers, products of warp groups.
// Each pass stores raw readings; nothing is evaluated here. The first pass meets cold caches.
// time: (block, warp or 1, passes, readings) of uint32. async_latency.py says what the readings are.
#include <cstdint>
#define DEVICE static __device__ __forceinline__
struct alignas(64) Map { char bytes[128]; };
extern __shared__ __align__(1024) unsigned char shared[];
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
DEVICE uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE void init(uint32_t b, uint32_t n) { asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" :: "r"(b), "r"(n) : "memory"); }
DEVICE void ready() { asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async;" ::: "memory"); }
DEVICE void expect(uint32_t b, uint32_t n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" :: "r"(b), "r"(n) : "memory"); }
DEVICE void arrive(uint32_t b) { asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" :: "r"(b) : "memory"); }
DEVICE void wait(uint32_t b, uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" :: "r"(b), "r"(parity) : "memory");
}
DEVICE void tensor_in(uint32_t to, const Map *m, uint32_t b, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%3,%4}],[%2];" :: "r"(to), "l"(m), "r"(b), "r"(x), "r"(y) : "memory");
}
DEVICE void bulk_in(uint32_t to, const char *from, uint32_t b, int bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" :: "r"(to), "l"(from), "r"(bytes), "r"(b) : "memory");
}
DEVICE void tensor_out(uint32_t from, const Map *m, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0,{%2,%3}],[%1];" :: "l"(m), "r"(from), "r"(x), "r"(y) : "memory");
}
DEVICE void tensor_add(uint32_t from, const Map *m, int x, int y) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0,{%2,%3}],[%1];" :: "l"(m), "r"(from), "r"(x), "r"(y) : "memory");
}
DEVICE void bulk_out(uint32_t from, char *to, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" :: "l"(to), "r"(from), "r"(bytes) : "memory");
}
DEVICE void bulk_add(uint32_t from, char *to, int bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0],[%1],%2;" :: "l"(to), "r"(from), "r"(bytes) : "memory");
}
#define WAIT_GROUP(n, how) asm volatile("cp.async.bulk.wait_group" how " " #n ";" ::: "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
DEVICE void pause() { uint32_t s = now(); while (now() - s < 3000); }

#define ALIGNED (bytes + 1023 & ~1023)
// Copies in, `count` of `bytes` each, that one mbarrier waits for. Readings: start, all issued, all come.
template <bool TENSOR> DEVICE void in(uint32_t *time, char *buffer, const Map *map, int bytes, int rows, int count, int passes) {
    __shared__ __align__(8) uint64_t word;
    if (threadIdx.x) return;
    uint32_t b = at(&word), to = at(shared);
    buffer += blockIdx.x * 262144; time += blockIdx.x * passes * 3;
    init(b, 1); ready();
    for (int p = 0; p < passes; p++) {
        pause();
        uint32_t t0 = now();
        expect(b, bytes * count);
        for (int n = 0; n < count; n++)
            if (TENSOR) tensor_in(to + n * ALIGNED, map, b, 0, (blockIdx.x * count + n) * rows); else bulk_in(to + n * bytes, buffer + n * bytes, b, bytes);
        uint32_t t1 = now();
        wait(b, p & 1);
        uint32_t t2 = now();
        time[3 * p] = t0, time[3 * p + 1] = t1, time[3 * p + 2] = t2;
    }
}
extern "C" __global__ void bulk_in_(uint32_t *time, char *buffer, const __grid_constant__ Map map, int bytes, int rows, int count, int passes) { in<false>(time, buffer, &map, bytes, rows, count, passes); }
extern "C" __global__ void tensor_in_(uint32_t *time, char *buffer, const __grid_constant__ Map map, int bytes, int rows, int count, int passes) { in<true>(time, buffer, &map, bytes, rows, count, passes); }

// A ring of `count` stages, each issued again as soon as it has come, 64 copies in all. Readings: start, end.
template <bool TENSOR> DEVICE void ring(uint32_t *time, char *buffer, const Map *map, int bytes, int rows, int count, int passes) {
    __shared__ __align__(8) uint64_t words[16];
    if (threadIdx.x) return;
    uint32_t b = at(words), to = at(shared);
    buffer += blockIdx.x * 262144; time += blockIdx.x * passes * 3;
    for (int n = 0; n < count; n++) init(b + 8 * n, 1);
    ready();
    for (int p = 0; p < passes; p++) {
        pause();
        uint32_t t0 = now();
        for (int n = 0; n < 64 + count; n++) {
            int s = n % count, round = n / count + p * ((64 + count) / count);
            if (n >= count) wait(b + 8 * s, (round - 1) & 1);
            if (n < 64) {
                expect(b + 8 * s, bytes);
                if (TENSOR) tensor_in(to + s * ALIGNED, map, b + 8 * s, 0, (blockIdx.x * count + s) * rows); else bulk_in(to + s * bytes, buffer + s * bytes, b + 8 * s, bytes);
            }
        }
        uint32_t t1 = now();
        time[3 * p] = t0, time[3 * p + 1] = t0, time[3 * p + 2] = t1;
        for (int n = 0; n < count; n++) init(b + 8 * n, 1);  // an even start for the next pass
        ready();
    }
}
extern "C" __global__ void bulk_ring(uint32_t *time, char *buffer, const __grid_constant__ Map map, int bytes, int rows, int count, int passes) { ring<false>(time, buffer, &map, bytes, rows, count, 1); }
extern "C" __global__ void tensor_ring(uint32_t *time, char *buffer, const __grid_constant__ Map map, int bytes, int rows, int count, int passes) { ring<true>(time, buffer, &map, bytes, rows, count, 1); }

// Copies out, `count` in one group. Readings: start, group committed, source read, all written.
template <int HOW> DEVICE void out(uint32_t *time, char *buffer, const Map *map, int bytes, int rows, int count, int passes) {
    for (int n = threadIdx.x; n < 49152; n += 32) ((uint32_t *)shared)[n] = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncwarp();
    if (threadIdx.x) return;
    uint32_t from = at(shared);
    buffer += blockIdx.x * 262144; time += blockIdx.x * passes * 4;
    for (int p = 0; p < passes; p++) {
        pause();
        uint32_t t0 = now();
        for (int n = 0; n < count; n++) {
            if (HOW == 0) bulk_out(from + n * bytes, buffer + n * bytes, bytes);
            if (HOW == 1) tensor_out(from + n * ALIGNED, map, 0, (blockIdx.x * count + n) * rows);
            if (HOW == 2) bulk_add(from + n * bytes, buffer + n * bytes, bytes);
            if (HOW == 3) tensor_add(from + n * ALIGNED, map, 0, (blockIdx.x * count + n) * rows);
        }
        COMMIT();
        uint32_t t1 = now();
        WAIT_GROUP(0, ".read");
        uint32_t t2 = now();
        WAIT_GROUP(0, "");
        uint32_t t3 = now();
        time[4 * p] = t0, time[4 * p + 1] = t1, time[4 * p + 2] = t2, time[4 * p + 3] = t3;
    }
}
#define OUT(name, how) extern "C" __global__ void name(uint32_t *time, char *buffer, const __grid_constant__ Map map, int bytes, int rows, int count, int passes) { out<how>(time, buffer, &map, bytes, rows, count, passes); }
OUT(bulk_out_, 0) OUT(tensor_out_, 1) OUT(bulk_add_, 2) OUT(tensor_add_, 3)

// One warp and one mbarrier, each thing 16 times. Readings: start and end of each of the things.
#define TIMES _Pragma("unroll") for (int n = 0; n < 16; n++)
#define STEP(what) t[k++] = now(); TIMES { what; } t[k++] = now();
extern "C" __global__ void mbarrier_steps(uint32_t *time, int passes, int lanes) {
    __shared__ __align__(8) uint64_t words[8];
    uint32_t b = at(words), t[20];
    if (threadIdx.x == 0) { init(b, lanes); init(b + 8, 1 << 19); init(b + 16, lanes); for (int n = 0; n < 1; n++) ready(); }
    __syncwarp();
    if (threadIdx.x >= lanes) return;
    for (int p = 0; p < passes; p++) {
        pause();
        int k = 0;
        STEP(arrive(b); wait(b, n & 1))
        STEP(arrive(b + 8))
        STEP(wait(b + 8, 1))
        STEP(expect(b + 16, 0))
        STEP(asm volatile("fence.proxy.async;" ::: "memory"))
        STEP(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"))
        STEP(asm volatile("{\n.reg .pred p;\n.reg .b32 r;\nelect.sync r|p,%0;\n}" :: "r"(0xffffffff >> (32 - lanes)) : "memory"))
        STEP(asm volatile("cp.async.bulk.commit_group;" ::: "memory"))
        STEP(WAIT_GROUP(0, ""))
        STEP(uint32_t v; asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p,[%1],1;\nselp.u32 %0,1,0,p;\n}" : "=r"(v) : "r"(b + 8) : "memory"))
        if (threadIdx.x == 0) for (int n = 0; n < 20; n++) time[20 * p + n] = t[n];
    }
}

// Warps wait for an mbarrier at which another arrives later. Readings of each warp: when it began to wait or arrived, and when it went on.
extern "C" __global__ void mbarrier_release(uint32_t *time, int passes, int later) {
    __shared__ __align__(8) uint64_t words[2];
    uint32_t b = at(words), w = threadIdx.x / 32;
    if (threadIdx.x == 0) { init(b, 1); ready(); }
    for (int p = 0; p < passes; p++) {
        __syncthreads();
        uint32_t t0 = now(), t1;
        if (w == 0) { while (now() - t0 < later); t0 = now(); if (threadIdx.x == 0) arrive(b); t1 = now(); }
        else { wait(b, p & 1); t1 = now(); }
        if (threadIdx.x % 32 == 0) time[(w * passes + p) * 2] = t0, time[(w * passes + p) * 2 + 1] = t1;
        __syncthreads();
    }
}

// Loads of another block's shared memory, or the own through the cluster's window: a chain of 16, then 16 that are independent.
// Readings: start and end of each. Lane l goes to byte 4 * stride * l. how: 0 loads, 1 stores, 2 atomics without, 3 with a result; 4 to 7 the same of the own block's window.
template <int HOW> DEVICE void remote_of(uint32_t *time, int stride, int passes, int own) {
    uint32_t there, rank, t[4], x = 0;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    for (int n = threadIdx.x; n < 8192; n += blockDim.x) ((uint32_t *)shared)[n] = 0;
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(there) : "r"(at(shared)), "r"(own ? rank : rank ^ 1));
    there += 4 * stride * (threadIdx.x % 32);
    for (int p = 0; p < passes; p++) {
        asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
        if (rank == 0) {
            t[0] = now();
            TIMES {
                if (HOW == 0) asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];" : "=r"(x) : "r"(there + x) : "memory");
                if (HOW == 1) asm volatile("st.volatile.shared::cluster.u32 [%0],%1;" :: "r"(there), "r"(x) : "memory");
                if (HOW == 2) asm volatile("red.shared::cluster.add.u32 [%0],%1;" :: "r"(there), "r"(x) : "memory");
                if (HOW == 3) asm volatile("atom.shared::cluster.or.b32 %0,[%1],%2;" : "=r"(x) : "r"(there + x), "r"(0) : "memory");
            }
            if (x == 7) time[0] = 1;
            t[1] = now();
            uint32_t y[16];
            if (HOW == 0) {
                TIMES asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];" : "=r"(y[n]) : "r"(there) : "memory");
                TIMES x += y[n];
                if (x == 7) time[0] = 1;
            }
            t[2] = now();
            asm volatile("fence.acq_rel.cluster;" ::: "memory");
            t[3] = now();
            if (threadIdx.x % 32 == 0) for (int n = 0; n < 4; n++) time[(threadIdx.x / 32 * passes + p) * 4 + n] = t[n];
        }
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
#define REMOTE(name, how) extern "C" __global__ void __cluster_dims__(2, 1, 1) name(uint32_t *time, int stride, int passes, int own) { remote_of<how>(time, stride, passes, own); }
REMOTE(remote_ld, 0) REMOTE(remote_st, 1) REMOTE(remote_red, 2) REMOTE(remote_atom, 3)
