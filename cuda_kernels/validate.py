"""Does banksim tell the truth here? Predictions for every kernel, against this machine's GPU or recorded evidence."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from banksim.runs.validation import profiler as nsight_compute
from cuda_kernels import gpu, profiler
from cuda_kernels.catalogue import Entry, find
from cuda_kernels.evidence_records import Evidence, Record
from cuda_kernels.predict import Prediction, predict
from cuda_kernels.verdicts import Contest, Verdict, contests, judge

KernelsProgress = Callable[[str, int, int], None]
EXECUTED = "9.0"
"""The compute capability whose machine code banksim executes, and so can compare instruction by instruction."""
FEW = 4
"""Up to so many kernels are predicted in this process; for more, starting other processes pays."""


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


class Predictions:
    """What banksim predicts of kernels, made by other processes while this one goes on; where there are few kernels or
    cores, by this one when asked. Used with `with`."""

    def __init__(self, kernels: int) -> None:
        workers = min(os.cpu_count() or 1, kernels)
        spawn = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(workers, spawn) if kernels > FEW and workers > 1 else None
        self.asked: dict[str, Callable[[], tuple[Prediction, bool]]] = {}

    def __enter__(self) -> Predictions:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool:
            self.pool.shutdown(cancel_futures=True)

    def ask(self, name: str, record: Record | None) -> None:
        """Have a kernel predicted, once."""
        if name not in self.asked:
            work = (name, record)
            self.asked[name] = self.pool.submit(predicted, work).result if self.pool else lambda: predicted(work)

    def of(self, name: str) -> tuple[Prediction, bool]:
        return self.asked[name]()


def measure(
    entries: Sequence[Entry], predictions: Predictions, progress: KernelsProgress = quiet
) -> tuple[Evidence, list[str]]:
    """Run the kernels on this machine's GPU, count them with the profiler if there is one; what could not be done.

    While the profiler counts, the kernels are compiled here, and their predictions begin; they are timed when the
    profiler leaves the GPU alone."""
    machine, not_done, kernels = gpu.machine(), [], []
    executed = machine["compute_capability"] == EXECUTED
    counts: dict[str, profiler.Counts] = {}
    with ThreadPoolExecutor(1) as beside:
        counting = beside.submit(profiler.count, [entry.name for entry in entries]) if executed else None
        for number, entry in enumerate(entries):
            progress("compiled for the GPU", number, len(entries))
            kernels.append(gpu.compiled(entry))
            predictions.ask(entry.name, kernels[-1].record if executed else None)
        if counting is None:
            here = machine["compute_capability"]
            reason = f"banksim executes the code of compute capability {EXECUTED}, this GPU has {here}"
            not_done.append(f"counts were not compared: {reason}")
        else:
            try:
                progress("with the profiler", 0, len(entries))
                counts = counting.result()
                machine["profiler"] = nsight_compute.name(nsight_compute.find())
            except nsight_compute.Unavailable as error:
                not_done.append(f"counts were not compared: {error}")
    records = []
    for number, kernel in enumerate(kernels):
        progress("on the GPU", number, len(entries))
        record = gpu.measure(kernel)
        if (counted := counts.get(record.name)) is not None:
            record = replace(record, rows=counted.rows, counters=counted.counters)
        records.append(record if executed else replace(record, cubin=b""))
    return Evidence(machine, tuple(records)), not_done


def against(
    evidence: Evidence, entries: Sequence[Entry], predictions: Predictions, progress: KernelsProgress = quiet
) -> Validation:
    """Compare every kernel's prediction with its record."""
    from banksim.kernels.cubin import decode_ahead

    records = {record.name: record for record in evidence.records}
    missing = [entry.name for entry in entries if entry.name not in records]
    uncounted = [r.name for e in entries if (r := records.get(e.name)) and not r.rows]
    not_done = [f"no record of {', '.join(missing)}"] if missing else []
    if uncounted:
        not_done.append(f"no counts of {', '.join(uncounted)}")
    decode_ahead(records[entry.name].cubin for entry in entries if entry.name in records)
    for entry in entries:
        predictions.ask(entry.name, records.get(entry.name))
    verdicts = []
    for number, entry in enumerate(entries):
        prediction, same = predictions.of(entry.name)
        progress("by banksim", number + 1, len(entries))
        verdicts.append(judge(entry.name, entry.group, prediction, records.get(entry.name), same))
    machine = dict(evidence.machine)
    return Validation(
        source=f"{machine.get('device', 'a GPU')}, {machine.get('date', 'date unknown')}",
        machine=machine,
        verdicts=tuple(verdicts),
        contests=tuple(contests(verdicts, machine)) if "sm_clock_mhz" in machine else (),
        not_done=tuple(not_done),
    )


def predicted(work: tuple[str, Record | None]) -> tuple[Prediction, bool]:
    """The prediction for the function as it is compiled here, or for the code that ran if that differs; and whether
    both are the same."""
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
