"""The loop over cycles: in each cycle every sub-core may issue an instruction of one of its warps.

The instruction is executed when it issues (`step` runs its compiled code); the scoreboards say from which cycle on its
result may be used. So a kernel that reads the clock, or spins on it, reads the time that is simulated here.
"""

import numpy as np

from banksim.architectures.time_figures import NUMBERS, Numbers
from banksim.machine import codes, state
from banksim.machine.llvm.groups import cluster_of
from banksim.machine.state import Context, Warp
from banksim.requests.kinds import DESTINATION
from banksim.requests.lane_intrinsics import pointer
from banksim.system.bundles import at
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined, inner, outer
from banksim.timing import issue_table, shared_memory_path
from banksim.timing.accounts import account, watch
from banksim.timing.asynchronous import PHASES, STARTED, TRIES, arrives_at_cluster, due, name, unknown
from banksim.timing.barrier_releases import OK, call, phases, release, wake_all, wake_block
from banksim.timing.between_blocks import TO_OTHERS, all_through, costs_of
from banksim.timing.constant_caches import LDC, constant_comes
from banksim.timing.data_stage import MEETS, is_upper, owe, sectors_of
from banksim.timing.global_memory import (
    ATOMIC,
    NEAR,
    REDUCED,
    REMOTE,
    issued,
    leaves,
    note_lines,
    tags_of,
    words_of,
)
from banksim.timing.instruction_caches import LINE, SUB_CORES, fetched, turn
from banksim.timing.issue_records import (
    ALLOWED,
    BLOCKED,
    CYCLE,
    DONE,
    ISSUED,
    PER_MILLE,
    IssueRow,
    Multiprocessor,
    ResidentWarp,
)
from banksim.timing.issue_table import (
    ALU,
    BARRIER,
    CONVERGENCE,
    FENCE,
    FMA,
    HALF,
    MEMORY,
    PLAIN,
    REQUESTS,
    SLEEP,
    UNIFORM,
    VARIABLE,
)
from banksim.timing.path_records import NEVER, Path
from banksim.timing.register_reads import multiply, read, read_behind
from banksim.timing.scoreboards import Waiting, finish
from banksim.timing.shared_memory_path import awaited, fence, offer, serve
from banksim.timing.warp_choice import choose, different, distinct, executing, pipe_of, record_of
from banksim.timing.work_behind import act

_CONTEXT, _MEMO, _TALLY = state.CONTEXT, state.MEMO, state.TALLY
ENDED, AGAIN = range(2)
"""The answers of `simulate` where a block has ended, and where time is over."""
TURN = 32
"""Cycles."""


@inlined
def request(
    sm: Multiprocessor,
    path: Path,
    waiting: Waiting,
    f: Numbers,
    w: Integer,
    i: Integer,
    t: Integer,
    context: Context,
    active: Integer,
) -> None:
    """Put the request of a memory instruction into the queue. Without an active thread it is one of one transaction."""
    row = sm.code[i]
    cost, parts, later, what, far = row.cost, row.parts, row.later, issue_table.OTHER, NEAR
    tags: Integer = 0
    number = shared_memory_path.next_row(path)
    if row.far:
        if sm.constant[0] or not context.far_mask:
            what, cost, later = issue_table.ASSUMED, row.cost if row.cost else f.global_cost, f.global_latency
        else:
            what, far, later = issue_table.GLOBAL, row.far, f.l1 + row.later
            note_lines(path.memory, number, context, far in (REDUCED, ATOMIC))
            tags = max(row.cost, tags_of(path.memory, number, far))
            cost = parts = max(row.cost, words_of(path.memory, number, far))
            if leaves(far):
                issued(path.memory, number, far, row.floats, context.block, t)
    if context.asked:
        memo = carray(pointer(context.asked), 1, _MEMO)[0]
        tallies = carray(pointer(context.tallies), context.memo_count * context.architectures, _TALLY)
        tally = tallies[memo.site * context.architectures]
        cost = tally.last_ideal if sm.ideal[0] or tally.last_low < 0 else tally.last_low
        parts = 1 if row.together else memo.parts
        if not row.copies:
            later, what, far = row.later, issue_table.SHARED, REMOTE if memo.op in TO_OTHERS else NEAR
        if row.copies:
            cost, tags = (f.copy_ways * cost + f.copy) // 2, 0
        elif row.returns:
            cost = max(cost, parts)
        sm.served[0] += 1
        sm.served[1] += cost
    parts = parts if row.returns else 0
    offer(path, f, sm.warps[w].core, t, w, cost, parts, later)
    waiting.asked[w] += awaited(parts, far)
    holds = row.apart if active else f.unexecuted
    path.sub_cores[sm.warps[w].core].next = t + (holds if row.far else 1)
    own = path.requests[number]
    own.far, own.tags, own.holds, own.write, own.read = far, tags, holds, row.write, row.read
    own.fetches, own.reads = row.fetches, t + f.reads + row.apart
    if context.asked and far != REMOTE:
        memo = carray(pointer(context.asked), 1, _MEMO)[0]
        own.meets, own.sectors = MEETS[memo.op], sectors_of(memo)
        own.upper = is_upper(sm.shared, sm.warps[w].place, np.int64(context.asked_at) & DESTINATION)
    if far == REMOTE:
        memo = carray(pointer(context.asked), 1, _MEMO)[0]
        own.own, own.to, own.asked, own.shared = costs_of(path.between, memo)
        if not parts:
            path.between.posted[0] += own.own
    if row.copies and active:
        own.copies = 1
        waiting.behind.copies[w, STARTED] += 1
    watch(sm, waiting, w, row.write, i, what)
    watch(sm, waiting, w, row.read, i, what)


