"""What the launches of a program cost, kernel by kernel."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.latencies import FIGURES, H200
from banksim.banks.conflicts import Conflicts, merge, repeated
from banksim.errors import BanksimError, InputError, UntimedError
from banksim.machine.doubts import Doubts, all_notes, together, unsimulated_clock
from banksim.machine.races.findings import Finding, Hint, by_lines
from banksim.requests.trace import Trace
from banksim.runs.counts_to_conflicts import Judged, sum_of_launches
from banksim.runs.options import Options
from banksim.runs.programs.chosen_launches import Choice
from banksim.runs.programs.clock import Clock
from banksim.runs.resolve import compiled_for
from banksim.runs.run import Execute as ExecuteLaunch
from banksim.runs.run import execute_launch
from banksim.system.reported import Shown
from banksim.wording import plural

if TYPE_CHECKING:
    import numpy.typing as npt

    from banksim.kernels.kernel import Kernel
    from banksim.machine.launch import Dim3, Launch
    from banksim.machine.llvm.counts import Site
    from banksim.runs.outcome import Run
    from banksim.storage import Writer
    from banksim.timing.spent_cycles import Cycles

LaunchProgress = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""Called with a kernel's name and its number of blocks. While the kernel runs, what this gives is called with the
blocks and the thread instructions that are done."""


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


Execute = Callable[["Launch", Shape, tuple[str, ...]], None]
"""Executes a launch of a program, whose arguments have these types."""


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


