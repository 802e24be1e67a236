// Arrays, textures and surfaces by every way of the runtime to make, fill and read them. Prints what each gives.
#include "expect.h"

const int W = 8, H = 4, D = 3;
__global__ void sample(cudaTextureObject_t t, float *out, float dx, float dy) {
    out[threadIdx.y * W + threadIdx.x] = tex2D<float>(t, threadIdx.x + dx, threadIdx.y + dy);
}
__global__ void box(cudaTextureObject_t t, float *out, float d) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * H + y) * W + x] = tex3D<float>(t, x + d, y + d, z + d);
}
__global__ void sheets(cudaTextureObject_t t, float *out) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * H + y) * W + x] = tex2DLayered<float>(t, (x + 0.5f) / W, (y + 0.5f) / H, z);
}
__global__ void faces(cudaTextureObject_t t, float *out) {
    int n = threadIdx.x, axis = n / 2;
    float v = n % 2 ? -2 : 2;
    out[n] = texCubemap<float>(t, axis == 0 ? v : 1, axis == 1 ? v : 1, axis == 2 ? v : 1);
}
__global__ void elements(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x - 1); }
__global__ void colours(cudaTextureObject_t t, float4 *out) { out[threadIdx.x] = tex1D<float4>(t, threadIdx.x + 0.5f); }
__global__ void twice(cudaSurfaceObject_t s) {
    int x = 4 * threadIdx.x, y = threadIdx.y;
    surf2Dwrite(2 * surf2Dread<float>(s, x, y), s, x, y);
}

float host[W * H * D], *out;
void print(const char *what, int count) {
    OK(cudaDeviceSynchronize());
    printf("%s", what);
    for (int n = 0; n < count; n++) printf(" %g", out[n]);
    printf("\n");
}
cudaTextureDesc how(cudaTextureFilterMode filter, cudaTextureAddressMode mode = cudaAddressModeClamp, bool normal = false) {
    cudaTextureDesc d = {};
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = mode;
    d.filterMode = filter;
    d.normalizedCoords = normal;
    return d;
}
cudaResourceDesc of(cudaArray_t array) {
    cudaResourceDesc d = {};
    d.resType = cudaResourceTypeArray;
    d.res.array.array = array;
    return d;
}
cudaTextureObject_t texture(cudaResourceDesc from, cudaTextureDesc as) {
    cudaTextureObject_t made;
    OK(cudaCreateTextureObject(&made, &from, &as, NULL));
    return made;
}

