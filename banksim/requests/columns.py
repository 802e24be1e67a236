"""Columns of requests in compiled code, on all cores: read in place and checked.

A column is handed to compiled code as an address and a stride, so that the addresses of requests may be any slice, and
nothing of the size of the trace is made where one value stands for all (stride 0). Needs numba.
"""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from banksim.requests.kinds import ADDRESSED
from banksim.requests.lane_intrinsics import having, pointer, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import carray, inlined, outer
from banksim.system.processes import cores

Result = TypeVar("Result")
Column = np.ndarray
Ints = npt.NDArray[np.int64]
CHUNK = 1 << 16
"""Requests that a thread takes at a time: 8 MiB of addresses."""
ALONE = 1 << 18
"""Up to so many requests are checked sooner than threads are started."""
TOGETHER = 32
"""Requests that are read together, at most."""
ADDRESS, MASK, OP, WIDTH, SITE, BLOCK = range(6)
TYPES = (np.uint32, np.uint32, np.uint8, np.uint8, np.int32, np.int32)
READ = np.array(ADDRESSED, np.uint32)
"""The lanes whose addresses an op reads."""


def places(columns: Iterable[Column]) -> tuple[Ints, list[Column]]:
    """(address, stride) of each column, in the order of `TYPES`, and the arrays that they point into.

    From any request on, `TOGETHER` numbers of a column lie one behind the other, if there are so many requests; but
    those of `ADDRESS` may lie anywhere.
    """
    held = [np.asarray(column, dtype) for column, dtype in zip(columns, TYPES, strict=False)]
    if held[ADDRESS].strides[1] != 4:
        held[ADDRESS] = np.ascontiguousarray(held[ADDRESS])
    strides = [column.strides[0] for column in held]
    for k, column in enumerate(held[ADDRESS + 1 :], ADDRESS + 1):
        if len(column) and not strides[k]:
            held[k] = np.full(TOGETHER, column[0])
        elif strides[k] != column.itemsize:
            held[k], strides[k] = np.ascontiguousarray(column), column.itemsize
    return np.array([*zip((column.ctypes.data for column in held), strides, strict=True)], np.int64), held


def spread(work: Callable[[int, int], Result], requests: int, workers: int = 0, chunk: int = 0) -> list[Result]:
    """`work(first, last)` of every chunk, in order, on so many threads (0: on all cores that this process may use).

    `chunk`: requests of each, 0 for `CHUNK`. This thread is one of them. Each takes chunks in ascending order.
    """
    chunk = chunk or CHUNK
    chunks = range(0, requests, chunk)
    left, found = iter(chunks), dict[int, Result]()

    def take() -> None:
        for first in left:
            found[first] = work(first, min(first + chunk, requests))

    others = min(len(chunks), workers or cores()) - 1
    if others < 1:
        take()
    else:
        with ThreadPoolExecutor(others) as pool:
            started = [pool.submit(take) for _ in range(others)]
            try:
                take()
            finally:
                deque(left, 0)  # after an error, nothing is left to the others either
        for one in started:
            one.result()
    return [found[first] for first in chunks]


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


@outer
def put_together(parts: Integers, into: Integers) -> Integer:
    """32-bit numbers from their first bytes, their second ones …: (4, n). Returns the union of their bits."""
    union = word(0)
    for k in range(len(into)):
        low, high = word(parts[0, k]) | word(parts[1, k]) << word(8), word(parts[2, k]) | word(parts[3, k]) << word(8)
        number = word(low | word(high << word(16)))
        into[k], union = number, word(union | number)
    return union
