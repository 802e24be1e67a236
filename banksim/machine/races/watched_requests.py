"""Requests to shared memory that LLVM code shows to the race check before it makes them. Compiled by numba."""

import numpy as np
from numba import types

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.records import Watch, WatchedRequest
from banksim.machine.races.shadow_memory import read_together, visit
from banksim.machine.races.synchronizing_words import synchronize
from banksim.machine.races.vector_clocks import members_of, number_of, row_of, watch_of
from banksim.machine.races.watched_places import watched_place
from banksim.machine.races.written_pieces import initialize
from banksim.machine.record_types import CONTEXT, WARP
from banksim.machine.state import Context, Warp
from banksim.requests.lane_intrinsics import lowest, pointer, room
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

POINTER = types.voidptr
UNIT = 16
"""Bytes that bulk copies count in."""
_room_for_addresses = room(LANES)


@inner
def request(
    r: Watch,
    c: Context,
    w: Warp,
    number: Integer,
    kind: Integer,
    mask: Integer,
    width: Integer,
    addresses: Integers,
    values: Place,
    barrier: Integer,
) -> None:
    """A request of an instruction by its number, as what kind of access; `barrier` as in `WatchedRequest`."""
    me, active = number_of(c, r, w.index), np.int64(w.active)
    x = members_of(r)[me]
    row = np.int64(0)
    entry = np.int64(carray(pointer(r.site_of), r.instructions, np.uint16)[number]) << records.ENTRY_SITE
    if r.checks & records.RACES:
        row = np.int64(row_of(r, me, active))  # before the time of this access
        r.now += 1
        x.latest = r.now
        if x.seen != r.epoch:
            x.seen = r.epoch
            x.position = 0
        x.position += 1
        carray(pointer(r.executed), (r.warps, r.sites), np.int32)[me, entry >> records.ENTRY_SITE] = r.epoch
        entry |= r.now << records.ENTRY_TIME | min(x.position, records.POSITIONS - 1) << records.ENTRY_POSITION
        if kind in (records.TENTATIVE_READ, records.FLAG_READ):
            entry |= 1 << records.ENTRY_STRONG
    q = WatchedRequest(r, c, x, me, row, active, mask, entry, kind, width, addresses, values, barrier)
    if not r.checks & records.RACES:
        initialize(q)
        return
    if kind in (records.READ, records.TENTATIVE_READ, records.FLAG_READ) and active == x.whole:
        read_together(q)
    elif kind != records.COPIES_ARRIVE:
        visit(q)
    if records.STARTING <= kind < records.BULK or (r.acquires and records.FLAG_READ <= kind < records.STARTING):
        synchronize(q)


@inner
def watched_places(r: Watch, places: Place) -> Integers:
    """The addresses of 32 lanes, made places of the memory that is watched."""
    addresses = carray(places, LANES, np.uint32)
    if r.blocks > 1:
        for lane in range(LANES):
            addresses[lane] = watched_place(r, addresses[lane])
    return addresses


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3, POINTER, POINTER))
def watch(
    context: Place, warp: Place, pc: Integer, lanes: Integer, width: Integer, places: Place, values: Place
) -> None:
    """One request: an instruction whose `lanes` access `width` bytes each at `places`; `values`: what they store, by
    words, all lanes of one after the other. (Those requests of copies and products that only count are no accesses.)"""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    r = watch_of(c)
    number = np.int64(pc) >> 4
    kind = np.int64(carray(pointer(r.kinds), r.instructions, np.uint8)[number])
    only_counts = kind == records.MULTIPLY and width == UNIT
    if not only_counts and kind not in (records.NOTHING, records.BULK, records.PULL, records.SEND, records.REDUCE):
        addresses = watched_places(r, places)
        request(r, c, w, number, kind, np.int64(lanes), np.int64(width), addresses, values, np.int64(0))


