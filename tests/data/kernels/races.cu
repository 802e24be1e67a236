// Kernels of blocks of 128 threads, whose accesses to shared memory race or do not, by their names. RACE marks the lines
// of the accesses that do, BARRIER those before which a barrier would order them. `in` holds 0 to 1023, `out` 1024 zeros.
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>

constexpr int THREADS = 128;

// ---- barriers of the block
__global__ void racy_read_after_write(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                             // RACE
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];              // RACE BARRIER
}

__global__ void clean_read_after_write(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

__global__ void clean_in_own_warp(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 31];
}

__global__ void racy_write_after_read(int *out, const int *in) {
    __shared__ int s[THREADS];
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x] = in[128 * k + threadIdx.x];               // RACE BARRIER
        __syncthreads();
        out[threadIdx.x] += s[(threadIdx.x + 32) % THREADS];      // RACE
    }
}

__global__ void clean_write_after_read(int *out, const int *in) {
    __shared__ int s[THREADS];
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x] = in[128 * k + threadIdx.x];
        __syncthreads();
        out[threadIdx.x] += s[(threadIdx.x + 32) % THREADS];
        __syncthreads();
    }
}

__global__ void clean_double_buffer(int *out, const int *in) {
    __shared__ int s[2][THREADS];
    for (int k = 0; k < 4; k++) {
        s[k % 2][threadIdx.x] = in[128 * k + threadIdx.x];
        __syncthreads();
        out[threadIdx.x] += s[k % 2][(threadIdx.x + 32) % THREADS];
    }
}

__global__ void racy_double_buffer_read_late(int *out, const int *in) {
    __shared__ int s[2][THREADS];
    s[0][threadIdx.x] = 0;
    s[1][threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[k % 2][threadIdx.x] = in[128 * k + threadIdx.x];                    // RACE BARRIER
        __syncthreads();
        out[threadIdx.x] += s[(k + 1) % 2][(threadIdx.x + 32) % THREADS];     // RACE
    }
}

__global__ void racy_two_writers(int *out, const int *in) {
    __shared__ int s;
    if (threadIdx.x % 32 == 0) s = in[threadIdx.x];               // RACE
    __syncthreads();
    out[threadIdx.x] = s;
}

__global__ void racy_same_value(int *out, const int *in) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[threadIdx.x] > 10) found = 1;                          // RACE
    __syncthreads();
    out[threadIdx.x] = found;
}

__global__ void racy_shift_in_place(int *out, const int *in) {
    __shared__ int s[THREADS + 1];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) s[THREADS] = 0;
    __syncthreads();
    s[threadIdx.x] = s[threadIdx.x + 1];                          // RACE BARRIER
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void racy_only_in_block_one(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                             // RACE
    if (blockIdx.x == 0) __syncthreads();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];              // RACE BARRIER
}

