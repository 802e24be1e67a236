// Streams through the L2 and DRAM, as programs have them: kernels of one element a thread, and loops, that read, fill, scale, copy and add arrays
// of 4 to 256 MB, behind reads or stores of other memory, copies from the host, fills, and kernels that stored to the same arrays.
// Give "times", "traffic" (a profiler tells of the kernels *_0 and *_1, in order, and the log of what they are), "at_once" (by events)
// or "late" (cycles of loads on one multiprocessor), and a file for the log.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#define G extern "C" __global__ void
#define N blockIdx.x * blockDim.x + threadIdx.x
__device__ __forceinline__ bool odd(float x) { return x == 1.5f; }
__device__ __forceinline__ bool odd(float2 x) { return x.x == 1.5f; }
__device__ __forceinline__ bool odd(float4 x) { return x.x == 1.5f; }
__device__ __forceinline__ float plus(float x, float y) { return x + y; }
__device__ __forceinline__ float2 plus(float2 x, float2 y) { return make_float2(x.x + y.x, x.y + y.y); }
__device__ __forceinline__ float4 plus(float4 x, float4 y) { return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }
template <class T> __device__ __forceinline__ T one(int i) { T x{}; x.x = i; return x; }
template <> __device__ __forceinline__ float one<float>(int i) { return i; }
#define ARRAYS(T) T *a, T *b, T *o, T *c, T *d, T *e, T *f, T *g, T *h
#define KERNELS(name, T, bytes, ...) G name##_##bytes##_0(ARRAYS(T), int n) { int i = N; if (i < n) { __VA_ARGS__ } } \
    G name##_##bytes##_1(ARRAYS(T), int n) { for (int i = N; i < n; i += gridDim.x * blockDim.x) { __VA_ARGS__ } }
