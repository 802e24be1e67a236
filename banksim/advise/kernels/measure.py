"""A kernel with changed layouts, compiled, executed on the same arguments, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from banksim.advise.kernels.costs import Cost, can_be_timed, costs
from banksim.advise.kernels.source import KernelSource, LayoutChange, rewritten
from banksim.architectures.bank_rules import Architecture
from banksim.architectures.code_layout import executed
from banksim.architectures.occupancy import blocks_per_sm
from banksim.errors import UnsupportedError
from banksim.machine.host_memory import copied
from banksim.machine.races.findings import Race
from banksim.runs.options import Call, Options
from banksim.runs.outcome import Run

Changes = tuple[LayoutChange, ...]


@dataclass(frozen=True)
class Measured:
    """What a kernel costs once it is compiled with some changes, by architecture; `run`: its launch."""

    kernel: Any
    run: Run
    costs: tuple[Cost, ...]
    results: tuple[bytes, ...]
    dynamic: int
    """Bytes of dynamic shared memory that the launch asked for."""

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
    def cycles(self) -> float | None:
        """Simulated cycles of an SM for each block; None if no time was simulated."""
        return next((cost.cycles for cost in self.costs if cost.cycles is not None), None)

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
        return blocks_per_sm(self.size, arch, threads, kernel.registers if executed(arch.name) == kernel.arch else 0)

    @property
    def wide(self) -> Mapping[int, int]:
        """Requests of more than 4 bytes a lane, by these bytes."""
        found: dict[int, int] = {}
        for site in self.run.conflicts.sites:
            if site.width > 4:
                found[site.width] = found.get(site.width, 0) + site.requests
        return found


class Bench:
    """Compiles and runs a kernel with one change after another, on the same arguments."""

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

    def checked(self) -> tuple[Measured, tuple[Race, ...]]:
        """The kernel as it is written, and its races. With a race, equal results prove nothing."""
        try:
            measured = self.measure((), check="races")
        except UnsupportedError:  # the check does not know something that the kernel does
            return self.measure(()), ()
        return measured, tuple(one for one in measured.run.findings if isinstance(one, Race))

    def measure(self, changes: Changes, **options: object) -> Measured:
        """Compile, execute, and count."""
        self.runs += 1
        dynamic = self.dynamic_shared
        for change in changes:
            dynamic = change.bytes_after(dynamic) if change.bytes_after else dynamic
        return self.run(self.source.kernel(rewritten(self.source.content, changes)), dynamic, **options)

    def timed(self, measured: Measured) -> Measured:
        """The same with time simulated, where it can be."""
        if not can_be_timed(measured.run):
            return measured
        try:
            return self.run(measured.kernel, measured.dynamic, timing=True)
        except UnsupportedError:
            return measured

    def run(self, kernel: Any, dynamic: int, **options: Any) -> Measured:
        """Execute on copies of the arguments. One worker, so that atomics come in one order."""
        from banksim.runs.run import run_with

        call = Call(kernel, self.grid, self.block, copied(self.args))
        done = run_with(call, Options(arch=self.archs, dynamic_shared=dynamic, workers=1, **options))
        results = tuple(arg.tobytes() for arg in call.args if isinstance(arg, np.ndarray))
        return Measured(kernel, done, costs(done), results, dynamic)
