/* Tensor maps, in the bytes that banksim.machine.tensor_maps reads. */
#include "connection.h"

#include <string.h>

static const int element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; /* by the numbers of CUtensorMapDataType */
static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};       /* the numbers of the same types in PTX */
#define FIRST_OF_TF32 11

/* The parts of a map that tiled and im2col maps have in common. */
static CUresult encode(uint32_t *words, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *steps,
                       const unsigned *modes) {
    unsigned interleave = modes[0], swizzle = modes[1], promotion = modes[2], fill = modes[3];
    if (!sizes || !steps || rank < 1 || rank > 5 || (rank > 1 && !strides)) return CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)address % 16 || interleave > 2 || promotion > 3 || fill > 1) return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)type >= sizeof numbers / sizeof *numbers || swizzle > 3)
        return banksim_missing("a tensor map of this type or swizzle");
    words[0] = (uint64_t)address;
    words[1] = (uint64_t)address >> 32;
    words[2] = (rank - 1) << 4 | numbers[type] << 7 | interleave << 11 | swizzle << 13 | fill << 15 |
               (uint32_t)(type >= FIRST_OF_TF32) << 16 | promotion << 17;
    for (unsigned n = 0; n < rank; n++) {
        if (!sizes[n] || sizes[n] > 1ull << 32 || steps[n] < 1 || steps[n] > 8) return CUDA_ERROR_INVALID_VALUE;
        words[8 + n] = sizes[n] - 1;
        words[13] |= (steps[n] - 1) << 3 * n;
    }
    for (unsigned n = 0; n + 1 < rank; n++) {
        if (strides[n] % 16 || strides[n] >= 1ull << 40) return CUDA_ERROR_INVALID_VALUE;
        words[3 + n] = strides[n] / 16;
        words[7] |= (uint32_t)(strides[n] >> 36) << 4 * n;
    }
    return CUDA_SUCCESS;
}

static int fits(unsigned elements, CUtensorMapDataType type, unsigned interleave, unsigned swizzle) {
    unsigned row = elements * element_bytes[type];
    return elements >= 1 && elements <= 256 && (interleave || (!(row % 16) && (!swizzle || row <= 16u << swizzle)));
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    uint32_t words[32] = {0};
    if (!map || !box) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = encode(words, type, rank, address, sizes, strides, steps,
                            (unsigned[]){interleave, swizzle, promotion, fill});
    if (error) return error;
    for (unsigned n = 1; n < rank; n++) {
        if (box[n] < 1 || box[n] > 256) return CUDA_ERROR_INVALID_VALUE;
        ((unsigned char *)words)[0x38 + n - 1] = box[n] - 1;
    }
    if (!fits(box[0], type, interleave, swizzle)) return CUDA_ERROR_INVALID_VALUE;
    words[13] |= (box[0] - 1) << 24;
    memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    static const int corner_bits[] = {16, 8, 5}; /* by the rank, from 3 up */
    uint32_t words[32] = {0};
    if (!map || !lower || !upper || rank < 3) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = encode(words, type, rank, address, sizes, strides, steps,
                            (unsigned[]){interleave, swizzle, promotion, fill});
    if (error) return error;
    if (!fits(channels, type, interleave, swizzle) || !pixels || pixels > 1024) return CUDA_ERROR_INVALID_VALUE;
    int bits = corner_bits[rank - 3], most = 1 << (bits - 1);
    for (unsigned n = 0; n + 2 < rank; n++) {
        if (lower[n] < -most || lower[n] >= most || upper[n] < -most || upper[n] >= most) return CUDA_ERROR_INVALID_VALUE;
        words[14] |= ((uint32_t)lower[n] & ((1u << bits) - 1)) << bits * n;
        words[14] |= ((uint32_t)upper[n] & ((1u << bits) - 1)) << (16 + bits * n);
    }
    words[2] |= 1;
    words[13] |= (channels - 1) << 24;
    words[15] = pixels - 1;
    memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
    if (!map || (uint64_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
}
