"""Findings as compiled code records them: one record for each pair of sites and kind of finding."""

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.records import FOUND, GROUP, Watch, WatchedRequest
from banksim.machine.races.vector_clocks import known_to, members_of
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inner

_FINDING = records.FINDING


@inner
def site_in(entry: Integer) -> Integer:
    return entry >> records.ENTRY_SITE & (records.SITES - 1)


@inner
def position_in(entry: Integer) -> Integer:
    return entry >> records.ENTRY_POSITION & (records.POSITIONS - 1)


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
            f.block = r.block
        if f.how == how and f.first_site == first_site and f.second_site == second_site:
            f.count += 1
            return n
        n = (n + 1) % FOUND
    r.lost += 1
    return -1


@inner
def owner(r: Watch, agent: Integer) -> Integer:
    """The warp that started what an agent does."""
    loads, products = records.LOADS * r.span, records.PRODUCTS * r.span
    if loads <= agent < products:
        return np.int64(carray(pointer(r.issuers), r.span, np.uint16)[agent - loads])
    return agent - (products if agent >= products else records.COPIES * r.span)


@inner
def is_awaited(q: WatchedRequest, entry: Integer, agent: Integer, warp: Integer) -> Integer:
    """Whether an agent's access was waited for, by the warp that started it. (That is not known here of a warp that has
    to wait itself: for what it started, for products of its group, for what an mbarrier counts.)"""
    r = q.watch
    loads, products = records.LOADS * r.span, records.PRODUCTS * r.span
    if warp == q.warp or loads <= agent < products or (agent >= products and warp // GROUP == q.warp // GROUP):
        return False
    return entry >> records.ENTRY_TIME < known_to(r, warp)[members_of(r)[warp].row_of[entry & (LANES - 1)], agent]


@inner
def race(
    q: WatchedRequest, old: Integer, who: Integer, now: Integer, piece: Integer, how: Integer, equal: Integer
) -> None:
    """Record a race of an old access by `who` with that of a lane now, which nothing orders, or, as `how` says, no
    proxy fence. First in the program is the access whose instruction the warp of the old one executed first since the
    last barrier, if it executed both; otherwise that of an agent, or the one first in the code."""
    r, me, old_warp = q.watch, q.warp, who
    copies = records.COPIES * r.span
    if who >= copies:
        old_warp = owner(r, who)
        if not how and not is_awaited(q, old, who, old_warp):
            how = records.COPYING
    if old_warp == me:
        how |= records.SAME_WARP
    elif not how & records.UNFENCED:
        executed = carray(pointer(r.executed), (r.warps, r.sites), np.int32)[old_warp]
        swap = who < copies and site_in(now) < site_in(old)
        if executed[site_in(now)] == r.epoch and (who < copies or executed[site_in(old)] == r.epoch):
            swap = position_in(now) < position_in(old)
        if swap:
            old, old_warp, now, me, how = now, me, old, old_warp, 0
    if old_warp // r.block_warps != me // r.block_warps:
        how |= records.ACROSS
    n = find(q, how, old, old_warp, now, me, piece)
    if n >= 0 and not equal:
        carray(pointer(r.found), FOUND, _FINDING)[n].unequal += 1
