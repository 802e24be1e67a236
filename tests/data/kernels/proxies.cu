// Races of bulk copies, tensor copies and products of warp groups, which use the asynchronous proxy: planted ones are
// marked RACE, what is wanted BARRIER in front of the line. Blocks of 128 threads. For sm_90a.

struct alignas(64) Map { char bytes[128]; };
typedef unsigned long long Tile;
constexpr int THREADS = 128, STAGES = 2, STEPS = 6;
#define KERNEL(name) extern "C" __global__ void name(const __grid_constant__ Map map, int *out, const int *in)
#define SHARED __shared__ __align__(1024) int s[1024]; __shared__ __align__(128) int b[64]; Tile left = tile(s), right = tile(b); asm volatile("" : "+l"(left), "+l"(right)); float d[4] = {}; int t = threadIdx.x
#define FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define MULTIPLY(left, right) asm volatile("wgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n\twgmma.commit_group.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(left), "l"(right) : "memory")
#define AWAIT_PRODUCTS(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory")
#define STORE_OUT(to, from) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;\n\tcp.async.bulk.commit_group;" ::"l"(to), "r"(place(from)) : "memory")
#define TENSOR_STORE(from) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %2}], [%1];\n\tcp.async.bulk.commit_group;" ::"l"(&map), "r"(place(from)), "r"(0) : "memory")
#define TENSOR_LOAD(to, barrier) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3}], [%2];" ::"r"(place(to)), "l"(&map), "r"(place(barrier)), "r"(0) : "memory")
#define AWAIT_READS(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define LOAD(to, from, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(place(to)), "l"(from), "r"(place(barrier)) : "memory")
#define INIT(barrier, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(count) : "memory")
#define EXPECT(barrier, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(barrier)) : "memory")
#define FILLED(words) SHARED; for (int n = 0; n < words; n++) s[t + THREADS * n] = in[t]; if (t < 64) b[t] = in[t]; FENCE; __syncthreads()
#define ONE_BARRIER SHARED; __shared__ __align__(8) long long full; if (t == 0) INIT(&full, 1); __syncthreads()
#define STAGED SHARED; __shared__ __align__(8) long long full[STAGES], empty[STAGES]; for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t]; if (t == 0) for (int n = 0; n < STAGES; n++) { INIT(full + n, 1); INIT(empty + n, 1); } FENCE; __syncthreads()
#define PRODUCT_OUT AWAIT_PRODUCTS(0); out[t] = d[0]

static __device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void wait(const void *barrier, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(place(barrier)), "r"(parity) : "memory");
}
// 64 rows or 8 of 16 halves without a swizzle: core matrices of 128 bytes, two to 8 rows. A warp has 512 bytes of 64 rows.
static __device__ Tile tile(const void *p) { return (place(p) & 0x3FFFF) >> 4 | 8ull << 16 | 16ull << 32; }

// ---- products
KERNEL(clean_product) {
    FILLED(4);
    MULTIPLY(left, right);
    AWAIT_PRODUCTS(0);
    __syncthreads();
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = d[n];
    __syncthreads();
    out[t] = s[THREADS - 1 - t] + s[512 - THREADS + t];
}

KERNEL(clean_fence_behind_the_barrier) {
    SHARED;
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t];
    if (t < 64) b[t] = in[t];
    __syncthreads();
    FENCE;
    MULTIPLY(left, right);
    PRODUCT_OUT;
}

KERNEL(clean_rows_of_its_own) {
    SHARED;
    if (t < 64) b[t] = in[t];
    FENCE;
    __syncthreads();
    for (int n = 0; n < 4; n++) s[t / 32 * 128 + t % 32 + 32 * n] = in[t];
    FENCE;
    __syncwarp();
    MULTIPLY(left, right);
    AWAIT_PRODUCTS(0);
    for (int n = 0; n < 4; n++) s[t / 32 * 128 + t % 32 + 32 * n] = d[n];
    out[t] = s[t / 32 * 128 + (t + 1) % 32];
}

KERNEL(racy_product_without_fence) {
    SHARED;
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t];  // RACE
    if (t < 64) b[t] = in[t];                                // RACE
    __syncthreads();
    MULTIPLY(left, right);  // RACE BARRIER
    PRODUCT_OUT;
}

KERNEL(racy_fence_before_the_write) {
    SHARED;
    if (t < 64) b[t] = in[t];
    FENCE;
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t];  // RACE
    __syncthreads();
    MULTIPLY(left, right);  // RACE BARRIER
    PRODUCT_OUT;
}

KERNEL(racy_copies_into_a_product_without_fence) {
    SHARED;
    if (t < 64) b[t] = in[t];
    FENCE;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(s + 4 * t)), "l"(in + 4 * t) : "memory");  // RACE
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    MULTIPLY(left, right);  // RACE BARRIER
    PRODUCT_OUT;
}

