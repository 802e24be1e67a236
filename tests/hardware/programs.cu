// Programs whose control flow is their difficulty: decompositions, searches, ciphers, simulations.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffffu
#define B 16

// L·U of a matrix by blocks: the diagonal block; the blocks beside and below it, by one half of the threads each; the rest.
extern "C" __global__ void lud_diagonal(float *m, int n, int offset) {
    __shared__ float s[B][B];
    int x = threadIdx.x, at = offset * n + offset;
    for (int i = 0; i < B; ++i) s[i][x] = m[at + i * n + x];
    __syncthreads();
    for (int i = 0; i < B - 1; ++i) {
        if (x > i) {
            for (int j = 0; j < i; ++j) s[x][i] -= s[x][j] * s[j][i];
            s[x][i] /= s[i][i];
        }
        __syncthreads();
        if (x > i)
            for (int j = 0; j < i + 1; ++j) s[i + 1][x] -= s[i + 1][j] * s[j][x];
        __syncthreads();
    }
    for (int i = 1; i < B; ++i) m[at + i * n + x] = s[i][x];
}
extern "C" __global__ void lud_perimeter(float *m, int n, int offset) {
    __shared__ float diagonal[B][B], row[B][B], column[B][B];
    int i, at, x;
    if (threadIdx.x < B) {
        x = threadIdx.x;
        at = offset * n + offset;
        for (i = 0; i < B / 2; ++i) diagonal[i][x] = m[at + i * n + x];
        at = offset * n + offset;
        for (i = 0; i < B; ++i) row[i][x] = m[at + i * n + (blockIdx.x + 1) * B + x];
    } else {
        x = threadIdx.x - B;
        at = (offset + B / 2) * n + offset;
        for (i = B / 2; i < B; ++i) diagonal[i][x] = m[at + (i - B / 2) * n + x];
        at = (offset + (blockIdx.x + 1) * B) * n + offset;
        for (i = 0; i < B; ++i) column[i][x] = m[at + i * n + x];
    }
    __syncthreads();
    if (threadIdx.x < B) {
        x = threadIdx.x;
        for (i = 1; i < B; ++i)
            for (int j = 0; j < i; ++j) row[i][x] -= diagonal[i][j] * row[j][x];
    } else {
        x = threadIdx.x - B;
        for (i = 0; i < B; ++i) {
            for (int j = 0; j < i; ++j) column[x][i] -= column[x][j] * diagonal[j][i];
            column[x][i] /= diagonal[i][i];
        }
    }
    __syncthreads();
    if (threadIdx.x < B) {
        at = offset * n + offset;
        for (i = 1; i < B; ++i) m[at + i * n + (blockIdx.x + 1) * B + threadIdx.x] = row[i][threadIdx.x];
    } else {
        at = (offset + (blockIdx.x + 1) * B) * n + offset;
        for (i = 0; i < B; ++i) m[at + i * n + threadIdx.x - B] = column[i][threadIdx.x - B];
    }
}

// Cheapest path down a grid, several rows a launch, the borders of the block computed twice.
extern "C" __global__ void path_rows(int rows, const int *wall, const int *source, int *out, int columns, int start, int border) {
    __shared__ int previous[64], result[64];
    int bx = blockIdx.x, tx = threadIdx.x, small = 64 - rows * border * 2, x0 = small * bx - border * rows, x1 = x0 + 63, x = x0 + tx;
    int first = x0 < 0 ? -x0 : 0, last = x1 > columns - 1 ? 63 - (x1 - columns + 1) : 63;
    int west = tx - 1 < first ? first : tx - 1, east = tx + 1 > last ? last : tx + 1;
    bool valid = tx >= first && tx <= last, computed = false;
    if (x >= 0 && x < columns) previous[tx] = source[x];
    __syncthreads();
    for (int i = 0; i < rows; ++i) {
        computed = false;
        if (tx >= i + 1 && tx <= 64 - i - 2 && valid) {
            computed = true;
            int shortest = min(min(previous[west], previous[tx]), previous[east]);
            result[tx] = shortest + wall[columns * (start + i) + x];
        }
        __syncthreads();
        if (i == rows - 1) break;
        if (computed) previous[tx] = result[tx];
        __syncthreads();
    }
    if (computed) out[x] = result[tx];
}

// A layer of a network: products in shared memory, summed by a tree whose step is a power computed each time.
extern "C" __global__ void layer_forward(const float *input, const float *weight, float *partial, int hidden) {
    __shared__ float node[B], s[B][B];
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y, i = (hidden + 1) * B * by + (hidden + 1) * ty + tx + 1 + hidden + 1;
    if (tx == 0) node[ty] = input[B * by + ty + 1];
    __syncthreads();
    s[ty][tx] = weight[i];
    __syncthreads();
    s[ty][tx] = s[ty][tx] * node[ty];
    __syncthreads();
    for (int k = 1; k <= __log2f(B); ++k) {
        int power = __powf(2, k);
        if (ty % power == 0) s[ty][tx] = s[ty][tx] + s[ty + power / 2][tx];
        __syncthreads();
    }
    if (tx == 0) partial[by * hidden + ty] = s[tx][ty];
}

