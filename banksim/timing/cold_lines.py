"""Lines of global memory that no cache has when a launch begins, or not any more: DRAM gives each of them once.

A multiprocessor that asks for a line for the first time waits for DRAM, whether or not others ask for it at the same
time (tests/data/timing/h200_cold.json). Assumed: others do at all times as this one, so that what it asks for in its
first blocks they ask for no sooner; what arrays have beyond that, its later blocks find in part.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Numbers
from banksim.requests.lane_intrinsics import ones
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined
from banksim.timing.held_ways import hold

SEEN = 1 << 16
"""Lines that are remembered, each in one place."""
ARRAYS = 64
"""Arrays that are told apart."""
ARRAY = 25
"""Bits of a line within its array."""
TOGETHER = 3
"""Bits of a line among those that DRAM gives equally soon, if they are asked for together."""
AT_A_TIME = 9
"""Bits of a cycle among those that count as together."""
SHARES = 1 << 10
NEVER = 1 << 60
COLD_LINE = np.dtype([("line", "i8"), ("halves", "i8"), ("comes", "i8")])
"""A line, which halves of it have been asked for, and when the last of them comes."""
COLD_ARRAY = np.dtype(
    [
        ("alone", "i8"),  # so many times one multiprocessor asks for lines that none has asked for long before;
        ("missing", "i8"),  # … of the others none has for so many in SHARES; kilobytes, where these are all
        ("chance", "i8"),  # whether all ask by chance: so many times, and each may have been asked for by others once
        ("whole", "i8"),  # of fewer sectors of a line it asks for an edge only: others have asked for the rest before
        ("near", "i8"),  # whether multiprocessors of both of the L2's halves ask for the same lines
        ("half", "i8"),  # for how many hundredths of a cycle half a line holds the multiprocessor's share of DRAM
        ("asked", "i8"),  # how many times it has asked,
        ("lately", "i8"),  # … had at the cycle `since`,
        ("before", "i8"),  # … and had as long before that as DRAM takes
        ("since", "i8"),
    ]
)


@bundle
class ColdLines(NamedTuple):
    """Of a multiprocessor; where caches have what it asks for with no line and no array."""

    lines: npt.NDArray[np.void]  # of dtype COLD_LINE
    arrays: npt.NDArray[np.void]  # of dtype COLD_ARRAY, by the lowest bits of where they begin
    later: npt.NDArray[np.int64]  # cycles by which data come later from DRAM than from the L2, each as likely
    held: npt.NDArray[np.int64]  # one: until when the multiprocessor's share of DRAM is held, in hundredths of a cycle


def new_cold_lines(arrays: npt.NDArray[np.void] | None = None, later: tuple[int, ...] = (0,)) -> ColdLines:
    """Of a launch that finds nothing of these arrays; without, of any other."""
    lines = np.zeros(0 if arrays is None else SEEN, COLD_LINE)
    lines["line"] = -1
    arrays = np.zeros(0, COLD_ARRAY) if arrays is None else arrays.copy()
    return ColdLines(lines, arrays, np.array(later, np.int64), np.zeros(1, np.int64))


@inlined
def scrambled(number: Integer) -> Integer:
    """As if by chance, from 0 to 2³¹ - 1."""
    mixed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33))


@inlined
def others_have(cold: ColdLines, line: Integer, count: Integer, t: Integer) -> bool:
    """Whether another multiprocessor has asked so long ago that the L2 has it for a line, of which this one asks for so
    many sectors, and has not done so before."""
    array = cold.arrays[line >> ARRAY & ARRAYS - 1]
    apart = cold.later[len(cold.later) // 2]
    if t - array.since >= apart:
        array.before = array.asked if t - array.since >= 2 * apart else array.lately
        array.lately, array.since = array.asked, t
    array.asked += 1
    missing: float = array.missing
    place = line
    if array.chance:
        missing = SHARES * np.exp(-array.before / array.alone)
    elif array.alone == 0:
        place = line >> TOGETHER
    asked = array.chance or array.before >= array.alone
    return bool(count < array.whole or (asked and scrambled(place) & SHARES - 1 >= missing))


@inlined
def later_by(cold: ColdLines, line: Integer, t: Integer) -> Integer:
    """How many cycles later than from the L2 a line comes from DRAM for which it is asked at cycle t: to the nearer of
    the L2's halves sooner."""
    number: Integer = scrambled((line >> TOGETHER) + (t >> AT_A_TIME << 32))
    later: Integer = cold.later[number % len(cold.later)]
    if cold.arrays[line >> ARRAY & ARRAYS - 1].near:
        later = min(later, cold.later[scrambled(number) % len(cold.later)])
    return later


@inlined
def read(cold: ColdLines, cost: Integer, t: Integer) -> Integer:
    """Have DRAM read something for which the L2 asks it at cycle t. Returns how many cycles it waits for others."""
    return hold(cold.held, 0, cost, t) - t


@inlined
def given_at(
    cold: ColdLines, line: Integer, sectors: Integer, t: Integer, soonest: Integer, f: Numbers, drained: Integer
) -> Integer:
    """When sectors of a line have come for which the L2 is asked at cycle t, and which come at the `soonest` then, but
    `f.l2` cycles behind what they wait for there; from DRAM by so many hundredths later as it is written to: in the
    mean, if it is not known of which lines it gives."""
    if len(cold.lines) == 0:
        return soonest + f.late * drained // 100
    known = cold.lines[scrambled(line) % SEEN]
    if known.line != line:
        known.line, known.halves, known.comes = line, 0, 0
    halves: Integer = ((sectors & 3) != 0) | ((sectors & 12) != 0) << 1
    new = halves & ~known.halves
    if new:
        if not others_have(cold, line, ones(sectors), t):
            cost = cold.arrays[line >> ARRAY & ARRAYS - 1].half * ones(new)
            read_at = max(soonest, t + read(cold, cost, t) + f.l2)
            known.comes = max(known.comes, read_at + later_by(cold, line, t) * (100 + drained) // 100)
        known.halves |= halves
    comes: Integer = max(soonest, known.comes)
    return comes
