// Kernels of 18 kinds that courses and samples have, whose warps read the clock around six passes. h200_habits.npz has the
// machine code and what one H200 took for the last five passes of three launches.
#define ALIGNED 128
#include <cuda_fp16.h>
#include "passes.cuh"
typedef uint32_t u32;
#define ALL 0xFFFFFFFFu
#define q ((u32 *)s)
// sums
KERNEL(sum_by_remainders, {
    for (int k = t; k < 1024; k += B) s[8192 + k] = s[k];
    for (int d = 1; d < 1024; d *= 2) {
        __syncthreads();
        for (int k = t; k < 1024; k += B)
            if (k % (2 * d) == 0) s[8192 + k] += s[8192 + k + d];
    }
    __syncthreads();
    r += s[8192];
})
KERNEL(sum_by_warps, {
    float v = 0;
    for (int k = t; k < 4096; k += B) v += s[k] * s[k];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(ALL, v, d);
    if (lane == 0) s[8192 + warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < warps ? s[8192 + lane] : 0;
        for (int d = 16; d; d >>= 1) v += __shfl_down_sync(ALL, v, d);
        if (lane == 0) s[8192] = v;
    }
    __syncthreads();
    r += s[8192];
})
KERNEL(moments_of_welford, {
    float mean = 0, m2 = 0, n_ = 0;
    for (int k = t; k < 2048; k += B) {
        float d = s[k] - mean;
        n_ += 1;
        mean += d / n_;
        m2 += d * (s[k] - mean);
    }
    for (int o = 16; o; o >>= 1) {
        float other = __shfl_xor_sync(ALL, mean, o);
        float squares = __shfl_xor_sync(ALL, m2, o);
        float d = other - mean;
        mean = 0.5f * (mean + other);
        m2 += squares + d * d * n_ * 0.5f;
        n_ *= 2;
    }
    if (lane == 0) s[8192 + warp] = mean, s[8224 + warp] = m2;
    __syncthreads();
    for (int w = 0; w < warps; ++w) mean += s[8192 + w], m2 += s[8224 + w];
    float scale = rsqrtf(m2 / n_ + 1e-5f);
    for (int k = t; k < 2048; k += B) s[4096 + k] = (s[k] - mean) * scale;
    __syncthreads();
    r += s[4096 + t];
})
// scans and sorts
KERNEL(scan_of_blelloch, {
    for (int k = t; k < 2048; k += B) s[8192 + k] = s[k];
    int d = 1;
    for (int half = 1024; half; half >>= 1, d *= 2) {
        __syncthreads();
        for (int k = t; k < half; k += B) s[8192 + d * (2 * k + 2) - 1] += s[8192 + d * (2 * k + 1) - 1];
    }
    if (t == 0) s[8192 + 2047] = 0;
    for (int many = 1; many < 2048; many *= 2) {
        d >>= 1;
        __syncthreads();
        for (int k = t; k < many; k += B) {
            float held = s[8192 + d * (2 * k + 1) - 1];
            s[8192 + d * (2 * k + 1) - 1] = s[8192 + d * (2 * k + 2) - 1];
            s[8192 + d * (2 * k + 2) - 1] += held;
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(sort_odd_and_even, {
    for (int k = t; k < 2048; k += B) s[8192 + k] = s[k];
    for (int step = 0; step < 24; ++step) {
        __syncthreads();
        for (int k = t; k < 1023; k += B) {
            int at = 8192 + 2 * k + (step & 1);
            float a = s[at], b = s[at + 1];
            if (a > b) s[at] = b, s[at + 1] = a;
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(split_by_bits, {
    u32 *own = q + 8192 + warp * 32;
    u32 key = __float_as_uint(s[t]) >> 7;
    for (int bit = 0; bit < 8; ++bit) {
        u32 ones = __ballot_sync(ALL, key >> bit & 1);
        u32 below = (1u << lane) - 1;
        int zeros = 32 - __popc(ones);
        int to = key >> bit & 1 ? zeros + __popc(ones & below) : __popc(~ones & below);
        own[to] = key;
        __syncwarp();
        key = own[lane];
        __syncwarp();
    }
    r += key;
})
KERNEL(keep_positive, {
    int base = 0;
    for (int from = 0; from < 2048; from += B) {
        float v = s[from + t] - 0.5f;
        u32 kept = __ballot_sync(ALL, v > 0);
        if (lane == 0) q[8192 + warp] = __popc(kept);
        __syncthreads();
        int before = base;
        int all = 0;
        for (int w = 0; w < warps; ++w) {
            if (w < warp) before += q[8192 + w];
            all += q[8192 + w];
        }
        if (v > 0) s[9216 + before + __popc(kept & ((1u << lane) - 1))] = v;
        base += all;
        __syncthreads();
    }
    r += s[9216 + t];
})
// tables
KERNEL(histogram_by_warps, {
    u32 *own = q + 4096 + (warp & 7) * 256;
    for (int k = t; k < 2048; k += B) q[4096 + k] = 0;
    __syncthreads();
    for (int k = t; k < 4096; k += B) atomicAdd(&own[(int)(s[k] * 256)], 1);
    __syncthreads();
    for (int k = t; k < 256; k += B) {
        u32 sum = 0;
        for (int w = 0; w < 8; ++w) sum += q[4096 + w * 256 + k];
        q[8192 + k] = sum;
    }
    __syncthreads();
    r += q[8192 + (t & 255)];
})
KERNEL(search_sorted, {
    for (int k = t; k < 2048; k += B) {
        float key = s[k] * 4096;
        int low = 0;
        int high = 4096;
        while (low < high) {
            int middle = (low + high) / 2;
            if (q[middle] < __float_as_uint(key * 0.0002f)) low = middle + 1;
            else high = middle;
        }
        q[8192 + k] = low;
    }
    __syncthreads();
    r += q[8192 + t];
})
// matrices
KERNEL(transpose_tiles, {
    float(*tile)[33] = (float(*)[33])(s + 8192);
    int x = t & 31;
    for (int y = t >> 5; y < 32; y += B >> 5) tile[y][x] = s[y * 64 + x];
    __syncthreads();
    for (int y = t >> 5; y < 32; y += B >> 5) s[10240 + y * 32 + x] = tile[x][y];
    __syncthreads();
    r += s[10240 + t];
})
KERNEL(product_by_fours, {  // of 64 x 32 and 32 x 64
    for (int k = t; k < 1024; k += B) {
        int row = (k >> 5) * 2;
        int column = (k & 31) * 2;
        float a = 0, b = 0, c = 0, d = 0;
        for (int j = 0; j < 32; ++j) {
            float x = s[row * 32 + j], y = s[row * 32 + 32 + j];
            float2 z = *(float2 *)&s[4096 + j * 64 + column];
            a += x * z.x, b += x * z.y, c += y * z.x, d += y * z.y;
        }
        *(float2 *)&s[8192 + row * 64 + column] = make_float2(a, b);
        *(float2 *)&s[8192 + row * 64 + 64 + column] = make_float2(c, d);
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(softmax_of_rows, {  // of 128, a warp each
    for (int row = warp; row < 32; row += warps) {
        float4 v = *(float4 *)&s[row * 128 + lane * 4];
        float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        for (int d = 16; d; d >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, d));
        v.x = __expf(v.x - most), v.y = __expf(v.y - most), v.z = __expf(v.z - most), v.w = __expf(v.w - most);
        float sum = v.x + v.y + v.z + v.w;
        for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(ALL, sum, d);
        float by = 1 / sum;
        *(float4 *)&s[4096 + row * 128 + lane * 4] = make_float4(v.x * by, v.y * by, v.z * by, v.w * by);
    }
    __syncthreads();
    r += s[4096 + t];
})
KERNEL(triangle_solved, {  // of 32 x 32, for 32 right sides, a warp each
    for (int side = warp; side < 32; side += warps) {
        float v = s[4096 + side * 32 + lane];
        for (int j = 0; j < 32; ++j) {
            float x = __shfl_sync(ALL, v, j) / (s[j * 33] + 1);
            if (lane == j) v = x;
            if (lane > j) v -= s[j * 32 + lane] * x;
        }
        s[8192 + side * 32 + lane] = v;
    }
    __syncthreads();
    r += s[8192 + t];
})
// pictures and waves
KERNEL(convolution_of_rows, {  // radius 8
    for (int k = t; k < 2048; k += B) {
        float sum = 0;
        _Pragma("unroll") for (int j = 0; j < 17; ++j) sum += s[k + j] * s[4000 + j];
        s[8192 + k] = sum;
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(life_of_cells, {
    for (int k = t; k < 1024; k += B) q[8192 + k] = s[k] < 0.4f;
    __syncthreads();
    for (int step = 0; step < 2; ++step) {
        u32 *from = q + 8192 + step * 1024;
        u32 *to = q + 9216 - step * 1024;
        for (int k = t; k < 1024; k += B) {
            int x = k & 31;
            int y = k >> 5;
            u32 count = 0;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) count += from[(y + dy & 31) * 32 + (x + dx & 31)];
            u32 alive = from[k];
            to[k] = count == 3 || (alive && count == 4);
        }
        __syncthreads();
    }
    r += q[8192 + (t & 1023)];
})
KERNEL(fourier_of_1024, {
    float2 *v = (float2 *)(s + 8192);
    for (int k = t; k < 1024; k += B) v[__brev(k) >> 22] = make_float2(s[k], 0);
    for (int half = 1; half < 1024; half *= 2) {
        __syncthreads();
        for (int k = t; k < 512; k += B) {
            int j = k & (half - 1);
            int a = (k - j) * 2 + j;
            float si, co;
            __sincosf(-3.14159265f * j / half, &si, &co);
            float2 x = v[a], y = v[a + half];
            float2 z = make_float2(y.x * co - y.y * si, y.x * si + y.y * co);
            v[a] = make_float2(x.x + z.x, x.y + z.y);
            v[a + half] = make_float2(x.x - z.x, x.y - z.y);
        }
    }
    __syncthreads();
    r += s[8192 + t];
})
KERNEL(bodies_in_tiles, {
    float4 *body = (float4 *)s;
    for (int k = t; k < 512; k += B) {
        float4 own = body[k];
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < 64; ++j) {
            float4 o = body[j];
            float dx = o.x - own.x, dy = o.y - own.y, dz = o.z - own.z;
            float by = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            by = o.w * by * by * by;
            x += dx * by, y += dy * by, z += dz * by;
        }
        s[8192 + k] = x + y + z;
    }
    __syncthreads();
    r += s[8192 + (t & 511)];
})
KERNEL(picture_of_julia, {
    for (int k = t; k < 1024; k += B) {
        float x = (k & 31) * 0.09f - 1.4f, y = (k >> 5) * 0.09f - 1.4f;
        int steps = 0;
        while (steps < 40 && x * x + y * y < 4) {
            float next = x * x - y * y - 0.8f;
            y = 2 * x * y + 0.156f;
            x = next;
            ++steps;
        }
        q[8192 + k] = steps;
    }
    __syncthreads();
    r += q[8192 + (t & 1023)];
})
