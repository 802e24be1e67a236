"""Which elements each thread holds: index[thread, value] into a layout, as CuTe's thread-value layouts say."""

from math import prod

import numpy as np

from banksim.errors import InputError
from banksim.layouts.algebra import Layout, Numbers, written

MOST_THREADS = 1024


def of_thread_value_layout(tv: Layout, tile: Layout) -> Numbers:
    """A layout of (thread, value …): its places are indices of the tile, as in CuTe's `composition(tile, tv)`."""
    threads = tv.sizes[0]
    require_threads(tv, threads)
    index = tv.at(np.arange(tv.size)).reshape(-1, threads).T
    if index.min() < 0 or index.max() >= tile.size:
        thread, value = np.argwhere((index < 0) | (index >= tile.size))[0]
        raise InputError(
            f"{tv}: value {value} of thread {thread} is element {index[thread, value]}, and {tile} has {tile.size}"
        )
    return index


def of_tiled_copy(threads: Layout, values: Layout, tile: Layout) -> Numbers:
    """The two layouts of CuTe's `make_tiled_copy`: coordinates of a tile → the thread, and → the value. Each thread's
    values lie side by side, and the whole is repeated over the tile."""
    sizes = tile.sizes
    for one in (threads, values):
        if len(one.sizes) != len(sizes):
            raise InputError(f"{one} has {len(one.sizes)} modes, and {tile} has {len(sizes)}: give as many")
    covered = [t * v for t, v in zip(threads.sizes, values.sizes, strict=True)]
    for number, (size, part) in enumerate(zip(sizes, covered, strict=True)):
        if size % part:
            raise InputError(
                f"{threads} threads with {values} values take {part} elements of mode {number}, which has {size}: "
                f"{size} is no multiple of {part}"
            )
    require_threads(threads, threads.size)
    thread_at, value_at = inverse(threads, "thread"), inverse(values, "value")
    repeats = [size // part for size, part in zip(sizes, covered, strict=True)]
    rest = np.arange(prod(repeats))
    index = np.zeros((threads.size, len(rest), values.size), np.int64)
    step = 1
    for mode, size in enumerate(sizes):
        thread = coordinate(thread_at, threads.sizes, mode)[:, None, None]
        value = coordinate(value_at, values.sizes, mode)[None, None, :]
        again = coordinate(rest, repeats, mode)[None, :, None]
        index += step * (value + values.sizes[mode] * (thread + threads.sizes[mode] * again))
        step *= size
    return index.reshape(threads.size, -1)


def require_threads(layout: Layout, threads: int) -> None:
    if threads > MOST_THREADS:
        raise InputError(f"{layout} has {threads} threads: a block has at most {MOST_THREADS}")


def inverse(layout: Layout, what: str) -> Numbers:
    """The index at which a layout has 0, 1, 2, …; each once."""
    at = layout.at(np.arange(layout.size))
    if not np.array_equal(np.sort(at), np.arange(layout.size)):
        raise InputError(
            f"{layout}: each {what} from 0 to {layout.size - 1} has to stand once in the shape {written(layout.shape)}"
        )
    return np.argsort(at)


def coordinate(index: Numbers, sizes: list[int] | tuple[int, ...], mode: int) -> Numbers:
    """The coordinate of a mode, the first of which runs fastest."""
    found: Numbers = index // prod(sizes[:mode]) % sizes[mode]
    return found
