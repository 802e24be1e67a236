"""Blocks that are resident together on one multiprocessor, as NVIDIA's occupancy calculator counts them.

The limits are those of `banksim.architectures.capabilities`; the units of allocation and the order of rounding are
those of NVIDIA's cuda_occupancy.h and, for compute capability 1.x and 2.x, of its Occupancy Calculator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.capabilities import capability
from banksim.errors import InputError

KIB = 1024
WARP = 32


@dataclass(frozen=True)
class Limits:
    """What one multiprocessor holds.

    threads, block_threads     of a multiprocessor, of a block
    blocks                     of a multiprocessor
    registers, block_registers 32-bit registers of a multiprocessor, of a block
    thread_registers           of a thread
    register_unit              registers are given in so many, to a warp (compute capability 1.x: to a block)
    sub_cores                  parts of the multiprocessor that each have an equal share of the registers
    shared, block_shared       bytes of shared memory of a multiprocessor, of a block
    reserved                   bytes of these that the system takes of each block
    shared_unit                shared memory is given in so many bytes
    carveouts                  sizes in bytes that shared memory can have, where it shares its place with the L1 cache
    """

    threads: int
    blocks: int
    registers: int
    block_registers: int
    thread_registers: int
    register_unit: int
    sub_cores: int
    shared: int
    block_shared: int
    reserved: int
    shared_unit: int
    carveouts: tuple[int, ...]
    block_threads: int

    @property
    def warps(self) -> int:
        return self.threads // WARP


@dataclass(frozen=True)
class Occupancy:
    """`blocks` are resident on a multiprocessor; `by` says how many each resource alone would allow."""

    blocks: int
    warps: int
    share: float
    by: Mapping[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow no more."""
        return tuple(name for name, blocks in self.by.items() if blocks == self.blocks)


_CARVEOUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196)
"""Sizes in KiB that an SM's shared memory can be set to from 8.0 on, beside all of it."""


def limits(arch: str | Architecture) -> Limits:
    """What a multiprocessor of this architecture holds."""
    return _limits(architecture(arch).capability)


@cache
def _limits(version: tuple[int, int]) -> Limits:
    row, major = capability(version), version[0]
    unit = 64 if major == 2 else 256
    if major == 1:
        unit = 256 if version < (1, 2) else 512
    return Limits(
        threads=row.threads,
        blocks=row.blocks,
        registers=row.registers * KIB,
        block_registers=row.block_registers * KIB,
        thread_registers=row.thread_registers,
        register_unit=unit,
        sub_cores=1 if major == 1 else 2 if major == 2 or version == (6, 0) else 4,
        shared=row.shared * KIB,
        block_shared=row.block_shared * KIB,
        reserved=KIB if major >= 8 else 0,
        shared_unit={1: 512, 2: 128}.get(major, 128 if major >= 8 else 256),
        carveouts=_carveouts(version, row.shared),
        block_threads=512 if major == 1 else 1024,
    )


def _carveouts(version: tuple[int, int], shared: int) -> tuple[int, ...]:
    if version < (7, 0):
        return (shared * KIB,)
    if version < (7, 5):
        return tuple(size * KIB for size in (0, 8, 16, 32, 64, 96))
    if version < (8, 0):
        return (32 * KIB, 64 * KIB)
    return tuple(size * KIB for size in (*(size for size in _CARVEOUTS if size < shared), shared))


def occupancy(
    arch: str | Architecture, threads: int, registers: int = 0, shared: int = 0, carveout: int | None = None
) -> Occupancy:
    """Resident blocks of `threads` threads with `registers` registers each and `shared` bytes of shared memory.

    `carveout`: bytes of shared memory that the multiprocessor is set to have, where it can be set; the next larger size
    is taken, and at least what one block needs. The default is all of it. `InputError` where none can hold a block.
    """
    rule = architecture(arch)
    known = limits(rule)
    if not 0 < threads <= known.block_threads:
        raise InputError(f"{rule.name} has blocks of 1 to {known.block_threads} threads, not {threads}")
    if registers > known.thread_registers:
        raise InputError(f"a thread of {rule.name} has at most {known.thread_registers} registers, not {registers}")
    if shared > known.block_shared:
        most = f"a block of {rule.name} has at most {known.block_shared} bytes of shared memory"
        raise InputError(f"{most}, not {shared}")
    warps = -(-threads // WARP)
    by = {"warps": known.warps // warps, "blocks": known.blocks}
    if registers:
        by["registers"] = _by_registers(known, rule, warps, registers)
    if taken := shared_of_block(shared, known):
        given = max(taken, known.shared if carveout is None else min(carveout, known.shared))
        by["shared memory"] = next(size for size in known.carveouts if size >= given) // taken
    blocks = min(by.values())
    if not blocks:
        raise InputError(f"{rule.name} has too few registers for a block of {threads} threads with {registers} each")
    return Occupancy(blocks, blocks * warps, blocks * warps / known.warps, by)


def shared_of_block(size: int, known: Limits) -> int:
    """Bytes of shared memory that a block of `size` bytes takes."""
    return up(size + known.reserved, known.shared_unit)


def _by_registers(known: Limits, rule: Architecture, warps: int, registers: int) -> int:
    if rule.capability < (2, 0):  # given to a block, for an even number of warps
        return known.registers // up(up(warps, 2) * WARP * registers, known.register_unit)
    warp = up(registers * WARP, known.register_unit)
    if warp * up(warps, known.sub_cores) > known.block_registers:
        return 0
    return known.registers // known.sub_cores // warp * known.sub_cores // warps


def up(number: int, unit: int) -> int:
    """The next multiple of `unit`."""
    return -(-number // unit) * unit


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
