// Some warps access shared memory, others global memory, as fast as they can: arbitration.py says which, and where.

typedef unsigned Word;

struct Case {
    char* global;
    Word* out;
    Word shared_warps, global_warps;          // masks
    Word requests, global_requests;           // of each warp
    Word lane, place;                         // bytes from lane to lane in shared memory, and to the first
    Word global_lane, lanes;                  // … in global memory, where lane i does as lane i % lanes
    Word step, wrap;                          // from request to request there, modulo wrap + 1
    Word few, quiet;                          // whether only these lanes store; no clocks are stored
};

#define LOAD4 asm volatile("ld.volatile.shared.b32 %0,[%1];" : "=r"(a) : "r"(s)); v ^= a;
#define LOAD16 \
    asm volatile("ld.volatile.shared.v4.b32 {%0,%1,%2,%3},[%4];" \
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s)); v ^= a ^ b ^ c ^ d;
#define MATRICES \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" \
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s)); v ^= a ^ b ^ c ^ d;
#define STORE4 asm volatile("st.volatile.shared.b32 [%0],%1;" ::"r"(s), "r"(v) : "memory");
#define STORE16 asm volatile("st.volatile.shared.v4.b32 [%0],{%1,%1,%1,%1};" ::"r"(s), "r"(v) : "memory");
#define ATOM \
    asm volatile("atom.shared.add.u32 %0,[%1],%2;" \
    : "=r"(a) : "r"(s), "r"(lane + 2) : "memory"); v ^= a;
#define NOTHING

#define FAR_LOAD4 asm volatile("ld.global.b32 %0,[%1];" : "=r"(a) : "l"(p)); v ^= a;
#define FAR_LOAD16 \
    asm volatile("ld.global.v4.b32 {%0,%1,%2,%3},[%4];" \
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p)); v ^= a ^ b ^ c ^ d;
#define FAR_LOAD_L2 asm volatile("ld.global.cg.b32 %0,[%1];" : "=r"(a) : "l"(p)); v ^= a;
#define FAR_STORE4 \
    if (!q.few || lane < q.lanes) asm volatile("st.global.b32 [%0],%1;" \
    ::"l"(p), "r"(v) : "memory");
#define FAR_STORE16 asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(v) : "memory");
#define FAR_ADD asm volatile("red.global.add.u32 [%0],%1;" ::"l"(p), "r"(lane + 2) : "memory");
#define FAR_ATOM \
    asm volatile("atom.global.add.u32 %0,[%1],%2;" \
    : "=r"(a) : "l"(p), "r"(lane + 2) : "memory"); v ^= a;
#define COPY(HOW) \
    asm volatile("cp.async." HOW ".shared.global [%0],[%1],16;" \
    ::"r"(base + q.place + 8192 + 512 * rank + 16 * lane), "l"(p) : "memory");

#define KERNEL(NAME, NEAR, FAR)                                                                       \
    extern "C" __global__ void NAME(Case q) {                                                         \
        extern __shared__ char memory[];                                                              \
        Word warp = threadIdx.x / 32, lane = threadIdx.x % 32, v = 0, a = 0, b = 0, c = 0, d = 0;     \
        Word base = (Word)__cvta_generic_to_shared(memory), begin, end;                               \
        Word rank = __popc(q.global_warps & ((1u << warp) - 1));                                      \
        Word s = base + lane * q.lane + q.place + 512 * warp;                                         \
        char *first = q.global + ((size_t)rank << 20) + lane % q.lanes * q.global_lane, *p = first;   \
        v = __syncthreads_or(v == 12345);                                                             \
        asm volatile("mov.u32 %0,%%clock;" : "=r"(begin)::"memory");                                  \
        if (q.shared_warps >> warp & 1)                                                               \
            for (Word i = 0; i < q.requests; i += 8) { NEAR NEAR NEAR NEAR NEAR NEAR NEAR NEAR }      \
        else if (q.global_warps >> warp & 1)                                                          \
            for (Word i = 0, at = 0; i < q.global_requests; i += 4) {                                 \
                p = first + at; at = (at + q.step) & q.wrap; FAR                                      \
                p = first + at; at = (at + q.step) & q.wrap; FAR                                      \
                p = first + at; at = (at + q.step) & q.wrap; FAR                                      \
                p = first + at; at = (at + q.step) & q.wrap; FAR                                      \
                asm volatile("cp.async.wait_all;" ::: "memory");                                      \
            }                                                                                         \
        asm volatile("mov.u32 %0,%%clock;" : "=r"(end)::"memory");                                    \
        if (v == 0x1234567) q.out[5000] = v;                                                          \
        __syncthreads();                                                                              \
        if (lane < 2 && !q.quiet) q.out[(32 * blockIdx.x + warp) % 64 * 2 + lane] = lane ? end : begin; \
    }

#define BESIDE(NAME, NEAR)                        \
    KERNEL(NAME##_nothing, NEAR, NOTHING)         \
    KERNEL(NAME##_load4, NEAR, FAR_LOAD4)         \
    KERNEL(NAME##_load16, NEAR, FAR_LOAD16)       \
    KERNEL(NAME##_load_l2, NEAR, FAR_LOAD_L2)     \
    KERNEL(NAME##_store4, NEAR, FAR_STORE4)       \
    KERNEL(NAME##_store16, NEAR, FAR_STORE16)     \
    KERNEL(NAME##_add, NEAR, FAR_ADD)             \
    KERNEL(NAME##_atom, NEAR, FAR_ATOM)           \
    KERNEL(NAME##_copy, NEAR, COPY("ca"))         \
    KERNEL(NAME##_copy_l2, NEAR, COPY("cg"))

BESIDE(load4, LOAD4)
BESIDE(load16, LOAD16)
BESIDE(matrices, MATRICES)
BESIDE(store4, STORE4)
BESIDE(store16, STORE16)
BESIDE(atom, ATOM)
