"""Kernels for `banksim kernel`, and a program for `banksim run`: a transpose with a plain and with a padded tile."""

from numba import cuda, float32


@cuda.jit
def transpose(out, a):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
    tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    out[column + y, row + x] = tile[x, y]


@cuda.jit
def transpose_padded(out, a):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
    tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    out[column + y, row + x] = tile[x, y]


if __name__ == "__main__":  # a program for `banksim run`
    import numpy as np

    a = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
    for kernel in (transpose, transpose_padded):
        out = np.zeros_like(a)
        kernel[(16, 16), (32, 32)](out, a)
        print(f"{kernel.__name__}: {np.count_nonzero(out != a.T)} wrong")
