// What texCubemap and texCubemapLayered give, by point and by linear filter, seamless or not, and which arrays of cube
// maps can be made. `nvcc cube_maps.cu -o cube_maps && ./cube_maps FILE` on a machine with the GPU, then cube_maps.py.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cmath>
__global__ void read(cudaTextureObject_t t, const float3* p, const int* l, float* out, int n, bool layered) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) out[k] = layered ? texCubemapLayered<float>(t, p[k].x, p[k].y, p[k].z, l[k])
                                : texCubemap<float>(t, p[k].x, p[k].y, p[k].z);
}
#define OK(x) do { cudaError_t status_ = (x); if (status_) { printf("%s: %s\n", #x, cudaGetErrorString(status_)); exit(1); } } while (0)
static unsigned seed = 1;
static unsigned next() { return seed = seed * 1664525u + 1013904223u; }
static float uniform() { return (next() >> 8) / 8388608.0f - 1; }
int main(int, char** argv) {
    const int N = 20000, CUBES = 2;
    std::vector<float3> p(N); std::vector<int> l(N);
    for (int k = 0; k < N; k++) {
        p[k] = make_float3(uniform(), uniform(), uniform());
        float* q = &p[k].x;
        if (k % 8 == 1) { int a = next() >> 30, b = (a + 1 + (next() >> 31)) % 3; a %= 3; q[b] = q[a] * ((next() >> 31) ? 1 : -1); } // ties
        if (k % 8 == 2) for (int n = 0; n < 3; n++) q[n] = (int)(next() >> 29) - 3;          // few whole numbers, zeros
        if (k % 8 == 3) { int a = (next() >> 16) % 3; q[a] = (next() >> 31) ? 1 : -1; for (int n = 0; n < 3; n++) if (n != a) q[n] = ((int)(next() >> 27) - 16) / 16.0f; }
        if (k % 8 == 4) q[(next() >> 16) % 3] *= 1000;
        l[k] = (int)(next() >> 29) - 2;
    }
    if (N > 16) { p[0] = make_float3(0, 0, 0); p[8] = make_float3(NAN, 1, 0); p[16] = make_float3(INFINITY, 1, 0); }
    float3* dp; int* dl; float* out;
    OK(cudaMalloc(&dp, N * sizeof(float3))); OK(cudaMalloc(&dl, N * 4)); OK(cudaMalloc(&out, N * 4));
    OK(cudaMemcpy(dp, p.data(), N * sizeof(float3), cudaMemcpyHostToDevice)); OK(cudaMemcpy(dl, l.data(), N * 4, cudaMemcpyHostToDevice));
    FILE* f = fopen(argv[1], "wb");
    fwrite(p.data(), sizeof(float3), N, f); fwrite(l.data(), 4, N, f);
    for (int side : {4, 5}) for (int layered = 0; layered < 2; layered++) {
        int faces = layered ? 6 * CUBES : 6;
        std::vector<float> texels(side * side * faces);
        for (size_t n = 0; n < texels.size(); n++) texels[n] = (float)((n * 2654435761u) >> 20 & 0xfff);
        cudaArray_t a; cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
        OK(cudaMalloc3DArray(&a, &c, make_cudaExtent(side, side, faces), cudaArrayCubemap | (layered ? cudaArrayLayered : 0)));
        cudaMemcpy3DParms m = {}; m.srcPtr = make_cudaPitchedPtr(texels.data(), side * 4, side, side); m.dstArray = a;
        m.extent = make_cudaExtent(side, side, faces); m.kind = cudaMemcpyHostToDevice; OK(cudaMemcpy3D(&m));
        cudaExtent e; unsigned flags; OK(cudaArrayGetInfo(&c, &e, &flags, a)); printf("%d %d: extent %zu %zu %zu flags %u\n", side, layered, e.width, e.height, e.depth, flags);
        for (int linear = 0; linear < 2; linear++) for (int mode : {0, 1, 3}) for (int seamless = 0; seamless < 2; seamless++) {
            cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = a;
            cudaTextureDesc t = {}; for (auto& way : t.addressMode) way = (cudaTextureAddressMode)mode;
            t.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint; t.readMode = cudaReadModeElementType;
            t.normalizedCoords = 1; t.seamlessCubemap = seamless;
            cudaTextureObject_t object; OK(cudaCreateTextureObject(&object, &r, &t, NULL));
            read<<<(N + 255) / 256, 256>>>(object, dp, dl, out, N, layered);
            std::vector<float> got(N); OK(cudaMemcpy(got.data(), out, N * 4, cudaMemcpyDeviceToHost));
            int head[5] = {side, layered, linear, mode, seamless}; fwrite(head, 4, 5, f); fwrite(got.data(), 4, N, f);
            OK(cudaDestroyTextureObject(object));
        }
        // not normalized: is it refused?
        cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = a; cudaTextureDesc t = {}; t.filterMode = cudaFilterModePoint;
        cudaTextureObject_t object; cudaError_t got = cudaCreateTextureObject(&object, &r, &t, NULL); printf("not normalized: %s\n", cudaGetErrorName(got));
    }
    fclose(f);
    cudaArray_t a; cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
    printf("5 faces: %s\n", cudaGetErrorName(cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 5), cudaArrayCubemap)));
    printf("4 x 8: %s\n", cudaGetErrorName(cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 8, 6), cudaArrayCubemap)));
    printf("8 faces, layered: %s\n", cudaGetErrorName(cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 8), cudaArrayCubemap | cudaArrayLayered)));
    printf("12 faces, not layered: %s\n", cudaGetErrorName(cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 12), cudaArrayCubemap)));
    printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
}