#define BOTH(name, ...) KERNELS(name, float, 4, typedef float T; __VA_ARGS__) KERNELS(name, float4, 16, typedef float4 T; __VA_ARGS__)
#ifdef KERNELS_ALONE
#define TYPES BOTH
#else
#define TYPES(name, ...) BOTH(name, __VA_ARGS__) KERNELS(name, float2, 8, typedef float2 T; __VA_ARGS__)
#endif
TYPES(read1, T x = a[i]; if (odd(x)) o[0] = x;)
TYPES(read2, T x = plus(a[i], b[i]); if (odd(x)) o[0] = x;)
TYPES(fill, o[i] = one<T>(i);)
TYPES(scale, a[i] = plus(a[i], one<T>(1));)
TYPES(copy, o[i] = a[i];)
TYPES(add, o[i] = plus(a[i], b[i]);)
TYPES(axpy, b[i] = plus(a[i], b[i]);)
TYPES(soa, o[i] = plus(a[i], b[i]); c[i] = plus(d[i], e[i]); f[i] = plus(g[i], h[i]);)
#ifndef KERNELS_ALONE
#define CHECK(x) do { cudaError_t e_ = (x); if (e_) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e_), __LINE__); exit(1); } } while (0)
G flush_read(const float4 *a, float4 *o, long n) { for (long i = N; i < n; i += gridDim.x * blockDim.x) { float4 v = a[i]; if (odd(v)) o[0] = v; } }
G flush_write(float4 *o, long n) { for (long i = N; i < n; i += gridDim.x * blockDim.x) o[i] = make_float4(0, 0, 0, 0); }
G store_before(float4 *o, long n) { long i = N; if (i < n) o[i] = make_float4(0, 0, 0, i); }
enum { READ1, READ2, FILL, SCALE, COPY, ADD, AXPY, SOA, KINDS };
const char *names[] = {"read1", "read2", "fill", "scale", "copy", "add", "axpy", "soa"};
__device__ unsigned count, seen[1 << 19];
template <class T, int K> __global__ void late(ARRAYS(T), int n) {  // o, c …: as above
    int i = N; unsigned sm, t0 = clock(), t1; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    T x = K == READ2 || K == ADD ? plus(a[i], b[i]) : a[i]; if (odd(x)) __trap();
    t1 = clock(); if (K == COPY || K == ADD) o[i] = x; if (K == SCALE) a[i] = x;
    if (sm == 40 && (threadIdx.x & 31) == 0) { unsigned k = atomicAdd(&count, 1) & 0x3ffff; seen[2 * k] = blockIdx.x; seen[2 * k + 1] = t1 - t0; }
}
char *q[9], *host; float4 *other; const long MOST = 256L << 20, OTHER = 160L << 20; FILE *told;
template <class T> struct By { typedef void (*Kernel)(ARRAYS(T), int); };
template <class T> void start(typename By<T>::Kernel k, long bytes, int blocks, int threads) {
    int n = bytes / sizeof(T); T *p[9]; for (int j = 0; j < 9; j++) p[j] = (T *)q[j];
    k<<<blocks ? blocks : (n + threads - 1) / threads, threads>>>(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], n); CHECK(cudaGetLastError());
}
template <class T> typename By<T>::Kernel late_of(int k) { return k == READ1 ? late<T, READ1> : k == READ2 ? late<T, READ2> : k == SCALE ? late<T, SCALE> : k == COPY ? late<T, COPY> : late<T, ADD>; }
#define ROW(bytes, loop) {read1_##bytes##_##loop, read2_##bytes##_##loop, fill_##bytes##_##loop, scale_##bytes##_##loop, copy_##bytes##_##loop, add_##bytes##_##loop, axpy_##bytes##_##loop, soa_##bytes##_##loop}
By<float>::Kernel of4[2][KINDS] = {ROW(4, 0), ROW(4, 1)}; By<float2>::Kernel of8[2][KINDS] = {ROW(8, 0), ROW(8, 1)}; By<float4>::Kernel of16[2][KINDS] = {ROW(16, 0), ROW(16, 1)};
void launch(int t, int k, int loop, long bytes, bool timed = false) {
    int blocks = loop ? 1056 : 0, threads = 256;
    if (t == 4) start<float>(timed ? late_of<float>(k) : of4[loop][k], bytes, blocks, threads);
    if (t == 8) start<float2>(timed ? late_of<float2>(k) : of8[loop][k], bytes, blocks, threads);
    if (t == 16) start<float4>(timed ? late_of<float4>(k) : of16[loop][k], bytes, blocks, threads);
}
std::vector<int> reads(int k) { return k == FILL ? std::vector<int>{} : k == READ1 || k == SCALE || k == COPY ? std::vector<int>{0} : k == SOA ? std::vector<int>{0, 1, 4, 5, 7, 8} : std::vector<int>{0, 1}; }
std::vector<int> writes(int k) { return k == READ1 || k == READ2 ? std::vector<int>{} : k == SCALE ? std::vector<int>{0} : k == AXPY ? std::vector<int>{1} : k == SOA ? std::vector<int>{2, 3, 6} : std::vector<int>{2}; }
void prepare(char state, int t, int k, int loop, long bytes) { // C: behind reads of others, D: stores to others, H: copies of what it reads, M: fills of what it stores and H, W: stores to what it reads, S: itself
    if (state == 'D') flush_write<<<1056, 256>>>(other, OTHER / 16); else flush_read<<<1056, 256>>>(other, other, OTHER / 16);
    if (state == 'M') for (int w : writes(k)) CHECK(cudaMemset(q[w], 0, bytes));
    CHECK(cudaDeviceSynchronize());
    if (state == 'H' || state == 'M') for (int r : reads(k)) CHECK(cudaMemcpy(q[r], host, bytes, cudaMemcpyHostToDevice));
    if (state == 'W') for (int r : reads(k)) store_before<<<(bytes / 16 + 255) / 256, 256>>>((float4 *)q[r], bytes / 16);
    if (state == 'S') for (int j = 0; j < 2; j++) { launch(t, k, loop, bytes); fprintf(told, "-\n"); }
    CHECK(cudaDeviceSynchronize());
}
void cases(const char *states, int t, int k, int loop, double mb, int times) {
    long bytes = long(mb * (1 << 20));
    for (const char *s = states; *s; s++) {
        if (*s == 'M' && (writes(k).empty() || k == SCALE || k == AXPY)) continue;
        if ((*s == 'H' || *s == 'W') && k == FILL) continue;
        for (int r = 0; r < times; r++) {
            if (*s != 'S' || !r) prepare(*s, t, k, loop, bytes);
            launch(t, k, loop, bytes); CHECK(cudaDeviceSynchronize()); fprintf(told, "%c %d %s %d %g\n", *s, t, names[k], loop, mb);
        }
    }
}
int main(int, char **given) {
    std::string mode = given[1]; told = fopen(given[2], "w");
    for (auto &p : q) { CHECK(cudaMalloc(&p, MOST)); CHECK(cudaMemset(p, 0, MOST)); }
    CHECK(cudaMalloc(&other, OTHER)); CHECK(cudaMemset(other, 0, OTHER)); CHECK(cudaMallocHost(&host, MOST)); memset(host, 0, MOST);
    const double sizes[] = {4, 8, 16, 22, 32, 45, 64, 128, 256};
    if (mode == "times") for (int t : {4, 8, 16}) for (int k = 0; k < KINDS; k++) for (double mb : sizes) {
        if (k == SOA && mb > 64) continue;
        cases(mb <= 64 ? "CDSWHM" : "CDSW", t, k, 0, mb, 7);
        if (t != 8) cases("CDS", t, k, 1, mb, 7);
    }
    if (mode == "traffic") for (int t : {4, 16}) for (int k : {(int)READ1, (int)FILL, (int)SCALE, (int)COPY, (int)ADD, (int)AXPY}) for (double mb : sizes) if (mb > 4 && mb < 256 && (t == 16 || mb == 16 || mb == 64)) cases(mb < 128 ? "CDSWM" : "CDSW", t, k, 0, mb, 1);
    if (mode == "at_once") for (int t : {4, 16}) for (int loop : {0, 1}) for (int k = 0; k < KINDS; k++) for (double mb : sizes) {
        if (mb < 16 || (k == SOA && mb > 64)) continue;
        cudaEvent_t e[2]; for (auto &x : e) cudaEventCreate(&x);
        std::vector<float> took; long bytes = long(mb * (1 << 20));
        for (int r = 0; r < 5; r++) {
            for (int j = 0; j < 2; j++) launch(t, k, loop, bytes);
            cudaEventRecord(e[0]); for (int j = 0; j < 8; j++) launch(t, k, loop, bytes); cudaEventRecord(e[1]); CHECK(cudaDeviceSynchronize());
            float ms; cudaEventElapsedTime(&ms, e[0], e[1]); took.push_back(ms * 1000 / 8);
        }
        std::sort(took.begin(), took.end()); fprintf(told, "%d %s %d %g %.3f\n", t, names[k], loop, mb, took[2]);
    }
    if (mode == "late") for (int t : {4, 8, 16}) for (int k : {(int)READ1, (int)READ2, (int)SCALE, (int)COPY, (int)ADD}) for (char s : {'C', 'D', 'S'}) {
        static unsigned h[1 << 19]; unsigned n = 0; prepare(s, t, k, 0, 64 << 20); CHECK(cudaMemcpyToSymbol(count, &n, 4)); launch(t, k, 0, 64 << 20, true); CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpyFromSymbol(&n, count, 4)); CHECK(cudaMemcpyFromSymbol(h, seen, 8 * n));
        std::vector<unsigned> each, most(1 << 18); for (unsigned j = 0; j < n; j++) { each.push_back(h[2 * j + 1]); most[h[2 * j]] = std::max(most[h[2 * j]], h[2 * j + 1]); }
        std::sort(each.begin(), each.end()); double sum = 0, latest = 0; int blocks = 0; for (unsigned x : each) sum += x; for (unsigned x : most) if (x) { latest += x; blocks++; }
        fprintf(told, "%c %d %s %.0f %u %u %u %.0f\n", s, t, names[k], sum / n, each[n / 10], each[n / 2], each[n * 9 / 10], latest / blocks);
    }
    fclose(told);
}
#endif
