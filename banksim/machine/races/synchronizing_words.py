"""Words that synchronise: the clocks that warps publish at atomics and mbarriers, and take over from there."""

from __future__ import annotations

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.compiled_records import Context
from banksim.machine.races import records
from banksim.machine.races.compiled_records import WatchedRequest, Word
from banksim.machine.races.records import (
    ARRIVE,
    BULK,
    COPIES,
    COPIES_ARRIVE,
    ENTRIES,
    EXCHANGE,
    FLAG_READ,
    FLAG_WRITE,
    LOADS,
    STARTING,
    UPDATE,
    WAIT,
    WORDS,
)
from banksim.machine.races.vector_clocks import publish, take_over
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inner

_WORD = records.WORD


@inner
def begin_phase(c: Context, word: Word, address: Integer) -> None:
    """Begin a phase of an mbarrier: threads that wait for the phase before take over what was published in it."""
    where: Integer = np.uint64(c.shared) + np.uint64(address & ~7)
    parity = np.int64(carray(pointer(where), 2, np.uint32)[1] >> np.uint32(31))
    if parity != word.parity:
        word.parity = parity
        for who in range(ENTRIES):
            word.passed[who] = word.gathered[who]
            word.gathered[who] = 0


@inner
def agent_of(barrier: Integer) -> Integer:
    """Who makes the copies whose bytes an mbarrier counts. Mbarriers 256 bytes apart share one, so that more accesses
    count as ordered than are."""
    return LOADS + (barrier >> 3 & (LANES - 1))


@inner
def synchronize(q: WatchedRequest) -> None:
    """Publish what a warp did at the word of an atomic or mbarrier, and take over what others published there."""
    r, x, kind = q.watch, q.member, q.kind
    words = carray(pointer(r.words), WORDS, _WORD)
    before = np.int64(-1)
    for lane in range(LANES):
        address = np.int64(q.addresses[lane])
        if address == before or not q.mask >> lane & 1:
            continue
        before = address
        word = words[address >> 2 & (WORDS - 1)]
        if kind == STARTING:
            word.parity = 0
            for who in range(ENTRIES):
                word.gathered[who] = word.passed[who] = 0
        if kind in (ARRIVE, WAIT, COPIES_ARRIVE, BULK):
            begin_phase(q.context, word, address)
        if kind == WAIT:
            take_over(r, x, q.row, word.passed)
        if kind in (FLAG_READ, EXCHANGE):
            take_over(r, x, q.row, word.gathered)
        if kind in (FLAG_WRITE, UPDATE, EXCHANGE, ARRIVE):
            publish(r, x, q.row, q.warp, word.gathered)
        if kind == COPIES_ARRIVE:
            word.gathered[COPIES + q.warp] = r.now + 1
        if kind == BULK:
            agent = agent_of(address)
            r.issuers[agent - LOADS] = q.warp
            word.gathered[agent] = r.now + 1
