#define TILE 32
#define SECTION 256

__global__ void transposeTile(float *out, const float *in) {
    __shared__ float tile[TILE][TILE];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * TILE + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void setRowReadColDyn(int *out) {
    extern __shared__ int tile[];
    unsigned int row_idx = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned int col_idx = threadIdx.x * blockDim.y + threadIdx.y;
    tile[row_idx] = row_idx;
    __syncthreads();
    out[row_idx] = tile[col_idx];
}

template <typename T> __global__ void scan(T *out, const T *in) {
    __shared__ T s[2 * SECTION];
    unsigned t = threadIdx.x, base = blockIdx.x * 2 * SECTION;
    s[t] = in[base + t];
    s[t + SECTION] = in[base + t + SECTION];
    for (unsigned n = 1; n < 2 * SECTION; n *= 2) {
        __syncthreads();
        unsigned i = (t + 1) * n * 2 - 1;
        if (i < 2 * SECTION) s[i] += s[i - n];
    }
    for (unsigned n = SECTION / 2; n > 0; n /= 2) {
        __syncthreads();
        unsigned i = (t + 1) * n * 2 - 1;
        if (i + n < 2 * SECTION) s[i + n] += s[i];
    }
    __syncthreads();
    out[base + t] = s[t];
    out[base + t + SECTION] = s[t + SECTION];
}
template __global__ void scan<float>(float *, const float *);

__global__ void quads(float4 *out, const float4 *in) {
    __shared__ __align__(16) float tile[32][32];
    *reinterpret_cast<float4 *>(&tile[threadIdx.y][4 * threadIdx.x]) = in[8 * threadIdx.y + threadIdx.x];
    __syncthreads();
    unsigned r = threadIdx.x + 8 * (threadIdx.y % 4), c = threadIdx.y / 4;
    out[8 * threadIdx.y + threadIdx.x] = *reinterpret_cast<float4 *>(&tile[r][4 * c]);
}

__global__ void kept(float *out, const float *in) {
    __shared__ float tile[TILE][TILE];
    float *row = &tile[threadIdx.x][0];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * TILE + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * TILE + threadIdx.x] = row[threadIdx.y];
}

__global__ void product(float *c, const float *a, const float *b, int n) {
    __shared__ float at[TILE][TILE], bt[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        at[x][y] = a[row * n + k + x];
        bt[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += at[i][y] * bt[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
