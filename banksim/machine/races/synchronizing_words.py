"""Words that synchronise: the clocks that warps publish at atomics and mbarriers, and take over from there."""

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.records import ENTRIES, WORDS, Watch, WatchedRequest
from banksim.machine.races.vector_clocks import publish, take_over
from banksim.machine.races.watched_places import block_of, memory_at
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inner


@inner
def word_at(r: Watch, address: Integer) -> Integer:
    """The number of the word that synchronises at an address."""
    return block_of(r, address) * WORDS + (address % r.stride >> 2 & (WORDS - 1))


@inner
def begin_phase(c: Context, r: Watch, address: Integer) -> None:
    """Begin a phase of an mbarrier: threads that wait for the phase before take over what was published in it."""
    parity = np.int64(carray(memory_at(c, r, address & ~7), 2, np.uint32)[1] >> np.uint32(31))
    word, entries = word_at(r, address), ENTRIES * r.span
    parities = carray(pointer(r.parities), r.blocks * WORDS, np.int64)
    if parity != parities[word]:
        parities[word] = parity
        published = carray(pointer(r.published), (r.blocks * WORDS, entries), np.int32)[word]
        passed = carray(pointer(r.passed), (r.blocks * WORDS, entries), np.int32)[word]
        for who in range(entries):
            passed[who] = published[who]
            published[who] = 0


@inner
def agent_of(r: Watch, barrier: Integer) -> Integer:
    """Who makes the copies whose bytes an mbarrier counts. Mbarriers of a block that lie 256 bytes apart share one, so
    that more accesses count as ordered than are."""
    return records.LOADS * r.span + block_of(r, barrier) * LANES + (barrier % r.stride >> 3 & (LANES - 1))


@inner
def synchronize(q: WatchedRequest) -> None:
    """Publish what a warp did at the word of an atomic or mbarrier, and take over what others published there."""
    r, me, kind, entries = q.watch, q.warp, q.kind, ENTRIES * q.watch.span
    before = np.int64(-1)
    for lane in range(LANES):
        address = np.int64(q.addresses[lane])
        if address == before or not q.mask >> lane & 1:
            continue
        before = address
        word = word_at(r, address)
        published = carray(pointer(r.published), (r.blocks * WORDS, entries), np.int32)[word]
        passed = carray(pointer(r.passed), (r.blocks * WORDS, entries), np.int32)[word]
        if kind == records.STARTING:
            carray(pointer(r.parities), r.blocks * WORDS, np.int64)[word] = 0
            for who in range(entries):
                published[who] = passed[who] = 0
        if kind in (records.ARRIVE, records.WAIT, records.COPIES_ARRIVE, records.BULK, records.SEND):
            begin_phase(q.context, r, address)
        if kind == records.WAIT:
            take_over(r, me, q.row, passed)
        if kind in (records.FLAG_READ, records.EXCHANGE):
            take_over(r, me, q.row, published)
        if kind in (records.FLAG_WRITE, records.UPDATE, records.EXCHANGE, records.ARRIVE):
            publish(r, me, q.row, published)
        if kind == records.COPIES_ARRIVE:
            published[records.COPIES * r.span + me] = r.now + 1
        if kind in (records.BULK, records.SEND):
            agent = agent_of(r, address)
            carray(pointer(r.issuers), r.span, np.uint16)[agent - records.LOADS * r.span] = me
            published[agent] = r.now + 1
