"""Launches whose blocks depend on blocks of other multiprocessors: they wait for these (locks, scans that look back at
earlier blocks), or take work from the same queue. On one multiprocessor alone the former would never end, and the
latter would do all the work. So all blocks are executed before some are timed: that tells how much each does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from banksim.errors import UntimedError
from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine import codes
from banksim.machine.basic_blocks import target
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Counts
from banksim.machine.llvm.worker import settle
from banksim.timing.global_memory import ATOMIC
from banksim.timing.issue_table import reaches
from banksim.timing.simulation import Simulated

MORE = 4
"""The timed blocks may execute so many times what as many blocks execute in the mean,"""
FEW = 1 << 14
"""… and so many warp instructions more. Beyond that they are taken to wait for ever."""
ENOUGH = 0.5
"""The least share of their work that must be left for the timed blocks in memory that the launch has changed."""
ALIKE = 0.25
"""The largest share of their work that the timed blocks may do at instructions that they execute over `MORE` times as
often as others do. Beyond that they are taken to wait there, not to work."""

NO_WAITING = "blocks need not wait for those of other SMs"
EQUAL_SHARES = "every SM does an equal share of the work that blocks take"


def looks_elsewhere(kernel: Kernel) -> bool:
    """Whether a loop of a kernel looks again at what other multiprocessors may write to global memory."""
    looks = sorted(i.pc for i in kernel.instructions if strong(i))
    ends = ((target(i), i.pc) for i in kernel.instructions)
    return any(to is not None and any(to <= pc <= end for pc in looks) for to, end in ends)


def strong(i: Instruction) -> bool:
    far = reaches(i)
    return far == ATOMIC or (bool(far) and i.name.startswith("LD") and "STRONG" in i.modifiers)


def executed(compiled: Compiled, counters: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """How often warps executed each instruction."""
    found: npt.NDArray[np.int64] = np.append(np.sum(counters, axis=0), 0)[compiled.places][:, 0]
    return found


@dataclass(frozen=True)
class Attempt:
    """How blocks are timed: the launch with its memory; how many warp instructions they are `allowed` (None: any), or
    the `share` after which they count as ended; and what this assumes of other multiprocessors."""

    launch: Launch
    allowed: int | None
    share: int | None = None
    assumes: str = ""

    def anew(self) -> "Attempt":
        """The same on memory of its own."""
        return replace(self, launch=self.launch.copy())


def chosen_way(
    alone: Attempt,
    behind: Launch,
    counted: tuple[Compiled, Counts],
    timed: tuple[Compiled, Callable[..., Simulated], int],
) -> Attempt:
    """The first of three ways in which the timed blocks do their work, and no more: alone; `behind` the launch, in the
    memory that it left, where the blocks that they wait for have ended; until they have executed their share.

    `counted`: what all blocks executed. `timed`: the code, the function that simulates it, the number of blocks.
    Raises `UntimedError` where no way does. The first blocks of a launch may be those that need not wait: so the last
    one is tried alone, too."""
    stepwise, simulate, blocks = timed
    expected = executed(counted[0], [counted[1].counters]) * (blocks / behind.blocks)
    share = round(expected.sum())

    def done(way: Attempt, *of: Sequence[int]) -> npt.NDArray[np.int64] | None:
        """How often each instruction is executed; None where the blocks do not end, the timed ones or these."""
        outcome = simulate(way.anew(), clusters=of)
        if outcome.stop is not None and outcome.stop.code != codes.INTERRUPTED:
            return None
        for worker in outcome.workers:
            settle(worker)
        return executed(stepwise, [worker.counters for worker in outcome.workers])

    if done(replace(alone, allowed=MORE * share + FEW)) is not None:
        last = behind.blocks_of_cluster(behind.blocks // behind.cluster_blocks - 1)
        waits = done(replace(alone, allowed=MORE * share + FEW), last) is None
        return replace(alone, assumes=NO_WAITING) if waits else alone
    found = Attempt(behind, MORE * share + FEW, assumes=NO_WAITING)
    did = done(found)
    if did is not None and did.sum() >= ENOUGH * share:
        return found
    found = Attempt(alone.launch, None, share, EQUAL_SHARES)
    did = done(found)
    if did is not None and np.maximum(did - MORE * expected, 0).sum() <= ALIKE * share:
        return found
    name = behind.kernel.plain_name
    raise UntimedError(f"{name}: the time of blocks that wait for each other is not simulated")