// Blocks of 64 bytes hashed; the schedule in shared memory, a column a thread.
__constant__ unsigned rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
extern "C" __global__ void hash_messages(const unsigned char *in, unsigned *out, int length) {
    __shared__ unsigned w[16][32];
    int t = threadIdx.x, i = THREAD;
    auto turned = [](unsigned v, int k) { return v >> k | v << (32 - k); };
    for (int k = 0; k < 16; ++k) {
        unsigned v = 0;
        for (int b = 0; b < 4; ++b) {
            int at = k * 4 + b;
            v = v << 8 | (at < length ? in[i * length + at] : at == length ? 128 : 0);
        }
        w[k][t] = k == 15 ? length * 8 : v;
    }
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], z = h[7];
#pragma unroll 1
    for (int k = 0; k < 64; ++k) {
        unsigned v = w[k & 15][t];
        unsigned p = w[k + 1 & 15][t], q = w[k + 14 & 15][t];
        w[k & 15][t] = v + w[k + 9 & 15][t] + (turned(p, 7) ^ turned(p, 18) ^ p >> 3) + (turned(q, 17) ^ turned(q, 19) ^ q >> 10);
        unsigned x = z + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + rounds[k] + v;
        unsigned y = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        z = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
    }
    unsigned r[8] = {a, b, c, d, e, f, g, z};
    for (int k = 0; k < 8; ++k) out[i * 8 + k] = r[k] + h[k];
}
// Check sums by a table in shared memory, of messages of different length.
extern "C" __global__ void check_sums(const unsigned char *in, const int *length, unsigned *out, int pitch) {
    __shared__ unsigned table[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        unsigned v = k;
        for (int b = 0; b < 8; ++b) v = v & 1 ? v >> 1 ^ 0xedb88320u : v >> 1;
        table[k] = v;
    }
    __syncthreads();
    unsigned v = ~0u;
    for (int k = 0; k < length[THREAD]; ++k) v = table[(v ^ in[THREAD * pitch + k]) & 255] ^ v >> 8;
    out[THREAD] = ~v;
}
// Queens on a board: each thread counts what follows from its first two rows, the stack in local memory.
extern "C" __global__ void queens(int *out, int n) {
    int t = THREAD, first = t / n, second = t % n, count = 0;
    if (t < n * n) {
        unsigned full = (1u << n) - 1, free_[16], columns[16], left[16], right[16];
        int depth = 2;
        columns[2] = 1u << first | 1u << second;
        if (first != second && abs(first - second) != 1) {
            left[2] = (1u << first) << 2 | (1u << second) << 1;
            right[2] = (1u << first) >> 2 | (1u << second) >> 1;
            free_[2] = full & ~(columns[2] | left[2] | right[2]);
            while (depth >= 2) {
                if (!free_[depth]) {
                    --depth;
                    continue;
                }
                unsigned bit = free_[depth] & -free_[depth];
                free_[depth] ^= bit;
                if (depth == n - 1) {
                    ++count;
                    continue;
                }
                columns[depth + 1] = columns[depth] | bit;
                left[depth + 1] = (left[depth] | bit) << 1;
                right[depth + 1] = (right[depth] | bit) >> 1;
                ++depth;
                free_[depth] = full & ~(columns[depth] | left[depth] | right[depth]);
            }
        }
    }
    for (int d = 16; d; d /= 2) count += __shfl_down_sync(FULL, count, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, count);
}
// Quick sort by one warp: a stack of ranges, parts found by ballots.
extern "C" __global__ void quick_sort(int *data, int *other, int n) {
    __shared__ int low[32], high[32];
    int lane = threadIdx.x, top = 0;
    data += blockIdx.x * n, other += blockIdx.x * n;
    if (lane == 0) low[0] = 0, high[0] = n;
    __syncwarp();
    while (top >= 0) {
        int l = low[top], h = high[top--];
        if (h - l <= 32) {
            int v = l + lane < h ? data[l + lane] : 0x7fffffff, rank = 0;
            for (int k = 0; k < h - l; ++k) {
                int u = __shfl_sync(FULL, v, k);
                rank += u < v || (u == v && k < lane);
            }
            if (l + lane < h) data[l + rank] = v;
            __syncwarp();
            continue;
        }
        int pivot = data[(l + h) / 2], less = l, more = h;
        for (int base = l; base < h; base += 32) {
            bool in = base + lane < h;
            int v = in ? data[base + lane] : 0;
            unsigned a = __ballot_sync(FULL, in && v < pivot), b = __ballot_sync(FULL, in && v > pivot), below = (1u << lane) - 1;
            if (in && v < pivot) other[less + __popc(a & below)] = v;
            if (in && v > pivot) other[more - 1 - __popc(b & below)] = v;
            less += __popc(a), more -= __popc(b);
        }
        __syncwarp();
        for (int k = l + lane; k < h; k += 32) data[k] = k < less ? other[k] : k < more ? pivot : other[k];
        __syncwarp();
        if (lane == 0) low[top + 1] = l, high[top + 1] = less, low[top + 2] = more, high[top + 2] = h;
        top += 2;
        __syncwarp();
    }
}
// Words matched by an automaton: states in shared memory, threads stop where they fail or end.
extern "C" __global__ void automaton(const unsigned char *text, const unsigned char *moves, int *out, int n) {
    __shared__ unsigned char next[16][4];
    if (threadIdx.x < 64) next[threadIdx.x / 4][threadIdx.x % 4] = moves[threadIdx.x];
    __syncthreads();
    int state = 1, k = THREAD, best = -1;
    while (k < n) {
        state = next[state][text[k] & 3];
        if (state == 0) break;
        ++k;
        if (state >= 12) {
            best = k - THREAD;
            if (state == 15) break;
        }
    }
    out[THREAD] = best;
}
// Paths of a price: a generator of its own in every thread, sums and squares by groups.
extern "C" __global__ void price_paths(float *out, int paths, int steps) {
    __shared__ float sums[2][4];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    unsigned state = THREAD * 747796405u + 2891336453u;
    float sum = 0, square = 0;
    for (int p = threadIdx.x; p < paths; p += blockDim.x) {
        int v = 64;
        for (int k = 0; k < steps && v > 0; ++k) {
            state = state * 1664525u + 1013904223u;
            v += (state >> 30) - 1;
        }
        float gain = fmaxf(v - 60.0f, 0);
        sum += gain, square += gain * gain;
    }
    for (int d = 16; d; d /= 2) sum += tile.shfl_down(sum, d), square += tile.shfl_down(square, d);
    if (tile.thread_rank() == 0) sums[0][tile.meta_group_rank()] = sum, sums[1][tile.meta_group_rank()] = square;
    block.sync();
    if (block.thread_rank() < 2) {
        float v = 0;
        for (int w = 0; w < 4; ++w) v += sums[block.thread_rank()][w];
        out[blockIdx.x * 2 + block.thread_rank()] = v;
    }
}
// Neighbours within reach, by the cells of a grid: starts and ends of the cells, loops of every length.
extern "C" __global__ void neighbours(const int2 *place, const int *start, const int *end, int *out, int n, int cells, int reach) {
    int i = THREAD;
    if (i >= n) return;
    int2 me = place[i];
    int count = 0, cx = me.x / 16, cy = me.y / 16;
    for (int y = cy - 1; y <= cy + 1; ++y)
        for (int x = cx - 1; x <= cx + 1; ++x) {
            if (x < 0 || y < 0 || x >= cells || y >= cells) continue;
            int c = y * cells + x, first = start[c];
            if (first < 0) continue;
            for (int k = first; k < end[c]; ++k) {
                if (k == i) continue;
                int dx = place[k].x - me.x, dy = place[k].y - me.y;
                if (dx * dx + dy * dy <= reach) ++count;
            }
        }
    out[i] = count;
}
// Cells of a height field cut by a level: how many edges, then where they go, all by the warp's own offsets.
extern "C" __global__ void contours(const int *height, int *out, int *count, int n, int level) {
    __shared__ int h[9][17], totals[4], base;
    int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, lane = t & 31; // (16, 8)
    for (int k = t; k < 9 * 17; k += 128) h[k / 17][k % 17] = height[min((int)blockIdx.y * 8 + k / 17, n - 1) * n + min((int)blockIdx.x * 16 + k % 17, n - 1)];
    __syncthreads();
    int code = (h[y][x] > level) | (h[y][x + 1] > level) << 1 | (h[y + 1][x + 1] > level) << 2 | (h[y + 1][x] > level) << 3;
    int edges = code == 0 || code == 15 ? 0 : code == 5 || code == 10 ? 4 : 2, scan = edges;
    for (int d = 1; d < 32; d *= 2) {
        int v = __shfl_up_sync(FULL, scan, d);
        if (lane >= d) scan += v;
    }
    if (lane == 31) totals[t / 32] = scan;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int w = 0; w < 4; ++w) {
            int v = totals[w];
            totals[w] = sum;
            sum += v;
        }
        base = atomicAdd(count, sum);
    }
    __syncthreads();
    int to = base + totals[t / 32] + scan - edges;
    for (int e = 0, k = 0; e < 4 && k < edges; ++e) {
        int a = code >> e & 1, b = code >> (e + 1 & 3) & 1;
        if (a != b) out[to + k++] = ((blockIdx.y * 8 + y) * n + blockIdx.x * 16 + x) * 4 + e;
    }
}
