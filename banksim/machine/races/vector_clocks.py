"""Vector clocks of a block, or of the blocks of a cluster: which earlier accesses barriers, waits and convergence order
before later ones. Compiled by numba. A warp "knows" the accesses of others that are ordered before its next one.

Lanes of a warp that have run together since they parted from others share a row: the clocks of what they know. A row is
divided when a part of its lanes is seen accessing memory or waiting, and rows are joined where lanes meet.
"""

import numpy as np

from banksim.machine import state
from banksim.machine.codes import AT_BARRIER, BLOCK_BARRIERS, LANES, OF_CLUSTER, RANK_BIT
from banksim.machine.races import records
from banksim.machine.races.records import COPIES, ENTRIES, FENCED, LOADS, Member, Watch
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import lowest, pointer
from banksim.system.compiled_types import Integer, Integers, Records
from banksim.system.jit import carray, inner

WATCH, MEMBER, WARP = records.WATCH, records.MEMBER, state.WARP


@inner
def watch_of(c: Context) -> Watch:
    return carray(pointer(c.watch), 1, WATCH)[0]


@inner
def members_of(r: Watch) -> Records[Member]:
    return carray(pointer(r.members), r.warps, MEMBER)


@inner
def number_of(c: Context, r: Watch, index: Integer) -> Integer:
    """The number of a warp of the block that runs, among those of all blocks of its cluster."""
    return np.int64(c.own_shared >> np.uint64(RANK_BIT)) * r.block_warps + np.int64(index)


@inner
def known_to(r: Watch, me: Integer) -> Integers:
    """Of each row of a warp's lanes the clock of other warps, and of agents."""
    return carray(pointer(r.known), (r.warps, LANES, ENTRIES * r.span), np.int32)[me]


@inner
def copied_of(r: Watch) -> Integers:
    return carray(pointer(r.copied), ENTRIES * r.span, np.int32)


@inner
def gathered_at(c: Context, r: Watch, b: Integer) -> Integers:
    """The clock of those who have arrived at barrier `b` of the block that runs, or of its cluster. Behind that is the
    clock of those who had arrived at the cluster's when its last phase ended: OF_CLUSTER + 1."""
    row = r.blocks * BLOCK_BARRIERS + b - OF_CLUSTER
    if b < OF_CLUSTER:
        row = np.int64(c.own_shared >> np.uint64(RANK_BIT)) * BLOCK_BARRIERS + b
    return carray(pointer(r.gathered), (r.blocks * BLOCK_BARRIERS + 2, ENTRIES * r.span), np.int32)[row]


@inner
def divide(r: Watch, me: Integer, row: Integer, part: Integer) -> Integer:
    """Move lanes of a row into a row of their own. Both rows know what the whole row did so far."""
    x, known = members_of(r)[me], known_to(r, me)
    for lane in range(LANES):
        if x.row_mask[row] >> lane & 1:
            x.lanes[row, lane] = r.now + 1
    new = 0
    while x.row_mask[new]:
        new += 1
    x.row_mask[row] &= ~part
    x.row_mask[new] = part
    for lane in range(LANES):
        x.lanes[new, lane] = x.lanes[row, lane]
        if part >> lane & 1:
            x.row_of[lane] = new
    for who in range(r.entries):
        known[new, who] = known[row, who]
    return new


@inner
def row_of(r: Watch, me: Integer, mask: Integer) -> Integer:
    """The row of lanes that run together; it is divided if it has other lanes too."""
    x = members_of(r)[me]
    row = x.row_of[lowest(mask)]
    return row if x.row_mask[row] == mask else divide(r, me, row, mask)


