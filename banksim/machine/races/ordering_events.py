"""Events of a block, other than accesses, that the race check is told of by LLVM code: the block begins, threads meet
at barriers of the block and of its cluster, copies are started and waited for. Compiled by numba.
"""

import numpy as np
from numba import types

from banksim.machine.codes import BLOCK_BARRIERS, LANES, OF_CLUSTER, PASSED, RELEASED, TOGETHER, WAITED
from banksim.machine.races.records import COMMITS, COPIES, ENTRIES, FENCED, GROUP, LATEST, PRODUCTS, WORDS, Watch
from banksim.machine.races.vector_clocks import (
    copied_of,
    fence,
    gathered_at,
    known_to,
    meet,
    members_of,
    number_of,
    order_all,
    pass_barrier,
    publish,
    row_of,
    take_over,
    watch_of,
)
from banksim.machine.record_types import CONTEXT, WARP
from banksim.machine.state import CLUSTER, Context
from banksim.requests.lane_intrinsics import lowest, ones, pointer
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

_CLUSTER = CLUSTER


@callback(types.void(CONTEXT, WARP))
def commit_copies(context: Place, warp: Place) -> None:
    """LDGDEPBAR (cp.async.commit_group), UTMACMDFLUSH (cp.async.bulk.commit_group): the warp's copies so far become a
    group. Hardware counts both kinds together."""
    c = carray(context, 1)[0]
    r = watch_of(c)
    x = members_of(r)[number_of(c, r, carray(warp, 1)[0].index)]
    x.committed[x.commits % COMMITS] = r.now + 1
    x.commits += 1


@callback(types.void(CONTEXT, WARP, types.uint32))
def await_copies(context: Place, warp: Place, pending: Integer) -> None:
    """DEPBAR (cp.async.wait_group, cp.async.bulk.wait_group): all groups of copies but the last `pending` are done."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    me = number_of(c, r, w.index)
    x, known = members_of(r)[me], known_to(r, me)
    newest = x.commits - 1 - np.int64(pending)
    if newest >= 0 and x.commits - newest <= COMMITS:
        row = row_of(r, me, np.int64(w.active))
        agent = COPIES * r.span + me
        known[row, agent] = max(known[row, agent], x.committed[newest % COMMITS])


@callback(types.void(CONTEXT, WARP))
def fence_proxies(context: Place, warp: Place) -> None:
    """FENCE.VIEW.ASYNC (fence.proxy.async)."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    me = number_of(c, r, w.index)
    fence(r, me, row_of(r, me, np.int64(w.active)))


@callback(types.void(CONTEXT, WARP))
def commit_products(context: Place, warp: Place) -> None:
    """wgmma.commit_group: the warp's products so far become a group."""
    c = carray(context, 1)[0]
    r = watch_of(c)
    members_of(r)[number_of(c, r, carray(warp, 1)[0].index)].products += 1


@callback(types.void(CONTEXT, WARP, types.uint32))
def await_products(context: Place, warp: Place, pending: Integer) -> None:
    """WARPGROUP.DEPBAR (wgmma.wait_group): all groups of products but the last `pending` have been done, by all four
    warps together: a product reads its operands for all of them at once. Each counts the same groups."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    me = number_of(c, r, w.index)
    x, known = members_of(r)[me], known_to(r, me)
    row, first = row_of(r, me, np.int64(w.active)), PRODUCTS * r.span + me // GROUP * GROUP
    for who in range(first, first + GROUP):
        known[row, who] = max(known[row, who], x.products - np.int64(pending))


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
    entries = ENTRIES * r.span
    clear(carray(pointer(r.known), r.warps * LANES * entries, np.int32))
    for clocks in (r.published, r.passed):
        clear(carray(pointer(clocks), r.blocks * WORDS * entries, np.int32))
    members = members_of(r)
    for n in range(r.warps):
        members[n].seen = 0
        for row in range(LANES):
            clear(members[n].lanes[row])


@callback(types.void(CONTEXT))
def watch_block(context: Place) -> None:
    """Everything before is over: its times are below those of the block. (A cluster's first begins first.)"""
    c = carray(context, 1)[0]
    if c.own_shared:
        return
    r = watch_of(c)
    if r.now > LATEST:
        forget(r)
    r.floor = r.began = r.epoch = r.now + 1
    r.block, r.inside, r.sealed = c.block, 0, 0
    members, copied = members_of(r), copied_of(r)
    group: Integer = np.int64(0)
    for n in range(r.warps):
        group = max(group, members[n].products + 1)
    for who in range(ENTRIES * r.span):
        copied[who] = group if PRODUCTS * r.span <= who < FENCED * r.span else r.floor
    clear(carray(pointer(r.gathered), (r.blocks * BLOCK_BARRIERS + 2) * ENTRIES * r.span, np.int32))
    for n in range(r.warps):
        x = members[n]
        x.commits, x.products, x.latest = 0, group, 0
        for lane in range(LANES):
            x.row_of[lane] = 0
            x.row_mask[lane] = 0
        x.row_mask[0] = x.whole


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3))
def follow(context: Place, warp: Place, lanes: Integer, what: Integer, number: Integer) -> None:
    """Threads of a warp go on together, have met, come to a barrier or leave it; or a barrier's phase ends."""
    c = carray(context, 1)[0]
    r = watch_of(c)
    mask, b = np.int64(lanes), np.int64(number)
    if what == PASSED and b == OF_CLUSTER:
        end_phase(c, r)
        return
    if what == PASSED:
        pass_barrier(c, r, b)
        return
    me = number_of(c, r, carray(warp, 1)[0].index)
    x = members_of(r)[me]
    if what == TOGETHER:
        if mask & ~x.row_mask[x.row_of[lowest(mask)]]:
            meet(r, me, mask, True)
    elif what == WAITED:
        meet(r, me, mask, False)
    elif what == RELEASED:
        leave_phase(c, r, me, mask)
    elif mask and (r.partial or b == OF_CLUSTER):
        publish(r, me, row_of(r, me, mask), gathered_at(c, r, b))
        if b == OF_CLUSTER:
            x.arrived = r.now if mask == x.whole else 0


# ---- the barrier of a cluster: threads that have arrived may access memory before they wait, in no order with others


@inner
def end_phase(c: Context, r: Watch) -> None:
    """All have arrived: what they did until then is ordered before what each does that has waited."""
    gathered, passed = gathered_at(c, r, np.int64(OF_CLUSTER)), gathered_at(c, r, np.int64(OF_CLUSTER + 1))
    for who in range(r.entries):
        passed[who] = gathered[who]
        gathered[who] = 0
    r.inside = carray(pointer(c.cluster), 1, _CLUSTER)[0].live
    r.epoch = r.sealed = r.now + 1


@inner
def leave_phase(c: Context, r: Watch, me: Integer, mask: Integer) -> None:
    """Threads have waited for the end of a phase. With the last of them, it is as a barrier of all that are watched, if
    none accessed memory before it had waited."""
    passed, x = gathered_at(c, r, np.int64(OF_CLUSTER + 1)), members_of(r)[me]
    take_over(r, me, row_of(r, me, mask), passed)
    if x.latest > x.arrived:
        r.sealed = 0
    r.inside -= np.int64(ones(np.uint32(mask)))
    if not r.inside and r.sealed:
        order_all(r, r.sealed, passed)
