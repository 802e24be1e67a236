"""Shadow memory: the last accesses to every piece of a block's shared memory, and whether they are ordered before the
request that comes now. Compiled by numba.

A line is 32 pieces. The summary of a line (which warps accessed it, and when last) mostly suffices to see that nothing
in it races with a request; only otherwise are its pieces compared one by one.
"""

from typing import Any, NamedTuple

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.recorded_findings import race
from banksim.machine.races.records import ENTRY_TIME, LINE, LOWER, NO_LINE, PIECES, WatchedRequest
from banksim.machine.races.synchronizing_words import agent_of
from banksim.machine.races.vector_clocks import copied_of, known_to
from banksim.machine.races.watched_places import memory_at
from banksim.machine.races.written_pieces import began_at, initialize
from banksim.requests.lane_intrinsics import lowest, pointer
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inner

WITH_WRITES, WITH_READS, WITH_UPDATES, WITH_PULLS, WITH_STORES, WITH_FENCES = 1, 2, 4, 8, 16, 32
"""Bits: the earlier accesses that a request is compared with, piece by piece. WITH_STORES: the request stores values;
where these equal the bytes that are there, a race is told as one of equal values. WITH_FENCES: it is one of the
asynchronous proxy. Where something was read before it writes, it wants no fence: nothing is seen of it too late."""


class Latest(NamedTuple):
    """Of each warp and piece the last access of one kind, and one before it by lanes that had parted from the last."""

    last: Integers
    earlier: Integers


@inner
def latest_reads(q: WatchedRequest) -> Latest:
    r = q.watch
    shape = (r.warps, r.pieces)
    return Latest(carray(pointer(r.reads), shape, np.int64), carray(pointer(r.earlier_reads), shape, np.int64))


@inner
def latest_updates(q: WatchedRequest) -> Latest:
    r = q.watch
    shape = (r.warps, r.pieces)
    return Latest(carray(pointer(r.updates), shape, np.int64), carray(pointer(r.earlier_updates), shape, np.int64))


# ---- piece by piece
@inner
def is_known(q: WatchedRequest, entry: Integer, who: Integer) -> Integer:
    """Whether an access by warp or agent `who` is ordered before the request."""
    r, known, time = q.watch, known_to(q.watch, q.warp), entry >> ENTRY_TIME
    if who >= r.span:
        return time < max(copied_of(r)[who], known[q.row, who])
    if time < r.floor:
        return True
    if who != q.warp:
        return time < known[q.row, who]
    lane = entry & (LANES - 1)
    return q.active >> lane & 1 or time < max(q.member.lanes[q.row, lane], known[q.row, q.warp])


@inner
def is_fenced(q: WatchedRequest, entry: Integer, who: Integer) -> Integer:
    """Whether a proxy fence stands between an access by `who` and the request, if either wants one."""
    r, time = q.watch, entry >> ENTRY_TIME
    if who >= records.LOADS * r.span or time < r.began:
        return True
    fenced = records.FENCED * r.span + who
    return time < max(copied_of(r)[fenced], known_to(r, q.warp)[q.row, fenced])


@inner
def same_bytes(q: WatchedRequest, lane: Integer, k: Integer, piece: Integer) -> Integer:
    """Whether a lane writes to a piece (the k-th of its access) the bytes that are there already."""
    shift = q.watch.shift
    there = carray(memory_at(q.context, q.watch, piece << shift), 1 << shift, np.uint8)
    new = carray(q.values, LANES * 16, np.uint8)
    for byte in range(1 << shift):
        at = (k << shift) + byte
        if there[byte] != new[(at >> 2) * 4 * LANES + 4 * lane + (at & 3)]:
            return False
    return True


@inner
def against_each(
    q: WatchedRequest, now: Integer, piece: Integer, warps: Integer, before: Latest, atomic: Integer, fences: Integer
) -> None:
    """Compare an access with the latest reads (or atomics) of its piece by some warps; two atomics do not race.
    `fences`: a proxy fence is wanted between."""
    for who in range(q.watch.warps):
        if warps >> (who & (LANES - 1)) & 1:
            for accesses in (before.last, before.earlier):
                old = accesses[who, piece]
                both_atomic = atomic and old >> records.ENTRY_STRONG & 1
                if not both_atomic and not is_known(q, old, who):
                    race(q, old, who, now, piece, 0, False)
                elif fences and not is_fenced(q, old, who):
                    race(q, old, who, now, piece, records.UNFENCED, False)


@inner
def against_pulls(q: WatchedRequest, now: Integer, piece: Integer, warps: Integer) -> None:
    """Compare a write with the latest reads of its piece by copies and products of some warps."""
    r = q.watch
    pulls = carray(pointer(r.pulls), (r.warps, r.pieces), np.int64)
    factors = carray(pointer(r.factors), (r.warps, r.pieces), np.int64)
    for who in range(r.warps):
        if warps >> (who & (LANES - 1)) & 1:
            puller, product = records.COPIES * r.span + who, records.PRODUCTS * r.span + who
            if not is_known(q, pulls[who, piece], puller):
                race(q, pulls[who, piece], puller, now, piece, 0, False)
            if not is_known(q, factors[who, piece], product):
                race(q, factors[who, piece], product, now, piece, 0, False)


