"""The compiled rule over whole arrays, on all cores: a count for each request, or a tally for each site.

Work goes in chunks. A chunk's columns are handed to compiled code as addresses and strides, so that a column
may be any slice, or one value for all requests (stride 0), and nothing of the size of the trace is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import get_ident
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.np.numpy_support import carray

from banksim.arch import Architecture
from banksim.compiled import UNKNOWN, judge_at, rule_words, word
from banksim.conflicts import Tally
from banksim.trace import ADDRESSED, OPS, Trace, request_columns
from banksim.vectors import having, pointer

Result = TypeVar("Result")
Column = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
CHUNK = 1 << 15
"""Requests that a thread takes at a time: 4 MiB of addresses."""
ADDRESS, MASK, OP, WIDTH, SITE, BLOCK, WARP = range(7)
TYPES = (np.uint32, np.uint32, np.uint8, np.uint8, np.int32, np.int32, np.int32)
READ = np.array(ADDRESSED, np.uint32)
"""The lanes whose addresses an op reads."""


def table(columns: Iterable[Column]) -> tuple[Ints, list[Column]]:
    """(address, stride) of each column, in the order of `TYPES`, and the arrays that they point into."""
    held = [np.asarray(column, dtype) for column, dtype in zip(columns, TYPES, strict=False)]
    if held[ADDRESS].strides[1] != 4:
        held[ADDRESS] = np.ascontiguousarray(held[ADDRESS])
    return np.array([(column.ctypes.data, column.strides[0]) for column in held], np.int64), held


def spread(work: Callable[[int, int], Result], requests: int) -> list[Result]:
    """`work(first, last)` of every chunk, in order, on all cores that this process may use."""
    chunks = [(first, min(first + CHUNK, requests)) for first in range(0, requests, CHUNK)]
    if len(chunks) < 2:
        return [work(*chunk) for chunk in chunks]
    with ThreadPoolExecutor(min(len(chunks), cores())) as pool:
        return list(pool.map(lambda chunk: work(*chunk), chunks))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@njit(cache=True, forceinline=True)
def row_of(column: Any, row: Any) -> Any:
    """Where a row of a column, (address, stride), lies."""
    return pointer(np.uint64(column[0] + row * column[1]))


@njit(cache=True, forceinline=True)
def byte_at(column: Any, row: Any) -> Any:
    return carray(row_of(column, row), 1, np.uint8)[0]


@njit(cache=True, forceinline=True)
def word_at(column: Any, row: Any) -> Any:
    return carray(row_of(column, row), 1, np.uint32)[0]


@njit(cache=True, forceinline=True)
def unpacked(columns: Any, k: Any) -> Any:
    return columns[k, 0], columns[k, 1]


@njit(cache=True, nogil=True)
def _first_misaligned(columns: Any, rows: Any, read: Any) -> Any:
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    for row in range(rows):
        odd = having(row_of(addresses, row), word(byte_at(widths, row) - 1))
        if odd & word_at(masks, row) & read[byte_at(ops, row)]:
            return row
    return -1


@njit(cache=True, nogil=True)
def _count(columns: Any, rows: Any, read: Any, rule: Any, ideals: Any, low_out: Any, high_out: Any) -> Any:
    """Counts of each row; returns the first row that is misaligned or unknown, or −1."""
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    rules, both = pointer(rule.ctypes.data), len(high_out) > 0
    for row in range(rows):
        address, mask = row_of(addresses, row), word_at(masks, row)
        op, width = byte_at(ops, row), byte_at(widths, row)
        low, high, ideal, _, _ = judge_at(address, mask, op, width, rules)
        if low == UNKNOWN or having(address, word(width - 1)) & mask & read[op]:
            return row
        low_out[row] = ideal if ideals else low
        if both:
            high_out[row] = high
    return -1


def first_misaligned(address: Column, op: Column, width: Column, mask: Column) -> int:
    """The first request with an active lane whose address is no multiple of the width, or −1."""

    def work(first: int, last: int) -> int:
        columns, _held = table(column[first:last] for column in (address, mask, op, width))
        row = int(_first_misaligned(columns, last - first, READ))
        return first + row if row >= 0 else -1

    return next((row for row in spread(work, len(address)) if row >= 0), -1)


def counts(
    address: Column, op: Column, width: Column, mask: Column, *, arch: Architecture, ideals: bool
) -> tuple[list[Ints], int]:
    """Counts of n requests, address (n, 32) of any integer type: [ideals], [counts], or [low, high] where the
    count is a range; and the first request that has none because it is misaligned or unknown, or −1."""
    n, rule = len(address), rule_words(arch)
    both = arch.is_range and not ideals
    out = [np.empty(n, np.int64), np.empty(n if both else 0, np.int64)]

    def work(first: int, last: int) -> int:
        def chunk(column: Column) -> Column:
            return column[first:last] if column.shape == (n,) else column

        codes, widths, masks, addresses = request_columns(chunk(op), chunk(width), chunk(mask), address[first:last])
        columns, _held = table((addresses, masks, codes, widths))
        row = _count(columns, last - first, READ, rule, ideals, *(column[first:last] for column in out))
        return first + int(row) if row >= 0 else -1

    trouble = next((row for row in spread(work, n) if row >= 0), -1)
    return out[: 1 + both], trouble


NAMES = np.array(OPS)
KNOWN = NAMES.view(np.uint32).reshape(len(OPS), -1)
"""The letters of each op's name, filled up with zeros."""


