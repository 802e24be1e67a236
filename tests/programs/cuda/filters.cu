// Filters of textures at numbers that are hard to add (zeros of both signs, denormals), and of layers with gradients.
#include <cstdio>
#include <cstring>
#include <cuda_fp16.h>
#include <vector>

typedef unsigned long long Digest;
const int W = 32, H = 32, N = 20000;

__global__ void line(float *out, cudaTextureObject_t t, const float2 *at, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = tex1D<float>(t, at[i].x);
}
__global__ void plane(float *out, cudaTextureObject_t t, const float2 *at, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}
__global__ void gradients(float4 *out, cudaTextureObject_t lines, cudaTextureObject_t planes, const float2 *at, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        float x = at[i].x, y = at[i].y;
        out[2 * i] = tex1DLayeredGrad<float4>(lines, x, i % 5, 1.5f, 0.25f);
        out[2 * i + 1] = tex2DLayeredGrad<float4>(planes, x, y, i % 5, make_float2(1, 0.5f), make_float2(0, 1));
    }
}

struct Random {
    unsigned state;
    unsigned next() { return (state = state * 1664525u + 1013904223u) >> 8; }
};

template <class T> Digest digest(const T *device, int n) {
    std::vector<T> got(n);
    cudaMemcpy(got.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
    Digest found = 1469598103934665603ull;
    for (size_t i = 0; i < n * sizeof(T); ++i) found = (found ^ ((unsigned char *)got.data())[i]) * 1099511628211ull;
    return found;
}

cudaTextureObject_t texture(cudaArray_t array, bool border, bool fraction) {
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaTextureDesc how = {};
    for (auto &mode : how.addressMode) mode = border ? cudaAddressModeBorder : cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = fraction ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    cudaTextureObject_t found;
    cudaCreateTextureObject(&found, &what, &how, 0);
    return found;
}

template <class T> T *uploaded(const std::vector<T> &host) {
    T *device;
    cudaMalloc(&device, host.size() * sizeof(T));
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

void zeros(int kind, bool border) {  // floats along a line, in a plane; halves; shorts as fractions
    const float set[] = {-0.f, 0.f, -0.f, 1.f, -1.f, 1e-40f, -1e-40f, 1.5e-38f, -1.5e-38f, -0.f, -3e-45f};
    Random random = {77u + 10 * kind + border};
    int rows = kind ? H : 1, size = kind < 2 ? 4 : 2;
    std::vector<char> held(W * rows * size);
    for (int i = 0; i < W * rows; ++i) {
        float f = set[random.next() % 11];
        __half half = __float2half(f && f < 1e-30f && f > -1e-30f ? f * (f > 1e-39f || f < -1e-39f ? 4e33f : 1e33f) : f);
        short whole = f == 1 ? 1 : f == -1 ? -1 : 0;
        memcpy(&held[i * size], kind < 2 ? (void *)&f : kind == 2 ? (void *)&half : &whole, size);
    }
    cudaChannelFormatDesc channel = kind < 2 ? cudaCreateChannelDesc<float>()
                                  : kind == 2 ? cudaCreateChannelDescHalf() : cudaCreateChannelDesc<short>();
    cudaArray_t array;
    cudaMallocArray(&array, &channel, W, kind ? H : 0);
    cudaMemcpy2DToArray(array, 0, 0, held.data(), W * size, W * size, rows, cudaMemcpyHostToDevice);
    std::vector<float2> at(N);
    for (int i = 0; i < 2 * N; ++i) {
        float f = random.next() % (33 * 4) / 4.f;
        if (random.next() % 2) f = random.next() % 33 + .5f;
        if (random.next() % 4 == 0) f += random.next() % 512 / 512.f;
        (i % 2 ? at[i / 2].y : at[i / 2].x) = f;
    }
    float *out;
    cudaMalloc(&out, N * sizeof(float));
    (kind ? plane : line)<<<1, 32>>>(out, texture(array, border, kind == 3), uploaded(at), N);
    printf("zeros %d %d %016llx\n", kind, border, digest(out, N));
}

void layers(bool border) {
    const int columns = 9, rows = 6, count = 4, n = 640;
    cudaTextureObject_t t[2];
    for (int k = 0; k < 2; ++k) {
        cudaChannelFormatDesc channel = cudaCreateChannelDesc<float4>();
        cudaArray_t array;
        cudaMalloc3DArray(&array, &channel, make_cudaExtent(columns, k ? rows : 0, count), cudaArrayLayered);
        int high = k ? rows : 1;
        std::vector<float4> held(columns * high * count);
        for (size_t i = 0; i < held.size(); ++i) held[i] = make_float4(i * 37 % 101, i * 11 % 31 + .5f, i, -float(i % 7));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(held.data(), columns * sizeof(float4), columns, high);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(columns, high, count);
        copy.kind = cudaMemcpyHostToDevice;
        cudaMemcpy3D(&copy);
        t[k] = texture(array, border, false);
    }
    Random random = {12345u + border};
    std::vector<float2> at(n);
    for (int i = 0; i < 2 * n; ++i) (i % 2 ? at[i / 2].y : at[i / 2].x) = (random.next() / 16777216.f * 3 - 1) * 6;
    float4 *out;
    cudaMalloc(&out, 2 * n * sizeof(float4));
    gradients<<<1, 32>>>(out, t[0], t[1], uploaded(at), n);
    printf("layers %d %016llx\n", border, digest(out, 2 * n));
}

int main() {
    for (int kind = 0; kind < 4; ++kind)
        for (int border = 0; border < 2; ++border) zeros(kind, border);
    for (int border = 0; border < 2; ++border) layers(border);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
