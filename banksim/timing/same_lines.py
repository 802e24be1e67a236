"""Additions of several blocks to the same lines of global memory: each slice of the L2 takes them one after the other.

Lines to which two blocks add are taken to be lines to which those of all multiprocessors do (assumed): two that are
timed, or, where there is one, it and the first of another multiprocessor."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.latencies import Figures
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined

SLICES = 64
"""As many as lines are told apart by: consecutive lines of 128 bytes lie in two slices, four of each eight in one."""
KNOWN = 4096
"""Lines that are remembered, by their lowest bits."""
MOST = 1536
"""Lines from which on the slices have equally much to do."""
IDLE = 300_000
"""Hundredths of a cycle: a slice that has idled for less makes up for it. An addition stands here for those of all
multiprocessors, which come to lines of their own at other times than this one does."""
NEVER = 1 << 60
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
    first: npt.NDArray[np.int64]  # one: when the first addition was made
    costs: npt.NDArray[np.int64]  # SECTOR …: of all multiprocessors that are busy, one addition each
    lines: npt.NDArray[np.int64]  # one: how many have been added to
    added: npt.NDArray[np.void]  # of dtype ADDED


def new_same_lines(known: Figures | None = None, active: int = 0) -> SameLines:
    each = known.slices if known else (0, 0, 0)
    added = np.zeros(KNOWN, ADDED)
    added["line"] = -1
    held, busy = np.zeros((2, SLICES), np.int64)
    never, costs = np.full(1, NEVER), np.array(each, np.int64) * active
    return SameLines(held, busy, np.zeros(1, np.int64), never, costs, np.zeros(1, np.int64), added)


def remember(same: SameLines, added: npt.NDArray[np.void]) -> None:
    """Begin with the lines to which another block has added."""
    same.added[:] = added
    same.added["before"] = 0


@inlined
def slice_of(line: Integer) -> Integer:
    """As random additions to 32 to 2,048 lines tell (h200_places.json): those to 256 lines take as long as to 128, and
    to 1,024 as to 512."""
    eight = line >> 3
    pair = (eight & 15 | eight >> 1 & 16) ^ eight >> 7
    return (2 * pair | line >> 1 & 1) % SLICES


@inlined
def add(
    same: SameLines, line: Integer, words: Integer, lanes: Integers, floats: Integer, block: Integer, t: Integer
) -> None:
    """A block adds to words of a line, of each sector so many lanes to one of them: if others do so too, that holds its
    slice."""
    one = same.added[line % KNOWN]
    if one.line != line:
        same.lines[0] += 1
        one.line, one.block, one.several, one.before = line, block, 0, 0
    same.first[0] = min(same.first[0], 100 * t)
    one.several |= one.block != block
    cost: Integer = 0
    most: Integer = 0
    for s in range(4):
        part = words >> (8 * s) & 255
        if part:
            most = max(most, lanes[s])
            cost += max(lanes[s], 1) * same.costs[SECTOR if part == 255 else PART]
    cost = max(cost, most * same.costs[FLOATS]) if floats else cost
    one.before += cost
    if one.several and same.lines[0] < MOST:
        n = slice_of(line)
        same.held[n] = max(same.held[n], max(100 * t - IDLE, same.first[0])) + one.before
        same.latest[0] = max(same.latest[0], same.held[n])
        same.busy[n] += one.before
        one.before = 0


@inlined
def come(same: SameLines, line: Integer, t: Integer) -> Integer:
    """When what has been added to a line until cycle t is there."""
    later: Integer = max(t, same.held[slice_of(line)] // 100)
    return later
