// Atomics on shared and global memory, with and without their result, in converged and divergent code.
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
typedef unsigned long long ull;

extern "C" __global__ void shared_integer(const int *in, int *out, int lanes_apart) {
    __shared__ int s[640];
    for (int k = threadIdx.x; k < 640; k += blockDim.x) s[k] = k;
    __syncthreads();
    int v = in[THREAD], i = v * lanes_apart % 64;
    atomicAdd(s + i, v);
    atomicMax(s + 64 + i, v * 3);
    atomicMin(s + 128 + i, -v);
    atomicAnd(s + 192 + i, ~v);
    atomicOr(s + 256 + i, v);
    atomicXor(s + 320 + i, v * 5);
    atomicAdd(s + 384 + i, 1);
    atomicSub(s + 448 + i, v);
    atomicMax((unsigned *)s + 512 + i, v);
    atomicAdd(s + 576 + i, -1);
    __syncthreads();
    for (int k = threadIdx.x; k < 640; k += blockDim.x) out[blockIdx.x * 640 + k] = s[k];
}

extern "C" __global__ void shared_integer_results(const int *in, int *out) {
    __shared__ int s[128];
    for (int k = threadIdx.x; k < 128; k += blockDim.x) s[k] = 3 * k;
    __syncthreads();
    int v = in[THREAD], h, x = threadIdx.x;
    h = atomicAdd(s + (x & 127), v);
    h = h * 31 + atomicMax(s + (x * 2 & 127), v * 3);
    h = h * 31 + atomicExch(s + (x * 5 & 127), h & 0xff);
    h = h * 31 + atomicCAS(s + (x * 3 & 127), 3 * (x * 3 & 127), v);
    h = h * 31 + (int)atomicInc((unsigned *)s + (x * 7 & 127), 20);
    h = h * 31 + (int)atomicDec((unsigned *)s + (x * 9 & 127), 30);
    h = h * 31 + atomicOr(s + (x ^ 1), 0x100) + atomicAnd(s + (x ^ 2), 0xffff);
    out[THREAD] = h;
    __syncthreads();
    if (x < 128) out[gridDim.x * blockDim.x + blockIdx.x * 128 + x] = s[x];
}

// Conflicts by lane and by word: `stride` words between lanes, `same` lanes on each word.
extern "C" __global__ void shared_conflicts(int *out, const int *ones, int stride, int same) {
    __shared__ int s[1024];
    int x = threadIdx.x, one = ones[x], i = x / same * stride % 1024;
    for (int k = x; k < 1024; k += blockDim.x) s[k] = 0;
    __syncthreads();
    atomicAdd(s + i, one);
    __syncthreads();
    int r = atomicAdd(s + i, one * 2);
    atomicAdd(s + i, 1);
    r += atomicExch(s + (i ^ 1), one * 7);
    __syncthreads();
    r += atomicCAS(s + i, one * 7, one * 9);
    __syncthreads();
    for (int k = x; k < 1024; k += blockDim.x) out[k] = s[k];
    out[1024 + x] = same == 1 ? r : 0;
}

extern "C" __global__ void shared_divergent(const int *in, int *out) {
    __shared__ int s[96];
    if (threadIdx.x < 96) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int v = in[THREAD], n = v & 7;
    if (v & 1) {
        for (int k = 0; k < n; ++k) atomicAdd(s + (v + k * 8) % 96, 1);
    } else if (v & 2) {
        atomicMax(s + v % 96, 40 + n);
        atomicAdd(s + (v + 1) % 96, v);
    } else {
#pragma unroll 1
        for (int k = 0; k < n; ++k)
            if (atomicAdd(s + (threadIdx.x + k) % 96, n) & 4) break;
    }
    __syncthreads();
    if (threadIdx.x < 96) out[blockIdx.x * 96 + threadIdx.x] = s[threadIdx.x];
}

