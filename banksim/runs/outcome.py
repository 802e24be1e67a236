"""What executing a launch gave: counts, findings, time, and how often each instruction was executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import architecture
from banksim.banks.conflicts import Conflicts
from banksim.kernels.kernel import Instruction, Kernel
from banksim.kernels.unfilled_variables import Unfilled, unfilled
from banksim.machine import doubts
from banksim.machine.launch import Launch
from banksim.machine.races.findings import Finding, Hint
from banksim.system.reported import Reported

if TYPE_CHECKING:
    from banksim.timing.spent_cycles import Cycles


@dataclass(frozen=True)
class Executed:
    """How often an instruction was executed: by warps, by threads, by threads whose guard held."""

    instruction: Instruction
    warps: int
    threads: int
    predicated_on: int


@dataclass(frozen=True, repr=False)
class Run(Reported):
    """What a launch did.

    `judged` holds one `Conflicts` for each architecture that was asked for, `conflicts` the first; `counts` the three
    figures of `Executed` of every instruction, in order (instructions, 3), and `profile` the same by name; `findings`
    what the `checks` found, a pair of lines each (beyond some thousand, `findings_lost` says how many more were seen);
    `hints` the races that a look at some blocks suggests where no check was asked for; `partial` is true when not all
    blocks finished; `cycles` the simulated time, if it was asked for; `untimed` why a program's launch
    has none; `remarks` what the caller has to say of it.

    `executions` are the runs of all architectures whose code was executed, if that were several (`side_by_side`):
    kernel, launch, profile and counts are those of the first, `judged`, `findings` and `hints` are of all.

    `classes`: how many classes of blocks that do the same there were, one block of each executed as far as counts need
    it (as many as blocks where hardly any are alike), 0 where every block was executed on memory;
    `whole`: how many blocks were then executed on memory too; `corners`: the numbers of blocks at the corners of the
    classes, which are boxes of blocks, as far as they are next to no work; `undecided`: why every block of a large
    launch was executed, on memory or as far as counts need it, where only counts were asked for."""

    kernel: Kernel
    launch: Launch
    judged: Sequence[Conflicts]
    counts: npt.NDArray[np.int64]
    blocks: int
    seconds: float
    engine: str = "llvm"
    partial: bool = field(default=False)
    cycles: Cycles | None = field(default=None)
    checks: tuple[str, ...] = field(default=())
    findings: tuple[Finding, ...] = field(default=())
    findings_lost: int = field(default=0)
    hints: tuple[Hint, ...] = field(default=())
    executions: tuple[Run, ...] = field(default=(), repr=False)
    classes: int = field(default=0)
    whole: int = field(default=0)
    corners: tuple[int, ...] = field(default=())
    undecided: str = field(default="")
    untimed: str = field(default="")
    remarks: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        part = ", partial" if self.partial else ""
        return f"<Run of {self.kernel.plain_name} {'; '.join(one.summary for one in self.judged)}{part}>"

    @property
    def conflicts(self) -> Conflicts:
        return self.judged[0]

    @property
    def foreign(self) -> tuple[str, ...]:
        """The architectures whose rule was judged on the code of another."""
        own = architecture(self.kernel.arch).capability
        return tuple(one.arch.name for one in self.judged if one.arch.capability != own)

    @property
    def out_of_bounds(self) -> tuple[str, ...]:
        """Accesses to shared memory outside of the kernel's own that a GPU lets pass."""
        return tuple(
            dict.fromkeys(text for run in self.executions or (self,) for text in doubts.out_of_bounds(run.launch))
        )

    @property
    def doubtful(self) -> dict[str, tuple[Kernel, doubts.Doubts]]:
        """Where its counts are not sure, by the architecture of the code."""
        return doubts.together((run.kernel, run.launch.doubts) for run in self.executions or (self,))

    @property
    def notes(self) -> tuple[str, ...]:
        """What it needs of the host's code on a GPU, where it was out of bounds, which clocks were not simulated, and
        where its counts are not sure."""
        clocks = () if self.cycles else doubts.unsimulated_clock(self.kernel)
        return (*self.remarks, *self.launch.notes, *self.out_of_bounds, *clocks, *doubts.all_notes(self.doubtful))

    @property
    def output(self) -> str:
        """What the kernel printed, block by block."""
        return self.launch.device.output

    def execution(self, conflicts: Conflicts) -> Run:
        """The run whose requests one of `judged` is about."""
        return next((one for one in self.executions if any(conflicts is own for own in one.judged)), self)

    @cached_property
    def profile(self) -> tuple[Executed, ...]:
        return tuple(Executed(i, *row) for i, row in zip(self.kernel.listing, self.counts.tolist(), strict=True))

    @cached_property
    def unfilled(self) -> tuple[Unfilled, ...]:
        """The `__constant__` variables that were read though nobody had filled them."""
        return unfilled(
            self.kernel, self.launch.constants, (one.instruction for one in self.profile if one.predicated_on)
        )

    @cached_property
    def instructions(self) -> int:
        """Warp instructions executed, as the profiler's source page counts them. (The hardware's own counter has more
        where groups of a warp part at an indirect branch or come to a WARPSYNC one after the other.)"""
        return int(self.counts[:, 0].sum())

    @cached_property
    def thread_instructions(self) -> int:
        return int(self.counts[:, 1].sum())
