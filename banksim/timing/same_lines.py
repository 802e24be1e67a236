"""Additions of several blocks to the same lines of global memory: each slice of the L2 takes them one after the other,
and each line those of floats.

Lines to which two blocks add are taken to be lines to which those of all multiprocessors do (assumed): two that are
timed, or, where there is one, it and one of another multiprocessor. Where instead each block adds to lines near those
of the block before it, those that run at the same time meet in as few slices as their lines lie in."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Figures
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined

SLICES = 64
"""As many as lines are told apart by: consecutive lines of 128 bytes lie in two slices, four of each eight in one."""
KNOWN = 4096
"""Lines that are remembered, by their lowest bits."""
MOST = 1536
"""Lines from which on the slices have equally much to do."""
SCATTERED, MANY = 1.27, 64
"""How much longer slices take for additions to so many lines and more: at random places they are not equally busy at
all times (1.85 cycles a part of a sector, and 1.45 to 8 to 32 lines: h200_places.json)."""
CHANCE = 2
"""Standard deviations: one multiprocessor stands here for all. What it does more often at one place than at others by
less than this may be chance, and is others' at other places."""
NEVER = 1 << 60
GROUP = 4
"""Lines of a slice that lie near each other."""
BUSIEST = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048), (1, 1, 1.1, 1.35, 2, 2.5, 3.8, 6, 12, 22)
"""Of so many such groups in a row so many lie in the slice that has most of them (h200_places.json: slices; the mean of
where they begin)."""
SEVERAL = 0.66
"""How much longer an addition to several words of a sector takes there (h200_meets.json: own words)."""
SECTOR, PART, FLOATS = range(3)
"""What takes its time: of a slice the words of a whole sector of 32 bytes, or of a part of one; of a line floats."""
ADDED = np.dtype([(name, "i8") for name in ("line", "block", "several", "requests", "slice", "words", "floats")])
"""A line, the first block that added to it, whether others did, how many requests, and for how many hundredths of a
cycle they hold its slice, of these those that add to several words of a sector, and floats itself."""


@bundle
class SameLines(NamedTuple):
    first: npt.NDArray[np.int64]  # one: the cycle of the first addition
    costs: npt.NDArray[np.int64]  # SECTOR …: of all multiprocessors that are busy, one addition each
    together: npt.NDArray[np.int64]  # one: how many blocks run at the same time on all of them
    added: npt.NDArray[np.void]  # of dtype ADDED


def new_same_lines(known: Figures | None = None, active: int = 0) -> SameLines:
    added = np.zeros(KNOWN, ADDED)
    added["line"] = -1
    costs = np.array(known.slices if known else (0, 0, 0), np.int64) * active
    return SameLines(np.full(1, NEVER), costs, np.zeros(1, np.int64), added)


def remember(same: SameLines, added: npt.NDArray[np.void]) -> None:
    """Begin with the lines to which another block has added."""
    for name in ("line", "block"):
        same.added[name] = added[name]


@inlined
def slice_of(line: Integer) -> Integer:
    """As random additions to 32 to 2,048 lines tell (h200_places.json): those to 256 lines take as long as to 128, and
    to 1,024 as to 512."""
    eight = line >> 3
    pair = (eight & 15 | eight >> 1 & 16) ^ eight >> 7
    return (2 * pair | line >> 1 & 1) % SLICES


@inlined
def add(same: SameLines, line: Integer, words: Integer, lanes: Integers, floats: Integer, block: Integer) -> None:
    """A block adds to words of a line, of each sector so many lanes to one of them."""
    one = same.added[line % KNOWN]
    if one.line != line:
        one.line, one.block, one.several, one.requests, one.slice, one.words, one.floats = line, block, 0, 0, 0, 0, 0
    one.several |= one.block != block
    one.requests += 1
    most: Integer = 0
    for s in range(4):
        part = words >> (8 * s) & 255
        if part:
            most = max(most, lanes[s])
            cost = max(lanes[s], 1) * same.costs[SECTOR if part == 255 else PART]
            one.slice += cost
            if part & (part - 1) and part != 255:
                one.words += cost
    if floats:
        one.floats += most * same.costs[FLOATS]


def longest(same: SameLines) -> int:
    """For how many hundredths of a cycle the slice or line is held that is held longest."""
    shared = same.added[same.added["several"] != 0]
    if not len(shared):
        return round(of_neighbours(same))
    lines = busiest(np.arange(len(shared)), shared, "floats")
    if np.count_nonzero(same.added["requests"]) >= MOST:
        return round(lines)
    slices = busiest(np.array([slice_of(line) for line in shared["line"].tolist()]), shared, "slice")
    return round(max(lines, slices * (SCATTERED if len(shared) >= MANY else 1)))


def of_neighbours(same: SameLines) -> float:
    """The same where each block adds to lines near those of the block before it: of the groups of lines to which those
    add that run at the same time, the busiest slice has its part."""
    lines = same.added[same.added["line"] >= 0]
    blocks, which = np.unique(lines["block"], return_inverse=True)
    if len(blocks) < 2:
        return 0
    first = np.full(len(blocks), NEVER)
    np.minimum.at(first, which, lines["line"])
    last = np.zeros(len(blocks), np.int64)
    np.maximum.at(last, which, lines["line"])
    steps = np.diff(first) / np.diff(blocks)  # from block to block
    if steps.min() <= 0 or np.max(last - first) > GROUP * (1 + steps.max()):
        return 0
    groups = max((first[-1] - first[0]) / (blocks[-1] - blocks[0]) * float(same.together[0]) / GROUP, 1)
    if groups > BUSIEST[0][-1]:
        return 0
    held = float(np.sum(lines["slice"]) + SEVERAL * np.sum(lines["words"]))
    return float(held * np.interp(groups, *BUSIEST) / groups)


def busiest(places: npt.NDArray[np.int64], lines: npt.NDArray[np.void], held: str) -> float:
    """For how long that of several places is held in which lines lie that is held longest: as long as its lines would
    be if all were held alike, unless it is longer by more than chance."""
    long, requests, count = (
        np.bincount(places, lines[held]),
        np.bincount(places, lines["requests"]),
        np.bincount(places),
    )
    alike = np.sum(long) * np.max(count) / np.sum(count)
    return float(max(alike, np.max(long * (1 - CHANCE / np.sqrt(np.maximum(requests, 1))))))
