"""The scheduler that compiled kernels call: which group of a warp's threads runs next, and who waits at barriers.

A group is a set of threads of one warp that execute together. The groups that do not run are parked in the warp's
record, each with its mask, its pc and what it waits for (machine/codes.py). The functions are compiled by numba and
called from LLVM code by name; all of them work on the records of machine/state.py.
"""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils

from banksim.machine import codes
from banksim.machine.codes import (
    AND,
    APART,
    AT_BARRIER,
    AT_WORD,
    BLOCK_BARRIERS,
    BLOCKED,
    COLLECTIVE,
    CONVERGENCE,
    DONE,
    NO_REDUCTION,
    POPC,
    READY,
    RUN,
    WARPSYNC,
    YIELDED,
)
from banksim.machine.compiled_records import Context, Warp
from banksim.machine.record_types import CONTEXT, WARP
from banksim.requests.lane_intrinsics import lowest, ones, pointer, room
from banksim.system.compiled_types import (
    Code,
    Integer,
    Integers,
    NumbaType,
    Place,
    Signature,
    TargetContext,
    TypingContext,
)
from banksim.system.jit import callback, carray, inner, intrinsic

_room_for_parts, _room_for_later = room(32), room(32)
POINTER = types.voidptr


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
def phase_over(c: Context, where: Integer) -> Integer:
    """Whether the phase of an mbarrier has ended. `where`: its address, plus the parity of the phase as lowest bit."""
    address = np.uint64(c.shared) + np.uint64(where & np.uint32(0xFFFFFFF8))
    upper = carray(pointer(address), 2, np.uint32)[1]
    return upper >> np.uint32(31) != where & np.uint32(1)


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


@inner
def run_first(w: Warp, parts: Integers, targets: Integers) -> None:
    """Let the first of several parts go on (`active` and `pc` are set) and park the others, each to run by itself."""
    for n in range(31, 0, -1):
        if parts[n]:
            put_aside(w, parts[n], targets[lowest(parts[n])], APART, 0)
    w.slot, w.active, w.pc = np.uint32(0), parts[0], targets[lowest(parts[0])]


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
    w.slot = np.uint32(0)
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


@inner
def complete(c: Context, b: Integer) -> None:
    """End the phase of barrier b of the block: keep the result of its reduction and begin the next phase."""
    if c.watch:
        tell(c.follow, c, c, 0, codes.PASSED, b)
    how, votes = c.reduction[b], c.votes[b]
    if how == POPC:
        c.result[b] = votes
    elif how == AND:
        c.result[b] = votes == c.arrived[b]
    else:
        c.result[b] = votes > 0
    c.arrived[b] = 0
    c.votes[b] = 0
    c.phase[b] += 1


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 6, types.int32))
def arrive(
    context: Place,
    warp: Place,
    mask: Integer,
    votes: Integer,
    number: Integer,
    expected: Integer,
    how: Integer,
    pc: Integer,
    waits: Integer,
) -> None:
    """Threads arrive at barrier `number` of the block and are parked: to wait there (`waits`), or ready. The phase ends
    when all that it expects have arrived."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    b = np.int64(number) & (BLOCK_BARRIERS - 1)
    put_aside(w, mask, pc, AT_BARRIER + b if waits else READY, c.phase[b])
    if c.watch:
        tell(c.follow, c, w, mask, codes.ARRIVED, b)
    c.arrived[b] += ones(mask)
    c.expected[b] = expected
    if how != NO_REDUCTION:
        w.reduced = b
        c.reduction[b] = how
        c.votes[b] += ones(votes & mask)
    if c.arrived[b] >= (expected if expected else c.live):
        complete(c, b)


@callback(types.void(CONTEXT, WARP, types.uint32))
def leave(context: Place, warp: Place, mask: Integer) -> None:
    """Threads exit. The phase of a barrier of the block that waited only for them ends."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    w.live &= ~mask
    c.live -= ones(mask)
    for b in range(BLOCK_BARRIERS):
        if c.arrived[b] and not c.expected[b] and c.arrived[b] >= c.live:
            complete(c, b)
