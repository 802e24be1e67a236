"""What the requests of a trace cost by site, op and width: one pass over them, on all cores. Needs numba.

Every thread takes long stretches of the trace, each with a table of its own, so that nothing is shared; what the tables
hold is added up in the order of the stretches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.arrays import NO_ORDER, judge_rows, room_for_sixteen
from banksim.banks.compiled.one_request import judge_at
from banksim.banks.compiled.rule_words import rule_words
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
from banksim.system.processes import cores

Key = tuple[int, int, int]
"""Number of the site, code of the op, width."""
SITE_OF, KIND, NEXT, FIGURES = range(4)
"""What is noted of each key: site; op and width; the entry of the site's next key …"""
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
    """The number of the entry of a site and kind, or −1."""
    entry = heads[site]
    while entry >= 0 and entries[entry, KIND] != kind:
        entry = entries[entry, NEXT]
    return entry


@inlined
def begin(entries: Integers, n: Integer, place: Integer, row: Integer) -> None:
    """Clear the figures of entry n, which begins with the request of `row`."""
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


@outer
def _tally(
    columns: Integers,
    order: Integers,
    times: Integers,
    first: Integer,
    last: Integer,
    table: Integers,
    rule: Integers,
    used: Integer,
    heads: Integers,
    entries: Integers,
) -> tuple[Integer, Integer]:
    """Add the rows, or those of `order` so many `times`, to the entries of their keys. Returns where it came to and the
    entries used: it stops early when `entries` is nearly full."""
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths, sites = unpacked(columns, OP), unpacked(columns, WIDTH), unpacked(columns, SITE)
    blocks, warps = unpacked(columns, BLOCK), unpacked(columns, WARP)
    rules = pointer(rule.ctypes.data)
    room = room_for_sixteen()
    for start in range(first, last, REQUESTS):
        if used + REQUESTS > len(entries):
            return start, used
        found, record = judge_rows(columns, order, start, last, table, room)
        for k in range(min(REQUESTS, last - start)):
            row: Integer = int(order[start + k]) if len(order) else start + k
            often = times[start + k] if len(order) else 1
            mask, op, width, site = word_at(masks, row), byte_at(ops, row), byte_at(widths, row), word_at(sites, row)
            if not mask:
                continue
            place, kind = place_of(word_at(blocks, row), word_at(warps, row)), kind_of(op, width)
            n = entry_of(site, kind, heads, entries)
            if n < 0:
                n, used = used, used + 1
                entries[n, SITE_OF], entries[n, KIND], entries[n, NEXT], heads[site] = site, kind, heads[site], n
                begin(entries, n, place, row)
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
            add(entries, n, often, low, high, ideal, degree_low, degree, place, row)
    return last, used


def tally(
    trace: Trace, arch: Architecture, workers: int = 0, order: Ints = NO_ORDER, times: Ints = NO_ORDER
) -> dict[Key, Tally]:
    """By (site, op, width), in this order, what the requests of a trace cost, or, if `order` names any, what these cost
    if each comes so many `times`. `workers`: threads, 0 for all cores."""
    table, rule, n = records(arch), rule_words(arch), len(order) or len(trace)
    columns, _held = places((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block, trace.warp))

    def work(first: int, last: int) -> Ints:
        heads = np.full(len(trace.sites), -1, np.int64)
        entries = np.empty((max(64, len(heads) + REQUESTS), ENTRY), np.int64)
        used: Integer = 0
        while first < last:
            reached, used = _tally(columns, order, times, first, last, table, rule, used, heads, entries)
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
        requests=sum(columns[COUNT]),
        low=sum(columns[LOW]),
        high=sum(columns[HIGH]),
        ideal=sum(columns[IDEALS]),
        degree_low=max(columns[DEGREE_LOW]),
        degree_high=max(columns[DEGREE_HIGH]),
        worst=worst,
        excess=-less,
    )
