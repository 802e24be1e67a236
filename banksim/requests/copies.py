"""The addresses of copies from global to shared memory (cp.async): they tell where a lane writes and where it reads."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from banksim.requests.kinds import (
    BY_LINES,
    BY_PLACES,
    BYPASSING,
    COPIES,
    DESTINATION,
    FULL_MASK,
    IS_BYPASSING,
    LANES,
    LINE_BIT,
    OP_CODES,
    SOURCE_BIT,
    UNREAD,
)

Lanes = TypeVar("Lanes", int, npt.NDArray[np.signedinteger])
BANKS, BANK_BYTES = 32, 4
"""Of the L1 cache, which is the same memory as shared memory."""
LINE, SECTOR, PIECE = 128, 32, 16
"""Bytes: of a line of the caches, of what moves between them at once, and of what one lane copies past the L1 cache."""
HASHES = 0x0F015A80, 0x0A02ED00
"""Two masks: the parities of these bits of a place in another block, its rank included, are a hash of it."""


def period_of(op: str, period: int) -> int:
    """So many bytes that moving all addresses of a request by a multiple of them changes no count; `period` is this
    number for plain loads and stores."""
    return FULL_MASK + 1 if op in BY_PLACES else max(period, LINE) if op in BY_LINES else period


def with_source(
    address: npt.ArrayLike,
    source: npt.ArrayLike,
    width: npt.ArrayLike,
    op: str = "cp_async",
    reads: npt.ArrayLike = True,
) -> npt.NDArray[np.uint32]:
    """The addresses of a copy, (32,), or of n, (n, 32): of `width` bytes a lane from the addresses `source` of global
    memory to the places `address` of shared memory. `reads`: whether a lane reads anything, or only writes zeros.

    >>> hex(with_source([0] * 32, [128 * lane for lane in range(32)], 4)[1])  # it reads from bank 0, not 1
    '0xf8000000'
    """
    lane = np.arange(LANES)
    at = np.asarray(source, np.int64)
    further = (at - lane * np.expand_dims(np.asarray(width, np.int64), -1)) // BANK_BYTES % BANKS
    found = np.asarray(address, np.int64) | further << SOURCE_BIT
    if op in BYPASSING:
        lines = at // LINE
        first = (lines[..., :, None] == lines[..., None, :]).argmax(-1)
        found |= (first - _first_of_run(lane)) % LANES << LINE_BIT
    return np.where(np.asarray(reads), found, found | UNREAD).astype(np.uint32)


def _first_of_run(lane: Lanes) -> Lanes:
    """The first lane that reads from the line of `lane` in a copy of 16 bytes each from one run of bytes."""
    return lane * PIECE // LINE * (LINE // PIECE)


def destinations(op: str, address: Sequence[int]) -> tuple[int, ...]:
    """Where lanes access shared memory, given the addresses of their request."""
    return tuple(place & DESTINATION for place in address) if op in COPIES else tuple(address)


def source_banks(address: Sequence[int], width: int) -> list[int]:
    """The bank in which the source of each lane of a copy begins."""
    return [((place >> SOURCE_BIT) + lane * width // BANK_BYTES) % BANKS for lane, place in enumerate(address)]


class Move(NamedTuple):
    """What one lane copies past the L1 cache: 16 bytes, by their number among those of the line that they come from
    (which is named by the first lane that reads from it) and among those of shared memory."""

    line: int
    source: int
    target: int


def moves(address: Sequence[int]) -> list[Move]:
    """What each lane copies past the L1 cache."""
    banks = source_banks(address, PIECE)
    first = [(place >> LINE_BIT) + _first_of_run(lane) for lane, place in enumerate(address)]
    return [
        Move(first[lane] % LANES, banks[lane] * BANK_BYTES // PIECE, (place & DESTINATION) // PIECE)
        for lane, place in enumerate(address)
    ]


def copiers(moved: Sequence[Move], lanes: Sequence[int]) -> dict[int, int]:
    """By the 16 bytes that are written, the lane that copies them past the L1 cache: of several the lowest."""
    found: dict[int, int] = {}
    for lane in lanes:
        found.setdefault(moved[lane].target, lane)
    return found


def spread(moved: Sequence[Move], lanes: Sequence[int]) -> bool:
    """Whether 16 bytes of global memory go to two places of one line of shared memory: what that costs is not known."""
    ends = [
        (moved[lane].line, moved[lane].source, target * PIECE // LINE) for target, lane in copiers(moved, lanes).items()
    ]
    return len({*ends}) < len(ends)


def spread_rows(address: npt.NDArray[np.uint32], mask: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """`spread` of n copies past the L1 cache: addresses (n, 32), masks (n,)."""
    lane, at = np.arange(LANES), address.astype(np.int64)
    active = mask[:, None] >> lane & 1 == 1
    target = np.where(active, (at & DESTINATION) // PIECE, -1 - lane)
    piece = ((at >> SOURCE_BIT) * BANK_BYTES // PIECE + lane) % (LINE // PIECE)
    line = ((at >> LINE_BIT) + _first_of_run(lane)) % LANES
    copies, found = active.copy(), np.zeros(len(address), np.bool_)
    for back in range(1, LANES):
        copies[:, back:] &= target[:, back:] != target[:, :-back]
    end = np.where(copies, (target * PIECE // LINE * LANES + line) * LINE + piece, -1 - lane)
    for back in range(1, LANES):
        found |= (end[:, back:] == end[:, :-back]).any(1)
    return found


def of_known_cost(
    op: npt.NDArray[np.uint8], mask: npt.NDArray[np.uint32], address: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint8]:
    """The ops of n requests, with cp_async_gather for copies whose cost is not known because of how they spread."""
    given = op if op.strides[0] else op[:1]
    if given.max(initial=0) < np.argmax(IS_BYPASSING):  # seen sooner than by looking each up
        return op
    rows = np.flatnonzero(IS_BYPASSING[op])
    rows = rows[spread_rows(address[rows], mask[rows])]
    found = op.copy()
    found[rows] = OP_CODES["cp_async_gather"]
    return found
