"""The time of a whole launch, from that of the blocks that were timed: waves of resident blocks over the grid."""

from dataclasses import dataclass

from banksim.architectures.occupancy import Occupancy, occupancy
from banksim.machine.launch import Launch
from banksim.machine.program_memory import recent_of
from banksim.timing.dram import cycles_of
from banksim.timing.spent_cycles import Cycles

MOST_ASSUMED = 0.5
"""If a larger share of the warps' time than this rests on assumed latencies, no time is given for the launch."""


@dataclass(frozen=True)
class Estimate:
    """A launch on a whole GPU.

    blocks          of the grid; as many as `together` share a multiprocessor, of which there are `multiprocessors`
    occupancy       how many it could hold, and why not more
    waves           rounds in which the blocks come to their turn, if all take equally long
    cycles          of the blocks; None where most of it would rest on assumed latencies
    clock_mhz       at which `microseconds` counts them
    around          microseconds that the launch takes besides: its start and its end
    assumed         share of the warps' time that rests on assumed latencies
    work            warp instructions of a block by those of one that was timed, in the mean
    unequal         whether blocks take unequally long, and all of them were put into a rough schedule
    dram            cycles that DRAM takes for what the L2 lacks; 0 where it is taken to have everything
    """

    blocks: int
    together: int
    multiprocessors: int
    occupancy: Occupancy
    waves: int
    cycles: int | None
    clock_mhz: int
    around: float
    assumed: float
    work: float
    unequal: bool
    dram: int

    @property
    def microseconds(self) -> float | None:
        return None if self.cycles is None else self.cycles / self.clock_mhz + self.around


def resident(launch: Launch) -> Occupancy:
    """How many blocks of a launch a multiprocessor holds."""
    kernel = launch.kernel
    return occupancy(kernel.arch, launch.threads, kernel.registers, launch.shared_bytes - kernel.shared_base)


def estimate(launch: Launch, cycles: Cycles) -> Estimate:
    """The time of a whole launch, estimated from the blocks that were timed."""
    figures = cycles.figures
    held = resident(launch)
    clusters, groups = launch.blocks // launch.cluster_blocks, figures.at_once(launch.cluster_blocks)
    at_a_time = min(held.blocks, -(-clusters // groups))
    waves = -(-clusters // (at_a_time * groups))
    at_once = recent_of(launch.buffers) is None
    return Estimate(
        blocks=launch.blocks,
        together=at_a_time,
        multiprocessors=figures.multiprocessors,
        occupancy=held,
        waves=waves,
        cycles=whole(launch, cycles, at_a_time, at_once) if cycles.assumed <= MOST_ASSUMED and cycles.blocks else None,
        clock_mhz=figures.clock_mhz,
        around=figures.around(min(launch.blocks, figures.multiprocessors), cycles.accesses) / 1000,
        assumed=cycles.assumed,
        work=cycles.work,
        unequal=cycles.unequal is not None,
        dram=round(of_dram(cycles, at_once)),
    )


def whole(launch: Launch, cycles: Cycles, held: int, at_once: bool = True) -> int:
    """Cycles of a launch, of which a multiprocessor holds so many blocks at a time; `at_once`: as for `cycles_of`.

    Blocks that were not timed follow at the distance of the last timed ones, at most the mean distance of all; where
    too few were timed, they take their share of a round (assumed). They take at least what they need of the L2. If they
    execute more or fewer instructions than the timed ones, but all alike, all takes longer or shorter in proportion
    (assumed), but no less than the longest block of the first round; where they are not alike, `uneven_blocks` tells.
    If the busiest resource or DRAM takes longer, that is the time."""
    size = launch.cluster_blocks
    clusters, groups, timed = launch.blocks // size, cycles.figures.at_once(size), len(cycles.blocks) // size
    count = -(-clusters // groups)
    share = cycles.total / (min(timed, held) * -(-timed // held))
    each = share if cycles.each is None else min(cycles.each, (cycles.total + cycles.left) / timed)
    beyond = cycles.resources["L2 cache"] / timed
    executed = cycles.total + max(count - timed, 0) * max(each, beyond)
    first_round = max((block.end for block in cycles.blocks[: held * size]), default=0)
    taken = max(first_round, longer(cycles) * executed) if cycles.unequal is None else cycles.unequal
    taken += cycles.left + cycles.slowest
    busiest = max(cycles.resources.values()) / timed
    return round(max(taken, cycles.work * busiest * count, of_dram(cycles, at_once)))


def longer(cycles: Cycles) -> float:
    """The factor by which blocks in the mean take longer than the timed ones. What they do more is done first by warps
    that end early in the timed ones, before half of their block's time, as at an edge."""
    warps = [2 * (end - block.start) >= block.cycles for block in cycles.blocks for end in block.warps]
    return max(cycles.work * sum(warps) / len(warps), min(cycles.work, 1))


def of_dram(cycles: Cycles, at_once: bool) -> float:
    """Cycles that DRAM takes for a launch; `at_once` as for `cycles_of`."""
    has = cycles.dram
    more = has._replace(read=cycles.work * has.read, written=cycles.work * has.written)
    return cycles_of(cycles.figures.dram, more, at_once)
