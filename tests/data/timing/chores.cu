// Kernels of 12 kinds, whose warps read the clock around six passes. h200_chores.npz has the machine code and what one H200 took
// for the last five passes of three launches.
#define ALIGNED 128
#include <cuda_fp16.h>
#include "passes.cuh"
typedef uint32_t u32;
#define ALL 0xFFFFFFFFu
#define q ((u32 *)s)
KERNEL(prefix_of_rows, { // each warp scans rows of 128
    for (int row = warp; row < 32; row += warps) {
        float carry = 0;
        for (int c = 0; c < 128; c += 32) {
            float v = s[row * 128 + c + lane];
            for (int d = 1; d < 32; d *= 2) {
                float u = __shfl_up_sync(ALL, v, d);
                if (lane >= d) v += u;
            }
            v += carry; s[8192 + (row & 15) * 128 + c + lane] = v; carry = __shfl_sync(ALL, v, 31);
        }
    }
    __syncthreads(); r += s[8192 + t];
})
KERNEL(product_of_bands, { // y = A x with five diagonals
    for (int k = t; k < 2048; k += B) {
        float v = 0;
        for (int d = -2; d <= 2; ++d) {
            int c = k + d;
            if (c >= 0 && c < 2048) v = fmaf(s[4096 + ((d + 2) * 512 + k) % 2048], s[c], v);
        }
        s[8192 + k] = v;
    }
    __syncthreads(); r += s[8192 + t];
})
KERNEL(queue_by_ballot, {
    if (t == 0) q[12000] = 0;
    __syncthreads();
    for (int k = t; k < 4096; k += B) {
        bool keep = s[k] > 0.6f; u32 m = __ballot_sync(ALL, keep); u32 at = 0;
        if (lane == 0 && m) at = atomicAdd(&q[12000], __popc(m));
        at = __shfl_sync(ALL, at, 0) + __popc(m & ((1u << lane) - 1));
        if (keep) s[8192 + (at & 2047)] = s[k];
    }
    __syncthreads(); r += s[8192 + t];
})
KERNEL(odd_even_sort, {
    for (int k = t; k < 1024; k += B) s[8192 + k] = s[k];
    for (int phase = 0; phase < 12; ++phase) {
        __syncthreads();
        for (int k = t; k < 512; k += B) {
            int a = 2 * k + (phase & 1);
            if (a + 1 < 1024) {
                float x = s[8192 + a];
                float y = s[8193 + a];
                if (x > y) {
                    s[8192 + a] = y;
                    s[8193 + a] = x;
                }
            }
        }
    }
    __syncthreads(); r += s[8192 + (t & 1023)];
})
KERNEL(product_8x8_registers, {
    float c[4] = {};
    int x = t % 16; int y = t / 16;
    for (int k = 0; k < 64; ++k) {
        float b = s[k * 16 + x];
        for (int i = 0; i < 4; ++i) c[i] = fmaf(s[2048 + ((y * 4 + i) & 63) * 33 + (k & 31)], b, c[i]);
    }
    r += c[0] + c[1] + c[2] + c[3];
})
KERNEL(histogram_private, {
    for (int k = t; k < 1024; k += B) q[8192 + k] = 0;
    __syncthreads();
    for (int k = t; k < 4096; k += B) atomicAdd(&q[8192 + (warp & 3) * 256 + ((int)(s[k] * 255.f) & 255)], 1u);
    __syncthreads();
    for (int k = t; k < 256; k += B) r += q[8192 + k] + q[8448 + k] + q[8704 + k] + q[8960 + k];
})
KERNEL(relax_red_black, {
    for (int round = 0; round < 4; ++round) for (int color = 0; color < 2; ++color) {
        for (int k = t; k < 1922; k += B) {
            int y = k / 31 + 1;
            int x = 2 * (k % 31) + 1 + ((y + color) & 1);
            if (y < 63 && x < 63) {
                int a = y * 64 + x;
                s[a] = 0.25f * (s[a - 1] + s[a + 1] + s[a - 64] + s[a + 64]);
            }
        }
        __syncthreads();
    }
    r += s[t];
})
KERNEL(logs_and_powers, {
    for (int k = t; k < 1024; k += B) {
        float v = s[k] + 1.f;
        v = __logf(v) * 1.7f;
        v = __expf(v);
        v = rsqrtf(v + 0.5f);
        s[8192 + k] = __sinf(v) + v;
    }
    __syncthreads(); r += s[8192 + t % 1024];
})
KERNEL(argmax_by_blocks, {
    float best = -1; int at = 0;
    for (int k = t; k < 4096; k += B) if (s[k] > best) { best = s[k]; at = k; }
    for (int d = 16; d; d >>= 1) {
        float b = __shfl_xor_sync(ALL, best, d);
        int a = __shfl_xor_sync(ALL, at, d);
        if (b > best || (b == best && a < at)) {
            best = b;
            at = a;
        }
    }
    if (lane == 0) { s[8192 + warp] = best; q[8256 + warp] = at; }
    __syncthreads();
    if (warp == 0) {
        best = lane < warps ? s[8192 + lane] : -1;
        at = lane < warps ? q[8256 + lane] : 0;
        for (int d = 16; d; d >>= 1) {
            float b = __shfl_xor_sync(ALL, best, d);
            int a = __shfl_xor_sync(ALL, at, d);
            if (b > best) {
                best = b;
                at = a;
            }
        }
        if (lane == 0) s[8320] = best + at;
    }
    __syncthreads(); r += s[8320];
})
KERNEL(transpose_of_quads, {
    for (int k = t; k < 1024; k += B) {
        float4 v = ((float4 *)s)[k];
        int y = k / 32;
        int x = k % 32;
        float *o = s + 8192;
        o[((x * 4 + 0) * 33 + y) & 4095] = v.x;
        o[((x * 4 + 1) * 33 + y) & 4095] = v.y;
        o[((x * 4 + 2) * 33 + y) & 4095] = v.z;
        o[((x * 4 + 3) * 33 + y) & 4095] = v.w;
    }
    __syncthreads(); r += s[8192 + t];
})
KERNEL(walks_of_chance, {
    u32 x = t * 747796405u + 2891336453u; int at = t & 4095;
    for (int k = 0; k < 24; ++k) {
        x = x * 1664525u + 1013904223u;
        at = (at + (x >> 20) + (int)(s[at] * 64.f)) & 4095;
        r += s[at];
    }
})
KERNEL(jacobi_of_pairs, { // half2 stencil in shared memory
    __half2 *h = (__half2 *)(s + 8192);
    for (int k = t; k < 2048; k += B) h[k] = __floats2half2_rn(s[k], s[k + 1]);
    for (int round = 0; round < 3; ++round) {
        __syncthreads();
        for (int k = t; k < 2046; k += B) {
            __half2 v = __hfma2(h[k], __float2half2_rn(0.25f), __hmul2(h[k + 1], __float2half2_rn(0.5f)));
            h[2048 + k] = __hadd2(v, h[k + 2]);
        }
        __syncthreads();
        for (int k = t; k < 2046; k += B) h[k] = h[2048 + k];
    }
    __syncthreads(); r += __low2float(h[t]);
})