@inner
def meet(r: Watch, me: Integer, mask: Integer, one: Integer) -> None:
    """Lanes have waited for each other: what any of them did or knew is ordered before what each does next. `one`: they
    go on in one row."""
    x, known = members_of(r)[me], known_to(r, me)
    first = row_of(r, me, x.row_mask[x.row_of[lowest(mask)]] & mask)
    rest = mask & ~x.row_mask[first]
    while rest:
        row = row_of(r, me, x.row_mask[x.row_of[lowest(rest)]] & mask)
        rest &= ~x.row_mask[row]
        for lane in range(LANES):
            x.lanes[first, lane] = max(x.lanes[first, lane], x.lanes[row, lane])
        for who in range(r.entries):
            known[first, who] = max(known[first, who], known[row, who])
        if one:
            x.row_mask[first] |= x.row_mask[row]
            x.row_mask[row] = 0
    for lane in range(LANES):
        if mask >> lane & 1:
            x.lanes[first, lane] = r.now + 1
            if one:
                x.row_of[lane] = first
    rest = mask & ~x.row_mask[first]
    while rest:
        row = x.row_of[lowest(rest)]
        rest &= ~x.row_mask[row]
        for lane in range(LANES):
            x.lanes[row, lane] = x.lanes[first, lane]
        for who in range(r.entries):
            known[row, who] = known[first, who]


@inner
def publish(r: Watch, me: Integer, row: Integer, clock: Integers) -> None:
    """Add to a clock what a row of a warp knows, and what the warp did so far."""
    known, copies = known_to(r, me), COPIES * r.span
    for who in range(r.warps):
        clock[who] = max(clock[who], known[row, who])
        clock[copies + who] = max(clock[copies + who], known[row, copies + who])
    for who in range(LOADS * r.span, r.entries):
        clock[who] = max(clock[who], known[row, who])
    clock[me] = r.now + 1


@inner
def take_over(r: Watch, me: Integer, row: Integer, clock: Integers) -> None:
    """Order the accesses that a clock covers before what a row of a warp does next."""
    known, copies = known_to(r, me), COPIES * r.span
    for who in range(r.warps):
        known[row, who] = max(known[row, who], clock[who])
        known[row, copies + who] = max(known[row, copies + who], clock[copies + who])
    for who in range(LOADS * r.span, r.entries):
        known[row, who] = max(known[row, who], clock[who])


@inner
def fence(r: Watch, me: Integer, row: Integer) -> None:
    """A proxy fence stands behind all that a row of a warp knows, and what the warp did so far."""
    known, copied, fenced = known_to(r, me), copied_of(r), FENCED * r.span
    for who in range(COPIES * r.span):
        known[row, fenced + who] = max(known[row, fenced + who], known[row, who], r.floor)
    for who in range(COPIES * r.span, LOADS * r.span):
        known[row, fenced + who] = max(known[row, fenced + who], known[row, who], copied[who])
    known[row, fenced + me] = r.now + 1


# ---- the block's barriers
@inner
def pass_barrier(c: Context, r: Watch, b: Integer) -> None:
    """The phase of barrier b of a block ends. One that all threads watched came to (or left) orders all that they did;
    one of some threads hands those that wait what all that came have published."""
    clock = gathered_at(c, r, b)
    if r.blocks == 1 and not c.expected[b]:
        order_all(r, r.now + 1, clock)
        r.epoch = r.floor
    else:
        for n in range(np.int64(c.warp_count)):
            place: Integer = np.uint64(c.warps) + np.uint64(n * c.warp_size)
            w = carray(pointer(place), 1, WARP)[0]
            for g in range(w.groups):
                if w.group_wait[g] == AT_BARRIER + b and w.group_phase[g] == c.phase[b]:
                    me = number_of(c, r, n)
                    take_over(r, me, row_of(r, me, np.int64(w.group_mask[g])), clock)
    for who in range(r.entries):
        clock[who] = 0


@inner
def order_all(r: Watch, time: Integer, clock: Integers) -> None:
    """All accesses before a time are ordered before all that come, and what agents did that a clock covers."""
    copied = copied_of(r)
    r.floor = time
    for who in range(r.entries):
        copied[who] = max(copied[who], clock[who])
