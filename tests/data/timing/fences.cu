// Micro-kernels: some warps issue 64 requests to shared memory in a row, others fences (or stores of one word to global
// memory) meanwhile. Built without -DHOST for the machine code alone; the program runs every case and prints clocks.
#include <cstdint>
constexpr int PASSES = 3, READINGS = 10;
#define WARPS 16
extern __shared__ __align__(128) unsigned char smem[];
__device__ __forceinline__ uint32_t now() { uint64_t t; asm volatile("mov.u64 %0,%%clock64;" : "=l"(t) :: "memory"); return (uint32_t)t; }
enum { LOAD, STORE };
template <int OP, int W> __device__ __forceinline__ uint32_t access(uint32_t a, uint32_t v) {
    uint32_t r = 0, s = 0, t = 0, u = 0;
    if (OP == LOAD) asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(r) : "r"(a) : "memory");
    if (OP == STORE && W == 4) asm volatile("st.volatile.shared.u32 [%1],%0;" :: "r"(v), "r"(a) : "memory");
    if (OP == STORE && W == 16) { s = v + 1, t = v + 2, u = v + 3; asm volatile("st.volatile.shared.v4.u32 [%1],{%0,%2,%3,%4};" :: "r"(v), "r"(a), "r"(s), "r"(t), "r"(u) : "memory"); r = s = t = u = 0; }
    return r ^ s ^ t ^ u;
}
// stream, fences: bit w = warp w issues requests, or fences; stride: bytes between lanes; count: of fences; kind 0: fences,
// 1: stores. time (warp, pass, 10): the begin, the clock behind each fence, or at the end of the requests last.
template <int OP, int W> __device__ __forceinline__ void body(uint32_t stream, uint32_t fences, uint32_t stride, uint32_t count, uint32_t kind, uint32_t *time, uint32_t *far) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, r = 0, read[READINGS];
    uint32_t a = (uint32_t)__cvta_generic_to_shared(smem) + lane * stride;
    #pragma unroll 1
    for (int p = 0; p < PASSES; ++p) {
        uint32_t s = now(); while (now() - s < 3000);
        uint32_t x = __syncthreads_count(r != 0x12345); if (x == 0x777) far[0] = x;
        #pragma unroll
        for (int k = 0; k < READINGS; ++k) read[k] = 0;
        read[0] = now();
        if (stream >> warp & 1) {
            #pragma unroll 1
            for (int k = 0; k < 4; ++k) {
                #pragma unroll
                for (int u = 0; u < 16; ++u) r ^= access<OP, W>(a, lane);
            }
            if (r == 0x12345) far[0] = r;
            read[9] = now();
        } else if (fences >> warp & 1) {
            if (kind == 0) {
                #pragma unroll
                for (int k = 1; k < 9; ++k) { if (k <= count) { __threadfence_block(); read[k] = now(); } }
            } else {
                #pragma unroll
                for (int k = 1; k < 9; ++k) { if (k <= count) { if (lane == 0) asm volatile("st.global.u32 [%0],%1;" :: "l"(far + 64 + warp * 512 + k * 32), "r"(k) : "memory"); read[k] = now(); } }
            }
        }
        __syncthreads();
        if (lane == 0) for (int k = 0; k < READINGS; ++k) time[(warp * PASSES + p) * READINGS + k] = read[k];
    }
}
#define K(name, OP, W) extern "C" __global__ void name(uint32_t stream, uint32_t fences, uint32_t stride, uint32_t count, uint32_t kind, uint32_t *time, uint32_t *far) { body<OP, W>(stream, fences, stride, count, kind, time, far); }
K(loads_4, LOAD, 4) K(stores_4, STORE, 4) K(stores_16, STORE, 16)
#ifdef HOST
#include <cstdio>
#include <cuda_runtime.h>
int main() {
    uint32_t *time, *far, *host = new uint32_t[WARPS * PASSES * READINGS];
    cudaMalloc(&time, WARPS * PASSES * READINGS * 4); cudaMalloc(&far, 1 << 20);
    void (*kernels[])(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t *, uint32_t *) = {loads_4, stores_4, stores_16};
    const uint32_t streams[] = {0x2, 0x6, 0xe, 0xf, 0xff}, fences[] = {0x100, 0x200, 0x1100, 0xf00}, strides[] = {4, 8, 16, 32, 128}, counts[] = {0, 1, 2, 4, 8};
    for (int k = 0; k < 3; ++k) {
        cudaFuncSetAttribute((const void *)kernels[k], cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
        for (uint32_t s : streams) for (uint32_t f : fences) for (uint32_t d : strides) for (uint32_t c : counts) for (uint32_t kind = 0; kind < 2; ++kind) {
            if (k == 2 && d < 16) continue;
            if (c == 0 && (kind || f != 0x100)) continue;
            cudaMemset(time, 0, WARPS * PASSES * READINGS * 4);
            kernels[k]<<<1, 32 * WARPS, 64 << 10>>>(s, f, d, c, kind, time, far);
            cudaError_t e = cudaDeviceSynchronize(); if (e) { printf("error %s\n", cudaGetErrorString(e)); return 1; }
            cudaMemcpy(host, time, WARPS * PASSES * READINGS * 4, cudaMemcpyDeviceToHost);
            uint32_t first = ~0u; for (int w = 0; w < WARPS; ++w) { uint32_t b = host[(w * PASSES + 2) * READINGS]; if (w == 0 || (int32_t)(b - first) < 0) first = b; }
            printf("%d %x %x %u %u %u", k, s, f, d, c, kind);
            for (int w = 0; w < WARPS; ++w) { if (!((s | f) >> w & 1)) continue; for (int r = 0; r < READINGS; ++r) { uint32_t v = host[(w * PASSES + 2) * READINGS + r]; if (r == 0 || v) printf(" %d:%d=%d", w, r, (int32_t)(v - first)); } }
            printf("\n");
        }
    }
}
#endif
