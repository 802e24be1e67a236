// One request to the shared memory of blocks of a cluster, 16 times, to be counted by the profiler.
#include <cstdint>
extern __shared__ __align__(1024) unsigned char shared[];
#define TIMES _Pragma("unroll") for (int n = 0; n < 16; n++)
extern "C" __global__ void __cluster_dims__(4, 1, 1) request(const uint32_t *address, const uint32_t *ranks, uint32_t mask, int how, uint32_t *out) {
    __shared__ __align__(8) uint64_t barrier;
    uint32_t rank, there, counts, x = 0, y = 0, z = 0, w = 0;
    uint64_t v = 0;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(there) : "r"((uint32_t)__cvta_generic_to_shared(shared)), "r"(ranks[threadIdx.x]));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(counts) : "r"((uint32_t)__cvta_generic_to_shared(&barrier)), "r"(ranks[threadIdx.x]));
    there += address[threadIdx.x];
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" :: "r"((uint32_t)__cvta_generic_to_shared(&barrier)) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0 && mask >> threadIdx.x & 1) switch (how) {
        case 0: TIMES asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];" : "=r"(x) : "r"(there) : "memory"); break;
        case 1: TIMES asm volatile("ld.volatile.shared::cluster.v2.u32 {%0,%1},[%2];" : "=r"(x), "=r"(y) : "r"(there) : "memory"); break;
        case 2: TIMES asm volatile("ld.volatile.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(there) : "memory"); break;
        case 3: TIMES asm volatile("st.volatile.shared::cluster.u32 [%0],%1;" :: "r"(there), "r"(x) : "memory"); break;
        case 4: TIMES asm volatile("st.volatile.shared::cluster.v2.u32 [%0],{%1,%2};" :: "r"(there), "r"(x), "r"(y) : "memory"); break;
        case 5: TIMES asm volatile("st.volatile.shared::cluster.v4.u32 [%0],{%1,%2,%3,%4};" :: "r"(there), "r"(x), "r"(y), "r"(z), "r"(w) : "memory"); break;
        case 6: TIMES asm volatile("red.shared::cluster.add.u32 [%0],1;" :: "r"(there) : "memory"); break;
        case 7: TIMES asm volatile("atom.shared::cluster.add.u32 %0,[%1],%2;" : "=r"(x) : "r"(there), "r"(address[n]) : "memory"); break;
        case 8: TIMES asm volatile("atom.shared::cluster.exch.b32 %0,[%1],%2;" : "=r"(x) : "r"(there), "r"(address[n]) : "memory"); break;
        case 9: TIMES asm volatile("atom.shared::cluster.cas.b32 %0,[%1],0,1;" : "=r"(x) : "r"(there) : "memory"); break;
        case 10: TIMES asm volatile("atom.shared::cluster.exch.b64 %0,[%1],1;" : "=l"(v) : "r"(there) : "memory"); break;
        case 11: TIMES asm volatile("ld.volatile.shared::cluster.u8 %0,[%1];" : "=r"(x) : "r"(there) : "memory"); break;
        case 12: TIMES asm volatile("st.volatile.shared::cluster.u8 [%0],%1;" :: "r"(there), "r"(x) : "memory"); break;
        case 13: TIMES asm volatile("{.reg .u16 h;\n\tld.volatile.shared::cluster.u16 h,[%1];\n\tcvt.u32.u16 %0,h;}" : "=r"(x) : "r"(there) : "memory"); break;
        case 14: TIMES asm volatile("{.reg .u16 h;\n\tcvt.u16.u32 h,%1;\n\tst.volatile.shared::cluster.u16 [%0],h;}" :: "r"(there), "r"(x) : "memory"); break;
        case 15: TIMES asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" :: "r"(there), "r"(x), "r"(counts) : "memory"); break;
        case 16: TIMES asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0],%1,[%2];" :: "r"(there), "l"(v), "r"(counts) : "memory"); break;
        case 17: TIMES asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0],{%1,%1,%1,%1},[%2];" :: "r"(there), "r"(x), "r"(counts) : "memory"); break;
    }
    if (x + y + z + w + (uint32_t)v == 0x12345) out[0] = 1;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
