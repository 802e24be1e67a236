"""Transposes a matrix through tiles of shared memory, first with conflicts, then with a padded tile."""

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = TILE + 1


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    out[column + y, row + x] = tile[x, y]


@cuda.jit
def transpose_padded(a, out):
    tile = cuda.shared.array((TILE, PADDED), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    out[column + y, row + x] = tile[x, y]


n = 512
a = np.random.default_rng(0).random((n, n), dtype=np.float32)
d_a = cuda.to_device(a)
for kernel in (transpose, transpose_padded):
    d_out = cuda.device_array((n, n), np.float32)
    kernel[(n // TILE, n // TILE), (TILE, TILE)](d_a, d_out)
    print(f"{kernel.__name__}: {(d_out.copy_to_host() != a.T).sum()} wrong")
