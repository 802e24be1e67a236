// In which order do the groups of a divergent warp run? Every lane draws tickets from a shared counter (and reads
// the clock) as it passes. What is added, and where, comes from memory, so that the compiler can merge no draws.
#define LANE (threadIdx.x & 31)

// Draws `draws` tickets; keeps the first and the last, and when. out: first, last, clock before, clock after.
__device__ __forceinline__ void draw(int *counter, int one, int draws, int *out) {
    int first = -1, last = -1;
    int start = (int)clock();
#pragma unroll 1
    for (int k = 0; k < draws; ++k) {
        last = atomicAdd(counter, one);
        if (k == 0) first = last;
    }
    int end = (int)clock();
    out[0] = first;
    out[1] = last;
    out[2] = start;
    out[3] = end;
}

#define SETUP                                         \
    __shared__ int count;                             \
    int one = ones[threadIdx.x];                      \
    int *counter = &count + (one - 1);                \
    if (threadIdx.x == 0) count = 0;                  \
    __syncthreads();                                  \
    out += 4 * threadIdx.x;

extern "C" __global__ void order_if_else(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        sink[LANE] = one;
    } else {
        draw(counter, one, draws, out);
        sink[LANE] = one + 1;
    }
    __syncwarp();
    sink[LANE + 32] = sink[LANE ^ 1];
}

extern "C" __global__ void order_if_else_swapped(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    if (__builtin_expect(mask >> LANE & 1, 0)) {
        draw(counter, one, draws, out);
        sink[LANE] = one;
    } else {
        draw(counter, one, draws, out);
        sink[LANE] = one + 1;
    }
    __syncwarp();
    sink[LANE + 32] = sink[LANE ^ 1];
}

extern "C" __global__ void order_return(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        sink[LANE] = one;
        return;
    }
    draw(counter, one, draws, out);
    sink[LANE] = one + 1;
}

extern "C" __global__ void order_nested(const int *ones, int *out, unsigned outer, unsigned inner, int draws, int *sink) {
    SETUP
    if (outer >> LANE & 1) {
        if (inner >> LANE & 1) {
            draw(counter, one, draws, out);
            sink[LANE] = 1;
        } else {
            draw(counter, one, draws, out);
            sink[LANE] = 2;
        }
        sink[LANE + 32] = atomicAdd(counter, one);
    } else {
        if (inner >> LANE & 1) {
            draw(counter, one, draws, out);
            sink[LANE] = 3;
        } else {
            draw(counter, one, draws, out);
            sink[LANE] = 4;
        }
        sink[LANE + 64] = atomicAdd(counter, one);
    }
    sink[LANE + 96] = atomicAdd(counter, one);
}

extern "C" __global__ void order_switch(const int *ones, int *out, const int *which, int draws, int *sink) {
    SETUP
    switch (which[threadIdx.x]) {
    case 0: draw(counter, one, draws, out); sink[LANE] = 10; break;
    case 1: draw(counter, one, draws + 1, out); sink[LANE] = 21; break;
    case 2: draw(counter, one, draws, out); sink[LANE + 1] = 32; break;
    case 3: draw(counter, one, draws + 2, out); sink[LANE] = 43; break;
    case 4: draw(counter, one, draws, out); sink[LANE + 2] = 54; break;
    case 5: draw(counter, one, draws, out); sink[LANE] = 65; break;
    case 6: draw(counter, one, draws + 3, out); sink[LANE + 3] = 76; break;
    case 7: draw(counter, one, draws, out); sink[LANE] = 87; break;
    default: sink[LANE] = 98;
    }
}

// Lanes leave the loop at different trips and return there: the leavers or the loop first?
extern "C" __global__ void order_loop_return(const int *ones, int *out, const int *trips, int draws) {
    SETUP
    int n = trips[threadIdx.x];
#pragma unroll 1
    for (int k = 0;; ++k) {
        if (k == n) {
            draw(counter, one, draws, out);
            return;
        }
        atomicAdd(counter, 100 * one + k);
    }
}

