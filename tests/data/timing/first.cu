// What a launch finds in the L2: after copies, fills and other kernels. Each launch of interest prints a label; CUPTI has its time.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
__global__ void flush(float4 *a, size_t n) { float4 s = {0, 0, 0, 0}; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) { float4 v = a[i]; s.x += v.x + v.y; } if (s.x == 1.5f) a[0] = s; }
__global__ void load(const float4 *a, float4 *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float4 v = a[i]; if (v.x == 1.5f) o[0] = v; } }
__global__ void store(float4 *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = make_float4(1, 2, 3, i); }
__global__ void copy(const float4 *a, float4 *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i]; }
__global__ void add(const float *a, const float *b, float *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] + b[i]; }
__global__ void prints(int each) { for (int i = 0; i < each; i++) printf("%d\n", i); }
static float4 *A, *B, *C, *F; static char *host; const size_t BIG = 512 << 20, MOST = 128 << 20;
static void fl() { flush<<<1056, 256>>>(F, BIG / 16); cudaDeviceSynchronize(); }
static void label(const char *what, const char *state, size_t bytes) { printf("%s\t%s\t%zu\n", what, state, bytes); }
int main() {
    cudaMalloc(&A, MOST); cudaMalloc(&B, MOST); cudaMalloc(&C, MOST); cudaMalloc(&F, BIG); host = (char *)calloc(MOST, 1);
    cudaMemset(A, 0, MOST); cudaMemset(B, 0, MOST); cudaMemset(C, 0, MOST); cudaMemset(F, 0, BIG);
    size_t sizes[] = {4096, 65536, 1 << 20, 4 << 20, 8 << 20, 12 << 20, 16 << 20, 24 << 20, 32 << 20, 48 << 20, 64 << 20};
    for (int r = 0; r < 3; r++)
        for (size_t s : sizes) {
            int n = s / 16, g = (n + 255) / 256;
#define LOAD(state) label("load", state, s); load<<<g, 256>>>(A, C, n); cudaDeviceSynchronize();
#define COPY(state) label("copy", state, s); copy<<<g, 256>>>(A, B, n); cudaDeviceSynchronize();
#define STORE(state) label("store", state, s); store<<<g, 256>>>(A, n); cudaDeviceSynchronize();
            fl(); LOAD("cold"); LOAD("again");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); LOAD("copied");
            fl(); cudaMemset(A, 0, s); LOAD("filled");
            fl(); STORE("cold"); LOAD("stored"); STORE("loaded"); STORE("again");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); STORE("copied");
            fl(); cudaMemcpy(A, B, s, cudaMemcpyDeviceToDevice); LOAD("to");
            fl(); cudaMemcpy(B, A, s, cudaMemcpyDeviceToDevice); LOAD("from");
            fl(); cudaMemcpy(host, A, s, cudaMemcpyDeviceToHost); LOAD("back");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); cudaMemcpy(C, host, s, cudaMemcpyHostToDevice); LOAD("copied before");
            fl(); COPY("cold"); COPY("again");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); COPY("copied");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); cudaMemset(B, 0, s); COPY("copied and filled");
            fl(); cudaMemcpy(A, host, s, cudaMemcpyHostToDevice); cudaMemcpy(B, host, s, cudaMemcpyHostToDevice);
            label("add", "copied", s); add<<<(s / 4 + 255) / 256, 256>>>((float *)A, (float *)B, (float *)C, s / 4); cudaDeviceSynchronize();
            label("add", "again", s); add<<<(s / 4 + 255) / 256, 256>>>((float *)A, (float *)B, (float *)C, s / 4); cudaDeviceSynchronize();
        }
    for (int r = 0; r < 3; r++) {
        int t[][3] = {{1, 1, 1}, {1, 1, 8}, {1, 32, 1}, {1, 256, 1}, {4, 64, 1}, {132, 32, 1}, {1, 32, 8}, {1, 12, 1}};
        for (auto &q : t) { label("prints", "", 10000 * q[0] + 10 * q[1] + q[2]); fflush(stdout); prints<<<q[0], q[1]>>>(q[2]); cudaDeviceSynchronize(); }
    }
    for (size_t s : {(size_t)4096, (size_t)65536, (size_t)262144, (size_t)1 << 20, (size_t)4 << 20, (size_t)16 << 20, (size_t)64 << 20})
        for (int r = 0; r < 3; r++) {
            char *m; cudaMallocManaged(&m, s); for (size_t i = 0; i < s; i += 4) *(int *)(m + i) = i;
            int n = s / 16; label("load", "managed", s); load<<<(n + 255) / 256, 256>>>((float4 *)m, C, n); cudaDeviceSynchronize();
            label("load", "managed again", s); load<<<(n + 255) / 256, 256>>>((float4 *)m, C, n); cudaDeviceSynchronize();
            for (size_t i = 0; i < s; i += 4096) *(volatile int *)(m + i);
            label("load", "managed read by host", s); load<<<(n + 255) / 256, 256>>>((float4 *)m, C, n); cudaDeviceSynchronize();
            cudaFree(m); cudaMallocManaged(&m, s);
            label("store", "managed new", s); store<<<(n + 255) / 256, 256>>>((float4 *)m, n); cudaDeviceSynchronize();
            cudaFree(m);
            cudaMallocHost(&m, s); label("load", "pinned", s); load<<<(n + 255) / 256, 256>>>((float4 *)m, C, n); cudaDeviceSynchronize();
            label("store", "pinned", s); store<<<(n + 255) / 256, 256>>>((float4 *)m, n); cudaDeviceSynchronize(); cudaFreeHost(m);
        }
    printf("end %s\n", cudaGetErrorString(cudaGetLastError()));
}
