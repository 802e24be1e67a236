"""A module of Numba kernels as users write them, with signatures: it must import where there is no GPU."""

import math
import pathlib

import numpy as np
from numba import cuda, float32, njit

TABLE = np.array([1.5, 2.5, 3.5, 4.5], np.float32)


@njit
def square(x):
    return x * x


@cuda.jit("float32(float32)", device=True)
def increment(x):
    return x + 1


@cuda.jit(device=True)
def double_of(s, i):
    return s[i] * 2


@cuda.jit("void(float32[:,:], float32[:,:])")
def transpose(a, b):
    tile = cuda.shared.array((32, 33), float32)
    i, j = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[i, j]
    cuda.syncthreads()
    b[j, i] = double_of(tile[cuda.threadIdx.x], cuda.threadIdx.y)


@cuda.jit(["void(float32[:], int32)", "void(float64[:], int64)"])
def several(a, n):
    i = cuda.grid(1)
    if i < n:
        a[i] = increment(a[i])


@cuda.jit
def mixed(a, n, x, z, flag, half, parts, record, records):
    tile = cuda.shared.array(0, float32)
    local = cuda.local.array(8, float32)
    constants = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    for j in range(8):
        local[j] = a[(i + j) % n]
    tile[cuda.threadIdx.x] = local[i & 7]
    cuda.syncthreads()
    if flag and i < n:
        total = square(double_of(tile, i)) + constants[i & 3] + x + z.imag + half
        a[i] = total + parts[0] + parts[1][0] + record.v + records[0].v
    cuda.atomic.add(a, 0, 1)


@cuda.jit(fastmath=True, max_registers=24)
def fast(a, b):
    i = cuda.grid(1)
    a[i] = math.sin(a[i]) / b[i]


@cuda.jit
def exact(a, b):
    i = cuda.grid(1)
    a[i] = math.sin(a[i]) / b[i]


@cuda.jit(debug=True, opt=False)
def debugged(a):
    a[cuda.threadIdx.x] = double_of(a, 3)


@cuda.jit(launch_bounds=128)
def bounded(a):
    a[0] = 1


@cuda.jit
def returning(a):
    return a[0]


@cuda.jit
def misspelt(a):
    a[0] = a.lenght


weigh = cuda.declare_device("weigh", "float32(float32, float32)")


@cuda.jit(link=[str(pathlib.Path(__file__).with_name("linked.cu"))])
def linked(a):
    a[cuda.threadIdx.x] = weigh(a[cuda.threadIdx.x], 2)


@cuda.jit
def reshaped(a):
    square = a.reshape((8, 8))
    square[cuda.threadIdx.x, 1] = 2
