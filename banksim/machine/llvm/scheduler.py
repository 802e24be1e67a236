"""The scheduler that compiled kernels call: which group of a warp's threads runs next.

The functions are compiled by numba and called from LLVM code by name; all of them work on the records of
machine/state.py, as those of llvm/groups.py and llvm/arrivals.py do.
"""

import numpy as np
from numba import types

from banksim.kernels.kernel import BYTES
from banksim.machine import codes, doubts
from banksim.machine.codes import APART, AT_BARRIER, AT_CLUSTER, AT_WORD, BLOCKED, DONE, READY, RUN, WARPSYNC, YIELDED
from banksim.machine.llvm import groups
from banksim.machine.llvm.groups import doubt, find_parts, put_aside, remove, tell, waits_at_bsync
from banksim.machine.record_types import CONTEXT, WARP
from banksim.machine.state import Warp
from banksim.requests.lane_intrinsics import lowest, ones, room
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

_room_for_parts = room(32)
POINTER = types.voidptr


@inner
def waits_before(w: Warp, g: Integer, pc: Integer) -> bool:
    """Whether group g waits at the BSYNC at `pc`; `group_pc` is where it goes on."""
    return waits_at_bsync(w, g) and w.group_pc[g] == pc + BYTES


@callback(types.int32(CONTEXT, WARP))
def schedule(context: Place, warp: Place) -> Integer:
    """Choose the group that runs next. Returns RUN (`active` and `pc` are set), BLOCKED or DONE.

    The part that the last branch parked (`slot`) goes first, and alone. If there is none, groups are a stack: of those
    that are ready, the one parked last goes on, joined by all that are ready at the same pc, and, where that is a
    BSYNC's, by those that wait there, for whatever threads (`again`). If none is ready, the group goes on that was the
    first to yield. This order was measured on one H200: tests/machine/test_hardware.py.
    """
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    if not w.live:
        return DONE
    if w.groups > 1 or w.group_wait[0] >= 0:
        groups.join(c, w)
    for g in range(w.groups):
        b = w.group_wait[g] - AT_BARRIER
        if w.group_wait[g] == AT_WORD:
            over = groups.phase_over(c, w.group_phase[g])
        elif w.group_wait[g] == AT_CLUSTER:
            over = groups.cluster_of(c).phase != w.group_phase[g]
            if over and c.watch:
                tell(c.follow, c, w, w.group_mask[g], codes.RELEASED, codes.OF_CLUSTER)
        else:
            over = b >= 0 and c.phase[b] != w.group_phase[g]
        if over:
            w.group_wait[g] = READY
    best: Integer = -1
    for g in range(w.groups):
        if w.group_wait[g] == READY or w.group_wait[g] == APART:
            best = g
    for g in range(w.groups):
        if w.group_mask[g] == w.slot and (w.group_wait[g] == READY or w.group_wait[g] == APART):
            best = g
    if best < 0:
        best = groups.stuck(c, w)
    g = w.groups - 1
    while best < 0 and g >= 0:
        if w.group_wait[g] == YIELDED:
            best = g
        g -= 1
    if best < 0:
        return BLOCKED
    alone = w.group_mask[best] == w.slot or (w.group_wait[best] != READY and w.group_wait[best] != YIELDED)
    yielded = w.group_wait[best] == YIELDED
    if not yielded:
        for g in range(np.int64(w.groups)):
            if w.group_wait[g] == YIELDED:
                groups.doubt_where_it_waits(c, w, g, doubts.GAVE_WAY)
    w.slot, w.again = 0, 0
    w.active = w.group_mask[best]
    w.pc = w.group_pc[best]
    remove(w, best)
    if not alone:
        g = w.groups - 1
        while g >= 0:
            ready = w.group_wait[g] == READY or (w.group_wait[g] == YIELDED and yielded)
            if ready and w.group_pc[g] == w.pc:
                doubt(c, np.int64(w.pc), doubts.YIELDED if yielded else doubts.JOINED)
                w.active |= w.group_mask[g]
                remove(w, g)
            elif waits_before(w, g, w.pc):
                w.again |= w.group_mask[g]
            g -= 1
    c.resumed += 1
    if c.watch:
        tell(c.follow, c, w, w.active, codes.TOGETHER, 0)
    return RUN


@callback(types.void(WARP, types.uint32, types.uint32, types.uint32, types.uint32))
def part(warp: Place, taken: Integer, target: Integer, rest: Integer, behind: Integer) -> None:
    """Split the group at a divergent branch: the side with fewer threads goes on (`active` and `pc` are set), if they
    are equal that which falls through; the other is parked (measured on one H200)."""
    w = carray(warp, 1)[0]
    if ones(taken) < ones(rest):
        put_aside(w, rest, behind, READY, 0)
        w.slot, w.active, w.pc = rest, taken, target
    else:
        put_aside(w, taken, target, READY, 0)
        w.slot, w.active, w.pc = taken, rest, behind


@inner
def run_first(w: Warp, parts: Integers, targets: Integers) -> None:
    """Let the first of several parts go on (`active` and `pc` are set) and park the others, each to run by itself."""
    for n in range(31, 0, -1):
        if parts[n]:
            put_aside(w, parts[n], targets[lowest(parts[n])], APART, 0)
            w.slot = 0
    w.active, w.pc = parts[0], targets[lowest(parts[0])]


