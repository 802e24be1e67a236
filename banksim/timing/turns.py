"""What the warps of a sub-core have issued, as the choice among them sees it: counters of four bits, six cycles late.

So a warp that can issue every other cycle has three instructions in a turn. Found by reading the clock of one H200
between other instructions (tests/timing/test_counters.py, examples/guide/time.md).
"""

from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined, inner
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.issue_records import READY, RING, Multiprocessor

MOST, ROUND, NEARLY = 15, 8, 7
"""What a counter holds at most; what is taken from all of a sub-core's once one of them would go beyond that, as soon
as all have come that far. The instruction that goes beyond is not counted."""
LATE = 6
"""Cycles from an issue until the choice sees it, fewer than RING."""
SEEN, NOTED, BEYOND = range(3)
"""`Multiprocessor.turns`."""


@inlined
def all_near(sm: Multiprocessor, core: Integer) -> bool:
    """Whether all warps of a sub-core that wait at no barrier have issued nearly as much as a round."""
    for w in range(core, len(sm.warps), SUB_CORES):
        if sm.warps[w].state == READY and sm.warps[w].issues < NEARLY:
            return False
    return True


@inner
def note(sm: Multiprocessor, core: Integer, w: Integer, t: Integer) -> None:
    """Count that warp w issues in cycle t."""
    own, turns = sm.warps[w], sm.turns[core]
    counted, whole = w, 0
    if own.issues >= ROUND and not turns[BEYOND]:
        turns[BEYOND], counted = 1, -1
    else:
        own.issues = min(own.issues + 1, MOST)
    if turns[BEYOND] and all_near(sm, core):
        for other in range(core, len(sm.warps), SUB_CORES):
            sm.warps[other].issues = max(sm.warps[other].issues - ROUND, 0)
        turns[BEYOND], whole = 0, 1
    late = sm.unseen[core, turns[NOTED] & (RING - 1)]
    late[0], late[1], late[2] = t + LATE, counted, whole
    turns[NOTED] += 1


@inlined
def see(sm: Multiprocessor, core: Integer, t: Integer) -> None:
    """Have the choice see in cycle t what has issued long enough ago."""
    turns = sm.turns[core]
    while turns[SEEN] < turns[NOTED] and sm.unseen[core, turns[SEEN] & (RING - 1), 0] <= t:
        late = sm.unseen[core, turns[SEEN] & (RING - 1)]
        if late[1] >= 0:
            sm.warps[late[1]].seen = min(sm.warps[late[1]].seen + 1, MOST)
        if late[2]:
            for other in range(core, len(sm.warps), SUB_CORES):
                sm.warps[other].seen = max(sm.warps[other].seen - ROUND, 0)
        turns[SEEN] += 1


@inlined
def begin_anew(sm: Multiprocessor, w: Integer) -> None:
    """Take warp w for one that has issued nothing, as behind a barrier that counts for which threads a condition holds:
    behind these the youngest warp went first in all recorded cases, behind others it did not."""
    own = sm.warps[w]
    turns = sm.turns[own.core]
    own.issues = own.seen = 0
    for n in range(turns[SEEN], turns[NOTED]):
        late = sm.unseen[own.core, n & (RING - 1)]
        if late[1] == w:
            late[1] = -1
