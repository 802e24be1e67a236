"""The compiled rule over whole arrays, on all cores: a count for each request.

Work goes in chunks, and within them `REQUESTS` at a time.
"""

from __future__ import annotations

import numpy as np

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
from banksim.banks.compiled.rule_words import UNKNOWN, rule_words
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
from banksim.requests.kinds import FULL_MASK
from banksim.requests.lane_intrinsics import fetch, having, pointer, room, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import carray, inlined, outer

room_for_many = room((4 + FIGURES) * REQUESTS + LANES)


@inlined
def judge_rows(
    columns: Integers, first: Integer, last: Integer, table: Integers, rules: Place, place: Place
) -> tuple[Integers, Integers, Integers, Integer]:
    """Judge the requests from `first` on, `REQUESTS` of them or what is left before `last`.

    Returns their sums (`REQUESTS`, `SUMS`), `UNKNOWN` transactions where nobody knows them; their degrees (`REQUESTS`,
    `DEGREES`); the lanes of each that are active; and bits that hold all those of their addresses. `table` is what
    `many_requests.records` gives, `rules` what `rule_words` gives; `place` is `room_for_many()` of the caller, because
    what a function has on the stack ends with it.
    """
    at = carray(place, 4 * REQUESTS, np.uint32).ctypes.data
    rows, masks = pointer(np.uint64(at)), pointer(np.uint64(at + 8 * REQUESTS))
    kinds, figures = pointer(np.uint64(at + 12 * REQUESTS)), pointer(np.uint64(at + 16 * REQUESTS))
    nothing = np.uint64(at + (16 + 4 * FIGURES) * REQUESTS)
    row_at, mask_at = carray(rows, REQUESTS, np.uint64), carray(masks, REQUESTS, np.uint32)
    kind_at, sums = carray(kinds, REQUESTS, np.uint32), carray(figures, (REQUESTS, SUMS), np.int32)
    degrees = carray(pointer(np.uint64(at + (16 + 4 * SUMS) * REQUESTS)), (REQUESTS, DEGREES), np.int32)
    addresses, mask = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    count = min(REQUESTS, last - first)
    carray(pointer(nothing), LANES, np.uint32)[:] = 0
    elsewhere = False
    for k in range(count):
        row: Integer = first + k
        row_at[k] = np.uint64(addresses[0] + row * addresses[1])
        mask_at[k] = word_at(mask, row)
        kind_at[k] = table[np.uint32(byte_at(ops, row)) * np.uint32(WIDEST) + np.uint32(byte_at(widths, row))]
        if kind_at[k] >= ELSEWHERE:
            row_at[k], elsewhere = nothing, True
    for k in range(count, REQUESTS):
        row_at[k], mask_at[k], kind_at[k] = nothing, FULL_MASK, PLAIN
    union = judge_together(rows, masks, kinds, table[len(table) - 1], figures)
    large = union >> np.uint32(LARGEST)
    if large or elsewhere:
        for k in range(count):
            if large or kind_at[k] >= ELSEWHERE:
                op, width = byte_at(ops, first + k), byte_at(widths, first + k)
                low, high, ideal, degree_low, degree = judge_at(
                    row_of(addresses, first + k), mask_at[k], op, width, rules
                )
                sums[k, COUNT], sums[k, LOW], sums[k, HIGH], sums[k, IDEAL] = 1, low, high, ideal
                degrees[k, 0], degrees[k, 1] = degree_low, degree
        union = ALL
    return sums, degrees, mask_at, word(union)


@inlined
def fetch_ahead(addresses: tuple[Integer, Integer], row: Integer) -> None:
    """Fetch from memory a request that is judged with the next ones. So far the processor does not look ahead."""
    for half in range(2):
        fetch(pointer(np.uint64(addresses[0] + (row + REQUESTS) * addresses[1] + 64 * half)))


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
        sums, _, mask, union = judge_rows(columns, first, rows, table, rules, place)
        for k in range(min(REQUESTS, rows - first)):
            row = first + k
            fetch_ahead(addresses, row)
            if sums[k, LOW] == UNKNOWN:
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
