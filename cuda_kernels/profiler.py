"""Nsight Compute: counters of the hardware, and counts of every instruction from its source page."""

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from banksim.runs.validation.profiler import (
    QUIET,
    SHARED,
    InstructionCounts,
    Unavailable,
    counted,
    find,
    rows,
    said,
    source_pages,
)

COUNTERS = {
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "transactions_ld": f"{SHARED}_op_ld.sum",
    "transactions_st": f"{SHARED}_op_st.sum",
    "transactions_atom": f"{SHARED}_op_atom.sum",
    "requests_ld": "smsp__inst_executed_op_shared_ld.sum",
    "requests_st": "smsp__inst_executed_op_shared_st.sum",
    "requests_atom": "smsp__inst_executed_op_shared_atom.sum",
    "nanoseconds": "gpu__time_duration.sum",
}
"""The counters that are read, with the profiler's names; those that a profiler does not have are left out."""
SIDE_BY_SIDE = 4
"""Runs of the profiler at a time."""


def known(program: str) -> dict[str, str]:
    """The counters that this profiler has for the GPUs here."""
    listed = set(re.findall(r"^(\w+__\w+)", said([program, "--query-metrics"]), re.M))
    return {key: metric for key, metric in COUNTERS.items() if metric.partition(".")[0] in listed}


@dataclass(frozen=True)
class Counts:
    """What the profiler counted of one launch."""

    rows: tuple[InstructionCounts, ...]
    counters: dict[str, int]


def count(names: Sequence[str]) -> dict[str, Counts]:
    """The counts of the kernels of these names. Unavailable where they cannot be had.

    Most of the time goes to the compilation of the kernels, so that several profilers share the work; they take turns
    at the GPU by themselves. Where they cannot, one does it all."""
    program = find()
    metrics = known(program)
    parts = [part for n in range(SIDE_BY_SIDE) if (part := names[n::SIDE_BY_SIDE])]
    with ThreadPoolExecutor(len(parts)) as pool:
        try:
            found = [*pool.map(lambda part: count_part(program, metrics, part), parts)]
        except Unavailable:
            if len(parts) == 1:
                raise
            found = [count_part(program, metrics, names)]
    return {name: counts for part in found for name, counts in part.items()}


def count_part(program: str, metrics: dict[str, str], names: Sequence[str]) -> dict[str, Counts]:
    """One run of the profiler."""
    environment = dict(os.environ)
    root = str(Path(__file__).parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", ""))))
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "kernels.ncu-rep")
        command = [program, *QUIET, "--section", "SourceCounters", "--metrics", ",".join(metrics.values())]
        said([*command, "-o", report, sys.executable, "-m", "cuda_kernels", "run", "--gpu", *names], environment)
        pages = source_pages(said([program, "--import", report, "--csv", "--page", "source"]), len(names))
        counters = counted(said([program, "--import", report, "--csv", "--page", "raw"]), metrics)
    if not len(names) == len(pages) == len(counters):
        raise Unavailable(f"Nsight Compute counted {len(counters)} launches instead of {len(names)}")
    return {name: Counts(rows(page), one) for name, page, one in zip(names, pages, counters, strict=True)}
