// One atomic, or copy that tells an mbarrier, to the shared memory of blocks of a cluster, 16 times, to be counted by the profiler.
#include <cstdint>
extern __shared__ __align__(1024) unsigned char shared[];
#define TIMES _Pragma("unroll") for (int n = 0; n < 16; n++)
#define AT "r"(there) : "memory"
#define DO(x) { TIMES asm volatile x; break; }
extern "C" __global__ void request(const uint32_t *address, const uint32_t *ranks, uint32_t mask, int how, uint32_t from, uint32_t *out) {
    uint32_t rank, there, counts, x = 0, own = (uint32_t)__cvta_generic_to_shared(shared);
    uint64_t v = 0, u = 0;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(there) : "r"(own + address[threadIdx.x]), "r"(ranks[threadIdx.x]));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(counts) : "r"(own), "r"(ranks[threadIdx.x]));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" :: "r"(own) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == from && mask >> threadIdx.x & 1) switch (how) {
        case 0: DO(("red.shared::cluster.add.u32 [%0],1;" :: AT))
        case 1: DO(("atom.shared::cluster.add.u32 %0,[%2],%1;" : "=r"(x) : "r"(address[n]), AT))
        case 2: DO(("atom.shared::cluster.exch.b32 %0,[%2],%1;" : "=r"(x) : "r"(address[n]), AT))
        case 3: DO(("atom.shared::cluster.cas.b32 %0,[%1],0,1;" : "=r"(x) : AT))
        case 4: DO(("atom.shared::cluster.exch.b64 %0,[%1],1;" : "=l"(v) : AT))
        case 5: DO(("atom.shared::cluster.cas.b64 %0,[%1],0,1;" : "=l"(v) : AT))
        case 6: DO(("red.shared::cluster.add.u64 [%1],%0;" :: "l"((uint64_t)n), AT))
        case 7: DO(("atom.shared::cluster.add.u64 %0,[%1],7;" : "=l"(v) : AT))
        case 8: DO(("atom.shared::cluster.min.s32 %0,[%1],5;" : "=r"(x) : AT))
        case 9: DO(("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%2],%0,[%1];" :: "r"(x), "r"(counts), AT))
        case 10: DO(("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%2],%0,[%1];" :: "l"(v), "r"(counts), AT))
        case 11: DO(("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%2],{%0,%0,%0,%0},[%1];" :: "r"(x), "r"(counts), AT))
        case 12: DO(("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%2],%0,[%1];" :: "r"(x), "r"(counts), AT))
        case 13: DO(("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%2],%0,[%1];" :: "l"(v), "r"(counts), AT))
        case 14: DO(("{.reg .b128 q,p;\n\tmov.b128 p,{%1,%1};\n\tatom.shared::cluster.exch.b128 q,[%2],p;\n\tmov.b128 {%0,_},q;}" : "=l"(v) : "l"(u), AT))
        case 15: DO(("{.reg .b128 q,p;\n\tmov.b128 p,{%1,%1};\n\tatom.shared::cluster.cas.b128 q,[%2],p,p;\n\tmov.b128 {%0,_},q;}" : "=l"(v) : "l"(u), AT))
        case 16: DO(("atom.shared::cluster.inc.u32 %0,[%1],9;" : "=r"(x) : AT))
        case 17: DO(("red.shared::cluster.xor.b32 [%0],3;" :: AT))
        case 18: DO(("red.shared::cluster.max.u64 [%1],%0;" :: "l"((uint64_t)n), AT))
    }
    if (x + (uint32_t)v == 0x12345) out[0] = 1;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
