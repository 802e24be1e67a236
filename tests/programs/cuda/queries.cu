// What programs ask of what they set or made: attributes of streams, textures, pools, entry points, libraries, graphs,
// modules that are linked at run time.
#include <cstring>
#include <cuda.h>
#include "expect.h"

__global__ void work(int *x, char small, double wide) { *x += small; }

static void call(void *data) { ++*(int *)data; }

static void streams(void *memory) {
    cudaStream_t one, two;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&two));
    cudaStreamAttrValue set = {}, got = {};
    set.accessPolicyWindow.base_ptr = memory;
    set.accessPolicyWindow.num_bytes = 1024;
    set.accessPolicyWindow.hitRatio = 0.5f;
    set.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    set.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    OK(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &set));
    OK(cudaStreamGetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &got));
    IS(got.accessPolicyWindow.base_ptr, memory);
    IS(got.accessPolicyWindow.num_bytes, 1024);
    IS(2 * got.accessPolicyWindow.hitRatio, 1);
    memset(&got, 0, sizeof got);
    OK(cudaStreamCopyAttributes(two, one));
    OK(cudaStreamGetAttribute(two, cudaStreamAttributeAccessPolicyWindow, &got));
    IS(got.accessPolicyWindow.num_bytes, 1024);
    IS(cudaStreamSetAttribute(one, cudaLaunchAttributeCooperative, &set), cudaErrorInvalidValue);
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    OK(cudaStreamGetCaptureInfo(one, &status, nullptr, nullptr, nullptr, nullptr, nullptr));
    IS(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    OK(cudaStreamGetCaptureInfo(one, &status, nullptr, nullptr, nullptr, nullptr, nullptr));
    IS(status, cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(one, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
}

static void textures(void *memory) {
    cudaArray_t array;
    cudaChannelFormatDesc as = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &as, 8, 4, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {}, seen;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {}, told;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeMirror;
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&seen, texture));
    IS(seen.resType, cudaResourceTypeArray);
    IS(seen.res.array.array, array);
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    IS(told.addressMode[1], cudaAddressModeMirror);
    IS(told.filterMode, cudaFilterModeLinear);
    IS(told.readMode, cudaReadModeElementType);
    IS(told.normalizedCoords, 1);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaCreateSurfaceObject(&surface, &resource));
    OK(cudaGetSurfaceObjectResourceDesc(&seen, surface));
    IS(seen.res.array.array, array);
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = 256;
    memset(&how, 0, sizeof how);
    how.readMode = cudaReadModeNormalizedFloat;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&seen, texture));
    IS(seen.res.linear.devPtr, memory);
    IS(seen.res.linear.sizeInBytes, 256);
    IS(seen.res.linear.desc.w, 8);
    IS(seen.res.linear.desc.f, cudaChannelFormatKindUnsigned);
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    IS(told.readMode, cudaReadModeNormalizedFloat);
    OK(cudaDestroyTextureObject(texture));
}

static void graphs(int *memory) {
    int destroyed = 0;
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    cudaUserObject_t object;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaUserObjectCreate(&object, &destroyed, call, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, 0));
    OK(cudaUserObjectRelease(object, 1));
    char small = 2;
    double wide = 0;
    void *arguments[] = {&memory, &small, &wide};
    cudaKernelNodeParams p = {};
    p.func = (void *)work;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    OK(cudaGraphAddEmptyNode(&second, graph, &first, 1));
    OK(cudaGraphDebugDotPrint(graph, "queries.dot", 0));
    FILE *file = fopen("queries.dot", "r");
    char text[4096] = "";
    if (file) text[fread(text, 1, sizeof text - 1, file)] = 0, fclose(file);
    remove("queries.dot");
    IS(strstr(text, "digraph") != nullptr && strstr(text, "work") != nullptr && strstr(text, "->") != nullptr, 1);
    IS(destroyed, 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceSynchronize());
}

