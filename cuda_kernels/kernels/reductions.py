"""Sums of int32: each block adds up its part and leaves one number."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import int32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit, kernel

THREADS = 256
BLOCKS = 4096


@kernel
def reduceGlobal(out: Array, a: Array) -> None:
    """In place in global memory: no shared memory at all."""
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * THREADS
    half = THREADS // 2
    while half > 0:
        if t < half:
            a[first + t] += a[first + t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = a[first]


@kernel
def reduceShared(out: Array, a: Array) -> None:
    """The textbook's version: halves until one warp is left, which adds the rest without barriers of the block."""
    s = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    if t < 128:
        s[t] += s[t + 128]
    cuda.syncthreads()
    if t < 64:
        s[t] += s[t + 64]
    cuda.syncthreads()
    if t < 32:
        half = 32
        while half > 0:
            value = s[t] + s[t + half]
            cuda.syncwarp()
            s[t] = value
            cuda.syncwarp()
            half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@kernel
def reduceInterleavedDivergent(out: Array, a: Array) -> None:
    """Neighbours first: the threads that add lie ever farther apart, so all warps stay at work."""
    s = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        if t % (2 * step) == 0:
            s[t] += s[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@kernel
def reduceInterleavedStrided(out: Array, a: Array) -> None:
    """Neighbours first, added by neighbouring threads: their addresses lie ever farther apart, and conflict."""
    s = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        i = 2 * step * t
        if i < THREADS:
            s[i] += s[i + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def sequential(parts: int) -> Dispatcher:
    """Halves of the array are added; with `parts` > 1 each thread first adds that many numbers while loading."""

    @jit
    def reduceSequential(out: Array, a: Array) -> None:
        s = cuda.shared.array(THREADS, int32)
        t = cuda.threadIdx.x
        first = cuda.blockIdx.x * THREADS * parts + t
        total = 0
        for k in range(parts):
            total += a[first + k * THREADS]
        s[t] = total
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]

    return reduceSequential


@kernel
def reduceShuffle(out: Array, a: Array) -> None:
    """The last warp adds through registers."""
    s = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    half = THREADS // 2
    while half >= 32:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t < 32:
        value = s[t]
        for distance in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
        if t == 0:
            out[cuda.blockIdx.x] = value


@kernel
def reduceDynamic(out: Array, a: Array) -> None:
    s = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.blockIdx.x * cuda.blockDim.x + t]
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def reduction(factory: Callable[..., Dispatcher], parts: int = 1, dynamic_shared: int = 0) -> Launch:
    a = small_integers("int32", BLOCKS * THREADS, low=-1000, high=1000)
    blocks = BLOCKS // parts
    sums = a.reshape(blocks, -1).sum(1, dtype=np.int32)
    out = np.zeros(blocks, np.int32)
    return Launch(factory(), (blocks,), (THREADS,), (out, a), {0: sums}, dynamic_shared)


GROUP = "reductions"
add("reduceGlobal", GROUP, "in place in global memory", partial(reduction, reduceGlobal))
add("reduceShared", GROUP, "the last warp without barriers", partial(reduction, reduceShared))
add(
    "reduceInterleavedDivergent",
    GROUP,
    "neighbours first, threads apart",
    partial(reduction, reduceInterleavedDivergent),
)
add(
    "reduceInterleavedStrided",
    GROUP,
    "neighbours first, threads together",
    partial(reduction, reduceInterleavedStrided),
)
add("reduceSequential", GROUP, "halves first", partial(reduction, partial(sequential, 1)))
add("reduceUnrolled4", GROUP, "each thread loads 4", partial(reduction, partial(sequential, 4), parts=4))
add("reduceUnrolled8", GROUP, "each thread loads 8", partial(reduction, partial(sequential, 8), parts=8))
add("reduceShuffle", GROUP, "the last warp by shuffles", partial(reduction, reduceShuffle))
add(
    "reduceDynamic",
    GROUP,
    "dynamic shared memory, any number of threads",
    partial(reduction, reduceDynamic, dynamic_shared=4 * THREADS),
)
