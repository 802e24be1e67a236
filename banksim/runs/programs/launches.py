"""The launches of a program: which of them are executed, counted and written, and the time between them."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.latencies import FIGURES, H200
from banksim.banks.conflicts import Conflicts
from banksim.errors import BanksimError, InputError, UntimedError
from banksim.machine.races.findings import Finding, Hint
from banksim.requests.trace import Trace
from banksim.runs.options import Options
from banksim.runs.programs.chosen_launches import Choice
from banksim.runs.programs.clock import Clock
from banksim.runs.programs.kernel_launches import KernelLaunches, Shape, microseconds_of
from banksim.runs.resolve import compiled_for
from banksim.runs.run import Execute as ExecuteLaunch
from banksim.runs.run import execute_launch
from banksim.system.reported import Shown
from banksim.wording import plural

if TYPE_CHECKING:
    from banksim.machine.launch import Launch
    from banksim.runs.outcome import Run
    from banksim.storage import Writer

LaunchProgress = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""Called with a kernel's name and its number of blocks. While the kernel runs, what this gives is called with the
blocks and the thread instructions that are done."""


Execute = Callable[["Launch", Shape, tuple[str, ...]], None]
"""Executes a launch of a program, whose arguments have these types."""


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
