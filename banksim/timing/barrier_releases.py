"""How warps go on that have waited at a barrier of their block or for the end of an mbarrier's phase."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.architectures.time_figures import Numbers
from banksim.machine import codes, state
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import call_at, pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inlined, inner, intrinsic
from banksim.timing.asynchronous import AWAITS_CLUSTER, PHASES, TRIES, cluster_due, due, name, unknown
from banksim.timing.issue_records import BLOCKED, CYCLE, DONE, PER_MILLE, READY, Multiprocessor
from banksim.timing.scoreboards import Waiting, rouse
from banksim.timing.turns import begin_anew
from banksim.timing.warp_choice import executing, record_of

_CONTEXT = state.CONTEXT
OK = 0


@intrinsic(int, types.int32(types.uint64, types.uint64, types.uint64))
def call(builder: ir.IRBuilder, function: ir.Value, context: ir.Value, warp: ir.Value) -> ir.Value:
    """Call a function of two pointers at an address; returns what `step` returns."""
    places = [builder.inttoptr(address, cgutils.voidptr_t) for address in (context, warp)]
    return call_at(builder, function, places, ir.IntType(32))


@inner
def release(sm: Multiprocessor, waiting: Waiting, f: Numbers, step: Integer, w: Integer, t: Integer) -> Integer:
    """Release a warp from a barrier whose phase ended at cycle t. Instructions behind the barrier that work on
    registers alone have issued while the warp waited; they are executed here. Returns OK or a fault."""
    warp = sm.warps[w]
    warp.released = t + f.barrier
    warp.state = READY
    if sm.code[warp.barrier].reduces:
        begin_anew(sm, w)
    rouse(waiting, w)
    if record_of(warp).pc // 16 != warp.barrier + 1:  # other threads of the warp go on first
        warp.ahead, warp.next, warp.turn = 0, record_of(warp).pc // 16, -1
    context = carray(pointer(warp.context), 1, _CONTEXT)[0]
    for n in range(warp.ahead):
        context.now = sm.ahead[w, n]
        context.nanoseconds = context.now * sm.clock[PER_MILLE] // 1000
        answer = call(step, warp.context, warp.record)
        if answer >= codes.FAULT:
            return answer
    return OK


@inlined
def end_of_phase(sm: Multiprocessor, waiting: Waiting, w: Integer) -> None:
    """Let a warp look again for the end of the phase of an mbarrier, once that is over."""
    warp = sm.warps[w]
    row, record = sm.code[warp.next], record_of(warp)
    named = name(waiting.behind, row, record, warp.record + state.REGISTERS, executing(row, record))
    warp.ready = warp.released = max(due(waiting.behind, warp.place, named), warp.ready)
    warp.awaited, warp.awaits = PHASES, unknown(waiting.behind, warp.place, named)
    warp.state = READY
    rouse(waiting, w)


@inner
def wake(sm: Multiprocessor, waiting: Waiting, f: Numbers, step: Integer, w: Integer, t: Integer) -> Integer:
    """Let a warp go on, if it waits and can. Returns OK or a fault."""
    warp = sm.warps[w]
    if warp.state != BLOCKED:
        return OK
    answer = call(step, warp.context, warp.record)
    if answer >= codes.FAULT:
        return answer
    if answer == codes.RUN:
        if warp.barrier >= 0:
            return release(sm, waiting, f, step, w, t)
        warp.next = record_of(warp).pc // 16
        how = sm.code[warp.previous].behind
        if how == TRIES:
            end_of_phase(sm, waiting, w)
        else:
            end = t + f.barrier
            if how == AWAITS_CLUSTER:
                end = cluster_due(waiting.behind, warp.place, record_of(warp).cluster_phase)
            warp.ready = warp.released = max(end, warp.ready)
            warp.state = READY
            rouse(waiting, w)
    elif answer == codes.DONE:
        warp.state, warp.ended = DONE, t
    return OK


@inner
def wake_block(sm: Multiprocessor, waiting: Waiting, f: Numbers, step: Integer, place: Integer, t: Integer) -> Integer:
    """Let those of a block's waiting warps go on that can. Returns OK or a fault."""
    for w in range(len(sm.warps)):
        if sm.warps[w].place == place:
            wrong = wake(sm, waiting, f, step, w, t)
            if wrong:
                return wrong
    return OK


@inlined
def wake_all(sm: Multiprocessor, waiting: Waiting, f: Numbers, step: Integer) -> Integer:
    """Let those warps go on that other multiprocessors have let. Returns OK or a fault."""
    for w in range(len(sm.warps)):
        wrong = wake(sm, waiting, f, step, w, sm.clock[CYCLE])
        if wrong:
            return wrong
    return OK


@inlined
def phases(context: Context) -> Integer:
    """A number that changes whenever a barrier of the block ends a phase."""
    n = np.uint32(0)
    for b in range(codes.BLOCK_BARRIERS):
        n += context.phase[b]
    return n
