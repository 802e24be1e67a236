"""Bitonic sort of one block's keys in dynamic shared memory."""

import numpy as np
from numba import cuda


@cuda.jit
def bitonic(keys):
    shared = cuda.shared.array(0, dtype=np.int32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    offset = cuda.blockIdx.x * n
    shared[t] = keys[offset + t]
    cuda.syncthreads()
    k = 2
    while k <= n:
        j = k >> 1
        while j > 0:
            other = t ^ j
            if other > t and (shared[t] > shared[other]) == ((t & k) == 0):
                shared[t], shared[other] = shared[other], shared[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    keys[offset + t] = shared[t]


n, blocks = 256, 3
keys = np.random.default_rng(3).integers(-1000, 1000, (blocks, n)).astype(np.int32)
result = cuda.to_device(keys.ravel())
bitonic[blocks, n, 0, n * 4](result)
assert (result.copy_to_host().reshape(blocks, n) == np.sort(keys, axis=1)).all()
print("sorted", result.size, "keys")
