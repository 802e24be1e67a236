"""Additions of several blocks to the same lines of global memory: each slice of the L2 takes them one after the other.

Lines to which two blocks of one multiprocessor add are taken to be lines to which those of all do (assumed)."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.latencies import Figures
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined

SLICES = 64
"""As many as lines are told apart by: consecutive lines of 128 bytes lie in two slices, four of each eight in one."""
KNOWN = 4096
"""Lines that are remembered, by their lowest bits."""
SECTOR, PART, FLOATS = range(3)
"""What takes its time: the words of a whole sector of 32 bytes, or of a part of one; floats in any."""
ADDED = np.dtype([("line", "i8"), ("block", "i8"), ("several", "i8"), ("before", "i8")])
"""A line, the first block that added to it, whether others did, and what its additions would have held until then."""


@bundle
class SameLines(NamedTuple):
    """Hundredths of a cycle."""

    held: npt.NDArray[np.int64]  # by slice: until when
    busy: npt.NDArray[np.int64]  # … and for how long in all
    latest: npt.NDArray[np.int64]  # one: the latest of `held`
    costs: npt.NDArray[np.int64]  # SECTOR …: of all multiprocessors that are busy, one addition each
    added: npt.NDArray[np.void]  # of dtype ADDED


def new_same_lines(known: Figures | None = None, active: int = 0) -> SameLines:
    each = known.slices if known else (0, 0, 0)
    added = np.zeros(KNOWN, ADDED)
    added["line"] = -1
    held, busy = np.zeros((2, SLICES), np.int64)
    return SameLines(held, busy, np.zeros(1, np.int64), np.array(each, np.int64) * active, added)


@inlined
def slice_of(line: Integer) -> Integer:
    return (line >> 3 << 1 | line >> 1 & 1) % SLICES


@inlined
def add(
    same: SameLines, line: Integer, words: Integer, lanes: Integer, floats: Integer, block: Integer, t: Integer
) -> None:
    """A block adds to words of a line, so many lanes to one of them: if others do so too, that holds its slice."""
    one = same.added[line % KNOWN]
    if one.line != line:
        one.line, one.block, one.several, one.before = line, block, 0, 0
    one.several |= one.block != block
    cost: Integer = 0
    for s in range(4):
        part = words >> (8 * s) & 255
        if part:
            cost += same.costs[SECTOR if part == 255 else PART]
    cost += (lanes - 1) * same.costs[PART]
    cost = max(cost, lanes * same.costs[FLOATS]) if floats else cost
    one.before += cost
    if one.several:
        n = slice_of(line)
        same.held[n] = max(same.held[n], 100 * t) + one.before
        same.latest[0] = max(same.latest[0], same.held[n])
        same.busy[n] += one.before
        one.before = 0


@inlined
def come(same: SameLines, line: Integer, t: Integer) -> Integer:
    """When what has been added to a line until cycle t is there."""
    later: Integer = max(t, same.held[slice_of(line)] // 100)
    return later
