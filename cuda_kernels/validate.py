"""Does banksim tell the truth here? Predictions for every kernel, against this machine's GPU or recorded evidence."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from cuda_kernels import gpu, profiler
from cuda_kernels.catalogue import Entry, find
from cuda_kernels.evidence_records import Evidence, Record
from cuda_kernels.predict import Prediction, predict
from cuda_kernels.verdicts import Contest, Verdict, contests, judge

Progress = Callable[[str, int, int], None]
EXECUTED = "9.0"
"""The compute capability whose machine code banksim executes, and so can compare instruction by instruction."""
FEW = 4
"""So many kernels are predicted in this process; more of them are worth the start of others."""


@dataclass(frozen=True)
class Validation:
    """Verdicts on all kernels that were asked for. `source`: what the predictions were held against; `not_done`:
    which parts could not be done, and why."""

    source: str
    machine: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    contests: tuple[Contest, ...] = ()
    not_done: tuple[str, ...] = field(default=())

    @property
    def agrees(self) -> bool:
        return not any(verdict.differences for verdict in self.verdicts)


def quiet(_what: str, _done: int, _of: int) -> None:
    pass


def measure(entries: Sequence[Entry], progress: Progress = quiet) -> tuple[Evidence, list[str]]:
    """Run the kernels on this machine's GPU, count them with the profiler if there is one; what could not be done."""
    machine, records, not_done = gpu.machine(), [], []
    for number, entry in enumerate(entries):
        progress("on the GPU", number, len(entries))
        records.append(gpu.measure(entry))
    if machine["compute_capability"] != EXECUTED:
        here = machine["compute_capability"]
        reason = f"banksim executes the code of compute capability {EXECUTED}, this GPU has {here}"
        return Evidence(machine, tuple(replace(r, cubin=b"") for r in records)), [f"counts were not compared: {reason}"]
    try:
        progress("with the profiler", 0, len(entries))
        records = profiler.count(records)
        machine["profiler"] = profiler.name(profiler.find())
    except profiler.Unavailable as error:
        not_done.append(f"counts were not compared: {error}")
    return Evidence(machine, tuple(records)), not_done


def against(evidence: Evidence, entries: Sequence[Entry], progress: Progress = quiet) -> Validation:
    """Predict every kernel and compare with its record."""
    records = {record.name: record for record in evidence.records}
    missing = [entry.name for entry in entries if entry.name not in records]
    uncounted = [r.name for e in entries if (r := records.get(e.name)) and not r.rows]
    not_done = [f"no record of {', '.join(missing)}"] if missing else []
    if uncounted:
        not_done.append(f"no counts of {', '.join(uncounted)}")
    work = [(entry.name, records.get(entry.name)) for entry in entries]
    verdicts = []
    for number, ((name, record), (prediction, same)) in enumerate(zip(work, predictions(work), strict=True)):
        progress("by banksim", number + 1, len(work))
        verdicts.append(judge(name, entries[number].group, prediction, record, same))
    machine = dict(evidence.machine)
    return Validation(
        source=f"{machine.get('device', 'a GPU')}, {machine.get('date', 'date unknown')}",
        machine=machine,
        verdicts=tuple(verdicts),
        contests=tuple(contests(verdicts, machine)) if "sm_clock_mhz" in machine else (),
        not_done=tuple(not_done),
    )


def predictions(work: Sequence[tuple[str, Record | None]]) -> Any:
    """The prediction for each kernel and whether it is of the machine code that ran, on all cores."""
    workers = min(os.cpu_count() or 1, len(work))
    if len(work) <= FEW or workers == 1:
        yield from map(predicted, work)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(predicted, work)


def predicted(work: tuple[str, Record | None]) -> tuple[Prediction, bool]:
    """The function as compiled here; where that is other code than what ran, the code that ran."""
    name, record = work
    launch = find([name])[0].launch()
    mine = predict(launch)
    if record is None or not record.cubin:
        return mine, True
    if mine.code == opcodes(record.cubin):
        return mine, True
    return predict(launch, record.cubin), False


def opcodes(cubin: bytes) -> tuple[str, ...]:
    """All opcodes of a kernel, executed or not."""
    from banksim.kernels.cubin import decode

    kernel = next(iter(decode(cubin).values()))
    return tuple(instruction.opcode for instruction in kernel.instructions)
