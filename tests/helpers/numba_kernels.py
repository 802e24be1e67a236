"""Numba kernels that several tests and benchmarks execute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32, uint8


def product(tile: int, pad: int) -> Any:
    """C = A·B through tiles in shared memory whose rows are `pad` elements longer than the tile."""
    row = tile + pad

    @cuda.jit
    def matmul(a, b, c):
        shared_a = cuda.shared.array((tile, row), float32)
        shared_b = cuda.shared.array((tile, row), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // tile):
            shared_a[ty, tx] = a[y, t * tile + tx]
            shared_b[ty, tx] = b[t * tile + ty, x]
            cuda.syncthreads()
            for k in range(tile):
                total += shared_a[ty, k] * shared_b[k, tx]
            cuda.syncthreads()
        c[y, x] = total

    return matmul


@cuda.jit
def transpose(out, a):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = a[cuda.blockIdx.y * 32 + ty, cuda.blockIdx.x * 32 + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx] = tile[tx, ty]


@cuda.jit
def reduction(out, a):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * 256 + t]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def histogram(out, a):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    i = cuda.blockIdx.x * 256 + t
    while i < a.size:
        cuda.atomic.add(s, a[i], 1)
        i += cuda.gridDim.x * 256
    cuda.syncthreads()
    cuda.atomic.add(out, t, s[t])


@cuda.jit
def collatz(out):
    """Trip counts differ from thread to thread; some threads return early."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    n, steps = i + 1, 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 100:
            break
    out[i] = steps


@cuda.jit
def warp_sum(out, a):
    i = cuda.grid(1)
    v = a[i]
    for distance in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, distance)
    if cuda.laneid == 0:
        out[i // 32] = v


@cuda.jit
def row_softmax(out, a):
    """One block a row; the greatest element and the sum go through shared memory."""
    s = cuda.shared.array(128, float64)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    s[t] = a[row, t]
    cuda.syncthreads()
    half = 64
    while half:
        if t < half:
            s[t] = max(s[t], s[t + half])
        cuda.syncthreads()
        half //= 2
    top = s[0]
    cuda.syncthreads()
    v = 1.0 / (1.0 + (top - a[row, t]))
    s[t] = v
    cuda.syncthreads()
    half = 64
    while half:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    out[row, t] = v / s[0]


@cuda.jit
def bytes_reversed(out, a):
    s = cuda.shared.array(0, uint8)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    out[t] = s[cuda.blockDim.x - 1 - t]


@cuda.jit
def tickets(out, counter):
    """Every thread takes a number; the numbers are all different."""
    i = cuda.grid(1)
    out[i] = cuda.atomic.add(counter, 0, 1)


@cuda.jit
def local_sort(out, a):
    """Each thread sorts eight numbers in an array of its own, indexed by registers."""
    mine = cuda.local.array(8, int32)
    i = cuda.grid(1)
    for k in range(8):
        mine[k] = a[i, k]
    for k in range(1, 8):
        v, j = mine[k], k - 1
        while j >= 0 and mine[j] > v:
            mine[j + 1] = mine[j]
            j -= 1
        mine[j + 1] = v
    for k in range(8):
        out[i, k] = mine[k]


@cuda.jit
def divide(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] / b[i]


@cuda.jit
def stencil(out, a):
    """Sums of seven neighbours, with a halo in shared memory."""
    s = cuda.shared.array(256 + 6, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    s[t + 3] = a[i] if i < a.size else 0
    if t < 3:
        s[t] = a[i - 3] if i >= 3 else 0
        s[t + 259] = a[i + 256] if i + 256 < a.size else 0
    cuda.syncthreads()
    total = 0
    for k in range(7):
        total += s[t + k]
    if i < out.size:
        out[i] = total


@cuda.jit
def spin_lock(out, lock):
    """Every thread of every warp adds under one lock."""
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            out[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


def random(dtype: str, *shape: int, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.random(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
