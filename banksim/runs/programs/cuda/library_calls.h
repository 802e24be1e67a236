/* What the stand-ins for NVIDIA's libraries ask of the one for libcuda.so.1. */
#ifndef BANKSIM_LIBRARY_CALLS_H
#define BANKSIM_LIBRARY_CALLS_H

#include "connection.h"

/* Lets banksim compute a function of words of 64 bits (banksim.runs.programs.libraries). The answer goes to
   `result`, which is host memory. */
CUresult banksim_compute(CUstream stream, const char *library, const char *function, const uint64_t *words, size_t count,
                         void *result, size_t result_size);

#endif
