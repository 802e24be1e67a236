"""Sums: a tree in shared memory, block by block, and in one block with warp shuffles."""

import numpy as np
from numba import cuda, int32

THREADS = 128


@cuda.jit
def array_sum(data, partial):
    shared = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = data[i] if i < data.size else 0
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if t % (2 * s) == 0:
            shared[t] += shared[t + s]
        s *= 2
        cuda.syncthreads()
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit(device=True)
def warp_sum(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    return value


@cuda.jit
def warp_sums(data, out):
    i = cuda.grid(1)
    total = warp_sum(data[i])
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


a = cuda.to_device(np.arange(1024, dtype=np.int32))
blocks = 1024 // THREADS
partial = cuda.device_array(blocks, dtype=np.int32)
array_sum[blocks, THREADS](a, partial)
total = cuda.device_array(1, dtype=np.int32)
array_sum[1, THREADS](partial, total)
print(total[0])
assert total[0] == sum(np.arange(1024))

out = np.zeros(1, np.int32)
warp_sums[blocks, THREADS](a, out)
assert out[0] == total[0]