__global__ void racy_reduction_without_barrier(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int half = THREADS / 2; half; half /= 2)
        if (threadIdx.x < half)
            s[threadIdx.x] += s[threadIdx.x + half];              // RACE BARRIER
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__global__ void clean_reduction(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__global__ void clean_early_exit(int *out, const int *in) {
    __shared__ int s[THREADS];
    if (threadIdx.x >= 96) return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[95 - threadIdx.x];
}

__global__ void racy_early_exit(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                             // RACE
    if (threadIdx.x >= 96) return;
    out[threadIdx.x] = s[127 - threadIdx.x];                      // RACE BARRIER
}

__global__ void clean_barrier_in_both_branches(int *out, const int *in) {
    __shared__ int s[THREADS];
    if (threadIdx.x < 64) {
        s[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
    } else {
        s[threadIdx.x] = 2 * in[threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

__global__ void racy_scan_in_place(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
#pragma unroll 1
    for (int step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        int v = threadIdx.x >= step ? s[threadIdx.x - step] : 0;               // RACE
        s[threadIdx.x] += v;                                                   // RACE BARRIER
    }
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void clean_scan_between_two_buffers(int *out, const int *in) {
    __shared__ int s[2][THREADS];
    int now = 0;
    s[0][threadIdx.x] = in[threadIdx.x];
    for (int step = 1; step < THREADS; step *= 2, now ^= 1) {
        __syncthreads();
        s[now ^ 1][threadIdx.x] = s[now][threadIdx.x] + (threadIdx.x >= step ? s[now][threadIdx.x - step] : 0);
    }
    out[threadIdx.x] = s[now][threadIdx.x];
}

__global__ void clean_counting_barrier(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    int large = __syncthreads_count(in[threadIdx.x] > 50);
    out[threadIdx.x] = large + s[THREADS - 1 - threadIdx.x];
}

// ---- bytes and widths
__global__ void clean_neighbours_in_a_word(int *out, const int *in) {
    __shared__ char s[THREADS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    s[4 * lane + warp] = in[threadIdx.x];  // each warp has its own byte of each word
    __syncwarp();
    out[threadIdx.x] = s[4 * (lane ^ 1) + warp];
}

__global__ void racy_one_byte_of_a_word(int *out, const int *in) {
    __shared__ __align__(4) char s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                             // RACE
    out[threadIdx.x] = reinterpret_cast<int *>(s)[(threadIdx.x + 32) % THREADS / 4];  // RACE BARRIER
}

__global__ void racy_vector_read(int *out, const int *in) {
    __shared__ __align__(16) int s[4 * THREADS];
    for (int k = 0; k < 4; k++) s[128 * k + threadIdx.x] = in[threadIdx.x];           // RACE
    int4 v = reinterpret_cast<int4 *>(s)[threadIdx.x];                                // RACE BARRIER
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

__global__ void clean_vector_read(int *out, const int *in) {
    __shared__ __align__(16) int s[4 * THREADS];
    reinterpret_cast<int4 *>(s)[threadIdx.x] = make_int4(1, 2, 3, in[threadIdx.x]);
    int4 v = reinterpret_cast<int4 *>(s)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// ---- lanes of one warp
__global__ void racy_parted_lanes(int *out, const int *in) {
    __shared__ int s[THREADS];
    int lane = threadIdx.x % 32;
    if (in[lane] < 16) {
        for (int k = 0; k <= in[lane] % 3; k++) s[threadIdx.x] = in[k];               // RACE
        out[threadIdx.x] = 1;
    } else {
        int sum = 0;
        for (int k = 0; k <= in[lane] % 3; k++) sum += s[threadIdx.x - 16] + in[k];   // RACE BARRIER
        out[threadIdx.x] = sum;
    }
}

__global__ void clean_parted_lanes(int *out, const int *in) {
    __shared__ int s[THREADS];
    int lane = threadIdx.x % 32;
    if (in[lane] < 16)
        for (int k = 0; k <= in[lane] % 3; k++) s[threadIdx.x] = in[k];
    __syncwarp();
    if (in[lane] >= 16) {
        int sum = 0;
        for (int k = 0; k <= in[lane] % 3; k++) sum += s[threadIdx.x - 16] + in[k];
        out[threadIdx.x] = sum;
    }
}

__global__ void clean_last_steps_in_a_warp(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];
    __syncthreads();
    if (threadIdx.x < 32) {
        int v = s[threadIdx.x] + s[threadIdx.x + 32];
        for (int half = 16; half; half /= 2) {
            s[threadIdx.x] = v;
            __syncwarp();
            v += s[threadIdx.x ^ half];
            __syncwarp();
        }
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}

__global__ void racy_last_steps_of_two_warps(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                                          // RACE
    if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];               // RACE BARRIER
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

// Lanes that run together are in order; on GPUs that is so, though CUDA asks for a __syncwarp().
__global__ void clean_steps_without_syncwarp(int *out, const int *in) {
    __shared__ volatile int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] += s[threadIdx.x + 64];
        s[threadIdx.x] += s[threadIdx.x + 32];
        s[threadIdx.x] += s[threadIdx.x + 96];
        s[threadIdx.x] += s[threadIdx.x ^ 16];
        out[threadIdx.x] = s[threadIdx.x];
    }
}

// One instruction of one warp: one of its lanes wins.
__global__ void clean_lanes_write_one_word(int *out, const int *in) {
    __shared__ int s[THREADS / 32];
    s[threadIdx.x / 32] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x % 4];
}

__global__ void clean_tiles_of_lanes(int *out, const int *in) {
    __shared__ int s[THREADS];
    auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
    if (in[threadIdx.x] % 32 < 16) {
        s[threadIdx.x] = in[threadIdx.x];
        tile.sync();
        out[threadIdx.x] = s[threadIdx.x ^ 15];
    }
}

// ---- barriers of some warps
__device__ void barrier_sync(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }
__device__ void barrier_arrive(int number, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

__global__ void clean_producer_and_consumer(int *out, const int *in) {
    __shared__ int s[64];
    int t = threadIdx.x % 64;
    for (int k = 0; k < 4; k++)
        if (threadIdx.x < 64) {
            if (k) barrier_sync(2, THREADS);
            s[t] = in[64 * k + t];
            barrier_arrive(1, THREADS);
        } else {
            barrier_sync(1, THREADS);
            out[t] += s[63 - t];
            if (k < 3) barrier_arrive(2, THREADS);
        }
}

__global__ void racy_consumer_gives_free_too_early(int *out, const int *in) {
    __shared__ int s[64];
    int t = threadIdx.x % 64;
    for (int k = 0; k < 4; k++)
        if (threadIdx.x < 64) {
            if (k) barrier_sync(2, THREADS);
            s[t] = in[64 * k + t];                                             // RACE BARRIER
            barrier_arrive(1, THREADS);
        } else {
            barrier_sync(1, THREADS);
            if (k < 3) barrier_arrive(2, THREADS);
            out[t] += s[63 - t];                                               // RACE BARRIER
        }
}

__global__ void clean_pairs_of_warps(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    barrier_sync(1 + threadIdx.x / 64, 64);
    out[threadIdx.x] = s[threadIdx.x ^ 63];
}

__global__ void racy_across_pairs_of_warps(int *out, const int *in) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];                                          // RACE
    barrier_sync(1 + threadIdx.x / 64, 64);
    out[threadIdx.x] = s[threadIdx.x ^ 64];                                    // RACE BARRIER
}

// ---- matrices
__device__ unsigned shared_address(const void *p) { return __cvta_generic_to_shared(p); }

__global__ void racy_matrix_read(int *out, const int *in) {
    __shared__ __align__(16) int s[4 * THREADS];
    for (int k = 0; k < 4; k++) s[128 * k + threadIdx.x] = in[threadIdx.x];                // RACE
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"        // RACE BARRIER
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(shared_address(&s[4 * threadIdx.x])) : "memory");
    out[threadIdx.x] = a + b + c + d;
}

__global__ void clean_matrix_read(int *out, const int *in) {
    __shared__ __align__(16) int s[4 * THREADS];
    for (int k = 0; k < 4; k++) s[128 * k + threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(shared_address(&s[4 * threadIdx.x])) : "memory");
    out[threadIdx.x] = a + b + c + d;
}

__global__ void racy_matrix_write(int *out, const int *in) {
    __shared__ __align__(16) int s[4 * THREADS];
    unsigned v = in[threadIdx.x];
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};"        // RACE
                 ::"r"(shared_address(&s[4 * threadIdx.x])), "r"(v) : "memory");
    out[threadIdx.x] = s[4 * (THREADS - 1 - threadIdx.x)];                                 // RACE BARRIER
}

// ---- transaction barriers
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void clean_transaction_barrier(int *out, const int *in) {
    __shared__ __align__(8) char place[sizeof(Barrier)];
    __shared__ int s[THREADS];
    Barrier &barrier = *reinterpret_cast<Barrier *>(place);
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = in[128 * k + threadIdx.x];
        barrier.arrive_and_wait();
        out[threadIdx.x] += s[THREADS - 1 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}

__global__ void racy_transaction_barrier_not_awaited(int *out, const int *in) {
    __shared__ __align__(8) char place[sizeof(Barrier)];
    __shared__ int s[THREADS];
    Barrier &barrier = *reinterpret_cast<Barrier *>(place);
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];                                          // RACE
    auto token = barrier.arrive();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];                           // RACE BARRIER
    barrier.wait(std::move(token));
}

// ---- atomics
__global__ void clean_histogram(int *out, const int *in) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[in[threadIdx.x] % 7], 1);
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];
}

