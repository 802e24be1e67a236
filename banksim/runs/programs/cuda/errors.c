/* The names and texts of errors, and how a program finds functions by their names. */
#include "connection.h"

#include <string.h>
#include <unistd.h>

static const struct {
    CUresult error;
    const char *name, *text;
} errors[] = {
#define ERROR(NAME, TEXT) {CUDA_##NAME, "CUDA_" #NAME, TEXT},
#include "errors.h"
#undef ERROR
};

static int number_of(CUresult error) {
    for (size_t n = 0; n < sizeof errors / sizeof *errors; n++)
        if (errors[n].error == error) return n;
    return -1;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    int n = number_of(error);
    *name = n < 0 ? NULL : errors[n].name;
    return n < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
    int n = number_of(error);
    *text = n < 0 ? NULL : errors[n].text;
    return n < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* For every function its symbols, each with the version of CUDA from which on it is meant. Generated from
   cudaTypedefs.h. */
extern const struct entry {
    const char *name;
    int version;
    void *function;
} banksim_functions[];

#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    const struct entry *best = NULL;
    for (const struct entry *one = banksim_functions; one->name; one++)
        if (!strcmp(one->name, name) && one->version <= version) best = one;
    *function = best ? best->function : NULL;
    if (status) *status = best ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return best ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* NVIDIA's own runtime library authenticates the driver by undocumented tables. There are none here, so it fails.
   banksim says so at the end of a program that did nothing more. */
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    static const char why[] = " or a library that it loads has NVIDIA's own CUDA runtime in it, which runs on NVIDIA's driver "
                              "only: link with -cudart shared (NVCC_APPEND_FLAGS=\"-cudart shared\", or "
                              "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared)";
    static bool told;
    if (!told && !banksim_connect()) {
        char text[4096 + sizeof why];
        ssize_t length = readlink("/proc/self/exe", text, 4096);
        strcpy(text + (length > 0 ? length : 0), why);
        banksim_tell('S', text, strlen(text));
    }
    told = true;
    *table = NULL;
    return CUDA_ERROR_NOT_SUPPORTED;
}
