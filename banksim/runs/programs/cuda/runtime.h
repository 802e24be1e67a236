/* What the parts of the stand-in for libcudart.so.13 share. They use the driver's documented functions alone. */
#ifndef BANKSIM_RUNTIME_H
#define BANKSIM_RUNTIME_H

#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes an error for cudaGetLastError and returns it; the driver's errors have the runtime's numbers. */
cudaError_t banksim_done(int error);
/* In the first call of a thread, makes the device's primary context the thread's current one. */
CUresult banksim_begin(void);
#define BEGIN()                                       \
    do {                                              \
        int begun_ = banksim_begin();                 \
        if (begun_) return banksim_done(begun_);      \
    } while (0)
#define AT(pointer) ((CUdeviceptr)(uintptr_t)(pointer))
/* The body of a function that calls just one of the driver's. */
#define DRIVER(CALL) \
    BEGIN();         \
    return banksim_done(CALL)

/* The body of a function that calls the driver's for a kernel, `f`. */
#define OF_KERNEL(HOST, CALL)                   \
    BEGIN();                                    \
    CUfunction f;                               \
    int failed = banksim_function(HOST, &f);    \
    return banksim_done(failed ? failed : (int)(CALL))

CUresult banksim_connect(void); /* these four are of libcuda.so.1 (connection.h) */
CUresult banksim_missing(const char *name);
void *banksim_resized(void *old, size_t size);
void *banksim_zeroed(size_t size);
cudaError_t banksim_copy_of_arrays(const struct cudaMemcpy3DParms *copy, cudaStream_t stream);
int banksim_function(const void *host, CUfunction *found);
const void *banksim_host_of(CUfunction f); /* the address that the host knows it by */
int banksim_variable(const void *host, CUdeviceptr *address, size_t *size);

#endif
