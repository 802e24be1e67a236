// Kernels as they are in use, of kinds that the other files have not; grids.py has their launches.
#include "grids.cuh"
#define AT(i) ((unsigned)(i) & WORDS)
#define SHARED(place) ((unsigned)__cvta_generic_to_shared(place))

KERNEL(doubled_scan) {  // two copies in turns; segments of n numbers begin anywhere in a tile
    __shared__ unsigned s[2][128];
    INDICES
    unsigned at = bx * 128 + tid, head = at % n, turn = 0;
    s[0][tid] = at < m ? in[AT(at)] : 0;
    __syncthreads();
    for (unsigned d = 1; d < 128; d *= 2, turn ^= 1) {
        unsigned v = s[turn][tid];
        if (tid >= d && head >= d) v += s[turn][tid - d];
        s[turn ^ 1][tid] = v;
        __syncthreads();
    }
    if (at < m) out[AT(at)] = s[turn][tid];
}
KERNEL(grouped_queries) {  // heads share keys in groups of m, sequences differ in length, a bias by distance
    __shared__ float keys[32][33], p[4][32];
    INDICES
    unsigned head = by % 12, batch = by / 12, length = n - batch * 17 % 29, lane = tid & 31, w = tid / 32;
    unsigned q = bx * 4 + w, shared_head = head / m;
    if (bx * 4 >= length) return;
    float sum = 0;
    for (unsigned tile = 0; tile <= bx * 4 / 32; ++tile) {
        for (unsigned r = w; r < 32; r += 4) {
            unsigned key = tile * 32 + r;
            keys[r][lane] = key < length ? in[AT(((batch * 4 + shared_head) * n + key) * 32 + lane)] : 0;
        }
        __syncthreads();
        float dot = 0;
        for (unsigned k = 0; k < 32; ++k) dot += keys[lane][k] * k;
        p[w][lane] = tile * 32 + lane <= q && q < length ? dot - (q - tile * 32 - lane) : -1e30f;
        __syncwarp();
        for (unsigned k = 0; k < 32; ++k) sum += p[w][k] * keys[k][lane];
        __syncthreads();
    }
    if (q < length) out[AT(((batch * 12 + head) * n + q) * 32 + lane)] = sum;
}
KERNEL(stockham) {  // radix 4 in tiles of 256 points; the pass m is one for all, its stride a power of 4
    __shared__ float2 s[256];
    INDICES
    unsigned stride = 1u << 2 * (m % 4), column = tid & (stride - 1), group = tid / stride;
    float2 v[4];
    for (unsigned k = 0; k < 4; ++k) v[k] = ((const float2*)in)[(bx * 256 + tid + 64 * k) & (WORDS / 2)];
    unsigned twiddle = (bx % n) * tid;
    for (unsigned k = 1; k < 4; ++k) {
        float a = (twiddle * k & 1023) * 0.0061f, c = __cosf(a), d = __sinf(a), e = v[k].x;
        v[k].x = e * c - v[k].y * d, v[k].y = e * d + v[k].y * c;
    }
    for (unsigned k = 0; k < 4; ++k) s[(group * 4 + k) * stride + column] = make_float2(v[0].x + k * v[1].y + v[2].x, v[3].y);
    __syncthreads();
    for (unsigned k = 0; k < 4; ++k) ((float2*)out)[(bx * 256 + tid + 64 * k) & (WORDS / 2)] = s[tid + 64 * k];
}
KERNEL(permuted_axes) {  // (a, b, c, d) to (d, a, c, b), one block each tile of the (b, d) plane; sizes are arguments
    __shared__ float s[16][17];
    INDICES
    unsigned across = (n + 15) / 16, down = (m + 15) / 16, t = bx;
    unsigned d0 = t % across * 16, b0 = (t /= across) % down * 16, c = (t /= down) % 5, a = t / 5;
    unsigned x = tid % 16, y = tid / 16;
    for (unsigned r = y; r < 16; r += 4)
        if (d0 + x < n && b0 + r < m) s[r][x] = in[AT(((a * m + b0 + r) * 5 + c) * n + d0 + x)];
    __syncthreads();
    for (unsigned r = y; r < 16; r += 4)
        if (d0 + r < n && b0 + x < m) out[AT((((d0 + r) * 7 + a) * 5 + c) * m + b0 + x)] = s[x][r];
}
KERNEL(turned_volume) {  // x and z change places, for each y
    __shared__ float s[32][32];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y, z = blockIdx.z * 32 + threadIdx.y, deep = gridDim.z * 32 - 9;
    for (unsigned k = 0; k < 32; k += 8)
        if (x < n && z + k < deep && y < m) s[threadIdx.y + k][threadIdx.x] = in[AT(((z + k) * m + y) * n + x)];
    __syncthreads();
    x = blockIdx.x * 32 + threadIdx.y, z = blockIdx.z * 32 + threadIdx.x;
    for (unsigned k = 0; k < 32; k += 8)
        if (x + k < n && z < deep && y < m) out[AT(((x + k) * m + y) * deep + z)] = s[threadIdx.x][threadIdx.y + k];
}
KERNEL(xor_tiles) {  // tiles in the order of an exclusive or of both indices, columns moved by the row of the tile
    __shared__ float s[16][16];
    INDICES
    unsigned column = bx ^ by & 15, x = tid % 16, y = tid / 16;
    if (column * 16 >= n) return;
    for (unsigned r = y; r < 16; r += 4) s[r][x ^ (by & 7) * 2] = in[AT((by * 16 + r) * n + column * 16 + x)];
    __syncthreads();
    for (unsigned r = y; r < 16; r += 4) if (by * 16 + x < m) out[AT((column * 16 + r) * m + by * 16 + x)] = s[x][r ^ (by & 7) * 2];
}
KERNEL(morton_product) {  // tiles of a product along a curve; those outside of the ragged matrix leave
    __shared__ float a[8][8], b[8][8];
    INDICES
    unsigned row = 0, column = 0, x = tid % 8, y = tid / 8;
    for (unsigned k = 0; k < 12; ++k) column |= (bx >> 2 * k & 1) << k, row |= (bx >> (2 * k + 1) & 1) << k;
    if (row * 8 >= n || column * 8 >= m) return;
    float sum = 0;
    for (unsigned k = 0; k < 32; k += 8) {
        a[y][x] = row * 8 + y < n ? in[AT((row * 8 + y) * 32 + k + x)] : 0;
        b[y][x] = column * 8 + x < m ? in[AT((k + y) * m + column * 8 + x)] : 0;
        __syncthreads();
        for (unsigned j = 0; j < 8; ++j) sum += a[y][j] * b[j][x];
        __syncthreads();
    }
    if (row * 8 + y < n && column * 8 + x < m) out[AT((row * 8 + y) * m + column * 8 + x)] = sum;
}
KERNEL(hilbert_copy) {  // tiles along Hilbert's curve over a square whose side 2^m is an argument, as far as it lies in n
    __shared__ float s[16][17];
    INDICES
    unsigned x = 0, y = 0, t = bx;
    for (unsigned side = 1; side < 1u << m; side *= 2) {
        unsigned rx = 1 & t / 2, ry = 1 & (t ^ rx);
        if (!ry) {
            if (rx) x = side - 1 - x, y = side - 1 - y;
            unsigned swapped = x;
            x = y, y = swapped;
        }
        x += side * rx, y += side * ry, t /= 4;
    }
    if (x * 16 >= n || y * 16 >= n) return;
    for (unsigned k = tid / 16; k < 16; k += 4) s[k][tid % 16] = in[AT((y * 16 + k) * n + x * 16 + tid % 16)];
    __syncthreads();
    for (unsigned k = tid / 16; k < 16; k += 4) out[AT((x * 16 + k) * n + y * 16 + tid % 16)] = s[tid % 16][k];
}
KERNEL(two_tile_stream_k) {  // whole tiles first, the rest dealt out evenly by passes with quotient and remainder
    __shared__ float s[64];
    INDICES
    unsigned blocks = gridDim.x, whole = n / blocks, rest = n % blocks, passes = rest * m, each = passes / blocks, more = passes % blocks;
    unsigned begin = bx * each + min(bx, more), end = begin + each + (bx < more);
    for (unsigned w = 0; w < whole; ++w) {
        s[tid ^ 3] = in[AT((w * blocks + bx) * 64 + tid)];
        __syncthreads();
        out[AT((w * blocks + bx) * 64 + tid)] = s[tid];
        __syncthreads();
    }
    while (begin < end) {
        unsigned tile = begin / m, upto = min(end, (tile + 1) * m);
        float sum = 0;
        for (unsigned k = begin; k < upto; ++k) {
            s[tid] = in[AT(k * 64 + tid)];
            __syncthreads();
            sum += s[tid * 2 & 63];
            __syncthreads();
        }
        atomicAdd((float*)out + AT((whole * blocks + tile) * 64 + tid), sum);
        begin = upto;
    }
}
KERNEL(packed_sequences) {  // sequences of different lengths in one row of tiles; a search finds the sequence of a tile
    __shared__ float s[128];
    INDICES
    unsigned low = 0, high = n;  // sequence i begins at tile i * m + i * (i % 3) / 2 or so, which grows
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (middle * m + middle % 3 <= bx) low = middle;
        else high = middle;
    }
    unsigned begin = low * m + low % 3, last = (low + 1) * m + (low + 1) % 3, place = bx - begin;
    s[tid] = place * 64 + tid < (last - begin) * 64 - 13 ? in[AT(bx * 64 + tid)] : 0;
    __syncthreads();
    if (place + 1 == last - begin && tid >= 51) return;
    out[AT(bx * 64 + tid)] = s[tid * 3 & 127];
}
KERNEL(pyramid) {  // half of each size, four levels in one block; levels that are outside stop early
    __shared__ float s[16][16];
    INDICES
    unsigned x = threadIdx.x, y = threadIdx.y;
    s[y][x] = in[AT((by * 16 + y) * n + bx * 16 + x)];
    for (unsigned step = 1, level = 1; level < 4; ++level, step *= 2) {
        __syncthreads();
        unsigned wide = n >> level, high = m >> level, u = bx * (16 >> level) + x, v = by * (16 >> level) + y;
        if (x < 16 >> level && y < 16 >> level && u < wide && v < high) {
            float sum = s[y * 2 * step][x * 2 * step] + s[y * 2 * step][(x * 2 + 1) * step] + s[(y * 2 + 1) * step][x * 2 * step];
            s[y * 2 * step][x * 2 * step] = sum;
            out[AT(v * wide + u)] = sum;
        }
    }
}
KERNEL(wrapped_hash) {  // places by a multiplicative hash of 32 bits, of which the upper bits choose a row
    __shared__ unsigned s[512];
    INDICES
    unsigned row = (bx * 2654435769u) >> 29, start = bx * 64 * n;
    s[row * 64 + tid] = in[AT(start + tid)];
    __syncthreads();
    if (start + tid * 4 > m) out[AT(start + tid)] = s[(row * 64 + tid * 2) & 511];
}
KERNEL(tensor_pipeline) {  // ldmatrix and mma, three stages, an inner dimension that is ragged, tiles back and forth
    __shared__ __align__(16) unsigned short a[3][16][24], b[3][16][24];
    INDICES
    unsigned across = n, row = bx / across, column = row & 1 ? across - 1 - bx % across : bx % across, lane = tid & 31;
    float c[4] = {};
    auto copy = [&](unsigned t) {
        if (t * 16 < m) {
            unsigned r = tid / 2 % 16, h = tid & 1, k = t * 16 + h * 8;
            unsigned short* to = tid < 32 ? &a[t % 3][r][h * 8] : &b[t % 3][r][h * 8];
            const unsigned* from = in + (AT((tid < 32 ? (row * 16 + r) * m : (column * 16 + r) * m) / 2 + k / 2) & ~3u);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(SHARED(to)), "l"(from), "r"(k < m ? 16 : 0));
        }
        asm volatile("cp.async.commit_group;");
    };
    copy(0), copy(1);
    for (unsigned t = 0; t * 16 < m; ++t) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        copy(t + 2);
        unsigned u[4], v[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(u[0]), "=r"(u[1]), "=r"(u[2]), "=r"(u[3]) : "r"(SHARED(&a[t % 3][lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(v[0]), "=r"(v[1]) : "r"(SHARED(&b[t % 3][lane % 16][tid / 32 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(v[0]), "r"(v[1]));
    }
    for (unsigned k = 0; k < 4; ++k) out[AT((bx * 4 + k) * 64 + tid)] = c[k];
}
KERNEL(bulk_rows) {  // a bulk copy of a row waits at an mbarrier; every third block's row is short
    __shared__ __align__(128) float s[256];
    __shared__ __align__(8) unsigned long long bar;
    INDICES
    unsigned bytes = bx % 3 ? 1024 : 256 + n % 4 * 16;
    if (!tid) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(SHARED(&bar)));
    __syncthreads();
    if (!tid) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(SHARED(&bar)), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(SHARED(s)), "l"(in + (AT(bx * 256) & ~255u)), "r"(bytes), "r"(SHARED(&bar)) : "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(SHARED(&bar)) : "memory");
    float sum = 0;
    for (unsigned k = 0; k < bytes / 256; ++k) sum += s[(tid * (m % 5 + 1) + k * 64) & 255];
    out[AT(bx * 64 + tid)] = sum;
}
KERNEL(scaled_rows) {  // a row's part by a ratio in floating point, as resizing does; columns clamp
    __shared__ float s[2][64];
    INDICES
    float ratio = (float)n / (float)gridDim.x;
    float place = (bx + 0.5f) * ratio - 0.5f;
    int y = (int)floorf(place), y0 = max(y, 0), y1 = min(y + 1, (int)n - 1);
    for (unsigned k = 0; k < 2; ++k) s[k][tid] = in[AT((k ? y1 : y0) * m + tid)];
    __syncthreads();
    if (y0 == y1) s[0][tid * 2 & 63] = 0;
    out[AT(bx * 64 + tid)] = s[0][tid] + s[1][tid ^ 1];
}
KERNEL(dropped) {  // dropout whose generator knows only places: Philox, seven rounds; kept numbers go to shared memory
    __shared__ float s[64];
    INDICES
    unsigned c0 = bx * 64 + tid, c1 = 0, k0 = n, k1 = m;
    for (unsigned r = 0; r < 7; ++r) {
        unsigned long long p = (unsigned long long)c0 * 0xD256D193u;
        c0 = (unsigned)(p >> 32) ^ k0 ^ c1, c1 = (unsigned)p, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    if (c0 & 1) s[tid] = in[AT(bx * 64 + tid)];
    __syncthreads();
    out[AT(bx * 64 + tid)] = s[tid ^ 1];
}
KERNEL(packed_triangles) {  // a tile's row and column in a triangle of n rows, counted from the end, by a root in single precision
    __shared__ float s[32][33];
    INDICES
    unsigned left = n * (n + 1) / 2 - 1 - bx, back = (unsigned)((sqrtf(8.0f * left + 1.0f) - 1.0f) * 0.5f);
    if ((back + 1) * (back + 2) / 2 <= left) ++back;
    if (back * (back + 1) / 2 > left) --back;
    unsigned row = n - 1 - back, column = n - 1 - (left - back * (back + 1) / 2);
    for (unsigned k = tid / 32; k < 32; k += 2) s[k][tid % 32] = in[AT((row * 32 + k) * m + column * 32 + tid % 32)];
    __syncthreads();
    for (unsigned k = tid / 32; k < 32; k += 2) {
        if (row == column && k > tid % 32) continue;
        out[AT((column * 32 + k) * m + row * 32 + tid % 32)] = s[tid % 32][k];
    }
}
KERNEL(winograd) {  // windows of 4 by 4 two apart, transformed; batches and channels in one index
    __shared__ float s[16][65];
    INDICES
    unsigned tiles = ((n + 1) / 2) * ((m + 1) / 2), number = bx * 64 + tid, tile = number % tiles, plane = number / tiles;
    int x0 = tile % ((n + 1) / 2) * 2 - 1, y0 = tile / ((n + 1) / 2) * 2 - 1;
    float v[4][4];
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j)
        v[i][j] = (unsigned)(x0 + j) < n && (unsigned)(y0 + i) < m ? in[AT((plane * m + y0 + i) * n + x0 + j)] : 0;
    for (int i = 0; i < 4; ++i) {
        s[i * 4][tid] = v[i][0] - v[i][2], s[i * 4 + 1][tid] = v[i][1] + v[i][2];
        s[i * 4 + 2][tid] = v[i][2] - v[i][1], s[i * 4 + 3][tid] = v[i][1] - v[i][3];
    }
    __syncthreads();
    for (unsigned k = 0; k < 16; ++k) out[AT((k * 64 + tid / 16 + tid % 16 * 4) * 64 + bx)] = s[tid % 16][tid / 16 + k * 4];
}
KERNEL(magic_divisions) {  // quotients by multiplication with numbers that the host would send
    __shared__ float s[64];
    INDICES
    unsigned magic = (unsigned)((1ull << 32) / n + 1), i = bx * 64 + tid, q = __umulhi(i, magic), r = i - q * n;
    unsigned row = __umulhi(q, (unsigned)((1ull << 32) / m + 1)), column = q - row * m;
    s[tid] = r & 1 ? in[AT(i)] : 0;
    __syncthreads();
    if (column == 0) s[tid * 2 & 63] = row;
    out[AT(i)] = s[tid];
}
KERNEL(searched_by_one) {  // one thread finds the sequence of a tile and its ends, and tells the others through shared memory
    __shared__ unsigned begin, end, number;
    __shared__ float s[128];
    INDICES
    if (!tid) {
        unsigned low = 0, high = n;
        while (high - low > 1) {
            unsigned middle = (low + high) / 2;
            if (middle * m <= bx) low = middle;
            else high = middle;
        }
        number = low, begin = low * m * 64, end = begin + m * 64 - low % 5 * 7;
    }
    __syncthreads();
    unsigned at = bx * 64 + tid;
    s[tid] = at < end ? in[AT(at - begin + number)] : 0;
    __syncthreads();
    if (at < end) out[AT(at)] = s[tid * 2 & 127];
}
KERNEL(compacted) {  // places of a tile that a rule keeps, in a list in shared memory; each kept one is then worked at
    __shared__ unsigned list[64], counts[2];
    __shared__ float s[256];
    INDICES
    bool kept = (bx * 64 + tid) % n < m;
    unsigned votes = __ballot_sync(~0u, kept), before = __popc(votes & (1u << tid % 32) - 1);
    if (tid % 32 == 0) counts[tid / 32] = __popc(votes);
    __syncthreads();
    if (kept) list[before + (tid >= 32 ? counts[0] : 0)] = tid;
    __syncthreads();
    for (unsigned k = tid; k < counts[0] + counts[1]; k += 64) {
        unsigned at = list[k];
        s[at * 4 & 255] = in[AT(bx * 64 + at)];
        out[AT(bx * 64 + k)] = s[at * 4 & 255];
    }
}
KERNEL(offsets_in_shared) {  // lengths of eight ragged rows and where they begin, summed up in shared memory
    __shared__ unsigned starts[9];
    __shared__ float s[512];
    INDICES
    if (tid < 8) starts[tid + 1] = (bx * 8 + tid) % n + m % 29;
    if (!tid) starts[0] = 0;
    __syncthreads();
    for (unsigned d = 1; d < 8; d *= 2) {
        unsigned v = tid < 8 && tid >= d ? starts[tid + 1 - d] : 0;
        __syncwarp();
        if (tid < 8) starts[tid + 1] += v;
        __syncthreads();
    }
    for (unsigned r = 0; r < 8; ++r)
        for (unsigned k = starts[r] + tid; k < starts[r + 1]; k += 64) s[k & 511] = in[AT(bx * 512 + k)];
    __syncthreads();
    for (unsigned k = tid; k < starts[8]; k += 64) out[AT(bx * 512 + k)] = s[k * 2 & 511];
}
