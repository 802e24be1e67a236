// How late lines come from DRAM, by how much is asked for at a time, by whom, where it lies, and what is stored besides; stores of parts of lines.
#include <cstdint>
#define G extern "C" __global__ void __launch_bounds__(1024)
typedef uint32_t u;
__device__ __forceinline__ u now() { u t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ u mixed(u x) { x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; return x ^ x >> 16; }
// Rounds of U loads of a line each. Line n of the launch lies: 0: in order, 1: in an area of its block, 2: at a random place; 3: each of its sectors, 4: each
// half, 5: each word does; the first `active` blocks load; a round begins `period` cycles after that before (0: at once); `stores` lines are stored in each.
// With `at_once`, all blocks begin at the next tick of so many nanoseconds. took: cycles until the first load has come, all have; of the block; the tick.
template <int U> __device__ __forceinline__ void ask(u* data, u* took, u* out, u rounds, u how, u lines, u active, u period, u stores, u at_once) {
    __shared__ u s[2][1024];
    u warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32, tick = 0;
    if (at_once) {
        unsigned long long g; asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(g) :: "memory");
        tick = (u)(g / at_once) + 1;
        do { asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(g) :: "memory"); } while ((u)(g / at_once) < tick);
    } else { u begun = now(); while (now() - begun < 2000) {} }
    __syncthreads();
    u begun = now(), next = begun + (period ? mixed(warp * 77 + blockIdx.x * 1031) % period : 0), most = lines - 1;
    u part = how == 3 ? 2 : how == 4 ? 1 : how == 5 ? 5 : 0, share = lane >> 5 - part, inside = lane & (32 >> part) - 1;
    u n = how == 1 ? (blockIdx.x * rounds * warps + warp) * U : (blockIdx.x * warps + warp) * U, step = (how == 1 ? 1 : active) * warps * U;
    if (blockIdx.x < active)
        #pragma unroll 1
        for (u r = 0; r < rounds; ++r) {
            u v[U], first, all; const u* line[U];
            #pragma unroll
            for (int i = 0; i < U; ++i) {
                u place = how >= 2 ? mixed(((n + i) << part) + share + 12345) & (lines << part) - 1 : n + i & most;
                line[i] = data + ((place << 5 - part) + inside);
                asm volatile("" : "+l"(line[i]));
            }
            if (period) while ((int)(now() - next) < 0) {}
            u t = now();
            #pragma unroll
            for (int i = 0; i < U; ++i) asm volatile("ld.global.u32 %0,[%1];" : "=r"(v[i]) : "l"(line[i]) : "memory");
            u z; asm volatile("and.b32 %0,%1,4096;" : "=r"(z) : "r"(v[0]));
            first = now();
            #pragma unroll
            for (int i = 1; i < U; ++i) asm volatile("lop3.b32 %0,%1,%0,4096,0xEA;" : "+r"(z) : "r"(v[i]));
            all = now();
            if (z == 12345) took[1] = 1;
            for (u i = 0; i < stores; ++i) out[((n & most) * stores / U + i) * 32 + lane] = z;
            if (lane == 0) s[0][r * warps + warp] = first - t, s[1][r * warps + warp] = all - t;
            next += period, n += step;
        }
    __syncthreads();
    u end = now(), count = rounds * warps, *mine = took + blockIdx.x * (2 * count + 2);
    for (u i = threadIdx.x; i < count; i += blockDim.x) mine[i] = s[0][i], mine[count + i] = s[1][i];
    if (threadIdx.x == 0) mine[2 * count] = end - begun, mine[2 * count + 1] = tick;
}
#define A(U) G ask_##U(u* d, u* t, u* o, u r, u h, u l, u a, u p, u s, u y) { ask<U>(d, t, o, r, h, l, a, p, s, y); }
A(2) A(4) A(8)
// Stores of W words each, one a thread: the first n of `parts` places of `apart` words in an order by chance (0: in order), `off` or any words into them.
template <int W> __device__ __forceinline__ void part(u* out, u n, u parts, u apart, u off, u chance, u any) {
    u i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    u k = chance ? mixed(i * chance) : 0, at = chance ? i * 0x9E3779B1u : i;
    at &= parts - 1;  // an odd factor: each place once
    if (chance) { at = (at ^ at >> 9) & parts - 1; at = at * 0x85EBCA6Bu & parts - 1; at = (at ^ at >> 7) & parts - 1; }
    u* p = out + (size_t)at * apart + off + (any ? (k & any) * W : 0);
    if (W == 1) asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(i) : "memory");
    if (W == 4) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" :: "l"(p), "r"(i) : "memory");
}
#define S(W) G part_##W(u* o, u n, u m, u a, u f, u c, u y) { part<W>(o, n, m, a, f, c, y); }
S(1) S(4)
// The same by groups of L lanes, each of which stores W words side by side; 8: the first of each sector.
template <int L, int W> __device__ __forceinline__ void group(u* out, u n, u parts, u apart) {
    u i = blockIdx.x * blockDim.x + threadIdx.x, g = i / L; if (g >= n) return;
    u at = g * 0x9E3779B1u & parts - 1; at = (at ^ at >> 9) & parts - 1; at = at * 0x85EBCA6Bu & parts - 1; at = (at ^ at >> 7) & parts - 1;
    u* p = out + (size_t)at * apart + i % L * W;
    if (W == 1) asm volatile("st.global.u32 [%0],%1;" :: "l"(p), "r"(i) : "memory");
    if (W == 4) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" :: "l"(p), "r"(i) : "memory");
    if (W == 8) asm volatile("st.global.u32 [%0],%1;" :: "l"(out + (size_t)at * apart + i % L * 8), "r"(i) : "memory");
}
#define R(L, W) G group_##L##_##W(u* o, u n, u m, u a) { group<L, W>(o, n, m, a); }
R(2, 4) R(8, 1) R(8, 4) R(4, 8)
// Reads, and fills, n lines.
G reads(const uint4* in, u n) { u i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { uint4 v = in[i]; if (v.x == 12345) ((u*)in)[0] = v.y; } }
G fills(uint4* out, u n) { u i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = {i & 1, 0, 0, 0}; }
G waits(u cycles) { u begun = now(); while (now() - begun < cycles) {} }
// An element a thread; loops of few blocks.
G read4(const uint4* in, uint4* out, u n) { u i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { uint4 v = in[i]; if (v.x == 12345) out[0] = v; } }
G fill4(const uint4* in, uint4* out, u n) { u i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = {1, 2, 3, i}; }
G copy4(const uint4* in, uint4* out, u n) { u i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i]; }
G copies(const uint4* in, uint4* out, u n) { for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i]; }
G sums(const uint4* in, uint4* out, u n) { u s = 0; for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i].x; if (s == 12345) out[0] = {s, s, s, s}; }
