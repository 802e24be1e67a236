"""Kernels that go through a matrix by rows: matrix times vector, softmax."""

import math
from functools import partial

import numpy as np
from numba import float32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, cuda, kernel

THREADS = 128
ROWS, COLUMNS = 2048, 1024


@kernel
def matrixVector(out: Array, a: Array, v: Array) -> None:
    """One block a row; the partial sums are added up in shared memory."""
    s = cuda.shared.array(THREADS, float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    total = float32(0)
    for k in range(t, a.shape[1], THREADS):
        total += a[row, k] * v[k]
    s[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = s[0]


@kernel
def softmaxRows(out: Array, a: Array) -> None:
    """One block a row: greatest element, exponentials, their sum, quotients."""
    s = cuda.shared.array(THREADS, float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    top = a[row, t]
    for k in range(t + THREADS, a.shape[1], THREADS):
        top = max(top, a[row, k])
    s[t] = top
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            s[t] = max(s[t], s[t + half])
        cuda.syncthreads()
        half //= 2
    top = s[0]
    cuda.syncthreads()
    total = float32(0)
    for k in range(t, a.shape[1], THREADS):
        value = math.exp(a[row, k] - top)
        out[row, k] = value
        total += value
    s[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    total = s[0]
    for k in range(t, a.shape[1], THREADS):
        out[row, k] /= total


def product() -> Launch:
    a, v = small_integers("float32", ROWS, COLUMNS), small_integers("float32", COLUMNS, seed=1)
    out = np.zeros(ROWS, np.float32)
    return Launch(matrixVector(), (ROWS,), (THREADS,), (out, a, v), {0: a @ v})


def softmax() -> Launch:
    """Its exponentials are rounded, so the oracle has a tolerance: 64 units in the last place of the largest."""
    a = np.random.default_rng(0).normal(0, 3, (ROWS, COLUMNS)).astype(np.float32)
    wide = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
    expected = (wide / wide.sum(axis=1, keepdims=True)).astype(np.float32)
    tolerance = 64 * float(np.finfo(np.float32).eps)
    return Launch(softmaxRows(), (ROWS,), (THREADS,), (np.zeros_like(a), a), {0: expected}, tolerance=tolerance)


add("matrixVector", "rows", "matrix times vector, a block a row", partial(product))
add("softmaxRows", "rows", "softmax of every row, a block a row", partial(softmax))