@inlined
def dig(warp: ResidentWarp, f: Numbers, row: IssueRow, record: Warp) -> Integer:
    """How much later a warp goes on with parked threads than with the part that was parked last, which is at hand."""
    more: Integer = 0
    if row.server == CONVERGENCE and record.active & warp.buried:
        more = f.buried + (f.join + f.branch if record.active & warp.parked else 0)
    warp.parked &= ~record.active
    warp.buried &= ~record.active
    return more


@inlined
def issue(
    sm: Multiprocessor, path: Path, waiting: Waiting, f: Numbers, step: Integer, w: Integer, t: Integer
) -> Integer:
    """Execute the next instruction of warp w at cycle t. Returns OK or a fault."""
    warp = sm.warps[w]
    i = warp.next
    row = sm.code[i]
    context = carray(pointer(warp.context), 1, _CONTEXT)[0]
    record = record_of(warp)
    account(sm, waiting, f, w, t)
    mask, running = executing(row, record), record.active
    active = mask != 0
    context.now, context.nanoseconds = t, t * sm.clock[PER_MILLE] // 1000
    context.asked = 0
    context.far_mask = 0
    before = phases(context) if row.kind == BARRIER else np.uint32(0)
    of_cluster = cluster_of(context).phase
    pause = np.int64(row.pause)
    if row.register >= 0:
        lanes = carray(pointer(warp.record + state.REGISTERS), (row.register + 1, 32), np.uint32)
        pause = np.int64(lanes[row.register, 0])
    named: Integer = 0
    if active and (row.uniform >= 0 or row.base >= 0):
        named = name(waiting.behind, row, record, warp.record + state.REGISTERS, mask)
    parts = different(warp, row.values, mask) if active and row.values >= 0 else 1
    come = constant_comes(sm.constants, f, warp, row.constant, row, record, mask, LDC, t)
    early = warp.state == BLOCKED
    answer: Integer = np.int32(codes.RUN)
    if early:  # behind its barrier: it will be executed when that releases the warp
        sm.ahead[w, warp.ahead] = t
        warp.ahead += 1
    else:
        answer = call(step, warp.context, warp.record)
    if answer >= codes.FAULT:
        return answer
    if t >= warp.released:
        warp.barrier = -1
    warp.previous, warp.issued, warp.turn, warp.lacked = i, t, -1, 0
    sm.latest[warp.core], warp.accessed = t, warp.accessed | (row.far > 0 and active)
    if row.behind == TRIES and answer == codes.BLOCKED:  # it will be executed when it can go on
        sm.spent[i].issue -= 1
        sm.spent[i].barrier += 1
        sm.clock[ISSUED] -= 1
        warp.state = BLOCKED
        return OK
    sm.busy[warp.core, -1] += 1
    late = read(sm, row, w, i, t)
    if late:
        sm.held[warp.core] = t + 1 + late
        for other in range(warp.core, len(sm.warps), SUB_CORES):
            if sm.warps[other].ready > t:
                sm.warps[other].ready += late
    warp.ready = t + row.stall + row.more + late
    if row.between:
        multiply(sm, waiting, row, w, t)
    waiting.wake[w] = warp.ready
    begins = t + row.way
    latency = np.int64(row.latency) + come - t
    if row.pipe >= 0:
        pipe = pipe_of(sm, warp.core, row, t)
        sm.pipes[warp.core, pipe] = t + late + (HALF if row.pipe == FMA else row.interval)
        sm.busy[warp.core, row.pipe] += row.interval
        if row.blocks:
            if row.others == REQUESTS:
                path.sub_cores[warp.core].opens = max(path.sub_cores[warp.core].opens, t) + row.blocks
            for other in (ALU, FMA, UNIFORM):
                if row.others >> other & 1:
                    sm.pipes[warp.core, other] = max(sm.pipes[warp.core, other], t + late + row.blocks)
        if row.server >= 0 and (active or row.kind == BARRIER):
            begins = max(begins, path.servers[row.server])
            values = distinct(warp, row.matches, running) if row.matches >= 0 else parts
            latency += (f.value if row.matches >= 0 else row.each) * (values - 1)
            path.servers[row.server] = begins + f.server * row.serves * values
            if row.ahead >= 0:
                sm.pipes[warp.core, pipe] = max(sm.pipes[warp.core, pipe], begins - row.ahead * values)
            if row.kind == PLAIN:
                warp.ready += begins - t - row.way
            shared_memory_path.grant(path, warp.core)
        if row.passes:
            owe(path.memory.stage, False, f.special)
    elif row.each and (parts > 1 or running != record.live):  # WARPSYNC sends the parts of a warp on in turn
        begins = max(t, path.servers[issue_table.PARTS + warp.core])
        path.servers[issue_table.PARTS + warp.core] = begins + row.interval * parts
        warp.ready += begins - t + latency + row.each * parts
    if row.kind == MEMORY and active:
        read_behind(sm, warp.core, row, t)
    if row.kind == MEMORY and (active or not row.far):
        request(sm, path, waiting, f, w, i, t, context, active)
    elif row.kind == FENCE and row.read >= 0:
        watch(sm, waiting, w, row.read, i, issue_table.SHARED)
        shared_memory_path.offer_fence(path, waiting, f, warp.core, t, w, row.read, begins)
    elif row.kind == VARIABLE or row.kind == MEMORY:
        watch(sm, waiting, w, row.write, i, issue_table.SIGNALS if row.behind == TRIES else issue_table.OTHER)
        watch(sm, waiting, w, row.read, i, issue_table.OTHER)
        done = begins + latency
        if row.behind == TRIES:
            done = max(done, due(waiting.behind, warp.place, named) + f.signal)
            warp.awaited, warp.awaits = PHASES, unknown(waiting.behind, warp.place, named)
        finish(waiting, w, row.write, row.read, done)
        waiting.wake[w] = warp.ready
    if row.kind == FENCE and row.more:
        begins = max(warp.ready, all_through(path.between, t) + f.remote_seen + row.more)
        warp.ready, warp.accessed = begins + f.fence_accessed * warp.accessed, 0
    if row.fences and row.kind == BARRIER and answer != codes.DONE and phases(context) != before:
        fence(path, begins + f.barrier)
        path.servers[row.server] += row.each
    over = row.behind != 0 and active and act(sm, path, waiting, f, w, t, named)
    if answer == codes.DONE:
        warp.state, warp.ended = DONE, t
        if cluster_of(context).phase != of_cluster:
            arrives_at_cluster(waiting.behind, warp.place, of_cluster, t + f.cluster)
    elif answer == codes.BLOCKED and row.kind != BARRIER:
        warp.state = BLOCKED
    else:
        if answer == codes.BLOCKED:
            warp.state, warp.barrier, warp.released, warp.ahead = BLOCKED, i, NEVER, 0
        if record.slot and record.slot != warp.parked:
            warp.parked, warp.buried = record.slot, warp.buried | warp.parked
        warp.next = i + 1 if warp.state == BLOCKED else record.pc // 16
        if warp.next != i + 1:
            line = warp.next // LINE
            target = fetched(sm.caches, f, warp.core, line, True, turn(sm.caches, f, warp.core, t))
            warp.line = target + f.line
            if row.joins and record.active != running:
                warp.ready = target + (f.join if warp.next == i else f.switch) + row.each + dig(warp, f, row, record)
            else:
                warp.ready = max(warp.ready, target)
        elif warp.next % LINE == 0:
            warp.ready = fetched(sm.caches, f, warp.core, warp.next // LINE, False, max(warp.ready, warp.line))
        if row.kind == BARRIER and row.waits and active and warp.state != BLOCKED and phases(context) != before:
            warp.barrier, warp.ahead = i, 0
            wrong = release(sm, waiting, f, step, w, begins)
            if wrong:
                return wrong
        elif row.kind == SLEEP:
            warp.ready = t + f.sleep + pause * 1000 // sm.clock[PER_MILLE]
    if row.kind == BARRIER and answer != codes.DONE:
        over = phases(context) != before or cluster_of(context).phase != of_cluster or over
    elif answer != codes.RUN or row.kind == SLEEP:
        over = True
    if over:
        return wake_block(sm, waiting, f, step, warp.place, begins)
    return OK


@inlined
def next_event(path: Path, waiting: Waiting, f: Numbers, t: Integer) -> Integer:
    """The next cycle in which anything can happen."""
    first = shared_memory_path.next_move(path, f)
    for s in range(SUB_CORES):
        first = min(first, waiting.soon[s])
    return max(first, t + 1)


@inlined
def finished(sm: Multiprocessor, place: Integer) -> bool:
    """Whether all warps of the block at a place have exited."""
    left = 0
    for w in range(len(sm.warps)):
        left += sm.warps[w].place == place and sm.warps[w].state != DONE
    return left == 0


@inner
def simulate(sm: Multiprocessor, path: Path, waiting: Waiting, f: Numbers, step: Integer, until: Integer) -> Integer:
    """Simulate one multiprocessor until a block has finished, or a cycle is reached. Returns ENDED, or AGAIN (`clock`
    then has the cycle in which the next thing can happen), or FAULT + a code of machine/codes.py."""
    t = sm.clock[CYCLE]
    looks = 0
    while t < until:
        moved = serve(path, waiting, f, t)
        if shared_memory_path.move(path, waiting, f, t):
            moved = True
        ended = False
        first, second, third, fourth = path.order[0], path.order[1], path.order[2], path.order[3]
        for s in (first, second, third, fourth):
            w = choose(sm, path, waiting, f, s, t)
            if w < 0:
                continue
            moved = True
            sm.clock[ISSUED] += 1
            path.sub_cores[s].last = w
            answer = issue(sm, path, waiting, f, step, w, t)
            if answer:
                return answer
            waiting.soon[s] = min(waiting.soon[s], waiting.wake[w])
            if sm.warps[w].state == DONE and finished(sm, sm.warps[w].place):
                ended = True
        t = t + 1 if moved else next_event(path, waiting, f, t)
        if t >= NEVER and until >= NEVER:
            return codes.FAULT + codes.BLOCK_DEADLOCK
        sm.clock[CYCLE] = t
        if ended:
            return ENDED
        looks += 1
        if looks & 1023 == 0:
            if sm.stop[0]:
                return codes.FAULT + codes.INTERRUPTED
            if sm.clock[ISSUED] > sm.clock[ALLOWED]:
                return codes.FAULT + codes.LIMIT
    return AGAIN


@outer
def run(each: Integers, step: Integer, until: Integer) -> Integer:
    """Simulate multiprocessors until a block has ended: one, or several in turn, since what one does to another's
    blocks takes longer than a turn; one until a cycle at most. `each`, in rows: the addresses of its Multiprocessor,
    Path and Waiting, and of the figures. Returns ENDED or AGAIN, or a fault and the number of its multiprocessor: 256
    times that + FAULT + a code."""
    count = len(each)
    while True:
        first: Integer = NEVER
        issued: Integer = 0
        for n in range(count):
            clock = at(Multiprocessor, each[n, 0]).clock
            first, issued = min(first, clock[CYCLE]), issued - clock[ISSUED]
        following: Integer = NEVER
        ended = False
        begins = first // TURN  # another one is the first to ask each time
        for k in range(count):
            n = (begins + k) % count
            sm, path, waiting = at(Multiprocessor, each[n, 0]), at(Path, each[n, 1]), at(Waiting, each[n, 2])
            f = carray(pointer(each[n, 3]), 1, NUMBERS)[0]
            sm.clock[CYCLE] = first
            answer: Integer = ENDED
            while answer == ENDED:
                if count == 1:
                    answer = simulate(sm, path, waiting, f, step, until)
                    sm.clock[CYCLE] = min(sm.clock[CYCLE], until)
                    return answer
                answer = wake_all(sm, waiting, f, step)
                if answer == OK:
                    answer = simulate(sm, path, waiting, f, step, first + TURN)
                if answer >= codes.FAULT:
                    return 256 * n + answer
                ended = ended or answer == ENDED
            following, issued = min(following, sm.clock[CYCLE]), issued + sm.clock[ISSUED]
        if issued == 0 and following >= NEVER:
            return ENDED if ended else codes.FAULT + codes.BLOCK_DEADLOCK
        for n in range(count):
            at(Multiprocessor, each[n, 0]).clock[CYCLE] = first + TURN if issued else following
        if ended:
            return ENDED
