"""Numba kernels that several tests and benchmarks execute."""

from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint8


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
def bytes_reversed(out, a):
    s = cuda.shared.array(0, uint8)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    out[t] = s[cuda.blockDim.x - 1 - t]


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