class RequestsWriter:
    """Writes the requests of all launches as one trace; blocks are numbered through all launches. `incomplete`: whether
    a launch did not come to its end."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.blocks = 0
        self.incomplete = False
        self.lock = threading.Lock()

    @contextmanager
    def of_launch(self, kernel: str, shape: Shape) -> Iterator[Callable[[Trace], None]]:
        """A context with the function that takes the requests of one launch."""
        from banksim.storage.schema import launch

        with self.lock:
            first, self.blocks = self.blocks, self.blocks + math.prod(shape.grid)
            if self.blocks > 1 << 31:
                raise InputError(f"--trace: the launches have more than {1 << 31:,} blocks: write fewer into one file")
            self.writer.launches.append(launch(kernel, shape.grid, shape.block, shape.dynamic_shared, first))

        def take(trace: Trace) -> None:
            with self.lock:
                self.writer.write(replace(trace, block=trace.block + np.int32(first)))

        try:
            yield take
        except BaseException:
            self.incomplete = True
            raise


class Launches(Shown):
    """The kernels of a program in the order of their first launch. Several threads of the program may launch at a time.
    `others`: launches that were executed but not chosen by `choice`, by the names of their kernels; `calls`: of
    functions of NVIDIA's libraries, whose own kernels are not executed; `failed`: launches that ended by an error."""

    def __init__(
        self, rules: Sequence[Architecture], checks: tuple[str, ...] = (), choice: Choice | None = None
    ) -> None:
        self.checks = checks
        self.choice = choice or Choice()
        self.named = 0
        self.others: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.watch: Callable[[Run], object] = lambda run: None
        """Sees each launch that is counted."""
        self.rules = tuple(rules)
        self.code = compiled_for(rules)
        """The architecture that kernels are compiled for."""
        self.met: list[KernelLaunches] = []
        self.numbers: dict[int, tuple[object, KernelLaunches]] = {}
        self.clock = Clock()
        self.known = FIGURES.get(self.code, H200)
        self.in_graph = False
        self.time_was_asked = False
        self.strays: dict[tuple[str, int], str] = {}
        """The first access beyond an allocation that a GPU lets pass, for each kernel and instruction."""
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        found = "; ".join(one.summary for one in self.judged)
        return f"<{plural(self.count, 'launch')} of {plural(len(self.kernels), 'kernel')} {found}>"

    def execute(
        self,
        launch: Launch,
        shape: Shape,
        options: Options,
        requests: RequestsWriter | None = None,
        signature: tuple[str, ...] = (),
        execute: ExecuteLaunch = execute_launch,
    ) -> None:
        """Execute a launch, and add what it costs if it is chosen. KeyboardInterrupt if it did not come to its end."""
        name = launch.kernel.plain_name
        if not self.chosen(launch.kernel.name, name):
            plain = Options(progress=options.progress, max_instructions=options.max_instructions)
            if execute(launch, (), plain).partial:
                raise KeyboardInterrupt
            return
        try:
            with requests.of_launch(name, shape) if requests else nullcontext() as take:
                try:
                    run = execute(launch, self.rules, replace(options, trace=take) if take else options)
                except UntimedError as why:
                    run = execute(launch, self.rules, replace(options, timing=False))
                    run = replace(run, untimed=str(why))
                self.add(run, signature, shape)
                if run.partial:
                    raise KeyboardInterrupt
        except BanksimError:
            with self.lock:
                self.failed[name] += 1
            raise

    def chosen(self, symbol: str, name: str) -> bool:
        """Whether the next launch, which is of this kernel, is to be counted."""
        with self.lock:
            taken = False
            if self.choice.names(symbol):
                taken = self.choice.takes(self.named)
                self.named += 1
            if not taken:
                self.others[name] += 1
                self.clock = self.clock.after(None)
            return taken

    def mark(self) -> Clock:
        """The reading of the clock behind an event, which takes time itself."""
        with self.lock:
            self.clock = self.clock.later(self.known.event.value)
            return self.clock

    def graph(self, begins: bool) -> None:
        """Note that the launch of a graph begins or ends."""
        with self.lock:
            self.clock = self.clock.later(self.known.graph.value if begins else 0)
            self.in_graph = begins

    def called(self, function: str) -> None:
        """Note a call of a library's function, `cuBLAS Sgemm`."""
        with self.lock:
            self.calls[function] += 1

    def add(self, run: Run, signature: tuple[str, ...], shape: Shape) -> None:
        """Add one launch. Launches are of the same kernel if their `run.kernel` is the same object."""
        with self.lock:
            if id(run.kernel) not in self.numbers:
                nothing = tuple(Conflicts(rule, ()) for rule in self.rules)
                entry = KernelLaunches(run.kernel.plain_name, signature, nothing, kernel=run.kernel)
                self.met.append(entry)
                self.numbers[id(run.kernel)] = (run.kernel, entry)
            self.numbers[id(run.kernel)][1].add(run, shape)
            self.clock = self.clock.after(microseconds_of(run))
            self.clock = self.clock.later(-self.known.in_graph.value if self.in_graph else 0)
            self.watch(run)

    def settle(self) -> None:
        """Add all that is yet to be added. Until then the memory of the processes that launched it is kept."""
        with self.lock:
            for kernel in self.met:
                kernel.settle()

    @property
    def kernels(self) -> list[KernelLaunches]:
        """What the launches of each kernel cost."""
        self.settle()
        return self.met

    @property
    def count(self) -> int:
        return sum(kernel.launches for kernel in self.kernels)

    @property
    def foreign(self) -> tuple[str, ...]:
        """The architectures by whose rule the requests of another architecture's code were judged."""
        own = architecture(self.code).capability
        return tuple(rule.name for rule in self.rules if rule.capability != own)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What checks found in any kernel."""
        return tuple(one for kernel in self.kernels for one in kernel.findings)

    @property
    def hints(self) -> tuple[Hint, ...]:
        """The hints at races of all kernels. Hints are given where no check ran."""
        return tuple(one for kernel in self.kernels for one in kernel.hints)

    @property
    def judged(self) -> tuple[Conflicts, ...]:
        """All sites of all kernels, for each architecture."""
        parts = [kernel.judged for kernel in self.kernels]
        return tuple(
            Conflicts(rule, tuple(site for part in parts for site in part[number].sites))
            for number, rule in enumerate(self.rules)
        )
