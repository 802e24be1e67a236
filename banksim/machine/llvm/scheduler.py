"""The scheduler that compiled kernels call: which group of a warp's threads runs next.

The functions are compiled by numba and called from LLVM code by name; all of them work on the records of
machine/state.py, as those of llvm/groups.py and llvm/arrivals.py do.
"""

from __future__ import annotations

import numpy as np
from numba import types

from banksim.machine import codes
from banksim.machine.codes import (
    APART,
    AT_BARRIER,
    AT_CLUSTER,
    AT_WORD,
    BLOCKED,
    DONE,
    READY,
    RUN,
    YIELDED,
)
from banksim.machine.compiled_records import Warp
from banksim.machine.llvm.groups import (
    cluster_of,
    come_to,
    find_parts,
    join,
    left_alone,
    phase_over,
    put_aside,
    release,
    remove,
    tell,
    with_yield,
)
from banksim.machine.record_types import CONTEXT, WARP
from banksim.requests.lane_intrinsics import lowest, ones, room
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

_room_for_parts = room(32)
POINTER = types.voidptr


@callback(types.int32(CONTEXT, WARP))
def schedule(context: Place, warp: Place) -> Integer:
    """Choose the group that runs next. Returns RUN (`active` and `pc` are set), BLOCKED or DONE.

    The part that the last branch parked (`slot`) goes first, and alone. If there is none, groups are a stack: of those
    that are ready, the one parked last goes on, joined by all that are ready at the same pc (but not inside functions,
    where they may come from different calls). If none is ready, the group goes on that was the first to yield. This
    order was measured on one H200: tests/machine/test_hardware.py.
    """
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    if not w.live:
        return DONE
    if w.groups > 1 or w.group_wait[0] >= 0:
        join(c, w)
    for g in range(w.groups):
        b = w.group_wait[g] - AT_BARRIER
        if w.group_wait[g] == AT_WORD:
            over = phase_over(c, w.group_phase[g])
        elif w.group_wait[g] == AT_CLUSTER:
            over = cluster_of(c).phase != w.group_phase[g]
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
    g = w.groups - 1
    while best < 0 and g >= 0:
        if w.group_wait[g] == YIELDED:
            best = g
        g -= 1
    if best < 0:
        best = left_alone(c, w)
    if best < 0:
        return BLOCKED
    alone = w.group_mask[best] == w.slot or (w.group_wait[best] != READY and w.group_wait[best] != YIELDED)
    yielded = w.group_wait[best] == YIELDED
    w.slot = 0
    w.active = w.group_mask[best]
    w.pc = w.group_pc[best]
    remove(w, best)
    if not alone and w.pc < c.outside:
        g = w.groups - 1
        while g >= 0:
            if (w.group_wait[g] == READY or (w.group_wait[g] == YIELDED and yielded)) and w.group_pc[g] == w.pc:
                w.active |= w.group_mask[g]
                w.mixed = 1
                remove(w, g)
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
    find_parts(mask, w.convergence[number], parts)
    for n in range(31, -1, -1):
        if parts[n]:
            put_aside(w, parts[n], pc, number, 0)


@callback(types.uint32(CONTEXT, WARP, types.uint32, types.uint32, types.int32))
def meet(context: Place, warp: Place, mask: Integer, pc: Integer, number: Integer) -> Integer:
    """BSYNC of a group whose threads may wait for different threads. Those for whom all have come go on at once,
    together with the threads that waited for them (`active` and `pc` are set); the others wait. Returns the threads
    that go on, 0 if none does."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask, w.convergence[number], parts)
    go = np.uint32(0)
    for n in range(31, -1, -1):
        if parts[n]:
            put_aside(w, parts[n], pc, number, 0)
            g = w.groups - 1
            come = come_to(w, g)
            if not w.convergence[number, lowest(parts[n])] & w.live & ~come & ~with_yield(w):
                g = release(c, w, g, come)
                go |= w.group_mask[g]
                remove(w, g)
    if go:
        w.active, w.pc = go, pc
        if c.watch:
            tell(c.follow, c, w, go, codes.TOGETHER, 0)
    return go


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
