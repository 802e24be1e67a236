"""Matrix products as CUDA courses teach them, C = A·B with 256 × 256 float32, and two that do better.

Elements are small integers, so every order of summation gives the same float32, and the oracle holds bit for bit.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import float32

from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit, kernel

SIZE = 256
STRIP = 64
DEPTH = 16
EACH = 4


@kernel
def productGlobal(a: Array, b: Array, c: Array) -> None:
    """No shared memory."""
    x, y = cuda.grid(2)
    total = float32(0)
    for k in range(a.shape[1]):
        total += a[y, k] * b[k, x]
    c[y, x] = total


def tiled(tile: int, pad: int, barrier: bool = True) -> Dispatcher:
    """Through tiles in shared memory whose rows are `pad` elements longer than the tile.

    Without the `barrier` behind the inner loop, a fast warp overwrites the tile that a slow one still reads.
    """
    row = tile + pad

    @jit
    def productTiled(a: Array, b: Array, c: Array) -> None:
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
            if barrier:
                cuda.syncthreads()
        c[y, x] = total

    return productTiled


def unrolled(tile: int, pad: int) -> Dispatcher:
    """Four products a turn of the inner loop, written out."""
    row = tile + pad

    @jit
    def productUnrolled(a: Array, b: Array, c: Array) -> None:
        shared_a = cuda.shared.array((tile, row), float32)
        shared_b = cuda.shared.array((tile, row), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // tile):
            shared_a[ty, tx] = a[y, t * tile + tx]
            shared_b[ty, tx] = b[t * tile + ty, x]
            cuda.syncthreads()
            for k in range(0, tile, 4):
                total += shared_a[ty, k] * shared_b[k, tx]
                total += shared_a[ty, k + 1] * shared_b[k + 1, tx]
                total += shared_a[ty, k + 2] * shared_b[k + 2, tx]
                total += shared_a[ty, k + 3] * shared_b[k + 3, tx]
            cuda.syncthreads()
        c[y, x] = total

    return productUnrolled


def dynamic(tile: int, pad: int) -> Dispatcher:
    """Both tiles in dynamic shared memory."""
    row = tile + pad
    second = tile * row

    @jit
    def productDynamic(a: Array, b: Array, c: Array) -> None:
        s = cuda.shared.array(0, float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // tile):
            s[ty * row + tx] = a[y, t * tile + tx]
            s[second + ty * row + tx] = b[t * tile + ty, x]
            cuda.syncthreads()
            for k in range(tile):
                total += s[ty * row + k] * s[second + k * row + tx]
            cuda.syncthreads()
        c[y, x] = total

    return productDynamic


def transposed(tile: int, pad: int) -> Dispatcher:
    """A's tile lies transposed: it is stored by columns, where a padded row does help."""
    row = tile + pad

    @jit
    def productTransposedA(a: Array, b: Array, c: Array) -> None:
        shared_a = cuda.shared.array((tile, row), float32)
        shared_b = cuda.shared.array((tile, tile), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // tile):
            shared_a[tx, ty] = a[y, t * tile + tx]
            shared_b[ty, tx] = b[t * tile + ty, x]
            cuda.syncthreads()
            for k in range(tile):
                total += shared_a[k, ty] * shared_b[k, tx]
            cuda.syncthreads()
        c[y, x] = total

    return productTransposedA


def registers(pad: int) -> Dispatcher:
    """Each of 16 × 16 threads computes 4 × 4 elements from strips of 64: shared memory is read 16 bytes at once.

    A's strip is stored by columns; a padding of 4 keeps its rows aligned for 16-byte loads.
    """
    row = STRIP + pad

    @jit
    def productRegisters(a: Array, b: Array, c: Array) -> None:
        strip_a = cuda.shared.array((DEPTH, row), float32)
        strip_b = cuda.shared.array((DEPTH, STRIP), float32)
        sums = cuda.local.array((EACH, EACH), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * STRIP, cuda.blockIdx.y * STRIP
        for i in range(EACH):
            for j in range(EACH):
                sums[i, j] = 0
        for t in range(0, a.shape[1], DEPTH):
            for i in range(EACH):
                strip_a[tx, ty + DEPTH * i] = a[top + ty + DEPTH * i, t + tx]
                strip_b[ty, tx + DEPTH * i] = b[t + ty, left + tx + DEPTH * i]
            cuda.syncthreads()
            for k in range(DEPTH):
                for i in range(EACH):
                    for j in range(EACH):
                        sums[i, j] += strip_a[k, EACH * ty + i] * strip_b[k, EACH * tx + j]
            cuda.syncthreads()
        for i in range(EACH):
            for j in range(EACH):
                c[top + EACH * ty + i, left + EACH * tx + j] = sums[i, j]

    return productRegisters


def product(
    factory: Callable[..., Dispatcher], tile: int, threads: int = 0, checked: bool = True, shared: int = 0
) -> Launch:
    a, b = (small_integers("float32", SIZE, SIZE, seed=seed) for seed in (0, 1))
    side = threads or tile
    c = np.zeros((SIZE, SIZE), np.float32)
    grid = (SIZE // tile, SIZE // tile)
    return Launch(factory(), grid, (side, side), (a, b, c), {2: a @ b} if checked else {}, shared)


def group(tile: int) -> str:
    return f"products, tiles of {tile}"


for tile in (16, 32):
    name = f"{tile}"
    add(f"productGlobal{name}", group(tile), "no shared memory", partial(product, productGlobal, tile))
    add(f"productTiled{name}", group(tile), "tiles", partial(product, partial(tiled, tile, 0), tile))
    add(
        f"productNoBarrier{name}",
        group(tile),
        "tiles, a barrier missing",
        partial(product, partial(tiled, tile, 0, barrier=False), tile, checked=False),
        race="one of its barriers is missing, so its result depends on which warp is faster",
    )
    add(f"productPad{name}", group(tile), "padded", partial(product, partial(tiled, tile, 1), tile))
    add(f"productUnrolled{name}", group(tile), "unrolled", partial(product, partial(unrolled, tile, 0), tile))
    add(
        f"productPadUnrolled{name}",
        group(tile),
        "padded and unrolled",
        partial(product, partial(unrolled, tile, 1), tile),
    )
    add(
        f"productDynamicPad{name}",
        group(tile),
        "padded, dynamic shared memory",
        partial(product, partial(dynamic, tile, 1), tile, shared=8 * tile * (tile + 1)),
    )
    add(
        f"productTransposedA{name}",
        group(tile),
        "A transposed in its tile",
        partial(product, partial(transposed, tile, 0), tile),
    )
    add(
        f"productTransposedAPad{name}",
        group(tile),
        "A transposed in its tile, padded",
        partial(product, partial(transposed, tile, 1), tile),
    )
for pad, name, about in ((0, "productRegisters", ""), (4, "productRegistersPad", f", rows of {STRIP + 4}")):
    add(
        name,
        "products, 4 × 4 a thread",
        f"strips of 64, 16-byte loads{about}",
        partial(product, partial(registers, pad), STRIP, threads=STRIP // EACH),
    )
