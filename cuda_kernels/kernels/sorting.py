"""Bitonic sort: each block sorts its part of an array in shared memory."""

from functools import partial

import numpy as np
from numba import int32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, cuda, kernel

ITEMS = 1024
BLOCKS = 264


@kernel
def bitonicSort(out: Array, a: Array) -> None:
    s = cuda.shared.array(ITEMS, int32)
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * ITEMS
    s[t] = a[first + t]
    s[t + ITEMS // 2] = a[first + t + ITEMS // 2]
    length = 2
    while length <= ITEMS:
        step = length // 2
        while step > 0:
            cuda.syncthreads()
            low = 2 * t - (t & (step - 1))
            high = low + step
            if (s[low] > s[high]) == ((low & length) == 0):
                s[low], s[high] = s[high], s[low]
            step //= 2
        length *= 2
    cuda.syncthreads()
    out[first + t] = s[t]
    out[first + t + ITEMS // 2] = s[t + ITEMS // 2]


def sort() -> Launch:
    a = small_integers("int32", BLOCKS * ITEMS, low=-(10**6), high=10**6)
    expected = np.sort(a.reshape(BLOCKS, ITEMS), axis=1).ravel()
    return Launch(bitonicSort(), (BLOCKS,), (ITEMS // 2,), (np.zeros_like(a), a), {0: expected})


add("bitonicSort", "sorting", "1024 numbers a block", partial(sort))
