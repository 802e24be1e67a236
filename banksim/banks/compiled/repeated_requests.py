"""Requests that are alike by meaning: judged once, counted as often as they come. Needs numba.

Two requests are alike if site, op, width and mask are the same, and the addresses of the active lanes differ
by one distance that is a multiple of the architecture's period, which no count depends on. Requests of blocks
that do the same are alike, so such blocks are judged once too. Hashes only say where to look: what is taken
to be alike was compared lane by lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.arrays import judge_rows, room_for_sixteen
from banksim.banks.compiled.one_request import judge_at
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.compiled.site_sums import ENTRY, EXCESS, NO_EXCESS, PLACE, Key, add, place_of, summed
from banksim.banks.compiled.sixteen_requests import DEGREE, ELSEWHERE, IDEAL, REQUESTS, TRANSACTIONS, records
from banksim.banks.conflicts import Tally
from banksim.requests.columns import (
    ADDRESS,
    BLOCK,
    MASK,
    OP,
    READ,
    WARP,
    WIDTH,
    byte_at,
    places,
    row_of,
    unpacked,
    word_at,
)
from banksim.requests.copies import LINE
from banksim.requests.kinds import BY_LINES, COPIES, DESTINATION, FULL_MASK, LANES, OPS
from banksim.requests.lane_intrinsics import pointer, word
from banksim.requests.trace import Trace
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined, outer

Rows = npt.NDArray[np.int64]
FACTORS = np.random.default_rng(1).integers(1 << 31, 1 << 32, LANES, np.uint32) | np.uint32(1)
"""Of the hash: an odd number for each lane."""
TRIAL = 4096
"""Requests after which it is given up if few of them are alike."""
MOST = 1 << 15
"""Different requests of a chunk beyond which it is given up: more do not fit the caches."""


class Kinds(NamedTuple):
    """The (site, op, width) of a trace, and for each request which of them it is (−1: no lane is active)."""

    keys: list[Key]
    of: npt.NDArray[np.int32]


@outer
def _kinds(
    sites: Integers, ops: Integers, widths: Integers, masks: Integers, heads: Integers, room: Integers, out: Integers
) -> Integer:
    """How many kinds there are, each with its (site, op and width, next kind of the site) in `room`; −1: too many."""
    used = 0
    for row in range(len(sites)):
        if not masks[row]:
            out[row] = -1
            continue
        site = np.uint32(sites[row])
        what = np.int32(ops[row]) << np.int32(8) | np.int32(widths[row])
        kind = heads[site]
        while kind >= 0 and room[np.uint32(kind), 1] != what:
            kind = room[np.uint32(kind), 2]
        if kind < 0:
            if used == len(room):
                return -1
            kind = np.int32(used)
            room[used, 0], room[used, 1], room[used, 2] = site, what, heads[site]
            heads[site] = kind
            used += 1
        out[row] = kind
    return used


@inlined
def _base(addresses: Integers, row: Integer, active: Integer, keep: Integer) -> Integer:
    """The place that the addresses of a request are counted from: the period that its first lane is in."""
    for lane in range(LANES):
        if active >> word(lane) & word(1):
            return word(addresses[row, lane] & keep)
    return word(0)


@outer
def _alike(
    addresses: Integers,
    masks: Integers,
    ops: Integers,
    kinds: Integers,
    blocks: Integers,
    warps: Integers,
    read: Integers,
    factors: Integers,
    keep: Integers,
    slots: Integers,
    firsts: Integers,
    times: Integers,
    seen: Integers,
) -> Integer:
    """The first request by (block, warp, order) of all that are alike, and how many they are, to `firsts` and `times`;
    the number of these.

    0 where few requests are alike, so that there is nothing to gain. Room: `slots`, twice as many and all −1; `seen`
    (hashes, bases).
    """
    rows, size = len(masks), len(slots)
    hashes, bases = seen[0], seen[1]
    used = tried = 0
    for row in range(rows):
        if kinds[row] < 0:
            continue
        tried += 1
        if used == MOST or (tried == TRIAL and used > TRIAL // 2):
            return 0
        active = word(masks[row] & read[ops[row]])
        base = _base(addresses, row, active, keep[ops[row]])
        total = word(0)
        if active == word(FULL_MASK):
            for lane in range(LANES):
                total = word(total + word(word(addresses[row, lane] - base) * factors[lane]))
        else:
            for lane in range(LANES):
                if active >> word(lane) & word(1):
                    total = word(total + word(word(addresses[row, lane] - base) * factors[lane]))
        total = word(total + word(masks[row] * word(0x9E3779B1)) + word(word(kinds[row]) * word(0x85EBCA77)))
        total = word(word(total ^ (total >> word(15))) * word(0x2C1B3C6D))
        slot = np.int64(total ^ (total >> word(13))) & (size - 1)
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = used
                firsts[used], times[used], hashes[used], bases[used] = row, 1, total, base
                used += 1
                break
            other = firsts[entry]
            if hashes[entry] == total and masks[other] == masks[row] and kinds[other] == kinds[row]:
                differs, shift = word(0), word(base - bases[entry])
                if active == word(FULL_MASK):
                    for lane in range(LANES):
                        differs |= word(word(addresses[row, lane] - addresses[other, lane]) ^ shift)
                else:
                    for lane in range(LANES):
                        if active >> word(lane) & word(1):
                            differs |= word(word(addresses[row, lane] - addresses[other, lane]) ^ shift)
                if not differs:
                    times[entry] += 1
                    if blocks[row] < blocks[other] or (blocks[row] == blocks[other] and warps[row] < warps[other]):
                        firsts[entry], bases[entry] = row, base
                    break
            slot = (slot + 1) & (size - 1)
    return used


@outer
def _tally(
    columns: Integers,
    kinds: Integers,
    rows: Integers,
    times: Integers,
    table: Integers,
    rule: Integers,
    entries: Integers,
) -> None:
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    blocks, warps = unpacked(columns, BLOCK), unpacked(columns, WARP)
    rules = pointer(rule.ctypes.data)
    room = room_for_sixteen()
    for start in range(0, len(rows), REQUESTS):
        found, record = judge_rows(columns, rows, start, len(rows), table, room)
        for k in range(min(REQUESTS, len(rows) - start)):
            row = rows[start + k]
            low: Integer
            high: Integer
            ideal: Integer
            degree_low: Integer
            degree: Integer
            low = high = np.int64(found[TRANSACTIONS, k])
            ideal, degree = np.int64(found[IDEAL, k]), np.int64(found[DEGREE, k])
            degree_low = degree
            if record[k] >= ELSEWHERE:
                address, op, width = row_of(addresses, row), byte_at(ops, row), byte_at(widths, row)
                low, high, ideal, degree_low, degree = judge_at(address, word_at(masks, row), op, width, rules)
            place = place_of(word_at(blocks, row), word_at(warps, row))
            add(entries, kinds[row], times[start + k], low, high, ideal, degree_low, degree, place, row)


def kinds_of(trace: Trace) -> Kinds:
    out = np.empty(len(trace), np.int32)
    used: Integer
    site, op, width, mask = map(np.ascontiguousarray, (trace.site, trace.op, trace.width, trace.mask))
    size = 64
    used = -1
    while used < 0:
        heads, room = np.full(len(trace.sites), -1, np.int32), np.empty((size, 3), np.int32)
        used = _kinds(site, op, width, mask, heads, room, out)
        size *= 8
    return Kinds([(site, what >> 8, what & 255) for site, what, _ in room[:used].tolist()], out)


def alike(trace: Trace, kinds: Kinds, period: int) -> tuple[Rows, Rows] | None:
    """Of requests that are alike the first by (block, warp, order), and how many they are.

    None where so few are alike that it would gain nothing. `period`: see `Architecture.period`.
    """
    address, mask, op = map(np.ascontiguousarray, (trace.address, trace.mask, trace.op))
    block, warp = map(np.ascontiguousarray, (trace.block, trace.warp))
    period_of = {name: max(period, LINE) for name in (*COPIES, *BY_LINES)}
    seen_of = dict.fromkeys(COPIES, DESTINATION)
    keep = np.array([seen_of.get(n, FULL_MASK) & -period_of.get(n, period) for n in OPS], np.uint32)
    slots, seen = np.full(2 * MOST, -1, np.int32), np.empty((2, MOST), np.uint32)
    rows, times = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    used: Integer = _alike(address, mask, op, kinds.of, block, warp, READ, FACTORS, keep, slots, rows, times, seen)
    rows, times = rows[:used], times[:used]
    return (rows, times) if len(rows) or not (kinds.of >= 0).any() else None


def tally_alike(trace: Trace, kinds: Kinds, rows: Rows, times: Rows, arch: Architecture) -> dict[Key, Tally]:
    """What the requests of `rows` cost if each comes `times` times; as `site_sums.tally`."""
    entries = np.zeros((len(kinds.keys), ENTRY), np.int64)
    entries[:, EXCESS], entries[:, PLACE] = NO_EXCESS, np.iinfo(np.int64).max
    columns, _held = places((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block, trace.warp))
    _tally(columns, kinds.of, rows, times, records(arch), rule_words(arch), entries)
    return {key: summed([entry]) for key, entry in zip(kinds.keys, entries.tolist(), strict=True)}
