/* Calls of NVIDIA's libraries (libraries/): banksim computes them, in the order of their stream. */
#include "library_calls.h"

#include <stdlib.h>
#include <string.h>

struct library_call {
    void *result; /* in host memory; NULL if there is no result */
    size_t result_size, size;
    char message[];
};

static CUresult perform(void *arguments) {
    const struct library_call *call = arguments;
    CUresult failed = call->result ? banksim_wait() : CUDA_SUCCESS; /* for a result the program waits */
    if (failed) return failed;
    struct answer answer = banksim_call(call->message, call->size);
    CUresult status = answer.status;
    if (!status && call->result && answer.size == call->result_size)
        memcpy(call->result, answer.bytes, answer.size);
    free(answer.bytes);
    return status;
}

CUresult banksim_compute(CUstream stream, const char *library, const char *function, const uint64_t *words, size_t count,
                         void *result, size_t result_size) {
    BEGIN();
    size_t names = strlen(library) + strlen(function) + 2, size = names + count * sizeof *words;
    struct library_call *call = banksim_zeroed(sizeof *call + size);
    call->result = result;
    call->result_size = result_size;
    call->size = size;
    strcpy(call->message, library);
    strcpy(call->message + strlen(library) + 1, function);
    memcpy(call->message + names, words, count * sizeof *words);
    CUresult status = banksim_submit(stream, perform, call, sizeof *call + size);
    free(call);
    return status;
}
