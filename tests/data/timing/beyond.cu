// Memory beyond the L1: words of columns, blocks that hand a tile on, rows that warps and blocks read at the same time,
// tiles that are only stored, bytes with those beside them.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
// Tiles of 32 x 32: what warps load of a row they store to a column (1), of columns to rows (2), only store (4), only load (8).
template <int WHAT> __device__ __forceinline__ void columns(float* out, const float* in, uint32_t n, uint32_t pitch) {
    uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (uint32_t j = 0; j < 32; j += 8) {
        float v = WHAT == 1 ? in[(y + j) * n + x] : WHAT == 2 || WHAT == 8 ? in[x * pitch + y + j] : j;
        if (WHAT == 8) { if (v == 1e30f) out[0] = v; }
        else if (WHAT == 2) out[(y + j) * n + x] = v;
        else out[x * pitch + y + j] = v;
    }
}
G to_columns(float* out, const float* in, uint32_t n, uint32_t pitch) { columns<1>(out, in, n, pitch); }
G of_columns(float* out, const float* in, uint32_t n, uint32_t pitch) { columns<2>(out, in, n, pitch); }
G store_columns(float* out, const float* in, uint32_t n, uint32_t pitch) { columns<4>(out, in, n, pitch); }
G load_columns(float* out, const float* in, uint32_t n, uint32_t pitch) { columns<8>(out, in, n, pitch); }
// Each block hands its words on through shared memory; or only sums them.
G handed(float* out, const float* in) {
    __shared__ float s[1024];
    uint32_t t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t ^ 32];
}
G summed(float* out, const float* in) {
    __shared__ float s[1024];
    uint32_t t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    __syncthreads();
    if (s[t ^ 32] == 1e30f) out[i] = 1;
}
// A warp, or a block, goes over a row of so many words.
template <int WHAT> __device__ __forceinline__ void along(float* out, const float* in, uint32_t n, uint32_t threads) {
    uint32_t g = blockIdx.x * blockDim.x + threadIdx.x, row = g / threads, lane = g % threads;
    const float* p = in + (size_t)row * n; float* q = out + (size_t)row * n; float v = 0;
    #pragma unroll 4
    for (uint32_t i = lane; i < n; i += threads) {
        if (WHAT & 1) v += p[i];
        if (WHAT == 2) q[i] = i;
        if (WHAT == 3) q[i] = v;
    }
    if (v == 1e30f) out[0] = v;
}
G rows_read(float* out, const float* in, uint32_t n, uint32_t threads) { along<1>(out, in, n, threads); }
G rows_filled(float* out, const float* in, uint32_t n, uint32_t threads) { along<2>(out, in, n, threads); }
G rows_copied(float* out, const float* in, uint32_t n, uint32_t threads) { along<3>(out, in, n, threads); }
// The points of a cube of 4-byte words, by blocks of any shape, `each` one behind the other along z.
G cube_filled(float* out, uint32_t n, uint32_t each) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = (blockIdx.z * blockDim.z + threadIdx.z) * each;
    for (uint32_t k = 0; k < each; ++k) out[((size_t)(z + k) * n + y) * n + x] = x;
}
// Tiles of 16 x 16 bytes (or words) with those around them.
template <class T> __device__ __forceinline__ void halo(T* out, const T* in, uint32_t n) {
    __shared__ T s[18][18];
    uint32_t tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, w = n + 2;
    s[ty][tx] = in[y * w + x];
    if (tx < 2) s[ty][tx + 16] = in[y * w + x + 16];
    if (ty < 2) s[ty + 16][tx] = in[(y + 16) * w + x];
    if (tx < 2 && ty < 2) s[ty + 16][tx + 16] = in[(y + 16) * w + x + 16];
    __syncthreads();
    out[y * n + x] = s[ty][tx + 1] + s[ty + 2][tx + 1];
}
G halo_bytes(uint8_t* out, const uint8_t* in, uint32_t n) { halo(out, in, n); }
G halo_words(uint32_t* out, const uint32_t* in, uint32_t n) { halo(out, in, n); }
// A byte, or a word, a thread in tiles of 16 x 16: copied, stored, loaded.
template <class T, int WHAT> __device__ __forceinline__ void tiles(T* out, const T* in, uint32_t n) {
    uint32_t x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    T v = WHAT & 1 ? in[y * n + x] : T(x);
    if (WHAT & 2) out[y * n + x] = v; else if (v == T(77)) out[0] = v;
}
G tile_bytes_copied(uint8_t* out, const uint8_t* in, uint32_t n) { tiles<uint8_t, 3>(out, in, n); }
G tile_bytes_stored(uint8_t* out, const uint8_t* in, uint32_t n) { tiles<uint8_t, 2>(out, in, n); }
G tile_bytes_loaded(uint8_t* out, const uint8_t* in, uint32_t n) { tiles<uint8_t, 1>(out, in, n); }
G tile_words_copied(uint32_t* out, const uint32_t* in, uint32_t n) { tiles<uint32_t, 3>(out, in, n); }
