// Kernels in forms that programs have, their blocks in the orders that programs give them; grids.py has their launches.
#include "grids.cuh"
#define AT(i) ((unsigned)(i) & WORDS)

KERNEL(clamped_stencil) {  // edges repeat what is beside them
    __shared__ float s[10][36];
    INDICES
    int width = n, height = m, x0 = bx * 32, y0 = by * 8;
    for (int at = tid; at < 10 * 34; at += 256) {
        int x = min(max(x0 + at % 34 - 1, 0), width - 1), y = min(max(y0 + at / 34 - 1, 0), height - 1);
        s[at / 34][x - max(x0 - 1, 0)] = in[AT(y * width + x)];
    }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned i = threadIdx.y + 1, j = threadIdx.x + (x0 > 0);
    out[AT(y * width + x)] = s[i - 1][j] + s[i + 1][j] + s[i][j + 1] + (j ? s[i][j - 1] : 0);
}
KERNEL(batched) {  // small products, one for each blockIdx.z, the last tile of each ragged
    __shared__ float a[16][17], b[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const unsigned* first = in + AT(blockIdx.z * (size_t)n * n);
    float sum = 0;
    for (unsigned k = 0; k < n; k += 16) {
        a[y][x] = row < n && k + x < n ? first[row * n + k + x] : 0;
        b[y][x] = column < n && k + y < n ? first[(k + y) * n + column] : 0;
        __syncthreads();
        for (unsigned j = 0; j < min(16u, n - k); ++j) sum += a[y][j] * b[j][x];
        __syncthreads();
    }
    if (row < n && column < n) out[AT(blockIdx.z * (size_t)n * n + row * n + column)] = sum;
}
KERNEL(grouped) {  // the order of Triton's tutorial: groups of rows of tiles, the last group smaller
    __shared__ float s[8][64];
    INDICES
    unsigned wide = n, high = m, group = 8 * wide, first = bx / group * 8, size = min(high - first, 8u);
    unsigned row = first + bx % group % size, column = bx % group / size;
    for (unsigned k = 0; k < 8; ++k) s[k][tid ^ (row & 3)] = in[AT(row * 64 + k * n)];
    __syncthreads();
    float sum = 0;
    if (column == row) sum = s[tid & 7][tid];
    if (column + 1 == wide) for (unsigned k = 0; k < 8; ++k) sum += s[k][tid & 31];
    else sum += s[tid >> 3][(tid & 7) * 8];
    out[AT((row * wide + column) * 64 + tid)] = sum;
}
KERNEL(zigzag) {  // every other row of tiles backwards
    __shared__ float s[256];
    INDICES
    unsigned row = bx / n, column = bx % n;
    if (row & 1) column = n - 1 - column;
    s[tid * (column % 2 + 1)] = in[AT(bx * 64 + tid)];
    __syncthreads();
    if (column * 64 + tid >= m) return;
    out[AT((row * n + column) * 64 + tid)] = s[(tid * 4) & 255];
}
KERNEL(striding_loop) {  // as many blocks as wanted, each goes over the array in strides of the grid
    __shared__ float s[128];
    INDICES
    float sum = 0;
    for (size_t i = bx * (size_t)blockDim.x + tid; i < (size_t)n * m; i += (size_t)blockDim.x * gridDim.x) {
        s[tid * 2 & 127] = in[AT(i)];
        sum += s[tid];
    }
    s[tid] = sum;
    __syncthreads();
    for (unsigned half = 32; half; half /= 2) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    if (!tid) out[AT(bx)] = s[0];
}
KERNEL(persistent) {  // blocks go over tiles of a ragged matrix
    __shared__ float s[16][16];
    INDICES
    unsigned across = (n + 15) / 16, down = (m + 15) / 16, tiles = across * down;
    for (unsigned tile = bx; tile < tiles; tile += gridDim.x) {
        unsigned row = tile / across * 16 + threadIdx.y, column = tile % across * 16 + threadIdx.x;
        if (row < m && column < n) s[threadIdx.y][threadIdx.x] = in[AT(row * n + column)];
        __syncthreads();
        if (row < m && column < n) out[AT(column * m + row)] = s[threadIdx.x][threadIdx.y];
        __syncthreads();
    }
}
__device__ unsigned even_bits(unsigned v) {
    v &= 0x55555555;
    v = (v | v >> 1) & 0x33333333;
    v = (v | v >> 2) & 0x0F0F0F0F;
    v = (v | v >> 4) & 0x00FF00FF;
    return (v | v >> 8) & 0xFFFF;
}
KERNEL(morton) {
    __shared__ float s[256];
    INDICES
    unsigned column = even_bits(bx), row = even_bits(bx >> 1);
    if (column >= n || row >= m) return;
    s[tid ^ (row & 3)] = in[AT(row * n + column)];
    __syncthreads();
    if (column + 1 == n) s[tid * 4] = 1;
    out[AT((row * n + column) * 64 + tid)] = s[tid];
}
KERNEL(hilbert) {  // of blocks, 16 by 16
    __shared__ float s[256];
    INDICES
    unsigned x = 0, y = 0, t = bx & 255;
    for (unsigned side = 1; side < 16; side *= 2) {
        unsigned right = 1 & t / 2, up = 1 & (t ^ right);
        if (!up) {
            if (right) x = side - 1 - x, y = side - 1 - y;
            unsigned swapped = x;
            x = y, y = swapped;
        }
        x += side * right, y += side * up, t /= 4;
    }
    s[tid * (x % 3 + 1)] = in[AT(bx * 64 + tid)];
    __syncthreads();
    if (x < y) out[AT(bx * 64 + tid)] = s[tid * 2];
}
KERNEL(split_k) {  // each blockIdx.z has a part of the inner dimension; all add up
    __shared__ float a[16][16], b[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    unsigned part = (m + gridDim.z - 1) / gridDim.z, k = blockIdx.z * part, end = min(k + part, m);
    float sum = 0;
    for (; k < end; k += 16) {
        a[y][x] = row < n && k + x < end ? in[AT(row * m + k + x)] : 0;
        b[x][y] = column < n && k + y < end ? in[AT((k + y) * n + column)] : 0;
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += a[y][j] * b[x][j];
        __syncthreads();
    }
    if (row < n && column < n) atomicAdd((float*)out + AT(row * n + column), sum);
}
KERNEL(halo3d) {
    __shared__ float s[6][6][10];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    int i = threadIdx.x + 1, j = threadIdx.y + 1, k = threadIdx.z + 1, wide = n, high = m, deep = gridDim.z * 4 - 2;
    auto value = [&](int x, int y, int z) {
        return x < 0 || y < 0 || z < 0 || x >= wide || y >= high || z >= deep ? 0.f : in[AT((z * m + y) * n + x)];
    };
    s[k][j][i] = value(x, y, z);
    if (i == 1) s[k][j][0] = value(x - 1, y, z);
    if (i == 8) s[k][j][9] = value(x + 1, y, z);
    if (j == 1) s[k][0][i] = value(x, y - 1, z);
    if (j == 4) s[k][5][i] = value(x, y + 1, z);
    if (k == 1) s[0][j][i] = value(x, y, z - 1);
    if (k == 4) s[5][j][i] = value(x, y, z + 1);
    __syncthreads();
    if (x < wide && y < high && z < deep && x > 0 && y > 0 && z > 0)
        out[AT((z * m + y) * n + x)] = s[k - 1][j][i] + s[k + 1][j][i] + s[k][j - 1][i] + s[k][j + 1][i]
                                       + s[k][j][i - 1] + s[k][j][i + 1];
}
KERNEL(pairs) {  // blocks of the lower half of a matrix of tiles, found by a root
    __shared__ float s[64][2];
    INDICES
    unsigned row = (unsigned)((sqrt(8.0 * bx + 1) - 1) / 2);
    while ((row + 1) * (unsigned long long)(row + 2) / 2 <= bx) ++row;
    while (row * (unsigned long long)(row + 1) / 2 > bx) --row;
    unsigned column = bx - row * (row + 1) / 2;
    s[tid][0] = in[AT(row * 64 + tid)];
    s[tid][1] = in[AT(column * 64 + tid)];
    __syncthreads();
    float sum = 0;
    for (unsigned k = row == column ? tid + 1 : 0; k < 64; ++k) sum += s[tid][0] * s[k][1];
    if (row * 64 + tid < n) atomicAdd((float*)out + AT(row * 64 + tid), sum);
}
KERNEL(strided_convolution) {  // padding 1, stride 2, 3 by 3; blockIdx.z is image and channel
    __shared__ float s[17][34];
    INDICES
    int wide = n, high = m, ox = (wide + 1) / 2, oy = (high + 1) / 2, x0 = bx * 32 - 1, y0 = by * 16 - 1;
    unsigned image = bz / 3, channel = bz % 3;
    float sum = 0;
    for (unsigned half = 0; half < 2; ++half) {
        for (int at = tid; at < 17 * 17; at += 128) {
            int x = x0 + 16 * half + at % 17, y = y0 + at / 17;
            bool inside = x >= 0 && x < wide && y >= 0 && y < high;
            s[at / 17][17 * half + at % 17] = inside ? in[AT(((image * 3 + channel) * high + y) * wide + x)] : 0;
        }
    }
    __syncthreads();
    int x = bx * 16 + threadIdx.x, y = by * 8 + threadIdx.y;
    if (x < ox && y < oy) {
        for (int k = 0; k < 3; ++k) for (int j = 0; j < 3; ++j) sum += s[2 * threadIdx.y + k][2 * threadIdx.x + j];
        out[AT((bz * oy + y) * ox + x)] = sum;
    }
}
KERNEL(fft) {  // stages of 128 points in each block; the first twiddle depends on the block
    __shared__ float re[128], im[128];
    INDICES
    re[tid] = in[AT(bx * 128 + tid)];
    im[tid + 64] = in[AT(bx * 128 + tid + 64)];
    for (unsigned stage = 0; stage < 7; ++stage) {
        __syncthreads();
        unsigned half = 1u << stage, low = tid & (half - 1), i = (tid >> stage << (stage + 1)) + low;
        float angle = -3.14159265f * low / half * (bx % n + 1), c = cosf(angle), d = sinf(angle);
        float x = re[i + half] * c - im[i + half] * d, y = re[i + half] * d + im[i + half] * c;
        re[i + half] = re[i] - x, im[i + half] = im[i] - y;
        re[i] += x, im[i] += y;
    }
    __syncthreads();
    out[AT(bx * 128 + tid)] = re[tid] + im[tid];
}
KERNEL(fft_pass) {  // one stage of a long transform, done in tiles: which elements meet depends on the stage m
    __shared__ float s[64][3];
    INDICES
    unsigned i = bx * 64 + tid, half = 1u << m, low = i & (half - 1), first = ((i >> m) << (m + 1)) | low;
    if (first + half >= n) return;
    s[tid][0] = in[AT(first)];
    s[tid][1] = in[AT(first + half)];
    s[tid][2] = low * 0.1f;
    __syncthreads();
    out[AT(first)] = s[tid][0] + s[tid ^ 1][1] * s[63 - tid][2];
}
KERNEL(tensor_product) {  // ldmatrix and mma over tiles in the order of groups, copied by cp.async in two stages
    __shared__ __align__(16) unsigned s[2][2][32][16];
    INDICES
    unsigned wide = n, row = bx / (4 * wide) * 4 + bx % 4, column = bx % (4 * wide) / 4;
    float c[4] = {};
    auto copy = [&](unsigned stage, unsigned k) {
        for (unsigned which = 0; which < 2; ++which) for (unsigned at = tid; at < 128; at += 64) {
            unsigned r = at / 4, q = at % 4 ^ (r >> 1 & 3), line = (which ? column : row) * 32 + r;
            unsigned to = (unsigned)__cvta_generic_to_shared(&s[stage][which][r][q * 4]), bytes = line < m ? 16 : 0;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                         :: "r"(to), "l"(in + (AT(line * 64 + k * 16) & ~3u)), "r"(bytes));
        }
        asm volatile("cp.async.commit_group;");
    };
    copy(0, 0);
    for (unsigned k = 0; k < 4; ++k) {
        if (k < 3) copy(k + 1 & 1, k + 1);
        if (k < 3) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        for (unsigned half = 0; half < 2; ++half) {
            unsigned a[4], b[2], lane = tid & 31, r = lane & 15, q = half * 2 + lane / 16;
            unsigned from = (unsigned)__cvta_generic_to_shared(&s[k & 1][0][r + 16 * (tid / 32)][(q ^ (r >> 1 & 3)) * 4]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
            r = lane & 7, q = half * 2 + (lane / 8 & 1);
            from = (unsigned)__cvta_generic_to_shared(&s[k & 1][1][r][(q ^ (r >> 1 & 3)) * 4]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(from));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
        __syncthreads();
    }
    if (row * 32 < m) ((float*)out)[AT((row * wide + column) * 64 + tid)] = c[0] + c[1] + c[2] + c[3];
}
KERNEL(pipeline) {  // cp.async of words with four stages; sources at any word
    __shared__ unsigned s[4][64];
    INDICES
    unsigned passes = (n + gridDim.x - 1) / gridDim.x, sum = 0, first = bx * passes, last = min(first + passes, n);
    auto copy = [&](unsigned at) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&s[at & 3][tid]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + AT(at * m + tid)));
        asm volatile("cp.async.commit_group;");
    };
    for (unsigned at = first; at < min(first + 3, last); ++at) copy(at);
    for (unsigned at = first; at < last; ++at) {
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        sum += s[at & 3][tid ^ 1];
        if (at + 3 < last) copy(at + 3);
    }
    out[AT(bx * 64 + tid)] = sum;
}
KERNEL(shifted_copies) {  // copies of a window that begins at any word: how they fall into lines depends on the block
    __shared__ __align__(16) unsigned s[512];
    INDICES
    size_t first = bx * (size_t)n + by;
    for (unsigned at = tid; at < 130; at += 64) {
        unsigned to = (unsigned)__cvta_generic_to_shared(s + at);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + AT(first + at)));
    }
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[AT(bx * 64 + tid)] = s[tid] + s[tid + 1] + s[tid + m];
}
KERNEL(long_indices) {  // all sizes of 64 bits, division by what is known only at run time
    __shared__ float s[256];
    INDICES
    long long i = bx * (long long)blockDim.x + tid, rows = (long long)n << 8, width = m;
    long long row = i / width, column = i % width;
    s[column & 255] = in[AT(i)];
    __syncthreads();
    if (row >= rows) return;
    out[AT(column * rows + row)] = s[(row * 2 + column) & 255];
}
KERNEL(reshaped) {  // an index taken apart into four of a tensor, each by a size that is an argument
    __shared__ float s[256];
    INDICES
    unsigned i = bx, a = i % n, b = i / n % m, c = i / n / m % 5, d = i / n / m / 5;
    s[(tid * (c + 1)) & 255] = in[AT(((a * 7 + b) * 5 + c) * 3 + d)];
    __syncthreads();
    if (a == 0) s[tid] += 1;
    if (b + 1 == m) s[tid * 2] += 1;
    out[AT(i * 64 + tid)] = s[tid * (d & 3)];
}
KERNEL(early) {  // blocks behind the end leave, each at its own length; the last has part of its warps
    __shared__ float s[128];
    INDICES
    unsigned length = n - bx % 100 * 7, first = by * 128;
    if (first >= length) return;
    unsigned left = min(128u, length - first);
    if (tid >= ((left + 31) & ~31u)) return;
    s[tid] = tid < left ? in[AT(bx * n + first + tid)] : 0;
    __syncwarp();
    for (unsigned k = 1; k < 32; k *= 2) {
        float v = (tid & 31) >= k ? s[tid - k] : 0;
        __syncwarp();
        s[tid] += v;
        __syncwarp();
    }
    if (tid < left) out[AT(bx * n + first + tid)] = s[tid];
}
KERNEL(attention) {  // causal, tiles behind the diagonal are left out, the diagonal is masked; heads share keys
    __shared__ float q[32][33], k[32][33];
    INDICES
    unsigned head = by, keys = head / 4, rows = n, lane = tid & 31, warp = tid / 32;
    for (unsigned r = warp; r < 32; r += 4) q[r][lane] = in[AT((head * rows + bx * 32 + r) * 32 + lane)];
    float sum = 0, most = -1e30f;
    unsigned begins = bx * 32 > m ? (bx * 32 - m) / 32 : 0;
    for (unsigned tile = begins; tile <= bx && tile * 32 < rows; ++tile) {
        __syncthreads();
        for (unsigned r = warp; r < 32; r += 4) k[r][lane] = in[AT((keys * rows + tile * 32 + r) * 32 + lane)];
        __syncthreads();
        for (unsigned r = warp; r < 32; r += 4) {
            if (tile == bx && lane > r) continue;
            float dot = 0;
            for (unsigned j = 0; j < 32; ++j) dot += q[r][j] * k[lane][j];
            most = fmaxf(most, dot);
            sum += expf(dot - most);
        }
    }
    out[AT((head * gridDim.x + bx) * 128 + tid)] = sum;
}
KERNEL(interleaved) {  // columns dealt out to blocks in turns, as libraries of dense matrices do
    __shared__ float s[8][32];
    INDICES
    unsigned turn = bx / n, owner = bx % n, block = turn * n + (turn & 1 ? n - 1 - owner : owner);
    unsigned from = block * m, to = from + m;
    for (unsigned at = from + tid / 32; at < to; at += 2) s[at & 7][tid & 31] = in[AT(at * 32 + tid % 32)];
    __syncthreads();
    out[AT(bx * 64 + tid)] = s[tid & 7][tid / 8] + s[block & 7][tid & 31];
}
KERNEL(bitonic) {  // a step of sorting: partners by XOR, direction by a bit of the index
    __shared__ unsigned s[128];
    INDICES
    unsigned i = bx * 128 + tid;
    s[tid] = AT(i * 2654435761u);
    for (unsigned j = 64; j; j >>= 1) {
        __syncthreads();
        unsigned other = tid ^ j;
        if (other > tid) {
            bool up = (i & n) == 0;
            unsigned a = s[tid], b = s[other];
            s[tid] = up ? min(a, b) : max(a, b);
            s[other] = up ? max(a, b) : min(a, b);
        }
    }
    __syncthreads();
    out[AT(i)] = s[tid];
}
KERNEL(rotated) {  // each block begins at another place of its tile, so that not all read the same line at once
    __shared__ float s[16][32];
    INDICES
    float sum = 0;
    for (unsigned k = 0; k < 16; k += 2) s[k + tid / 32][tid & 31] = in[AT(bx * 512 + k * 32 + tid)];
    __syncthreads();
    for (unsigned k = 0; k < 16; ++k) sum += s[(k + bx) % 16][tid & 31] * s[(k + tid) % 16][(tid + bx) & 31];
    out[AT(bx * 64 + tid)] = sum;
}
KERNEL(packed_rows) {  // rows of a triangle stored one behind the other
    __shared__ float s[256];
    INDICES
    unsigned row = by * 64 + tid, start = row * (row + 1) / 2, columns = min(row + 1, bx * 32 + 32);
    for (unsigned column = bx * 32; column < columns; ++column) s[(tid * 33 + column) & 255] = in[AT(start + column)];
    __syncthreads();
    if (bx * 32 <= row) out[AT(start + bx * 32)] = s[tid * 4];
}
KERNEL(floats_of_places) {  // sizes by floating point, as code for images computes them
    __shared__ float s[256];
    INDICES
    float scale = n / 256.0f, x = (bx + 0.5f) * scale - 0.5f;
    int left = max(0, (int)floorf(x)), right = min(left + 1, (int)m - 1);
    s[(tid + left) & 255] = in[AT(left)];
    s[(tid * 2 + right) & 255] = in[AT(right)];
    __syncthreads();
    if (left < (int)m) out[AT(bx * 64 + tid)] = s[tid * 4] * (x - left);
}
