"""Stores that wait to leave for the L2: what is stored to a line of which others still wait leaves together with them
(tests/data/timing/h200_merges.json). Each line holds the multiprocessor's way to the L2 in turn."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined

PLACES = 32
"""Lines that are remembered: a power of two, more than can wait."""


@bundle
class WaitingStores(NamedTuple):
    """The lines that were stored to last, in turn: a ring."""

    line: npt.NDArray[np.int64]
    words: npt.NDArray[np.int64]  # masks
    leaves: npt.NDArray[np.int64]  # when its turn comes, in hundredths of a cycle
    lines: npt.NDArray[np.int64]  # one: how many there have been


def new_waiting_stores() -> WaitingStores:
    line, words, leaves = (np.full(PLACES, -1) for _ in range(3))
    return WaitingStores(line, words, leaves, np.zeros(1, np.int64))


@inlined
def join(waiting: WaitingStores, most: Integer, line: Integer, words: Integer, leaves: Integer, t: Integer) -> Integer:
    """Have words of a line wait from cycle t on: with those of this line, if it is among the last `most` and its turn
    has not come, else until it `leaves`. Returns which words have waited."""
    lines: Integer = waiting.lines[0]
    for n in range(min(most, lines)):
        place = (lines - 1 - n) & (PLACES - 1)
        if waiting.leaves[place] <= 100 * t:
            break
        if waiting.line[place] == line:
            before: Integer = waiting.words[place]
            waiting.words[place] |= words
            return before
    place = lines & (PLACES - 1)
    waiting.line[place], waiting.words[place], waiting.leaves[place] = line, words, leaves
    waiting.lines[0] += 1
    return 0


@inlined
def wait_fewer(waiting: WaitingStores, most: Integer, t: Integer) -> bool:
    """Whether fewer than so many lines wait at cycle t."""
    return bool(waiting.leaves[(waiting.lines[0] - most) & (PLACES - 1)] <= 100 * t)


@inlined
def again_of(words: Integer, stored: Integer) -> Integer:
    """Of how many sectors a single word is stored behind others."""
    count: Integer = 0
    for s in range(4):
        part = words >> (8 * s) & 255
        count += part != 0 and part & (part - 1) == 0 and (stored >> (8 * s) & 255) != 0
    return count
