"""Shadow memory: the last accesses to every piece of a block's shared memory, and whether they are ordered before the
request that comes now. Compiled by numba, called from LLVM code before each request.

A line is 32 pieces. The summary of a line (which warps accessed it, and when last) mostly suffices to see that nothing
in it races with a request; only otherwise are its pieces compared one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from banksim.machine.codes import LANES
from banksim.machine.compiled_records import Context, Warp
from banksim.machine.races import records
from banksim.machine.races.compiled_records import Member, Watch, Word
from banksim.machine.races.ordering_events import await_copies, commit_copies, watch_block
from banksim.machine.races.records import (
    AGENTS,
    ARRIVE,
    BULK,
    COPIES_ARRIVE,
    COPY,
    COPYING,
    ENTRY_POSITION,
    ENTRY_SITE,
    ENTRY_STRONG,
    ENTRY_TIME,
    EXCHANGE,
    FLAG_READ,
    FLAG_WRITE,
    FOUND,
    LINE,
    LOWER,
    NOTHING,
    PIECES,
    POSITIONS,
    RACES,
    READ,
    SAME_WARP,
    SITES,
    STARTING,
    TENTATIVE_READ,
    UNINITIALIZED,
    UNWRITTEN,
    UPDATE,
    WAIT,
    WORDS,
    WRITE,
)
from banksim.machine.races.vector_clocks import members_of, publish, row_of, take_over, watch_of
from banksim.machine.record_types import CONTEXT, WARP
from banksim.requests.lane_intrinsics import lowest, pointer, room
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import Callback, callback, carray, inner

POINTER = types.voidptr
UNIT = 16
"""Bytes that bulk copies count in."""
NONE = 0xFFFFFFFF
"""No line, no piece."""
WITH_WRITES, WITH_READS, WITH_UPDATES, WITH_STORES = 1, 2, 4, 8
"""Bits: the earlier accesses that a request is compared with, piece by piece. WITH_STORES: the request stores values;
where these equal the bytes that are there, a race is told as one of equal values."""
_room_for_addresses = room(LANES)
_FINDING, _WORD = records.FINDING, records.WORD


# ---- findings
@inner
def site_in(entry: Integer) -> Integer:
    return entry >> ENTRY_SITE & (SITES - 1)


@inner
def position_in(entry: Integer) -> Integer:
    return entry >> ENTRY_POSITION & (POSITIONS - 1)


@inner
def find(
    r: Watch,
    c: Context,
    how: Integer,
    first: Integer,
    first_warp: Integer,
    second: Integer,
    second_warp: Integer,
    piece: Integer,
) -> Integer:
    """Count a finding of two sites. Returns the number of its record, -1 if there is no room for it."""
    found = carray(pointer(r.found), FOUND, _FINDING)
    first_site, second_site = site_in(first), site_in(second)
    n = (first_site * 31 + second_site * 7 + how) % FOUND
    for _ in range(FOUND):
        f = found[n]
        if not f.count:
            f.how, f.first_site, f.second_site = how, first_site, second_site
            f.first_warp, f.second_warp = first_warp, second_warp
            f.first_lane, f.second_lane = first & (LANES - 1), second & (LANES - 1)
            f.address = piece << r.shift
            f.block = c.block
        if f.how == how and f.first_site == first_site and f.second_site == second_site:
            f.count += 1
            return n
        n = (n + 1) % FOUND
    r.lost += 1
    return -1


@inner
def race(
    r: Watch, c: Context, old: Integer, old_warp: Integer, now: Integer, me: Integer, piece: Integer, equal: Integer
) -> None:
    """Record a race of two accesses that nothing orders. First in the program is the access whose instruction the warp
    of the old one executed first since the last barrier, if it executed both; otherwise the one first in the code."""
    how = 0
    if old_warp >= LANES:
        agent, old_warp = old_warp, old_warp - LANES
        owner = members_of(r)[old_warp]
        if old >> ENTRY_TIME >= owner.known[owner.row_of[old & (LANES - 1)], agent]:
            how = COPYING
    if old_warp == me:
        how |= SAME_WARP
    swap = not how and site_in(now) < site_in(old)
    if not how and carray(pointer(r.executed), (r.warps, r.sites), np.int32)[old_warp, site_in(now)] == r.floor:
        swap = position_in(now) < position_in(old)
    if swap:
        old, old_warp, now, me = now, me, old, old_warp
    n = find(r, c, how, old, old_warp, now, me, piece)
    if n >= 0 and not equal:
        carray(pointer(r.found), FOUND, _FINDING)[n].unequal += 1


# ---- piece by piece
@inner
def is_known(r: Watch, x: Member, row: Integer, me: Integer, active: Integer, entry: Integer, who: Integer) -> Integer:
    """Whether an access by warp or agent `who` is ordered before what the row's lanes do now."""
    time = entry >> ENTRY_TIME
    if who >= LANES:
        return time < max(r.copied[who], x.known[row, who])
    if time < r.floor:
        return True
    if who != me:
        return time < x.known[row, who]
    lane = entry & (LANES - 1)
    return active >> lane & 1 or time < max(x.lanes[row, lane], x.known[row, me])


