"""Accesses of other widths than 4 bytes, structs, strides within half-warps, and broadcast."""

from functools import partial

import numpy as np
from numba import complex64, float32, float64, from_dtype, int8

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit, kernel

THREADS = 256
BLOCKS = 132
WARPS = THREADS // 32
ROUNDS = 16
POINT = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32)], align=True)
TYPES = {"float64": float64, "complex64": complex64, "int8": int8}


def reversed_in_blocks(dtype: str) -> Dispatcher:
    """Every block turns its part around."""
    kind = TYPES[dtype]

    @jit
    def reverse(out: Array, a: Array) -> None:
        s = cuda.shared.array(THREADS, kind)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t] = a[i]
        cuda.syncthreads()
        out[i] = s[THREADS - 1 - t]

    return reverse


def strided(dtype: str, stride: int) -> Dispatcher:
    """Thread t stores at t and loads at t · stride."""
    kind = TYPES[dtype]

    @jit
    def stride_load(out: Array, a: Array) -> None:
        s = cuda.shared.array(THREADS, kind)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t] = a[i]
        cuda.syncthreads()
        out[i] = s[t * stride % THREADS]

    return stride_load


def structs() -> Dispatcher:
    """An array of structs of three floats: 12 bytes apart, which is odd in words, so nothing conflicts."""
    kind = from_dtype(POINT)

    @jit
    def structOf3(out: Array, a: Array) -> None:
        s = cuda.shared.array(THREADS, kind)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t].x = a[i, 0]
        s[t].y = a[i, 1]
        s[t].z = a[i, 2]
        cuda.syncthreads()
        other = THREADS - 1 - t
        out[i] = s[other].x + 2 * s[other].y + 4 * s[other].z

    return structOf3


def half_warps(stride: int) -> Dispatcher:
    """Lane l of each half-warp, 0 to 15, loads at l · stride; the second half one word on. Summed over rounds."""
    words = 16 * stride + ROUNDS + 1

    @jit
    def halfWarpStride(out: Array, a: Array) -> None:
        s = cuda.shared.array(words, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        for k in range(t, words, THREADS):
            s[k] = a[k]
        cuda.syncthreads()
        first = t % 16 * stride + t // 16 % 2
        total = float32(0)
        for k in range(ROUNDS):
            total += s[first + k]
        out[i] = total

    return halfWarpStride


@kernel
def broadcastWord(out: Array, a: Array) -> None:
    """All threads of a warp load the same word, round by round another one."""
    s = cuda.shared.array(THREADS, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    s[t] = a[i]
    cuda.syncthreads()
    total = float32(0)
    for k in range(ROUNDS):
        total += s[t // 32 + WARPS * k]
    out[i] = total


def inputs(dtype: str) -> np.ndarray:
    low, high = (-100, 100) if dtype == "int8" else (-1000, 1000)
    a = small_integers("float64", BLOCKS * THREADS, low=low, high=high)
    return (a + 1j * a[::-1]).astype(dtype) if dtype == "complex64" else a.astype(dtype)


def reverse(dtype: str) -> Launch:
    a = inputs(dtype)
    expected = np.ascontiguousarray(a.reshape(BLOCKS, THREADS)[:, ::-1]).ravel()
    return Launch(reversed_in_blocks(dtype), (BLOCKS,), (THREADS,), (np.zeros_like(a), a), {0: expected})


def stride_of(dtype: str, stride: int) -> Launch:
    a = inputs(dtype)
    expected = a.reshape(BLOCKS, THREADS)[:, np.arange(THREADS) * stride % THREADS].ravel()
    return Launch(strided(dtype, stride), (BLOCKS,), (THREADS,), (np.zeros_like(a), a), {0: expected})


def points() -> Launch:
    a = small_integers("float32", BLOCKS * THREADS, 3, low=-1000, high=1000)
    weighted = a @ np.array([1, 2, 4], np.float32)
    expected = np.ascontiguousarray(weighted.reshape(BLOCKS, THREADS)[:, ::-1]).ravel()
    out = np.zeros(BLOCKS * THREADS, np.float32)
    return Launch(structs(), (BLOCKS,), (THREADS,), (out, a), {0: expected})


def halves(stride: int) -> Launch:
    a = small_integers("float32", 16 * stride + ROUNDS + 1, low=-1000, high=1000)
    t = np.arange(THREADS)
    first = t % 16 * stride + t // 16 % 2
    sums = a[first[:, None] + np.arange(ROUNDS)].sum(1, dtype=np.float32)
    out = np.zeros(BLOCKS * THREADS, np.float32)
    return Launch(half_warps(stride), (BLOCKS,), (THREADS,), (out, a), {0: np.tile(sums, BLOCKS)})


def words() -> Launch:
    a = small_integers("float32", BLOCKS * THREADS, low=-1000, high=1000)
    parts = a.reshape(BLOCKS, THREADS)[:, : WARPS * ROUNDS].reshape(BLOCKS, ROUNDS, WARPS)
    sums = np.repeat(parts.sum(1, dtype=np.float32).ravel(), 32)
    return Launch(broadcastWord(), (BLOCKS,), (THREADS,), (np.zeros_like(a), a), {0: sums})


GROUP = "access widths"
for dtype in TYPES:
    add(f"reverse_{dtype}", GROUP, f"{dtype}, turned around", partial(reverse, dtype))
for dtype, stride in (("float64", 2), ("complex64", 2), ("complex64", 16), ("int8", 4), ("int8", 5)):
    add(f"stride{stride}_{dtype}", GROUP, f"{dtype}, loaded {stride} apart", partial(stride_of, dtype, stride))
add("structOf3", GROUP, "structs of three floats", partial(points))
add("broadcastWord", GROUP, "a warp loads one word", partial(words))
for stride in (1, 2, 3, 4, 8, 16, 32):
    add(f"halfWarpStride{stride}", "half-warp strides", f"half-warps load {stride} apart", partial(halves, stride))
