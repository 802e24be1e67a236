// Algorithms that toolkits and courses show, written anew: transforms, sorts, options, random numbers, integral images.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

// Walsh transform of 1,024 numbers a block, radix 4 and a last step of radix 2 where needed.
extern "C" __global__ void walsh(const float *in, float *out, int bits) {
    __shared__ float s[1024];
    const int n = 1 << bits;
    for (int k = threadIdx.x; k < n; k += blockDim.x) s[k] = in[blockIdx.x * n + k];
    int stride = n >> 2;
    for (; stride > 0; stride >>= 2) {
        int low = threadIdx.x & (stride - 1), i = ((threadIdx.x - low) << 2) + low;
        __syncthreads();
        float a = s[i], b = s[i + stride], c = s[i + 2 * stride], d = s[i + 3 * stride], t;
        t = a, a = a + c, c = t - c;
        t = b, b = b + d, d = t - d;
        s[i] = a + b;
        s[i + stride] = a - b;
        s[i + 2 * stride] = c + d;
        s[i + 3 * stride] = c - d;
    }
    if (bits & 1) {
        __syncthreads();
        for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
            int i = k << 1;
            float a = s[i], b = s[i + 1];
            s[i] = a + b;
            s[i + 1] = a - b;
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[blockIdx.x * n + k] = s[k];
}

__device__ void dct_line(volatile float *v, int step) {
    float a0 = v[0], a1 = v[step], a2 = v[2 * step], a3 = v[3 * step];
    float a4 = v[4 * step], a5 = v[5 * step], a6 = v[6 * step], a7 = v[7 * step];
    float p = a0 + a7, q = a1 + a6, r = a2 + a5, s = a3 + a4;
    v[0] = 0.35355339f * (p + q + r + s);
    v[4 * step] = 0.35355339f * (p - q - r + s);
    v[2 * step] = 0.46193977f * (p - s) + 0.19134172f * (q - r);
    v[6 * step] = 0.19134172f * (p - s) - 0.46193977f * (q - r);
    p = a0 - a7, q = a1 - a6, r = a2 - a5, s = a3 - a4;
    v[step] = 0.49039264f * p + 0.41573481f * q + 0.27778512f * r + 0.09754516f * s;
    v[3 * step] = 0.41573481f * p - 0.09754516f * q - 0.49039264f * r - 0.27778512f * s;
    v[5 * step] = 0.27778512f * p - 0.49039264f * q + 0.09754516f * r + 0.41573481f * s;
    v[7 * step] = 0.09754516f * p - 0.27778512f * q + 0.41573481f * r - 0.49039264f * s;
}

// Cosine transform of 8 × 8 pixels: 8 threads a tile, rows then columns, in shared memory with a padded pitch.
extern "C" __global__ void cosine_8x8(const float *in, float *out, int pitch) {
    __shared__ float s[32][33];
    int x = threadIdx.x, y = threadIdx.y; // 32 × 4: a block does 32 × 32 pixels
    for (int k = 0; k < 8; ++k) s[y * 8 + k][x] = in[(blockIdx.y * 32 + y * 8 + k) * pitch + blockIdx.x * 32 + x];
    __syncthreads();
    dct_line(&s[y * 8 + (x & 7)][x & ~7], 1);
    __syncthreads();
    dct_line(&s[y * 8][x], 33);
    __syncthreads();
    for (int k = 0; k < 8; ++k) out[(blockIdx.y * 32 + y * 8 + k) * pitch + blockIdx.x * 32 + x] = s[y * 8 + k][x];
}

__device__ unsigned lower_bound(const unsigned *data, unsigned value, unsigned length, unsigned stride, bool inclusive) {
    unsigned position = 0;
    for (; stride > 0; stride >>= 1) {
        unsigned next = min(position + stride, length);
        if (inclusive ? data[next - 1] <= value : data[next - 1] < value) position = next;
    }
    return position;
}

// Merge sort of 256 pairs in shared memory by rank: every key finds its place in the other half by bisection.
extern "C" __global__ void merge_sort(const unsigned *keys, const unsigned *values, unsigned *out_keys, unsigned *out_values) {
    __shared__ unsigned k[256], v[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    for (int j = t; j < 256; j += 128) k[j] = keys[base + j], v[j] = values[base + j];
    for (unsigned stride = 1; stride < 256; stride <<= 1) {
        unsigned low = t & (stride - 1);
        unsigned *pair_k = k + 2 * (t - low), *pair_v = v + 2 * (t - low);
        __syncthreads();
        unsigned ka = pair_k[low], va = pair_v[low], kb = pair_k[low + stride], vb = pair_v[low + stride];
        unsigned pa = lower_bound(pair_k + stride, ka, stride, stride, false) + low;
        unsigned pb = lower_bound(pair_k, kb, stride, stride, true) + low;
        __syncthreads();
        pair_k[pa] = ka, pair_v[pa] = va;
        pair_k[pb] = kb, pair_v[pb] = vb;
    }
    __syncthreads();
    for (int j = t; j < 256; j += 128) out_keys[base + j] = k[j], out_values[base + j] = v[j];
}

// European option by a binomial tree of 64 steps, one option a block, the tree's leaves in shared memory.
extern "C" __global__ void binomial_option(const float *price, float *out, int steps) {
    __shared__ float s[128 + 1];
    int t = threadIdx.x;
    float x = price[blockIdx.x] * 50 + 10;
    s[t] = t <= steps ? fmaxf(x * expf(0.05f * (2.0f * t - steps)) - 30, 0.0f) : 0.0f;
    if (t == 0) s[128] = 0;
    __syncthreads();
    for (int k = steps; k > 0; --k) {
        float v = 0;
        if (t < k) v = 0.51f * s[t + 1] + 0.48f * s[t];
        __syncthreads();
        if (t < k) s[t] = v;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// Haar wavelets, one level after another, details out, approximations kept in shared memory with spread indices.
extern "C" __global__ void haar(const float *in, float *details, float *approximation, int levels) {
    __shared__ float s[512 + 16];
    int t = threadIdx.x, n = blockDim.x, base = blockIdx.x * 2 * n;
    s[t + (t >> 5)] = in[base + t];
    s[t + n + ((t + n) >> 5)] = in[base + t + n];
    __syncthreads();
    int active = n, offset = 0;
    for (int level = 0; level < levels; ++level) {
        float a = 0, b = 0;
        if (t < active) {
            int i = 2 * t, j = 2 * t + 1;
            a = s[i + (i >> 5)];
            b = s[j + (j >> 5)];
        }
        __syncthreads();
        if (t < active) {
            details[base + offset + t] = (a - b) * 0.70710678f;
            s[t + (t >> 5)] = (a + b) * 0.70710678f;
        }
        __syncthreads();
        offset += active;
        active >>= 1;
    }
    if (t == 0) approximation[blockIdx.x] = s[0];
}

// Sobol numbers: direction vectors of a dimension in shared memory, Gray code by lane.
extern "C" __global__ void sobol(const unsigned *directions, float *out, int points) {
    __shared__ unsigned v[32];
    if (threadIdx.x < 32) v[threadIdx.x] = directions[blockIdx.y * 32 + threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    unsigned g = i ^ (i >> 1), x = 0;
    for (unsigned k = 0; k < __ffs(stride) - 1 && g; ++k, g >>= 1)
        if (g & 1) x ^= v[k];
    for (; i < points; i += stride) {
        out[blockIdx.y * points + i] = (float)x * 2.3283064e-10f;
        x ^= v[__ffs(~(i + stride - 1)) - 1] ^ v[__ffs(stride) - 2 & 31];
    }
}

// Scalar products of several pairs of vectors by accumulators in shared memory.
extern "C" __global__ void scalar_products(const float *a, const float *b, float *out, int vectors, int elements) {
    __shared__ float s[256];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        for (int k = threadIdx.x; k < 256; k += blockDim.x) {
            float sum = 0;
            for (int e = k; e < elements; e += 256) sum += a[v * elements + e] * b[v * elements + e];
            s[k] = sum;
        }
        for (int stride = 128; stride > 0; stride >>= 1) {
            __syncthreads();
            for (int k = threadIdx.x; k < stride; k += blockDim.x) s[k] += s[stride + k];
        }
        __syncthreads();
        if (threadIdx.x == 0) out[v] = s[0];
        __syncthreads();
    }
}

// Wave equation in the plane, radius 2, registers marching along y, a row with halo in shared memory.
extern "C" __global__ void march(const float *in, float *out, int width, int height) {
    __shared__ float row[64 + 4];
    int t = threadIdx.x, x = blockIdx.x * 64 + t;
    float behind2 = 0, behind1 = 0, current = in[x], front1 = in[width + x], front2 = in[2 * width + x];
    for (int y = 0; y < height; ++y) {
        __syncthreads();
        row[t + 2] = current;
        if (t < 2) {
            row[t] = x >= 2 ? in[y * width + x - 2] : 0.0f;
            row[t + 66] = x + 64 < width ? in[y * width + x + 64] : 0.0f;
        }
        __syncthreads();
        out[y * width + x] = current * 2 + 0.25f * (behind1 + front1 + row[t + 1] + row[t + 3]) -
                             0.125f * (behind2 + front2 + row[t] + row[t + 4]);
        behind2 = behind1, behind1 = current, current = front1, front1 = front2;
        front2 = y + 3 < height ? in[(y + 3) * width + x] : 0.0f;
    }
}

// Rows of an integral image by shuffles, 4 bytes a thread.
extern "C" __global__ void integral_rows(const uchar4 *in, uint4 *out) {
    __shared__ unsigned sums[32];
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    uchar4 v = in[i];
    uint4 r;
    r.x = v.x, r.y = v.y + r.x, r.z = v.z + r.y, r.w = v.w + r.z;
    unsigned sum = r.w;
    for (int k = 1; k < 32; k *= 2) {
        unsigned u = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += u;
    }
    if (lane == 31) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        unsigned w = t < blockDim.x / 32 ? sums[t] : 0;
        for (int k = 1; k < 32; k *= 2) {
            unsigned u = __shfl_up_sync(FULL, w, k);
            if (lane >= k) w += u;
        }
        sums[t] = w;
    }
    __syncthreads();
    unsigned before = sum - r.w + (t >= 32 ? sums[t / 32 - 1] : 0);
    r.x += before, r.y += before, r.z += before, r.w += before;
    out[i] = r;
}

// Threads of a tile that pass a test append what they have, one atomic for them all.
extern "C" __global__ void filter(const int *in, int *out, int *count, int n) {
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        if (v > 20) {
            cg::coalesced_group active = cg::coalesced_threads();
            int base = 0;
            if (active.thread_rank() == 0) base = atomicAdd(count, (int)active.size());
            out[active.shfl(base, 0) + active.thread_rank()] = v;
        }
    }
}

// Newton fractal: loops that end by lane, a switch on the root that was found.
extern "C" __global__ void newton(int *out, int width, float step, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float a = __fadd_rn(x * step, -1.03f), b = __fadd_rn(y * step, -0.97f);
    int n = 0, root = 3;
    while (n < limit) {
        float d = __fmul_rn(3.0f, __fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b)));
        if (d < 1e-6f) break;
        float re = __fadd_rn(__fmul_rn(a, a), -__fmul_rn(b, b)), im = __fmul_rn(__fmul_rn(2.0f, a), b);
        float s = __fmul_rn(3.0f, __fadd_rn(__fmul_rn(re, re), __fmul_rn(im, im)));
        a = __fadd_rn(__fmul_rn(0.6666667f, a), __fdiv_rn(re, s));
        b = __fadd_rn(__fmul_rn(0.6666667f, b), -__fdiv_rn(im, s));
        ++n;
        float e = __fadd_rn(a, -1.0f), f = __fadd_rn(a, 0.5f), g = __fadd_rn(fabsf(b), -0.8660254f);
        if (__fadd_rn(__fmul_rn(e, e), __fmul_rn(b, b)) < 1e-4f) { root = 0; break; }
        if (__fadd_rn(__fmul_rn(f, f), __fmul_rn(g, g)) < 1e-4f) { root = b > 0 ? 1 : 2; break; }
    }
    switch (root) {
    case 0: n = n * 3; break;
    case 1: n = n * 5 + 1; break;
    case 2: n = n * 7 + 2; break;
    default: n = -n;
    }
    out[y * width + x] = n;
}

