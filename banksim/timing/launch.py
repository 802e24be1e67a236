"""A launch, timed: the blocks that one multiprocessor holds at first cycle by cycle, all others only counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from banksim.arch import Architecture
from banksim.errors import InputError
from banksim.sass import state
from banksim.sass.execute import Counts, execute, in_threads, merged, settle
from banksim.sass.faults import fault
from banksim.sass.launch import Buffer, Launch
from banksim.sass.llvm.codegen import Compiled, compile_kernel
from banksim.sass.tracing import Sink
from banksim.timing.cycles import Cycles, Spent, TimedInstruction
from banksim.timing.figures import Figures, figures
from banksim.timing.front import PIPES
from banksim.timing.occupancy import occupancy
from banksim.timing.simulate import Outcome, Simulation

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Options:
    """How to time: cycles of global memory (None: the stated constant), how many blocks (None: those that are resident
    at first)."""

    global_latency: int | None = None
    blocks: int | None = None


@dataclass
class Timed:
    """The time of some blocks, and what each part counted: (compiled code, its counts)."""

    cycles: Cycles
    parts: list[tuple[Compiled, Counts]]


def run_timed(
    launch: Launch,
    rules: tuple[Architecture, ...],
    options: Options,
    *,
    workers: int | None = None,
    max_instructions: int | None = None,
    progress: Progress | None = None,
    trace: Sink | None = None,
) -> Timed:
    """Time the blocks that the first multiprocessor is given, then count the others.

    Raises `InputError` where there is no time model, or a request's rule is not of the architecture that is timed.
    """
    known = figures(launch.kernel.arch)
    if trace is not None:
        raise InputError("a timed run writes no trace: ask for one of the two")
    on_first = range(0, launch.blocks, known.multiprocessors)
    resident = min(resident_blocks(launch), len(on_first))
    chosen = on_first[: options.blocks or resident]
    stepwise = compile_kernel(launch.kernel, stepwise=True)

    def simulate(to: Launch, ideal: bool) -> Outcome:
        simulation = Simulation(
            to, stepwise, rules, known, resident, ideal=ideal, global_latency=options.global_latency,
            max_instructions=max_instructions,
        )  # fmt: skip

        def tick() -> None:
            if progress is not None:
                progress(0, 32 * simulation.issued)

        return in_threads([lambda: simulation.run(chosen)], simulation.stop_word, tick)[0]

    before = copy(launch)
    outcome = simulate(launch, ideal=False)
    if outcome.stop is not None and outcome.stop.code != state.INTERRUPTED:
        raise fault(launch, outcome.stop)
    counts = counted(outcome, stepwise, len(rules))
    best = outcome
    if counts.stop is None and np.any(counts.tallies["low"][:, 0] != counts.tallies["ideal"][:, 0]):
        best = simulate(before, ideal=True)
    parts = [(stepwise, counts)]
    if counts.stop is None and len(chosen) < launch.blocks:
        compiled = compile_kernel(launch.kernel)
        rest = execute(
            launch, compiled, rules, workers=workers, max_instructions=max_instructions, progress=progress,
            without=chosen,
        )  # fmt: skip
        if rest.stop is not None and rest.stop.code != state.INTERRUPTED:
            raise fault(launch, rest.stop)
        parts.append((compiled, rest))
    return Timed(cycles(launch, known, options, outcome, best), parts)


def resident_blocks(launch: Launch) -> int:
    """How many blocks of a launch a multiprocessor holds."""
    kernel = launch.kernel
    return occupancy(kernel.arch, launch.threads, kernel.registers, launch.shared_bytes - kernel.shared_base).blocks


def copy(launch: Launch) -> Launch:
    """The launch with memory of its own."""
    return replace(launch, buffers=[Buffer(b.data.copy(), b.name) for b in launch.buffers])


def counted(outcome: Outcome, compiled: Compiled, architectures: int) -> Counts:
    """What the timed blocks counted, as `execute` gives it."""
    for worker in outcome.workers:
        settle(worker)
    tallies = merged([w.tallies for w in outcome.workers]).reshape(len(compiled.sites), architectures)
    counters = np.sum([w.counters for w in outcome.workers], axis=0)
    return Counts(counters, tallies, len(outcome.blocks), outcome.seconds, outcome.stop)


def cycles(launch: Launch, known: Figures, options: Options, outcome: Outcome, best: Outcome) -> Cycles:
    names = ("issue", "fixed", "shared", "memory", "barrier", "other", "contention")
    instructions = []
    for i, row, ideal in zip(launch.kernel.instructions, outcome.spent, best.spent, strict=True):
        spent = Spent(**{name: int(row[name]) for name in names})
        conflict = max(spent.shared - int(ideal["shared"]), 0)
        instructions.append(TimedInstruction(i, replace(spent, conflict=conflict)))
    busy = outcome.busy.max(axis=0)
    resources = dict(zip((*PIPES, "issue"), map(int, busy), strict=True)) | {"shared memory": outcome.transactions}
    return Cycles(
        figures=known,
        global_latency=known.numbers(options.global_latency).global_latency,
        instructions=tuple(instructions),
        blocks=tuple(sorted(outcome.blocks, key=lambda b: (b.start, b.number))),
        total=outcome.cycles,
        ideal=best.cycles,
        resources=resources,
        requests=outcome.requests,
        warp_instructions=outcome.instructions,
    )


def summed(parts: Sequence[Counts]) -> Counts:
    """The counts of parts of one launch whose sites are the same."""
    sizes = {len(p.tallies) for p in parts}
    assert len(sizes) == 1, sizes
    first = parts[0]
    tallies = merged([p.tallies.reshape(-1) for p in parts]).reshape(first.tallies.shape)
    stop = next((p.stop for p in parts if p.stop is not None), None)
    return Counts(first.counters, tallies, sum(p.blocks for p in parts), sum(p.seconds for p in parts), stop)
