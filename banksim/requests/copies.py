"""The addresses of copies from global to shared memory (cp.async), which tell of both places: where a lane writes, and
from which banks it reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from banksim.requests.kinds import COPIES, DESTINATION, LANES, SOURCE_BIT

BANKS, BANK_BYTES = 32, 4
"""Of the L1 cache, which is the same memory as shared memory."""


def with_source(address: npt.ArrayLike, source: npt.ArrayLike, width: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """The addresses of a copy, (32,), or of n, (n, 32): of `width` bytes a lane from the addresses `source` of global
    memory to the places `address` of shared memory.

    >>> hex(with_source([0] * 32, [128 * lane for lane in range(32)], 4)[1])  # it reads from bank 0, not 1
    '0xf8000000'
    """
    run = np.arange(LANES) * np.expand_dims(np.asarray(width, np.int64), -1)
    further = (np.asarray(source, np.int64) - run) // BANK_BYTES % BANKS
    return (np.asarray(address, np.int64) | further << SOURCE_BIT).astype(np.uint32)


def destinations(op: str, address: Sequence[int]) -> tuple[int, ...]:
    """Where lanes access shared memory, given the addresses of their request."""
    return tuple(place & DESTINATION for place in address) if op in COPIES else tuple(address)


def source_banks(address: Sequence[int], width: int) -> list[int]:
    """The bank in which the source of each lane of a copy begins."""
    return [((place >> SOURCE_BIT) + lane * width // BANK_BYTES) % BANKS for lane, place in enumerate(address)]