@inner
def compare(q: WatchedRequest, with_: Integer, atomic: Integer) -> None:
    """Compare each piece of a request with earlier writes, reads or atomics (bits of `with_`)."""
    r = q.watch
    last_write = carray(pointer(r.last_write), r.pieces, np.int64)
    writer = carray(pointer(r.writer), r.pieces, np.uint16)
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    pullers = carray(pointer(r.pullers), r.pieces, np.int64)
    reads, updates = latest_reads(q), latest_updates(q)
    fences = with_ & WITH_FENCES != 0
    for lane in range(LANES):
        if not q.mask >> lane & 1:
            continue
        start = np.int64(q.addresses[lane]) >> r.shift
        now = q.entry | lane
        for k in range(q.width >> r.shift):
            piece = start + k
            line = piece >> LINE
            if with_ & WITH_WRITES:
                old, who = last_write[piece], np.int64(writer[piece])
                if not is_known(q, old, who):
                    equal = with_ & WITH_STORES != 0 and same_bytes(q, lane, k, piece)
                    race(q, old, who, now, piece, 0, equal)
                elif fences and not is_fenced(q, old, who):
                    race(q, old, who, now, piece, records.UNFENCED, False)
            if with_ & WITH_READS:
                against_each(q, now, piece, readers[line], reads, atomic, False)
            if with_ & WITH_UPDATES:
                against_each(q, now, piece, updaters[line], updates, False, fences)
            if with_ & WITH_PULLS:
                against_pulls(q, now, piece, pullers[line])


@inner
def keep(q: WatchedRequest, latest: Latest) -> None:
    """Remember reads (or atomics) as the warp's last of their pieces; also those before, if by lanes that have parted
    from these."""
    for lane in range(LANES):
        if q.mask >> lane & 1:
            start = np.int64(q.addresses[lane]) >> q.watch.shift
            for piece in range(start, start + (q.width >> q.watch.shift)):
                if not is_known(q, latest.last[q.warp, piece], q.warp):
                    latest.earlier[q.warp, piece] = latest.last[q.warp, piece]
                latest.last[q.warp, piece] = q.entry | lane


@inner
def keep_writes(q: WatchedRequest) -> None:
    """Remember writes as the last of their pieces."""
    r = q.watch
    last_write = carray(pointer(r.last_write), r.pieces, np.int64)
    writer = carray(pointer(r.writer), r.pieces, np.uint16)
    who = np.uint16(q.warp)
    if q.kind == records.COPY:
        who = np.uint16(records.COPIES * r.span + q.warp)
    elif q.kind in (records.BULK, records.SEND):
        who = np.uint16(agent_of(r, q.barrier))
    for lane in range(LANES):
        if q.mask >> lane & 1:
            start = np.int64(q.addresses[lane]) >> r.shift
            for piece in range(start, start + (q.width >> r.shift)):
                last_write[piece] = q.entry | lane
                writer[piece] = who


@inner
def keep_pulls(q: WatchedRequest) -> None:
    """Remember what a copy or product reads as the last of its warp's."""
    r = q.watch
    place, entry = r.pulls, q.entry
    if q.kind == records.MULTIPLY:
        place, entry = r.factors, q.member.products << ENTRY_TIME | q.entry & LOWER
    latest = carray(pointer(place), (r.warps, r.pieces), np.int64)
    for lane in range(LANES):
        if q.mask >> lane & 1:
            start = np.int64(q.addresses[lane]) >> r.shift
            for piece in range(start, start + (q.width >> r.shift)):
                latest[q.warp, piece] = entry | lane


# ---- line by line
@inner
def is_line_known(q: WatchedRequest, summary: Integer) -> Integer:
    """Whether all accesses in a line's summary are certainly ordered before the request."""
    r, time, warps = q.watch, summary >> ENTRY_TIME, summary & LOWER
    if time < r.floor:
        return True
    if r.warps > LANES:
        return False
    if warps == np.int64(1) << q.warp:
        return True
    return warps & warps - 1 == 0 and time < known_to(r, q.warp)[q.row, lowest(warps)]


@inner
def are_copies_known(q: WatchedRequest, summary: Integer) -> Integer:
    r, warps = q.watch, summary & LOWER
    if summary >> ENTRY_TIME < r.began:
        return True
    if warps & warps - 1 or r.proxies or r.warps > LANES:
        return False
    agent = records.COPIES * r.span + lowest(warps)
    return summary >> ENTRY_TIME < max(copied_of(r)[agent], known_to(r, q.warp)[q.row, agent])


