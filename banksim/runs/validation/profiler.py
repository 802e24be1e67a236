"""Nsight Compute: found, run on a program, and its pages read."""

import csv
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from banksim.errors import BanksimError

PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
KINDS = ("ld", "st", "atom")
"""The counters of the hardware tell loads, stores and atomics apart."""
QUIET = ("--clock-control", "none", "--cache-control", "none")
"""The profiler must not change the clocks of a GPU that others may use, nor flush its caches."""


@dataclass(frozen=True)
class InstructionCounts:
    """An instruction that was executed: by warps, by threads, by threads whose guard held.

    Of an access to shared memory also its transactions (Nsight Compute: wavefronts) and how many they would be
    without conflicts; None for every other instruction.
    """

    offset: int
    opcode: str
    warps: int
    threads: int
    predicated_on: int
    transactions: int | None = None
    ideal: int | None = None


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


Page = list[dict[str, str]]
"""The lines of a source page, by the names of its columns."""
NamedPage = tuple[str, Page]
"""The name of the kernel, and its page."""


def source_pages(text: str, launches: int) -> list[Page]:
    """The tables of the source page, one for each of so many launches."""
    return [page for _, page in pages_of(text, launches)]


def pages_of(text: str, launches: int) -> list[NamedPage]:
    """The tables of the source page with the names of their kernels. Some versions print every page twice, or those of
    some kernels: pages that repeat are taken once if that leaves as many as there were `launches` (0: unknown)."""
    found: list[NamedPage] = []
    pages = named_pages(text)
    if not launches or len(pages) <= launches:
        return pages
    is_second = False
    for page in pages:
        is_second = not is_second and bool(found) and found[-1] == page
        if not is_second:
            found.append(page)
    return found if len(found) == launches else pages


def named_pages(text: str) -> list[NamedPage]:
    """The tables of the source page, each with the name of its kernel."""
    pages: list[NamedPage] = []
    header: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if row and row[0] == "Kernel Name":
            pages.append((row[1] if len(row) > 1 else "", []))
            header = []
        elif row and pages and not header:
            header = row
        elif row and pages:
            pages[-1][1].append(dict(zip(header, row, strict=False)))
    return pages


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


# ---- whole programs
@dataclass(frozen=True)
class Profiled:
    """One launch: the instructions that were executed, all opcodes of the kernel, and the hardware's counters of
    transactions by kind, as far as they were taken."""

    symbol: str
    rows: tuple[InstructionCounts, ...]
    code: tuple[str, ...]
    counters: Mapping[str, int] = field(default_factory=dict)


def read(source: str, raw: str = "", launches: int = 0) -> list[Profiled]:
    """The launches of an exported source page, and of the raw page that goes with it; `launches`: how many they may be,
    since some versions print every page twice. Unavailable for other texts."""
    try:
        counts = counted(raw, METRICS) if raw else []
        pages = pages_of(source, len(counts) or launches)
        if not pages or (counts and len(counts) != len(pages)):
            raise ValueError
        return [
            Profiled(
                symbol=name,
                rows=rows(page),
                code=tuple(opcode(line) for line in page),
                counters=counts[number] if counts else {},
            )
            for number, (name, page) in enumerate(pages)
        ]
    except (ValueError, KeyError, IndexError):
        what = "no source page of Nsight Compute: ncu --import REPORT --page source --csv writes one"
        raise Unavailable(what) from None


METRICS = {kind: f"{SHARED}_op_{kind}.sum" for kind in KINDS}


def profile(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, list[Profiled]]:
    """The profiler's name, and every launch of a program that is run once. Unavailable where nothing can be counted."""
    program = find()
    with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
        report = str(Path(folder) / "program.ncu-rep")
        what = ["--target-processes", "all", "--section", "SourceCounters", "--metrics", ",".join(METRICS.values())]
        said([program, *QUIET, *what, "-f", "-o", report, *command], dict(environment))
        if not Path(report).is_file():
            return name(program), []  # no kernel was launched
        reading = [program, "--import", report, "--csv", "--print-kernel-base", "mangled", "--page"]
        return name(program), read(said([*reading, "source"]), said([*reading, "raw"]))
