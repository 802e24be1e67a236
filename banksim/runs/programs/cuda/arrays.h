/* CUDA arrays, as the driver's parts share them. */
#ifndef BANKSIM_ARRAYS_H
#define BANKSIM_ARRAYS_H

#include "connection.h"

/* Rows lie one behind the other, and layers too. */
struct CUarray_st {
    CUdeviceptr start;
    CUDA_ARRAY3D_DESCRIPTOR as; /* as it was asked for: 0 rows of one with one dimension */
    size_t element, pitch, rows, layers;
};
size_t banksim_channel_bytes(CUarray_format format); /* 0: not a format that is known */

#endif
