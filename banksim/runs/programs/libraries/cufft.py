"""Fourier transforms of cuFFT over NumPy's. The results are those of the definition, rounded as NumPy rounds: the last
digits differ from cuFFT's."""

from collections.abc import Callable, Sequence

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory

MOST_DIMENSIONS = 3
FORWARD = -1
TYPES: dict[str, type[np.generic]] = {
    "C": np.complex64,
    "R": np.float32,
    "Z": np.complex128,
    "D": np.float64,
}
"""The letters of a transform's name, such as R2C."""


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Transform `batch` arrays of `rank` axes. `words`: both addresses, the direction, the rank, batch, sizes, and
    the layouts of input and output: the sizes that each is stored in, and how far apart its values and arrays are."""
    source, target, direction, rank, batch, *rest = words
    sizes = rest[:rank]
    layouts = rest[MOST_DIMENSIONS : 2 * MOST_DIMENSIONS + 2], rest[2 * MOST_DIMENSIONS + 2 :]
    kinds = name[0], name[2]
    half = [*sizes[:-1], sizes[-1] // 2 + 1] if set(kinds) & set("RD") else sizes
    shapes = ([batch, *(sizes if kind in "RD" else half)] for kind in kinds)
    given, result = (
        view(memory, address, shape, layout, TYPES[kind])
        for address, shape, layout, kind in zip((source, target), shapes, layouts, kinds, strict=True)
    )
    axes = tuple(range(1, rank + 1))
    if kinds[0] in "RD":
        result[:] = np.fft.rfftn(given, axes=axes)
    elif kinds[1] in "RD":
        result[:] = np.fft.irfftn(given, sizes, axes, norm="forward")
    else:
        transform: Callable[..., Array] = np.fft.fftn if direction == FORWARD else np.fft.ifftn
        result[:] = transform(given, axes=axes, norm="backward" if direction == FORWARD else "forward")
    return b""


def view(memory: Memory, address: int, shape: Sequence[int], layout: Sequence[int], dtype: type[np.generic]) -> Array:
    """An array [batch, …] of the values that lie at an address as `layout` tells."""
    stored, (stride, distance) = layout[: len(shape) - 1], layout[MOST_DIMENSIONS:]
    steps = [stride]
    for size in reversed(stored[1:]):
        steps.insert(0, steps[0] * size)
    steps.insert(0, distance)
    if min(steps) < 0:
        raise UnsupportedError(f"{memory.what}: distances below 0 between values")
    reach = sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) + 1
    values = memory.array(address, reach, dtype)
    return np.lib.stride_tricks.as_strided(values, shape, [step * values.itemsize for step in steps])
