/* Libraries of the runtime API: modules that a program loads itself. */
#include "runtime.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *how, void **values,
                                unsigned count, enum cudaLibraryOption *options, void **option_values,
                                unsigned option_count) {
    DRIVER(cuLibraryLoadData((CUlibrary *)library, code, NULL, NULL, 0, NULL, NULL, 0));
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *how, void **values,
                                    unsigned count, enum cudaLibraryOption *options, void **option_values,
                                    unsigned option_count) {
    DRIVER(cuLibraryLoadFromFile((CUlibrary *)library, path, NULL, NULL, 0, NULL, NULL, 0));
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) { DRIVER(cuLibraryUnload((CUlibrary)library)); }
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    DRIVER(cuLibraryGetKernel((CUkernel *)kernel, (CUlibrary)library, name));
}
cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library) {
    DRIVER(cuLibraryGetKernelCount(count, (CUlibrary)library));
}
cudaError_t cudaLibraryGetGlobal(void **start, size_t *size, cudaLibrary_t library, const char *name) {
    DRIVER(cuLibraryGetGlobal((CUdeviceptr *)start, size, (CUlibrary)library, name));
}
cudaError_t cudaLibraryGetManaged(void **start, size_t *size, cudaLibrary_t library, const char *name) {
    DRIVER(cuLibraryGetManaged((CUdeviceptr *)start, size, (CUlibrary)library, name));
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute which, int value, int device) {
    DRIVER(cuKernelSetAttribute((CUfunction_attribute)which, value, (CUkernel)kernel, device));
}

cudaError_t cudaFuncGetParamInfo(const void *kernel, size_t number, size_t *offset, size_t *size) {
    BEGIN();
    CUfunction found;
    int failed = banksim_function(kernel, &found);
    return banksim_done(failed ? failed : cuFuncGetParamInfo(found, number, offset, size));
}
