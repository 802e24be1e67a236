"""When registers are read: from two banks, in pairs, and by memory instructions behind their issue.

Found by measuring one H200. A product of 64 bits is made in two halves; where that of another warp comes between them,
both warps go on later [h200_sequences]. A memory instruction reads the registers of its address, and of what it stores,
in every other cycle behind its issue, in which others of its sub-core that read any do not issue [h200_stores,
h200_hits].
"""

from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined
from banksim.timing.global_memory import STORED
from banksim.timing.issue_records import IssueRow, Multiprocessor
from banksim.timing.scoreboards import Waiting

WARP, SINCE = range(2)
"""`Multiprocessor.wide`: the warp of a sub-core that issued the last product of 64 bits, and when."""
STORED_LATER = 2
"""Cycles for which a store reads registers beyond those that it holds its sub-core's way to the queue."""


@inlined
def read(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> Integer:
    """Hold the banks for the registers of an instruction that issues at cycle t. Returns for how many cycles it keeps
    its sub-core from going on: until the banks give all of them within their window."""
    even = sm.banks[core, 0] - t - row.even_slack
    odd = sm.banks[core, 1] - t - row.odd_slack
    late: Integer = max(even if row.even else 0, odd if row.odd else 0)
    late = max(late, 0)
    if row.even:
        sm.banks[core, 0] = max(sm.banks[core, 0], t + late) + row.even
    if row.odd:
        sm.banks[core, 1] = max(sm.banks[core, 1], t + late) + row.odd
    return late


@inlined
def read_behind(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> None:
    """Note which registers a request to global memory that issues at cycle t reads later."""
    sm.asked[core], sm.reading[core] = t, row.apart
    if row.far == STORED:
        sm.reading[core] += STORED_LATER


@inlined
def readable(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> bool:
    """Whether an instruction may read its registers at cycle t, for what memory instructions read."""
    since = t - sm.asked[core]
    return not ((row.even or row.odd) and 0 < since <= sm.reading[core] and since & 1 == 0)


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
