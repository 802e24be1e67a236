"""The groups of a warp's threads, as compiled functions see them: parked, joined, parted.

A group is a set of threads of one warp that execute together. The groups that do not run are parked in the warp's
record, each with its mask, its pc and what it waits for (machine/codes.py).
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils

from banksim.machine import codes
from banksim.machine.codes import APART, COLLECTIVE, CONVERGENCE, READY, WARPSYNC, YIELDED
from banksim.machine.compiled_records import Context, Warp
from banksim.machine.record_types import _CLUSTER
from banksim.requests.lane_intrinsics import lowest, ones, pointer, room
from banksim.system.compiled_types import Code, Integer, Integers, NumbaType, Signature, TargetContext, TypingContext
from banksim.system.jit import carray, inner, intrinsic

_room_for_later = room(32)


@intrinsic(object)
def tell(
    typing_context: TypingContext,
    function: NumbaType,
    c: NumbaType,
    w: NumbaType,
    mask: NumbaType,
    what: NumbaType,
    number: NumbaType,
) -> Code:
    """Call the function at an address that the race check has given, races.ordering_events.follow."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        address, *records, mask, what, number = args
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * 2 + [word] * 3)
        places = [builder.bitcast(record, cgutils.voidptr_t) for record in records]
        builder.call(builder.inttoptr(address, kind.as_pointer()), [*places, mask, what, number])
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.void(types.uint64, c, w, *[types.uint32] * 3), generate


@inner
def put_aside(w: Warp, mask: Integer, pc: Integer, wait: Integer, phase: Integer) -> None:
    """Park a group, on top of the others."""
    n = w.groups
    w.group_mask[n] = mask
    w.group_pc[n] = pc
    w.group_wait[n] = wait
    w.group_phase[n] = phase
    w.groups = n + 1


@inner
def remove(w: Warp, g: Integer) -> None:
    """Take a group out of those that are parked; the others keep their order."""
    w.groups -= 1
    for h in range(g, w.groups):
        w.group_mask[h] = w.group_mask[h + 1]
        w.group_pc[h] = w.group_pc[h + 1]
        w.group_wait[h] = w.group_wait[h + 1]
        w.group_phase[h] = w.group_phase[h + 1]


@inner
def come_to(w: Warp, g: Integer) -> Integer:
    """The threads that wait at the same convergence barrier as group g, for the same threads."""
    b = w.group_wait[g]
    gathered = w.convergence[b, lowest(w.group_mask[g])]
    come = np.uint32(0)
    for h in range(w.groups):
        same = w.group_wait[h] == b and w.convergence[b, lowest(w.group_mask[h])] == gathered
        if same and (b != WARPSYNC or w.group_pc[h] == w.group_pc[g]):
            come |= w.group_mask[h]
    return come


@inner
def release(c: Context, w: Warp, g: Integer, released: Integer) -> Integer:
    """Group g is the last to come to its convergence barrier: it goes on with all threads of `released`. Returns its
    new place among the groups. Threads left behind at the barrier no longer wait for those released. Groups that came
    to the barrier at different pcs go on apart, unless the barrier opens a collective region."""
    b = w.group_wait[g]
    gathered = w.convergence[b, lowest(w.group_mask[g])]
    w.group_wait[g] = READY if b < WARPSYNC else APART
    if b == COLLECTIVE:
        w.collected = w.group_mask[g]
    h = g - 1
    while h >= 0:
        if w.group_wait[h] == b and w.group_mask[h] & released:
            if w.group_pc[h] == w.group_pc[g] or b == COLLECTIVE:
                w.group_mask[g] |= w.group_mask[h]
                remove(w, h)
                g -= 1
            else:
                w.group_wait[h] = APART
        h -= 1
    if c.watch:
        tell(c.follow, c, w, released, codes.WAITED, 0)
    for lane in range(32):
        left_behind = (gathered & ~released) >> np.uint32(lane) & np.uint32(1)
        if left_behind and w.convergence[b, lane] == gathered:
            w.convergence[b, lane] &= ~released
    return g


@inner
def with_yield(w: Warp) -> Integer:
    """The threads that have yielded."""
    yielded = np.uint32(0)
    for g in range(w.groups):
        if w.group_wait[g] == YIELDED:
            yielded |= w.group_mask[g]
    return yielded


@inner
def join(c: Context, w: Warp) -> None:
    """Make the groups at a convergence barrier one ready group where all the live threads that it gathers have come.
    A BSYNC does not wait for threads that have yielded (measured on one H200)."""
    yielded = with_yield(w)
    g = w.groups - 1
    while g >= 0:
        b = w.group_wait[g]
        if 0 <= b < CONVERGENCE:
            wanted = w.convergence[b, lowest(w.group_mask[g])] & w.live
            if b < WARPSYNC:
                wanted &= ~yielded
            come = come_to(w, g)
            if not wanted & ~come:
                g = release(c, w, g, come)
        g -= 1


@inner
def left_alone(c: Context, w: Warp) -> Integer:
    """The place of a group at a WARPSYNC that goes on though threads which it names have not come; -1 if there is none.
    It may, where all of those wait at a BSYNC and no other group can go on (measured on one H200; numba-cuda's own
    reduction relies on it)."""
    converging = np.uint32(0)
    for g in range(w.groups):
        if 0 <= w.group_wait[g] < WARPSYNC:
            converging |= w.group_mask[g]
    for g in range(w.groups - 1, -1, -1):
        mask = w.group_mask[g]
        if w.group_wait[g] == WARPSYNC and not w.convergence[WARPSYNC, lowest(mask)] & w.live & ~mask & ~converging:
            return release(c, w, g, np.uint64(mask))  # as `join` calls it: compiled once
    return -1


@inner
def cluster_of(c: Context) -> Any:
    """The barrier of the block's cluster, as a `Cluster`."""
    return carray(pointer(c.cluster), 1, _CLUSTER)[0]


@inner
def phase_over(c: Context, where: Integer) -> Integer:
    """Whether the phase of an mbarrier has ended. `where`: its address, plus the parity of the phase as lowest bit."""
    address = np.uint64(c.shared) + np.uint64(where & np.uint32(0xFFFFFFF8))
    upper = carray(pointer(address), 2, np.uint32)[1]
    return upper >> np.uint32(31) != where & np.uint32(1)


@inner
def find_parts(mask: Integer, keys: Integers, parts: Integers) -> None:
    """Divide the threads of `mask` by their keys into `parts`, in the order in which they run (32 masks; 0 after the
    last). The threads with the key of the lowest lane are split off first; they run before the rest, unless the rest
    has fewer threads. The rest is divided in the same way (measured on one H200)."""
    later = carray(_room_for_later(), 32, np.uint32)
    for n in range(32):
        parts[n] = 0
    front, back = 0, 0
    while mask:
        first = np.int64(lowest(mask))
        same = np.uint32(0)
        for lane in range(first, 32):
            if (mask >> np.uint32(lane)) & np.uint32(1) and keys[lane] == keys[first]:
                same |= np.uint32(1) << np.uint32(lane)
        mask &= ~same
        if mask and ones(mask) < ones(same):
            later[back] = same
            back += 1
        else:
            parts[front] = same
            front += 1
    while back:
        back -= 1
        parts[front] = later[back]
        front += 1