@inner
def copied(
    c: Context, w: Warp, pc: Integer, addresses: Integers, mask: Integer, inward: Integer, barrier: Integer
) -> None:
    """Up to 32 pieces of 16 bytes that a copy writes, if `inward`, or reads."""
    number, kind = np.int64(pc) >> 4, np.int64(records.BULK if inward else records.PULL)
    values = pointer(c.scratch)
    request(watch_of(c), c, w, number, kind, mask, np.int64(UNIT), addresses, values, np.int64(barrier))


@inner
def counted(c: Context, w: Warp, addresses: Integers, barrier: Integer, kind: Integer) -> None:
    """An mbarrier will be told when what was copied is there."""
    r = watch_of(c)
    if r.checks & records.RACES:
        addresses[0] = barrier
        me, active = number_of(c, r, w.index), np.int64(w.active)
        x = members_of(r)[me]
        row, zero, one = np.int64(row_of(r, me, active)), np.int64(0), np.int64(1)
        values = pointer(c.scratch)
        synchronize(WatchedRequest(r, c, x, me, row, active, one, zero, kind, one, addresses, values, zero))


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 5))
def watch_bulk(
    context: Place, warp: Place, pc: Integer, start: Integer, size: Integer, inward: Integer, barrier: Integer
) -> None:
    """A bulk copy out of shared memory or, if `inward`, into it, where an mbarrier is told when it is done."""
    c, w = carray(context, 1)[0], carray(warp, 1)[0]
    addresses = carray(_room_for_addresses(), LANES, np.uint32)
    start, barrier = watched_place(watch_of(c), start), watched_place(watch_of(c), barrier)
    end = start + size
    while start < end:
        mask = np.int64(0)
        for lane in range(LANES):
            addresses[lane] = start
            if start < end:
                mask |= np.int64(1) << lane
                start += np.uint32(UNIT)
        copied(c, w, pc, addresses, mask, inward, barrier)
    if inward:
        counted(c, w, addresses, barrier, np.int64(records.BULK))


@callback(types.void(CONTEXT, WARP, types.uint32, POINTER, *[types.uint32] * 3))
def watch_pieces(
    context: Place, warp: Place, pc: Integer, places: Place, count: Integer, inward: Integer, barrier: Integer
) -> None:
    """The same of a copy of pieces of 16 bytes at `places`."""
    c, w = carray(context, 1)[0], carray(warp, 1)[0]
    addresses = carray(_room_for_addresses(), LANES, np.uint32)
    pieces = carray(places, count, np.uint32)
    barrier = watched_place(watch_of(c), barrier)
    for first in range(0, np.int64(count), LANES):
        mask = np.int64(0)
        for lane in range(LANES):
            if first + lane < count:
                addresses[lane] = watched_place(watch_of(c), pieces[first + lane])
                mask |= np.int64(1) << lane
        copied(c, w, pc, addresses, mask, inward, barrier)
    if inward:
        counted(c, w, addresses, barrier, np.int64(records.BULK))


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3, POINTER, POINTER))
def watch_sent(
    context: Place, warp: Place, pc: Integer, lanes: Integer, width: Integer, places: Place, barriers: Place
) -> None:
    """A request of st.async or red.async: `lanes` write at `places`, and each has its mbarrier told."""
    c, w = carray(context, 1)[0], carray(warp, 1)[0]
    r = watch_of(c)
    addresses, words, mask = watched_places(r, places), watched_places(r, barriers), np.int64(lanes)
    number = np.int64(pc) >> 4
    sends = carray(pointer(r.kinds), r.instructions, np.uint8)[number] == records.SEND
    one = carray(_room_for_addresses(), LANES, np.uint32)
    while mask:
        lane = lowest(mask)
        same = np.int64(0)
        for other in range(LANES):
            if mask >> other & 1 and words[other] == words[lane]:
                same |= np.int64(1) << other
        mask &= ~same
        barrier = np.int64(words[lane])
        kind = np.int64(records.SEND if sends else records.UPDATE)
        request(r, c, w, number, kind, same, np.int64(width), addresses, places, barrier)
        counted(c, w, one, barrier, np.int64(records.SEND if sends else records.ARRIVE))
