"""How much shared memory a block may have, and how many blocks an SM holds by their shared memory."""

from __future__ import annotations

from banksim.arch import Architecture
from banksim.timing.occupancy import KIB, limits, shared_of_block

STATIC = 48 * KIB
"""Bytes of the arrays that a kernel declares with their sizes, on every GPU from sm_20 on; more must be dynamic."""


def blocks_per_sm(size: int, arch: Architecture) -> int | None:
    """Blocks of `size` bytes that an SM holds, as far as shared memory goes; None where nothing limits them."""
    known = limits(arch)
    return known.shared // shared_of_block(size, known) if size else None


def fits(size: int, before: int, arch: Architecture) -> bool:
    """Whether a block may have arrays of `size` bytes in the place of `before` without becoming dynamic."""
    most = limits(arch).block_shared
    return size <= (min(most, STATIC) if before <= STATIC else most)