KERNEL(racy_product_without_barrier) {
    SHARED;
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t];  // RACE
    if (t < 64) b[t] = in[t];                                // RACE
    FENCE;
    MULTIPLY(left, right);  // RACE BARRIER
    PRODUCT_OUT;
}

KERNEL(racy_product_not_awaited) {
    FILLED(4);
    MULTIPLY(left, right);  // RACE
    __syncthreads();
    if (t < 64) b[t] = in[t + 64];  // RACE BARRIER
    PRODUCT_OUT;
}

KERNEL(clean_last_product_may_run) {
    FILLED(8);
    MULTIPLY(left, right);
    MULTIPLY(left + 128, right);
    AWAIT_PRODUCTS(1);
    __syncthreads();
    for (int n = 0; n < 4; n++) s[t + THREADS * n] = in[t];
    PRODUCT_OUT;
}

KERNEL(racy_product_too_many_in_flight) {
    FILLED(8);
    MULTIPLY(left, right);
    MULTIPLY(left + 128, right);  // RACE
    AWAIT_PRODUCTS(1);
    __syncthreads();
    for (int n = 4; n < 8; n++) s[t + THREADS * n] = in[t];  // RACE BARRIER
    PRODUCT_OUT;
}

// ---- copies out of shared memory
KERNEL(clean_store) {
    SHARED;
    for (int n = 0; n < 3; n++) {
        if (t == 0) AWAIT_READS(0);
        __syncthreads();
        s[t] = in[t] + n;
        FENCE;
        __syncthreads();
        if (t == 0) STORE_OUT(out + THREADS * n, s);
    }
    out[t] = left + right + d[0];
}

KERNEL(clean_two_stores_in_turn) {
    SHARED;
    for (int n = 0; n < 4; n++) {
        if (t == 0) AWAIT_READS(1);
        __syncthreads();
        s[n % 2 * THREADS + t] = in[t] + n;
        FENCE;
        __syncthreads();
        if (t == 0) STORE_OUT(out + THREADS * n, s + n % 2 * THREADS);
    }
    out[t] = left + right + d[0];
}

KERNEL(racy_store_too_many_in_flight) {
    SHARED;
#pragma unroll 1
    for (int n = 0; n < 4; n++) {
        if (t == 0) AWAIT_READS(2);
        __syncthreads();
        s[n % 2 * THREADS + t] = in[t] + n;  // RACE BARRIER
        FENCE;
        __syncthreads();
        if (t == 0) STORE_OUT(out + THREADS * n, s + n % 2 * THREADS);  // RACE
    }
    out[t] = left + right + d[0];
}

KERNEL(racy_store_without_fence) {
    SHARED;
    s[t] = in[t];  // RACE
    __syncthreads();
    if (t == 0) STORE_OUT(out, s);  // RACE BARRIER
    out[t] = left + right + d[0];
}

KERNEL(clean_tensor_store) {
    SHARED;
    for (int n = 0; n < 8; n++) s[t + THREADS * n] = in[t];
    FENCE;
    __syncthreads();
    if (t == 0) TENSOR_STORE(s);
    if (t == 0) AWAIT_READS(0);
    __syncthreads();
    s[t] = left + right + d[0];
    out[t] = s[t];
}

KERNEL(racy_tensor_store_without_fence) {
    SHARED;
    for (int n = 0; n < 8; n++) s[t + THREADS * n] = in[t];  // RACE
    __syncthreads();
    if (t == 0) TENSOR_STORE(s);  // RACE BARRIER
    out[t] = left + right + d[0];
}

KERNEL(racy_tensor_store_not_awaited) {
    SHARED;
    for (int n = 0; n < 8; n++) s[t + THREADS * n] = in[t];
    FENCE;
    __syncthreads();
    if (t == 0) TENSOR_STORE(s);  // RACE
    __syncthreads();
    s[t] = left + right + d[0];  // RACE BARRIER
    out[t] = s[t];
}

// ---- copies into shared memory
KERNEL(clean_tensor_load) {
    ONE_BARRIER;
    if (t == 0) EXPECT(&full, 4096);
    if (t == 0) TENSOR_LOAD(s, &full);
    wait(&full, 0);
    out[t] = s[2 * t] + left + right + d[0];
}

KERNEL(racy_tensor_load_read_at_once) {
    ONE_BARRIER;
    if (t == 0) EXPECT(&full, 4096);
    if (t == 0) TENSOR_LOAD(s, &full);  // RACE
    __syncthreads();
    out[t] = s[2 * t] + left + right + d[0];  // RACE BARRIER
    wait(&full, 0);
}

KERNEL(clean_load_over_what_was_written) {
    ONE_BARRIER;
    s[t] = -1;
    FENCE;
    __syncthreads();
    if (t == 0) EXPECT(&full, 512);
    if (t == 0) LOAD(s, in, &full);
    wait(&full, 0);
    out[t] = s[2 * t % 128] + left + right + d[0];
}

