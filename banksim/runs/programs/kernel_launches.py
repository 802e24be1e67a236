"""What all launches of one compiled kernel cost together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from banksim.banks.conflicts import Conflicts, merge, repeated
from banksim.machine.doubts import Doubts, all_notes, together, unsimulated_clock
from banksim.machine.races.findings import Finding, Hint, by_lines
from banksim.runs.counts_to_conflicts import Judged, sum_of_launches

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from banksim.kernels.kernel import Kernel
    from banksim.machine.launch import Dim3, Launch
    from banksim.machine.llvm.counts import Site
    from banksim.runs.outcome import Run
    from banksim.timing.spent_cycles import Cycles


@dataclass(frozen=True)
class Shape:
    """A launch's grid, block and bytes of dynamic shared memory."""

    grid: Dim3
    block: Dim3
    dynamic_shared: int

    @classmethod
    def of(cls, launch: Launch) -> Shape:
        return cls(launch.grid, launch.block, launch.dynamic_shared)

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"grid": list(self.grid), "block": list(self.block), "dynamic_shared": self.dynamic_shared}


@dataclass
class Times:
    """The simulated time of a kernel's launches, summed. `cycles`: of the blocks timed on one SM; `ideal`: the same
    without conflicts; `microseconds`: the estimates of whole launches, which `unestimated` of the launches lack;
    `longest`: the launch of the most cycles; `assumptions`: what was assumed for any of them; `refused`: why some were
    not timed."""

    cycles: int = 0
    ideal: int = 0
    microseconds: float = 0.0
    unestimated: int = 0
    longest: Cycles | None = None
    assumptions: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def add(self, cycles: Cycles, microseconds: float | None, times: int = 1) -> None:
        self.cycles += times * cycles.total
        self.ideal += times * cycles.ideal
        self.microseconds += times * (microseconds or 0)
        self.unestimated += times * (microseconds is None)
        if self.longest is None or cycles.total > self.longest.total:
            self.longest = cycles
        self.assumptions = tuple(dict.fromkeys([*self.assumptions, *cycles.assumptions]))

    def refuse(self, why: str, times: int) -> None:
        """Add launches that were counted, and not timed."""
        self.unestimated += times
        self.refused = tuple(dict.fromkeys([*self.refused, why]))

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "cycles": self.cycles,
            "without_conflicts": self.ideal,
            "microseconds": self.microseconds,
            "launches_without_estimate": self.unestimated,
            "bottleneck": self.longest.bottleneck if self.longest else "",
            "assumptions": list(self.assumptions),
            "refused": list(self.refused),
        }


MOST_AGAIN = 64
"""Runs of a kernel that are remembered."""


@dataclass
class KernelLaunches:
    """All launches of one compiled kernel. `judged`: their sum for each architecture; `warps`: for each instruction of
    the kernel's listing, how often warps executed it; `times`: their time, if it was asked for."""

    name: str
    signature: tuple[str, ...]
    judged: tuple[Conflicts, ...]
    launches: int = 0
    partial: int = 0
    instructions: int = 0
    thread_instructions: int = 0
    shapes: Counter[Shape] = field(default_factory=Counter)
    times: Times | None = None
    findings: tuple[Finding, ...] = ()
    findings_lost: int = 0
    hints: tuple[Hint, ...] = ()
    out_of_bounds: tuple[str, ...] = ()
    """Accesses outside of the kernel's shared memory that a GPU lets pass."""
    doubts: dict[str, tuple[Kernel, Doubts]] = field(default_factory=dict)
    """Where its counts are not sure, by the architecture of the code."""
    kernel: Kernel | None = None
    warps: npt.NDArray[np.int64] | None = None
    again: dict[tuple[object, ...], tuple[Run, Shape, int]] = field(default_factory=dict)
    """Runs that are added, and how many later launches counted the same: each shares the run's very objects."""

    waiting: defaultdict[tuple[Site, ...], list[tuple[Judged, int]]] = field(default_factory=lambda: defaultdict(list))
    """What is to be added to `judged`, and how many times, by the sites."""

    @property
    def notes(self) -> tuple[str, ...]:
        clocks = unsimulated_clock(self.kernel) if self.kernel and not self.times else ()
        return (*self.out_of_bounds, *clocks, *all_notes(self.doubts))

    def add(self, run: Run, shape: Shape) -> None:
        counted = id(run.counts), id(run.judged), id(run.cycles), id(run.findings)
        key = *counted, shape, run.partial, bool(run.hints), *run.launch.doubts.items()
        if key in self.again:
            self.again[key] = run, shape, self.again[key][2] + 1
            return
        if len(self.again) == MOST_AGAIN:
            self.add_again()
        self.again[key] = run, shape, 0
        self.add_times(run, shape, 1)

    def settle(self) -> None:
        """Add all that is yet to be added."""
        self.add_again()
        for judged in self.waiting.values():
            self.add_judged(sum_of_launches(judged))
        self.waiting.clear()

    def add_again(self) -> None:
        """Add the runs that came again."""
        found = [*self.again.values()]
        self.again.clear()
        for run, shape, times in found:
            if times:
                self.add_times(run, shape, times)

    def add_times(self, run: Run, shape: Shape, times: int) -> None:
        self.launches += times
        warps = times * run.counts[:, 0]
        self.warps = warps if self.warps is None else self.warps + warps
        self.partial += times * run.partial
        self.instructions += times * run.instructions
        self.thread_instructions += times * run.thread_instructions
        self.shapes[shape] += times
        self.findings = by_lines([*self.findings, *run.findings])
        self.findings_lost += run.findings_lost
        self.hints = self.hints or run.hints
        self.out_of_bounds = tuple(dict.fromkeys([*self.out_of_bounds, *run.out_of_bounds]))
        self.doubts = together([*self.doubts.values(), *run.doubtful.values()])
        if isinstance(run.judged, Judged):
            waiting = self.waiting[run.judged.sites]
            waiting.append((run.judged, times))
            if len(waiting) == MOST_AGAIN:
                waiting[:] = [(sum_of_launches(waiting), 1)]
        else:
            self.add_judged([repeated(one, times) for one in run.judged])
        if run.cycles is not None:
            self.times = self.times or Times()
            self.times.add(run.cycles, microseconds_of(run), times)
        elif run.untimed:
            self.times = self.times or Times()
            self.times.refuse(run.untimed, times)

    def add_judged(self, judged: Sequence[Conflicts]) -> None:
        self.judged = tuple(map(in_order, map(merge, self.judged, judged)))

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "kernel": self.name,
            "signature": list(self.signature),
            "launches": self.launches,
            "partial": self.partial,
            "instructions": self.instructions,
            "thread_instructions": self.thread_instructions,
            "shapes": [{**one.to_json(), "launches": launches} for one, launches in self.shapes.items()],
            "findings": [one.to_json() for one in self.findings],
            "findings_lost": self.findings_lost,
            "hints": [one.to_json() for one in self.hints],
            "notes": list(self.notes),
            "conflicts": [conflicts.to_json() for conflicts in self.judged],
            **({"time": self.times.to_json()} if self.times else {}),
        }


def microseconds_of(run: Run) -> float | None:
    """The time of a launch, if it was timed and most of its time does not rest on assumptions."""
    if run.cycles is None:
        return None
    from banksim.timing.whole_grid import estimate

    return estimate(run.launch, run.cycles).microseconds


def in_order(conflicts: Conflicts) -> Conflicts:
    """The same sites in the order of the code, not in that in which launches came to them."""
    return Conflicts(conflicts.arch, tuple(sorted(conflicts.sites, key=lambda site: site.offset or 0)))
