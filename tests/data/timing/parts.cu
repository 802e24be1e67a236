// Kernels whose warps read the clock around six passes, in which parts of warps, different constants or registers of doubles
// have to wait for each other. h200_parts.npz has the machine code and what one H200 took for the last five passes.
#define ALIGNED 16
#include "passes.cuh"
__constant__ float taps[9] = {.02f, .05f, .12f, .2f, .22f, .2f, .12f, .05f, .02f};
KERNEL(fours_wait_for_each_other, {  // __syncwarp of four lanes each
    int v = t;
    uint32_t m = 0xfu << (lane & 28);
    _Pragma("unroll 1") for (int j = 0; j < 8; ++j) { v = v * 3 + 1; __syncwarp(m); }
    r += v;
})
KERNEL(halves_reduce, {
    int v = t;
    uint32_t m = 0xffffu << (lane & 16);
    _Pragma("unroll 1") for (int j = 0; j < 8; ++j) v += __reduce_max_sync(m, v);
    r += v;
})
KERNEL(eight_constants, {
    float v = s[t];
    _Pragma("unroll 4") for (int j = 0; j < 16; ++j) { v += taps[(lane + j) & 7]; asm volatile("" : "+f"(v)); }
    r += v;
})
KERNEL(three_doubles, {
    double a = s[t]; double b = s[t + 1]; double c = s[t + 2]; double d = s[t + 3];
    double e = s[t + 4]; double f = s[t + 5]; double g = s[t + 6]; double h = s[t + 7];
    _Pragma("unroll 4") for (int j = 0; j < 32; ++j) { a = fma(a, e, f); b = fma(b, f, g); c = fma(c, g, h); d = fma(d, h, e); }
    r += (float)(a + b + c + d);
})
KERNEL(parts_parked_in_one_place, {  // those that leave are more: the others go on, and part again
    int v = t, sum = 0;
    _Pragma("unroll 1") for (int j = 0; j < 8; ++j) {
        int x = (lane + j) & 31;
        do {
            v = v * 5 + 1;
            if (x >= 12 + (v == 12345)) break;
            v = v * 5 + 2;
            if (x >= 5 + (v == 12345)) break;
            v = v * 5 + 3;
            if (x >= 2 + (v == 12345)) break;
            sum += v * 5 + 4;
        } while (0);
        v += sum;
    }
    r += v;
})
KERNEL(parts_parked_in_three_places, {
    int v = t;
    const int *data = (const int *)s + 8192;
    _Pragma("unroll 1") for (int j = 0; j < 8; ++j) {
        int x = (lane + j) & 31;
        v += data[v & 255];
        if (x < 12 + (v == 12345)) {
            v += data[(v + 1) & 255];
            if (x < 5 + (v == 12345)) {
                v += data[(v + 2) & 255];
                if (x < 2 + (v == 12345)) v += data[(v + 3) & 255], v += data[(v + 4) & 255];
                v += data[(v + 5) & 255];
            }
            v += data[(v + 6) & 255];
        }
        v += data[(v + 7) & 255];
    }
    r += v;
})
KERNEL(two_threads_reduce, {
    int v = t;
    const int *data = (const int *)s + 8192;
    _Pragma("unroll 1") for (int j = 0; j < 8; ++j) {
        if (!(lane & 15)) v = __reduce_max_sync(0x10001, v + j);
        v += data[(v + 3) & 255];
    }
    r += v;
})
KERNEL(all_wait_for_two_threads, {
    int *data = (int *)s + 8192;
    if (!(lane & 15)) data[warp] = __reduce_max_sync(0x10001, t ^ n);
    __syncthreads();
    r += data[0];
})
