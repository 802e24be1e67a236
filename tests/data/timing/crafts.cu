// Kernels of 18 more kinds whose warps read the clock around six passes. h200_crafts.npz has the machine code and what one H200 took
// for the last five passes of three launches.
#define ALIGNED 128
#include <cuda_fp16.h>
#include "passes.cuh"
typedef uint32_t u32;
#define ALL 0xFFFFFFFFu
#define q ((u32 *)s)
__device__ __forceinline__ double sum_of_doubles(double v, double *parts, int warps) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < warps; ++w) v += parts[w];
    __syncthreads();
    return v;
}
// pictures
__device__ __forceinline__ void order(float &a, float &b) {
    float low = fminf(a, b);
    b = fmaxf(a, b), a = low;
}
KERNEL(median_of_nine, {
    for (int k = t; k < 1024; k += B) {
        float p[9];
        _Pragma("unroll") for (int j = 0; j < 9; ++j) p[j] = s[((k >> 5) + j / 3) * 34 + (k & 31) + j % 3];
        order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]), order(p[0], p[1]), order(p[3], p[4]), order(p[6], p[7]);
        order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]);
        p[3] = fmaxf(p[0], p[3]), p[5] = fminf(p[5], p[8]), order(p[4], p[7]), p[6] = fmaxf(p[3], p[6]);
        p[4] = fmaxf(p[1], p[4]), p[2] = fminf(p[2], p[5]), p[4] = fminf(p[4], p[7]), order(p[4], p[2]);
        p[4] = fmaxf(p[6], p[4]), p[4] = fminf(p[4], p[2]);
        s[8192 + k] = p[4];
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(cosines_of_blocks, {  // of 8 x 8, eight threads each: columns, then rows
    const float *basis = s + 4096;
    for (int k = t; k < 512; k += B) {
        float *block = s + 8192 + (k >> 3) * 64;
        const float *from = s + (k >> 3) * 64;
        int i = k & 7;
        float v[8];
        _Pragma("unroll") for (int j = 0; j < 8; ++j) v[j] = from[j * 8 + i];
        for (int o = 0; o < 8; ++o) {
            float sum = 0;
            _Pragma("unroll") for (int j = 0; j < 8; ++j) sum += basis[o * 8 + j] * v[j];
            block[o * 8 + i] = sum;
        }
        __syncwarp();
        _Pragma("unroll") for (int j = 0; j < 8; ++j) v[j] = block[i * 8 + j];
        __syncwarp();
        for (int o = 0; o < 8; ++o) {
            float sum = 0;
            _Pragma("unroll") for (int j = 0; j < 8; ++j) sum += basis[o * 8 + j] * v[j];
            block[i * 8 + o] = rintf(sum * 16);
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(components_by_labels, {  // of pixels, until none changes
    for (int k = t; k < 1024; k += B) q[8192 + k] = s[k] < 0.55f ? k : 4096;
    __syncthreads();
    for (int round = 0; round < 6; ++round) {
        int changed = 0;
        for (int k = t; k < 1024; k += B) {
            u32 own = q[8192 + k];
            if (own == 4096) continue;
            u32 least = own;
            if (k & 31) least = min(least, q[8192 + k - 1]);
            if ((k & 31) != 31) least = min(least, q[8192 + k + 1]);
            if (k >= 32) least = min(least, q[8192 + k - 32]);
            if (k < 992) least = min(least, q[8192 + k + 32]);
            if (least < own) atomicMin(&q[8192 + own], least), q[8192 + k] = least, changed = 1;
        }
        if (!__syncthreads_or(changed)) break;
    }
    r += q[8192 + (t & 1023)];
})
KERNEL(wavelets_of_haar, {
    for (int k = t; k < 2048; k += B) s[8192 + k] = s[k];
    for (int n = 1024; n; n >>= 1) {
        __syncthreads();
        for (int k = t; k < n; k += B) {
            float a = s[8192 + 2 * k];
            float b = s[8193 + 2 * k];
            s[4096 + k] = (a + b) * .70710678f, s[4096 + n + k] = (a - b) * .70710678f;
        }
        __syncthreads();
        for (int k = t; k < n; k += B) s[8192 + k] = s[4096 + k];
    }
    __syncthreads();
    r += s[8192] + s[4096 + t];
})
// numbers
KERNEL(angles_by_cordic, {  // of integers with 28 bits behind the point
    int x = (int)(s[t] * 268435456.f) + 1, y = (int)(s[t + 1024] * 268435456.f), angle = 0;
    _Pragma("unroll") for (int k = 0; k < 20; ++k) {
        int step = q[4096 + k] >> 4, dx = x >> k, dy = y >> k;
        bool up = y < 0;
        x = up ? x - dy : x + dy;
        y = up ? y + dx : y - dx;
        angle = up ? angle - step : angle + step;
    }
    r += angle + x;
})
KERNEL(roots_by_newton, {  // of z^3 = 1, as pictures of fractals have them
    float x = s[t] * 4 - 2, y = s[t + 1024] * 4 - 2;
    int n = 0;
    for (; n < 24; ++n) {
        float xx = x * x, yy = y * y, d = 3 * (xx + yy) * (xx + yy) + 1e-9f;
        float a = (2 * x + (xx - yy) / d * 3) / 3, b = (2 * y - 2 * x * y / d * 3) / 3;
        float off = (a - x) * (a - x) + (b - y) * (b - y);
        x = a, y = b;
        if (off < 1e-5f) break;
    }
    r += n + x;
})
KERNEL(conjugate_gradients, {  // doubles; a matrix of three diagonals
    double *p = (double *)(s + 4096), *parts = (double *)(s + 8192);
    double x = 0, rest = s[t], own = rest;
    double old = sum_of_doubles(rest * rest, parts, warps);
    for (int k = 0; k < 4; ++k) {
        p[t + 1] = own;
        if (t == 0) p[0] = 0, p[B + 1] = 0;
        __syncthreads();
        double by = 2.5 * own - p[t] - p[t + 2];
        double step = old / sum_of_doubles(own * by, parts, warps);
        x += step * own, rest -= step * by;
        double now = sum_of_doubles(rest * rest, parts, warps);
        own = rest + now / old * own, old = now;
    }
    r += (float)x;
})
KERNEL(layer_of_halves, {  // 64 inputs of each of 32 rows, 32 outputs, GELU
    half2 *weights = (half2 *)(s + 4096), *rows = weights + 1024, *out = rows + 1024;
    for (int k = t; k < 1024; k += B) {
        weights[k] = __floats2half2_rn(s[k] - .5f, s[k + 1024] - .5f);
        rows[k] = __floats2half2_rn(s[k + 2048], s[k + 3072]);
    }
    __syncthreads();
    for (int k = t; k < 1024; k += B) {
        half2 sum = __float2half2_rn(0), other = sum;
        _Pragma("unroll 8") for (int i = 0; i < 32; i += 2) {
            sum = __hfma2(weights[i * 32 + (k & 31)], rows[(k >> 5) * 32 + i], sum);
            other = __hfma2(weights[(i + 1) * 32 + (k & 31)], rows[(k >> 5) * 32 + i + 1], other);
        }
        float2 v = __half22float2(__hadd2(sum, other));
        v.x = .5f * v.x * (1 + tanhf(.79788456f * (v.x + .044715f * v.x * v.x * v.x)));
        v.y = .5f * v.y * (1 + tanhf(.79788456f * (v.y + .044715f * v.y * v.y * v.y)));
        out[k] = __floats2half2_rn(v.x, v.y);
    }
    __syncthreads();
    r += __low2float(out[t]);
})
KERNEL(attention_in_tiles, {  // a query of eight a thread; 64 keys and values in shared memory
    float query[8], sum[8], most = -1e30f, all = 0;
    _Pragma("unroll") for (int i = 0; i < 8; ++i) query[i] = s[(t * 8 + i) & 4095], sum[i] = 0;
    for (int k = 0; k < 64; ++k) {
        const float4 *key = (const float4 *)(s + 4096 + k * 8), *value = (const float4 *)(s + 8192 + k * 8);
        float4 a = key[0], b = key[1];
        float dot = query[0] * a.x + query[1] * a.y + query[2] * a.z + query[3] * a.w + query[4] * b.x + query[5] * b.y +
                    query[6] * b.z + query[7] * b.w;
        float now = fmaxf(most, dot), scale = exp2f(most - now), p = exp2f(dot - now);
        a = value[0], b = value[1];
        all = all * scale + p;
        sum[0] = sum[0] * scale + p * a.x, sum[1] = sum[1] * scale + p * a.y;
        sum[2] = sum[2] * scale + p * a.z, sum[3] = sum[3] * scale + p * a.w;
        sum[4] = sum[4] * scale + p * b.x, sum[5] = sum[5] * scale + p * b.y;
        sum[6] = sum[6] * scale + p * b.z, sum[7] = sum[7] * scale + p * b.w;
        most = now;
    }
    float by = 1 / all;
    _Pragma("unroll") for (int i = 0; i < 8; ++i) r += sum[i] * by;
})
KERNEL(rays_and_triangles, {  // a ray a thread, 24 triangles, by Moeller and Trumbore
    float ox = s[t] - .5f, oy = s[t + 1024] - .5f, dx = s[t + 2048] * .2f, dy = s[t + 3072] * .2f, nearest = 1e30f;
    int which = -1;
    for (int k = 0; k < 24; ++k) {
        float4 a = *(float4 *)&s[4096 + k * 12], b = *(float4 *)&s[4100 + k * 12], c = *(float4 *)&s[4104 + k * 12];
        float ax = b.x - a.x, ay = b.y - a.y, az = b.z - a.z, bx = c.x - a.x, by = c.y - a.y, bz = c.z - a.z;
        float px = dy * bz - by, py = bx - dx * bz, pz = dx * by - dy * bx, det = ax * px + ay * py + az * pz;
        if (fabsf(det) < 1e-4f) continue;
        float inverse = 1 / det, tx = ox - a.x, ty = oy - a.y, tz = -1 - a.z;
        float u = (tx * px + ty * py + tz * pz) * inverse;
        if (u < 0 || u > 1) continue;
        float qx = ty * az - tz * ay, qy = tz * ax - tx * az, qz = tx * ay - ty * ax;
        float v = (dx * qx + dy * qy + qz) * inverse;
        if (v < 0 || u + v > 1) continue;
        float far = (bx * qx + by * qy + bz * qz) * inverse;
        if (far > 0 && far < nearest) nearest = far, which = k;
    }
    r += which + (which < 0 ? 0 : nearest);
})
// lists
KERNEL(runs_of_equal_values, {  // where each begins, and how long it is
    u32 own = q[t] >> 22 & 3, left = t ? q[t - 1] >> 22 & 3 : 4;
    bool first = own != left;
    u32 firsts = __ballot_sync(ALL, first);
    if (lane == 0) q[8192 + warp] = __popc(firsts);
    __syncthreads();
    if (warp == 0) {
        u32 n = lane < warps ? q[8192 + lane] : 0, sum = n;
        _Pragma("unroll") for (int d = 1; d < 32; d *= 2) {
            u32 o = __shfl_up_sync(ALL, sum, d);
            if (lane >= d) sum += o;
        }
        q[8192 + lane] = sum - n;
        if (lane == 31) q[8224] = sum;
    }
    __syncthreads();
    u32 at = q[8192 + warp] + __popc(firsts & ((1u << lane) - 1));
    if (first) q[9216 + at] = t, q[10240 + at] = own;
    __syncthreads();
    u32 runs = q[8224];
    if (t < runs) r += (t + 1 < runs ? q[9217 + t] : B) - q[9216 + t] + q[10240 + t];
})
KERNEL(sort_by_counting, {
    for (int k = t; k < 256; k += B) q[8192 + k] = 0;
    __syncthreads();
    for (int k = t; k < 2048; k += B) atomicAdd(&q[8192 + (q[k] >> 15 & 255)], 1);
    __syncthreads();
    if (warp == 0) {
        u32 n[8], sum = 0;
        _Pragma("unroll") for (int i = 0; i < 8; ++i) n[i] = sum, sum += q[8192 + lane * 8 + i];
        u32 before = sum;
        _Pragma("unroll") for (int d = 1; d < 32; d *= 2) {
            u32 o = __shfl_up_sync(ALL, before, d);
            if (lane >= d) before += o;
        }
        _Pragma("unroll") for (int i = 0; i < 8; ++i) q[8192 + lane * 8 + i] = n[i] + before - sum;
    }
    __syncthreads();
    for (int k = t; k < 2048; k += B) {
        u32 key = q[k], at = atomicAdd(&q[8192 + (key >> 15 & 255)], 1);
        q[9216 + at] = key;
    }
    __syncthreads();
    r += q[9216 + t];
})
KERNEL(largest_eight, {  // of 32 values, in an array of each thread
    float best[8];
    _Pragma("unroll 1") for (int i = 0; i < 8; ++i) best[i] = -1;
    for (int k = 0; k < 32; ++k) {
        float v = s[(t + k * 129) & 4095];
        if (v <= best[7]) continue;
        int at = 7;
        _Pragma("unroll 1") while (at > 0 && best[at - 1] < v) best[at] = best[at - 1], --at;
        best[at] = v;
    }
    _Pragma("unroll 1") for (int i = 0; i < 8; ++i) r += best[i] * i;
})
KERNEL(knapsack, {  // of 1,024 units, 12 things
    for (int k = t; k < 1024; k += B) q[8192 + k] = 0;
    __syncthreads();
    for (int thing = 0; thing < 12; ++thing) {
        const u32 *old = q + 8192 + (thing & 1) * 1024;
        u32 *now = q + 9216 - (thing & 1) * 1024, weight = (q[thing] >> 16 & 127) + 1, value = q[thing + 16] >> 12 & 255;
        for (int k = t; k < 1024; k += B) now[k] = k < weight ? old[k] : max(old[k], old[k - weight] + value);
        __syncthreads();
    }
    r += q[8192 + t];
})
// texts and codes
KERNEL(check_sums_by_table, {  // 16 bytes a thread, byte by byte
    u32 sum = ~0u;
    const uint8_t *text = (const uint8_t *)(s + 4096) + t * 16;
    for (int k = 0; k < 16; ++k) sum = q[(sum ^ text[k]) & 255] ^ sum >> 8;
    r += ~sum;
})
KERNEL(rounds_of_sha, {  // 48 of 64 bits' choice, majority and turns
    u32 w[16];
    _Pragma("unroll") for (int i = 0; i < 16; ++i) w[i] = q[t + i * 64];
    u32 a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a, e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int k = 0; k < 3; ++k) {
        _Pragma("unroll") for (int i = 0; i < 16; ++i) {
            u32 one = __funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25);
            u32 x = h + one + ((e & f) ^ (~e & g)) + q[4096 + k * 16 + i] + w[i];
            u32 two = __funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13) ^ __funnelshift_r(a, a, 22);
            u32 y = two + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
            u32 m = w[(i + 1) & 15], n = w[(i + 14) & 15];
            w[i] += w[(i + 9) & 15] + (__funnelshift_r(m, m, 7) ^ __funnelshift_r(m, m, 18) ^ m >> 3) +
                    (__funnelshift_r(n, n, 17) ^ __funnelshift_r(n, n, 19) ^ n >> 10);
        }
    }
    r += a + e;
})
KERNEL(cipher_by_tables, {  // ten rounds, four tables of 256 words
    u32 a = q[t], b = q[t + 1024], c = q[t + 2048], d = q[t + 3072];
    for (int round = 0; round < 10; ++round) {
        const u32 *key = q + 8192 + round * 4, *table = q + 4096;
        u32 w = table[a >> 24] ^ table[256 + (b >> 16 & 255)] ^ table[512 + (c >> 8 & 255)] ^ table[768 + (d & 255)] ^ key[0];
        u32 x = table[b >> 24] ^ table[256 + (c >> 16 & 255)] ^ table[512 + (d >> 8 & 255)] ^ table[768 + (a & 255)] ^ key[1];
        u32 y = table[c >> 24] ^ table[256 + (d >> 16 & 255)] ^ table[512 + (a >> 8 & 255)] ^ table[768 + (b & 255)] ^ key[2];
        u32 z = table[d >> 24] ^ table[256 + (a >> 16 & 255)] ^ table[512 + (b >> 8 & 255)] ^ table[768 + (c & 255)] ^ key[3];
        a = w, b = x, c = y, d = z;
    }
    r += a ^ b ^ c ^ d;
})
KERNEL(search_in_text, {  // 24 places a thread, a pattern of up to six letters
    const uint8_t *text = (const uint8_t *)(s + 4096), *pattern = text + 9000;
    int found = 0;
    for (int k = 0; k < 24; ++k) {
        const uint8_t *from = text + t * 4 + k;
        int i = 0;
        while (i < 6 && (from[i] & 1) == (pattern[i] & 1)) ++i;
        found += i == 6;
    }
    int all = __reduce_add_sync(ALL, found);
    if (lane == 0) q[9216 + warp] = all;
    __syncthreads();
    for (int w = 0; w < warps; ++w) r += q[9216 + w];
    __syncthreads();
})