@callback(types.void(WARP, types.uint32, POINTER))
def scatter(warp: Place, mask: Integer, targets: Place) -> None:
    """Split the threads of `mask` by their targets (one word for each lane) at an indirect branch, call or return."""
    pc = carray(targets, 32, np.uint32)
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask, pc, parts)
    run_first(carray(warp, 1)[0], parts, pc)


@callback(types.void(WARP, types.uint32, POINTER))
def end_collective(warp: Place, mask: Integer, targets: Place) -> None:
    """Split the threads at the end of a collective region: the group that came to the region last goes on first."""
    w = carray(warp, 1)[0]
    pc = carray(targets, 32, np.uint32)
    last = mask & w.collected
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask & ~last, pc, parts)
    if last:
        for n in range(31, 0, -1):
            parts[n] = parts[n - 1]
        parts[0] = last
    run_first(w, parts, pc)


@callback(types.void(WARP, types.uint32, types.uint32, types.int32))
def sync_by_mask(warp: Place, mask: Integer, pc: Integer, number: Integer) -> None:
    """WARPSYNC of threads that name different masks: only threads with the same mask wait for each other."""
    w = carray(warp, 1)[0]
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask, w.named[number - WARPSYNC], parts)
    for n in range(31, -1, -1):
        if parts[n]:
            put_aside(w, parts[n], pc, number, 0)


@callback(types.uint32(CONTEXT, WARP, types.uint32, types.uint32, types.int32))
def meet(context: Place, warp: Place, mask: Integer, pc: Integer, number: Integer) -> Integer:
    """BSYNC. If all have come that do not wait elsewhere, the group goes on with those that waited (`active` and `pc`
    are set); else it waits, but for threads that the barrier does not gather: these go on. Returns the threads that go
    on, 0 if none does."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    goes = mask
    for h in range(w.groups):
        if w.group_wait[h] == number and w.group_pc[h] == pc:
            goes |= w.group_mask[h] & w.again
    w.again = 0
    gathers = w.barriers[number]
    if gathers & w.live and mask & ~gathers:
        doubt(c, pc - BYTES, doubts.FOREIGN)
    put_aside(w, mask, pc, number, 0)
    g: Integer = w.groups - 1
    come = groups.come_to(w, g)
    elsewhere = np.uint32(0)
    if gathers & w.live & ~goes & ~groups.blocked(w):
        goes &= ~gathers
        if not goes & mask:
            return np.uint32(0)
    elif gathers & goes:
        goes |= come
        if gathers & w.live & ~goes:
            doubt(c, pc - BYTES, doubts.ELSEWHERE)
        w.barriers[number] = 0
        for h in range(w.groups):
            if waits_at_bsync(w, h):
                elsewhere |= w.group_mask[h] & gathers & ~goes
    g = groups.release(c, w, g, goes)
    if elsewhere:
        groups.try_again(w)
    w.active, w.pc = w.group_mask[g], pc
    remove(w, g)
    if c.watch:
        tell(c.follow, c, w, w.active, codes.TOGETHER, 0)
    return w.active


@callback(types.uint32(CONTEXT, WARP, types.uint32, types.uint32, types.int32))
def leave_barrier(context: Place, warp: Place, mask: Integer, pc: Integer, number: Integer) -> Integer:
    """BREAK has left threads for a convergence barrier that all wait, or none: it gathers none any more, and they go
    on, as one group where they wait at one BSYNC, and before the group where they are fewer. Returns 1 if they do: then
    the group is parked."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    rest = w.barriers[number] & w.live
    if rest & ~groups.blocked(w):
        return np.uint32(0)
    released, g = np.uint32(0), w.groups - 1
    while g >= 0:
        if waits_at_bsync(w, g) and w.group_mask[g] & rest:
            if w.group_wait[g] != number:
                doubt(c, pc - BYTES, doubts.ELSEWHERE)
            come = groups.come_to(w, g) | w.group_mask[g]
            h = groups.force(c, w, g)
            if not released:
                w.slot = w.group_mask[h]
            released |= come
            g = w.groups
        g -= 1
    w.barriers[number] = 0
    if not released or ones(released) >= ones(mask):
        return np.uint32(0)
    put_aside(w, mask, pc, READY, 0)
    return np.uint32(1)


@callback(types.void(WARP, types.uint32, types.uint32))
def give_way(warp: Place, mask: Integer, pc: Integer) -> None:
    """YIELD: all other groups of the warp that can go on go first. Groups that yield to each other take turns."""
    w = carray(warp, 1)[0]
    put_aside(w, mask, pc, YIELDED, 0)
    for g in range(w.groups - 1, 0, -1):
        w.group_mask[g], w.group_mask[g - 1] = w.group_mask[g - 1], w.group_mask[g]
        w.group_pc[g], w.group_pc[g - 1] = w.group_pc[g - 1], w.group_pc[g]
        w.group_wait[g], w.group_wait[g - 1] = w.group_wait[g - 1], w.group_wait[g]
        w.group_phase[g], w.group_phase[g - 1] = w.group_phase[g - 1], w.group_phase[g]
