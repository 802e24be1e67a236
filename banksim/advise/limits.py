"""How much shared memory a block may have, and how many blocks an SM holds."""

from __future__ import annotations

from banksim.arch import Architecture
from banksim.errors import InputError
from banksim.timing.occupancy import KIB, limits, occupancy

STATIC = 48 * KIB
"""Bytes of the arrays that a kernel declares with their sizes, on every GPU from sm_20 on; more must be dynamic."""


def blocks_per_sm(size: int, arch: Architecture, threads: int, registers: int = 0) -> int:
    """Blocks of `threads` threads and `size` bytes of shared memory that an SM holds; 0 if it cannot hold one.

    `registers` of a thread, 0 where they are not known and limit nothing.
    """
    try:
        return occupancy(arch, threads, registers, size).blocks
    except InputError:
        return 0


def fits(size: int, before: int, arch: Architecture) -> bool:
    """Whether a block may have arrays of `size` bytes in the place of `before` without becoming dynamic."""
    most = limits(arch).block_shared
    return size <= (min(most, STATIC) if before <= STATIC else most)
