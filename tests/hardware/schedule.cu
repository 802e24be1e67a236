// Every lane follows a script of its own and notes, at each visit, where it is, with whom (the active mask) and when:
// how groups part, which runs, and which join on the way. One block is one warp and one experiment.
#include <cstdint>

// Two words a visit: the active mask; the clock, with the place in its lowest 3 bits.
__device__ __forceinline__ void note(uint2 *&log, unsigned place) {
    unsigned active, time;
    asm volatile("activemask.b32 %0;\n\tmov.u32 %1, %%clock;" : "=r"(active), "=r"(time)::"memory");
    *log++ = make_uint2(active, (time & ~7u) | place);
}

#define SCRIPT                                                       \
    int thread = blockIdx.x * blockDim.x + threadIdx.x;              \
    const unsigned char *s = script + thread * length;               \
    uint2 *log = logs + thread * 4 * length;

// An irreducible machine of three states; the script names the next one (3: the end).
extern "C" __global__ void schedule_states(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    unsigned next = *s++;
    if (next == 1) goto second;
    if (next == 2) goto third;
first:
    note(log, 0);
    next = *s++;
    if (next == 0) goto first;
    if (next == 2) goto third;
    if (next == 3) goto done;
second:
    note(log, 1);
    next = *s++;
    if (next == 1) goto second;
    if (next == 0) goto first;
    if (next == 3) goto done;
third:
    note(log, 2);
    next = *s++;
    if (next == 0) goto first;
    if (next == 1) goto second;
    if (next == 2) goto third;
done:
    note(log, 3);
}

// The same with the compiler's YIELD, which a volatile load in the loop brings.
extern "C" __global__ void schedule_states_yield(const volatile unsigned char *script, uint2 *logs, int length) {
    __shared__ volatile int flag[32];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const volatile unsigned char *s = script + thread * length;
    uint2 *log = logs + thread * 4 * length;
    flag[threadIdx.x] = 0;
    __syncthreads();
    unsigned next = *s++;
    do {
        note(log, 0);
        if (next == 1) {
            note(log, 1);
            flag[threadIdx.x] = 1;
        } else if (next == 2) {
            note(log, 2);
            while (flag[threadIdx.x] & 1) flag[threadIdx.x] = 2;
        }
        note(log, 4);
        next = *s++;
    } while (next != 3);
    note(log, 3);
    __syncwarp();
    note(log, 5);
}

// A loop with two ways out and one way on.
extern "C" __global__ void schedule_loop(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    for (int k = 0; k < length - 4; ++k) {
        unsigned next = *s++;
        if (next == 1) {
            note(log, 1);
            break;
        }
        note(log, 0);
        if (next == 2) continue;
        if (next == 3) {
            note(log, 3);
            goto out;
        }
        note(log, 2);
    }
    note(log, 4);
out:
    note(log, 5);
}

// Nothing noted on the way: how often BSYNC runs says which groups joined before it.
extern "C" __global__ void schedule_two_exits(const unsigned char *script, unsigned *out, int length, unsigned scale) {
    const unsigned char *s = script + threadIdx.x * length;
    unsigned h = threadIdx.x;
    for (int k = 0; k < length; ++k) {
        h = h * scale + 1;
        if (s[k] == 1) break;
        h ^= h >> 3;
    }
    out[threadIdx.x] = h;
}

extern "C" __global__ void schedule_one_exit(const unsigned char *script, unsigned *out, int length, unsigned scale) {
    const unsigned char *s = script + threadIdx.x * length;
    unsigned h = threadIdx.x;
    while (*s++ != 1) {
        h = h * scale + 1;
        h ^= h >> 3;
    }
    out[threadIdx.x] = h;
}

// A loop with a branch of two sides in it.
extern "C" __global__ void schedule_inner_branch(const unsigned char *script, unsigned *out, int length, unsigned scale) {
    const unsigned char *s = script + threadIdx.x * length;
    unsigned h = threadIdx.x;
    for (int k = 0; k < length; ++k) {
        unsigned v = s[k];
        if (v & 1) {
            h = h / scale + out[h & 31];
            if (v == 3) break;
        } else if (v == 2) {
            h = h % scale;
            out[64 + threadIdx.x] = h;
        }
        h ^= h >> 3;
    }
    out[32 + threadIdx.x] = h;
}

__device__ __noinline__ unsigned walk(unsigned n, uint2 *&log) {
    note(log, n & 1);
    if (n < 2) return n;
    unsigned left = walk(n - 1, log);
    note(log, 2);
    unsigned right = walk(n - 2, log);
    note(log, 3);
    return left + right;
}

extern "C" __global__ void schedule_recursion(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    unsigned h = walk(s[0], log);
    note(log, 4);
    log->x = h;
}

__device__ __noinline__ unsigned leaf_a(unsigned h, uint2 *&log) { note(log, 0); return h * 3; }
__device__ __noinline__ unsigned leaf_b(unsigned h, uint2 *&log) { note(log, 1); return h + 5; }
__device__ __noinline__ unsigned leaf_c(unsigned h, uint2 *&log) { note(log, 2); return h ^ 9; }
__device__ unsigned (*leaves[3])(unsigned, uint2 *&) = {leaf_a, leaf_b, leaf_c};

extern "C" __global__ void schedule_indirect(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    unsigned h = thread;
    while (*s < 3) {
        h = leaves[*s++](h, log);
        note(log, 4);
    }
    note(log, 5);
    log->x = h;
}

extern "C" __global__ void schedule_switch(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    unsigned h = thread;
    for (;; ++s) {
        switch (*s) {
        case 0: h = h / 7; note(log, 0); break;
        case 1: h = h * 5; note(log, 1); break;
        case 2: h ^= h >> 5; note(log, 2); // falls through
        case 3: note(log, 3); break;
        case 4: note(log, 4); continue;
        case 5: h = __popc(h) * 99; note(log, 5); break;
        default: goto out;
        }
        note(log, 6);
    }
out:
    note(log, 7);
    log->x = h;
}

// Partial __syncwarp() among groups that the script makes, and a vote with the groups' own masks.
extern "C" __global__ void schedule_syncwarp(const unsigned char *script, uint2 *logs, int length) {
    SCRIPT
    unsigned group = *s++ & 3, mask = __match_any_sync(0xffffffffu, group);
    while (*s < 3) {
        if (*s == 1) note(log, 1);
        if (*s == 2) {
            note(log, 2);
            continue_here:
            ++s;
            if (*s == 2) goto continue_here;
        }
        note(log, 0);
        if (*s < 3) ++s;
    }
    note(log, 3);
    __syncwarp(mask);
    note(log, 4);
    log->x = __ballot_sync(mask, group & 1);
    ++log;
    if (group & 1) {
        note(log, 5);
        __syncwarp(mask);
        note(log, 6);
    }
    note(log, 7);
}
