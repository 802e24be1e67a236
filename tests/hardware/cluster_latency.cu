// What accesses to other blocks of a cluster take, by the clock of an SM: loads, stores, atomics, barriers, mbarriers,
// st.async, copies between blocks and multicasts. cluster_latency.py says what the readings are.
// time: (block, warp, passes, readings) of uint32. The first pass meets cold caches.
#include <cstdint>
#define DEVICE static __device__ __forceinline__
extern __shared__ __align__(1024) unsigned char shared[];
DEVICE uint32_t now() { uint32_t t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
DEVICE uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE uint32_t rank() { uint32_t r; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(r)); return r; }
DEVICE uint32_t blocks() { uint32_t r; asm volatile("mov.u32 %0,%%cluster_nctarank;" : "=r"(r)); return r; }
DEVICE uint32_t map(uint32_t a, uint32_t to) { uint32_t r; asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(to)); return r; }
DEVICE void together() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
DEVICE void init(uint32_t b, uint32_t n) { asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" :: "r"(b), "r"(n) : "memory"); }
DEVICE void ready() { asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async;" ::: "memory"); }
DEVICE void expect(uint32_t b, uint32_t n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" :: "r"(b), "r"(n) : "memory"); }
DEVICE void wait(uint32_t b, uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[%0],%1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" :: "r"(b), "r"(parity) : "memory");
}
DEVICE void pause(uint32_t cycles) { uint32_t s = now(); while (now() - s < cycles); }
#define TIMES _Pragma("unroll") for (int n = 0; n < 16; n++)
#define PLACE(r) (time + ((blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * passes + p) * (r))
enum { LOADS, CHAIN, LOADS_16, STORES, STORES_16, REDS, ATOMS, ATOM_CHAIN, CAS, EXCHANGES, ASYNC, ASYNC_16, LOADS_8 };

// 16 * count requests of each warp of the first `active` blocks to the block `to` ranks on; lane l goes to byte stride * l.
// Readings: start, all issued, all results there, a fence behind them.
template <int HOW> DEVICE void requests(uint32_t *time, int passes, int to, int stride, int active, int count) {
    __shared__ __align__(8) uint64_t word;
    uint32_t own = rank(), there = map(at(shared), (own + to) % blocks()), counts = map(at(&word), (own + to) % blocks()), x = 0, y = 0, z = 0, w = 0;
    for (int n = threadIdx.x; n < 8192; n += blockDim.x) ((uint32_t *)shared)[n] = 0;
    there += stride * (threadIdx.x % 32) & 32767;
    if (threadIdx.x == 0) init(at(&word), 1), ready();
    for (int p = 0; p < passes; p++) {
        together();
        if (own < active) {
            pause(3000);
            uint32_t t0 = now(), t1, t2, t3, r[16];
            for (int k = 0; k < count; k++) {
                if (HOW == LOADS) { TIMES asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];" : "=r"(r[n]) : "r"(there) : "memory"); TIMES x += r[n]; }
                if (HOW == CHAIN) { TIMES asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];" : "=r"(x) : "r"(there + x) : "memory"); }
                if (HOW == LOADS_8) { TIMES { asm volatile("ld.volatile.shared::cluster.v2.u32 {%0,%1},[%2];" : "=r"(r[n]), "=r"(y) : "r"(there) : "memory"); } TIMES x += r[n]; }
                if (HOW == LOADS_16) { TIMES { asm volatile("ld.volatile.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(r[n]), "=r"(y), "=r"(z), "=r"(w) : "r"(there) : "memory"); } TIMES x += r[n]; }
                if (HOW == STORES) { TIMES asm volatile("st.volatile.shared::cluster.u32 [%0],%1;" :: "r"(there), "r"(x) : "memory"); }
                if (HOW == STORES_16) { TIMES asm volatile("st.volatile.shared::cluster.v4.u32 [%0],{%1,%1,%1,%1};" :: "r"(there), "r"(x) : "memory"); }
                if (HOW == REDS) { TIMES asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0],%1;" :: "r"(there), "r"(x) : "memory"); }
                if (HOW == ATOMS) { TIMES asm volatile("atom.relaxed.cluster.shared::cluster.or.b32 %0,[%1],%2;" : "=r"(r[n]) : "r"(there), "r"(0) : "memory"); TIMES x += r[n]; }
                if (HOW == ATOM_CHAIN) { TIMES asm volatile("atom.relaxed.cluster.shared::cluster.or.b32 %0,[%1],%2;" : "=r"(x) : "r"(there + x), "r"(0) : "memory"); }
                if (HOW == CAS) { TIMES asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0,[%1],1,2;" : "=r"(x) : "r"(there + x) : "memory"); }
                if (HOW == EXCHANGES) { TIMES asm volatile("atom.relaxed.cluster.shared::cluster.exch.b32 %0,[%1],%2;" : "=r"(r[n]) : "r"(there), "r"(0) : "memory"); TIMES x += r[n]; }
                if (HOW == ASYNC) { TIMES asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" :: "r"(there), "r"(x), "r"(counts) : "memory"); }
                if (HOW == ASYNC_16) { TIMES asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0],{%1,%1,%1,%1},[%2];" :: "r"(there), "r"(x), "r"(counts) : "memory"); }
            }
            t1 = now();
            if (x + y + z + w == 7) time[0] = 1;
            t2 = now();
            asm volatile("fence.acq_rel.cluster;" ::: "memory");
            t3 = now();
            uint32_t *to_ = PLACE(4);
            if (threadIdx.x % 32 == 0) to_[0] = t0, to_[1] = t1, to_[2] = t2, to_[3] = t3;
        }
    }
    together();
}
#define REQUESTS(name, how) extern "C" __global__ void __launch_bounds__(1024) name(uint32_t *time, int passes, int to, int stride, int active, int count) { requests<how>(time, passes, to, stride, active, count); }
REQUESTS(loads, LOADS) REQUESTS(chain, CHAIN) REQUESTS(loads_8, LOADS_8) REQUESTS(loads_16, LOADS_16) REQUESTS(stores, STORES) REQUESTS(stores_16, STORES_16) REQUESTS(reds, REDS)
REQUESTS(atoms, ATOMS) REQUESTS(atom_chain, ATOM_CHAIN) REQUESTS(cas_chain, CAS) REQUESTS(exchanges, EXCHANGES) REQUESTS(async_stores, ASYNC) REQUESTS(async_stores_16, ASYNC_16)

// Readings: start, 16 barriers of the cluster later; before and behind an arrival; long after that, before and behind the wait.
extern "C" __global__ void __launch_bounds__(1024) barriers(uint32_t *time, int passes) {
    for (int p = 0; p < passes; p++) {
        together();
        uint32_t t[6];
        t[0] = now();
        TIMES together();
        t[1] = now();
        pause(3000);
        t[2] = now();
        asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
        t[3] = now();
        pause(3000);
        t[4] = now();
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        t[5] = now();
        uint32_t *to = PLACE(6);
        if (threadIdx.x % 32 == 0) for (int n = 0; n < 6; n++) to[n] = t[n];
    }
}

enum { ARRIVE, STORE_ASYNC, PLAIN, COPY, ADD_ASYNC, EXPECT };
// One thread of the first block and one of block `to` answer each other, 16 times. Readings: start, end.
template <int HOW> DEVICE void ping(uint32_t *time, int passes, int to, int bytes) {
    __shared__ __align__(8) uint64_t word;
    __shared__ volatile uint32_t flag;
    uint32_t own = rank(), other = own ? 0 : to, b = at(&word), there = map(b, other), data = map(at(shared), other), set = map(at((const void *)&flag), other);
    if (threadIdx.x == 0) init(b, 1), flag = 0, ready();
    int phase = 0;
    for (int p = 0; p < passes; p++) {
        together();
        if ((own == 0 || own == to) && threadIdx.x == 0) {
            pause(3000);
            uint32_t t0 = now();
            for (int n = 0; n < 16; n++, phase++)
                for (int turn = 0; turn < 2; turn++)
                    if (turn == (own == 0)) {  // the other's
                        if (HOW == STORE_ASYNC || HOW == COPY || HOW == ADD_ASYNC) expect(b, HOW == COPY ? bytes : 4);
                        if (HOW == PLAIN) while (flag != phase + 1);
                        else wait(b, phase & 1);
                    } else {
                        if (HOW == ARRIVE) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%0];" :: "r"(there) : "memory");
                        if (HOW == EXPECT) asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _,[%0],0;" :: "r"(there) : "memory");
                        if (HOW == STORE_ASYNC) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" :: "r"(data), "r"(n), "r"(there) : "memory");
                        if (HOW == ADD_ASYNC) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0],%1,[%2];" :: "r"(data), "r"(n), "r"(there) : "memory");
                        if (HOW == COPY) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" :: "r"(data), "r"(at(shared) + 65536), "r"(bytes), "r"(there) : "memory");
                        if (HOW == PLAIN) asm volatile("st.volatile.shared::cluster.u32 [%0],%1;" :: "r"(set), "r"(phase + 1) : "memory");
                    }
            uint32_t t1 = now(), *place = PLACE(2);
            place[0] = t0, place[1] = t1;
        }
    }
    together();
}
#define PING(name, how) extern "C" __global__ void name(uint32_t *time, int passes, int to, int bytes) { ping<how>(time, passes, to, bytes); }
PING(ping_arrive, ARRIVE) PING(ping_store, STORE_ASYNC) PING(ping_plain, PLAIN) PING(ping_copy, COPY) PING(ping_add, ADD_ASYNC) PING(ping_expect, EXPECT)

// `count` copies of `bytes` each into every block. how 0: the first block's, to all; 1: each block's, one part of as many to
// all; 2: each block's, to itself. Readings of each block: start, all issued, all come.
extern "C" __global__ void multicast(uint32_t *time, int passes, const char *buffer, int bytes, int count, int how) {
    __shared__ __align__(8) uint64_t word;
    uint32_t own = rank(), b = at(&word), to = at(shared), all = blocks();
    uint16_t mask = (1 << all) - 1;
    if (threadIdx.x == 0) init(b, 1), ready();
    for (int p = 0; p < passes; p++) {
        if (threadIdx.x == 0) expect(b, bytes * count);
        together();
        if (threadIdx.x == 0) {
            pause(1000);
            uint32_t t0 = now();
            uint32_t part = how == 1 ? bytes / all : bytes, from = how == 1 ? own * part : 0;
            if (how || own == 0) for (int n = 0; n < count; n++) {
                if (how < 2) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1],%2,[%3],%4;" :: "r"(to + n * bytes + from), "l"(buffer + n * bytes + from), "r"(part), "r"(b), "h"(mask) : "memory");
                else asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" :: "r"(to + n * bytes), "l"(buffer + n * bytes), "r"(part), "r"(b) : "memory");
            }
            uint32_t t1 = now();
            wait(b, p & 1);
            uint32_t t2 = now(), *place = PLACE(3);
            place[0] = t0, place[1] = t1, place[2] = t2;
        }
        together();
    }
}

// 16 mapa, each of the last one's result. Readings: start, end.
extern "C" __global__ void mapas(uint32_t *time, int passes) {
    uint32_t a = at(shared) + passes;
    for (int p = 0; p < passes; p++) {
        pause(500);
        uint32_t t0 = now();
        TIMES a = map(a, a & 1);
        if (a == 7) time[0] = 1;
        uint32_t t1 = now(), *place = PLACE(2);
        if (threadIdx.x % 32 == 0) place[0] = t0, place[1] = t1;
    }
}

// Of each block: the SM, its clock and the timer at the begin.
extern "C" __global__ void __launch_bounds__(1024) where(uint32_t *found) {
    uint32_t sm, t = now();
    uint64_t timer;
    asm volatile("mov.u32 %0,%%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(timer));
    if (threadIdx.x == 0) found[4 * blockIdx.x] = sm, found[4 * blockIdx.x + 1] = t, found[4 * blockIdx.x + 2] = (uint32_t)timer, found[4 * blockIdx.x + 3] = (uint32_t)(timer >> 32);
    pause(2000);
    together();
}
extern "C" __global__ void nothing(uint32_t *found) {}