extern "C" __global__ void order_loop_break(const int *ones, int *out, const int *trips, int draws) {
    SETUP
    int n = trips[threadIdx.x];
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        if (k == n) {
            draw(counter, one, draws, out);
            break;
        }
        atomicAdd(counter, 100 * one + k);
    }
    out[0] += atomicAdd(counter, one) * 65536;
}

__device__ __noinline__ void draw_called(int *counter, int one, int draws, int *out) { draw(counter, one, draws, out); }

extern "C" __global__ void order_call(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    if (mask >> LANE & 1) {
        draw_called(counter, one, draws, out);
        sink[LANE] = out[0];
    } else {
        draw_called(counter, one, draws + 1, out);
        sink[LANE] = out[1] + 1;
    }
    sink[LANE + 32] = atomicAdd(counter, one);
}

__device__ __noinline__ void draw_a(int *c, int one, int draws, int *out) { draw(c, one, draws, out); }
__device__ __noinline__ void draw_b(int *c, int one, int draws, int *out) { draw(c, one, draws + 1, out); }
__device__ __noinline__ void draw_c(int *c, int one, int draws, int *out) { draw(c, one, draws + 2, out); }
__device__ __noinline__ void draw_d(int *c, int one, int draws, int *out) { draw(c, one, draws + 3, out); }
__device__ void (*drawers[4])(int *, int, int, int *) = {draw_a, draw_b, draw_c, draw_d};

extern "C" __global__ void order_indirect(const int *ones, int *out, const int *which, int draws, int *sink) {
    SETUP
    drawers[which[threadIdx.x] & 3](counter, one, draws, out);
    sink[LANE] = atomicAdd(counter, one);
}

// Both sides wait for a chain of dependent global loads: does a stalled side let the other one run?
extern "C" __global__ void order_stall(const int *ones, int *out, unsigned mask, int steps, const int *chain, int *sink) {
    SETUP
    int p = threadIdx.x, start, end, first = atomicAdd(counter, one), last;
    if (mask >> LANE & 1) {
        start = (int)clock();
#pragma unroll 1
        for (int k = 0; k < steps; ++k) {
            p = __ldcv(chain + p);
            last = atomicAdd(counter, one + (p >> 20));
        }
        end = (int)clock();
        sink[LANE] = p;
    } else {
        start = (int)clock();
#pragma unroll 1
        for (int k = 0; k < steps; ++k) {
            p = __ldcv(chain + p);
            last = atomicAdd(counter, one + (p >> 20));
        }
        end = (int)clock();
        sink[LANE] = p + 1;
    }
    out[0] = first;
    out[1] = last;
    out[2] = start;
    out[3] = end;
}

// One side waits for what the other writes.
extern "C" __global__ void order_spin(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    SETUP
    int spins = 0;
    if (mask >> LANE & 1) {
        while (flag == 0) ++spins;
        draw(counter, one, draws, out);
        sink[LANE] = spins > 0;
    } else {
        draw(counter, one, draws, out);
        __threadfence_block();
        flag = 1;
        sink[LANE] = -1;
    }
}

// The two halves meet a __syncwarp() of the whole warp at different places.
extern "C" __global__ void order_syncwarp_sides(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    __shared__ int s[32];
    s[LANE] = LANE;
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        s[LANE] = 100 + LANE;
        __syncwarp();
        sink[LANE] = s[LANE ^ 1];
        sink[LANE + 32] = atomicAdd(counter, one);
        __syncwarp();
        sink[LANE + 64] = atomicAdd(counter, one);
    } else {
        draw(counter, one, draws, out);
        s[LANE] = 200 + LANE;
        __syncwarp();
        sink[LANE] = s[LANE ^ 1] + 1000;
        sink[LANE + 32] = atomicAdd(counter, one);
        __syncwarp();
        sink[LANE + 64] = atomicAdd(counter, one);
    }
    sink[LANE + 96] = atomicAdd(counter, one);
}