__global__ void racy_histogram_not_cleared(int *out, const int *in) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;                                  // RACE
    atomicAdd(&s[in[threadIdx.x] % 7], 1);                                     // RACE BARRIER
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];
}

__global__ void racy_histogram_read_early(int *out, const int *in) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[in[threadIdx.x] % 7], 1);                                     // RACE
    if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];                   // RACE BARRIER
}

__global__ void racy_histogram_without_atomics(int *out, const int *in) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    s[in[threadIdx.x] % 7] += 1;                                               // RACE BARRIER
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];
}

__global__ void clean_float_sums(int *out, const int *in) {
    __shared__ float s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[threadIdx.x % 3], float(in[threadIdx.x]));
    __syncthreads();
    if (threadIdx.x < 4) out[threadIdx.x] = s[threadIdx.x];
}

__global__ void clean_largest_by_comparing(int *out, const int *in) {
    __shared__ int largest;
    if (threadIdx.x == 0) largest = -1;
    __syncthreads();
    int old = largest;
    while (old < in[threadIdx.x]) {
        int seen = old;
        old = atomicCAS(&largest, seen, in[threadIdx.x]);
        if (old == seen) break;
    }
    __syncthreads();
    out[threadIdx.x] = largest;
}

__global__ void clean_lock(int *out, const int *in) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1)) {}
        __threadfence_block();
        sum += in[threadIdx.x];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void racy_beside_the_lock(int *out, const int *in) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1)) {}
        __threadfence_block();
        sum += in[threadIdx.x];                                                // RACE
        __threadfence_block();
        atomicExch(&lock, 0);
        sum += 1;                                                              // RACE BARRIER
    }
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void clean_last_warp_sums(int *out, const int *in) {
    __shared__ int s[THREADS / 32], done;
    __shared__ bool last[THREADS / 32];
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        s[warp] = in[threadIdx.x];
        __threadfence_block();
        last[warp] = atomicAdd(&done, 1) == THREADS / 32 - 1;
        if (last[warp]) {
            __threadfence_block();
            int sum = 0;
            for (int k = 0; k < THREADS / 32; k++) sum += s[k];
            out[blockIdx.x] = sum;
        }
    }
}

