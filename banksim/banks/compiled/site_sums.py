"""What the requests of a trace cost by site, op and width: one pass over them, on all cores. Needs numba.

Every thread takes long stretches of the trace, each with a table of its own, so that nothing is shared; what the tables
hold is added up in the order of the stretches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.arrays import fetch_ahead, judge_rows, room_for_many
from banksim.banks.compiled.many_requests import REQUESTS, records
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.conflicts import Tally
from banksim.requests.columns import (
    ADDRESS,
    BLOCK,
    OP,
    SITE,
    TIMES,
    WARP,
    WIDTH,
    Ints,
    byte_at,
    places,
    spread,
    unpacked,
    word_at,
)
from banksim.requests.lane_intrinsics import pointer
from banksim.requests.trace import Trace
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined, outer
from banksim.system.processes import cores

Key = tuple[int, int, int]
"""Number of the site, code of the op, width."""
SITE_OF, KIND, NEXT, FIRST = range(4)
"""What is noted of each key: site; op and width; the entry of the site's next key …"""
REQUEST, LOW, HIGH, IDEALS, DEGREE_LOW, DEGREE_HIGH, EXCESS, PLACE, WORST, ENTRY = range(FIRST, FIRST + 10)
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
def at(entries: Integers, n: Integer) -> Integers:
    """Entry n."""
    return carray(pointer(np.uint64(entries.ctypes.data) + np.uint64(n) * np.uint64(8 * ENTRY)), ENTRY, np.int64)


@inlined
def entry_of(site: Integer, kind: Integer, heads: Integers, entries: Integers) -> Integer:
    """The number of the entry of a site and kind, or −1."""
    n = heads[site]
    while n >= 0 and at(entries, n)[KIND] != kind:
        n = at(entries, n)[NEXT]
    return n


@outer
def _tally(
    columns: Integers,
    first: Integer,
    last: Integer,
    table: Integers,
    rule: Integers,
    used: Integer,
    heads: Integers,
    entries: Integers,
) -> tuple[Integer, Integer]:
    """Add the rows to the entries of their keys. Returns where it came to and the entries used: it stops early when
    `entries` is nearly full."""
    addresses = unpacked(columns, ADDRESS)
    ops, widths, sites = unpacked(columns, OP), unpacked(columns, WIDTH), unpacked(columns, SITE)
    blocks, warps, times = unpacked(columns, BLOCK), unpacked(columns, WARP), unpacked(columns, TIMES)
    rules, room = pointer(rule.ctypes.data), room_for_many()
    for start in range(first, last, REQUESTS):
        if used + REQUESTS > len(entries):
            return start, used
        sums, degrees, mask, _ = judge_rows(columns, start, last, table, rules, room)
        for k in range(min(REQUESTS, last - start)):
            row = start + k
            fetch_ahead(addresses, row)
            if not mask[k]:
                continue
            site, kind = word_at(sites, row), kind_of(byte_at(ops, row), byte_at(widths, row))
            n = entry_of(site, kind, heads, entries)
            if n < 0:
                n, used = used, used + 1
                entry = at(entries, n)
                entry[:] = 0
                entry[SITE_OF], entry[KIND], entry[NEXT], heads[site] = site, kind, heads[site], n
                entry[EXCESS] = NO_EXCESS
            entry = at(entries, n)
            often = np.int64(word_at(times, row))
            # All is read before anything is written, so that LLVM makes vectors of it.
            count, low, high, ideal = sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3]
            a, b, c, d = entry[REQUEST], entry[LOW], entry[HIGH], entry[IDEALS]
            entry[REQUEST], entry[LOW] = a + np.int64(count) * often, b + np.int64(low) * often
            entry[HIGH], entry[IDEALS] = c + np.int64(high) * often, d + np.int64(ideal) * often
            least, most = np.int64(degrees[k, 0]), np.int64(degrees[k, 1])
            least, most = max(least, entry[DEGREE_LOW]), max(most, entry[DEGREE_HIGH])
            entry[DEGREE_LOW], entry[DEGREE_HIGH] = least, most
            excess = np.int64(high) - np.int64(ideal)
            if excess >= entry[EXCESS]:
                place = place_of(word_at(blocks, row), word_at(warps, row))
                if excess > entry[EXCESS] or place < entry[PLACE]:
                    entry[EXCESS], entry[PLACE], entry[WORST] = excess, place, row
    return last, used


def tally(trace: Trace, arch: Architecture, workers: int = 0, times: Ints | None = None) -> dict[Key, Tally]:
    """By (site, op, width), in this order, what the requests of a trace cost, if each comes so many `times`. `workers`:
    threads, 0 for all cores."""
    table, rule, n = records(arch), rule_words(arch), len(trace)
    often = np.broadcast_to(1, n) if times is None else times
    columns, _held = places(
        (trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block, trace.warp, often)
    )

    def work(first: int, last: int) -> Ints:
        heads = np.full(len(trace.sites), -1, np.int64)
        entries = np.empty((max(64, len(heads) + REQUESTS), ENTRY), np.int64)
        used: Integer = 0
        while first < last:
            reached, used = _tally(columns, first, last, table, rule, used, heads, entries)
            first = int(reached)
            if first < last:
                entries = np.concatenate([entries, np.empty_like(entries)])
        return entries[:used]

    of_key: dict[Key, list[list[int]]] = {}
    for entries in spread(work, n, STRETCHES * (workers or cores()), workers):
        for entry in entries.tolist():
            of_key.setdefault((entry[SITE_OF], entry[KIND] >> 8, entry[KIND] & 255), []).append(entry)
    return {key: summed(of_key[key]) for key in sorted(of_key)}


def summed(entries: Sequence[Sequence[int]]) -> Tally:
    """The figures of several entries together."""
    columns = [list(column) for column in zip(*entries, strict=True)]
    less, _, worst = min((-entry[EXCESS], entry[PLACE], entry[WORST]) for entry in entries)
    return Tally(
        requests=sum(columns[REQUEST]),
        low=sum(columns[LOW]),
        high=sum(columns[HIGH]),
        ideal=sum(columns[IDEALS]),
        degree_low=max(columns[DEGREE_LOW]),
        degree_high=max(columns[DEGREE_HIGH]),
        worst=worst,
        excess=-less,
    )