static const char PTX[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .global .align 4 .u32 answer = 42;
.visible .entry store(.param .u64 to)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [answer];
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

static void libraries(int *memory) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    unsigned count = 0;
    size_t size = 0, offset = 0;
    void *variable = nullptr, *arguments[] = {&memory};
    OK(cudaLibraryLoadData(&library, PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    IS(count, 1);
    OK(cudaLibraryGetKernel(&kernel, library, "store"));
    OK(cudaLibraryGetGlobal(&variable, &size, library, "answer"));
    IS(size, 4);
    OK(cudaLaunchKernel((void *)kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    int result = 0;
    OK(cudaMemcpy(&result, memory, sizeof result, cudaMemcpyDeviceToHost));
    IS(result, 42);
    OK(cudaLibraryUnload(library));
    OK(cudaFuncGetParamInfo((void *)work, 2, &offset, &size));
    IS(offset, 16);
    IS(size, 8);
    IS(cudaFuncGetParamInfo((void *)work, 3, &offset, &size), cudaErrorInvalidValue);
}

static void devices() {
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    IS(properties.maxTexture1D, 131072);
    IS(properties.maxTexture2D[1], 65536);
    IS(properties.maxTexture2DLinear[2], 2097120);
    IS(properties.maxTexture3D[2], 16384);
    IS(properties.maxTexture2DLayered[2], 2048);
    IS(properties.maxTextureCubemapLayered[1], 2046);
    IS(properties.maxSurface2D[0], 131072);
    IS(properties.maxSurface1DLayered[1], 2048);
    IS(properties.persistingL2CacheMaxSize, 39321600);
    IS(properties.accessPolicyMaxWindowSize, 134217728);
    IS(properties.clusterLaunch, properties.major >= 9);
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    IS(found, cudaDriverEntryPointSuccess);
    IS(function != nullptr, 1);
    function = nullptr;
#pragma nv_diag_suppress 1444
    OK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
    IS(found, cudaDriverEntryPointSuccess);
    IS(function != nullptr, 1);
    cudaMemPool_t pool;
    cudaMemAccessFlags flags;
    cudaMemLocation place = {};
    place.type = cudaMemLocationTypeDevice;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolGetAccess(&flags, pool, &place));
    IS(flags, cudaMemAccessFlagsProtReadWrite);
    int value;
    IS(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0), cudaErrorInvalidDevice);
}

#define PTX ".version 8.0\n.target sm_75\n.address_size 64\n"
#define TWICE "func (.param .b32 r) twice(.param .b32 x)"
static const char caller[] = PTX ".extern ." TWICE ";\n.visible .entry k(.param .u64 at) { .reg .b64 p; .reg .b32 v;\n"
    "ld.param.u64 p, [at]; ld.global.u32 v, [p]; { .param .b32 x, y; st.param.b32 [x], v; call (y), twice, (x);\n"
    "ld.param.b32 v, [y]; } st.global.u32 [p], v; ret; }";
static const char called[] = PTX ".visible ." TWICE " { .reg .b32 v; ld.param.b32 v, [x]; add.s32 v, v, v;\n"
    "st.param.b32 [r], v; ret; }";

static void linking(int *memory) {
    CUlinkState state;
    CUmodule module;
    CUfunction k;
    char log[64] = "old";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log}, *cubin, *arguments[] = {&memory};
    size_t size;
    int value = 21;
    FILE *file = fopen("called.ptx", "w");
    fputs(called, file);
    fclose(file);
    OK(cuLinkCreate(2, options, values, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller", 0, nullptr, nullptr));
    OK(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "called.ptx", 0, nullptr, nullptr));
    IS(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "missing.ptx", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuLinkComplete(state, &cubin, &size));
    OK(cuModuleLoadData(&module, cubin));
    OK(cuLinkDestroy(state));
    IS(log[0], 0);
    OK(cuModuleGetFunction(&k, module, "k"));
    OK(cudaMemcpy(memory, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    OK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
    IS(value, 42);
}

int main() {
    int *memory;
    OK(cudaMalloc(&memory, 4096));
    streams(memory);
    textures(memory);
    graphs(memory);
    libraries(memory);
    devices();
    linking(memory);
    OK(cudaFree(memory));
    puts("done");
}
