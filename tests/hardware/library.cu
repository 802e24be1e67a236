// Kernels as courses and libraries have them, each of another kind; grids.py has their launches.
#include "grids.cuh"
#define AT(i) ((unsigned)(i) & WORDS)
#define SHARED(place) ((unsigned)__cvta_generic_to_shared(place))
#define COPY(to, from, bytes) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" :: "r"(SHARED(to)), "l"(from), "r"(bytes))

KERNEL(im2col) {  // a window of 3 by 3 in each of several channels becomes a column
    __shared__ float s[3][66];
    INDICES
    int wide = n, high = m, across = (wide + 63) / 64, i = bx, x0 = i % across * 64, y = i / across % high;
    int channel = i / across / high;
    for (int at = tid; at < 3 * 66; at += 64) {
        int u = x0 + at % 66 - 1, v = y + at / 66 - 1;
        s[at / 66][at % 66] = (unsigned)u < (unsigned)wide && (unsigned)v < (unsigned)high
                                  ? in[AT((channel * high + v) * wide + u)] : 0;
    }
    __syncthreads();
    if (x0 + (int)tid >= wide) return;
    for (int k = 0; k < 9; ++k) out[AT(((channel * 9 + k) * high + y) * wide + x0 + tid)] = s[k / 3][tid + k % 3];
}
KERNEL(causal_softmax) {  // one row a block, as long as its place in the sequence
    __shared__ float row[1024], parts[4];
    INDICES
    unsigned length = bx % n + 1, lane = tid & 31;
    float most = -1e30f, sum = 0;
    for (unsigned i = tid; i < length; i += 128) most = fmaxf(most, row[i & 1023] = in[AT(bx * n + i)]);
    for (unsigned k = 16; k; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    if (!lane) parts[tid / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    for (unsigned i = tid; i < length; i += 128) sum += row[i & 1023] = expf(row[i & 1023] - most);
    for (unsigned k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    __syncthreads();
    if (!lane) parts[tid / 32] = sum;
    __syncthreads();
    sum = parts[0] + parts[1] + parts[2] + parts[3];
    for (unsigned i = tid; i < length; i += 128) out[AT(bx * n + i)] = row[i & 1023] / sum;
}
KERNEL(layer_norm) {  // four numbers at once, kept in shared memory between the two passes; the last part is ragged
    __shared__ __align__(16) float4 row[128];
    __shared__ float2 parts[2];
    INDICES
    unsigned fours = n / 4, first = bx * fours;
    float2 sum = {0, 0};
    for (unsigned i = tid; i < fours; i += 64) {
        float4 v = row[i] = ((const float4*)in)[(first + i) & (WORDS / 4)];
        sum.x += v.x + v.y + v.z + v.w, sum.y += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (unsigned k = 16; k; k /= 2) sum.x += __shfl_down_sync(~0u, sum.x, k), sum.y += __shfl_down_sync(~0u, sum.y, k);
    if (tid % 32 == 0) parts[tid / 32] = sum;
    __syncthreads();
    float mean = (parts[0].x + parts[1].x) / n, scale = rsqrtf((parts[0].y + parts[1].y) / n - mean * mean + 1e-5f);
    for (unsigned i = tid; i < fours; i += 64) {
        float4 v = row[i];
        v.x = (v.x - mean) * scale, v.y = (v.y - mean) * scale, v.z = (v.z - mean) * scale, v.w = (v.w - mean) * scale;
        ((float4*)out)[(first + i) & (WORDS / 4)] = v;
    }
}
KERNEL(radix_ranks) {  // ranks of keys within a tile, one bit after the other; keys are made from places
    __shared__ unsigned keys[128], zeros[4];
    INDICES
    unsigned key = (bx * 128 + tid) * n >> m, lane = tid & 31, warp = tid / 32;
    for (unsigned bit = 0; bit < 4; ++bit) {
        unsigned zero = __ballot_sync(~0u, !(key >> bit & 1));
        if (!lane) zeros[warp] = __popc(zero);
        __syncthreads();
        unsigned before = 0, all = 0;
        for (unsigned w = 0; w < 4; ++w) before += w < warp ? zeros[w] : 0, all += zeros[w];
        unsigned rank = before + __popc(zero & (1u << lane) - 1), place = key >> bit & 1 ? all + tid - rank : rank;
        keys[place & 127] = key;
        __syncthreads();
        key = keys[tid];
        __syncthreads();
    }
    out[AT(bx * 128 + tid)] = key;
}
KERNEL(odd_even_merge) {  // padded places, the network of Batcher, a ragged last tile
    __shared__ unsigned s[128 + 4];
    INDICES
    unsigned count = min(128u, n - bx * 128);
    for (unsigned i = tid; i < 128; i += 64) s[i + i / 32] = i < count ? in[AT(bx * 128 + i)] : ~0u;
    for (unsigned size = 2; size <= 128; size *= 2) {
        unsigned stride = size / 2, offset = tid & (stride - 1);
        __syncthreads();
        for (bool first = true; stride; stride /= 2, first = false) {
            unsigned at = 2 * tid - (tid & (stride - 1)), other = at + stride;
            if (!first) at = 2 * tid - (tid & (stride - 1)), other = at - stride;
            if (first || offset >= stride) {
                unsigned a = min(at, other), b = max(at, other), u = s[a + a / 32], v = s[b + b / 32];
                s[a + a / 32] = min(u, v), s[b + b / 32] = max(u, v);
            }
            __syncthreads();
        }
    }
    for (unsigned i = tid; i < count; i += 64) out[AT(bx * 128 + i)] = s[i + i / 32];
}
KERNEL(windowed_attention) {  // sequences of several lengths, a sliding window, tiles swizzled and copied two ahead
    __shared__ __align__(16) unsigned k[2][32][32];
    INDICES
    unsigned length = n - bx % 5 * 37, first = by * 32, lane = tid & 31, warp = tid / 32;
    if (first >= length) return;
    unsigned begin = first > m ? (first - m) / 32 : 0, end = min((first + 63) / 32, (length + 31) / 32);
    auto copy = [&](unsigned tile) {
        for (unsigned at = tid; at < 256; at += 128) {
            unsigned r = at / 8, q = at % 8 ^ (r & 7), line = tile * 32 + r;
            COPY(&k[tile & 1][r][q * 4], in + (AT((bx * n + line) * 32 + at % 8 * 4) & ~3u), line < length ? 16 : 0);
        }
        asm volatile("cp.async.commit_group;");
    };
    float sum = 0;
    copy(begin);
    for (unsigned tile = begin; tile < end; ++tile) {
        if (tile + 1 < end) {
            copy(tile + 1);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        for (unsigned r = warp; r < 32; r += 4) {
            unsigned key = tile * 32 + lane, query = first + r;
            if (key > query || key + m < query || query >= length) continue;
            for (unsigned j = 0; j < 32; j += 4) {
                uint4 v = *(const uint4*)&k[tile & 1][lane][(j / 4 ^ (lane & 7)) * 4];
                sum += v.x + v.y + v.z + v.w;
            }
        }
        __syncthreads();
    }
    out[AT((bx * gridDim.y + by) * 128 + tid)] = sum;
}
KERNEL(wave) {  // the wave equation in three dimensions: planes follow each other, one with its halo in shared memory
    __shared__ float plane[12][36];
    INDICES
    int wide = n, high = m, x = bx * 32 + threadIdx.x, y = by * 8 + threadIdx.y, z0 = bz * 4, i = threadIdx.x + 2;
    int j = threadIdx.y + 2;
    float behind = 0, now = x < wide && y < high ? in[AT((z0 * high + y) * wide + x)] : 0;
    for (int z = z0; z < z0 + 4; ++z) {
        float next = x < wide && y < high ? in[AT(((z + 1) * high + y) * wide + x)] : 0;
        plane[j][i] = now;
        if (threadIdx.x < 2) {
            plane[j][i - 2] = x >= 2 && y < high ? in[AT((z * high + y) * wide + x - 2)] : 0;
            plane[j][i + 32] = x + 32 < wide && y < high ? in[AT((z * high + y) * wide + x + 32)] : 0;
        }
        if (threadIdx.y < 2) {
            plane[j - 2][i] = y >= 2 && x < wide ? in[AT((z * high + y - 2) * wide + x)] : 0;
            plane[j + 8][i] = y + 8 < high && x < wide ? in[AT((z * high + y + 8) * wide + x)] : 0;
        }
        __syncthreads();
        if (x >= 2 && x < wide - 2 && y >= 2 && y < high - 2)
            out[AT((z * high + y) * wide + x)] = 2 * now + plane[j][i - 2] + plane[j][i + 2] + plane[j - 2][i] + plane[j + 2][i]
                                                 + plane[j][i - 1] + plane[j - 1][i] + behind + next;
        __syncthreads();
        behind = now, now = next;
    }
}
KERNEL(banded_rows) {  // rows of a band, stored without the zeros; one warp a row, the vector's window in shared memory
    __shared__ float x[64];
    INDICES
    int row = bx * 2 + tid / 32, lane = tid & 31, rows = m, half = n;
    int low = max(0, row - half), high = min(rows - 1, row + half);
    int first = max(0, (int)bx * 2 - half);
    for (int at = tid; at < 2 * half + 2; at += 64) x[at & 63] = first + at < rows ? in[AT(first + at)] : 0;
    __syncthreads();
    if (row >= rows) return;
    float sum = 0;
    for (int c = low + lane; c <= high; c += 32) sum += in[AT(row * (2 * half + 1) + c - low)] * x[(c - first) & 63];
    for (unsigned k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
    if (!lane) out[AT(row)] = sum;
}
KERNEL(compressed_rows) {  // rows begin where an array says, which is data
    __shared__ float s[64];
    INDICES
    unsigned begin = in[AT(bx)], end = in[AT(bx + 1)] + n;
    float sum = 0;
    for (unsigned i = begin + tid; i < end; i += 64) sum += in[AT(in[AT(i)])];
    s[tid] = sum;
    for (unsigned k = 32; k; k /= 2) {
        __syncthreads();
        if (tid < k) s[tid] += s[tid + k];
    }
    if (!tid) out[AT(bx)] = s[0];
}
KERNEL(tiles_of_threads) {  // parts of 8 threads, each with a problem of its own; the last ones have none
    __shared__ float s[8][8][9];
    INDICES
    unsigned part = tid / 8, lane = tid % 8, problem = bx * 8 + part, mask = 0xffu << (part % 4 * 8);
    if (problem >= n) return;
    unsigned size = problem % m + 1;
    for (unsigned r = 0; r < size; ++r) s[part][r][lane] = lane < size ? in[AT((problem * 8 + r) * 8 + lane)] : 0;
    __syncwarp(mask);
    for (unsigned p = 0; p < size; ++p) {
        float pivot = s[part][p][p];
        if (lane > p && lane < size) {
            float factor = s[part][lane][p] * pivot;
            for (unsigned c = p; c < size; ++c) s[part][lane][c] -= factor * s[part][p][c];
        }
        __syncwarp(mask);
    }
    out[AT(problem * 8 + lane)] = s[part][lane % size][lane];
}
KERNEL(swizzled_transpose) {  // four numbers at once, columns moved by an exclusive or instead of padding
    __shared__ __align__(16) unsigned s[32][32];
    INDICES
    unsigned across = (n + 31) / 32, column = bx % across * 32, row = bx / across * 32, q = tid % 8, r = tid / 8;
    for (unsigned k = r; k < 32; k += 8) {
        uint4 v = {0, 0, 0, 0};
        if (row + k < m && column + 4 * q < n) v = *(const uint4*)(in + (AT((row + k) * n + column + 4 * q) & ~3u));
        *(uint4*)&s[k][(q ^ (k / 4)) * 4] = v;
    }
    __syncthreads();
    for (unsigned k = r; k < 32; k += 8) {
        if (column + k >= n || row + 4 * q >= m) continue;
        uint4 v;
        unsigned* parts = &v.x;
        for (unsigned j = 0; j < 4; ++j) parts[j] = s[4 * q + j][((k / 4) ^ q) * 4 + k % 4];
        *(uint4*)(out + (AT((column + k) * m + row + 4 * q) & ~3u)) = v;
    }
}
KERNEL(prefetched_product) {  // a product whose next tiles wait in registers; ragged in all three sizes
    __shared__ __align__(16) float a[2][8][64], b[2][8][64];
    INDICES
    unsigned row = bx * 64, column = by * 64, x = tid % 16, y = tid / 16;
    float sum[4][4] = {}, na[2], nb[2];
    auto load = [&](unsigned k) {
        for (unsigned h = 0; h < 2; ++h) {
            unsigned at = tid + 256 * h, c = at % 64, r = at / 64;
            na[h] = row + c < n && k + r < m ? in[AT((k + r) * n + row + c)] : 0;
            nb[h] = column + c < n && k + r < m ? in[AT((k + r) * n + column + c)] : 0;
        }
    };
    auto keep = [&](unsigned stage) {
        for (unsigned h = 0; h < 2; ++h)
            a[stage][(tid + 256 * h) / 64][tid % 64] = na[h], b[stage][(tid + 256 * h) / 64][tid % 64] = nb[h];
    };
    load(0);
    keep(0);
    __syncthreads();
    for (unsigned k = 0, stage = 0; k < m; k += 8, stage ^= 1) {
        if (k + 8 < m) load(k + 8);
        for (unsigned j = 0; j < 8; ++j) {
            float4 u = *(float4*)&a[stage][j][4 * y], v = *(float4*)&b[stage][j][4 * x];
            for (unsigned p = 0; p < 4; ++p) for (unsigned q = 0; q < 4; ++q) sum[p][q] += (&u.x)[p] * (&v.x)[q];
        }
        if (k + 8 < m) keep(stage ^ 1);
        __syncthreads();
    }
    for (unsigned p = 0; p < 4; ++p) for (unsigned q = 0; q < 4; ++q)
        if (row + 4 * y + p < n && column + 4 * x + q < n) out[AT((row + 4 * y + p) * n + column + 4 * x + q)] = sum[p][q];
}
KERNEL(dilated) {  // a convolution in one dimension, taps m apart, an edge that mirrors
    __shared__ float s[64 + 8 * 16];
    INDICES
    int length = n, gap = m & 15, first = bx * 64 - 4 * gap;
    for (int at = tid; at < 64 + 8 * gap; at += 64) {
        int i = first + at;
        i = i < 0 ? -i : i;
        i = i >= length ? 2 * length - 2 - i : i;
        s[at] = in[AT(i)];
    }
    __syncthreads();
    if ((int)(bx * 64 + tid) >= length) return;
    float sum = 0;
    for (int k = 0; k < 9; ++k) sum += s[tid + k * gap];
    out[AT(bx * 64 + tid)] = sum;
}
KERNEL(pooled) {  // the most of windows of 3 by 3 two apart, the ones at the edges smaller
    __shared__ float s[17 * 33];
    INDICES
    int wide = n, high = m, ox = (wide + 1) / 2, x0 = bx * 32 - 1, y0 = by * 16 - 1, left = max(x0, 0), top = max(y0, 0);
    int w = min(x0 + 33, wide) - left, h = min(y0 + 17, high) - top;
    for (int at = tid; at < w * h; at += 128) s[at] = in[AT((bz * high + top + at / w) * wide + left + at % w)];
    __syncthreads();
    int x = x0 + 2 * threadIdx.x, y = y0 + 2 * threadIdx.y;
    if (x >= wide || y >= high || x / 2 >= ox) return;
    float most = -1e30f;
    for (int v = max(y, 0); v < min(y + 3, high); ++v) for (int u = max(x, 0); u < min(x + 3, wide); ++u)
        most = fmaxf(most, s[(v - top) * w + u - left]);
    out[AT((bz * gridDim.y * 8 + by * 8 + threadIdx.y) * ox + bx * 16 + threadIdx.x)] = most;
}
KERNEL(enlarged) {  // each pixel from the nearest by a ratio of whole numbers
    __shared__ float s[64];
    INDICES
    unsigned first = (unsigned)((unsigned long long)bx * 64 * n / m), x = bx * 64 + tid;
    unsigned from = (unsigned)((unsigned long long)x * n / m);
    s[tid] = in[AT(first + tid)];
    __syncthreads();
    out[AT(x)] = s[(from - first) & 63];
}
KERNEL(blelloch) {  // a scan over a tree with padded places, of a ragged last tile
    __shared__ unsigned s[128 + 4];
    INDICES
    unsigned a = tid, b = tid + 64;
    s[a + a / 32] = bx * 128 + a < n ? in[AT(bx * 128 + a)] : 0;
    s[b + b / 32] = bx * 128 + b < n ? in[AT(bx * 128 + b)] : 0;
    unsigned step = 1;
    for (unsigned d = 64; d; d /= 2, step *= 2) {
        __syncthreads();
        if (tid >= d) continue;
        unsigned i = step * (2 * tid + 1) - 1, j = step * (2 * tid + 2) - 1;
        s[j + j / 32] += s[i + i / 32];
    }
    if (!tid) s[127 + 3] = bx % m;
    for (unsigned d = 1; d < 128; d *= 2) {
        step /= 2;
        __syncthreads();
        if (tid >= d) continue;
        unsigned i = step * (2 * tid + 1) - 1, j = step * (2 * tid + 2) - 1, t = s[i + i / 32];
        s[i + i / 32] = s[j + j / 32];
        s[j + j / 32] += t;
    }
    __syncthreads();
    if (bx * 128 + tid < n) out[AT(bx * 128 + tid)] = s[a + a / 32] + s[b + b / 32];
}
KERNEL(trailing_update) {  // of a factorisation: tiles above the diagonal do nothing, those on it half, the last row less
    __shared__ float l[16][17], u[16][17];
    INDICES
    unsigned x = threadIdx.x, y = threadIdx.y, row = by * 16 + y, column = bx * 16 + x;
    if (by < bx || by * 16 < n || bx * 16 < n) return;
    l[y][x] = row < m ? in[AT(row * 16 + x)] : 0;
    u[x][y] = bx * 16 + y < m ? in[AT((bx * 16 + y) * 16 + x)] : 0;
    __syncthreads();
    if (row >= m || column > row) return;
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k) sum += l[y][k] * u[k][x];
    out[AT(row * m + column)] = sum;
}
KERNEL(shrinking) {  // four steps in time on one tile, which loses its rim at each
    __shared__ float s[2][16][16];
    INDICES
    int wide = n, high = m, i = threadIdx.x, j = threadIdx.y, x = (int)bx * 8 + i - 4, y = (int)by * 8 + j - 4;
    s[0][j][i] = x >= 0 && x < wide && y >= 0 && y < high ? in[AT(y * wide + x)] : 0;
    __syncthreads();
    for (int t = 1; t <= 4; ++t) {
        if (i >= t && i < 16 - t && j >= t && j < 16 - t && x > 0 && x < wide - 1 && y > 0 && y < high - 1) {
            auto& from = s[t + 1 & 1];
            s[t & 1][j][i] = from[j - 1][i] + from[j + 1][i] + from[j][i - 1] + from[j][i + 1];
        }
        __syncthreads();
    }
    if (i >= 4 && i < 12 && j >= 4 && j < 12 && x < wide && y < high) out[AT(y * wide + x)] = s[0][j][i];
}
KERNEL(planes_of_colours) {  // three bytes a pixel become three planes
    __shared__ __align__(4) unsigned char s[64 * 3];
    INDICES
    unsigned left = min(64u, n - bx * 64);
    if (tid < (left * 3 + 3) / 4) ((unsigned*)s)[tid] = in[AT(bx * 48 + tid)];
    __syncthreads();
    if (tid < left) for (unsigned c = 0; c < 3; ++c) out[AT(c * m + bx * 64 + tid)] = s[tid * 3 + c];
}
KERNEL(life) {  // on a torus: neighbours beyond an edge lie at the other
    __shared__ unsigned s[10][34];
    INDICES
    unsigned x = bx * 32 + threadIdx.x, y = by * 8 + threadIdx.y;
    for (unsigned at = tid; at < 340; at += 256) {
        unsigned u = (bx * 32 + at % 34 + n - 1) % n, v = (by * 8 + at / 34 + m - 1) % m;
        s[at / 34][at % 34] = in[AT(v * n + u)];
    }
    __syncthreads();
    if (x >= n || y >= m) return;
    unsigned count = 0;
    for (unsigned k = 0; k < 9; ++k) if (k != 4) count += s[threadIdx.y + k / 3][threadIdx.x + k % 3] & 1;
    out[AT(y * n + x)] = count == 3 || (count == 2 && s[threadIdx.y + 1][threadIdx.x + 1]);
}
KERNEL(shortest_paths) {  // the third phase of Floyd and Warshall: tiles of the row and column n are done already
    __shared__ int a[16][16], b[16][16];
    INDICES
    unsigned x = threadIdx.x, y = threadIdx.y;
    if (bx == n || by == n) return;
    a[y][x] = in[AT((by * 16 + y) * m + n * 16 + x)];
    b[y][x] = in[AT((n * 16 + y) * m + bx * 16 + x)];
    __syncthreads();
    int best = 1 << 30;
    for (unsigned k = 0; k < 16; ++k) best = min(best, a[y][k] + b[k][x]);
    if (bx * 16 + x < m) out[AT((by * 16 + y) * m + bx * 16 + x)] = best;
}
KERNEL(stream_k) {  // passes over all tiles are dealt out evenly: a block begins and ends in the middle of tiles
    __shared__ float s[64];
    INDICES
    unsigned long long passes = (unsigned long long)n * m;
    unsigned at = (unsigned)(passes * bx / gridDim.x), end = (unsigned)(passes * (bx + 1) / gridDim.x);
    while (at < end) {
        unsigned tile = at / m, k = at % m, last = min(m, k + end - at);
        float sum = 0;
        for (unsigned j = k; j < last; ++j) {
            s[tid] = in[AT(tile * 64 + j)];
            __syncwarp();
            sum += s[tid ^ 1];
        }
        if (k == 0 && last == m) out[AT(tile * 64 + tid)] = sum;
        else atomicAdd((float*)out + AT(tile * 64 + tid), sum);
        if (k == 0) s[tid * 2 & 63] = sum;
        at += last - k;
    }
}
KERNEL(specialised) {  // one warp copies, the others compute; each meets the other at barriers of their own
    __shared__ float s[2][96];
    INDICES
    unsigned tiles = bx % n + 1;
    if (tid < 32) {
        for (unsigned t = 0; t < tiles; ++t) {
            asm volatile("bar.sync %0, 128;" :: "r"(1 + (t & 1)) : "memory");
            for (unsigned i = tid; i < 96; i += 32) s[t & 1][i] = in[AT((bx + t) * m + i)];
            asm volatile("bar.arrive %0, 128;" :: "r"(3 + (t & 1)) : "memory");
        }
    } else {
        float sum = 0;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        if (tiles > 1) asm volatile("bar.arrive 2, 128;" ::: "memory");
        for (unsigned t = 0; t < tiles; ++t) {
            asm volatile("bar.sync %0, 128;" :: "r"(3 + (t & 1)) : "memory");
            sum += s[t & 1][(tid - 32) * 5 % 96];
            if (t + 2 < tiles) asm volatile("bar.arrive %0, 128;" :: "r"(1 + (t & 1)) : "memory");
        }
        out[AT(bx * 96 + tid - 32)] = sum;
    }
}
KERNEL(unpacked) {  // weights of four bits with a scale for each group of m columns
    __shared__ float s[512];
    INDICES
    unsigned word = in[AT(bx * 64 + tid)], group = (bx * 512 + tid * 8) / m;
    float scale = in[AT(group)];
    for (unsigned k = 0; k < 8; ++k) s[tid * 8 + (k ^ (tid / 4 & 7))] = (word >> 4 * k & 15) * scale;
    __syncthreads();
    for (unsigned k = 0; k < 8; ++k) {
        unsigned at = k * 64 + tid;
        if (bx * 512 + at < n) out[AT(bx * 512 + at)] = s[at & ~7 | (at & 7) ^ (at / 32 & 7)];
    }
}
KERNEL(experts) {  // tokens go to experts by a rule; one that is full takes no more
    __shared__ float s[64 * 3];
    INDICES
    unsigned expert = bx * 97 % 13, place = bx / 13, room = n + expert * m;
    if (place >= room) return;
    s[tid * 3] = in[AT(expert * 64 + tid)];
    s[tid * 3 + 1] = in[AT(bx * 64 + tid)];
    __syncthreads();
    float sum = 0;
    for (unsigned k = 0; k < (expert & 3) + 1; ++k) sum += s[(tid * 3 + k * 32) % 192];
    out[AT((expert * room + place) * 64 + tid)] = sum;
}
KERNEL(rotated_tiles) {  // bodies that attract each other: each block begins at its own tile and goes round
    __shared__ float4 s[64];
    INDICES
    float sum = 0;
    unsigned tiles = n, tile = bx % tiles;
    for (unsigned t = 0; t < tiles; ++t, tile = tile + 1 == tiles ? 0 : tile + 1) {
        s[tid] = ((const float4*)in)[(tile * 64 + tid) & (WORDS / 4)];
        __syncthreads();
        for (unsigned k = 0; k < 64; k += 4) if (tile * 64 + k < m) sum += s[k].x * s[k + 1].y + s[k + 2].z + s[k + 3].w;
        __syncthreads();
    }
    out[AT(bx * 64 + tid)] = sum;
}
