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
from dataclasses import replace
from pathlib import Path

from banksim.errors import BanksimError
from cuda_kernels.evidence_records import Record, Row

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
"""What is asked for, by the names of the profiler; those that it does not know are left out."""
QUIET = ("--clock-control", "none", "--cache-control", "none")
"""The profiler must not change the clocks of a GPU that others may use, nor flush its caches."""


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


def count(records: Sequence[Record]) -> list[Record]:
    """The records with counters and the counts of each instruction. Unavailable where they cannot be had."""
    program = find()
    metrics = known(program)
    environment = dict(os.environ)
    root = str(Path(__file__).parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", ""))))
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "kernels.ncu-rep")
        command = [program, *QUIET, "--section", "SourceCounters", "--metrics", ",".join(metrics.values())]
        program_to_count = [sys.executable, "-m", "cuda_kernels", "run", "--gpu", *(r.name for r in records)]
        said([*command, "-o", report, *program_to_count], environment)
        pages = source_pages(said([program, "--import", report, "--csv", "--page", "source"]))
        counters = counted(said([program, "--import", report, "--csv", "--page", "raw"]), metrics)
    if len(pages) == 2 * len(records):
        pages = pages[::2]  # some versions print every page twice
    if not len(records) == len(pages) == len(counters):
        raise Unavailable(f"Nsight Compute counted {len(counters)} launches instead of {len(records)}")
    return [
        replace(record, rows=rows(page), counters=counter)
        for record, page, counter in zip(records, pages, counters, strict=True)
    ]


def source_pages(text: str) -> list[list[dict[str, str]]]:
    """The tables of the source page, one for each launch."""
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
    return pages


def rows(page: Sequence[dict[str, str]]) -> tuple[Row, ...]:
    """The instructions of a source page that were executed."""
    first = int(page[0]["Address"], 16)
    executed = ("Instructions Executed", "Thread Instructions Executed", "Predicated-On Thread Instructions Executed")
    found = []
    for line in page:
        warps, threads, predicated_on = (int(line[column]) for column in executed)
        opcode = re.sub(r"^@\S+\s+", "", line["Source"].strip()).split()[0]
        transactions, ideal = (
            int(line.get(column, "0").replace("-", "0"))
            for column in ("L1 Wavefronts Shared", "L1 Wavefronts Shared Ideal")
        )
        counts = (transactions, ideal) if transactions or ideal else (None, None)
        if warps:
            found.append(Row(int(line["Address"], 16) - first, opcode, warps, threads, predicated_on, *counts))
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
