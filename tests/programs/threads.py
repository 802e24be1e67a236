"""Several threads of the host launch kernels on the arrays that they share."""

import threading

import numpy as np
from numba import cuda


@cuda.jit(cache=False)
def reverse(values):
    shared = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    shared[t] = values[t]
    cuda.syncthreads()
    values[t] = shared[31 - t]


arrays = [cuda.to_device(np.arange(32, dtype=np.int32) + 100 * n) for n in range(4)]
threads = [threading.Thread(target=lambda a=array: reverse[1, 32](a)) for array in arrays]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for n, array in enumerate(arrays):
    assert (array.copy_to_host() == np.arange(32)[::-1] + 100 * n).all()
last = threading.Thread(target=lambda: print("threads:", arrays[0][0]))
last.start()
