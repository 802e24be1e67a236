"""The compiled rule over whole arrays, on all cores: a count for each request.

Work goes in chunks, and within them sixteen requests at a time.
"""

from __future__ import annotations

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.one_request import judge_at
from banksim.banks.compiled.rule_words import UNKNOWN, rule_words
from banksim.banks.compiled.sixteen_requests import (
    AHEAD,
    ELSEWHERE,
    FIGURES,
    IDEAL,
    REQUESTS,
    TRANSACTIONS,
    UNION,
    WIDEST,
    fetch,
    judge_sixteen,
    records,
)
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
from banksim.requests.lane_intrinsics import having, pointer, room, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import carray, inlined, outer

NO_ORDER = np.empty(0, np.int64)
room_for_sixteen = room((4 + FIGURES) * REQUESTS)


@inlined
def judge_rows(
    columns: Integers, order: Integers, first: Integer, last: Integer, table: Integers, place: Place
) -> tuple[Integers, Integers]:
    """Judge the requests from `first` on, `REQUESTS` of them or what is left before `last`; `order` is empty, or says
    which row of the columns is the first, the second, and so on.

    Returns their figures (`FIGURES`, `REQUESTS`) and their records: those from `ELSEWHERE` on have no figures yet, but
    for `UNION`. `table` is what `sixteen_requests.records` gives; `place` is `room_for_sixteen()` of the caller,
    because what a function has on the stack ends with it.
    """
    at = carray(place, 4 * REQUESTS, np.uint32).ctypes.data
    rows, masks = pointer(np.uint64(at)), pointer(np.uint64(at + 8 * REQUESTS))
    kinds, figures = pointer(np.uint64(at + 12 * REQUESTS)), pointer(np.uint64(at + 16 * REQUESTS))
    row_at, mask_at = carray(rows, REQUESTS, np.uint64), carray(masks, REQUESTS, np.uint32)
    kind_at = carray(kinds, REQUESTS, np.uint32)
    addresses, mask = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    count = min(REQUESTS, last - first)
    for k in range(count):
        row: Integer = int(order[first + k]) if len(order) else first + k
        row_at[k] = np.uint64(addresses[0] + row * addresses[1])
        mask_at[k] = word_at(mask, row)
        kind_at[k] = table[np.uint32(byte_at(ops, row)) * np.uint32(WIDEST) + np.uint32(byte_at(widths, row))]
        if not len(order):
            for half in range(2):
                fetch(pointer(np.uint64(addresses[0] + (row + AHEAD) * addresses[1] + 64 * half)))
    for k in range(count, REQUESTS):
        row_at[k], mask_at[k], kind_at[k] = row_at[0], 0, kind_at[0]
    judge_sixteen(rows, masks, kinds, table[len(table) - 1], figures)
    return carray(figures, (FIGURES, REQUESTS), np.uint32), kind_at


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
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    rules, both = pointer(rule.ctypes.data), len(high_out) > 0
    place = room_for_sixteen()
    for first in range(0, rows, REQUESTS):
        found, kind = judge_rows(columns, NO_ORDER, first, rows, table, place)
        for k in range(min(REQUESTS, rows - first)):
            row = first + k
            low: Integer
            high: Integer
            ideal: Integer
            low = high = np.int64(found[TRANSACTIONS, k])
            ideal = np.int64(found[IDEAL, k])
            if kind[k] >= ELSEWHERE:
                address, mask = row_of(addresses, row), word_at(masks, row)
                low, high, ideal, _, _ = judge_at(address, mask, byte_at(ops, row), byte_at(widths, row), rules)
                if low == UNKNOWN:
                    return row
            odd = word(byte_at(widths, row) - 1)
            lanes = word_at(masks, row) & read[byte_at(ops, row)]
            if found[UNION, k] & odd and having(row_of(addresses, row), odd) & lanes:
                return row
            low_out[row] = ideal if ideals else low
            if both:
                high_out[row] = high
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
