"""When registers are read: of integers and floats by the operand collector, of memory instructions behind their issue.

Found by measuring one H200. A product of 64 bits is made in two halves; where that of another warp comes between them,
both warps go on later [h200_sequences]. A request to global memory reads the registers of its address, and of what it
stores, in every other cycle behind its issue, in which others of its sub-core that read any do not issue [h200_stores,
h200_hits]. A store to shared memory and a shuffle take cycles of the banks of theirs [h200_requests]. Results of
which two of one bank are needed at once come later if both are fresh [h200_collector].
"""

from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined
from banksim.timing.global_memory import STORED
from banksim.timing.issue_records import IssueRow, Multiprocessor
from banksim.timing.operand_collector import FROZEN, collect, reserve
from banksim.timing.scoreboards import Waiting

WARP, SINCE = range(2)
"""`Multiprocessor.wide`: the warp of a sub-core that issued the last product of 64 bits, and when."""
STORED_LATER = 2
"""Cycles for which a store reads registers beyond those that it holds its sub-core's way to the queue."""
HALVES = 2
"""Cycles from the first half of a product of 64 bits to the second."""
RECENT = 8
"""Of how many of its last instructions a warp's issue is known: a power of two."""
OLDER, SETTLED = 6, 8
"""Where an instruction needs two results that are fresh of registers of one bank (the older one no older than OLDER
cycles, the other one younger), it waits until the older one is as old as SETTLED."""


@inlined
def read(sm: Multiprocessor, row: IssueRow, w: Integer, i: Integer, t: Integer) -> Integer:
    """Read the registers of instruction i, which warp w issues at cycle t. Returns for how many cycles its sub-core
    stands still meanwhile."""
    core = sm.warps[w].core
    late: Integer = 0
    if row.reads:
        late = collect(sm, core, row.reads, t)
        if row.again:
            late += collect(sm, core, row.again, t + late + HALVES)
    if row.newer:
        newer = t + late - sm.recent[w, i - row.newer & RECENT - 1]
        older = t + late - sm.recent[w, i - row.older & RECENT - 1]
        if newer < OLDER and older <= OLDER:
            late += SETTLED - older
            sm.collectors[core, FROZEN] += SETTLED - older
    sm.recent[w, i & RECENT - 1] = t + late
    return late


@inlined
def read_behind(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> None:
    """Have a memory instruction that issues at cycle t read its registers later."""
    if row.far:
        sm.asked[core], sm.reading[core] = t, row.apart
        if row.far == STORED:
            sm.reading[core] += STORED_LATER
        return
    reserve(sm, core, row.even_behind, row.odd_behind, t)


@inlined
def readable(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> bool:
    """Whether an instruction may read its registers at cycle t, for what requests to global memory read."""
    since = t - sm.asked[core]
    return not (row.reads and 0 < since <= sm.reading[core] and since & 1 == 0)


@inlined
def multiply(sm: Multiprocessor, waiting: Waiting, row: IssueRow, w: Integer, t: Integer) -> None:
    """Note that warp w issues a product of 64 bits at cycle t, which may come between the halves of another's."""
    warp = sm.warps[w]
    last = sm.wide[warp.core]
    other = last[WARP]
    if other != w and t - last[SINCE] <= row.interval:
        warp.ready += row.between
        if sm.warps[other].ready > t:
            sm.warps[other].ready += row.between
            waiting.wake[other] = max(waiting.wake[other], sm.warps[other].ready)
    last[WARP], last[SINCE] = w, t
