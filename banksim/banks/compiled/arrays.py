"""The compiled rule over whole arrays, on all cores: a count for each request.

Work goes in chunks, and within them `REQUESTS` at a time.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.many_requests import (
    ALL,
    COUNT,
    DEGREES,
    ELSEWHERE,
    FIGURES,
    HIGH,
    IDEAL,
    LANES,
    LARGEST,
    LOW,
    PLAIN,
    REQUESTS,
    SUMS,
    WIDEST,
    judge_together,
    records,
)
from banksim.banks.compiled.one_request import judge_at
from banksim.banks.compiled.rule_words import rule_words
from banksim.requests.checks import request_columns
from banksim.requests.columns import (  # fmt: skip
    ADDRESS,
    MASK,
    OP,
    READ,
    WIDTH,
    Column,
    Ints,
    byte_at,
    places,
    row_of,
    spread,
    unpacked,
    word_at,
)
from banksim.requests.copies import period_of
from banksim.requests.kinds import COPIES, DESTINATION, FULL_MASK, OPS
from banksim.requests.lane_intrinsics import all_alike, fetch, having, lowest, moved_otherwise, pointer, room, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import carray, inlined, outer

AHEAD = 4 * REQUESTS
"""How many requests behind those that are judged others are fetched."""
room_for_many = room((5 + FIGURES) * REQUESTS + LANES)
"""What `judge_rows` works in."""


@inlined
def kind_of(op: Integer, width: Integer) -> Integer:
    """The number of an op and width, and of their record in a table."""
    return np.uint32(op) * np.uint32(WIDEST) + np.uint32(width)


@lru_cache
def moves_of(period: int) -> npt.NDArray[np.uint32]:
    """By op the bits of addresses by which a request may be moved, and no count changes."""
    places = dict.fromkeys(COPIES, DESTINATION)
    return np.array([places.get(op, FULL_MASK) & -period_of(op, period) for op in OPS], np.uint32)


@inlined
def are_alike(address: Place, other: Place, active: Integer, keep: Integer) -> bool:
    """Whether the active lanes' addresses differ from the other's by one distance, which has only bits of `keep`."""
    if not active:
        return True
    lane = lowest(active)
    here, there = carray(address, LANES, np.uint32), carray(other, LANES, np.uint32)
    return not moved_otherwise(address, other, word((here[lane] & keep) - (there[lane] & keep))) & active


@inlined
def judge_rows(
    columns: Integers, first: Integer, last: Integer, table: Integers, rules: Place, place: Place
) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers, Integer]:
    """Judge the requests from `first` on, `REQUESTS` of them or what is left before `last`.

    Returns the places of their addresses; their sums (`REQUESTS`, `SUMS`); their degrees (`REQUESTS`, `DEGREES`); the
    excess of each, −1 where nobody knows its transactions; the lanes of each that are active; its kind; and bits that
    hold all those of their addresses. `table` is what `many_requests.records` gives, `rules` what `rule_words` gives;
    `place` is `room_for_many()` of the caller, because what a function has on the stack ends with it.
    """
    at = carray(place, 4 * REQUESTS, np.uint32).ctypes.data
    rows, masks = pointer(np.uint64(at)), pointer(np.uint64(at + 8 * REQUESTS))
    known, figures = pointer(np.uint64(at + 16 * REQUESTS)), pointer(np.uint64(at + 20 * REQUESTS))
    nothing = np.uint64(at + (20 + 4 * FIGURES) * REQUESTS)
    kinds = carray(pointer(np.uint64(at + 12 * REQUESTS)), REQUESTS, np.uint32)
    row_at, record_at = carray(rows, REQUESTS, np.uint64), carray(known, REQUESTS, np.uint32)
    sums = carray(figures, (REQUESTS, SUMS), np.uint32)
    degrees = carray(pointer(np.uint64(at + (20 + 4 * SUMS) * REQUESTS)), (REQUESTS, DEGREES), np.int32)
    excess = carray(pointer(np.uint64(at + (16 + 4 * FIGURES) * REQUESTS)), REQUESTS, np.int32)
    addresses, mask = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    count = min(REQUESTS, last - first)
    for k in range(REQUESTS):
        row_at[k] = np.uint64(addresses[0] + (first + k) * addresses[1])
    if count == REQUESTS:
        masks = row_of(mask, first)
    else:
        given = carray(masks, REQUESTS, np.uint32)
        for k in range(count):
            given[k] = word_at(mask, first + k)
    mask_at = carray(masks, REQUESTS, np.uint32)
    if count == REQUESTS and all_alike(row_of(ops, first)) and all_alike(row_of(widths, first)):
        kinds[:] = kind_of(byte_at(ops, first), byte_at(widths, first))
        special = table[kinds[0]]
        record_at[:] = special
    else:
        special = word(0)
        for k in range(count):
            kinds[k] = kind_of(byte_at(ops, first + k), byte_at(widths, first + k))
            record_at[k] = table[kinds[k]]
            special = max(special, record_at[k])
    elsewhere = special >= ELSEWHERE
    if elsewhere or count < REQUESTS:
        carray(pointer(nothing), LANES, np.uint32)[:] = 0
        for k in range(REQUESTS):
            if k >= count:
                record_at[k] = PLAIN
            if record_at[k] >= ELSEWHERE or k >= count:
                row_at[k] = nothing
    union = judge_together(rows, masks, known, table[len(table) - 1], figures)
    large = union >> np.uint32(LARGEST)
    if large or elsewhere:
        for k in range(count):
            if large or record_at[k] >= ELSEWHERE:
                op, width = byte_at(ops, first + k), byte_at(widths, first + k)
                low, high, ideal, degree_low, degree = judge_at(
                    row_of(addresses, first + k), mask_at[k], op, width, rules
                )
                sums[k, COUNT], sums[k, LOW], sums[k, HIGH], sums[k, IDEAL] = 1, low, high, ideal
                degrees[k, 0], degrees[k, 1], excess[k] = degree_low, degree, high - ideal
        union = ALL
    return row_at, sums, degrees, excess, mask_at, kinds, word(union)


@inlined
def fetch_ahead(place: Integer, distance: Integer) -> None:
    """Prefetch the request that lies `distance` bytes behind this place: the processor itself does not look so far."""
    for half in range(2):
        fetch(pointer(np.uint64(place) + np.uint64(distance + 64 * half)))


@outer
def _count(
    columns: Integers,
    rows: Integer,
    read: Integers,
    table: Integers,
    rule: Integers,
    ideals: Integer,
    low_out: Integers,
    high_out: Integers,
) -> Integer:
    """Counts of each row; returns the first row that is misaligned or unknown, or −1."""
    addresses, ops, widths = unpacked(columns, ADDRESS), unpacked(columns, OP), unpacked(columns, WIDTH)
    rules, both = pointer(rule.ctypes.data), len(high_out) > 0
    place = room_for_many()
    for first in range(0, rows, REQUESTS):
        places, sums, _, excess, mask, _, union = judge_rows(columns, first, rows, table, rules, place)
        for k in range(min(REQUESTS, rows - first)):
            row = first + k
            fetch_ahead(places[k], AHEAD * addresses[1])
            if excess[k] < 0:
                return row
            op, odd = byte_at(ops, row), word(byte_at(widths, row) - 1)
            if union & odd and having(row_of(addresses, row), odd) & mask[k] & read[op]:
                return row
            low_out[row] = sums[k, IDEAL] if ideals else sums[k, LOW]
            if both:
                high_out[row] = sums[k, HIGH]
    return -1


def counts(
    address: Column, op: Column, width: Column, mask: Column, *, arch: Architecture, ideals: bool
) -> tuple[list[Ints], int]:
    """Counts of n requests, address (n, 32) of any integer type: [ideals], [counts], or [low, high] where the
    count is a range; and the first request that has none because it is misaligned or unknown, or −1."""
    n, table, rule = len(address), records(arch), rule_words(arch)
    both = arch.is_range and not ideals
    out = [np.empty(n, np.int64), np.empty(n if both else 0, np.int64)]

    def work(first: int, last: int) -> int:
        def chunk(column: Column) -> Column:
            return column[first:last] if column.shape == (n,) else column

        codes, widths, masks, addresses = request_columns(chunk(op), chunk(width), chunk(mask), address[first:last])
        columns, _held = places((addresses, masks, codes, widths))
        row = _count(columns, last - first, READ, table, rule, ideals, *(column[first:last] for column in out))
        return first + int(row) if row >= 0 else -1

    trouble = next((row for row in spread(work, n) if row >= 0), -1)
    return out[: 1 + both], trouble
