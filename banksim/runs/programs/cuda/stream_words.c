/* Words of memory that a stream writes or waits for, one by one or in a batch. Work of streams is done at once, so a
   word that is not there when a stream is to wait for it would never come: that is refused. */
#include "graphs.h"

#include <string.h>

struct word {
    CUdeviceptr at;
    cuuint64_t value;
    unsigned flags, bytes;
};

static CUresult perform_write(void *arguments) {
    const struct word *w = arguments;
    banksim_settle_to_change(w->at);
    if (!banksim_pending) memcpy(banksim_bytes(w->at), &w->value, w->bytes);
    return CUDA_SUCCESS;
}

static bool is_there(const struct word *w) {
    cuuint64_t found = 0, mask = w->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    memcpy(&found, banksim_bytes(w->at), w->bytes);
    switch (w->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* of numbers that wrap around */
        return !((found - w->value) >> (w->bytes * 8 - 1) & 1);
    case CU_STREAM_WAIT_VALUE_EQ: return found == w->value;
    case CU_STREAM_WAIT_VALUE_AND: return (found & w->value) != 0;
    default: return (~(found | w->value) & mask) != 0;
    }
}

static CUresult perform_wait(void *arguments) {
    banksim_settle();
    if (banksim_pending || is_there(arguments)) return CUDA_SUCCESS;
    return banksim_missing("a stream that waits for a value which is not there yet");
}

static CUresult submit(CUstream stream, banksim_perform perform, struct word word) {
    BEGIN();
    if (!word.at || word.at % word.bytes || !banksim_find(word.at)) return CUDA_ERROR_INVALID_VALUE;
    return banksim_submit(stream, perform, &word, sizeof word);
}

#define WORDS(BITS)                                                                                                  \
    CUresult cuStreamWriteValue##BITS(CUstream stream, CUdeviceptr at, cuuint##BITS##_t value, unsigned flags) {       \
        if (flags & ~CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;                        \
        return submit(stream, perform_write, (struct word){at, value, flags, BITS / 8});                              \
    }                                                                                                                \
    CUresult cuStreamWaitValue##BITS(CUstream stream, CUdeviceptr at, cuuint##BITS##_t value, unsigned flags) {        \
        if (flags & ~(CU_STREAM_WAIT_VALUE_FLUSH | 3u)) return CUDA_ERROR_INVALID_VALUE;                              \
        return submit(stream, perform_wait, (struct word){at, value, flags, BITS / 8});                               \
    }
WORDS(32)
WORDS(64)

static CUresult one(CUstream stream, const CUstreamBatchMemOpParams *p) {
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return cuStreamWriteValue32(stream, p->writeValue.address, p->writeValue.value, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return cuStreamWriteValue64(stream, p->writeValue.address, p->writeValue.value64, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return cuStreamWaitValue32(stream, p->waitValue.address, p->waitValue.value, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return cuStreamWaitValue64(stream, p->waitValue.address, p->waitValue.value64, p->waitValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS; /* all that came before is done */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *operations, unsigned flags) {
    CUresult failed = operations && count <= 256 && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; !failed && n < count; n++) failed = one(stream, &operations[n]);
    return failed;
}