@inner
def same_bytes(c: Context, r: Watch, values: Place, lane: Integer, k: Integer, piece: Integer) -> Integer:
    """Whether a lane writes to a piece (the k-th of its access) the bytes that are there already."""
    there = carray(pointer(np.uint64(c.shared)), (piece + 1) << r.shift, np.uint8)
    new = carray(values, LANES * 16, np.uint8)
    for byte in range(1 << r.shift):
        at = (k << r.shift) + byte
        if there[(piece << r.shift) + byte] != new[(at >> 2) * 4 * LANES + 4 * lane + (at & 3)]:
            return False
    return True


@inner
def against_each(
    r: Watch,
    c: Context,
    x: Member,
    row: Integer,
    me: Integer,
    active: Integer,
    entry: Integer,
    piece: Integer,
    warps: Integer,
    planes: tuple[Integers, Integers],
    atomic: Integer,
) -> None:
    """Compare an access with the last read (or atomic) of its piece by each of some warps; two atomics do not race."""
    latest, earlier = planes
    for who in range(r.warps):
        if warps >> who & 1:
            for plane in (latest, earlier):
                old = plane[who, piece]
                both_atomic = atomic and old >> ENTRY_STRONG & 1
                if not both_atomic and not is_known(r, x, row, me, active, old, who):
                    race(r, c, old, who, entry, me, piece, False)


@inner
def compare(
    r: Watch,
    c: Context,
    x: Member,
    row: Integer,
    me: Integer,
    active: Integer,
    mask: Integer,
    entry: Integer,
    width: Integer,
    addresses: Integers,
    values: Place,
    with_: Integer,
    atomic: Integer,
) -> None:
    """Compare each piece of a request with the earlier accesses to it: with writes, reads or atomics (bits of
    `with_`)."""
    last_write = carray(pointer(r.last_write), r.pieces, np.int64)
    writer = carray(pointer(r.writer), r.pieces, np.uint8)
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    shape = (r.warps, r.pieces)
    reads = carray(pointer(r.reads), shape, np.int64), carray(pointer(r.earlier_reads), shape, np.int64)
    updates = carray(pointer(r.updates), shape, np.int64), carray(pointer(r.earlier_updates), shape, np.int64)
    for lane in range(LANES):
        if not mask >> lane & 1:
            continue
        start = np.int64(addresses[lane]) >> r.shift
        now = entry | lane
        for k in range(width >> r.shift):
            piece = start + k
            line = piece >> LINE
            if with_ & WITH_WRITES:
                old, who = last_write[piece], np.int64(writer[piece])
                if not is_known(r, x, row, me, active, old, who):
                    equal = with_ & WITH_STORES and same_bytes(c, r, values, lane, k, piece)
                    race(r, c, old, who, now, me, piece, equal)
            if with_ & WITH_READS:
                against_each(r, c, x, row, me, active, now, piece, readers[line], reads, atomic)
            if with_ & WITH_UPDATES:
                against_each(r, c, x, row, me, active, now, piece, updaters[line], updates, False)


# ---- line by line
@inner
def is_line_known(r: Watch, x: Member, row: Integer, me: Integer, summary: Integer) -> Integer:
    """Whether all accesses in a line's summary are certainly ordered before what the warp does now."""
    time, warps = summary >> ENTRY_TIME, summary & LOWER
    if time < r.floor or warps == np.int64(1) << me:
        return True
    return warps & warps - 1 == 0 and time < x.known[row, lowest(warps)]


@inner
def are_copies_known(r: Watch, x: Member, row: Integer, summary: Integer) -> Integer:
    warps = summary & LOWER
    if summary >> ENTRY_TIME < r.began:
        return True
    if warps & warps - 1:
        return False
    agent = LANES + lowest(warps)
    return summary >> ENTRY_TIME < max(r.copied[agent], x.known[row, agent])


