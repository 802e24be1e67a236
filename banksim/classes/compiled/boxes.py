"""The first block of one waiting box after the other executed, and counted for all blocks of its class."""

import numpy as np
from llvmlite import ir
from numba import types

from banksim.classes.compiled.records import AXES, COUNT, DIRECTIONS, LARGEST, MARGIN, REGION, ROW, WORK, Region, Work
from banksim.machine import codes
from banksim.machine.llvm import counts
from banksim.machine.llvm.request_counts import credit
from banksim.machine.races.probe import PROBE
from banksim.machine.record_types import _TALLY
from banksim.machine.state import CONTEXT, ERROR, MEMO, TALLY, Context, Tally
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import callback, carray, inner, intrinsic

_REGION, _WORK, _CONTEXT, _ERROR, _MEMO, _PROBE = REGION, WORK, CONTEXT, ERROR, MEMO, PROBE
WORDS_OF_TALLY, WORDS_OF_MEMO = TALLY.itemsize // 8, MEMO.itemsize // 8
takes_over = inner(counts.takes_over)
ADDRESS, WORD, NUMBER = types.uint64, types.int64, types.int32


@intrinsic(int, NUMBER(ADDRESS, ADDRESS, WORD, WORD))
def run_blocks(builder: ir.IRBuilder, run: ir.Value, context: ir.Value, first: ir.Value, last: ir.Value) -> ir.Value:
    """Call a kernel's `blocks`."""
    kind = ir.FunctionType(ir.IntType(32), [context.type, first.type, last.type])
    return builder.call(builder.inttoptr(run, kind.as_pointer()), [context, first, last])


@inner
def push(w: Work, stack: Integers) -> Integer:
    """Put a copy of the executed box on the stack; returns its row."""
    row = w.waiting
    for n in range(ROW):
        stack[row, n] = w.box[n]
    w.waiting += 1
    return row


@inner
def push_rest(w: Work, stack: Integers, r: Region) -> None:
    """Put what is left of the executed box, narrowed to a class, on the stack, and keep the class as the box."""
    for d in range(DIRECTIONS):
        left = w.box[COUNT + d] - r.count[d]
        if left > 0:
            row = push(w, stack)
            stack[row, r.axis[d]] += (r.count[d] + 1) * r.step[d]
            stack[row, COUNT + d] = left - 1
            w.box[COUNT + d] = r.count[d]


@inner
def push_longer(w: Work, stack: Integers, r: Region) -> None:
    """Put the executed box back with longer steps, that with its first block last, so that it comes next."""
    along, onto, longer = r.along, r.onto, r.longer
    step, count, axis = r.step[along], w.box[COUNT + along], r.axis[along]
    if onto == along:
        for back in range(longer):
            start = longer - 1 - back
            if start <= count:
                row = push(w, stack)
                stack[row, axis] += start * step
                stack[row, AXES + along] = step * longer
                stack[row, COUNT + along] = (count - start) // longer
        return
    whole = (count + 1) // longer
    rest = (count + 1) - whole * longer
    if rest > 0:
        row = push(w, stack)
        stack[row, axis] += whole * longer * step
        stack[row, COUNT + along] = rest - 1
    row = push(w, stack)
    stack[row, COUNT + along] = longer - 1
    stack[row, AXES + onto], stack[row, COUNT + onto] = step * longer, whole - 1


@inner
def take(w: Work, stack: Integers, r: Region, c: Context) -> Integer:
    """Make the next box the region. Returns the number of its first block."""
    w.waiting -= 1
    for n in range(ROW):
        w.box[n] = stack[w.waiting, n]
    for d in range(DIRECTIONS):
        r.count[d] = w.box[COUNT + d]
        r.step[d] = w.box[AXES + d] if r.count[d] else 0
    rank = 0
    for back in range(AXES):
        axis = AXES - 1 - back
        rank = rank * w.cluster[axis] + w.box[axis] % w.cluster[axis]
    c.own_shared = np.uint64(rank) << np.uint64(codes.RANK_BIT)
    number: Integer = w.box[0] + np.int64(c.grid[0]) * (w.box[1] + np.int64(c.grid[1]) * w.box[2])
    return number


