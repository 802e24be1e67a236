"""Stencils with a halo in shared memory; coefficients and inputs are integers, so float32 adds them exactly."""

from functools import partial

import numpy as np
from numba import float32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, cuda, kernel

THREADS = 256
RADIUS = 4
LINE = THREADS + 2 * RADIUS
WIDTH, HEIGHT = 32, 8
FIELD = (HEIGHT + 2, WIDTH + 2)
SIZE = 1024


@kernel
def stencil1D(out: Array, a: Array) -> None:
    """Nine points: 4·a[i] + Σ (4 − r)·(a[i − r] + a[i + r]), zero beyond the ends."""
    s = cuda.shared.array(LINE, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    s[t + RADIUS] = a[i]
    if t < RADIUS:
        s[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        s[t + RADIUS + THREADS] = a[i + THREADS] if i + THREADS < a.size else float32(0)
    cuda.syncthreads()
    total = float32(RADIUS) * s[t + RADIUS]
    for r in range(1, RADIUS):
        total += float32(RADIUS - r) * (s[t + RADIUS - r] + s[t + RADIUS + r])
    out[i] = total


@kernel
def stencil2D(out: Array, a: Array) -> None:
    """Five points: the neighbours' sum minus four times the middle, zero beyond the edges."""
    s = cuda.shared.array(FIELD, float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    s[ty, tx] = a[y, x]
    if tx == 1:
        s[ty, 0] = a[y, x - 1] if x > 0 else float32(0)
    if tx == WIDTH:
        s[ty, WIDTH + 1] = a[y, x + 1] if x + 1 < a.shape[1] else float32(0)
    if ty == 1:
        s[0, tx] = a[y - 1, x] if y > 0 else float32(0)
    if ty == HEIGHT:
        s[HEIGHT + 1, tx] = a[y + 1, x] if y + 1 < a.shape[0] else float32(0)
    cuda.syncthreads()
    out[y, x] = s[ty - 1, tx] + s[ty + 1, tx] + s[ty, tx - 1] + s[ty, tx + 1] - float32(4) * s[ty, tx]


def one_dimension() -> Launch:
    a = small_integers("float32", 1 << 21, low=-8, high=9)
    wide = np.pad(a, RADIUS)
    weights = [RADIUS - abs(r) for r in range(-RADIUS, RADIUS + 1)]
    expected = sum(w * wide[k : k + a.size] for k, w in enumerate(weights))
    return Launch(stencil1D(), (a.size // THREADS,), (THREADS,), (np.zeros_like(a), a), {0: np.asarray(expected)})


def two_dimensions() -> Launch:
    a = small_integers("float32", SIZE, SIZE, low=-8, high=9)
    wide = np.pad(a, 1)
    expected = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * a
    grid = (SIZE // WIDTH, SIZE // HEIGHT)
    return Launch(stencil2D(), grid, (WIDTH, HEIGHT), (np.zeros_like(a), a), {0: expected})


add("stencil1D", "stencils", "9 points on a stencil1D, halo of 4", partial(one_dimension))
add("stencil2D", "stencils", "5 points in a stencil2D, halo of 1", partial(two_dimensions))
