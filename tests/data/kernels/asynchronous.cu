// Clocks around what a warp starts and does not wait for.
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned now() { unsigned t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t) :: "memory"); return t; }
__device__ void init(unsigned b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void arrive(unsigned b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(b) : "memory"); }
__device__ void wait(unsigned b, int parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" :: "r"(b), "r"(parity) : "memory");
}
// Two groups of copies by cp.async; readings: both committed, the first has come, the second has.
extern "C" __global__ void groups(unsigned *out, const float4 *from) {
    __shared__ float4 tile[2][32];
    for (int n = 0; n < 2; n++)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;" :: "r"(place(&tile[n][threadIdx.x])), "l"(from + 32 * n + threadIdx.x) : "memory");
    unsigned t0 = now();
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    unsigned t1 = now();
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    unsigned t2 = now();
    if (threadIdx.x == 0) out[0] = t0, out[1] = t1, out[2] = t2;
    if (tile[1][threadIdx.x].x == 7) out[0] = 1;
}
// Warp 0 waits for warp 1, which arrives late; readings: when each begins, when warp 1 has arrived, when warp 0 goes on.
extern "C" __global__ void late(unsigned *out, int cycles) {
    __shared__ __align__(8) unsigned long long word;
    if (threadIdx.x == 0) init(place(&word), 1);
    __syncthreads();
    unsigned t0 = now(), t1;
    if (threadIdx.x < 32) wait(place(&word), 0);
    else { while (now() - t0 < cycles); if (threadIdx.x == 32) arrive(place(&word)); }
    t1 = now();
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 16] = t0, out[threadIdx.x / 16 + 1] = t1;
}
// A bulk copy in, whose mbarrier is waited for by try_wait or polled by test_wait; then one out. Readings: start, come, start, gone.
extern "C" __global__ void bulk(unsigned *out, char *at, int bytes, int polls) {
    extern __shared__ __align__(128) char tile[];
    __shared__ __align__(8) unsigned long long word;
    if (threadIdx.x) return;
    unsigned b = place(&word), done = 0;
    init(b, 1);
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async;" ::: "memory");
    unsigned t0 = now();
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(place(tile)), "l"(at), "r"(bytes), "r"(b) : "memory");
    if (polls)
        while (!done) asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(b) : "memory");
    else wait(b, 0);
    unsigned t1 = now();
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(at), "r"(place(tile)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    unsigned t2 = now();
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    out[0] = t0, out[1] = t1, out[2] = t2, out[3] = now();
}
// A copy by cp.async that arrives at an mbarrier; readings: it has been issued, the phase is over.
extern "C" __global__ void counted(unsigned *out, const float4 *from, int noinc) {
    __shared__ float4 tile[32];
    __shared__ __align__(8) unsigned long long word;
    if (threadIdx.x == 0) init(place(&word), 32);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place(&tile[threadIdx.x])), "l"(from + threadIdx.x) : "memory");
    if (noinc) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(place(&word)) : "memory");
    else {
        asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(place(&word)) : "memory");
        arrive(place(&word));
    }
    unsigned t0 = now();
    wait(place(&word), 0);
    unsigned t1 = now();
    if (threadIdx.x == 0) out[0] = t0, out[1] = t1;
    if (tile[threadIdx.x].x == 7) out[0] = 1;
}
// Warp 0 waits at the last of many mbarriers for warp 1, which arrives late: by an arrival, or by the bytes of a store. Warp 1 then waits for
// warp 0 at the one before. Readings as of `late`.
extern "C" __global__ void many(unsigned *out, int count, int cycles, int by_bytes) {
    extern __shared__ __align__(16) unsigned long long words[];
    for (int n = threadIdx.x; n < count; n += blockDim.x) init(place(words + n), 1);
    __syncthreads();
    unsigned t0 = now(), t1, last = place(words + count - 1);
    if (threadIdx.x == 0 && by_bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;" :: "r"(last) : "memory");
    if (threadIdx.x < 32) {
        wait(last, 0);
        t1 = now();
        if (threadIdx.x == 0) arrive(last - 8);
    } else {
        while (now() - t0 < cycles);
        if (threadIdx.x == 32 && by_bytes) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(place(words)), "r"(1), "r"(last) : "memory");
        else if (threadIdx.x == 32) arrive(last);
        t1 = now();
        wait(last - 8, 0);
    }
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 16] = t0, out[threadIdx.x / 16 + 1] = t1;
}
// The second of three mbarriers waits for a bulk copy, the third for nothing. Readings: start, what the third waits for, the second.
extern "C" __global__ void two(unsigned *out, const char *at, int bytes) {
    __shared__ __align__(128) char tile[4096];
    extern __shared__ __align__(16) unsigned long long words[];
    unsigned slow = place(words + 1), fast = place(words + 2);
    init(slow, 1);
    init(fast, 1);
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async;" ::: "memory");
    unsigned t0 = now();
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(slow), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(place(tile)), "l"(at), "r"(bytes), "r"(slow) : "memory");
    arrive(fast);
    wait(fast, 0);
    unsigned t1 = now();
    wait(slow, 0);
    out[0] = t0, out[1] = t1, out[2] = now();
}
