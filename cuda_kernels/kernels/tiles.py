"""The textbook's tiles: a block writes its thread numbers into shared memory by rows or columns, and reads them back.

`out` shows the tile's way: thread (x, y) puts what it reads at its own place. Square tiles have block (side, side);
of the rectangular ones, tile[height][width], a thread reads column-wise through its number: row = number / height,
column = number % height.
"""

from functools import partial
from itertools import product

import numpy as np
from numba import int32

from banksim.errors import InputError
from cuda_kernels.catalogue import Launch, add
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit


def static(store_columns: bool, load_columns: bool, rows: int, row: int) -> Dispatcher:
    @jit
    def tileStatic(out: Array) -> None:
        tile = cuda.shared.array((rows, row), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        number = y * cuda.blockDim.x + x
        tile[(x, y) if store_columns else (y, x)] = number
        cuda.syncthreads()
        out[number] = tile[(x, y) if load_columns else (y, x)]

    return tileStatic


def rectangle_by_columns(rows: int, row: int) -> Dispatcher:
    @jit
    def setRowReadColRect(out: Array) -> None:
        tile = cuda.shared.array((rows, row), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        number = y * cuda.blockDim.x + x
        tile[y, x] = number
        cuda.syncthreads()
        out[number] = tile[number % rows, number // rows]

    return setRowReadColRect


def dynamic(store_columns: bool, load_columns: bool, row: int) -> Dispatcher:
    """The square tiles in dynamic shared memory, which has one dimension."""

    @jit
    def tileDyn(out: Array) -> None:
        tile = cuda.shared.array(0, int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        number = y * cuda.blockDim.x + x
        by_row, by_column = y * row + x, x * row + y
        tile[by_column if store_columns else by_row] = number
        cuda.syncthreads()
        out[number] = tile[by_column if load_columns else by_row]

    return tileDyn


def rectangle_dynamic(rows: int, row: int) -> Dispatcher:
    @jit
    def setRowReadColRectDyn(out: Array) -> None:
        tile = cuda.shared.array(0, int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        number = y * cuda.blockDim.x + x
        tile[y * row + x] = number
        cuda.syncthreads()
        out[number] = tile[number % rows * row + number // rows]

    return setRowReadColRectDyn


def sized(block: tuple[int, ...]) -> tuple[int, int]:
    """Width and height of a tile with a thread for each element."""
    width, height = (*block, 1)[:2]
    if len(block) > 2 or not 0 < width * height <= 1024:
        raise InputError(f"--block {','.join(map(str, block))}: a tile's block is X,Y with at most 1024 threads")
    return width, height


def padding(pad: int) -> int:
    if not 0 <= pad <= 32:
        raise InputError(f"--pad {pad}: the elements by which a row is longer are 0 to 32")
    return pad


def square(store: bool, load: bool, is_dynamic: bool, block: tuple[int, ...] = (32, 32), pad: int = 0) -> Launch:
    side, height = sized(block)
    if side != height:
        raise InputError(f"--block {side},{height}: this tile is square, give the same number twice")
    row = side + padding(pad)
    kernel = dynamic(store, load, row) if is_dynamic else static(store, load, side, row)
    numbers = np.arange(side * side, dtype=np.int32)
    way = numbers if store == load else numbers.reshape(side, side).T.ravel()
    out = np.full(side * side, -1, np.int32)
    return Launch(kernel, (1,), (side, side), (out,), {0: way}, 4 * side * row if is_dynamic else 0)


def rectangle(how: str, block: tuple[int, ...] = (32, 16), pad: int = 0) -> Launch:
    width, height = sized(block)
    row = width + padding(pad)
    numbers = np.arange(width * height, dtype=np.int32)
    way, shared = numbers, 0
    if how == "rows":
        kernel = static(False, False, height, row)
    elif how == "columns":
        kernel = static(True, True, width, height + pad)
    else:
        is_dynamic = how == "dynamic"
        kernel = (rectangle_dynamic if is_dynamic else rectangle_by_columns)(height, row)
        way = numbers.reshape(height, width).T.ravel()
        shared = 4 * height * row if is_dynamic else 0
    out = np.full(width * height, -1, np.int32)
    return Launch(kernel, (1,), (width, height), (out,), {0: way}, shared)


def padded(pad: int) -> str:
    return f", rows {pad} longer" if pad else ""


WAYS = ((False, False), (True, True), (False, True), (True, False))
"""By columns instead of by rows: the stores, the loads."""

for (store, load), is_dynamic, pad in product(WAYS, (False, True), (0, 1, 2)):
    words = {False: "row", True: "column"}
    add(
        f"set{'Col' if store else 'Row'}Read{'Col' if load else 'Row'}"
        f"{'Dyn' if is_dynamic else ''}{('', 'Pad', 'Pad2')[pad]}",
        "square tiles",
        f"store by {words[store]}s, load by {words[load]}s"
        f"{', dynamic shared memory' if is_dynamic else ''}{padded(pad)}",
        partial(square, store, load, is_dynamic, pad=pad),
    )

for name, how, pad, about in (
    ("setRowReadRowRect", "rows", 0, "store by rows, load by rows"),
    ("setColReadColRect", "columns", 0, "store by columns, load by columns"),
    ("setRowReadColRect", "static", 0, "store by rows, load by columns"),
    ("setRowReadColRectDyn", "dynamic", 0, "store by rows, load by columns, dynamic shared memory"),
    ("setRowReadColRectPad", "static", 2, f"store by rows, load by columns{padded(2)}"),
    ("setRowReadColRectPad1", "static", 1, f"store by rows, load by columns{padded(1)}"),
    ("setRowReadColRectDynPad", "dynamic", 2, f"store by rows, load by columns, dynamic{padded(2)}"),
):
    add(name, "rectangular tiles", about, partial(rectangle, how, pad=pad))