@inner
def add_tally(total: Tally, one: Tally, blocks: Integer) -> None:
    total.requests += blocks * one.requests
    total.low += blocks * one.low
    total.high += blocks * one.high
    total.ideal += blocks * one.ideal
    total.unknown += blocks * one.unknown
    if one.degree > total.degree:
        total.degree = one.degree
    if takes_over(total, one, False):
        total.worst_excess, total.worst_mask = one.worst_excess, one.worst_mask
        total.worst_block, total.worst_warp = one.worst_block, one.worst_warp
        for lane in range(32):
            total.worst_address[lane] = one.worst_address[lane]


@inner
def clear(words: Integers, count: Integer) -> None:
    for n in range(count):
        words[n] = 0


@callback(NUMBER(ADDRESS, WORD))
def count_boxes(work: Integer, most: Integer) -> Integer:
    """Count so many classes at most: those of the boxes that wait, the last first. Ends early, with `codes.DONE`, where
    the stack is nearly full, or where a block shows a hint at a race; or with FAULT + the code of an error of the block
    of the box `work.box`."""
    w = carray(pointer(work), 1, _WORK)[0]
    c = carray(pointer(w.context), 1, _CONTEXT)[0]
    r = carray(pointer(w.region), 1, _REGION)[0]
    error = carray(pointer(c.error), 1, _ERROR)[0]
    stack = carray(pointer(w.stack), (w.room, ROW), np.int64)
    counters, total, once = (
        carray(pointer(c.counters), w.counters, np.int64),
        carray(pointer(w.total), w.counters, np.int64),
        carray(pointer(w.once), w.counters, np.int64),
    )
    rows = np.int64(c.memo_count) * np.int64(c.architectures)
    tallies, totals = carray(pointer(c.tallies), rows, _TALLY), carray(pointer(w.tallies), rows, _TALLY)
    tally_words = carray(pointer(c.tallies), rows * WORDS_OF_TALLY, np.int64)
    memos = carray(pointer(c.memos), c.memo_count, _MEMO)
    words = np.int64(c.memo_count) * WORDS_OF_MEMO
    memo_words, fresh = carray(pointer(c.memos), words, np.int64), carray(pointer(w.memos), words, np.int64)
    counted = 0
    while w.waiting > 0 and counted < most and w.room - w.waiting >= MARGIN:
        number = take(w, stack, r, c)
        if number > w.before:
            continue
        clear(counters, w.counters)
        clear(tally_words, rows * WORDS_OF_TALLY)
        for n in range(words):
            memo_words[n] = fresh[n]
        error.code = 0
        if c.probe:
            probe = carray(pointer(c.probe), 1, _PROBE)[0]
            probe.found, probe.block = 0, -1
        code = run_blocks(w.run, w.context, number, number + 1)
        if code == codes.FAULT + codes.LONGER_STEP:
            push_longer(w, stack, r)
            continue
        if code:
            return code
        for n in range(np.int64(c.memo_count)):
            credit(memos[n], tallies, np.int64(c.architectures))
        push_rest(w, stack, r)
        blocks = 1
        for d in range(DIRECTIONS):
            blocks *= r.count[d] + 1
        a_block = 1
        for n in range(w.counters):
            total[n] += blocks * counters[n]
            once[n] += counters[n]
            a_block += counters[n]
        for n in range(rows):
            add_tally(totals[n], tallies[n], blocks)
            a_block += tallies[n].high
        if w.most >= 0:
            w.most = w.most + blocks * a_block if blocks <= (LARGEST - w.most) // a_block else -1
        w.blocks += blocks
        w.classes += 1
        counted += 1
        if c.probe and carray(pointer(c.probe), 1, _PROBE)[0].found:
            break
    return codes.DONE
