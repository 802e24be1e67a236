"""Judges a request as soon as it is made, and adds what it costs to its site."""

import numpy as np
from numba import types

from banksim.banks.compiled.one_request import judge_at, parts
from banksim.machine.llvm.scheduler import POINTER
from banksim.machine.record_types import _TALLY, CONTEXT, MEMO, MEMOS, WARP
from banksim.machine.state import Memo, Tally
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Place, Records
from banksim.system.jit import callback, carray, inner


@inner
def credit(memo: Memo, tallies: Records[Tally], architectures: Integer) -> None:
    """Add the cost of a site's last request to its sums, times how often such a request came."""
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


@callback(types.void(CONTEXT, WARP, MEMO, types.uint32, POINTER))
def judge_new(context: Place, warp: Place, memo: Place, mask: Integer, addresses: Place) -> None:
    """A site's request is not like its last one: add that one's cost, and judge this one by every bank rule."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    m = carray(memo, 1)[0]
    count = np.int64(c.architectures)
    tallies = carray(pointer(c.tallies), c.memo_count * c.architectures, _TALLY)
    words = np.int64(c.rule_words)  # a constant would not be part of the key under which this code is cached
    rules = carray(pointer(c.rules), (count, words), np.int64)
    if count == 0:
        return
    if m.hits:
        credit(m, tallies, count)
    address = carray(addresses, 32, np.uint32)
    m.parts = parts(addresses, mask, m.op, m.width, rules[0])
    for a in range(count):
        rule = pointer(c.rules + np.uint64(8 * words * a))
        low, high, ideal, _, degree = judge_at(addresses, mask, m.op, m.width, rule)
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


@callback(types.void(types.uint64, POINTER, types.uint32, types.uint32, types.uint32))
def note(notes: Integer, offsets: Place, mask: Integer, width: Integer, use: Integer) -> None:
    """Record a use of the bytes that lanes access."""
    at = carray(offsets, 32, np.uint32)
    for lane in range(32):
        if mask >> np.uint32(lane) & np.uint32(1):
            byte = carray(pointer(notes + np.uint64(at[lane])), 16, np.uint8)
            for k in range(width):
                byte[k] |= np.uint8(use)


@callback(types.void(CONTEXT))
def settle(context: Place) -> None:
    """At the end of a launch, add the cost of every site's last request."""
    c = carray(context, 1)[0]
    memos = carray(pointer(c.memos), c.memo_count, MEMOS)
    tallies = carray(pointer(c.tallies), c.memo_count * c.architectures, _TALLY)
    for s in range(c.memo_count):
        credit(memos[s], tallies, np.int64(c.architectures))
