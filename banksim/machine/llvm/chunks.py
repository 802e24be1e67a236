"""The numbers of the blocks of a launch, in runs that a worker executes at once."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt


def in_chunks(blocks: Sequence[int] | npt.NDArray[np.int64], chunk: int, without: Collection[int]) -> Iterator[range]:
    """The blocks' numbers in runs of up to `chunk`, leaving some out."""
    runs = [blocks] if isinstance(blocks, range) else runs_of(np.asarray(blocks, np.int64))
    for run in runs:
        start = run.start
        for stop in (*sorted(number for number in without if number in run), run.stop):
            yield from (range(first, min(first + chunk, stop)) for first in range(start, stop, chunk))
            start = stop + 1


def runs_of(numbers: npt.NDArray[np.int64]) -> list[range]:
    """Ascending numbers as ranges."""
    if not len(numbers):
        return []
    begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    return [range(int(a), int(b) + 1) for a, b in zip(numbers[begins], numbers[[*begins[1:] - 1, -1]], strict=True)]
