"""Where the buffers of a launch lie among global addresses, and which addresses of shared memory a kernel may use."""

from __future__ import annotations

from collections.abc import Sequence

from banksim.architectures.code_layout import HEAP, machine
from banksim.kernels.kernel import Kernel

STRIDE = 37
"""Buffers begin so many times 4 GiB apart. A prime: an index that slips by 2³² elements, whatever their size is, leads
into no other buffer; and as it is odd, its inverse modulo 2³² tells a multiple of it, and which, by one product."""
INVERSE = pow(STRIDE, -1, 1 << 32)


def address_of(index: int) -> int:
    """The global address at which buffer `index` of a launch begins; arguments' buffers count from 1."""
    return HEAP + (index * STRIDE << 32)


def place_of(address: int) -> tuple[int, int]:
    """(buffer, byte) of a global address; a number that no buffer has where none begins with these upper 32 bits."""
    return ((address >> 32) - (HEAP >> 32)) * INVERSE & 0xFFFFFFFF, address & 0xFFFFFFFF


def nearest(address: int, count: int) -> int:
    """Of the first `count` buffers that whose beginning is nearest to an address."""
    return min(max(round((address - HEAP) / (STRIDE << 32)), 0), count - 1)


def shared_start(kernel: Kernel) -> int:
    """The first byte of shared memory that a kernel may use: that of its own variables; where it asks for the part
    that is reserved for CUDA's own code below them (%reserved_smem_offset), as groups of several warps of
    cooperative_groups do, the first of all."""
    places = machine(kernel.arch).places
    reserved = [places[name] for name in ("reserved end", "reserved part 1") if name in places]
    return 0 if reads(kernel, reserved) else kernel.shared_base


def reads(kernel: Kernel, places: Sequence[int]) -> bool:
    """Whether an instruction names one of these places of constant bank 0, by themselves or behind a register."""
    constants = (o for i in kernel.instructions for o in i.operands if o.kind == "const" and not o.number)
    return any(part.kind == "imm" and part.number in places for o in constants for part in o.parts)
