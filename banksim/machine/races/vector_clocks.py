"""Vector clocks of a block: which earlier accesses barriers, waits and convergence order before later ones. Compiled by
numba. A warp "knows" the accesses of others that are ordered before its next one.

Lanes of a warp that have run together since they parted from others share a row: the clocks of what they know. A row is
divided when a part of its lanes is seen accessing memory or waiting, and rows are joined where lanes meet.
"""

from __future__ import annotations

import numpy as np

from banksim.machine import state
from banksim.machine.codes import AT_BARRIER, LANES, OF_CLUSTER
from banksim.machine.compiled_records import Context
from banksim.machine.races import records
from banksim.machine.races.compiled_records import Member, Watch
from banksim.machine.races.records import COPIES, FENCED, LOADS
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
def divide(r: Watch, x: Member, row: Integer, part: Integer) -> Integer:
    """Move lanes of a row into a row of their own. Both rows know what the whole row did so far."""
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
        x.known[new, who] = x.known[row, who]
    return new


@inner
def row_of(r: Watch, x: Member, mask: Integer) -> Integer:
    """The row of lanes that run together; it is divided if it has other lanes too."""
    row = x.row_of[lowest(mask)]
    return row if x.row_mask[row] == mask else divide(r, x, row, mask)


@inner
def meet(r: Watch, x: Member, mask: Integer, one: Integer) -> None:
    """Lanes have waited for each other: what any of them did or knew is ordered before what each does next. `one`: they
    go on in one row."""
    first = row_of(r, x, x.row_mask[x.row_of[lowest(mask)]] & mask)
    rest = mask & ~x.row_mask[first]
    while rest:
        row = row_of(r, x, x.row_mask[x.row_of[lowest(rest)]] & mask)
        rest &= ~x.row_mask[row]
        for lane in range(LANES):
            x.lanes[first, lane] = max(x.lanes[first, lane], x.lanes[row, lane])
        for who in range(r.entries):
            x.known[first, who] = max(x.known[first, who], x.known[row, who])
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
            x.known[row, who] = x.known[first, who]


@inner
def publish(r: Watch, x: Member, row: Integer, me: Integer, clock: Integers) -> None:
    """Add to a clock what a row knows and what its warp did so far."""
    for who in range(r.warps):
        clock[who] = max(clock[who], x.known[row, who])
        clock[COPIES + who] = max(clock[COPIES + who], x.known[row, COPIES + who])
    for who in range(LOADS, r.entries):
        clock[who] = max(clock[who], x.known[row, who])
    clock[me] = r.now + 1


@inner
def take_over(r: Watch, x: Member, row: Integer, clock: Integers) -> None:
    """Order the accesses that a clock covers before what a row does next."""
    for who in range(r.warps):
        x.known[row, who] = max(x.known[row, who], clock[who])
        x.known[row, COPIES + who] = max(x.known[row, COPIES + who], clock[COPIES + who])
    for who in range(LOADS, r.entries):
        x.known[row, who] = max(x.known[row, who], clock[who])


@inner
def fence(r: Watch, x: Member, row: Integer, me: Integer) -> None:
    """A proxy fence stands behind all that a row knows, and what its warp did so far."""
    for who in range(LANES):
        x.known[row, FENCED + who] = max(x.known[row, FENCED + who], x.known[row, who], r.floor)
    for who in range(COPIES, LOADS):
        x.known[row, FENCED + who] = max(x.known[row, FENCED + who], x.known[row, who], r.copied[who])
    x.known[row, FENCED + me] = r.now + 1


# ---- the block's barriers
@inner
def pass_barrier(c: Context, r: Watch, b: Integer) -> None:
    """The phase of barrier b ends. One that all threads of the block came to (or left) orders all that they did; one
    of some threads hands those that wait what all that came have published."""
    clock = r.gathered[b]
    if b == OF_CLUSTER or not c.expected[b]:
        r.floor = r.now + 1
        for who in range(r.entries):
            r.copied[who] = max(r.copied[who], clock[who])
    else:
        members = members_of(r)
        for n in range(r.warps):
            place: Integer = np.uint64(c.warps) + np.uint64(n * c.warp_size)
            w = carray(pointer(place), 1, WARP)[0]
            for g in range(w.groups):
                if w.group_wait[g] == AT_BARRIER + b and w.group_phase[g] == c.phase[b]:
                    x = members[n]
                    take_over(r, x, row_of(r, x, np.int64(w.group_mask[g])), clock)
    for who in range(r.entries):
        clock[who] = 0
