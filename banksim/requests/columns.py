"""Columns of requests in compiled code, on all cores: read in place, checked, and the names of ops turned into codes.

A column is handed to compiled code as an address and a stride, so that it may be any slice, or one value for all
requests (stride 0), and nothing of the size of the trace is made. Needs numba.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from banksim.requests.kinds import ADDRESSED, OPS
from banksim.requests.lane_intrinsics import having, pointer, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import carray, inlined, outer

Result = TypeVar("Result")
Column = np.ndarray
Ints = npt.NDArray[np.int64]
CHUNK = 1 << 15
"""Requests that a thread takes at a time: 4 MiB of addresses."""
ALONE = 1 << 18
"""Requests that are looked at sooner than threads are started."""
ADDRESS, MASK, OP, WIDTH, SITE, BLOCK, WARP = range(7)
TYPES = (np.uint32, np.uint32, np.uint8, np.uint8, np.int32, np.int32, np.int32)
READ = np.array(ADDRESSED, np.uint32)
"""The lanes whose addresses an op reads."""


def places(columns: Iterable[Column]) -> tuple[Ints, list[Column]]:
    """(address, stride) of each column, in the order of `TYPES`, and the arrays that they point into."""
    held = [np.asarray(column, dtype) for column, dtype in zip(columns, TYPES, strict=False)]
    if held[ADDRESS].strides[1] != 4:
        held[ADDRESS] = np.ascontiguousarray(held[ADDRESS])
    return np.array([(column.ctypes.data, column.strides[0]) for column in held], np.int64), held


def spread(
    work: Callable[[int, int], Result], requests: int, most: int | None = None, workers: int = 0
) -> list[Result]:
    """`work(first, last)` of every chunk, in order, on so many threads (0: on all cores that this process may use).

    There are `most` chunks or fewer, if that is given.
    """
    workers = workers or cores()
    size = max(CHUNK, -(-requests // most)) if most else CHUNK
    chunks = [(first, min(first + size, requests)) for first in range(0, requests, size)]
    if min(len(chunks), workers) < 2:
        return [work(*chunk) for chunk in chunks]
    with ThreadPoolExecutor(min(len(chunks), workers)) as pool:
        return list(pool.map(lambda chunk: work(*chunk), chunks))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@inlined
def row_of(column: tuple[Integer, Integer], row: Integer) -> Place:
    """Where a row of a column, (address, stride), lies."""
    return pointer(np.uint64(column[0] + row * column[1]))


@inlined
def byte_at(column: tuple[Integer, Integer], row: Integer) -> Integer:
    return carray(row_of(column, row), 1, np.uint8)[0]


@inlined
def word_at(column: tuple[Integer, Integer], row: Integer) -> Integer:
    return carray(row_of(column, row), 1, np.uint32)[0]


@inlined
def unpacked(columns: Integers, k: Integer) -> tuple[Integer, Integer]:
    return columns[k, 0], columns[k, 1]


@outer
def _first_misaligned(columns: Integers, rows: Integer, read: Integers) -> Integer:
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths = unpacked(columns, OP), unpacked(columns, WIDTH)
    for row in range(rows):
        odd = having(row_of(addresses, row), word(byte_at(widths, row) - 1))
        if odd & word_at(masks, row) & read[byte_at(ops, row)]:
            return row
    return -1


def first_misaligned(address: Column, op: Column, width: Column, mask: Column) -> int:
    """The first request with an active lane whose address is no multiple of the width, or −1."""

    def work(first: int, last: int) -> int:
        columns, _held = places(column[first:last] for column in (address, mask, op, width))
        row = int(_first_misaligned(columns, last - first, READ))
        return first + row if row >= 0 else -1

    workers = 1 if len(address) <= ALONE else 0
    return next((row for row in spread(work, len(address), workers=workers) if row >= 0), -1)


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


@outer
def _codes(letters: Integers, known: Integers, weights: Integers, codes: Integers, out: Integers) -> None:
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
