"""What a launch accesses of DRAM, as the blocks that are timed tell of it.

Assumed: other blocks access other sectors than those that were timed, until they have all of the buffers; each of these
comes and goes once."""

from collections.abc import Sequence

from banksim.architectures.latencies import SECTOR, Dram, Figures
from banksim.machine.launch import Launch
from banksim.machine.program_memory import places


def beyond_l2(dram: Dram, buffers: int, moved: Sequence[int], times: float) -> tuple[float, list[float], list[float]]:
    """Of a launch that does `times` what moved so many sectors from and to the L2, in buffers of so many bytes: the
    share that the L2 lacks of them; the different bytes, and all, that come and go."""
    all_moved = [sectors * times * SECTOR for sectors in moved]
    different = [min(buffers, size) for size in all_moved]
    size = min(buffers, sum(all_moved))
    return min(max(size - dram.all, 0) / (dram.none - dram.all), 1), different, all_moved


def may_lack(launch: Launch, known: Figures) -> bool:
    """Whether a launch has more memory than the L2."""
    return int(places(launch.buffers)[:, 1].sum()) > known.dram.all


def behind_dram(launch: Launch, known: Figures, timed: int, buffers: int, moved: Sequence[int]) -> Figures:
    """The figures for a launch whose blocks that were timed, so many, moved so many sectors in such buffers."""
    missing, different, all_moved = beyond_l2(known.dram, buffers, moved, launch.blocks / max(timed, 1))
    shares = [missing * some / max(every, 1) for some, every in zip(different, all_moved, strict=True)]
    return known.behind_dram(*shares) if missing else known