// Inside one side, half of its lanes run ahead and wait for the other half at a __syncwarp() of the side.
extern "C" __global__ void order_syncwarp_inside(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    unsigned side = mask >> LANE & 1 ? mask : ~mask;
    if (mask >> LANE & 1) {
#pragma unroll 1
        for (int k = 0; k < (int)(LANE & 3); ++k) atomicAdd(counter, 1000 * one);
        __syncwarp(side);
        draw(counter, one, draws, out);
    } else {
        if (LANE & 4) draw(counter, one, draws + 1, out);
        __syncwarp(side);
        sink[LANE] = atomicAdd(counter, one);
    }
    sink[LANE + 32] = atomicAdd(counter, one);
}

// __syncthreads() reached by the two halves apart; all lanes reach one.
extern "C" __global__ void order_barrier_sides(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    __shared__ int s[128];
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        sink[threadIdx.x] = s[(threadIdx.x ^ 33) % blockDim.x];
    } else {
        draw(counter, one, draws, out);
        s[threadIdx.x] = 1000 + threadIdx.x;
        __syncthreads();
        sink[threadIdx.x] = s[(threadIdx.x ^ 33) % blockDim.x] + 1;
    }
    sink[threadIdx.x + 128] = atomicAdd(counter, one);
}

// The same with the unaligned form of the barrier, which is legal here.
extern "C" __global__ void order_barrier_sides_unaligned(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    __shared__ int s[128];
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        s[threadIdx.x] = threadIdx.x;
        asm volatile("barrier.sync 0;" ::: "memory");
        sink[threadIdx.x] = s[(threadIdx.x ^ 33) % blockDim.x];
    } else {
        draw(counter, one, draws, out);
        s[threadIdx.x] = 1000 + threadIdx.x;
        asm volatile("barrier.sync 0;" ::: "memory");
        sink[threadIdx.x] = s[(threadIdx.x ^ 33) % blockDim.x] + 1;
    }
    sink[threadIdx.x + 128] = atomicAdd(counter, one);
}

// Lanes of the mask (in every second warp the others) leave before the barrier.
extern "C" __global__ void order_barrier_after_return(const int *ones, int *out, unsigned mask, int draws, int *sink) {
    SETUP
    __shared__ int s[128];
    s[threadIdx.x] = one;
    if ((mask >> LANE ^ threadIdx.x >> 5) & 1) {
        draw(counter, one, draws, out);
        return;
    }
    s[threadIdx.x] += threadIdx.x;
    __syncthreads();
    sink[threadIdx.x] = s[(threadIdx.x ^ 32) % blockDim.x];
    __syncthreads();
    sink[threadIdx.x + 128] = atomicAdd(counter, one);
}

// One barrier behind a loop whose trips differ by lane: the lanes arrive together or apart?
extern "C" __global__ void order_barrier_after_loop(const int *ones, int *out, const int *trips, int draws, int *sink) {
    SETUP
#pragma unroll 1
    for (int k = 0; k < trips[threadIdx.x]; ++k) atomicAdd(counter, 1000 * one);
    if (trips[threadIdx.x] & 1) draw(counter, one, draws, out);
    __syncthreads();
    sink[threadIdx.x] = atomicAdd(counter, one);
}

// Several warps, each with its own mask: nothing but the order inside each warp is compared.
extern "C" __global__ void order_warps(const int *ones, int *out, const unsigned *masks, int draws, int *sink) {
    __shared__ int counters[32];
    int warp = threadIdx.x >> 5, one = ones[threadIdx.x], *counter = counters + warp + one - 1;
    if (LANE == 0) *counter = 0;
    __syncthreads();
    out += 4 * threadIdx.x;
    unsigned mask = masks[warp];
    if (mask >> LANE & 1) {
        draw(counter, one, draws, out);
        sink[threadIdx.x] = one;
    } else {
        draw(counter, one, draws, out);
        sink[threadIdx.x] = one + 1;
    }
    __syncwarp();
    sink[threadIdx.x + 1024] = atomicAdd(counter, one);
}
