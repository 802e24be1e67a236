"""One block at work in shared memory, timed by its own clock: what conflicts cost with nothing else in the way."""

from functools import partial
from itertools import product

import numpy as np
from numba import float32, float64, int32

from banksim.system.compiled_types import NumbaType
from cuda_kernels.catalogue import Launch, add, small_integers
from cuda_kernels.clocked_passes import PASSES, ROUNDS, ended, launch, started
from cuda_kernels.numba_cuda import Array, Dispatcher, cuda, jit

SIDE = 32


# ---- a tile turned over from one array to another, and brought back by rows
def turn_over(row: int, mask: int) -> Dispatcher:
    """Rows of `row` elements; `mask` 31 swizzles the columns, 0 leaves them."""

    @jit
    def blockTranspose(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        one = cuda.shared.array((SIDE, row), int32)
        other = cuda.shared.array((SIDE, row), int32)
        x, y, step = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
        for i in range(y, SIDE, step):
            one[i, x] = a[i, x]
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                for i in range(y, SIDE, step):
                    other[i, x ^ (i & mask)] = one[i, x]
                cuda.syncthreads()
                for i in range(y, SIDE, step):
                    one[i, x] = other[x, i ^ (x & mask)]
                cuda.syncthreads()
            ended(clocks, number, began)
        for i in range(y, SIDE, step):
            out[i, x] = one[i, x]

    return blockTranspose


def turned(row: int, mask: int, rows: int) -> Launch:
    a = np.arange(SIDE * SIDE, dtype=np.int32).reshape(SIDE, SIDE)
    turns = PASSES * ROUNDS
    return launch(turn_over(row, mask), (SIDE, rows), a, expected=a.T.copy() if turns % 2 else a)


for _label, _row, _mask in (("", 32, 0), ("Pad", 33, 0), ("Swizzled", 32, 31)):
    for _rows in (2, 32):
        add(
            f"blockTranspose{_label}{_rows}",
            f"a tile turned over by {_rows} warps",
            {"": "rows of 32", "Pad": "rows of 33", "Swizzled": "columns swizzled"}[_label],
            partial(turned, _row, _mask, _rows),
        )


# ---- sums
def add_up(threads: int, neighbours: bool) -> Dispatcher:
    """Halves of the array are added up, or `neighbours` first, at ever longer strides."""

    @jit
    def blockReduce(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array(threads, int32)
        t = cuda.threadIdx.x
        mine = a[t]
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                s[t] = mine
                cuda.syncthreads()
                step = 1 if neighbours else threads // 2
                while 0 < step < threads:
                    i = 2 * step * t if neighbours else t
                    if i < (threads if neighbours else step):
                        s[i] += s[i + step]
                    cuda.syncthreads()
                    step = 2 * step if neighbours else step // 2
                mine += s[0] & 1
                cuda.syncthreads()
            ended(clocks, number, began)
        out[t] = mine

    return blockReduce


def added_up(threads: int, neighbours: bool) -> Launch:
    a = small_integers("int32", threads, seed=3)
    expected = a.copy()
    for _ in range(PASSES * ROUNDS):
        expected += expected.sum() & 1
    return launch(add_up(threads, neighbours), (threads,), a, expected=expected)


for _threads in (64, 1024):
    _group = f"sum of {_threads} numbers, one block"
    add(f"blockReduceHalves{_threads}", _group, "halves: no conflicts", partial(added_up, _threads, False))
    add(f"blockReduceNeighbours{_threads}", _group, "neighbours first: strides", partial(added_up, _threads, True))


# ---- prefix sums
def scan(threads: int, pad: int) -> Dispatcher:
    """Blelloch's two sweeps over 2 · threads numbers; an index grows by one for every 32 where `pad` is 1."""
    size = 2 * threads
    room = size + pad * (size // 32)

    @jit
    def blockScan(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array(room, int32)
        t = cuda.threadIdx.x
        first, second = t + pad * (t // 32), t + threads + pad * ((t + threads) // 32)
        s[first] = a[t]
        s[second] = a[t + threads]
        cuda.syncthreads()
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                offset = 1
                count = threads
                while count > 0:
                    cuda.syncthreads()
                    if t < count:
                        i = offset * (2 * t + 1) - 1
                        j = offset * (2 * t + 2) - 1
                        s[j + pad * (j // 32)] += s[i + pad * (i // 32)]
                    offset *= 2
                    count //= 2
                if t == 0:
                    s[size - 1 + pad * ((size - 1) // 32)] = 0
                count = 1
                while count < size:
                    offset //= 2
                    cuda.syncthreads()
                    if t < count:
                        i = offset * (2 * t + 1) - 1
                        j = offset * (2 * t + 2) - 1
                        i += pad * (i // 32)
                        j += pad * (j // 32)
                        left = s[i]
                        s[i] = s[j]
                        s[j] += left
                    count *= 2
                cuda.syncthreads()
                s[first] &= 3
                s[second] &= 3
            ended(clocks, number, began)
        out[t] = s[first]
        out[t + threads] = s[second]

    return blockScan


def scanned(threads: int, pad: int) -> Launch:
    a = small_integers("int32", 2 * threads, seed=4, low=0, high=4)
    expected = a
    for _ in range(PASSES * ROUNDS):
        expected = np.concatenate(([0], np.cumsum(expected)[:-1])).astype(np.int32) & 3
    return launch(scan(threads, pad), (threads,), a, expected=expected)


for _threads in (128, 512):
    _group = f"prefix sums by {_threads} threads, one block"
    add(f"blockScan{_threads}", _group, "Blelloch's sweeps", partial(scanned, _threads, 0))
    add(f"blockScanPad{_threads}", _group, "one word more for every 32", partial(scanned, _threads, 1))


# ---- products of two tiles
def multiply(side: int, row: int, turned_over: bool) -> Dispatcher:
    """Rows of `row` elements; `turned_over`: B lies by columns."""

    @jit
    def blockProduct(out: Array, a: Array, b: Array, rounds: int, clocks: Array) -> None:
        one = cuda.shared.array((side, row), float32)
        other = cuda.shared.array((side, row), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        one[y, x] = a[y, x]
        if turned_over:
            other[x, y] = b[y, x]
        else:
            other[y, x] = b[y, x]
        total = float32(0)
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                for k in range(side):
                    total += one[y, k] * (other[x, k] if turned_over else other[k, x])
                cuda.syncthreads()
            ended(clocks, number, began)
        out[y, x] = total

    return blockProduct


def multiplied(side: int, row: int, turned_over: bool) -> Launch:
    a, b = small_integers("float32", side, side, seed=5), small_integers("float32", side, side, seed=6)
    expected = (a @ b) * np.float32(PASSES * ROUNDS)
    return launch(multiply(side, row, turned_over), (side, side), a, b, expected=expected)


for _side in (16, 32):
    _group = f"product of two tiles of {_side}²"
    add(f"blockProduct{_side}", _group, "as in the book", partial(multiplied, _side, _side, False))
    add(f"blockProductPad{_side}", _group, "rows one longer", partial(multiplied, _side, _side + 1, False))
    add(f"blockProductTurned{_side}", _group, "B turned over: columns", partial(multiplied, _side, _side, True))
    add(f"blockProductTurnedPad{_side}", _group, "B turned over, padded", partial(multiplied, _side, _side + 1, True))


# ---- histograms
def count_up(threads: int, copies: int) -> Dispatcher:
    """`copies` histograms of 32 bins, of each warp in turn."""

    @jit
    def blockHistogram(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        bins = cuda.shared.array((copies, SIDE), int32)
        t = cuda.threadIdx.x
        copy = (t // 32) % copies
        for i in range(t, copies * SIDE, threads):
            bins[i // SIDE, i % SIDE] = 0
        for number in range(clocks.shape[0]):
            began = started(number)
            for r in range(rounds):
                for k in range(8):
                    cuda.atomic.add(bins, (copy, (a[t] + k * r) % SIDE), k)
            ended(clocks, number, began)
        cuda.syncthreads()
        if t < SIDE:
            total = 0
            for i in range(copies):
                total += bins[i, t]
            out[t] = total

    return blockHistogram


def counted(threads: int, copies: int, values: int) -> Launch:
    a = (np.random.default_rng(7).integers(0, values, threads) * (SIDE // values)).astype(np.int32)
    expected = np.zeros(SIDE, np.int32)
    for r in range(ROUNDS):
        for k in range(8):
            np.add.at(expected, (a + k * r) % SIDE, k * PASSES)
    return launch(count_up(threads, copies), (threads,), a, expected=expected)


for _threads in (64, 512):
    _group = f"counts of {_threads} threads, one block"
    add(f"blockHistogram{_threads}", _group, "32 random bins", partial(counted, _threads, 1, 32))
    add(f"blockHistogramFew{_threads}", _group, "4 bins", partial(counted, _threads, 1, 4))
    add(f"blockHistogramOne{_threads}", _group, "one bin", partial(counted, _threads, 1, 1))


# ---- strides, structs, doubles
def walk(stride: int, kind: NumbaType, size: int) -> Dispatcher:
    @jit
    def blockStride(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array(size, kind)
        t = cuda.threadIdx.x
        for i in range(t, size, cuda.blockDim.x):
            s[i] = a[i]
        total = kind(0)  # type: ignore[call-overload]
        for number in range(clocks.shape[0]):
            began = started(number)
            for r in range(rounds):
                for k in range(16):
                    total += s[(t * stride + k + r) % size]
            ended(clocks, number, began)
        out[t] = total

    return blockStride


def walked(stride: int, kind: NumbaType, dtype: str, threads: int) -> Launch:
    size = 2048
    a = small_integers(dtype, size, seed=8)
    t = np.arange(threads)
    expected = np.zeros(threads, dtype)
    for r in range(ROUNDS):
        for k in range(16):
            expected += PASSES * a[(t * stride + k + r) % size]
    return launch(walk(stride, kind, size), (threads,), a, expected=expected.astype(dtype))


for _threads, _stride in product((32, 256), (1, 8, 32)):
    _group = f"words at a stride, {_threads} threads"
    _made = partial(walked, _stride, int32, "int32", _threads)
    add(f"blockStride{_stride}Of{_threads}", _group, f"stride {_stride}", _made)
for _stride in (1, 4):
    _group = "doubles at a stride, 256 threads"
    _made = partial(walked, _stride, float64, "float64", 256)
    add(f"blockDoubles{_stride}", _group, f"stride {_stride}", _made)


# ---- sorting, stencils, random places, chains
def sort(size: int) -> Dispatcher:
    @jit
    def blockSort(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array(size, int32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                k = 2
                while k <= size:
                    j = k // 2
                    while j > 0:
                        other = t ^ j
                        if other > t:
                            low, high = s[t], s[other]
                            if (low > high) == ((t & k) == 0):
                                s[t] = high
                                s[other] = low
                        cuda.syncthreads()
                        j //= 2
                    k *= 2
            ended(clocks, number, began)
        out[t] = s[t]

    return blockSort


def sorted_(size: int) -> Launch:
    a = np.random.default_rng(9).integers(0, 1000, size).astype(np.int32)
    return launch(sort(size), (size,), a, expected=np.sort(a))


def stencil(down: bool) -> Dispatcher:
    """Each thread adds its neighbours along a row of the tile; `down`: a warp's threads lie along a column."""

    @jit
    def blockStencil(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array((SIDE, SIDE), int32)
        y, x = cuda.threadIdx.y, cuda.threadIdx.x
        if down:
            y, x = x, y
        s[y, x] = a[y, x]
        cuda.syncthreads()
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                total = s[y, (x + 31) % SIDE] + s[y, x] + s[y, (x + 1) % SIDE]
                cuda.syncthreads()
                s[y, x] = total
                cuda.syncthreads()
            ended(clocks, number, began)
        out[y, x] = s[y, x]

    return blockStencil


def stenciled(down: bool) -> Launch:
    a = small_integers("int32", SIDE, SIDE, seed=11)
    expected = a
    for _ in range(PASSES * ROUNDS):
        expected = np.roll(expected, 1, 1) + expected + np.roll(expected, -1, 1)
    return launch(stencil(down), (SIDE, SIDE), a, expected=expected.astype(np.int32))


def follow(size: int) -> Dispatcher:
    """Each thread follows a chain of places: nothing but latency."""

    @jit
    def blockChain(out: Array, a: Array, rounds: int, clocks: Array) -> None:
        s = cuda.shared.array(size, int32)
        t = cuda.threadIdx.x
        for i in range(t, size, cuda.blockDim.x):
            s[i] = a[i]
        place = t
        for number in range(clocks.shape[0]):
            began = started(number)
            for _ in range(rounds):
                for _ in range(16):
                    place = s[place]
            ended(clocks, number, began)
        out[t] = place

    return blockChain


def followed(threads: int) -> Launch:
    size = 1024
    a = np.random.default_rng(12).permutation(size).astype(np.int32)
    place: np.ndarray = np.arange(threads)
    for _ in range(PASSES * ROUNDS * 16):
        place = a[place]
    return launch(follow(size), (threads,), a, expected=place.astype(np.int32))


add("blockSort", "bitonic sort, one block", "128 numbers", partial(sorted_, 128))
for _down in (False, True):
    _name = "Across" if _down else "Along"
    add(f"blockStencil{_name}", "three points of a tile", f"{_name.lower()} the rows", partial(stenciled, _down))
for _threads in (32, 128, 512):
    add(f"blockChain{_threads}", "chains of random places", f"{_threads} threads", partial(followed, _threads))
