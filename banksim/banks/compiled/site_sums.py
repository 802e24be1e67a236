"""What the requests of a trace cost by site, op and width: one pass over them, on all cores. Needs numba.

Every thread takes long stretches of the trace, each with a table of its own, so that nothing is shared; what the tables
hold is added up in the order of the stretches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.arrays import NO_ORDER, judge_rows, room_for_sixteen
from banksim.banks.compiled.one_request import judge_at, rule_words
from banksim.banks.compiled.sixteen_requests import DEGREE, ELSEWHERE, IDEAL, REQUESTS, TRANSACTIONS, records
from banksim.banks.conflicts import Tally
from banksim.requests.columns import (
    ADDRESS,
    BLOCK,
    MASK,
    OP,
    SITE,
    WARP,
    WIDTH,
    Ints,
    byte_at,
    cores,
    places,
    row_of,
    spread,
    unpacked,
    word_at,
)
from banksim.requests.lane_intrinsics import pointer
from banksim.requests.trace import Trace
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined, outer

Key = tuple[int, int, int]
"""Number of the site, code of the op, width."""
SITE_OF, KIND, NEXT, FIRST, FIRST_WARPS, LAST, LAST_WARPS, WARPS, FIGURES = range(9)
"""What is noted of each key: site; op and width; the entry of the site's next key; the first block and the last, which
of its first 64 warps came there, and how many warps came in all …"""
COUNT, LOW, HIGH, IDEALS, DEGREE_LOW, DEGREE_HIGH, EXCESS, PLACE, WORST, ENTRY = range(FIGURES, FIGURES + 10)
"""… and its figures; of the worst request the excess, block and warp, and row."""
STRETCHES = 8
"""Stretches of a trace for each core: enough for cores to end at the same time."""
NO_EXCESS = -2
"""Below that of an unknown count, which is −1."""


@inlined
def kind_of(op: Integer, width: Integer) -> Integer:
    return np.int64(op) << np.int64(8) | np.int64(width)


@inlined
def place_of(block: Integer, warp: Integer) -> Integer:
    """A number by which warps are in the order of (block, warp)."""
    return np.int64(block) << np.int64(32) | np.int64(warp)


@inlined
def entry_of(site: Integer, kind: Integer, heads: Integers, entries: Integers) -> Integer:
    """The number of an entry, or −1."""
    entry = heads[site]
    while entry >= 0 and entries[entry, KIND] != kind:
        entry = entries[entry, NEXT]
    return entry


@inlined
def begin(entries: Integers, n: Integer, place: Integer, row: Integer) -> None:
    """Set the figures of entry n to those of no request; the first to come is that of `row`."""
    entries[n, FIGURES:] = 0
    entries[n, EXCESS], entries[n, PLACE], entries[n, WORST] = NO_EXCESS, place, row


@inlined
def add(
    entries: Integers, n: Integer, times: Integer, low: Integer, high: Integer, ideal: Integer,
    degree_low: Integer, degree_high: Integer, place: Integer, row: Integer,
) -> None:  # fmt: skip
    """Add a request that comes `times` times to the figures of entry n."""
    entries[n, COUNT] += times
    entries[n, LOW] += low * times
    entries[n, HIGH] += high * times
    entries[n, IDEALS] += ideal * times
    entries[n, DEGREE_LOW] = max(entries[n, DEGREE_LOW], degree_low)
    entries[n, DEGREE_HIGH] = max(entries[n, DEGREE_HIGH], degree_high)
    excess, most, first = high - ideal, entries[n, EXCESS], entries[n, PLACE]
    earlier = place < first or (place == first and row < entries[n, WORST])
    if excess > most or (excess == most and earlier):
        entries[n, EXCESS], entries[n, PLACE], entries[n, WORST] = excess, place, row


@inlined
def note_warp(entries: Integers, n: Integer, block: Integer, warp: Integer) -> None:
    """Count the warp for entry n if it is new in the last block that came."""
    bit = np.int64(1) << np.int64(warp & 63)
    if entries[n, LAST] != block:
        entries[n, LAST], entries[n, LAST_WARPS] = block, 0
    if not entries[n, LAST_WARPS] & bit:
        entries[n, LAST_WARPS] |= bit
        entries[n, WARPS] += 1
        if entries[n, FIRST] == block:
            entries[n, FIRST_WARPS] |= bit


@outer
def _tally(
    columns: Integers,
    first: Integer,
    last: Integer,
    table: Integers,
    rule: Integers,
    used: Integer,
    before: Integer,
    heads: Integers,
    entries: Integers,
) -> tuple[Integer, Integer, Integer, bool | np.bool]:
    """Add the rows to the entries of their keys; `before` is the block of the row before.

    Returns (row reached, entries used, block reached, whether warps are counted right: blocks come in order and have at
    most 64). Stops early when `entries` is nearly full.
    """
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths, sites = unpacked(columns, OP), unpacked(columns, WIDTH), unpacked(columns, SITE)
    blocks, warps = unpacked(columns, BLOCK), unpacked(columns, WARP)
    rules = pointer(rule.ctypes.data)
    ordered: bool | np.bool = True
    room = room_for_sixteen()
    for start in range(first, last, REQUESTS):
        if used + REQUESTS > len(entries):
            return start, used, before, ordered
        found, record = judge_rows(columns, NO_ORDER, start, last, table, room)
        for k in range(min(REQUESTS, last - start)):
            row = start + k
            mask, op, width, site = word_at(masks, row), byte_at(ops, row), byte_at(widths, row), word_at(sites, row)
            if not mask:
                continue
            block, warp = np.int64(word_at(blocks, row)), word_at(warps, row)
            ordered &= block >= before and warp < 64
            before = block
            place, kind = place_of(block, warp), kind_of(op, width)
            n = entry_of(site, kind, heads, entries)
            if n < 0:
                n, used = used, used + 1
                entries[n, SITE_OF], entries[n, KIND], entries[n, NEXT], heads[site] = site, kind, heads[site], n
                entries[n, FIRST], entries[n, FIRST_WARPS] = block, 0
                entries[n, LAST], entries[n, LAST_WARPS], entries[n, WARPS] = block, 0, 0
                begin(entries, n, place, row)
            note_warp(entries, n, block, warp)
            low: Integer
            high: Integer
            ideal: Integer
            degree_low: Integer
            degree: Integer
            low = high = np.int64(found[TRANSACTIONS, k])
            ideal, degree = np.int64(found[IDEAL, k]), np.int64(found[DEGREE, k])
            degree_low = degree
            if record[k] >= ELSEWHERE:
                low, high, ideal, degree_low, degree = judge_at(row_of(addresses, row), mask, op, width, rules)
            add(entries, n, 1, low, high, ideal, degree_low, degree, place, row)
    return last, used, before, ordered


@outer
def _count_warps(columns: Integers, rows: Integer, heads: Integers, entries: Integers, seen: Integers) -> bool:
    """Count the warps of each entry, in any order of rows. `seen`, (slots, 2) of zeros, is a hash table of what
    was counted: entry + 1, and block and warp; False if it fills up."""
    masks, ops, widths = unpacked(columns, MASK), unpacked(columns, OP), unpacked(columns, WIDTH)
    sites, blocks, warps = unpacked(columns, SITE), unpacked(columns, BLOCK), unpacked(columns, WARP)
    last, room = np.uint64(len(seen) - 1), len(seen) // 2
    for row in range(rows):
        if not word_at(masks, row):
            continue
        entry = entry_of(word_at(sites, row), kind_of(byte_at(ops, row), byte_at(widths, row)), heads, entries)
        warp = place_of(word_at(blocks, row), word_at(warps, row))
        mixed = np.uint64(warp + entry * 0x5851F42D4C957F2D) * np.uint64(0x9E3779B97F4A7C15)
        slot = (mixed >> np.uint64(32)) & last
        while seen[slot, 0] and (seen[slot, 0] != entry + 1 or seen[slot, 1] != warp):
            slot = (slot + np.uint64(1)) & last
        if not seen[slot, 0]:
            if not room:
                return False
            room -= 1
            seen[slot, 0], seen[slot, 1] = entry + 1, warp
            entries[entry, WARPS] += 1
    return True


def recounted_warps(columns: Ints, rows: int, keys: Sequence[Key], sites: int) -> list[int]:
    """The warps of each key where blocks come in no order, or have many warps."""
    heads, entries = np.full(sites, -1, np.int64), np.zeros((len(keys), ENTRY), np.int64)
    for number, (site, op, width) in enumerate(keys):
        entries[number, : NEXT + 1] = site, kind_of(op, width), heads[site]
        heads[site] = number
    slots = 1 << 16
    while not _count_warps(columns, rows, heads, entries, np.zeros((slots, 2), np.int64)):
        slots *= 4
        entries[:, WARPS] = 0
    found: list[int] = entries[:, WARPS].tolist()
    return found


@dataclass(frozen=True)
class Stretch:
    """What one stretch of a trace cost: the entry of each key. `ordered`: its warps are counted right."""

    entries: Ints
    ordered: bool


def tally(trace: Trace, arch: Architecture, workers: int = 0) -> dict[Key, Tally]:
    """By (site, op, width), in this order, what the requests of a trace cost. `workers`: threads, 0 for all cores."""
    table, rule, n = records(arch), rule_words(arch), len(trace)
    columns, _held = places((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block, trace.warp))

    def work(first: int, last: int) -> Stretch:
        heads = np.full(len(trace.sites), -1, np.int64)
        entries = np.empty((max(64, len(heads) + REQUESTS), ENTRY), np.int64)
        used: Integer = 0
        block: Integer = 0
        ordered = True
        while first < last:
            reached, used, block, right = _tally(columns, first, last, table, rule, used, block, heads, entries)
            first = int(reached)
            ordered = ordered and bool(right)
            if first < last:
                entries = np.concatenate([entries, np.empty_like(entries)])
        return Stretch(entries[:used], ordered)

    stretches = spread(work, n, STRETCHES * (workers or cores()), workers)
    found = total(stretches)
    blocks = [(part.entries[:, FIRST].min(), part.entries[:, LAST].max()) for part in stretches if len(part.entries)]
    in_order = all(before[1] <= after[0] for before, after in pairwise(blocks))
    if all(part.ordered for part in stretches) and in_order:
        return found
    warps = recounted_warps(columns, n, list(found), len(trace.sites))
    return {key: one._replace(warps=count) for (key, one), count in zip(found.items(), warps, strict=True)}


def total(stretches: Sequence[Stretch]) -> dict[Key, Tally]:
    """The sum of what stretches of a trace cost, which come in its order. Warps are those of blocks in order."""
    of_key: dict[Key, list[list[int]]] = {}
    for part in stretches:
        for entry in part.entries.tolist():
            of_key.setdefault((entry[SITE_OF], entry[KIND] >> 8, entry[KIND] & 255), []).append(entry)
    return {key: summed(of_key[key])._replace(warps=warps_of(of_key[key])) for key in sorted(of_key)}


def summed(entries: Sequence[Sequence[int]]) -> Tally:
    """The figures of several entries; no warps."""
    columns = [list(column) for column in zip(*entries, strict=True)]
    less, _, worst = min((-entry[EXCESS], entry[PLACE], entry[WORST]) for entry in entries)
    return Tally(
        requests=sum(columns[COUNT]),
        low=sum(columns[LOW]),
        high=sum(columns[HIGH]),
        ideal=sum(columns[IDEALS]),
        degree_low=max(columns[DEGREE_LOW]),
        degree_high=max(columns[DEGREE_HIGH]),
        warps=0,
        worst=worst,
        excess=-less,
    )


def warps_of(entries: Sequence[Sequence[int]]) -> int:
    """Warps that came in stretches, of which one may begin in the block in which another ended."""
    warps, block, seen = 0, -1, 0
    for entry in entries:
        again = seen & entry[FIRST_WARPS] if entry[FIRST] == block else 0
        warps += entry[WARPS] - (again & (1 << 64) - 1).bit_count()
        seen = entry[LAST_WARPS] | (seen if entry[LAST] == block else 0)
        block = entry[LAST]
    return warps
