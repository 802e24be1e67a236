// Kernels of 23 kinds whose warps read the clock around six passes. h200_kinds.npz has the machine code and what one H200 took
// for the last five passes of three launches.
#define ALIGNED 128
#include <cuda_fp16.h>
#include "passes.cuh"
typedef uint32_t u32;
typedef unsigned long long u64;
#define ALL 0xFFFFFFFFu
#define q ((u32 *)s)
// tile products
KERNEL(product_4x4, {
    const int x = t & 7, y = (t >> 3) & 15;
    float c[4][4] = {};
    for (int k = 0; k < 32; ++k) {
        float4 a = *(float4 *)&s[k * 64 + 4 * y], b = *(float4 *)&s[4096 + k * 32 + 4 * x];
        float u[4] = {a.x, a.y, a.z, a.w}, v[4] = {b.x, b.y, b.z, b.w};
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) c[i][j] += u[i] * v[j];
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) r += c[i][j];
})
KERNEL(product_tiled, {
    const int x = t & 15, y = (t >> 4) & 15;
    float c = 0;
    for (int tile = 0; tile < 4; ++tile) {
        s[8192 + (t & 255)] = s[tile * 256 + (t & 255)];
        s[8448 + (t & 255)] = s[2048 + tile * 256 + (t & 255)];
        __syncthreads();
        _Pragma("unroll") for (int k = 0; k < 16; ++k) c += s[8192 + y * 16 + k] * s[8448 + k * 16 + x];
        __syncthreads();
    }
    r += c;
})
// matrix units
KERNEL(product_of_halves, {
    u32 base = (u32)__cvta_generic_to_shared(s) + (warp & 3) * 2048;
    float d[2][4] = {};
    for (int k = 0; k < 8; ++k) {
        u32 a0, a1, a2, a3, b0, b1, b2, b3;
        u32 pa = base + ((lane & 15) * 128 + ((lane >> 4) * 16 + k * 16) % 128 ^ (lane & 7) * 16);
        u32 pb = base + 8192 + ((lane & 15) * 128 + ((lane >> 4) * 16 + k * 16) % 128 ^ (lane & 7) * 16);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b0), "=r"(b1), "=r"(b2), "=r"(b3) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b2), "r"(b3));
    }
    for (int i = 0; i < 8; ++i) r += d[i >> 2][i & 3];
})
// reductions
KERNEL(sum_by_shuffles, {
    float v = s[t] + s[t + 1024], w = s[t + 2048];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(ALL, v, d), w = fmaxf(w, __shfl_down_sync(ALL, w, d));
    if (lane == 0) s[8192 + warp] = v, s[8256 + warp] = w;
    __syncthreads();
    v = lane < warps ? s[8192 + lane] : 0;
    w = lane < warps ? s[8256 + lane] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d), w = fmaxf(w, __shfl_xor_sync(ALL, w, d));
    r += v + w;
    __syncthreads();
})
KERNEL(sum_interleaved, {
    s[8192 + t] = s[t];
    __syncthreads();
    for (int d = 1; d < B; d *= 2) {
        int i = 2 * d * t;
        if (i < B) s[8192 + i] += s[8192 + i + d];
        __syncthreads();
    }
    r += s[8192];
})
// scans
KERNEL(scan_by_shuffles, {
    int v = q[t] & 255;
    _Pragma("unroll") for (int d = 1; d < 32; d *= 2) {
        int o = __shfl_up_sync(ALL, v, d);
        if (lane >= d) v += o;
    }
    if (lane == 31) q[8192 + warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = lane < warps ? q[8192 + lane] : 0;
        _Pragma("unroll") for (int d = 1; d < 32; d *= 2) {
            int o = __shfl_up_sync(ALL, w, d);
            if (lane >= d) w += o;
        }
        q[8192 + lane] = w;
    }
    __syncthreads();
    if (warp) v += q[8192 + warp - 1];
    r += v;
    __syncthreads();
})
KERNEL(scan_by_trees, {
    s[8192 + t] = s[t];
    int d = 1;
    for (int k = B >> 1; k; k >>= 1, d *= 2) {
        __syncthreads();
        if (t < k) s[8192 + d * (2 * t + 2) - 1] += s[8192 + d * (2 * t + 1) - 1];
    }
    if (t == 0) s[8192 + B - 1] = 0;
    for (int k = 1; k < B; k *= 2) {
        d >>= 1;
        __syncthreads();
        if (t < k) {
            int a = 8192 + d * (2 * t + 1) - 1, b = 8192 + d * (2 * t + 2) - 1;
            float x = s[a];
            s[a] = s[b];
            s[b] += x;
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
// sorts
KERNEL(sort_bitonic, {
    s[8192 + t] = s[t];
    s[8192 + t + B] = s[t + B];
    for (int k = 2; k <= 2 * B; k *= 2)
        for (int d = k >> 1; d; d >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (d - 1)), up = (i & k) == 0;
            float a = s[8192 + i], b = s[8192 + i + d];
            if ((a > b) == up) s[8192 + i] = b, s[8192 + i + d] = a;
        }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(sort_by_shuffles, {
    float v = s[t];
    _Pragma("unroll") for (int k = 2; k <= 32; k *= 2)
        _Pragma("unroll") for (int d = k >> 1; d; d >>= 1) {
            float o = __shfl_xor_sync(ALL, v, d);
            v = ((lane & d) == 0) == ((lane & k) == 0) ? fminf(v, o) : fmaxf(v, o);
        }
    r += v;
})
// transposes
KERNEL(transpose_padded, {
    for (int k = t; k < 1024; k += B) s[8192 + (k & 31) * 33 + (k >> 5)] = s[k];
    __syncthreads();
    for (int k = t; k < 1024; k += B) r += s[8192 + (k >> 5) * 33 + (k & 31)];
    __syncthreads();
})
KERNEL(transpose_in_fours, {
    for (int k = t; k < 1024; k += B) {
        float4 v = *(float4 *)&s[4 * k];
        int row = k >> 4, column = (k & 15) * 4;
        s[8192 + (column & 31) * 64 + row] = v.x;
        s[8192 + (column & 31) * 64 + 64 + row] = v.y;
        s[8192 + (column & 31) * 64 + 128 + row] = v.z;
        s[8192 + (column & 31) * 64 + 192 + row] = v.w;
    }
    __syncthreads();
    r += s[8192 + t];
})
// histograms
KERNEL(histogram_of_warps, {
    u32 *h = q + 4096 + (warp & 15) * 256;
    for (int k = lane; k < 256; k += 32) h[k] = 0;
    __syncthreads();
    for (int k = t; k < 4096; k += B) atomicAdd(&h[q[k] >> 5 & 255], 1);
    __syncthreads();
    if (t < 256) {
        u32 sum = 0;
        for (int w = 0; w < min(warps, 16); ++w) sum += q[4096 + w * 256 + t];
        r += sum;
    }
    __syncthreads();
})
// stencils
KERNEL(stencil_of_five, {
    for (int step = 0; step < 4; ++step) {
        const float *a = s + (step & 1) * 4096;
        float *b = s + 4096 - (step & 1) * 4096;
        for (int k = t; k < 2048; k += B) {
            int i = 64 + k;
            b[i] = .2f * (a[i] + a[i - 1] + a[i + 1] + a[i - 64] + a[i + 64]);
        }
        __syncthreads();
    }
    r += s[64 + t];
})
// pipelines of copies
KERNEL(pipeline_of_copies, {
    u32 at = (u32)__cvta_generic_to_shared(s + 4096) + (t & 255) * 16;
    const float *from = in + (t & 255) * 4;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    asm volatile("cp.async.commit_group;");
    for (int k = 0; k < 6; ++k) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at + (k + 1 & 1) * 4096), "l"(from + (k & 3) * 1024));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        const float *tile = s + 4096 + (k & 1) * 1024;
        _Pragma("unroll") for (int i = 0; i < 8; ++i) r += tile[(t * 5 + i * 32) & 1023] * tile[i];
        __syncthreads();
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
})
// named barriers
KERNEL(producers_and_consumers, {
    if (warps > 1) {
        const bool consumer = warp >= warps / 2;
        for (int k = 0; k < 6; ++k) {
            if (consumer) {
                asm volatile("bar.sync 1, %0;" ::"r"(B) : "memory");
                r += s[8192 + (t & 511)] * s[k * 32 + lane];
                asm volatile("bar.arrive 2, %0;" ::"r"(B) : "memory");
            } else {
                if (k) asm volatile("bar.sync 2, %0;" ::"r"(B) : "memory");
                s[8192 + t] = s[k * 512 + t] + s[k * 512 + t + 32];
                asm volatile("bar.arrive 1, %0;" ::"r"(B) : "memory");
            }
        }
        if (!consumer) asm volatile("bar.sync 2, %0;" ::"r"(B) : "memory");
    } else
        for (int k = 0; k < 6; ++k) {
            s[8192 + t] = s[k * 512 + t] + s[k * 512 + t + 32];
            __syncwarp();
            r += s[8192 + (t ^ 1)];
            __syncwarp();
        }
})
// loops that diverge
KERNEL(steps_of_collatz, {
    u32 x = (q[t] >> 7 & 63) + 2, steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        ++steps;
    }
    r += steps;
})
// integers
KERNEL(hash_of_words, {
    u32 h = t;
    for (int k = 0; k < 32; ++k) {
        u32 w = q[(t + k * 33) & 4095] * 0xcc9e2d51u;
        w = w << 15 | w >> 17;
        h ^= w * 0x1b873593u;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= h >> 16;
    r += h & 255;
})
KERNEL(generator_of_64_bits, {
    u64 state = t + 1 + ((u64)q[t] << 20);
    u32 sum = 0;
    for (int k = 0; k < 32; ++k) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        u32 x = (u32)((state >> 18 ^ state) >> 27), rotate = (u32)(state >> 59);
        sum += __funnelshift_r(x, x, rotate);
    }
    r += sum & 255;
})
// doubles, halves, special functions
KERNEL(polynomial_of_doubles, {
    double x = s[t], v = 0;
    for (int k = 0; k < 24; ++k) v = v * x + (double)s[k * 4];
    r += (float)v;
})
KERNEL(products_of_half_pairs, {
    __half2 a = *(__half2 *)&s[t], c = a, d = a;
    for (int k = 0; k < 48; ++k) {
        __half2 b = *(__half2 *)&s[k * 8];
        c = __hfma2(c, b, a);
        d = __hmax2(__hadd2(d, b), c);
    }
    r += __low2float(c) + __high2float(d);
})
KERNEL(special_functions, {
    float x = s[t] + .5f, v = 0;
    for (int k = 0; k < 16; ++k) {
        v += __sinf(x) * __expf(-x) + __logf(x) + rsqrtf(x);
        x += s[k];
    }
    r += v;
})
// votes and matches
KERNEL(compaction_by_votes, {
    u32 count = 0;
    for (int k = 0; k < 8; ++k) {
        float v = s[t + k * 256];
        u32 some = __ballot_sync(ALL, v > .5f);
        if (v > .5f) s[8192 + (warp & 15) * 256 + ((count + __popc(some & ((1u << lane) - 1))) & 255)] = v;
        count += __popc(some);
    }
    __syncwarp();
    r += s[8192 + (warp & 15) * 256 + lane] + count;
})
KERNEL(equal_keys, {
    for (int k = 0; k < 6; ++k) {
        u32 key = q[t + k * 96] >> 9 & 7, same = __match_any_sync(ALL, key);
        if (lane == __ffs(same) - 1) atomicAdd(&q[10240 + key], __popc(same));
    }
    __syncthreads();
    r += q[10240 + (t & 7)] & 7;
})
