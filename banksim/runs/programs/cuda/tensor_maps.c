/* Tensor maps, in the bytes that banksim.machine.tensor_maps reads. */
#include "connection.h"

#include <string.h>

static const int element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; /* by CUtensorMapDataType */
static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};       /* the types' numbers in PTX */
#define FIRST_OF_TF32 11

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    if (!map || !sizes || !box || !steps || rank < 1 || rank > 5 || (rank > 1 && !strides)) return CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)address % 16 || (unsigned)interleave > 2 || (unsigned)fill > 1) return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)type >= sizeof numbers / sizeof *numbers || (unsigned)swizzle > 3)
        return banksim_missing("cuTensorMapEncodeTiled of this type or swizzle");
    uint32_t words[32] = {0};
    words[0] = (uint64_t)address;
    words[1] = (uint64_t)address >> 32;
    words[2] = (rank - 1) << 4 | numbers[type] << 7 | interleave << 11 | swizzle << 13 | fill << 15 |
               (uint32_t)(type >= FIRST_OF_TF32) << 16;
    for (unsigned n = 0; n < rank; n++) {
        if (!sizes[n] || sizes[n] > 1ull << 32 || box[n] < 1 || box[n] > 256 || steps[n] < 1 || steps[n] > 8)
            return CUDA_ERROR_INVALID_VALUE;
        words[8 + n] = sizes[n] - 1;
        words[13] |= (steps[n] - 1) << 3 * n;
        if (n) ((unsigned char *)words)[0x38 + n - 1] = box[n] - 1;
    }
    words[13] |= (box[0] - 1) << 24;
    for (unsigned n = 0; n + 1 < rank; n++) {
        if (strides[n] % 16 || strides[n] >= 1ull << 40) return CUDA_ERROR_INVALID_VALUE;
        words[3 + n] = strides[n] / 16;
        words[7] |= (uint32_t)(strides[n] >> 36) << 4 * n;
    }
    unsigned row = box[0] * element_bytes[type];
    if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && (row % 16 || (swizzle && row > 16u << swizzle)))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
    if (!map || (uint64_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
}
