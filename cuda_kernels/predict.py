"""What banksim says of a kernel: the same function object that a GPU runs, or the machine code that one ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.runs.validation.profiler import InstructionCounts
from cuda_kernels.catalogue import Launch
from cuda_kernels.evidence_records import Passes, warm_passes

if TYPE_CHECKING:
    from banksim.runs.outcome import Run

IN_L1 = 8
"""Cycles by which a load that hits the L1 cache, as in a warm pass, takes longer than one from shared memory (measured
on one H200: 31 against 23, tests/data/hardware/timing/latency.npz, chain_ldg)."""


@dataclass(frozen=True)
class Prediction:
    """What banksim counts for a launch. `code`: every opcode of the kernel, executed or not; `wide`: offsets of
    loads of 8 and 16 bytes; `wrong` as in `Launch.wrong`; `by_kind`: transactions of loads, stores, atomics;
    `passes` as in `Record`, in simulated cycles."""

    rows: tuple[InstructionCounts, ...]
    code: tuple[str, ...]
    requests: int
    transactions: int
    ideal: int
    instructions: int
    wrong: str
    wide: frozenset[int]
    by_kind: Mapping[str, int]
    passes: Passes = ()


def own_copy(launch: Launch) -> list[Any]:
    """The launch's arguments, arrays copied: a kernel changes them."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in launch.arguments]


def predict(launch: Launch, cubin: bytes = b"", arch: str | Architecture = "sm_90") -> Prediction:
    """Execute a launch: its function as it is compiled here, or a cubin that a GPU ran."""
    arguments = own_copy(launch)
    run = execute(launch, arguments, cubin, architecture(arch))
    passes = warm_passes(arguments[launch.clocks]) if launch.clocks is not None else ()
    return replace(prediction(run, launch.wrong(arguments)), passes=passes)


def execute(launch: Launch, arguments: list[object], cubin: bytes, rule: Architecture) -> Run:
    from banksim.kernels.cubin import decode
    from banksim.runs.run import run

    kernel = next(iter(decode(cubin).values())) if cubin else launch.kernel
    given = [part for a in arguments for part in parameters(a)] if cubin else arguments
    return run(
        kernel,
        launch.grid,
        launch.block,
        given,
        arch=rule,
        dynamic_shared=launch.dynamic_shared,
        timing=launch.clocks is not None,
        global_latency=None if launch.clocks is None else IN_L1,
    )


def parameters(argument: object) -> list[object]:
    """What Numba's launcher passes to the machine code for an argument: of an array seven numbers and more."""
    if not isinstance(argument, np.ndarray):
        return [argument]
    return [0, 0, argument.size, argument.itemsize, argument, *argument.shape, *argument.strides]


def prediction(run: Run, wrong: str) -> Prediction:
    from banksim.runs.validation.comparison import predicted

    found, conflicts = predicted(run), run.conflicts
    if found.uncounted:
        unknown = next(site.opcode for site in conflicts.sites if (site.offset or 0) in found.uncounted)
        raise ValueError(f"{run.kernel.plain_name}: nobody knows what {unknown} costs on {conflicts.arch.name}")
    rows = tuple(found.rows.values())
    return Prediction(
        rows=rows,
        code=tuple(i.opcode for i in run.kernel.instructions),
        requests=conflicts.requests,
        transactions=sum(row.transactions or 0 for row in rows),
        ideal=sum(row.ideal or 0 for row in rows),
        instructions=run.instructions,
        wrong=wrong,
        wide=found.wide,
        by_kind=found.by_kind,
    )
