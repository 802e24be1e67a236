// A kernel that NVRTC compiles while the program runs, and a range for NVIDIA's profilers.
#include <cstdio>
#include <cuda.h>
#include <nvrtc.h>
#include <nvtx3/nvToolsExt.h>
#include <string>

int main() {
    const char *source = "extern \"C\" __global__ void twice(int *a) { a[threadIdx.x] = 2 * threadIdx.x; }";
    const char *options[] = {"--gpu-architecture=compute_90"};
    nvtxRangePush("compile");
    nvrtcProgram program;
    nvrtcResult failed = nvrtcCreateProgram(&program, source, "twice.cu", 0, nullptr, nullptr);
    if (!failed) failed = nvrtcCompileProgram(program, 1, options);
    size_t size = 0;
    nvrtcGetPTXSize(program, &size);
    std::string ptx(size, 0);
    if (!failed) failed = nvrtcGetPTX(program, &ptx[0]);
    nvtxRangePop();
    int *a, last = 0;
    cudaMalloc(&a, 128);
    CUmodule module;
    CUfunction twice;
    void *arguments[] = {&a};
    cuModuleLoadData(&module, ptx.c_str());
    cuModuleGetFunction(&twice, module, "twice");
    CUresult launched = cuLaunchKernel(twice, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    cudaMemcpy(&last, a + 31, 4, cudaMemcpyDefault);
    printf("%d %d %d\n", failed, launched, last);
}
