// What a launch takes besides when its code, or the memory that it accesses, is new to the GPU. A process for each kernel and size.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
template <int> __global__ void none(float *a, float *b, float *c, float *d, float *o, int n) {}
template <int> __global__ void fill(float *a, float *b, float *c, float *d, float *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = i; }
template <int> __global__ void copy(float *a, float *b, float *c, float *d, float *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i]; }
template <int> __global__ void add(float *a, float *b, float *c, float *d, float *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] + b[i]; }
template <int> __global__ void four(float *a, float *b, float *c, float *d, float *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] + b[i] + c[i] + d[i]; }
static char *host; const int BIG = 4 << 20;
static void arrays(float **p, int size, int n, bool given) {
    for (int k = 0; k < 5; k++) cudaMalloc(&p[k], size);
    for (int k = 0; given && k < 4; k++) cudaMemcpy(p[k], host, n * 4, cudaMemcpyHostToDevice);
}
#define RUN(k, L, p) k<L><<<g, n < 256 ? n : 256>>>(p[0], p[1], p[2], p[3], p[4], n); cudaDeviceSynchronize();
#define ALL(k) { RUN(k, 0, p) RUN(k, 1, p) RUN(k, 1, p) RUN(k, 1, p) \
    arrays(q, BIG, n, true); RUN(k, 2, q) RUN(k, 3, q) \
    arrays(r, BIG, n, true); RUN(k, 3, r) RUN(k, 3, r) \
    arrays(s, BIG, n, true); cudaMemset(s[4], 0, n * 4); RUN(k, 3, s) RUN(k, 3, s) \
    for (int i = 0; i < 4; i++) cudaMemcpy(s[i], host, n * 4, cudaMemcpyHostToDevice); RUN(k, 3, s) \
    RUN(k, 4, p) RUN(k, 4, p) cudaMemcpy(host, s[4], n * 4, cudaMemcpyDeviceToHost); RUN(k, 4, p) RUN(k, 4, s) }
int main(int, char **v) {
    int n = atoi(v[2]), g = (n + 255) / 256; host = (char *)calloc(BIG, 1); float *p[5], *q[5], *r[5], *s[5];
    arrays(p, n * 4, n, true);
    switch (v[1][0]) { case 'n': ALL(none) break; case 'f': ALL(fill) break; case 'c': ALL(copy) break; case 'a': ALL(add) break; case 'q': ALL(four) }
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
