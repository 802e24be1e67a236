"""Nsight Compute: counters of the hardware, and counts of every instruction from its source page."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from banksim.errors import BanksimError
from cuda_kernels.evidence_records import InstructionCounts

PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
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
QUIET = ("--clock-control", "none", "--cache-control", "none")
"""The profiler must not change the clocks of a GPU that others may use, nor flush its caches."""
SIDE_BY_SIDE = 4
"""Runs of the profiler at a time."""


class Unavailable(BanksimError):
    """Why there are no counters."""


def find() -> str:
    """The profiler, from PATH or where CUDA and Nsight Compute are installed. Unavailable without it."""
    named = shutil.which("ncu")
    found = [str(path) for place in PLACES for path in sorted(Path("/").glob(place[1:]), reverse=True)]
    if named is None and not found:
        raise Unavailable("Nsight Compute (ncu) is not on PATH, so nothing was counted on this GPU")
    return named or found[0]


def said(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "==ERROR==" in line]
        reason = lines[0].replace("==ERROR== ", "") if lines else f"it ended with status {done.returncode}"
        raise Unavailable(f"Nsight Compute could not count: {reason}")
    return done.stdout


def name(program: str) -> str:
    match = re.search(r"^Version (\S+)", said([program, "--version"]), re.M)
    return f"Nsight Compute {match[1] if match else '?'}"


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


def source_pages(text: str, launches: int) -> list[list[dict[str, str]]]:
    """The tables of the source page, one for each of so many launches."""
    pages: list[list[dict[str, str]]] = []
    header: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if row and row[0] == "Kernel Name":
            pages.append([])
            header = []
        elif row and pages and not header:
            header = row
        elif row and pages:
            pages[-1].append(dict(zip(header, row, strict=False)))
    is_twice = len(pages) == 2 * launches and pages[::2] == pages[1::2]  # as some versions print every page
    return pages[::2] if is_twice else pages


def opcode(line: dict[str, str]) -> str:
    """The instruction of a line of the source page, without its guard."""
    return re.sub(r"^@\S+\s+", "", line["Source"].strip()).split()[0]


def rows(page: Sequence[dict[str, str]]) -> tuple[InstructionCounts, ...]:
    """The instructions of a source page that were executed."""
    first = int(page[0]["Address"], 16)
    executed = ("Instructions Executed", "Thread Instructions Executed", "Predicated-On Thread Instructions Executed")
    found = []
    for line in page:
        warps, threads, predicated_on = (int(line[column]) for column in executed)
        transactions, ideal = (
            int(line.get(column, "0").replace("-", "0"))
            for column in ("L1 Wavefronts Shared", "L1 Wavefronts Shared Ideal")
        )
        counts = (transactions, ideal) if transactions or ideal else (None, None)
        if warps:
            found.append(
                InstructionCounts(
                    int(line["Address"], 16) - first, opcode(line), warps, threads, predicated_on, *counts
                )
            )
    return tuple(found)


def counted(text: str, metrics: dict[str, str]) -> list[dict[str, int]]:
    """Counters of each launch from the raw page, whose second row holds units."""
    table = [row for row in csv.reader(io.StringIO(text)) if len(row) > 1]
    header, units = table[0], table[1]
    out = []
    for row in table[2:]:
        values = dict(zip(header, row, strict=False))
        scale = dict(zip(header, units, strict=False))
        found = {}
        for key, metric in metrics.items():
            number = float(values[metric].replace(",", "") or "nan")
            unit = {"us": 1e3, "ms": 1e6, "usecond": 1e3, "msecond": 1e6}.get(scale[metric], 1.0)
            if number == number:
                found[key] = round(number * unit)
        out.append(found)
    return out
