"""Which warp of a sub-core issues in a cycle: whether one can, and whose turn it is; what the registers of one hold."""

import numpy as np

from banksim.architectures.time_figures import Numbers
from banksim.machine import state
from banksim.machine.state import Warp
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inlined
from banksim.timing.asynchronous import MULTIPLIES, PHASES, TRIES, end_of
from banksim.timing.constant_caches import constant_comes
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.issue_records import BEHIND_BARRIER, READY, IssueRow, Multiprocessor, ResidentWarp
from banksim.timing.issue_table import BOTH, FENCE, FMA, HEAVY, MEMORY, PLAIN, TENSOR
from banksim.timing.path_records import NEVER, Path
from banksim.timing.register_reads import readable
from banksim.timing.scoreboards import Waiting
from banksim.timing.shared_memory_path import has_place
from banksim.timing.turns import note, see

_WARP = state.WARP
BEHIND = 1 << 50
"""Requests to global memory that any thread executes come after all others."""
FAR, CYCLES, WARPS = 1 << 59, 40, 1 << 12
"""Of ranks: what comes after all others, the bits for cycles and warps, and how many warps there may be."""
AHEAD = 6
"""Products of groups of warps that may issue before the tensor cores can begin with them."""


@inlined
def record_of(warp: ResidentWarp) -> Warp:
    return carray(pointer(warp.record), 1, _WARP)[0]


@inlined
def executing(row: IssueRow, record: Warp) -> Integer:
    """The mask of those threads of the running group for which the guard predicate holds."""
    mask = record.active
    if row.guard >= 0:
        if row.guard < 8:
            holds = record.predicates[row.guard]
        else:
            holds = np.uint32(0xFFFFFFFF) if record.uniform_predicates[row.guard - 8] else np.uint32(0)
        mask &= ~holds if row.inverted else holds
    return mask


@inlined
def distinct(warp: ResidentWarp, register: Integer, lanes: Integer) -> Integer:
    """How many different values MATCH.ANY has found: as many as there are lanes that are the lowest of their mask."""
    masks = carray(pointer(warp.record + state.REGISTERS), (register + 1, 32), np.uint32)[register]
    n = 0
    for lane in range(32):
        below = np.uint32((1 << lane) - 1)
        n += (lanes >> lane & 1) != 0 and (masks[lane] & below) == 0
    return n


@inlined
def different(warp: ResidentWarp, register: Integer, lanes: Integer) -> Integer:
    """How many different values a register has in these lanes."""
    held = carray(pointer(warp.record + state.REGISTERS), (register + 1, 32), np.uint32)[register]
    n = 0
    for lane in range(32):
        first = lanes >> lane & 1
        for lower in range(lane):
            if (lanes >> lower & 1) != 0 and held[lower] == held[lane]:
                first = 0
        n += first
    return n


@inlined
def executes(row: IssueRow, record: Warp) -> bool:
    """Whether the guard predicate holds for any thread of the running group."""
    return executing(row, record) != 0


@inlined
def pipe_of(sm: Multiprocessor, core: Integer, row: IssueRow, t: Integer) -> Integer:
    """The pipe that an instruction would hold if it issued at cycle t."""
    return row.pipe if row.pipe != FMA or sm.pipes[core, FMA] <= t else np.int32(HEAVY)


@inlined
def waits_until(sm: Multiprocessor, waiting: Waiting, f: Numbers, w: Integer) -> Integer:
    """When what warp w waits for is over; -1: not known yet. A warp that will look at the mbarrier again, since its
    phase had not ended when it looked first, gets the answer of that."""
    warp = sm.warps[w]
    end = end_of(waiting.behind, warp.awaited, w, warp.awaits, warp.place)
    if warp.awaited == PHASES and end >= 0 and sm.code[warp.next].behind != TRIES:
        end += f.signal
    return end


@inlined
def passes_barriers(row: IssueRow) -> bool:
    """Whether an instruction issues before a barrier releases its warp: it works on registers alone."""
    return bool(row.kind == PLAIN and row.pipe >= 0 and row.server < 0)