int main(int argc, char **argv) {
    cudaChannelFormatDesc real = cudaCreateChannelDesc<float>();
    for (int n = 0; n < W * H * D; n++) host[n] = n * n;
    OK(cudaMallocManaged(&out, sizeof host));
    dim3 flat(W, H), whole(W, H, D);
    cudaArray_t a, b, volume, layers, line;
    OK(cudaMallocArray(&a, &real, W, H, cudaArraySurfaceLoadStore));
    if (argc > 1) {  // something that is refused
        cudaMipmappedArray_t levels;
        IS(cudaMallocMipmappedArray(&levels, &real, make_cudaExtent(W, H, 0), 3), cudaErrorNotSupported);
        return 0;
    }
    OK(cudaMemcpy2DToArray(a, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    cudaTextureObject_t points = texture(of(a), how(cudaFilterModePoint)), lines = texture(of(a), how(cudaFilterModeLinear));
    sample<<<1, flat>>>(points, out, 0.5f, 0.5f);
    print("points", W * H);
    sample<<<1, flat>>>(lines, out, 1, 1);
    print("between", W * H);
    cudaSurfaceObject_t surface;
    cudaResourceDesc of_a = of(a);
    OK(cudaCreateSurfaceObject(&surface, &of_a));
    twice<<<1, flat>>>(surface);
    OK(cudaMallocArray(&b, &real, W, H));
    OK(cudaMemcpy2DArrayToArray(b, 4, 1, a, 0, 0, W * 4 - 4, H - 1, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(out, W * 4, b, 0, 0, W * 4, H, cudaMemcpyDefault));
    print("twice, shifted", W * H);
    IS(cudaMemcpy2DToArray(b, 8, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice), cudaErrorInvalidValue);

    cudaExtent extent = make_cudaExtent(W, H, D);
    OK(cudaMalloc3DArray(&volume, &real, extent));
    OK(cudaMalloc3DArray(&layers, &real, extent, cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, W * 4, W, H);
    copy.dstArray = volume;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    box<<<1, whole>>>(texture(of(volume), how(cudaFilterModeLinear)), out, 0.75f);
    print("box", W * H * D);
    cudaMemcpy3DParms on = {};
    on.srcArray = volume;
    on.srcPos = make_cudaPos(1, 0, 0);
    on.dstArray = layers;
    on.extent = make_cudaExtent(W - 1, H, D);
    on.kind = cudaMemcpyDeviceToDevice;
    OK(cudaMemcpy3D(&on));
    sheets<<<1, whole>>>(texture(of(layers), how(cudaFilterModeLinear, cudaAddressModeWrap, true)), out);
    print("sheets", W * H * D);

    float *device;
    size_t pitch;
    OK(cudaMallocPitch(&device, &pitch, W * 4, H));
    OK(cudaMemcpy2D(device, pitch, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D.devPtr = device;
    rows.res.pitch2D.desc = real;
    rows.res.pitch2D.width = W, rows.res.pitch2D.height = H, rows.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc bordered = how(cudaFilterModePoint, cudaAddressModeBorder);
    for (int n = 0; n < 4; n++) bordered.borderColor[n] = -7;
    sample<<<1, flat>>>(texture(rows, bordered), out, -1, 0);
    print("pitch, border", W * H);
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeLinear;
    memory.res.linear.devPtr = device;
    memory.res.linear.desc = real;
    memory.res.linear.sizeInBytes = W * 4;
    elements<<<1, W + 2>>>(texture(memory, how(cudaFilterModePoint)), out);
    print("linear memory", W + 2);

    cudaArray_t cube;
    IS(cudaMalloc3DArray(&cube, &real, make_cudaExtent(2, 2, 5), cudaArrayCubemap), cudaErrorInvalidValue);
    IS(cudaMalloc3DArray(&cube, &real, make_cudaExtent(2, 4, 6), cudaArrayCubemap), cudaErrorInvalidValue);
    OK(cudaMalloc3DArray(&cube, &real, make_cudaExtent(2, 2, 6), cudaArrayCubemap));
    cudaMemcpy3DParms six = {};
    six.srcPtr = make_cudaPitchedPtr(host, 2 * 4, 2, 2);
    six.dstArray = cube;
    six.extent = make_cudaExtent(2, 2, 6);
    six.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&six));
    faces<<<1, 6>>>(texture(of(cube), how(cudaFilterModePoint, cudaAddressModeClamp, true)), out);
    print("faces", 6);

    unsigned char bytes[] = {0, 51, 102, 255, 255, 204, 153, 0};
    cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&line, &four, 2));
    OK(cudaMemcpyToArray(line, 0, 0, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    cudaTextureDesc fractions = how(cudaFilterModeLinear);
    cudaTextureObject_t none;
    cudaResourceDesc of_line = of(line), of_reals = of(a);
    IS(cudaCreateTextureObject(&none, &of_line, &fractions, NULL), cudaErrorInvalidFilterSetting);
    fractions.readMode = cudaReadModeNormalizedFloat;
    IS(cudaCreateTextureObject(&none, &of_reals, &fractions, NULL), cudaErrorInvalidNormSetting);
    cudaTextureObject_t paint = texture(of(line), fractions);
    colours<<<1, 2>>>(paint, (float4 *)out);
    print("colours", 8);
    cudaChannelFormatDesc found;
    cudaExtent size;
    OK(cudaArrayGetInfo(&found, &size, NULL, line));
    printf("%d %d %d %d, %zu %zu\n", found.x, found.w, found.f, four.f, size.width, size.height);
    OK(cudaDestroyTextureObject(paint));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(line));
    return 0;
}
