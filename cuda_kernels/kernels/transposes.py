"""Transposition of a matrix of float32, 2048 × 2048, and copies of it as the bound."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import float32

from cuda_kernels.catalogue import Launch, add
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit, kernel

SIZE = 2048
TILE = 32
PADDED = TILE + 1


@kernel
def copyRows(out: Array, a: Array) -> None:
    x, y = cuda.grid(2)
    out[y, x] = a[y, x]


@kernel
def copyColumns(out: Array, a: Array) -> None:
    x, y = cuda.grid(2)
    out[x, y] = a[x, y]


@kernel
def transposeNaiveRows(out: Array, a: Array) -> None:
    x, y = cuda.grid(2)
    out[x, y] = a[y, x]


@kernel
def transposeNaiveColumns(out: Array, a: Array) -> None:
    x, y = cuda.grid(2)
    out[y, x] = a[x, y]


def shared(pad: int) -> Dispatcher:
    row = TILE + pad

    @jit
    def transposeShared(out: Array, a: Array) -> None:
        tile = cuda.shared.array((TILE, row), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
        tile[y, x] = a[top + y, left + x]
        cuda.syncthreads()
        out[left + y, top + x] = tile[x, y]

    return transposeShared


def dynamic(pad: int) -> Dispatcher:
    row = TILE + pad

    @jit
    def transposeDynamic(out: Array, a: Array) -> None:
        tile = cuda.shared.array(0, float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
        tile[y * row + x] = a[top + y, left + x]
        cuda.syncthreads()
        out[left + y, top + x] = tile[x * row + y]

    return transposeDynamic


def unrolled(pad: int) -> Dispatcher:
    """Each thread moves four elements, eight rows apart."""
    row = TILE + pad

    @jit
    def transposeUnrolled(out: Array, a: Array) -> None:
        tile = cuda.shared.array((TILE, row), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
        for k in range(0, TILE, 8):
            tile[y + k, x] = a[top + y + k, left + x]
        cuda.syncthreads()
        for k in range(0, TILE, 8):
            out[left + y + k, top + x] = tile[x, y + k]

    return transposeUnrolled


@kernel
def transposeDiagonal(out: Array, a: Array) -> None:
    """Blocks go through the matrix along its diagonals, so that those at work hit different memory partitions."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left = (cuda.blockIdx.x + cuda.blockIdx.y) % cuda.gridDim.x * TILE
    top = cuda.blockIdx.x * TILE
    tile[y, x] = a[top + y, left + x]
    cuda.syncthreads()
    out[left + y, top + x] = tile[x, y]


@kernel
def transposeSwizzled(out: Array, a: Array) -> None:
    """Row y of the tile is permuted by x ^ y: no padding, and yet no two elements of a column in one bank."""
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[y, x ^ y] = a[top + y, left + x]
    cuda.syncthreads()
    out[left + y, top + x] = tile[x, y ^ x]


def moved(
    factory: Callable[..., Dispatcher], transposed: bool = True, rows: int = TILE, dynamic_row: int = 0
) -> Launch:
    a = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    grid = (SIZE // TILE, SIZE // TILE)
    expected = {0: np.ascontiguousarray(a.T) if transposed else a.copy()}
    return Launch(factory(), grid, (TILE, rows), (np.zeros_like(a), a), expected, 4 * TILE * dynamic_row)


GROUP = "transposes"
add("copyRows", GROUP, "copy by rows: the bound", partial(moved, copyRows, transposed=False))
add("copyColumns", GROUP, "copy by columns", partial(moved, copyColumns, transposed=False))
add("transposeNaiveRows", GROUP, "reads rows, writes columns, no tile", partial(moved, transposeNaiveRows))
add("transposeNaiveColumns", GROUP, "reads columns, writes rows, no tile", partial(moved, transposeNaiveColumns))
add("transposeShared", GROUP, "through a tile", partial(moved, partial(shared, 0)))
add("transposeSharedPad", GROUP, "through a tile with rows of 33", partial(moved, partial(shared, 1)))
add("transposeDynamic", GROUP, "dynamic shared memory", partial(moved, partial(dynamic, 0), dynamic_row=32))
add(
    "transposeDynamicPad",
    GROUP,
    "dynamic shared memory, rows of 33",
    partial(moved, partial(dynamic, 1), dynamic_row=33),
)
add("transposeUnrolled", GROUP, "four elements a thread", partial(moved, partial(unrolled, 0), rows=8))
add("transposeUnrolledPad", GROUP, "four a thread, rows of 33", partial(moved, partial(unrolled, 1), rows=8))
add("transposeDiagonal", GROUP, "blocks along diagonals, rows of 33", partial(moved, transposeDiagonal))
add("transposeSwizzled", GROUP, "columns permuted by XOR, rows of 32", partial(moved, transposeSwizzled))