// Float addition to shared memory is a loop of CAS; the values are small integers, so order does not matter.
extern "C" __global__ void shared_float(const float *in, float *out, int cells) {
    __shared__ float s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(s + threadIdx.x % cells, in[THREAD]);
    __syncthreads();
    if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void shared_long(const int *in, ull *out) {
    __shared__ ull s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    ull v = (ull)in[THREAD] << 30 | threadIdx.x;
    int x = threadIdx.x & 63;
    atomicAdd(s + x, v);
    atomicMax(s + (x ^ 5), v * 3);
    ull h = atomicExch(s + (x * 5 & 63), v + 1);
    h += atomicCAS(s + (x * 3 & 63), (ull)x, v);
    __syncthreads();
    if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
    out[gridDim.x * 64 + THREAD] = h;
}

extern "C" __global__ void shared_double(const float *in, double *out) {
    __shared__ double s[16];
    if (threadIdx.x < 16) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(s + threadIdx.x % 16, (double)in[THREAD]);
    __syncthreads();
    if (threadIdx.x < 16) out[blockIdx.x * 16 + threadIdx.x] = s[threadIdx.x];
}

// A user's own atomic: minimum of floats by CAS.
extern "C" __global__ void shared_cas_loop(const float *in, float *out) {
    __shared__ float s[8];
    if (threadIdx.x < 8) s[threadIdx.x] = 1e30f;
    __syncthreads();
    float v = in[THREAD];
    int *cell = (int *)(s + (threadIdx.x & 7)), old = *cell, seen;
    while (v < __int_as_float(old)) {
        seen = atomicCAS(cell, old, __float_as_int(v));
        if (seen == old) break;
        old = seen;
    }
    __syncthreads();
    if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void global_integer(const int *in, int *cells, ull *wide) {
    int v = in[THREAD];
    atomicAdd(cells + v % 32, v);
    atomicAdd(cells + 32, 1);
    atomicMax(cells + 33, v);
    atomicMin(cells + 34, -v);
    atomicXor(cells + 36 + (v & 1), v * 77);
    atomicAdd(wide + (v & 7), (ull)v << 35);
    atomicMax(wide + 8, (ull)v * 0x100000001ull);
    if (v & 1) {
        atomicOr(cells + 40 + (v & 7), v);
        atomicAdd(cells + 38, v);
    } else if (v > 20) atomicAdd(cells + 39, 2);
}

extern "C" __global__ void global_results(const int *in, int *cells, int *out) {
    int v = in[THREAD], i = THREAD, h;
    h = atomicAdd(cells + i, v);
    h = h * 31 + atomicExch(cells + (i ^ 1), h);
    h = h * 31 + atomicCAS(cells + i, 5, v);
    if (v & 1) h = h * 31 + atomicMax(cells + i, v * 3);
    else h = h * 31 + (int)atomicInc((unsigned *)cells + i, 9);
    out[i] = h;
}

extern "C" __global__ void global_float(const float *in, float *cells, double *wide, float2 *pairs) {
    float v = in[THREAD];
    atomicAdd(cells + (THREAD & 15), v);
    atomicAdd(wide + (THREAD & 7), (double)v * 3);
    if (v > 2) atomicAdd(cells + 16, v);
    atomicAdd(pairs + (THREAD & 3), make_float2(v, 2 * v));
}

// A stream compaction with one counter: the GPU decides in which order slots are taken.
extern "C" __global__ void compaction(const int *in, int *count, int *out) {
    int v = in[THREAD];
    if (v % 3 == 0) out[atomicAdd(count, 1)] = v;
}

// Every thread takes a lock in turn; lanes of one warp contend.
extern "C" __global__ void spin_lock(int *lock, volatile int *total, int *out) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *total = *total + (int)threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
    out[THREAD] = threadIdx.x;
}

// The naive form, which hung on GPUs before Volta.
extern "C" __global__ void spin_lock_naive(int *total) {
    __shared__ int lock;
    __shared__ volatile int sum;
    if (threadIdx.x == 0) {
        lock = 0;
        sum = 0;
    }
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    sum = sum + (int)threadIdx.x * 3;
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    if (threadIdx.x == 0) total[blockIdx.x] = sum;
}

// Warps hand a token on, in order.
extern "C" __global__ void warp_relay(int *out) {
    __shared__ volatile int turn;
    __shared__ volatile int value;
    if (threadIdx.x == 0) {
        turn = 0;
        value = 1;
    }
    __syncthreads();
    int warp = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) {
        while (turn != warp) {
        }
        value = value * 3 + warp;
        __threadfence_block();
        turn = warp + 1;
    }
    __syncthreads();
    out[THREAD] = value + threadIdx.x;
}

// The last block to finish adds up what all wrote.
extern "C" __global__ void last_block(const int *in, int *partial, unsigned *finished, int *out) {
    __shared__ int s[128];
    __shared__ bool last;
    s[threadIdx.x] = in[THREAD];
    __syncthreads();
    for (int k = 64; k; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < gridDim.x; ++k) sum += ((volatile int *)partial)[k];
        *out = sum;
    }
}

// One warp, addresses by a table: what the loop of CAS costs by type and pattern.
template <typename T>
__device__ void add_by_table(const int *table, T *out) {
    __shared__ T s[1024];
    int x = threadIdx.x;
    for (int k = x; k < 1024; k += 32) s[k] = 0;
    __syncwarp();
    if (table[x] >= 0) atomicAdd(s + table[x], (T)(x + 1));
    __syncwarp();
    for (int k = x; k < 1024; k += 32) out[k] = s[k];
}
extern "C" __global__ void table_float(const int *table, float *out) { add_by_table(table, out); }
extern "C" __global__ void table_double(const int *table, double *out) { add_by_table(table, out); }
extern "C" __global__ void table_long(const int *table, ull *out) { add_by_table(table, out); }

extern "C" __global__ void table_cas(const int *table, int *out) {
    __shared__ int s[1024];
    __shared__ ull wide[1024];
    int x = threadIdx.x;
    for (int k = x; k < 1024; k += 32) s[k] = wide[k] = k;
    __syncwarp();
    int i = table[x], r = 0;
    if (i >= 0) {
        r = atomicCAS(s + i, i, i + 1000);
        r += (int)atomicCAS(wide + i, (ull)i, (ull)i + 1000);
        r += (int)atomicExch(wide + (i ^ 1), 5ull) * 0;
        r += atomicExch(s + (i ^ 1), 5) * 0;
        atomicMin(s + i, -5);
        atomicMin(wide + i, 3ull);
    }
    out[x] = r;
    __syncwarp();
    for (int k = x; k < 1024; k += 32) out[32 + k] = s[k] + (int)wide[k];
}

// Atomics through generic pointers: shared for some lanes, global for the others, in one instruction.
extern "C" __global__ void generic_atomics(const int *in, int *cells, int *out) {
    __shared__ int s[64];
    int x = threadIdx.x, v = in[THREAD];
    s[x] = 0;
    __syncthreads();
    int *p = v & 1 ? s + x : cells + THREAD;
    int r = atomicAdd(p, v) + atomicExch(p, v + 1) * 2;
    atomicMax(p, 30);
    __syncthreads();
    out[THREAD] = r + s[x ^ 1];
}