@inlined
def may_issue(sm: Multiprocessor, waiting: Waiting, f: Numbers, w: Integer, place: Integer, t: Integer) -> bool:
    """Whether warp w can issue its next instruction. If not, `waiting.wake` says when to look again; or at `place`, the
    cycle from which on its sub-core's queue has one, if that is all it lacks."""
    warp = sm.warps[w]
    row = sm.code[warp.next]
    if warp.turn < 0 or warp.awaits >= 0:
        if warp.barrier >= 0 and warp.released > t and not (passes_barriers(row) and warp.ahead < BEHIND_BARRIER):
            waiting.wake[w] = warp.released
            return False
        if warp.state != READY and warp.barrier < 0:
            waiting.wake[w] = NEVER
            return False
        if warp.ready > t:
            waiting.wake[w] = warp.ready
            return False
        for b in range(6 if row.wait else 0):
            if row.wait >> b & 1:
                if waiting.pending[w, b]:
                    waiting.wake[w] = NEVER
                    return False
                if waiting.until[w, b] > t:
                    waiting.wake[w] = waiting.until[w, b]
                    return False
        if warp.awaits >= 0:
            end = waits_until(sm, waiting, f, w)
            if end < 0 or end > t:
                waiting.wake[w] = NEVER if end < 0 else end
                return False
        if row.exits and executing(row, record_of(warp)) == record_of(warp).live:
            waiting.wake[w] = NEVER if waiting.asked[w] > 0 else waiting.over[w] - row.way
            if waiting.wake[w] > t:
                return False
        if row.operand >= 0:
            come = constant_comes(sm.constants, f, warp, row.operand, row, record_of(warp), 0, warp.core, t)
            warp.ready = max(warp.ready, come)
            if warp.ready > t:
                waiting.wake[w], warp.lacked = warp.ready, 1
                return False
        if warp.turn < 0:
            warp.turn = t + (BEHIND if row.kind in (MEMORY, FENCE) and executes(row, record_of(warp)) else 0)
    if row.behind == MULTIPLIES and sm.pipes[warp.core, TENSOR] > t + AHEAD * row.interval:
        waiting.wake[w] = sm.pipes[warp.core, TENSOR] - AHEAD * row.interval
        return False
    if row.pipe >= 0 and sm.pipes[warp.core, pipe_of(sm, warp.core, row, t)] > t:
        waiting.wake[w] = t + 1 if row.pipe == FMA else sm.pipes[warp.core, row.pipe]
        return False
    if row.others == BOTH and sm.pipes[warp.core, FMA] > t:
        waiting.wake[w] = sm.pipes[warp.core, FMA]
        return False
    if row.alone and sm.latest[warp.core] == t - 1:
        waiting.wake[w] = t + 1
        return False
    if not readable(sm, warp.core, row, t):
        waiting.wake[w] = t + 1
        return False
    if row.kind in (MEMORY, FENCE) and place > t and (not row.far or warp.turn >= BEHIND):
        warp.refused = 1
        return False
    return True


@inlined
def rank(sm: Multiprocessor, w: Integer, last: bool) -> Integer:
    """The place of a warp among those of its sub-core that can issue: the lowest goes first. `last`: whether it is the
    one that issued last."""
    warp = sm.warps[w]
    row = sm.code[warp.next]
    if row.kind == MEMORY and row.far and warp.turn >= BEHIND:
        return FAR + (warp.age << CYCLES) + (warp.turn - BEHIND) * WARPS - w
    goes_on = warp.previous >= 0 and not sm.code[warp.previous].yields and not (row.kind == MEMORY and warp.refused)
    if last and goes_on:
        return -1
    return (((warp.age * 2 + (0 if goes_on else 1)) * 16) + warp.seen + 1) * WARPS - w


@inlined
def choose(sm: Multiprocessor, path: Path, waiting: Waiting, f: Numbers, s: Integer, t: Integer) -> Integer:
    """The warp of sub-core s that issues now, or -1; `waiting.soon` says when to choose again. It is the warp that
    issued last, unless its instruction yields; else one of the block that was given first, of its warps one whose last
    instruction does not yield, of these that which has issued least, and the youngest of several. A memory instruction
    that found the queue full has lost its turn, and one of global memory comes after all others."""
    best: Integer = -1
    if waiting.soon[s] > t:
        return best
    if sm.held[s] > t:
        waiting.soon[s] = sm.held[s]
        return best
    best_rank: Integer = NEVER
    soon: Integer = NEVER
    ready, place = 0, has_place(path, f, s)
    see(sm, s, t)
    last = path.sub_cores[s].last
    if last >= 0 and sm.warps[last].barrier >= 0 and sm.warps[last].released <= t:
        last = -1  # released by a barrier, it has no turn to keep
    if last >= 0 and sm.warps[last].lacked:
        last = -1  # … as where all have waited for a constant
    for w in range(s, len(waiting.wake), SUB_CORES):
        if waiting.wake[w] <= t and may_issue(sm, waiting, f, w, place, t):
            ready += 1
            own = rank(sm, w, w == last)
            if own < best_rank:
                best, best_rank = w, own
        else:
            soon = min(soon, waiting.wake[w] if waiting.wake[w] > t else place)
    waiting.soon[s] = t + 1 if ready > 1 else soon
    if best >= 0:
        note(sm, s, best, t)
    return best