KERNEL(racy_load_over_what_was_written) {
    ONE_BARRIER;
    s[t] = -1;  // RACE
    __syncthreads();
    if (t == 0) EXPECT(&full, 512);
    if (t == 0) LOAD(s, in, &full);  // RACE BARRIER
    wait(&full, 0);
    out[t] = s[2 * t % 128] + left + right + d[0];
}

KERNEL(racy_wait_for_the_next_stage) {
    SHARED;
    __shared__ __align__(8) long long full[2];
    if (t == 0) { INIT(full, 1); INIT(full + 1, 1); }
    __syncthreads();
    if (t == 0) EXPECT(full, 512);
    if (t == 0) LOAD(s, in, full);  // RACE
    if (t == 0) EXPECT(full + 1, 512);
    if (t == 0) LOAD(s + THREADS, in, full + 1);
    wait(full + 1, 0);
    out[t] = s[2 * t % 128] + left + right + d[0];  // RACE BARRIER
}

// ---- a ring of stages: warp 0 loads, the others read
KERNEL(clean_pipeline) {
    SHARED;
    __shared__ __align__(8) long long full[STAGES], empty[STAGES];
    if (t == 0) for (int n = 0; n < STAGES; n++) { INIT(full + n, 1); INIT(empty + n, 96); }
    __syncthreads();
    if (t == 0)
#pragma unroll 1
        for (int n = 0; n < STEPS; n++) {
            if (n >= STAGES) wait(empty + n % STAGES, (n / STAGES - 1) & 1);
            EXPECT(full + n % STAGES, 512);
            LOAD(s + n % STAGES * THREADS, in, full + n % STAGES);
        }
    if (t >= 32)
#pragma unroll 1
        for (int n = 0; n < STEPS; n++) {
            wait(full + n % STAGES, n / STAGES & 1);
            out[t] += s[n % STAGES * THREADS + t];
            ARRIVE(empty + n % STAGES);
        }
    out[t] += left + right + d[0];
}

KERNEL(racy_pipeline_with_a_stage_too_many) {
    SHARED;
    __shared__ __align__(8) long long full[STAGES + 1], empty[STAGES + 1];
    if (t == 0) for (int n = 0; n <= STAGES; n++) { INIT(full + n, 1); INIT(empty + n, 96); }
    __syncthreads();
    if (t == 0)
#pragma unroll 1
        for (int n = 0; n < STEPS; n++) { // three stages of barriers, but room for two
            if (n > STAGES) wait(empty + n % (STAGES + 1), (n / (STAGES + 1) - 1) & 1);
            EXPECT(full + n % (STAGES + 1), 512);
            LOAD(s + n % STAGES * THREADS, in, full + n % (STAGES + 1));  // RACE BARRIER
        }
    if (t >= 32)
#pragma unroll 1
        for (int n = 0; n < STEPS; n++) {
            wait(full + n % (STAGES + 1), n / (STAGES + 1) & 1);
            out[t] += s[n % STAGES * THREADS + t];  // RACE BARRIER
            ARRIVE(empty + n % (STAGES + 1));
        }
    out[t] += left + right + d[0];
}

// One thread says for its group of warps that a stage is free: products read for all four at once.
#define GROUP(pending)                                                   \
    STAGED;                                                              \
    _Pragma("unroll 1") for (int n = 0; n < STEPS; n++) {                \
        int stage = 128 + n % STAGES * 32; /* of 16 bytes */             \
        if (t == 0) {                                                    \
            if (n >= STAGES) wait(empty + n % STAGES, (n / STAGES - 1) & 1); \
            EXPECT(full + n % STAGES, 512);                              \
            LOAD(s + 4 * stage, in, full + n % STAGES);                  \
        }                                                                \
        __syncwarp();                                                    \
        wait(full + n % STAGES, n / STAGES & 1);                         \
        MULTIPLY(left, left + stage);                                    \
        AWAIT_PRODUCTS(pending);                                         \
        if (t == 64) ARRIVE(empty + n % STAGES);                         \
    }                                                                    \
    AWAIT_PRODUCTS(0);                                                   \
    out[t] = d[0] + right
KERNEL(clean_group_with_one_arrival) { GROUP(0); }
KERNEL(clean_group_with_a_product_in_flight) { GROUP(1); }

KERNEL(racy_group_with_products_too_many_in_flight) {
    STAGED;
#pragma unroll 1
    for (int n = 0; n < STEPS; n++) {
        int stage = 128 + n % STAGES * 32; // of 16 bytes
        if (t == 0) {
            if (n >= STAGES) wait(empty + n % STAGES, (n / STAGES - 1) & 1);
            EXPECT(full + n % STAGES, 512);
            LOAD(s + 4 * stage, in, full + n % STAGES);  // RACE BARRIER
        }
        __syncwarp();
        wait(full + n % STAGES, n / STAGES & 1);
        MULTIPLY(left, left + stage);  // RACE
        AWAIT_PRODUCTS(2);
        if (t == 64) ARRIVE(empty + n % STAGES);
    }
    AWAIT_PRODUCTS(0);
    out[t] = d[0] + right;
}