@inner
def enter(q: WatchedRequest, lines: Integers, line: Integer, since: Integer) -> None:
    """Note in a line's summary that the warp accesses it. (A bit is for all warps of that number modulo LANES.)"""
    warps = lines[line]
    if warps >> ENTRY_TIME < since:
        warps = 0
    lines[line] = q.entry >> ENTRY_TIME << ENTRY_TIME | warps & LOWER | np.int64(1) << (q.warp & (LANES - 1))


@inner
def read_together(q: WatchedRequest) -> None:
    """A warp that has not parted reads: by far the most frequent request. With `visit` in its place a check of a matrix
    product takes 1.5 to 1.8 times as long."""
    r = q.watch
    shift, pieces = np.uint32(r.shift), np.uint32(q.width >> r.shift)
    limit = r.floor << ENTRY_TIME
    copies, atomics, look = r.copies, r.atomics and q.kind == records.READ, r.checks & records.UNINITIALIZED
    began, own = began_at(r), (np.int64(1) << pieces) - 1
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    writers = carray(pointer(r.writers), r.pieces, np.int64)
    copiers = carray(pointer(r.copiers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    written = carray(pointer(r.written), r.pieces, np.int64)
    mine = latest_reads(q).last[q.warp]
    with_, missing = 0, np.int64(0)
    there: Any = np.int64(0)
    before = line = np.uint32(NO_LINE)
    for lane in range(LANES):
        start = q.addresses[lane] >> shift
        if start == before or not q.mask >> lane & 1:
            continue
        before = start
        mine[start] = q.entry | lane
        for k in range(np.uint32(1), pieces):
            mine[start + np.uint32(k)] = q.entry | lane
        here = start >> np.uint32(LINE)
        if here == line:
            missing |= own << np.int64(start & np.uint32(PIECES - 1)) & ~there
            continue
        line = here
        there = written[line] if written[line] >= began else 0
        missing |= own << np.int64(start & np.uint32(PIECES - 1)) & ~there
        if writers[line] >= limit and not is_line_known(q, writers[line]):
            with_ |= WITH_WRITES
        if copies and not are_copies_known(q, copiers[line]):
            with_ |= WITH_WRITES
        if atomics and not is_line_known(q, updaters[line]):
            with_ |= WITH_UPDATES
        enter(q, readers, line, r.floor)
    if with_:
        compare(q, with_, q.kind != records.READ)
    if look and missing:
        initialize(q)


@inner
def visit(q: WatchedRequest) -> None:
    """Compare any other request with those before, and remember it."""
    r, kind = q.watch, q.kind
    pulls, fences = kind in (records.PULL, records.MULTIPLY), kind in (records.BULK, records.PULL, records.MULTIPLY)
    writes = not pulls and kind not in (records.READ, records.TENTATIVE_READ, records.FLAG_READ)
    atomic = bool(records.TENTATIVE_READ <= kind <= records.WAIT and kind != records.STARTING)
    stores = writes and not atomic
    values = WITH_STORES if stores and kind not in (records.BULK, records.SEND) else 0
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    writers = carray(pointer(r.writers), r.pieces, np.int64)
    copiers = carray(pointer(r.copiers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    pullers = carray(pointer(r.pullers), r.pieces, np.int64)
    noted, since = readers, r.floor
    if kind in (records.COPY, records.BULK, records.SEND):
        noted, since = copiers, r.began
    elif pulls:
        noted, since = pullers, r.began
    elif stores:
        noted = writers
    elif writes:
        noted = updaters
    parted = q.active != q.member.whole
    with_ = 0
    line = np.uint32(NO_LINE)
    for lane in range(LANES):
        here = q.addresses[lane] >> np.uint32(r.shift) >> np.uint32(LINE)
        if here == line or not q.mask >> lane & 1:
            continue
        line = here
        if parted or not is_line_known(q, writers[line]):
            with_ |= WITH_WRITES
        if r.copies and not are_copies_known(q, copiers[line]):
            with_ |= WITH_WRITES
        if writes and (parted or not is_line_known(q, readers[line])):
            with_ |= WITH_READS
        if r.atomics and not atomic and (parted or not is_line_known(q, updaters[line])):
            with_ |= WITH_UPDATES
        if writes and r.proxies and pullers[line] >> ENTRY_TIME >= r.began:
            with_ |= WITH_PULLS
        if fences and (writers[line] >> ENTRY_TIME >= r.began or copiers[line] >> ENTRY_TIME >= r.began):
            with_ |= WITH_WRITES
        if fences and updaters[line] >> ENTRY_TIME >= r.began:
            with_ |= WITH_UPDATES
        enter(q, noted, line, since)
    if with_:
        compare(q, with_ | values | fences * WITH_FENCES, atomic)
    if pulls:
        keep_pulls(q)
    elif stores:
        keep_writes(q)
    else:
        keep(q, latest_updates(q) if writes else latest_reads(q))
    if r.checks & records.UNINITIALIZED:
        initialize(q)