__global__ void racy_every_warp_sums(int *out, const int *in) {
    __shared__ int s[THREADS / 32], done;
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        s[warp] = in[threadIdx.x];                                             // RACE
        int before = atomicAdd(&done, 1);
        int sum = before;
        for (int k = 0; k < THREADS / 32; k++) sum += s[k];                    // RACE BARRIER
        out[threadIdx.x] = sum;
    }
}

__global__ void clean_flag_with_fences(int *out, const int *in) {
    __shared__ volatile int ready;
    __shared__ int data;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[5];
        __threadfence_block();
        ready = 1;
    }
    if (threadIdx.x == 32) {
        while (!ready) {}
        __threadfence_block();
        out[blockIdx.x] = data;
    }
}

__global__ void racy_flag_without_fences(int *out, const int *in) {
    __shared__ volatile int ready;
    __shared__ volatile int data;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[5];                                                          // RACE
        ready = 1;                                                             // RACE
    }
    if (threadIdx.x == 32) {
        while (!ready) {}                                                      // RACE BARRIER
        out[blockIdx.x] = data;                                                // RACE BARRIER
    }
}

__global__ void clean_atomic_flag(int *out, const int *in) {
    __shared__ int ready, data;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[5];
        __threadfence_block();
        atomicExch(&ready, 1);
    }
    if (threadIdx.x == 32) {
        while (!atomicAdd(&ready, 0)) {}
        __threadfence_block();
        out[blockIdx.x] = data;
    }
}

__global__ void clean_acquire_and_release(int *out, const int *in) {
    __shared__ int ready, data;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(ready);
    if (threadIdx.x == 0) {
        data = in[5];
        flag.store(1, cuda::memory_order_release);
    }
    if (threadIdx.x == 32) {
        while (!flag.load(cuda::memory_order_acquire)) {}
        out[blockIdx.x] = data;
    }
}

// ---- asynchronous copies
__global__ void clean_copy(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

__global__ void clean_copy_of_own(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void racy_copy_not_awaited(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);             // RACE
    __pipeline_commit();
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];                                         // RACE BARRIER
}

__global__ void racy_copy_without_barrier(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);             // RACE
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];                           // RACE BARRIER
}

__global__ void clean_two_stages_of_copies(int *out, const int *in) {
    __shared__ __align__(16) int s[2][THREADS];
    __pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][threadIdx.x], &in[128 * (k + 1) + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[threadIdx.x] += s[k % 2][THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
}

__global__ void racy_two_stages_one_awaited_late(int *out, const int *in) {
    __shared__ __align__(16) int s[2][THREADS];
    __pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], 4);          // RACE
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][threadIdx.x], &in[128 * (k + 1) + threadIdx.x], 4);  // RACE BARRIER
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        out[threadIdx.x] += s[k % 2][THREADS - 1 - threadIdx.x];               // RACE BARRIER
        __syncthreads();
    }
}

__global__ void racy_copy_over_what_is_read(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];                           // RACE
    __pipeline_memcpy_async(&s[threadIdx.x], &in[128 + threadIdx.x], 4);       // RACE BARRIER
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] += s[THREADS - 1 - threadIdx.x];
}

// ---- bulk copies and copies that arrive at transaction barriers
__device__ void barrier_init(unsigned barrier, int count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
__device__ void barrier_wait(unsigned barrier, int parity) {
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @!done bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ void bulk_copy(int *to, const int *from, int bytes, unsigned barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

__global__ void clean_bulk_copy(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __shared__ __align__(8) long long word;
    unsigned barrier = shared_address(&word);
    if (threadIdx.x == 0) barrier_init(barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) bulk_copy(s, in, 4 * THREADS, barrier);
    barrier_wait(barrier, 0);
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

__global__ void racy_bulk_copy_awaited_by_one_warp(int *out, const int *in) {
    __shared__ __align__(16) int s[THREADS];
    __shared__ __align__(8) long long word;
    unsigned barrier = shared_address(&word);
    if (threadIdx.x == 0) barrier_init(barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(barrier) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(shared_address(s)), "l"(in), "r"(barrier) : "memory");  // RACE BARRIER
    }
    if (threadIdx.x < 32) barrier_wait(barrier, 0);
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];  // RACE BARRIER
}
