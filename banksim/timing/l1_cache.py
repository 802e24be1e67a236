"""The L1 cache of a multiprocessor: which lines it has, and of them which sectors and stored words."""

import numpy as np
import numpy.typing as npt

from banksim.requests.lane_intrinsics import equal_or_least, ones
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined
from banksim.timing.data_stage import DataStage, place

LINE = 7
"""Bits of a place within its line."""
WAYS = 8
"""Lines of a set: assumed."""
TAG_BANKS = 0b10110101, 0b11011010
"""The four banks of the tags: the parity of these bits of a line, as loads of 2 to 32 lines told (one H200:
tests/data/timing/h200_places.json)."""
ABSENT = -1
L1_SET = np.dtype(
    [
        ("lines", "i8", WAYS),  # by way
        ("used", "i8", WAYS),  # … the cycle of the last access · WAYS + way: the least is of the way that leaves
        ("has", "i8", WAYS),  # … the mask of the sectors that are there,
        ("stored", "i8", WAYS),  # … and of the words that were stored: those of other sectors are there, too
        ("upper", "i8", WAYS),  # … and whether it lies in the upper half of the memory
        ("comes", "i8", WAYS * 4),  # by way and sector: when it has come, or will
    ]
)
Sets = npt.NDArray[np.void]
"""Of dtype L1_SET."""


def new_sets(size: int) -> Sets:
    """Of a cache of so many bytes."""
    sets = np.zeros(max(size // (WAYS << LINE), 1), L1_SET)
    sets["lines"], sets["used"] = ABSENT, np.arange(WAYS)
    return sets


@inlined
def tag_bank(line: Integer) -> Integer:
    """In which bank of the L1 the tag of a line lies."""
    low, high = TAG_BANKS
    bank: Integer = ones(line & low) & 1 | (ones(line & high) & 1) << 1
    return bank


@inlined
def tag_passes(lines: Integers, n: Integer) -> Integer:
    """How many times the busiest bank of tags is read for the first n of these lines."""
    tags: Integer = 0  # a byte for each bank
    for k in range(n):
        tags += 1 << 8 * tag_bank(lines[k])
    most: Integer = 0
    for k in range(4):
        most = max(most, tags >> 8 * k & 255)
    return most


@inlined
def word_passes(words: Integers, n: Integer) -> Integer:
    """How many times the busiest bank is accessed for the first n of these masks of words of a line."""
    units: Integer = 0  # by bank: a bit of the number of lines that have a word there
    twos: Integer = 0
    fours: Integer = 0
    eights: Integer = 0
    sixteens: Integer = 0
    all_of_them: Integer = -1
    for k in range(n):
        carry = words[k]
        all_of_them &= carry
        units, carry = units ^ carry, units & carry
        twos, carry = twos ^ carry, twos & carry
        fours, carry = fours ^ carry, fours & carry
        eights, carry = eights ^ carry, eights & carry
        sixteens ^= carry
    most: Integer = 0
    among: Integer = -1
    for bits in (sixteens, eights, fours, twos, units):
        most = 2 * most + ((among & bits) != 0)
        among = among & bits if among & bits else among
    return n if all_of_them else most


@inlined
def sectors(words: Integer) -> Integer:
    """The mask of sectors that a mask of words touches."""
    mask: Integer = 0
    for s in range(4):
        mask |= ((words >> (8 * s) & 255) != 0) << s
    return mask


@inlined
def spread(sectors: Integer) -> Integer:
    """The mask of the words of these sectors."""
    mask: Integer = 0
    for s in range(4):
        mask |= (sectors >> s & 1) * 255 << (8 * s)
    return mask


way_of = equal_or_least(WAYS)
"""Of a set of the L1: which way has a line, less WAYS; or `used` of that used longest ago."""


@inlined
def set_of(sets: Sets, line: Integer) -> Integer:
    """The set of the L1 in which a line lies, if it has it."""
    return np.int64(np.uint64(line ^ line >> 7 ^ line >> 15) % np.uint64(len(sets)))


@inlined
def take_up(sets: Sets, stage: DataStage, line: Integer, t: Integer) -> Integer:
    """Have a line be accessed in the L1; if it lacks the line, that of its set used longest ago leaves. Returns the
    way in which it is from then on."""
    here = sets[set_of(sets, line)]
    first = way_of(here, line)
    way: Integer = first % WAYS
    if first >= 0:
        here.lines[way], here.has[way], here.stored[way] = line, 0, 0
        here.upper[way] = place(stage)
    here.used[way] = t * WAYS + way
    return way


@inlined
def keep(sets: Sets, stage: DataStage, line: Integer, words: Integer, t: Integer) -> tuple[Integer, Integer]:
    """Note in the L1 which words of a line are stored: loads find these there (h200_stored.json). Returns which were
    before, and whether it lies in the upper half of the memory."""
    here, way = sets[set_of(sets, line)], take_up(sets, stage, line, t)
    before: Integer = here.stored[way]
    here.stored[way] |= words
    for s in range(4):
        if here.stored[way] >> (8 * s) & 255 == 255 and not here.has[way] >> s & 1:
            here.has[way] |= 1 << s
            here.comes[4 * way + s] = t
    upper: Integer = here.upper[way]
    return before, upper


@inlined
def drop(sets: Sets, line: Integer, words: Integer) -> None:
    """Have the L1 lose sectors to whose words something was added: the L2 alone has the sums (h200_stored.json)."""
    here = sets[set_of(sets, line)]
    first = way_of(here, line)
    if first < 0:
        way, lost = first % WAYS, sectors(words)
        here.has[way] &= ~lost
        for s in range(4):
            if lost >> s & 1:
                here.stored[way] &= ~(255 << (8 * s))