def _hashing() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Weights of the letters with which the ops' names have different hashes, and the op of each hash."""
    for multiplier in range(3, 1000, 2):
        weights = np.array([pow(multiplier, k, 2**32) for k in range(KNOWN.shape[1])], np.uint32)
        hashes = (KNOWN * weights).sum(1, dtype=np.uint32) & np.uint32(255)
        if len(np.unique(hashes)) == len(OPS):
            break
    codes = np.full(256, len(OPS), np.uint8)
    codes[hashes] = np.arange(len(OPS))
    return weights, codes


WEIGHTS, CODES = _hashing()


@njit(cache=True, nogil=True)
def _codes(letters: Any, known: Any, weights: Any, codes: Any, out: Any) -> None:
    count = min(letters.shape[1], known.shape[1])
    for row in range(len(letters)):
        hashed = word(0)
        for k in range(count):
            hashed = word(hashed + word(letters[row, k] * weights[k]))
        code, same = codes[hashed & word(255)], True
        if code < len(known):
            for k in range(count):
                same &= letters[row, k] == known[code, k]
            for k in range(count, known.shape[1]):
                same &= known[code, k] == 0
            for k in range(count, letters.shape[1]):
                same &= letters[row, k] == 0
        out[row] = code if same else len(known)


def codes_of_names(names: npt.NDArray[np.str_]) -> npt.NDArray[np.uint8]:
    """The code of each name, shape (n,); `len(OPS)` for a name that is none."""
    letters = np.ascontiguousarray(names, names.dtype.newbyteorder("=")).view(np.uint32)
    out = np.empty(len(names), np.uint8)
    _codes(letters.reshape(len(names), -1), KNOWN, WEIGHTS, CODES, out)
    return out


SITE_OF, OP_OF, WIDTH_OF, NEXT, LAST_BLOCK, SEEN, WARPS, ENTRY = range(8)
"""What is noted of each (site, op, width): the next of the same site, and its warps in the last block."""
REQUESTS, LOW, HIGH, IDEAL, DEGREE_LOW, DEGREE_HIGH, EXCESS, WORST, FIGURES = range(9)


@njit(cache=True, forceinline=True)
def entry_of(site: Any, op: Any, width: Any, heads: Any, entries: Any) -> Any:
    """The number of an entry, or −1."""
    entry = heads[site]
    while entry >= 0 and (entries[entry, OP_OF] != op or entries[entry, WIDTH_OF] != width):
        entry = entries[entry, NEXT]
    return entry


@njit(cache=True)
def _enter(columns: Any, first: Any, rows: Any, used: Any, heads: Any, entries: Any) -> Any:
    """Make an entry for every (site, op, width), and count the warps of each, from row `first` on.

    Returns (row reached, entries used, whether the warps are right): they are if blocks come in order and
    have at most 64 warps. Stops early when `entries` is full.
    """
    masks, ops, widths = unpacked(columns, MASK), unpacked(columns, OP), unpacked(columns, WIDTH)
    sites, blocks, warps = unpacked(columns, SITE), unpacked(columns, BLOCK), unpacked(columns, WARP)
    ordered: Any = True
    block_before = np.int64(0)
    for row in range(first, rows):
        if not word_at(masks, row):
            continue
        site, op, width = word_at(sites, row), byte_at(ops, row), byte_at(widths, row)
        entry = entry_of(site, op, width, heads, entries)
        if entry < 0:
            if used == len(entries):
                return row, used, ordered
            entry, used = used, used + 1
            entries[entry, SITE_OF], entries[entry, OP_OF], entries[entry, WIDTH_OF] = site, op, width
            entries[entry, LAST_BLOCK], entries[entry, WARPS] = -1, 0
            entries[entry, NEXT], heads[site] = heads[site], entry
        block, warp = np.int64(word_at(blocks, row)), word_at(warps, row)
        ordered &= block >= block_before and warp < 64
        block_before = block
        if entries[entry, LAST_BLOCK] != block:
            entries[entry, LAST_BLOCK], entries[entry, SEEN] = block, 0
        seen = entries[entry, SEEN] | np.int64(1) << np.int64(warp & 63)
        entries[entry, WARPS] += seen != entries[entry, SEEN]
        entries[entry, SEEN] = seen
    return rows, used, ordered


