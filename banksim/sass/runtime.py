"""What compiled kernels call on the way: the scheduler of a warp's groups, barriers, the judging of new requests.

Compiled by numba, called from LLVM code by name; every function works on the records of `state.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, from_dtype, njit, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from banksim.compiled import RULE_WORDS, judge
from banksim.sass import state
from banksim.sass.state import (
    AND,
    AT_BARRIER,
    BLOCK_BARRIERS,
    BLOCKED,
    CONVERGENCE,
    DONE,
    NO_REDUCTION,
    POPC,
    READY,
    REGISTERS,
    RUN,
    WARPSYNC,
    YIELDED,
)

_TALLY = state.TALLY
# The layouts are part of the functions' types, and with these of the key under which numba caches their code.
_pointer_to: Any = types.CPointer
WARP = _pointer_to(from_dtype(state.WARP))
MEMO = _pointer_to(from_dtype(state.MEMO))
CONTEXT = _pointer_to(from_dtype(state.CONTEXT))
MEMOS = state.MEMO
POINTER = types.voidptr


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """An integer as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return POINTER(types.uint64), generate


pointer: Any = _pointer  # numba supplies the first argument


@intrinsic
def _as_pointer(typing_context: Any, address: Any) -> Any:
    """A pointer to anything as one to bytes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], cgutils.voidptr_t)

    return POINTER(address), generate


as_pointer: Any = _as_pointer


@njit(cache=True)
def popcount(v: Any) -> Any:
    n = 0
    while v:
        v &= v - np.uint32(1)
        n += 1
    return n


@njit(cache=True)
def lowest(mask: Any) -> Any:
    lane = 0
    while not (mask >> np.uint32(lane)) & np.uint32(1):
        lane += 1
    return lane


@njit(cache=True)
def put_aside(w: Any, mask: Any, pc: Any, wait: Any, phase: Any) -> None:
    n = w.groups
    w.group_mask[n] = mask
    w.group_pc[n] = pc
    w.group_wait[n] = wait
    w.group_phase[n] = phase
    w.groups = n + 1


@njit(cache=True)
def remove(w: Any, g: Any) -> None:
    last = w.groups - 1
    w.group_mask[g] = w.group_mask[last]
    w.group_pc[g] = w.group_pc[last]
    w.group_wait[g] = w.group_wait[last]
    w.group_phase[g] = w.group_phase[last]
    w.groups = last


@njit(cache=True)
def join(w: Any) -> None:
    """Let groups go on as one where every live thread that a convergence barrier gathers has come."""
    g = 0
    while g < w.groups:
        b = w.group_wait[g]
        if 0 <= b < CONVERGENCE:
            gathered = w.convergence[b, lowest(w.group_mask[g])]
            wanted = gathered & w.live
            come = np.uint32(0)
            for h in range(w.groups):
                if w.group_wait[h] == b and w.convergence[b, lowest(w.group_mask[h])] == gathered:
                    come |= w.group_mask[h]
            if not wanted & ~come:
                w.group_wait[g] = READY
                h = g + 1
                while h < w.groups:
                    if w.group_wait[h] == b and w.group_mask[h] & wanted:
                        if w.group_pc[h] == w.group_pc[g]:
                            w.group_mask[g] |= w.group_mask[h]
                            remove(w, h)
                            continue
                        w.group_wait[h] = READY
                    h += 1
        g += 1


@cfunc(types.int32(CONTEXT, WARP), cache=True)
def schedule(context: Any, warp: Any) -> Any:
    """Choose the group that runs next: RUN (`active` and `pc` are set), BLOCKED or DONE.

    The ready group with the lowest pc goes first; groups that have used up their turn go last.
    """
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    if not w.live:
        return DONE
    if w.groups > 1:
        join(w)
    for g in range(w.groups):
        b = w.group_wait[g] - AT_BARRIER
        if b >= 0 and c.phase[b] != w.group_phase[g]:
            w.group_wait[g] = READY
    best = -1
    waiting = READY
    while best < 0 and waiting >= YIELDED:
        for g in range(w.groups):
            if w.group_wait[g] == waiting and (best < 0 or w.group_pc[g] < w.group_pc[best]):
                best = g
        waiting -= 1
    if best < 0:
        return BLOCKED
    for g in range(w.groups):
        if w.group_wait[g] == YIELDED:
            w.group_wait[g] = READY
    w.active = w.group_mask[best]
    w.pc = w.group_pc[best]
    remove(w, best)
    c.resumed += 1
    return RUN


@cfunc(types.void(WARP, types.uint32, POINTER, types.int32), cache=True)
def scatter(warp: Any, mask: Any, targets: Any, wait: Any) -> None:
    """Part the threads of `mask` by their targets (a word a lane): an indirect branch or return."""
    w = carray(warp, 1)[0]
    pc = carray(targets, 32, np.uint32)
    while mask:
        first = lowest(mask)
        same = np.uint32(0)
        for lane in range(first, 32):
            if (mask >> np.uint32(lane)) & np.uint32(1) and pc[lane] == pc[first]:
                same |= np.uint32(1) << np.uint32(lane)
        put_aside(w, same, pc[first], wait, 0)
        mask &= ~same


@njit(cache=True)
def fingerprint(registers: Any, rows: Any, mask: Any) -> Any:
    """A hash of the registers of the threads in `mask`."""
    h = np.uint64(0xCBF29CE484222325)
    for row in range(rows):
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                h = (h ^ np.uint64(registers[row * 32 + lane])) * np.uint64(0x100000001B3)
    return h


@njit(cache=True)
def let_waiting_go(w: Any) -> None:
    """Threads that wait at a convergence barrier for a group that spins go on without it: the hardware guarantees
    progress there too. Nobody waits for them at those barriers any more."""
    gone = np.uint32(0)
    for g in range(w.groups):
        if 0 <= w.group_wait[g] < CONVERGENCE:
            w.group_wait[g] = READY
            gone |= w.group_mask[g]
    for b in range(CONVERGENCE):
        for lane in range(32):
            w.convergence[b, lane] &= ~gone


@cfunc(types.void(CONTEXT, WARP, types.uint32, types.uint32), cache=True)
def give_up_turn(context: Any, warp: Any, mask: Any, pc: Any) -> None:
    """A group has run long enough. If its registers are what they were when it last gave up its turn here, it spins:
    it waits for something that only others can do."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    rows = (c.warp_size - REGISTERS) // 128
    registers = carray(as_pointer(warp), REGISTERS // 4 + 32 * rows, np.uint32)[REGISTERS // 4 :]
    found = fingerprint(registers, rows, mask)
    if w.spin_pc == pc and w.spin_mask == mask and w.spin_state == found:
        let_waiting_go(w)
    w.spin_pc, w.spin_mask, w.spin_state = pc, mask, found
    put_aside(w, mask, pc, YIELDED, 0)


@cfunc(types.void(WARP, types.uint32, types.uint32), cache=True)
def sync_by_mask(warp: Any, mask: Any, pc: Any) -> None:
    """WARPSYNC whose threads name different masks: those with one mask wait for each other only."""
    w = carray(warp, 1)[0]
    while mask:
        first = lowest(mask)
        same = np.uint32(0)
        for lane in range(first, 32):
            if (mask >> np.uint32(lane)) & np.uint32(1) and w.convergence[WARPSYNC, lane] == w.convergence[
                WARPSYNC, first
            ]:
                same |= np.uint32(1) << np.uint32(lane)
        put_aside(w, same, pc, WARPSYNC, 0)
        mask &= ~same


@njit(cache=True)
def complete(c: Any, b: Any) -> None:
    """End the phase of barrier b: publish its reduction, let the next one begin."""
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


@cfunc(types.void(CONTEXT, WARP, *[types.uint32] * 6, types.int32), cache=True)
def arrive(
    context: Any, warp: Any, mask: Any, votes: Any, number: Any, expected: Any, how: Any, pc: Any, waits: Any
) -> None:
    """Threads come to barrier `number`; those that wait are put aside, the last to come ends the phase."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    b = np.int64(number) & (BLOCK_BARRIERS - 1)
    put_aside(w, mask, pc, AT_BARRIER + b if waits else READY, c.phase[b])
    c.arrived[b] += popcount(mask)
    c.expected[b] = expected
    if how != NO_REDUCTION:
        c.reduction[b] = how
        c.votes[b] += popcount(votes & mask)
    if c.arrived[b] >= (expected if expected else c.live):
        complete(c, b)


@cfunc(types.void(CONTEXT, WARP, types.uint32), cache=True)
def leave(context: Any, warp: Any, mask: Any) -> None:
    """Threads exit: a barrier that waited for them only is complete."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    w.live &= ~mask
    c.live -= popcount(mask)
    for b in range(BLOCK_BARRIERS):
        if c.arrived[b] and not c.expected[b] and c.arrived[b] >= c.live:
            complete(c, b)


@njit(cache=True)
def credit(memo: Any, tallies: Any, architectures: Any) -> None:
    """Add what the last pattern of a site cost, as often as it was met."""
    hits = memo.hits
    for a in range(architectures):
        t = tallies[memo.site * architectures + a]
        t.requests += hits
        if t.last_low < 0:
            t.unknown += hits
        else:
            t.low += hits * t.last_low
            t.high += hits * t.last_high
            t.ideal += hits * t.last_ideal
    memo.hits = 0


@cfunc(types.void(CONTEXT, WARP, MEMO, types.uint32, POINTER), cache=True)
def judge_new(context: Any, warp: Any, memo: Any, mask: Any, addresses: Any) -> None:
    """A site meets a pattern other than its last: settle that one, ask every bank rule about this one."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    m = carray(memo, 1)[0]
    count: Any = np.int64(c.architectures)
    tallies = carray(pointer(c.tallies), c.memo_count * c.architectures, _TALLY)
    rules = carray(pointer(c.rules), (count, RULE_WORDS), np.int64)
    if m.hits:
        credit(m, tallies, count)
    address = carray(addresses, 32, np.uint32)
    for a in range(count):
        low, high, ideal, degree = judge(address, mask, m.op, m.width, rules[a])
        t = tallies[m.site * count + a]
        t.last_low, t.last_high, t.last_ideal = low, high, ideal
        if degree > t.degree:
            t.degree = degree
        if high - ideal > t.worst_excess or not t.worst_mask:
            t.worst_excess = high - ideal
            t.worst_mask = mask
            t.worst_block = c.block
            t.worst_warp = w.index
            for lane in range(32):
                t.worst_address[lane] = address[lane]


@cfunc(types.void(CONTEXT), cache=True)
def settle(context: Any) -> None:
    """At the end of a launch: credit what every site met last."""
    c = carray(context, 1)[0]
    memos = carray(pointer(c.memos), c.memo_count, MEMOS)
    tallies = carray(pointer(c.tallies), c.memo_count * c.architectures, _TALLY)
    for s in range(c.memo_count):
        credit(memos[s], tallies, np.int64(c.architectures))


SYMBOLS: dict[str, Any] = {
    f.__name__: f.address for f in (schedule, scatter, sync_by_mask, give_up_turn, arrive, leave, judge_new, settle)
}
"""Addresses of the functions that LLVM code calls."""
