"""Work-efficient scan (Blelloch 1990; Harris, Sengupta and Owens, GPU Gems 3, chapter 39): exclusive, by blocks."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import int32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, kernel

THREADS = 256
ITEMS = 2 * THREADS
BLOCKS = 2048
LOG_BANKS = 5
PADDED_ITEMS = ITEMS + (ITEMS >> LOG_BANKS)


@kernel
def scanWorkEfficient(out: Array, a: Array) -> None:
    s = cuda.shared.array(ITEMS, int32)
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * ITEMS
    s[2 * t] = a[first + 2 * t]
    s[2 * t + 1] = a[first + 2 * t + 1]
    step, active = 1, THREADS
    while active > 0:
        cuda.syncthreads()
        if t < active:
            i, j = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            s[j] += s[i]
        step *= 2
        active //= 2
    if t == 0:
        s[ITEMS - 1] = 0
    active = 1
    while active < ITEMS:
        step //= 2
        cuda.syncthreads()
        if t < active:
            i, j = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            left = s[i]
            s[i] = s[j]
            s[j] += left
        active *= 2
    cuda.syncthreads()
    out[first + 2 * t] = s[2 * t]
    out[first + 2 * t + 1] = s[2 * t + 1]


@kernel
def scanConflictFree(out: Array, a: Array) -> None:
    """The literature's padding against conflicts: index i lies at i + i / 32."""
    s = cuda.shared.array(PADDED_ITEMS, int32)
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * ITEMS
    low, high = t, t + THREADS
    s[low + (low >> LOG_BANKS)] = a[first + low]
    s[high + (high >> LOG_BANKS)] = a[first + high]
    step, active = 1, THREADS
    while active > 0:
        cuda.syncthreads()
        if t < active:
            i, j = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            i += i >> LOG_BANKS
            j += j >> LOG_BANKS
            s[j] += s[i]
        step *= 2
        active //= 2
    if t == 0:
        s[ITEMS - 1 + ((ITEMS - 1) >> LOG_BANKS)] = 0
    active = 1
    while active < ITEMS:
        step //= 2
        cuda.syncthreads()
        if t < active:
            i, j = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            i += i >> LOG_BANKS
            j += j >> LOG_BANKS
            left = s[i]
            s[i] = s[j]
            s[j] += left
        active *= 2
    cuda.syncthreads()
    out[first + low] = s[low + (low >> LOG_BANKS)]
    out[first + high] = s[high + (high >> LOG_BANKS)]


def scan(factory: Callable[..., Dispatcher]) -> Launch:
    a = small_integers("int32", BLOCKS * ITEMS, low=-1000, high=1000)
    parts = a.reshape(BLOCKS, ITEMS)
    sums = (np.cumsum(parts, axis=1, dtype=np.int32) - parts).ravel()
    return Launch(factory(), (BLOCKS,), (THREADS,), (np.zeros_like(a), a), {0: sums})


add("scanWorkEfficient", "scans", "work-efficient", partial(scan, scanWorkEfficient))
add("scanConflictFree", "scans", "work-efficient, index i at i + i / 32", partial(scan, scanConflictFree))
