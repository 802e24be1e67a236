"""Boxes of blocks on a lattice, as Python sees them. `compiled/records.py` says what a lattice is."""

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from banksim.classes.compiled.records import AXES, COUNT, DIRECTIONS, ROW
from banksim.system.compiled_types import Integers

Three = tuple[int, int, int]
Directions = tuple[int, ...]
"""The axes of the grid along which a region extends; of one there may be several directions."""


@dataclass(frozen=True)
class Box:
    """Blocks of a grid: from `first` on, in each direction (axis, step, count) `count` further ones at distances of
    `step`."""

    first: Three
    directions: tuple[tuple[int, int, int], ...] = ()

    @classmethod
    def of_row(cls, row: Integers, axes: Directions) -> "Box":
        """From the words of a box."""
        first, steps, counts = row[:AXES].tolist(), row[AXES:COUNT].tolist(), row[COUNT:ROW].tolist()
        return cls(three(first), tuple(one for one in zip(axes, steps, counts, strict=False) if one[2]))

    @classmethod
    def of_one(cls, number: int, grid: Three) -> "Box":
        """The block of a number alone."""
        x, y, _ = grid
        return cls((number % x, number // x % y, number // x // y))

    @property
    def blocks(self) -> int:
        return prod(count + 1 for _, _, count in self.directions)

    def number(self, grid: Three) -> int:
        """The number of the first block in the grid."""
        x, y, z = self.first
        return x + grid[0] * (y + grid[1] * z)

    def numbers(self, grid: Three) -> npt.NDArray[np.int64]:
        """The numbers of all its blocks."""
        found, distance = np.array([self.number(grid)]), (1, grid[0], grid[0] * grid[1])
        for axis, step, count in self.directions:
            found = np.add.outer(found, distance[axis] * step * np.arange(count + 1)).ravel()
        return found

    def corners(self, grid: Three) -> list[int]:
        """The numbers of the blocks at its corners."""
        ends = tuple((axis, step * count, 1) for axis, step, count in self.directions)
        return sorted(Box(self.first, ends).numbers(grid).tolist())

    def holds(self, place: Three) -> bool:
        """Whether a block is one of its."""
        left = [at - first for at, first in zip(place, self.first, strict=True)]
        for axis, step, count in sorted(self.directions, key=lambda one: -one[1]):  # the steps of others are shorter
            if left[axis] < 0:
                return False
            left[axis] -= step * min(count, left[axis] // step)
        return not any(left)

    def least_multiple(self, of: int, grid: Three) -> int | None:
        """The lowest number among those of the blocks that is a multiple of `of`; None if there is none."""
        numbers = range(0, prod(grid), of)
        return next((number for number in numbers if self.holds(Box.of_one(number, grid).first)), None)


def whole(grid: Three, cluster: Three, axes: Directions) -> list[list[int]]:
    """The words of boxes of all blocks of a grid, one for each rank in a cluster: of the first direction along each
    axis, as few steps as lead to the next cluster."""
    rows = []
    for first in product(*(range(size) for size in cluster)):
        row = [*first, *[0] * (ROW - AXES)]
        for d, axis in enumerate(axes):
            if axis not in axes[:d]:
                row[AXES + d], row[COUNT + d] = cluster[axis], grid[axis] // cluster[axis] - 1
        rows.append(row)
    return rows


def along(grid: Three, spare: int) -> Directions:
    """The directions of a region: along each axis of several blocks one, and along the longest so many more."""
    axes = [axis for axis in range(AXES) if grid[axis] > 1]
    return tuple([*axes, *[max(axes, key=lambda axis: grid[axis])] * spare][:DIRECTIONS] if axes else axes)


def three(numbers: list[int]) -> Three:
    x, y, z = numbers
    return x, y, z
