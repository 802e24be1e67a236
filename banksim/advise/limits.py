"""How much shared memory a block may have, and how many blocks an SM holds by their shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from banksim.arch import Architecture

KIB = 1024
STATIC = 48 * KIB
"""Bytes of the arrays that a kernel declares with their sizes, on every GPU from sm_20 on; more must be dynamic."""


@dataclass(frozen=True)
class Limits:
    """Bytes of shared memory of one SM, the most that one block may have, the system's own part of each block,
    and the unit in which blocks get theirs."""

    sm: int
    block: int
    reserved: int
    unit: int


_SIZES: dict[tuple[int, int], tuple[int, int]] = {
    (1, 0): (16, 16), (2, 0): (48, 48), (3, 0): (48, 48), (3, 7): (112, 48), (5, 0): (64, 48), (5, 2): (96, 48),
    (5, 3): (64, 48), (6, 0): (64, 48), (6, 1): (96, 48), (6, 2): (64, 48), (7, 0): (96, 96), (7, 5): (64, 64),
    (8, 0): (164, 163), (8, 6): (100, 99), (8, 7): (164, 163), (8, 8): (164, 163), (8, 9): (100, 99),
    (9, 0): (228, 227), (12, 0): (100, 99),
}  # fmt: skip
"""KiB of an SM and of a block, from this compute capability on (CUDA C++ Programming Guide 4.2, 10.2 and 12:
Technical Specifications per Compute Capability)."""


def limits(arch: Architecture) -> Limits:
    """As NVIDIA's guides document them."""
    sm, block = _SIZES[max(first for first in _SIZES if first <= arch.capability)]
    modern = arch.capability >= (8, 0)
    unit = 128 if modern or arch.capability[0] == 2 else 512 if arch.capability[0] == 1 else 256
    return Limits(sm * KIB, block * KIB, KIB if modern else 0, unit)


def blocks_per_sm(size: int, arch: Architecture) -> int | None:
    """Blocks of `size` bytes that an SM holds, as far as shared memory goes; None where nothing limits them."""
    known = limits(arch)
    taken = -(-(size + known.reserved) // known.unit) * known.unit
    return known.sm // taken if size else None


def fits(size: int, before: int, arch: Architecture) -> bool:
    """Whether a block may have arrays of `size` bytes in the place of `before` without becoming dynamic."""
    most = limits(arch).block
    return size <= (min(most, STATIC) if before <= STATIC else most)
