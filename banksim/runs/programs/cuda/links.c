/* Linking at run time: banksim makes cubins of images as they come, and links them, with NVIDIA's own tools. Which errors
   wait until the end was found on one H200. */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlinkState_st {
    char *parts; /* each behind its size */
    size_t size;
    bool refused;
    CUresult failed;
    char *made;
};

/* What linkers say goes to banksim's report, and the buffers that a program has for it stay empty. */
static void empty_buffers(unsigned count, const CUjit_option *options, void **values) {
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == CU_JIT_INFO_LOG_BUFFER || options[n] == CU_JIT_ERROR_LOG_BUFFER) *(char *)values[n] = 0;
        if (options[n] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[n] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[n] = NULL;
        if (options[n] == CU_JIT_WALL_TIME) memset(&values[n], 0, sizeof values[n]);
    }
}

CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *made) {
    BEGIN();
    if (!made || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    empty_buffers(count, options, values);
    *made = banksim_zeroed(sizeof **made);
    return CUDA_SUCCESS;
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                       unsigned count, CUjit_option *options, void **values) {
    BEGIN();
    if (!state || !data || !size || type >= CU_JIT_NUM_INPUT_TYPES) return CUDA_ERROR_INVALID_VALUE;
    char *message = banksim_resized(NULL, 1 + size);
    message[0] = (char)type;
    memcpy(message + 1, data, size);
    struct answer answer = banksim_ask('U', message, 1 + size);
    free(message);
    if (answer.status) state->refused = true;
    if (answer.status && (type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_NVVM)) state->failed = answer.status;
    state->parts = banksim_resized(state->parts, state->size + answer.size + 1);
    memcpy(state->parts + state->size, answer.bytes, answer.size);
    state->size += answer.size;
    free(answer.bytes);
    return answer.status;
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                       CUjit_option *options, void **values) {
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    char *data = NULL;
    size_t size = 0, more;
    do {
        data = banksim_resized(data, size + (1 << 16));
        size += more = fread(data + size, 1, 1 << 16, file);
    } while (more);
    fclose(file);
    CUresult failed = cuLinkAddData(state, type, data, size, path, count, options, values);
    free(data);
    return failed;
}
CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size) {
    BEGIN();
    if (!state || !cubin || (!state->size && !state->refused)) return CUDA_ERROR_INVALID_VALUE;
    struct answer answer = {state->failed};
    if (state->size && !state->failed) answer = banksim_ask('J', state->parts, state->size);
    free(state->made);
    *cubin = state->made = answer.bytes;
    if (size) *size = answer.size;
    return answer.status;
}
CUresult cuLinkDestroy(CUlinkState state) {
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    free(state->parts);
    free(state->made);
    free(state);
    return CUDA_SUCCESS;
}
