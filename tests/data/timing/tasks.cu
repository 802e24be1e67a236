// Kernels of 18 further kinds whose warps read the clock around six passes. h200_tasks.npz has the machine code and what one H200
// took for the last five passes of three launches.
#define ALIGNED 128
#include <cuda_fp16.h>
#include "passes.cuh"
typedef uint32_t u32;
#define ALL 0xFFFFFFFFu
#define q ((u32 *)s)
__device__ __forceinline__ float sum_of_warp(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    return v;
}
// rows
KERNEL(normalise_rows, {
    float v = s[t], w = s[t + 1024];
    float a = sum_of_warp(v + w), b = sum_of_warp(v * v + w * w);
    if (lane == 0) s[8192 + warp] = a, s[8224 + warp] = b;
    __syncthreads();
    a = b = 0;
    for (int i = 0; i < warps; ++i) a += s[8192 + i], b += s[8224 + i];
    float mean = a / (2 * B), scale = rsqrtf(b / (2 * B) - mean * mean + 1e-5f);
    s[9216 + t] = (v - mean) * scale * s[2048 + lane] + s[2080 + lane];
    __syncthreads();
    r += s[9216 + (t ^ 1)];
})
KERNEL(largest_of_each_warp, {
    float best = s[t];
    int where = t;
    for (int k = 1; k < 8; ++k) {
        float v = s[t + k * 1024];
        if (v > best) best = v, where = t + k * 1024;
    }
    _Pragma("unroll") for (int d = 16; d; d >>= 1) {
        float o = __shfl_down_sync(ALL, best, d);
        int p = __shfl_down_sync(ALL, where, d);
        if (o > best || (o == best && p < where)) best = o, where = p;
    }
    if (lane == 0) s[9216 + warp] = best, q[9248 + warp] = where;
    __syncthreads();
    if (warp == 0) {
        float v = lane < warps ? s[9216 + lane] : -1;
        _Pragma("unroll") for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(ALL, v, d));
        if (lane == 0) s[9280] = v;
    }
    __syncthreads();
    r += s[9280] + where;
})
// scans
KERNEL(scan_in_two_buffers, {
    s[8192 + t] = s[t];
    int from = 8192, to = 9216;
    for (int d = 1; d < B; d *= 2) {
        __syncthreads();
        s[to + t] = t >= d ? s[from + t] + s[from + t - d] : s[from + t];
        int swap = from;
        from = to, to = swap;
    }
    __syncthreads();
    r += s[from + t];
})
// filters
KERNEL(filter_of_nine, {
    float w[9];
    for (int i = 0; i < 9; ++i) w[i] = s[i];
    for (int k = t; k < 2048; k += B) {
        float v = 0;
        _Pragma("unroll") for (int i = 0; i < 9; ++i) v += w[i] * s[1024 + k + i];
        s[4096 + k] = v;
    }
    __syncthreads();
    r += s[4096 + t];
})
KERNEL(filter_in_a_square, {
    for (int k = t; k < 1024; k += B) {
        int x = k & 31, y = k >> 5;
        float v = 0;
        _Pragma("unroll") for (int i = 0; i < 3; ++i)
            _Pragma("unroll") for (int j = 0; j < 3; ++j) v += s[i * 3 + j] * s[1024 + (y + i) * 34 + x + j];
        s[8192 + k] = fmaxf(v, 0);
    }
    __syncthreads();
    r += s[8192 + t];
})
// sorts
KERNEL(sort_of_neighbours, {
    s[8192 + t] = s[t];
    s[8192 + B + t] = s[B + t];
    for (int k = 0; k < 16; ++k) {
        __syncthreads();
        int i = 2 * t + (k & 1);
        if (i + 1 < 2 * B) {
            float a = s[8192 + i], b = s[8192 + i + 1];
            s[8192 + i] = fminf(a, b), s[8192 + i + 1] = fmaxf(a, b);
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(sort_by_digits, {
    u32 key = q[t] >> 8;
    for (int bit = 0; bit < 4; ++bit) {
        u32 one = key >> bit & 1, some = __ballot_sync(ALL, one);
        if (lane == 0) q[8192 + warp] = 32 - __popc(some);
        __syncthreads();
        u32 zeros = 0, before = 0;
        for (int w = 0; w < warps; ++w) {
            u32 c = q[8192 + w];
            zeros += c;
            before += w < warp ? c : 0;
        }
        u32 below = __popc(some & ((1u << lane) - 1));
        u32 to = one ? zeros + (warp * 32 - before) + below : before + lane - below;
        q[9216 + to] = key;
        __syncthreads();
        key = q[9216 + t];
    }
    r += key & 255;
})
// transforms
KERNEL(transform_of_fourier, {
    s[8192 + t] = s[t], s[10240 + t] = s[t + 1024];
    s[8192 + t + B] = s[t + B], s[10240 + t + B] = s[t + 1024 + B];
    for (int h = 1; h <= B; h *= 2) {
        __syncthreads();
        int i = (t & ~(h - 1)) * 2 + (t & (h - 1)), j = i + h;
        float c, d;
        __sincosf((t & (h - 1)) * (3.14159265f / h), &d, &c);
        float x = s[8192 + i], y = s[10240 + i], u = s[8192 + j], v = s[10240 + j];
        float p = u * c + v * d, o = v * c - u * d;
        s[8192 + i] = x + p, s[10240 + i] = y + o, s[8192 + j] = x - p, s[10240 + j] = y - o;
    }
    __syncthreads();
    r += s[8192 + t];
})
// systems of equations, paths, texts
KERNEL(elimination, {
    for (int k = t; k < 1024; k += B) s[8192 + k] = s[k] + ((k & 31) == k >> 5 ? 16.f : 0.f);
    for (int p = 0; p < 12; ++p) {
        __syncthreads();
        float pivot = 1 / s[8192 + p * 33];
        for (int k = t; k < 1024; k += B) {
            int x = k & 31, y = k >> 5;
            if (y > p && x > p) s[8192 + k] -= s[8192 + y * 32 + p] * pivot * s[8192 + p * 32 + x];
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(shortest_paths, {
    for (int k = t; k < 1024; k += B) s[8192 + k] = s[k];
    __syncthreads();
    for (int p = 0; p < 12; ++p) {
        for (int k = t; k < 1024; k += B) {
            int x = k & 31, y = k >> 5;
            s[8192 + k] = fminf(s[8192 + k], s[8192 + y * 32 + p] + s[8192 + p * 32 + x]);
        }
        __syncthreads();
    }
    r += s[8192 + t];
})
KERNEL(distance_of_texts, {
    int *a = (int *)q + 8192, *b = a + 1025, *c = b + 1025;
    a[t] = b[t] = t;
    u32 own = q[t] & 3;
    __syncthreads();
    for (int d = 0; d < 24; ++d) {
        int cost = own != (q[(d + t) & 4095] & 3);
        c[t + 1] = min(min(b[t], b[t + 1]) + 1, a[t] + cost);
        if (t == 0) c[0] = d;
        __syncthreads();
        int *old = a;
        a = b, b = c, c = old;
    }
    r += b[t];
})
// bodies, cells
KERNEL(forces_of_bodies, {
    float x = s[t], y = s[t + 1024], z = s[t + 2048], fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < 32; ++k) {
        float4 o = *(float4 *)&s[4096 + 4 * k];
        float dx = o.x - x, dy = o.y - y, dz = o.z - z;
        float i = rsqrtf(dx * dx + dy * dy + dz * dz + .01f), f = o.w * i * i * i;
        fx += dx * f, fy += dy * f, fz += dz * f;
    }
    r += fx + fy + fz;
})
KERNEL(game_of_life, {
    for (int step = 0; step < 3; ++step) {
        u32 *a = q + (step & 1) * 4096, *b = q + 4096 - (step & 1) * 4096;
        for (int k = t; k < 1024; k += B) {
            int x = k & 31, y = k >> 5, n = 0;
            _Pragma("unroll") for (int j = -1; j <= 1; ++j)
                _Pragma("unroll") for (int i = -1; i <= 1; ++i)
                    if (i || j) n += a[((y + j & 31) << 5) + (x + i & 31)] & 1;
            b[k] = n == 3 || (n == 2 && (a[k] & 1));
        }
        __syncthreads();
    }
    r += q[4096 + t];
})
// tables
KERNEL(table_of_keys, {
    for (int k = t; k < 2048; k += B) q[8192 + k] = 0;
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        u32 key = q[t + k * 1024] | 1, at = key * 2654435761u >> 21;
        for (int i = 0; i < 8; ++i) {
            u32 old = atomicCAS(&q[8192 + at], 0, key);
            if (old == 0 || old == key) break;
            at = (at + 1) & 2047;
        }
        r += at;
    }
    __syncthreads();
})
KERNEL(search_in_order, {
    for (int k = 0; k < 4; ++k) {
        u32 key = q[t + k * 1024] >> 9, low = 0, high = 4096;
        while (low < high) {
            u32 middle = (low + high) >> 1;
            if ((middle * 2048 ^ (q[middle] & 1023)) < key) low = middle + 1;
            else high = middle;
        }
        r += low;
    }
})
// integers, random numbers, pairs
KERNEL(products_of_bytes, {
    int v = 0, w = 0;
    for (int k = 0; k < 32; ++k) {
        int a = (int)q[(t & 31) * 33 + k], b = (int)q[2048 + k];
        v = __dp4a(a, b, v);
        w = __dp4a(a, b ^ 0x01010101, w);
    }
    r += v ^ w;
})
KERNEL(random_points, {
    u32 x = q[t] | 1, hits = 0;
    for (int k = 0; k < 24; ++k) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        float a = (x >> 8) * (1.f / 16777216);
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        float b = (x >> 8) * (1.f / 16777216);
        hits += a * a + b * b < 1;
    }
    r += hits;
})
KERNEL(rows_of_a_matrix, {
    for (int row = warp; row < 32; row += warps) {
        float4 a = *(float4 *)&s[row * 128 + lane * 4], x = *(float4 *)&s[4096 + lane * 4];
        float v = sum_of_warp(a.x * x.x + a.y * x.y + a.z * x.z + a.w * x.w);
        if (lane == 0) s[8192 + row] = v;
    }
    __syncthreads();
    r += s[8192 + lane];
    __syncthreads();
})
