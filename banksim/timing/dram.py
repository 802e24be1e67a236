"""What a launch accesses of DRAM, as the blocks that are timed tell of it.

Assumed: other blocks access other sectors than those that were timed, until they have all of the buffers; each of these
comes and goes once."""

from collections.abc import Sequence
from typing import NamedTuple

from banksim.architectures.latencies import SECTOR, Dram, Figures
from banksim.machine.launch import Launch
from banksim.machine.program_memory import places


class Sizes(NamedTuple):
    """Bytes of the allocations that were loaded from, of those that were stored or added to, and of all of these."""

    read: int
    written: int
    all: int


class Traffic(NamedTuple):
    """Of DRAM: bytes that come and go, and which shares they are of what the L2 is asked for and of what goes there;
    whether the L2 has too little room."""

    read: float
    written: float
    share_read: float
    share_written: float
    beyond: bool


def traffic(dram: Dram, sizes: Sizes, moved: Sequence[int], times: float, cold: bool) -> Traffic:
    """Of a launch that does `times` what moved so many sectors from and to the L2, in allocations of these sizes. The
    L2 has what it has room for; if it is `cold`, only from the first time on."""
    every = [max(sectors * times * SECTOR, 1) for sectors in moved]
    size = min(sizes.all, sum(every))
    missing = min(max(size - dram.all, 0) / (dram.none - dram.all), 1)
    read, written = min(sizes.read, every[0]) * (1 if cold else missing), min(sizes.written, every[1]) * missing
    return Traffic(read, written, read / every[0], written / every[1], missing > 0)


def may_lack(launch: Launch, known: Figures) -> bool:
    """Whether a launch has more memory than the L2."""
    return int(places(launch.buffers)[:, 1].sum()) > known.dram.all


def cycles_of(dram: Dram, has: Traffic) -> float:
    """That DRAM takes for it."""
    held = has.read * dram.read + has.written * dram.write + min(has.read, has.written) * dram.turn
    return dram.first * has.beyond + held / 1_000_000
