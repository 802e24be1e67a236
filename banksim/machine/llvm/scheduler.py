"""What compiled kernels call on the way: the scheduler of a warp's groups, barriers, the judging of new requests.

Compiled by numba, called from LLVM code by name; every function works on the records of `state.py`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

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
from banksim.machine.record_types import CONTEXT, WARP
from banksim.requests.lane_intrinsics import lowest, ones, pointer, room
from banksim.system.jit import callback, inner

_room_for_parts, _room_for_later = room(32), room(32)
POINTER = types.voidptr


@intrinsic
def _tell(typing_context: Any, function: Any, c: Any, w: Any, mask: Any, what: Any, number: Any) -> Any:
    """Call what follows the order of a block's threads: races.ordering_events.follow, at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, *records, mask, what, number = args
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * 2 + [word] * 3)
        places = [builder.bitcast(record, cgutils.voidptr_t) for record in records]
        builder.call(builder.inttoptr(address, kind.as_pointer()), [*places, mask, what, number])
        return context.get_dummy_value()

    return types.void(types.uint64, c, w, *[types.uint32] * 3), generate


tell: Any = _tell


@inner
def put_aside(w: Any, mask: Any, pc: Any, wait: Any, phase: Any) -> None:
    n = w.groups
    w.group_mask[n] = mask
    w.group_pc[n] = pc
    w.group_wait[n] = wait
    w.group_phase[n] = phase
    w.groups = n + 1


@inner
def remove(w: Any, g: Any) -> None:
    """Take a group out; the others keep their order."""
    w.groups -= 1
    for h in range(g, w.groups):
        w.group_mask[h] = w.group_mask[h + 1]
        w.group_pc[h] = w.group_pc[h + 1]
        w.group_wait[h] = w.group_wait[h + 1]
        w.group_phase[h] = w.group_phase[h + 1]


@inner
def come_to(w: Any, g: Any) -> Any:
    """Threads that wait where group g waits, at the same barrier of the same frame."""
    b = w.group_wait[g]
    gathered = w.convergence[b, lowest(w.group_mask[g])]
    come = np.uint32(0)
    for h in range(w.groups):
        same = w.group_wait[h] == b and w.convergence[b, lowest(w.group_mask[h])] == gathered
        if same and (b != WARPSYNC or w.group_pc[h] == w.group_pc[g]):
            come |= w.group_mask[h]
    return come


@inner
def release(c: Any, w: Any, g: Any, released: Any) -> Any:
    """Group g, the last to come, goes on with all of `released`; → its new place. Nobody waits for them there any
    more. Groups that came to one barrier at different places go on apart, unless it opens a collective region."""
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
def with_yield(w: Any) -> Any:
    """Threads that have yielded."""
    yielded = np.uint32(0)
    for g in range(w.groups):
        if w.group_wait[g] == YIELDED:
            yielded |= w.group_mask[g]
    return yielded


@inner
def join(c: Any, w: Any) -> None:
    """Let groups go on as one where every live thread that a convergence barrier gathers has come. Threads that have
    yielded hold nobody up at a BSYNC (measured on one H200)."""
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
def left_alone(c: Any, w: Any) -> Any:
    """The place of a group at WARPSYNC that goes on without the others that it names, as all of these wait at a BSYNC
    and nobody else can go on (measured on one H200; numba-cuda's own reduction relies on it); -1 if there is none."""
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
def phase_over(c: Any, where: Any) -> Any:
    """Whether the transaction barrier at an address (its lowest bit: the parity of the phase) has gone on."""
    address: Any = np.uint64(c.shared) + np.uint64(where & np.uint32(0xFFFFFFF8))
    upper = carray(pointer(address), 2, np.uint32)[1]
    return upper >> np.uint32(31) != where & np.uint32(1)