@njit(cache=True)
def _count_warps(columns: Any, rows: Any, heads: Any, entries: Any, seen: Any) -> Any:
    """Count the warps of each entry, in any order of rows. `seen`, (slots, 2) of zeros, is a hash table of what
    was counted: entry + 1, and block and warp; False if it fills up."""
    masks, ops, widths = unpacked(columns, MASK), unpacked(columns, OP), unpacked(columns, WIDTH)
    sites, blocks, warps = unpacked(columns, SITE), unpacked(columns, BLOCK), unpacked(columns, WARP)
    last, room = np.uint64(len(seen) - 1), len(seen) // 2
    for row in range(rows):
        if not word_at(masks, row):
            continue
        entry = entry_of(word_at(sites, row), byte_at(ops, row), byte_at(widths, row), heads, entries)
        warp = np.int64(word_at(blocks, row)) << np.int64(32) | np.int64(word_at(warps, row))
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


def recount_warps(columns: Ints, rows: int, heads: Ints, entries: Ints) -> None:
    """Count the warps of each entry where blocks come in no order, or have many warps."""
    slots = 1 << 16
    entries[:, WARPS] = 0
    while not _count_warps(columns, rows, heads, entries, np.zeros((slots, 2), np.int64)):
        slots *= 4
        entries[:, WARPS] = 0


@njit(cache=True, nogil=True)
def _tally(columns: Any, first: Any, last: Any, rule: Any, heads: Any, entries: Any, figures: Any) -> None:
    """Add the rows to the figures of their entries."""
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths, sites = unpacked(columns, OP), unpacked(columns, WIDTH), unpacked(columns, SITE)
    blocks, warps = unpacked(columns, BLOCK), unpacked(columns, WARP)
    rules = pointer(rule.ctypes.data)
    for row in range(first, last):
        mask, op, width = word_at(masks, row), byte_at(ops, row), byte_at(widths, row)
        if not mask:
            continue
        low, high, ideal, degree_low, degree_high = judge_at(row_of(addresses, row), mask, op, width, rules)
        e = entry_of(word_at(sites, row), op, width, heads, entries)
        figures[e, REQUESTS] += 1
        figures[e, LOW] += low
        figures[e, HIGH] += high
        figures[e, IDEAL] += ideal
        figures[e, DEGREE_LOW] = max(figures[e, DEGREE_LOW], degree_low)
        figures[e, DEGREE_HIGH] = max(figures[e, DEGREE_HIGH], degree_high)
        excess, most, worst = high - ideal, figures[e, EXCESS], figures[e, WORST]
        if excess < most:
            continue
        block, warp = word_at(blocks, row), word_at(warps, row)
        worst_block, worst_warp = word_at(blocks, worst), word_at(warps, worst)
        if excess > most or block < worst_block or (block == worst_block and warp < worst_warp):
            figures[e, EXCESS], figures[e, WORST] = excess, row


def tally(trace: Trace, arch: Architecture) -> dict[tuple[int, int, int], Tally]:
    """By (site, op, width), in this order, what the requests of a trace cost."""
    rule, n = rule_words(arch), len(trace)
    columns, _held = table((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block, trace.warp))
    heads = np.full(len(trace.sites), -1, np.int64)
    entries = np.empty((max(64, len(heads)), ENTRY), np.int64)
    row, used, ordered = _enter(columns, 0, n, 0, heads, entries)
    while row < n:
        entries = np.concatenate([entries, np.empty_like(entries)])
        row, used, in_order = _enter(columns, row, n, used, heads, entries)
        ordered = ordered and in_order
    empty = np.zeros((used, FIGURES), np.int64)
    empty[:, EXCESS] = -2  # below that of an unknown count, which is −1
    parts: dict[int, Ints] = {}

    def work(first: int, last: int) -> None:
        mine = parts.setdefault(get_ident(), empty.copy())
        _tally(columns, first, last, rule, heads, entries, mine)

    spread(work, n)
    keys = [(int(site), int(op), int(width)) for site, op, width in entries[:used, : WIDTH_OF + 1]]
    if not ordered:
        recount_warps(columns, n, heads, entries)
    warps = entries[:used, WARPS].tolist()
    found = {}
    for entry in sorted(range(used), key=lambda entry: keys[entry]):
        each = [part[entry].tolist() for part in parts.values() if part[entry, REQUESTS]]
        figures = [list(column) for column in zip(*each, strict=True)]
        worst = min(
            (-excess, int(trace.block[row]), int(trace.warp[row]), row)
            for excess, row in zip(figures[EXCESS], figures[WORST], strict=True)
        )
        found[keys[entry]] = Tally(
            requests=sum(figures[REQUESTS]),
            low=sum(figures[LOW]),
            high=sum(figures[HIGH]),
            ideal=sum(figures[IDEAL]),
            degree_low=max(figures[DEGREE_LOW]),
            degree_high=max(figures[DEGREE_HIGH]),
            warps=warps[entry],
            worst=worst[-1],
        )
    return found
