"""Room for blocks on a multiprocessor: when the next one can begin, and where its warps go.

A warp that has exited leaves its slot and its registers to others while its block goes on; shared memory and the place
among the resident blocks are free once the whole block has ended. Blocks are given only when one has ended, here or on
the multiprocessor beside: then as many as there is room for (tests/data/timing/h200_ends.npz).
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.occupancy import WARP, Limits, limits, occupancy, up
from banksim.machine.launch import Launch
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.same_lines import NEVER

SEEN = 50
"""Cycles: of a multiprocessor and the one beside it, ends so close to each other are seen as one (assumed)."""


def cores_of_warps(warps: int, given: int) -> npt.NDArray[np.int64]:
    """The sub-cores of a block's warps, if so many blocks were given before: the first is on the one behind the last
    warp of the block before, or behind its first where that were the same (h200_cores.json: slots)."""
    return (np.arange(warps) + given * (warps if warps % SUB_CORES else 1)) % SUB_CORES


class Room(NamedTuple):
    """What a multiprocessor has for a launch: places for blocks, and slots for warps."""

    launch: Launch
    places: int
    slots: int


def slots_of_core(known: Limits, registers: int) -> int:
    """How many warps of so many registers a thread a sub-core holds."""
    of_warp = up(max(registers, 1) * WARP, known.register_unit)
    return min(known.warps, known.registers // of_warp) // SUB_CORES


def room_for(launch: Launch, resident: int, blocks: int) -> Room:
    """The room of a multiprocessor that is given so many blocks and holds `resident` whole ones."""
    kernel = launch.kernel
    if blocks <= resident:
        return Room(launch, blocks, blocks * launch.warps)
    known = limits(kernel.arch)
    by = occupancy(kernel.arch, launch.threads, kernel.registers, launch.shared_bytes - kernel.shared_base).by
    places = min(blocks, by["blocks"], by.get("shared memory", known.blocks))
    slots = min(slots_of_core(known, kernel.registers), places * -(-launch.warps // SUB_CORES))
    return Room(launch, places, SUB_CORES * slots)


def slots_for(cores: npt.NDArray[np.int64], free: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
    """Slots for warps of these sub-cores, the lowest that are free; None where there are too few. Every fourth slot is
    of one sub-core."""
    slots = np.zeros_like(cores)
    for core in range(SUB_CORES):
        wanted = cores == core
        found = np.flatnonzero(free[core::SUB_CORES])[: np.count_nonzero(wanted)]
        if len(found) < np.count_nonzero(wanted):
            return None
        slots[wanted] = core + SUB_CORES * found
    return slots


def rounds(blocks: int, held: int, full: int = 3) -> int:
    """How many blocks of a multiprocessor are timed, which holds so many at a time: so many `full` rounds, and as many
    as the last one has."""
    return min(blocks, full * held + (blocks - 1) % held + 1)


class Beside:
    """When blocks end on the multiprocessor with which this one shares a part of the GPU: there, blocks are taken to
    begin when they do here, and to take as long as the last one here did that had ended by then."""

    def __init__(self) -> None:
        self.begins: list[int] = []  # of blocks, before one has ended
        self.ends: list[int] = []
        self.lasts = 0

    @property
    def next(self) -> int:
        return self.ends[0] if self.ends else NEVER

    def begin(self, now: int) -> None:
        if self.lasts:
            heappush(self.ends, now + self.lasts)
        else:
            self.begins.append(now)

    def end(self, cycles: int) -> None:
        """A block has ended here that took so long."""
        self.lasts = cycles
        for begin in self.begins:
            heappush(self.ends, begin + cycles)
        self.begins.clear()

    def ended(self, now: int) -> bool:
        """Whether one has ended there since this was asked last."""
        some = self.next <= now
        while self.next <= now:
            heappop(self.ends)
        return some
