/* CUDA arrays, for all parts of the driver that use them. */
#ifndef BANKSIM_ARRAYS_H
#define BANKSIM_ARRAYS_H

#include "connection.h"

/* An array. Its rows lie one behind the other, and so do its layers. */
struct CUarray_st {
    CUdeviceptr start;
    CUDA_ARRAY3D_DESCRIPTOR as; /* as it was asked for: an array of one dimension has 0 rows */
    size_t element, pitch, rows, layers;
};
size_t banksim_channel_bytes(CUarray_format format); /* 0 for a format that is not known */

#endif
