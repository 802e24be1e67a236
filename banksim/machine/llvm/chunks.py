"""The numbers of the blocks of a launch, in runs that a worker executes at once."""

import time
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat

import numpy as np
import numpy.typing as npt

QUICK = 5e-4
"""Seconds of a run of blocks for which the next one may be longer."""


def in_chunks(
    blocks: Sequence[int] | npt.NDArray[np.int64], chunk: int | Iterator[int], without: Collection[int]
) -> Iterator[range]:
    """The blocks' numbers in runs of up to `chunk`, or each of up to the next of these, leaving some out."""
    runs = [blocks] if isinstance(blocks, range) else runs_of(np.asarray(blocks, np.int64))
    sizes = repeat(chunk) if isinstance(chunk, int) else chunk
    for run in runs:
        start = run.start
        for stop in (*sorted(number for number in without if number in run), run.stop):
            while start < stop:
                yield (piece := range(start, min(start + next(sizes), stop)))
                start = piece.stop
            start = stop + 1


def growing(size: int, most: int) -> Iterator[int]:
    """Sizes of runs: each twice the last one if that took no time to speak of. To begin a run takes as long as many a
    block, but workers that join a launch later want runs that are left."""
    while True:
        began = time.perf_counter()
        yield size
        if time.perf_counter() - began < QUICK:
            size = max(size, min(2 * size, most))


def runs_of(numbers: npt.NDArray[np.int64]) -> list[range]:
    """Ascending numbers as ranges."""
    if not len(numbers):
        return []
    begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    return [range(int(a), int(b) + 1) for a, b in zip(numbers[begins], numbers[[*begins[1:] - 1, -1]], strict=True)]
