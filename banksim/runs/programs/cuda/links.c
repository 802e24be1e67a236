/* Linking at run time: images are kept as they come, and banksim links them with NVIDIA's own tools. */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlinkState_st {
    char *images; /* each behind its size */
    size_t size;
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
    if (!state || !data || !size || type >= CU_JIT_NUM_INPUT_TYPES) return CUDA_ERROR_INVALID_VALUE;
    uint64_t head = size;
    state->images = banksim_resized(state->images, state->size + sizeof head + size);
    memcpy(state->images + state->size, &head, sizeof head);
    memcpy(state->images + state->size + sizeof head, data, size);
    state->size += sizeof head + size;
    return CUDA_SUCCESS;
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
    if (!state || !cubin || !state->size) return CUDA_ERROR_INVALID_VALUE;
    struct answer answer = banksim_ask('J', state->images, state->size);
    free(state->made);
    *cubin = state->made = answer.bytes;
    if (size) *size = answer.size;
    return answer.status;
}
CUresult cuLinkDestroy(CUlinkState state) {
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    free(state->images);
    free(state->made);
    free(state);
    return CUDA_SUCCESS;
}
