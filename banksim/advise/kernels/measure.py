"""A kernel with changed layouts, compiled, executed on the same arguments, and counted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from banksim.advise.kernels.costs import Cost, can_be_timed, costs
from banksim.advise.kernels.source import KernelSource, LayoutChange, rewritten
from banksim.architectures.bank_rules import Architecture
from banksim.architectures.code_layout import runs_as
from banksim.architectures.occupancy import blocks_per_sm
from banksim.errors import Fault, UnsupportedError
from banksim.machine.host_memory import Absent, arrays, bounds, copied
from banksim.machine.launch import Launch
from banksim.machine.races.findings import Race
from banksim.machine.scratch import Bytes, Scratch
from banksim.requests.counts import ends
from banksim.runs.options import Call, Options
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import resident

if TYPE_CHECKING:
    from banksim.runs.run import Execute

Changes = tuple[LayoutChange, ...]
Changed = tuple[tuple[bytes, ...], tuple[bytes, ...]]
"""Of each piece of memory, which bytes were changed, and to what."""
LONG = 1 << 22
"""Warp instructions of four rounds of blocks, as many as are resident at a time, from which on a single round is timed:
up to a second of work. By that, three products in tiles take 3 to 16 % longer: all layouts are timed alike."""
BEGINNING = 1 << 20
"""Warp instructions that such blocks are timed for, together: 1.2 % off the time of the whole round, of a product."""
ALIKE = 0.03
"""The share of instructions or transactions that may be others in the beginning of blocks than in all of them, where
the time of that stands for theirs. (The last pass of a loop is cut.)"""


@dataclass(frozen=True)
class Measured:
    """What a kernel costs once it is compiled with some changes, by architecture; `run`: its launch."""

    kernel: object
    run: Run
    costs: tuple[Cost, ...]
    results: tuple[bytes, ...]
    dynamic: int
    """Bytes of dynamic shared memory that the launch asked for."""
    places: tuple[bytes, ...] = ()
    """Of a large launch: where `results` lie, which are then only the bytes that were changed."""

    def has_results_of(self, other: Measured) -> bool:
        return self.results == other.results and self.places == other.places

    @property
    def requests(self) -> int:
        return self.run.conflicts.requests

    @property
    def transactions(self) -> tuple[int, ...]:
        return tuple(cost.transactions for cost in self.costs)

    @property
    def instructions(self) -> int:
        return self.run.instructions

    @property
    def excess(self) -> int:
        return sum(cost.transactions - cost.ideal for cost in self.costs)

    @property
    def cycles(self) -> int | None:
        """Cycles of the launch; None if no time was simulated."""
        return next((cost.cycles for cost in self.costs if cost.cycles is not None), None)

    @property
    def microseconds(self) -> float | None:
        """Time of the launch; None if none was simulated, or most of it rests on an assumed latency."""
        return next((cost.microseconds for cost in self.costs if cost.microseconds is not None), None)

    def of(self, before: Measured) -> float:
        """This cost over the one before, summed over the architectures."""
        return sum(new.of(old) for new, old in zip(self.costs, before.costs, strict=True))

    @property
    def size(self) -> int:
        """Shared memory of a block, in bytes."""
        return self.run.launch.shared_bytes - self.run.launch.kernel.shared_base

    def blocks(self, arch: Architecture) -> int:
        """Blocks that an SM holds; the registers are known of the architecture that the code was compiled for."""
        kernel, threads = self.run.kernel, prod(self.run.launch.block)
        return blocks_per_sm(self.size, arch, threads, kernel.registers if runs_as(arch.name, kernel.arch) else 0)

    @property
    def wide(self) -> Mapping[int, int]:
        """How many requests take more than 4 bytes a lane, by that number of bytes."""
        found: dict[int, int] = {}
        for site in self.run.conflicts.sites:
            if site.width > 4:
                found[site.width] = found.get(site.width, 0) + site.requests
        return found


class Bench:
    """Compiles and runs a kernel with one change after another, on the same arguments.

    A large launch is counted by classes of blocks; what is executed for the results, and looked at for races, are
    `blocks` at the corners of the classes: within a class all do the same with shared memory."""

    def __init__(
        self,
        source: KernelSource,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[object],
        archs: tuple[Architecture, ...],
        dynamic_shared: int,
    ) -> None:
        self.source, self.grid, self.block, self.args = source, grid, block, args
        self.archs, self.dynamic_shared = archs, dynamic_shared
        self.runs = 0
        self.blocks: tuple[int, ...] = ()
        """The blocks to execute for results; empty: all of them."""
        self.long = False
        """Whether a single round of blocks is timed."""
        self.work: list[Any] = []
        """Copies of the arguments, on which `blocks` are executed."""
        self.memory: list[Scratch] = []
        """The memory of the arrays in `work`."""

    def checked(self) -> tuple[Measured, tuple[Race, ...]]:
        """The kernel as it is written, and its races. With a race, equal results prove nothing."""
        self.blocks = self.typical()
        if self.blocks:
            self.work = copied(self.args, self.scratch)
        elif any(isinstance(array, Absent) for array in arrays(self.args)):
            self.args = copied(self.args)
        try:
            measured = self.measure((), check="races")
        except UnsupportedError:  # the check does not know something that the kernel does
            measured = self.measure(())
        run = measured.run
        if can_be_timed(run):
            self.long = 4 * resident(run.launch).blocks * run.instructions >= LONG * run.blocks
        return measured, tuple(one for one in run.findings if isinstance(one, Race))

    def typical(self) -> tuple[int, ...]:
        """The blocks that stand for all, of a large launch that can be counted by classes; of any other none."""
        from banksim.runs.by_classes import by_classes_if_large
        from banksim.runs.run import run_with

        options = self.options(self.dynamic_shared, values=False)
        done = run_with(self.call(self.source.kernel(self.source.content), self.args), options, by_classes_if_large)
        return done.corners if all(one.classes for one in done.executions or (done,)) else ()

    def measure(self, changes: Changes, **options: object) -> Measured:
        """Compile, execute, and count."""
        self.runs += 1
        dynamic = self.dynamic_shared
        for change in changes:
            dynamic = change.bytes_after(dynamic) if change.bytes_after else dynamic
        kernel = self.source.kernel(rewritten(self.source.content, changes))
        return self.some(kernel, dynamic, **options) if self.blocks else self.run(kernel, dynamic, **options)

    def timed(self, measured: Measured) -> Measured:
        """The same with time simulated, where it can be."""
        if not can_be_timed(measured.run):
            return measured
        try:
            if self.blocks:
                return self.some_timed(measured)
            return self.run(measured.kernel, measured.dynamic, timing=True)
        except UnsupportedError:
            return measured

    def call(self, kernel: object, args: Sequence[object]) -> Call:
        return Call(kernel, self.grid, self.block, args)

    def options(self, dynamic: int, **more: Any) -> Options:
        """One worker, so that atomics come in one order."""
        return Options(arch=self.archs, dynamic_shared=dynamic, workers=1, **more)

    def run(self, kernel: object, dynamic: int, **options: Any) -> Measured:
        """Execute on copies of the arguments."""
        from banksim.runs.run import run_with

        call = self.call(kernel, copied(self.args))
        done = run_with(call, self.options(dynamic, **options))
        results = tuple(arg.tobytes() for arg in call.args if isinstance(arg, np.ndarray))
        return Measured(kernel, done, costs(done), results, dynamic)

    # ---- large launches
    def scratch(self, given: Bytes, array: np.ndarray) -> Bytes:
        first, _ = bounds(given)

        def contents(start: int, end: int) -> Bytes:
            return array.part((first + start, first + end)) if isinstance(array, Absent) else given[start:end]

        self.memory.append(Scratch(given.nbytes, contents))
        return self.memory[-1].data

    def on_work(self, kernel: object, options: Options, execute: Execute) -> tuple[Run, Changed]:
        """The run of `execute` on `work`, as if all of it had its contents, and what it changed there; of several
        architectures' codes, what the first did. Each begins with the given bytes."""
        from banksim.runs.run import run_with

        changed: list[Changed] = []

        def alone(launch: Launch, rules: tuple[Architecture, ...], how: Options) -> Run:
            try:
                return replace(execute(launch, rules, how), partial=False)
            finally:
                changed.append(self.restored())

        def attempt() -> Run | Fault:
            changed.clear()
            try:
                return run_with(self.call(kernel, self.work), replace(options, values=False), alone)
            except Fault as fault:
                return fault

        found = attempt()
        while sum(not one.complete() for one in self.memory):  # each gets what it lacks
            found = attempt()
        if isinstance(found, Fault):
            raise found
        return found, changed[0]

    def some(self, kernel: object, dynamic: int, **options: Any) -> Measured:
        """Count all blocks, and execute some."""
        from banksim.runs.run import on_llvm, run_with

        def execute(launch: Launch, rules: tuple[Architecture, ...], how: Options) -> Run:
            return on_llvm(launch, rules, how, self.blocks)

        done = run_with(self.call(kernel, self.args), self.options(dynamic, values=False))
        executed, (places, results) = self.on_work(kernel, self.options(dynamic, **options), execute)
        done = replace(done, findings=executed.findings)
        return Measured(kernel, done, costs(done), results, dynamic, places)

    def some_timed(self, measured: Measured) -> Measured:
        """The same with the time of the first blocks of one multiprocessor. Where no address and no branch
        depends on data, no time does either: memory of zeros will do."""
        from banksim.classes.needed import heeds_data
        from banksim.runs.run import with_time

        def timed(at_most: int | None = None) -> Run:
            def execute(launch: Launch, rules: tuple[Architecture, ...], how: Options) -> Run:
                launch = launch if heeds_data(launch.kernel) else launch.stand_in()
                return with_time(launch, rules, how, more=False, at_most=at_most)

            return self.on_work(measured.kernel, options, execute)[0]

        run = measured.run
        round_of_blocks = resident(run.launch).blocks if self.long else None
        options = self.options(measured.dynamic, timed_blocks=round_of_blocks, timing=True)
        for at_most in (BEGINNING, None) if self.long else (None,):
            found = timed(at_most)
            pairs = [*zip(run.executions or (run,), found.executions or (found,), strict=True)]
            if max(itertools.starmap(apart, pairs)) <= ALIKE:
                break
        executions = [with_cycles(whole, part) for whole, part in pairs]
        done = replace(run, cycles=executions[0].cycles, executions=tuple(executions if run.executions else ()))
        return replace(measured, run=done, costs=costs(done))

    def restored(self) -> Changed:
        """Where bytes of the arguments were changed, and to what; then puts the given bytes back."""
        changed = [one.changed() for one in self.memory]
        return tuple(places.tobytes() for places, _ in changed), tuple(values.tobytes() for _, values in changed)


def with_cycles(whole: Run, timed: Run) -> Run:
    """A launch with the time of some blocks of it, or of their beginning."""
    cycles = timed.cycles
    if cycles is not None and timed.blocks:
        work = whole.instructions * timed.blocks / (timed.instructions * whole.blocks)
        cycles = replace(cycles, work=work)
    return replace(whole, cycles=cycles)


def apart(whole: Run, part: Run) -> float:
    """By which share the instructions that were executed, or the transactions, are others in a part of a launch."""

    def shares(run: Run) -> list[npt.NDArray[np.float64]]:
        cost: dict[object, int] = {instruction.pc: 0 for instruction in run.kernel.listing}
        for site in run.conflicts.sites:
            cost[site.offset] += ends(site.transactions or 0).high
        return [one / max(one.sum(), 1) for one in (run.counts[:, 0], np.array([*cost.values()]))]

    return max(float(np.abs(own - other).sum()) / 2 for own, other in zip(shares(whole), shares(part), strict=True))
