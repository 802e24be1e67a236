"""Histograms of bytes with 256 bins; a quarter of the bytes fall into eight neighbouring bins."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import int32

from cuda_kernels.catalogue import Launch, add
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, kernel

BINS = 256
THREADS = 256
WARPS = THREADS // 32
ALL_BINS = WARPS * BINS
BLOCKS = 264


@kernel
def histogramShared(out: Array, a: Array) -> None:
    s = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    i = cuda.blockIdx.x * THREADS + t
    while i < a.size:
        cuda.atomic.add(s, a[i], 1)
        i += cuda.gridDim.x * THREADS
    cuda.syncthreads()
    cuda.atomic.add(out, t, s[t])


@kernel
def histogramPrivatised(out: Array, a: Array) -> None:
    """Each warp has bins of its own."""
    s = cuda.shared.array(ALL_BINS, int32)
    t = cuda.threadIdx.x
    for warp in range(WARPS):
        s[warp * BINS + t] = 0
    cuda.syncthreads()
    mine = t // 32 * BINS
    i = cuda.blockIdx.x * THREADS + t
    while i < a.size:
        cuda.atomic.add(s, mine + a[i], 1)
        i += cuda.gridDim.x * THREADS
    cuda.syncthreads()
    total = 0
    for warp in range(WARPS):
        total += s[warp * BINS + t]
    cuda.atomic.add(out, t, total)


def histogram(factory: Callable[..., Dispatcher]) -> Launch:
    random = np.random.default_rng(0)
    size = 1 << 21
    a = random.integers(0, BINS, size)
    a = np.where(random.random(size) < 0.25, 100 + a % 8, a).astype(np.uint8)
    out = np.zeros(BINS, np.int32)
    return Launch(factory(), (BLOCKS,), (THREADS,), (out, a), {0: np.bincount(a, minlength=BINS).astype(np.int32)})


add("histogramShared", "histograms", "one set of bins a block", partial(histogram, histogramShared))
add("histogramPrivatised", "histograms", "one set of bins a warp", partial(histogram, histogramPrivatised))
