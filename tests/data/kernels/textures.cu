// Every way to read a texture or surface, each by the coordinates of its thread.
#include <cuda_runtime.h>
typedef cudaTextureObject_t Texture;
typedef cudaSurfaceObject_t Surface;
#define KERNEL extern "C" __global__ void
#define AT(n) at[32 * n + threadIdx.x]

template <class T> __device__ void fetch_all(T *out, const Texture *t, const float *at) {
    T *own = out + threadIdx.x;
    own[0] = tex1D<T>(t[0], AT(0));
    own[32] = tex2D<T>(t[1], AT(0), AT(1));
    own[64] = tex3D<T>(t[2], AT(0), AT(1), AT(2));
    own[96] = tex1DLayered<T>(t[3], AT(0), threadIdx.x % 5);
    own[128] = tex2DLayered<T>(t[4], AT(0), AT(1), threadIdx.x % 5);
    own[160] = tex2DLod<T>(t[1], AT(1), AT(0), 0);
    own[192] = tex2DGrad<T>(t[1], AT(1), AT(2), make_float2(1, 0), make_float2(0, 1));
}
KERNEL floats(float4 *out, const Texture *t, const float *at) { fetch_all(out, t, at); }
KERNEL integers(int4 *out, const Texture *t, const float *at) { fetch_all(out, t, at); }
// A kernel whose object is a parameter, one component, three of four, and a different object in each thread.
KERNEL bound(float *out, Texture t, const Texture *other, const float *at) {
    out[threadIdx.x] = tex2D<float>(t, AT(0), AT(1));
    float4 v = tex2D<float4>(t, AT(1), AT(0));
    out[threadIdx.x + 32] = v.x + v.y + v.w;
    out[threadIdx.x + 64] = tex2D<float>(other[threadIdx.x % 2], AT(0), AT(1));
    out[threadIdx.x + 96] = tex3D<float>(other[2], AT(0), AT(1), AT(2));
    out[threadIdx.x + 128] = tex3D<float>(other[threadIdx.x % 2 + 2], AT(0), AT(1), AT(2));
    out[threadIdx.x + 160] = tex2DLod<float>(t, AT(0), AT(1), AT(2));
    out[threadIdx.x + 192] = tex2DLayered<float>(other[threadIdx.x % 2 + 4], AT(0), AT(1), 1);
}
// Directions in which a cube map is seen, of one cube or of those of a layer.
KERNEL cubes(float *out, Texture t, const float *at, const int *layer, int count, int layered) {
    for (int n = threadIdx.x; n < count; n += 32) {
        const float *p = at + 3 * n;
        out[n] = layered ? texCubemapLayered<float>(t, p[0], p[1], p[2], layer[n]) : texCubemap<float>(t, p[0], p[1], p[2]);
    }
}
KERNEL gradients(float4 *out, const Texture *t, const float *at) {
    int layer = threadIdx.x % 5;
    out[threadIdx.x] = tex1DLayered<float4>(t[0], AT(0), layer);
    out[threadIdx.x + 32] = tex1DLayeredGrad<float4>(t[0], AT(0), layer, 1, 2);
    out[threadIdx.x + 64] = tex2DLayered<float4>(t[1], AT(0), AT(1), layer);
    out[threadIdx.x + 96] = tex2DLayeredGrad<float4>(t[1], AT(0), AT(1), layer, make_float2(1, 0), make_float2(0, 1));
}
KERNEL elements(float4 *out, Texture t, const int *at) { out[threadIdx.x] = tex1Dfetch<float4>(t, AT(0)); }
KERNEL gathered(float4 *out, Texture t, const Texture *other, const float *at) {
    out[threadIdx.x] = tex2Dgather<float4>(t, AT(0), AT(1), 0);
    out[threadIdx.x + 32] = tex2Dgather<float4>(t, AT(0), AT(1), 2);
    out[threadIdx.x + 64] = tex2Dgather<float4>(other[threadIdx.x % 2], AT(0), AT(1), 3);
}
KERNEL sizes(int *out, Texture t) {
    int w, h, d;
    asm("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(t));
    asm("txq.height.b32 %0, [%1];" : "=r"(h) : "l"(t));
    asm("txq.depth.b32 %0, [%1];" : "=r"(d) : "l"(t));
    out[0] = w; out[1] = h; out[2] = d;
}
template <class T, cudaSurfaceBoundaryMode mode> __device__ void move(Surface s, Surface to, int dx, int dy) {
    int x = threadIdx.x % 8, y = threadIdx.x / 8, size = sizeof(T);
    surf2Dwrite(surf2Dread<T>(s, (x + dx) * size, y + dy, mode), to, x * size, y);
    surf2Dwrite(T(), to, (x + 8) * size, y, cudaBoundaryModeZero);
}
KERNEL surfaces(const Surface *s, const Surface *to) {
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    move<unsigned char, cudaBoundaryModeTrap>(s[0], to[0], 0, 0);
    move<short, cudaBoundaryModeClamp>(s[1], to[1], 2, -1);
    move<float, cudaBoundaryModeZero>(s[2], to[2], -2, 1);
    move<int2, cudaBoundaryModeClamp>(s[3], to[3], -1, 0);
    move<float4, cudaBoundaryModeZero>(s[4], to[4], 1, 0);
    surf3Dwrite(surf3Dread<float>(s[5], x * 4, y, 1), to[5], x * 4, y, 2);
    surf2DLayeredwrite(surf2DLayeredread<float>(s[6], x * 4, y, 2), to[6], x * 4, y, 0);
    surf1DLayeredwrite(surf1DLayeredread<float>(s[7], x * 4, y), to[7], x * 4, 3 - y);
}
KERNEL sums(Surface s, const int *at) {
    asm volatile("sured.b.2d.add.u32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(4 * AT(0)), "r"(AT(1)), "r"(AT(2)));
}
KERNEL outside(Surface s, int x) { surf2Dwrite(1.0f, s, 4 * x, 0); }
