"""Findings as compiled code records them: one record for each pair of sites and kind of finding."""

from __future__ import annotations

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.compiled_records import WatchedRequest
from banksim.machine.races.records import (
    COPYING,
    ENTRY_POSITION,
    ENTRY_SITE,
    ENTRY_TIME,
    FOUND,
    POSITIONS,
    SAME_WARP,
    SITES,
)
from banksim.machine.races.vector_clocks import members_of
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inner

_FINDING = records.FINDING


@inner
def site_in(entry: Integer) -> Integer:
    return entry >> ENTRY_SITE & (SITES - 1)


@inner
def position_in(entry: Integer) -> Integer:
    return entry >> ENTRY_POSITION & (POSITIONS - 1)


@inner
def find(
    q: WatchedRequest,
    how: Integer,
    first: Integer,
    first_warp: Integer,
    second: Integer,
    second_warp: Integer,
    piece: Integer,
) -> Integer:
    """Count a finding of two sites. Returns the number of its record, -1 if there is no room for it."""
    r = q.watch
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
            f.block = q.context.block
        if f.how == how and f.first_site == first_site and f.second_site == second_site:
            f.count += 1
            return n
        n = (n + 1) % FOUND
    r.lost += 1
    return -1


@inner
def race(q: WatchedRequest, old: Integer, old_warp: Integer, now: Integer, piece: Integer, equal: Integer) -> None:
    """Record a race of an old access with that of a lane now, which nothing orders. First in the program is the access
    whose instruction the warp of the old one executed first since the last barrier, if it executed both; otherwise the
    one first in the code."""
    r, me = q.watch, q.warp
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
    n = find(q, how, old, old_warp, now, me, piece)
    if n >= 0 and not equal:
        carray(pointer(r.found), FOUND, _FINDING)[n].unequal += 1
