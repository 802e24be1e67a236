// The kernels of textbooks and samples, written anew.
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu

// Transpositions of a square matrix by tiles of 32 × 32, a block of 32 × 8 threads.
extern "C" __global__ void transpose_naive(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

template <int PAD>
__global__ void transpose_tile(const float *in, float *out, int n) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
template __global__ void transpose_tile<0>(const float *, float *, int);
template __global__ void transpose_tile<1>(const float *, float *, int);
template __global__ void transpose_tile<2>(const float *, float *, int);

extern "C" __global__ void transpose_swizzled(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        int row = threadIdx.y + j;
        tile[row][threadIdx.x ^ row] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        int column = threadIdx.y + j;
        out[(y + j) * n + x] = tile[threadIdx.x][column ^ threadIdx.x];
    }
}

extern "C" __global__ void transpose_double(const double *in, double *out, int n) {
    __shared__ double tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

template <int T, int PAD>
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T + PAD], bs[T][T + PAD];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += as[y][j] * bs[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
template __global__ void matmul<16, 0>(const float *, const float *, float *, int);
template __global__ void matmul<16, 1>(const float *, const float *, float *, int);
template __global__ void matmul<32, 0>(const float *, const float *, float *, int);
template __global__ void matmul<32, 1>(const float *, const float *, float *, int);

// 64 × 64 of C by 256 threads, 4 × 4 each, float4 traffic.
extern "C" __global__ void matmul_registers(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float as[16][64], bs[16][64];
    int t = threadIdx.x, x = t % 16, y = t / 16;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        float4 v = *(const float4 *)(a + (blockIdx.y * 64 + t / 4) * n + k + t % 4 * 4);
        as[t % 4 * 4][t / 4] = v.x;
        as[t % 4 * 4 + 1][t / 4] = v.y;
        as[t % 4 * 4 + 2][t / 4] = v.z;
        as[t % 4 * 4 + 3][t / 4] = v.w;
        *(float4 *)&bs[t / 16][t % 16 * 4] = *(const float4 *)(b + (k + t / 16) * n + blockIdx.x * 64 + t % 16 * 4);
        __syncthreads();
        for (int j = 0; j < 16; ++j) {
            float4 p = *(float4 *)&as[j][y * 4], q = *(float4 *)&bs[j][x * 4];
            float u[4] = {p.x, p.y, p.z, p.w}, w[4] = {q.x, q.y, q.z, q.w};
            for (int r = 0; r < 4; ++r)
                for (int s = 0; s < 4; ++s) sum[r][s] += u[r] * w[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        *(float4 *)(c + (blockIdx.y * 64 + y * 4 + r) * n + blockIdx.x * 64 + x * 4) =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

// The seven reductions, each a step better than the last.
extern "C" __global__ void reduce_modulo(const int *in, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x;
    s[t] = in[THREAD];
    __syncthreads();
    for (unsigned k = 1; k < blockDim.x; k *= 2) {
        if (t % (2 * k) == 0) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_strided(const int *in, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x;
    s[t] = in[THREAD];
    __syncthreads();
    for (unsigned k = 1; k < blockDim.x; k *= 2) {
        unsigned i = 2 * k * t;
        if (i < blockDim.x) s[i] += s[i + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_sequential(const int *in, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x;
    s[t] = in[THREAD];
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_first_add(const int *in, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    s[t] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__device__ void last_warp(volatile int *s, unsigned t) {
    int v = s[t];
    for (int k = 32; k > 0; k >>= 1) {
        v += s[t + k];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
}

extern "C" __global__ void reduce_last_warp(const int *in, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    s[t] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 32; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 32) last_warp(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}

template <unsigned SIZE>
__global__ void reduce_unrolled(const int *in, int *out) {
    extern __shared__ int partial[];
    int *s = partial;
    unsigned t = threadIdx.x, i = blockIdx.x * SIZE * 2 + t;
    s[t] = in[i] + in[i + SIZE];
    __syncthreads();
    if (SIZE >= 512 && t < 256) s[t] += s[t + 256];
    if (SIZE >= 512) __syncthreads();
    if (SIZE >= 256 && t < 128) s[t] += s[t + 128];
    if (SIZE >= 256) __syncthreads();
    if (SIZE >= 128 && t < 64) s[t] += s[t + 64];
    if (SIZE >= 128) __syncthreads();
    if (t < 32) last_warp(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}
template __global__ void reduce_unrolled<256>(const int *, int *);

extern "C" __global__ void reduce_grid_stride(const int *in, int *out, int n) {
    __shared__ int s[8];
    int v = 0;
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) v += in[i];
    for (int k = 16; k; k /= 2) v += __shfl_down_sync(FULL, v, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
        for (int k = 4; k; k /= 2) v += __shfl_down_sync(FULL, v, k);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

extern "C" __global__ void dot_product(const float *a, const float *b, float *out, int n) {
    __shared__ float s[256];
    float v = 0;
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) v += a[i] * b[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = blockDim.x / 2; k; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void scan_hillis_steele(const int *in, int *out) {
    extern __shared__ int s[];
    int t = threadIdx.x, n = blockDim.x, from = 1, to = 0;
    s[t] = in[THREAD];
    __syncthreads();
    for (int k = 1; k < n; k *= 2) {
        to = 1 - to;
        from = 1 - to;
        s[to * n + t] = s[from * n + t] + (t >= k ? s[from * n + t - k] : 0);
        __syncthreads();
    }
    out[THREAD] = s[to * n + t];
}

// Blelloch's work-efficient exclusive scan; PADDED spreads the indices over the banks.
template <bool PADDED>
__global__ void scan_blelloch(const int *in, int *out) {
    extern __shared__ int leaves[];
    int *s = leaves;
    int t = threadIdx.x, n = 2 * blockDim.x, base = blockIdx.x * n, offset = 1;
    auto at = [](int i) { return PADDED ? i + (i >> 5) : i; };
    s[at(2 * t)] = in[base + 2 * t];
    s[at(2 * t + 1)] = in[base + 2 * t + 1];
    for (int d = n / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[at(offset * (2 * t + 2) - 1)] += s[at(offset * (2 * t + 1) - 1)];
        offset *= 2;
    }
    if (t == 0) s[at(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int i = at(offset * (2 * t + 1) - 1), j = at(offset * (2 * t + 2) - 1), v = s[i];
            s[i] = s[j];
            s[j] += v;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[at(2 * t)];
    out[base + 2 * t + 1] = s[at(2 * t + 1)];
}
template __global__ void scan_blelloch<false>(const int *, int *);
template __global__ void scan_blelloch<true>(const int *, int *);

extern "C" __global__ void scan_warps(const int *in, int *out) {
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t & 31, v = in[THREAD], w = v;
    for (int k = 1; k < 32; k *= 2) {
        int u = __shfl_up_sync(FULL, w, k);
        if (lane >= k) w += u;
    }
    if (lane == 31) sums[t / 32] = w;
    __syncthreads();
    if (t < 32) {
        int s = t < blockDim.x / 32 ? sums[t] : 0;
        for (int k = 1; k < 32; k *= 2) {
            int u = __shfl_up_sync(FULL, s, k);
            if (lane >= k) s += u;
        }
        sums[t] = s;
    }
    __syncthreads();
    out[THREAD] = w - v + (t >= 32 ? sums[t / 32 - 1] : 0);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) atomicAdd(s + in[i], 1u);
    __syncthreads();
    atomicAdd(out + threadIdx.x, s[threadIdx.x]);
}

// One private histogram of 64 byte counters a thread.
extern "C" __global__ void histogram_64(const unsigned *in, unsigned *out, int words) {
    __shared__ unsigned char s[64 * 64];
    int t = threadIdx.x;
    for (int k = 0; k < 16; ++k) ((unsigned *)s)[t + k * 64] = 0;
    __syncthreads();
    for (int i = t; i < words; i += 64) {
        unsigned v = in[i];
        s[t + (v >> 2 & 63) * 64]++;
        s[t + (v >> 10 & 63) * 64]++;
        s[t + (v >> 18 & 63) * 64]++;
        s[t + (v >> 26) * 64]++;
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < 64; ++k) sum += s[t * 64 + (k + t) % 64];
    out[t] = sum;
}

extern "C" __global__ void stencil_1d(const float *in, float *out, int n) {
    __shared__ float s[128 + 6];
    int t = threadIdx.x, i = THREAD;
    s[t + 3] = in[i];
    if (t < 3) {
        s[t] = i >= 3 ? in[i - 3] : 0.0f;
        s[t + 131] = i + 128 < n ? in[i + 128] : 0.0f;
    }
    __syncthreads();
    float v = 0;
    for (int k = 0; k < 7; ++k) v += s[t + k];
    out[i] = v;
}

extern "C" __global__ void stencil_2d(const float *in, float *out, int n) {
    __shared__ float s[18][18];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * 16 + x, j = blockIdx.y * 16 + y;
    for (int k = y * 16 + x; k < 324; k += 256) {
        int u = blockIdx.x * 16 + k % 18 - 1, v = blockIdx.y * 16 + k / 18 - 1;
        s[k / 18][k % 18] = u >= 0 && u < n && v >= 0 && v < n ? in[v * n + u] : 0.0f;
    }
    __syncthreads();
    if (i < n && j < n)
        out[j * n + i] = s[y + 1][x + 1] * 4 - s[y][x + 1] - s[y + 2][x + 1] - s[y + 1][x] - s[y + 1][x + 2];
}

__constant__ float taps[9] = {1, 2, 4, 7, 9, 7, 4, 2, 1};

extern "C" __global__ void convolve_columns(const float *in, float *out, int n) {
    __shared__ float s[16][40 + 1];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, top = blockIdx.y * 32 - 4;
    for (int k = y; k < 40; k += 8) s[x][k] = top + k >= 0 && top + k < n ? in[(top + k) * n + column] : 0.0f;
    __syncthreads();
    for (int k = y; k < 32; k += 8) {
        float v = 0;
        for (int j = 0; j < 9; ++j) v += taps[j] * s[x][k + j];
        out[(top + 4 + k) * n + column] = v;
    }
}

extern "C" __global__ void bitonic_sort(const unsigned *in, unsigned *out) {
    __shared__ unsigned s[512];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 512 + t];
    s[t + 256] = in[blockIdx.x * 512 + t + 256];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            unsigned a = s[i], b = s[i + stride];
            if ((a > b) == up) {
                s[i] = b;
                s[i + stride] = a;
            }
        }
    __syncthreads();
    out[blockIdx.x * 512 + t] = s[t];
    out[blockIdx.x * 512 + t + 256] = s[t + 256];
}

extern "C" __global__ void odd_even_sort(const int *in, int *out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = in[THREAD];
    __syncthreads();
    for (int k = 0; k < 128; ++k) {
        int i = 2 * t + (k & 1);
        if (i + 1 < 128 && s[i] > s[i + 1]) {
            int v = s[i];
            s[i] = s[i + 1];
            s[i + 1] = v;
        }
        __syncthreads();
    }
    out[THREAD] = s[t];
}

// Least-significant-digit radix sort of one block's keys by one bit a round.
extern "C" __global__ void radix_sort(const unsigned *in, unsigned *out, int bits) {
    __shared__ unsigned keys[256], scan[256];
    int t = threadIdx.x;
    keys[t] = in[THREAD];
    for (int bit = 0; bit < bits; ++bit) {
        __syncthreads();
        unsigned key = keys[t], zero = ~key >> bit & 1;
        scan[t] = zero;
        __syncthreads();
        for (int k = 1; k < 256; k *= 2) {
            unsigned v = t >= k ? scan[t - k] : 0;
            __syncthreads();
            scan[t] += v;
            __syncthreads();
        }
        unsigned zeros = scan[255], place = zero ? scan[t] - 1 : zeros + t - scan[t];
        __syncthreads();
        keys[place] = key;
    }
    __syncthreads();
    out[THREAD] = keys[t];
}

extern "C" __global__ void matrix_vector(const float *a, const float *x, float *y, int rows, int columns) {
    __shared__ float s[128];
    int row = THREAD;
    float sum = 0;
    for (int k = 0; k < columns; k += 128) {
        __syncthreads();
        if (k + threadIdx.x < columns) s[threadIdx.x] = x[k + threadIdx.x];
        __syncthreads();
        if (row < rows)
            for (int j = 0; j < 128 && k + j < columns; ++j) sum += a[row * columns + k + j] * s[j];
    }
    if (row < rows) y[row] = sum;
}

extern "C" __global__ void matrix_vector_warps(const float *a, const float *x, float *y, int rows, int columns) {
    int row = THREAD / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0;
    for (int k = lane; k < columns; k += 32) sum += a[row * columns + k] * x[k];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(FULL, sum, k);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    __shared__ float s[128];
    int t = threadIdx.x;
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    float m = -1e30f;
    for (int k = t; k < columns; k += 128) m = fmaxf(m, in[k]);
    s[t] = m;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float sum = 0;
    for (int k = t; k < columns; k += 128) sum += __expf(in[k] - m);
    s[t] = sum;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    float scale = 1.0f / s[0];
    for (int k = t; k < columns; k += 128) out[k] = __expf(in[k] - m) * scale;
}

extern "C" __global__ void layer_norm(const float *in, const float *gain, float *out, int columns) {
    __shared__ float2 s[4];
    int t = threadIdx.x;
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int k = t; k < columns; k += 128) {
        sum += in[k];
        squares += in[k] * in[k];
    }
    for (int k = 16; k; k /= 2) {
        sum += __shfl_xor_sync(FULL, sum, k);
        squares += __shfl_xor_sync(FULL, squares, k);
    }
    if (t % 32 == 0) s[t / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = s[0].x + s[1].x + s[2].x + s[3].x;
    squares = s[0].y + s[1].y + s[2].y + s[3].y;
    float mean = sum / columns, scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (int k = t; k < columns; k += 128) out[k] = (in[k] - mean) * scale * gain[k];
}

extern "C" __global__ void n_body(const float4 *bodies, float4 *out, int n) {
    __shared__ float4 s[64];
    float4 p = bodies[THREAD], a = make_float4(0, 0, 0, 0);
    for (int k = 0; k < n; k += 64) {
        s[threadIdx.x] = bodies[k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; ++j) {
            float x = s[j].x - p.x, y = s[j].y - p.y, z = s[j].z - p.z;
            float r = rsqrtf(x * x + y * y + z * z + 0.01f), f = s[j].w * r * r * r;
            a.x += x * f, a.y += y * f, a.z += z * f;
        }
        __syncthreads();
    }
    out[THREAD] = a;
}

// 256-point FFT of one block, radix 2, in shared memory, bit reversal on the way in.
extern "C" __global__ void fft(const float2 *in, float2 *out) {
    __shared__ float2 s[256];
    int t = threadIdx.x;
    for (int k = t; k < 256; k += 128) s[__brev(k) >> 24] = in[blockIdx.x * 256 + k];
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        int i = (t & (half - 1)) + (t & ~(half - 1)) * 2;
        float sine, cosine;
        __sincosf(-3.14159265f * (t & (half - 1)) / half, &sine, &cosine);
        float2 a = s[i], b = s[i + half];
        float2 w = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        s[i] = make_float2(a.x + w.x, a.y + w.y);
        s[i + half] = make_float2(a.x - w.x, a.y - w.y);
    }
    __syncthreads();
    for (int k = t; k < 256; k += 128) out[blockIdx.x * 256 + k] = s[k];
}

extern "C" __global__ void game_of_life(const unsigned char *in, unsigned char *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, count = 0;
    if (x >= n || y >= n) return;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) count += in[(y + dy + n) % n * n + (x + dx + n) % n] & 1;
    out[y * n + x] = count == 3 || (count == 2 && in[y * n + x] & 1);
}

extern "C" __global__ void floyd_warshall(int *distance, int n) {
    extern __shared__ int s[];
    int i = threadIdx.y, j = threadIdx.x;
    s[i * n + j] = distance[i * n + j];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        int through = s[i * n + k] + s[k * n + j];
        __syncthreads();
        if (through < s[i * n + j]) s[i * n + j] = through;
        __syncthreads();
    }
    distance[i * n + j] = s[i * n + j];
}

extern "C" __global__ void black_scholes(const float *price, const float *strike, float *call, int n) {
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i] * 25 + 5, x = strike[i] * 99 + 1, t = 0.25f + i * 0.001f, root = sqrtf(t);
        float d1 = (logf(s / x) + (0.02f + 0.5f * 0.09f) * t) / (0.3f * root), d2 = d1 - 0.3f * root, c[2];
        for (int k = 0; k < 2; ++k) {
            float d = k ? d2 : d1, m = 1.0f / (1.0f + 0.2316419f * fabsf(d));
            float v = 0.39894228f * expf(-0.5f * d * d) * m *
                      (0.31938153f + m * (-0.356563782f + m * (1.781477937f + m * (-1.821255978f + m * 1.330274429f))));
            c[k] = d > 0 ? 1.0f - v : v;
        }
        call[i] = s * c[0] - x * expf(-0.02f * t) * c[1];
    }
}

// π by throwing darts: xorshift by lane, hits counted by ballot.
extern "C" __global__ void monte_carlo(unsigned *out, int throws) {
    unsigned state = THREAD * 2654435761u + 1, hits = 0;
    for (int k = 0; k < throws; ++k) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        float x = (state & 0xffff) * 0x1p-16f, y = (state >> 16) * 0x1p-16f;
        hits += __popc(__ballot_sync(FULL, __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) <= 1.0f));
    }
    if (threadIdx.x % 32 == 0) atomicAdd(out, hits);
}
