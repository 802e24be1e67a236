"""Events of a block, other than accesses, that the race check is told of by LLVM code: the block begins, threads meet
at barriers, copies are started and waited for. Compiled by numba.
"""

from __future__ import annotations

import numpy as np
from numba import types

from banksim.machine import codes
from banksim.machine.codes import LANES, PASSED, TOGETHER, WAITED
from banksim.machine.races import records
from banksim.machine.races.compiled_records import Watch
from banksim.machine.races.records import COMMITS, COPIES, ENTRIES, FENCED, GROUP, LATEST, PRODUCTS
from banksim.machine.races.vector_clocks import fence, meet, members_of, pass_barrier, publish, row_of, watch_of
from banksim.machine.record_types import CONTEXT, WARP
from banksim.requests.lane_intrinsics import lowest, pointer
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

_WORD = records.WORD


@callback(types.void(CONTEXT, WARP))
def commit_copies(context: Place, warp: Place) -> None:
    """LDGDEPBAR (cp.async.commit_group), UTMACMDFLUSH (cp.async.bulk.commit_group): the warp's copies so far become a
    group. Hardware counts both kinds together."""
    r = watch_of(carray(context, 1)[0])
    x = members_of(r)[carray(warp, 1)[0].index]
    x.committed[x.commits % COMMITS] = r.now + 1
    x.commits += 1


@callback(types.void(CONTEXT, WARP, types.uint32))
def await_copies(context: Place, warp: Place, pending: Integer) -> None:
    """DEPBAR (cp.async.wait_group, cp.async.bulk.wait_group): all groups of the warp's copies but the last `pending`
    have been done."""
    r = watch_of(carray(context, 1)[0])
    w = carray(warp, 1)[0]
    x = members_of(r)[w.index]
    newest = x.commits - 1 - np.int64(pending)
    if newest >= 0 and x.commits - newest <= COMMITS:
        row = row_of(r, x, np.int64(w.active))
        agent = COPIES + w.index
        x.known[row, agent] = max(x.known[row, agent], x.committed[newest % COMMITS])


@callback(types.void(CONTEXT, WARP))
def fence_proxies(context: Place, warp: Place) -> None:
    """FENCE.VIEW.ASYNC (fence.proxy.async)."""
    r = watch_of(carray(context, 1)[0])
    w = carray(warp, 1)[0]
    x = members_of(r)[w.index]
    fence(r, x, row_of(r, x, np.int64(w.active)), np.int64(w.index))


@callback(types.void(CONTEXT, WARP))
def commit_products(context: Place, warp: Place) -> None:
    """wgmma.commit_group: the warp's products so far become a group."""
    members_of(watch_of(carray(context, 1)[0]))[carray(warp, 1)[0].index].products += 1


@callback(types.void(CONTEXT, WARP, types.uint32))
def await_products(context: Place, warp: Place, pending: Integer) -> None:
    """WARPGROUP.DEPBAR (wgmma.wait_group): all groups of products but the last `pending` have been done, by all four
    warps together: a product reads its operands for all of them at once. Each counts the same groups."""
    r = watch_of(carray(context, 1)[0])
    w = carray(warp, 1)[0]
    x = members_of(r)[w.index]
    row, first = row_of(r, x, np.int64(w.active)), np.int64(w.index) // GROUP * GROUP
    for who in range(PRODUCTS + first, PRODUCTS + first + GROUP):
        x.known[row, who] = max(x.known[row, who], x.products - np.int64(pending))


@inner
def clear(array: Integers) -> None:
    for n in range(len(array)):
        array[n] = 0


@inner
def forget(r: Watch) -> None:
    """Start the time again from 0, and clear every time that a piece of memory or a clock holds."""
    r.now = 0
    clear(carray(pointer(r.last_write), r.pieces, np.int64))
    for summaries in (r.readers, r.writers, r.copiers, r.updaters, r.pullers):
        clear(carray(pointer(summaries), r.pieces, np.int64))
    for entries in (r.reads, r.earlier_reads, r.updates, r.earlier_updates):
        clear(carray(pointer(entries), r.warps * r.pieces, np.int64))
    if r.proxies:
        clear(carray(pointer(r.pulls), r.warps * r.pieces, np.int64))
    clear(carray(pointer(r.executed), r.warps * r.sites, np.int32))
    members = members_of(r)
    for n in range(r.warps):
        members[n].seen = 0
        for row in range(LANES):
            clear(members[n].lanes[row])
        for row in range(LANES):
            clear(members[n].known[row])
    words = carray(pointer(r.words), records.WORDS, _WORD)
    for n in range(len(words)):
        clear(words[n].gathered)
        clear(words[n].passed)


@callback(types.void(CONTEXT))
def watch_block(context: Place) -> None:
    """Everything before is over: its times are below those of the block."""
    c = carray(context, 1)[0]
    r = watch_of(c)
    if r.now > LATEST:
        forget(r)
    r.floor = r.began = r.now + 1
    members = members_of(r)
    group: Integer = np.int64(0)
    for n in range(r.warps):
        group = max(group, members[n].products + 1)
    for who in range(ENTRIES):
        r.copied[who] = group if PRODUCTS <= who < FENCED else r.floor
        for b in range(codes.OF_CLUSTER + 1):
            r.gathered[b, who] = 0
    for n in range(r.warps):
        x = members[n]
        x.commits, x.products = 0, group
        for lane in range(LANES):
            x.row_of[lane] = 0
            x.row_mask[lane] = 0
        x.row_mask[0] = x.whole


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3))
def follow(context: Place, warp: Place, lanes: Integer, what: Integer, number: Integer) -> None:
    """Threads of a warp go on together, have waited for each other, come to a barrier; or a barrier's phase ends."""
    c = carray(context, 1)[0]
    r = watch_of(c)
    mask, b = np.int64(lanes), np.int64(number)
    if what == PASSED:
        pass_barrier(c, r, b)
        return
    me = np.int64(carray(warp, 1)[0].index)
    x = members_of(r)[me]
    if what == TOGETHER:
        if mask & ~x.row_mask[x.row_of[lowest(mask)]]:
            meet(r, x, mask, True)
    elif what == WAITED:
        meet(r, x, mask, False)
    elif r.partial and mask:
        publish(r, x, row_of(r, x, mask), me, r.gathered[b])
