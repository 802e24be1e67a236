"""Sets of blocks, and how conditions narrow them to those that are alike.

A region is a box of blocks at regular distances: from its first block, along each axis of the grid so many further ones
(`count`), each `step` away from the one before. The first block is executed; what it did holds for the whole region as
long as bounds hold that are linear in the numbers of steps. Those that do not hold everywhere narrow the region.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt

from banksim.machine.state import layout
from banksim.requests.kinds import LANES
from banksim.system.compiled_types import Integers

AXES = 3


class Region(Protocol):
    """What the code of `follower` knows of the region."""

    count: Annotated[Integers, "i8", AXES]  # how many further blocks it has along each axis
    step: Annotated[Integers, "i8", AXES]
    # contexts for the copies of local memory: a slope for each axis, and what is unknown
    local: Annotated[Integers, "u8", AXES + 1]
    below: Annotated[Integers, "i8", LANES]  # the bound that is to narrow it
    above: Annotated[Integers, "i8", LANES]
    slopes: Annotated[Integers, "i8", (AXES, LANES)]


REGION = layout(Region)
STEPS = np.array(sorted({*range(2, 65), *(1 << n for n in range(7, 13))}), np.uint64)
"""Factors by which a step is lengthened: small ones, and powers of two, which undo what wraps around."""
ONE = np.ones(1, np.uint64)
Three = tuple[int, int, int]
Row = tuple[int, ...]
"""(below, above, slopes …) of a lane."""


@dataclass(frozen=True)
class Box:
    """Blocks of a grid: from `first` on, along each axis `count` further ones at distances of `step`."""

    first: Three
    step: Three
    count: Three

    @property
    def blocks(self) -> int:
        return prod(n + 1 for n in self.count)

    def rest(self, count: Sequence[int]) -> "list[Box]":
        """What is left of this box without a smaller one that has the same first block, as boxes."""
        found = []
        inner = list(self.count)
        for axis in range(AXES):
            if count[axis] < self.count[axis]:
                first, left = list(self.first), list(inner)
                first[axis] += (count[axis] + 1) * self.step[axis]
                left[axis] = self.count[axis] - count[axis] - 1
                found.append(Box(three(first), self.step, three(left)))
            inner[axis] = count[axis]
        return found

    def in_steps(self, axis: int, longer: int) -> "list[Box]":
        """The same blocks as boxes with `longer` times the step along an axis; that with the first block first."""
        found = []
        for start in range(min(longer, self.count[axis] + 1)):
            first, step, count = list(self.first), list(self.step), list(self.count)
            first[axis] += start * step[axis]
            step[axis] *= longer
            count[axis] = (count[axis] - start) // longer
            found.append(Box(three(first), three(step), three(count)))
        return found

    def number(self, grid: Three) -> int:
        """The number of the first block in the grid."""
        x, y, z = self.first
        return x + grid[0] * (y + grid[1] * z)

    @classmethod
    def of_one(cls, number: int, grid: Three) -> "Box":
        """The block of a number alone."""
        x, y, _ = grid
        return cls((number % x, number // x % y, number // x // y), (1, 1, 1), (0, 0, 0))

    def corners(self, grid: Three) -> list[int]:
        """The numbers of the blocks at its corners."""
        ends = (sorted({at, at + step * n}) for at, step, n in zip(self.first, self.step, self.count, strict=True))
        return [Box(three(place), self.step, (0, 0, 0)).number(grid) for place in product(*ends)]

    def least_multiple(self, of: int, grid: Three) -> int | None:
        """The lowest number among those of the blocks that is a multiple of `of`; None if there is none."""
        for number in range(0, prod(grid), of):
            place = number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]
            if all(
                0 <= at - first <= step * n and (at - first) % step == 0
                for at, first, step, n in zip(place, self.first, self.step, self.count, strict=True)
            ):
                return number
        return None


def three(numbers: Sequence[int]) -> Three:
    x, y, z = numbers
    return x, y, z


def halves(row: Row) -> Iterator[tuple[int, Row]]:
    """A bound from below and above, as two bounds of the form room + Σ slope·k ≥ 0."""
    below, above, *slopes = row
    yield below, tuple(slopes)
    yield above, tuple(-s for s in slopes)


def narrowed(count: Sequence[int], rows: Sequence[Row]) -> list[int]:
    """The largest box that was found in which the bounds of all lanes hold. They hold at its first block."""
    now = list(count)
    for row in rows:
        for room, slopes in halves(row):
            now = within(now, max(room, 0), slopes)
    return now


def within(count: list[int], room: int, slopes: Sequence[int]) -> list[int]:
    """The box narrowed along one axis, or if that is not enough along several, so that room + Σ slope·k ≥ 0."""
    falls = {axis: s for axis, s in enumerate(slopes) if s < 0 and count[axis]}
    while room + sum(s * count[axis] for axis, s in falls.items()) < 0:
        choices = []
        for axis, s in falls.items():
            left = room + sum(t * count[other] for other, t in falls.items() if other != axis)
            if left >= 0:
                choices.append([n if a != axis else left // -s for a, n in enumerate(count)])
        if choices:
            return max(choices, key=lambda one: prod(n + 1 for n in one))
        steepest = max(falls, key=lambda axis: -falls[axis] * count[axis])
        count = [n if axis != steepest else 0 for axis, n in enumerate(count)]
        del falls[steepest]
    return count


def alone(
    count: int, rows: Sequence[Row], axis: int, longer: npt.NDArray[np.uint64], bits: int
) -> npt.NDArray[np.uint64]:
    """How long an axis can be if the box has no other, for each of some longer steps. No narrowed box is longer."""
    room = np.array([row[:2] for row in rows], np.int64).clip(0).astype(np.uint64)
    unused = np.uint64(64 - bits)
    slopes = np.array([row[2 + axis] for row in rows], np.int64).astype(np.uint64)[:, None] * longer << unused
    rises = slopes < 1 << 63
    steps = np.where(rises, slopes, -slopes) >> unused
    left = np.where(rises, room[:, 1:], room[:, :1]) // np.maximum(steps, 1)
    lengths: npt.NDArray[np.uint64] = np.where(steps > 0, left, count).min(axis=0, initial=count)
    return lengths


def gathered(rows: Iterable[Row]) -> list[Row]:
    """The same bounds, one for each combination of slopes: the tightest."""
    closest: dict[tuple[int, ...], tuple[int, int]] = {}
    for below, above, *slopes in rows:
        known = closest.get(tuple(slopes), (below, above))
        closest[tuple(slopes)] = min(known[0], below), min(known[1], above)
    return [(*room, *slopes) for slopes, room in sorted(closest.items())]


def longer_step(count: Sequence[int], rows: Sequence[Row], bits: int) -> tuple[int, int] | None:
    """(axis, factor) by which to lengthen a step, if the bounds then hold for more blocks at once: slopes count modulo
    2^bits. None where that helps little."""
    best, most = None, 2 * prod(n + 1 for n in narrowed(count, rows))
    unchanged = [int(alone(n, rows, axis, ONE, 64)[0]) for axis, n in enumerate(count)]
    for axis, n in enumerate(count):
        steps = STEPS[n >= STEPS]
        others = prod(m + 1 for a, m in enumerate(unchanged) if a != axis)
        for longer, length in zip(steps, alone(n, rows, axis, steps, bits), strict=True):
            fewer = [m // int(longer) if a == axis else m for a, m in enumerate(count)]
            if others * (min(int(length), fewer[axis]) + 1) <= most:
                continue
            blocks = prod(m + 1 for m in narrowed(fewer, [row_in_steps(row, axis, int(longer), bits) for row in rows]))
            if blocks > most:
                best, most = (axis, int(longer)), blocks
    return best


def row_in_steps(row: Row, axis: int, longer: int, bits: int) -> Row:
    below, above, *slopes = row
    half = 1 << bits - 1
    slopes[axis] = (slopes[axis] * longer + half) % (2 * half) - half
    return below, above, *slopes