@callback(types.int32(CONTEXT, WARP))
def schedule(context: Any, warp: Any) -> Any:
    """Choose the group that runs next: RUN (`active` and `pc` are set), BLOCKED or DONE.

    The part that a branch put aside last goes on alone. Otherwise groups are a stack: of those that are ready the
    one that was put aside last goes on, with all that are ready at the same place (but not inside of functions, where
    they may come from different calls); of those that have yielded, if all have, the one that did so first. So it was
    measured on one H200: tests/test_hardware.py.
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
    best = -1
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
def part(warp: Any, taken: Any, target: Any, rest: Any, behind: Any) -> None:
    """A group parts at a branch: that with fewer threads goes on (`active` and `pc` are set), that behind the branch
    if they are equal (measured on one H200)."""
    w = carray(warp, 1)[0]
    if ones(taken) < ones(rest):
        put_aside(w, rest, behind, READY, 0)
        w.slot, w.active, w.pc = rest, taken, target
    else:
        put_aside(w, taken, target, READY, 0)
        w.slot, w.active, w.pc = taken, rest, behind


@inner
def find_parts(mask: Any, keys: Any, parts: Any) -> None:
    """The threads of `mask` by their keys, in the order in which they run (32 masks, 0 behind the last). Those that go
    with the lowest lane are split off first, and they run before the rest unless the rest has fewer threads; and so on
    with the rest (measured on one H200)."""
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
def run_first(w: Any, parts: Any, targets: Any) -> None:
    """The first of several parts goes on (`active` and `pc` are set), the others in turn, each by itself."""
    for n in range(31, 0, -1):
        if parts[n]:
            put_aside(w, parts[n], targets[lowest(parts[n])], APART, 0)
    w.slot, w.active, w.pc = np.uint32(0), parts[0], targets[lowest(parts[0])]


@callback(types.void(WARP, types.uint32, POINTER))
def scatter(warp: Any, mask: Any, targets: Any) -> None:
    """Part the threads of `mask` by their targets (a word a lane): an indirect branch or return."""
    pc = carray(targets, 32, np.uint32)
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask, pc, parts)
    run_first(carray(warp, 1)[0], parts, pc)


@callback(types.void(WARP, types.uint32, POINTER))
def end_collective(warp: Any, mask: Any, targets: Any) -> None:
    """The threads that came last to a collective region go on first, then the others."""
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
def sync_by_mask(warp: Any, mask: Any, pc: Any, number: Any) -> None:
    """WARPSYNC whose threads name different masks: those with one mask wait for each other only."""
    w = carray(warp, 1)[0]
    parts = carray(_room_for_parts(), 32, np.uint32)
    find_parts(mask, w.convergence[number], parts)
    w.slot = np.uint32(0)
    for n in range(31, -1, -1):
        if parts[n]:
            put_aside(w, parts[n], pc, number, 0)


@callback(types.uint32(CONTEXT, WARP, types.uint32, types.uint32, types.int32))
def meet(context: Any, warp: Any, mask: Any, pc: Any, number: Any) -> Any:
    """BSYNC of threads of which each may wait for others: those for whom all have come go on at once, with those who
    waited (`active` and `pc` are set; → these threads); the others wait."""
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
def give_way(warp: Any, mask: Any, pc: Any) -> None:
    """YIELD: whoever else of the warp can go on goes first; the groups that yield take turns."""
    w = carray(warp, 1)[0]
    put_aside(w, mask, pc, YIELDED, 0)
    for g in range(w.groups - 1, 0, -1):
        w.group_mask[g], w.group_mask[g - 1] = w.group_mask[g - 1], w.group_mask[g]
        w.group_pc[g], w.group_pc[g - 1] = w.group_pc[g - 1], w.group_pc[g]
        w.group_wait[g], w.group_wait[g - 1] = w.group_wait[g - 1], w.group_wait[g]
        w.group_phase[g], w.group_phase[g - 1] = w.group_phase[g - 1], w.group_phase[g]


@inner
def complete(c: Any, b: Any) -> None:
    """End the phase of barrier b: publish its reduction, let the next one begin."""
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
    context: Any, warp: Any, mask: Any, votes: Any, number: Any, expected: Any, how: Any, pc: Any, waits: Any
) -> None:
    """Threads come to barrier `number`; those that wait are put aside, the last to come ends the phase."""
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
def leave(context: Any, warp: Any, mask: Any) -> None:
    """Threads exit: a barrier that waited for them only is complete."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    w.live &= ~mask
    c.live -= ones(mask)
    for b in range(BLOCK_BARRIERS):
        if c.arrived[b] and not c.expected[b] and c.arrived[b] >= c.live:
            complete(c, b)