// Ray against spheres of different number by pixel: nested loops with a continue, the nearest kept.
extern "C" __global__ void spheres(const float4 *sphere, const int *counts, int *out, int width, int most) {
    __shared__ float4 s[32];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, t = threadIdx.y * 16 + threadIdx.x;
    if (t < most) s[t] = sphere[t];
    __syncthreads();
    float nearest = 1e30f;
    int hit = -1, n = min(counts[y * width + x], most);
    for (int k = 0; k < n; ++k) {
        float dx = __fadd_rn(s[k].x, -(float)x), dy = __fadd_rn(s[k].y, -(float)y);
        float r = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
        if (r > s[k].w) continue;
        float z = __fadd_rn(s[k].z, -__fadd_rn(s[k].w, -r));
        if (z < nearest) {
            nearest = z;
            hit = k;
            if (z < 1.0f) break;
        }
    }
    out[y * width + x] = hit;
}

// Knapsack by dynamic programming in shared memory, two rows in turn.
extern "C" __global__ void knapsack(const int *weight, const int *value, int *out, int items) {
    __shared__ int best[2][128];
    int t = threadIdx.x;
    best[0][t] = 0;
    for (int k = 0; k < items; ++k) {
        __syncthreads();
        int keep = best[k & 1][t], w = weight[blockIdx.x * items + k];
        best[~k & 1][t] = t >= w ? max(keep, best[k & 1][t - w] + value[blockIdx.x * items + k]) : keep;
    }
    __syncthreads();
    out[THREAD] = best[items & 1][t];
}

// Longest common subsequence by anti-diagonals.
extern "C" __global__ void common_subsequence(const unsigned char *a, const unsigned char *b, int *out, int n) {
    extern __shared__ short diagonals[];
    int t = threadIdx.x;
    for (int k = t; k < 3 * (n + 1); k += blockDim.x) diagonals[k] = 0;
    __syncthreads();
    for (int d = 2; d <= 2 * n; ++d) {
        short *now = diagonals + d % 3 * (n + 1), *one = diagonals + (d + 2) % 3 * (n + 1), *two = diagonals + (d + 1) % 3 * (n + 1);
        int i = t + 1, j = d - i;
        if (i <= n && j >= 1 && j <= n) now[i] = a[i - 1] == b[j - 1] ? two[i - 1] + 1 : max(one[i - 1], one[i]);
        __syncthreads();
    }
    if (t == 0) *out = diagonals[2 * n % 3 * (n + 1) + n];
}