@inner
def enter(lines: Integers, line: Integer, entry: Integer, since: Integer, me: Integer) -> None:
    """Note in a line's summary that the warp accesses it."""
    warps = lines[line]
    if warps >> ENTRY_TIME < since:
        warps = 0
    lines[line] = entry >> ENTRY_TIME << ENTRY_TIME | warps & LOWER | np.int64(1) << me


@inner
def keep(
    r: Watch,
    x: Member,
    row: Integer,
    me: Integer,
    active: Integer,
    mask: Integer,
    entry: Integer,
    width: Integer,
    addresses: Integers,
    planes: tuple[Integers, Integers],
) -> None:
    """Remember reads (or atomics) as the warp's last of their pieces; also those before, if by lanes that have parted
    from these."""
    latest, earlier = planes
    for lane in range(LANES):
        if mask >> lane & 1:
            start = np.int64(addresses[lane]) >> r.shift
            for piece in range(start, start + (width >> r.shift)):
                if not is_known(r, x, row, me, active, latest[me, piece], me):
                    earlier[me, piece] = latest[me, piece]
                latest[me, piece] = entry | lane


@inner
def read_together(
    r: Watch,
    c: Context,
    x: Member,
    row: Integer,
    me: Integer,
    mask: Integer,
    entry: Integer,
    width: Integer,
    addresses: Integers,
    values: Place,
    kind: Integer,
) -> None:
    """A warp that has not parted reads: by far the most frequent request."""
    shift, pieces = np.uint32(r.shift), np.uint32(width >> r.shift)
    limit = r.floor << ENTRY_TIME
    copies, atomics, look = r.copies, r.atomics and kind == READ, r.checks & UNINITIALIZED
    began, own = began_at(c), (np.int64(1) << pieces) - 1
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    writers = carray(pointer(r.writers), r.pieces, np.int64)
    copiers = carray(pointer(r.copiers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    written = carray(pointer(r.written), r.pieces, np.int64)
    mine = carray(pointer(r.reads), (r.warps, r.pieces), np.int64)[me]
    with_, missing = 0, np.int64(0)
    there: Any = np.int64(0)
    before = line = np.uint32(NONE)
    for lane in range(LANES):
        start = addresses[lane] >> shift
        if start == before or not mask >> lane & 1:
            continue
        before = start
        mine[start] = entry | lane
        for k in range(np.uint32(1), pieces):
            mine[start + np.uint32(k)] = entry | lane
        here = start >> np.uint32(LINE)
        if here == line:
            missing |= own << np.int64(start & np.uint32(PIECES - 1)) & ~there
            continue
        line = here
        there = written[line] if written[line] >= began else 0
        missing |= own << np.int64(start & np.uint32(PIECES - 1)) & ~there
        if writers[line] >= limit and not is_line_known(r, x, row, me, writers[line]):
            with_ |= WITH_WRITES
        if copies and not are_copies_known(r, x, row, copiers[line]):
            with_ |= WITH_WRITES
        if atomics and not is_line_known(r, x, row, me, updaters[line]):
            with_ |= WITH_UPDATES
        enter(readers, line, entry, r.floor, me)
    if with_:
        compare(r, c, x, row, me, x.whole, mask, entry, width, addresses, values, with_, kind != READ)
    if look and missing:
        initialize(r, c, me, kind, mask, entry, width, addresses)


@inner
def visit(
    r: Watch,
    c: Context,
    x: Member,
    row: Integer,
    me: Integer,
    active: Integer,
    mask: Integer,
    entry: Integer,
    width: Integer,
    addresses: Integers,
    values: Place,
    kind: Integer,
) -> None:
    """Compare any other request with those before, and remember it."""
    shift, pieces = np.uint32(r.shift), np.uint32(width >> r.shift)
    writes = kind not in (READ, TENTATIVE_READ, FLAG_READ)
    atomic = kind in (TENTATIVE_READ, FLAG_READ, FLAG_WRITE, UPDATE, EXCHANGE, ARRIVE, WAIT)
    stores = writes and not atomic
    readers = carray(pointer(r.readers), r.pieces, np.int64)
    writers = carray(pointer(r.writers), r.pieces, np.int64)
    copiers = carray(pointer(r.copiers), r.pieces, np.int64)
    updaters = carray(pointer(r.updaters), r.pieces, np.int64)
    parted = active != x.whole
    with_ = 0
    line = np.uint32(NONE)
    for lane in range(LANES):
        here = addresses[lane] >> shift >> np.uint32(LINE)
        if here == line or not mask >> lane & 1:
            continue
        line = here
        if parted or not is_line_known(r, x, row, me, writers[line]):
            with_ |= WITH_WRITES
        if r.copies and not are_copies_known(r, x, row, copiers[line]):
            with_ |= WITH_WRITES
        if writes and (parted or not is_line_known(r, x, row, me, readers[line])):
            with_ |= WITH_READS
        if r.atomics and not atomic and (parted or not is_line_known(r, x, row, me, updaters[line])):
            with_ |= WITH_UPDATES
        if kind in (COPY, BULK):
            enter(copiers, line, entry, r.began, me)
        elif stores:
            enter(writers, line, entry, r.floor, me)
        elif writes:
            enter(updaters, line, entry, r.floor, me)
        else:
            enter(readers, line, entry, r.floor, me)
    if with_:
        compare(
            r,
            c,
            x,
            row,
            me,
            active,
            mask,
            entry,
            width,
            addresses,
            values,
            with_ | (stores and kind != BULK) * WITH_STORES,
            atomic,
        )
    if stores:
        last_write = carray(pointer(r.last_write), r.pieces, np.int64)
        writer = carray(pointer(r.writer), r.pieces, np.uint8)
        who = np.uint8(LANES + me if kind in (COPY, BULK) else me)
        for lane in range(LANES):
            if mask >> lane & 1:
                start = addresses[lane] >> shift
                for k in range(pieces):
                    last_write[start + np.uint32(k)] = entry | lane
                    writer[start + np.uint32(k)] = who
    else:
        shape = (r.warps, r.pieces)
        latest, earlier = (r.updates, r.earlier_updates) if writes else (r.reads, r.earlier_reads)
        planes = carray(pointer(latest), shape, np.int64), carray(pointer(earlier), shape, np.int64)
        keep(r, x, row, me, active, mask, entry, width, addresses, planes)
    if r.checks & UNINITIALIZED:
        initialize(r, c, me, kind, mask, entry, width, addresses)


# ---- what is written
@inner
def began_at(c: Context) -> Integer:
    """The summary of a line of which the block has written no piece; blocks come in the order of their numbers."""
    return (np.int64(c.block) + 1) << ENTRY_TIME


@inner
def initialize(
    r: Watch, c: Context, me: Integer, kind: Integer, mask: Integer, entry: Integer, width: Integer, addresses: Integers
) -> None:
    """Notice reads of what nothing has written since the block began; remember what is written."""
    shift, pieces = np.uint32(r.shift), np.uint32(width >> r.shift)
    lines = carray(pointer(r.written), r.pieces, np.int64)
    reads = kind not in (WRITE, COPY, BULK, STARTING, FLAG_WRITE)
    writes = not reads or kind in (UPDATE, EXCHANGE)
    began = began_at(c)
    own = (np.int64(1) << pieces) - 1
    line, whole = np.uint32(NONE), False
    for lane in range(LANES):
        start = addresses[lane] >> shift
        here = start >> np.uint32(LINE)
        if not mask >> lane & 1 or (here == line and whole):
            continue
        line = here
        written = lines[line] if lines[line] >= began else began
        whole = written & LOWER == LOWER
        wanted = own << np.int64(start & np.uint32(PIECES - 1))
        if reads and wanted & ~written:
            find(r, c, UNWRITTEN, entry | lane, me, entry | lane, me, np.int64(start))
        if writes:
            lines[line] = written | wanted


# ---- words that synchronise
@inner
def begin_phase(c: Context, word: Word, address: Integer) -> None:
    """Begin a phase of an mbarrier: threads that wait for the phase before take over what was published in it."""
    where: Any = np.uint64(c.shared) + np.uint64(address & ~7)
    parity = np.int64(carray(pointer(where), 2, np.uint32)[1] >> np.uint32(31))
    if parity != word.parity:
        word.parity = parity
        for who in range(AGENTS):
            word.passed[who] = word.gathered[who]
            word.gathered[who] = 0


@inner
def synchronize(
    c: Context, r: Watch, x: Member, row: Integer, me: Integer, kind: Integer, mask: Integer, addresses: Integers
) -> None:
    """Publish what a warp did at the word of an atomic or mbarrier, and take over what others published there."""
    words = carray(pointer(r.words), WORDS, _WORD)
    before = np.int64(-1)
    for lane in range(LANES):
        address = np.int64(addresses[lane])
        if address == before or not mask >> lane & 1:
            continue
        before = address
        word = words[address >> 2 & (WORDS - 1)]
        if kind == STARTING:
            word.parity = 0
            for who in range(AGENTS):
                word.gathered[who] = word.passed[who] = 0
        if kind in (ARRIVE, WAIT, COPIES_ARRIVE):
            begin_phase(c, word, address)
        if kind == WAIT:
            take_over(r, x, row, word.passed)
        if kind in (FLAG_READ, EXCHANGE):
            take_over(r, x, row, word.gathered)
        if kind in (FLAG_WRITE, UPDATE, EXCHANGE, ARRIVE):
            publish(r, x, row, me, word.gathered)
        if kind == COPIES_ARRIVE:
            word.gathered[LANES + me] = r.now + 1


@inner
def request(
    r: Watch,
    c: Context,
    w: Warp,
    number: Integer,
    kind: Integer,
    mask: Integer,
    size: Integer,
    addresses: Integers,
    values: Place,
) -> None:
    """A request of an instruction by its number, as what kind of access."""
    me, active = np.int64(w.index), np.int64(w.active)
    site = np.int64(carray(pointer(r.site_of), r.instructions, np.uint16)[number])
    if r.checks & RACES:
        x = members_of(r)[me]
        row = row_of(r, x, active)  # before the time of this access
        r.now += 1
        if x.seen != r.floor:
            x.seen = r.floor
            x.position = 0
        x.position += 1
        carray(pointer(r.executed), (r.warps, r.sites), np.int32)[me, site] = r.floor
        position = min(x.position, POSITIONS - 1)
        entry = r.now << ENTRY_TIME | position << ENTRY_POSITION | site << ENTRY_SITE
        if kind in (TENTATIVE_READ, FLAG_READ):
            entry |= 1 << ENTRY_STRONG
        if kind in (READ, TENTATIVE_READ, FLAG_READ) and active == x.whole:
            read_together(r, c, x, row, me, mask, entry, size, addresses, values, kind)
        elif kind != COPIES_ARRIVE:
            visit(r, c, x, row, me, active, mask, entry, size, addresses, values, kind)
        if STARTING <= kind < BULK or (r.acquires and FLAG_READ <= kind < STARTING):
            synchronize(c, r, x, row, me, kind, mask, addresses)
    else:
        initialize(r, c, me, kind, mask, site << ENTRY_SITE, size, addresses)


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3, POINTER, POINTER))
def watch(
    context: Place, warp: Place, pc: Integer, lanes: Integer, width: Integer, places: Place, values: Place
) -> None:
    """One request: an instruction whose `lanes` access `width` bytes each at `places`; `values`: what they store, by
    words, all lanes of one after the other."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    number = np.int64(pc) >> 4
    kind = np.int64(carray(pointer(r.kinds), r.instructions, np.uint8)[number])
    if kind not in (NOTHING, BULK):
        addresses = carray(places, LANES, np.uint32)
        request(r, c, w, number, kind, np.int64(lanes), np.int64(width), addresses, values)


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 5))
def watch_bulk(
    context: Place, warp: Place, pc: Integer, start: Integer, size: Integer, inward: Integer, barrier: Integer
) -> None:
    """A bulk copy out of shared memory or, if `inward`, into it, where an mbarrier is told when it is done."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    kind = np.int64(BULK if inward else READ)
    addresses = carray(_room_for_addresses(), LANES, np.uint32)
    values = c.scratch
    end = start + size
    while start < end:
        mask = np.int64(0)
        for lane in range(LANES):
            addresses[lane] = start
            if start < end:
                mask |= np.int64(1) << lane
                start += np.uint32(UNIT)
        request(r, c, w, np.int64(pc) >> 4, kind, mask, np.int64(UNIT), addresses, pointer(values))
    if inward and r.checks & RACES:
        addresses[0] = barrier
        x = members_of(r)[w.index]
        synchronize(c, r, x, row_of(r, x, np.int64(w.active)), np.int64(w.index), COPIES_ARRIVE, 1, addresses)


CALLED = (watch, watch_bulk, watch_block, commit_copies, await_copies)
SYMBOLS: dict[str, Callback] = {f.name: f for f in CALLED}
"""The functions that LLVM code calls."""
