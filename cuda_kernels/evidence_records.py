"""What is known of a kernel from a GPU, as plain data: counts per instruction, counters, times, the code that ran."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from banksim.errors import InputError
from banksim.runs.validation.profiler import InstructionCounts
from banksim.system import writing

EVIDENCE = Path(__file__).parent / "evidence" / "h200.json"
"""What an H200 measured; beside it the machine code that it ran."""
FORMAT = 1
Passes = tuple[tuple[tuple[int, int], ...], ...]
"""For each pass and each warp of it: when the warp began and ended."""


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of `samples` measurements."""

    median: float
    low: float
    high: float
    samples: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        low, median, high = (round(float(q), 4) for q in np.percentile(values, (25, 50, 75)))
        return Spread(median, low, high, len(values))


@dataclass(frozen=True)
class Record:
    """One kernel on one GPU. `wrong` is "" where the result equalled the oracle; None: there is no oracle.

    `microseconds`: a launch among many, back to back; `cycles`: a block, from its first warp's start to its last
    one's end. Without counters `rows` and `counters` are empty. `passes`: of a kernel that measures itself, for each
    pass but the cold first one when each warp began and ended, in cycles since the first began.
    """

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_shared: int
    registers: int = 0
    shared: int = 0
    wrong: str | None = None
    rows: tuple[InstructionCounts, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    microseconds: Spread | None = None
    cycles: Spread | None = None
    passes: Passes = ()
    cubin: bytes = b""


def warm_passes(clocks: np.ndarray) -> Passes:
    """When each warp began and ended each pass but the first, since the pass began; clocks: (passes, warps, 2)."""
    since = clocks[1:] - clocks[1:, :, :1].min(axis=1, keepdims=True)
    return tuple(tuple((int(a), int(b)) for a, b in warps) for warps in since)


def pass_cycles(passes: Passes) -> float:
    """Cycles of a pass, from the first warp's begin to the last one's end; the median of several."""
    return float(np.median([max(b for _, b in warps) - min(a for a, _ in warps) for warps in passes]))


@dataclass(frozen=True)
class Evidence:
    """Records of one GPU at one time; `machine` says which: device, driver, versions, date, clock in MHz, SMs."""

    machine: Mapping[str, Any]
    records: tuple[Record, ...]

    def record(self, name: str) -> Record | None:
        return next((record for record in self.records if record.name == name), None)


def to_json(evidence: Evidence) -> str:
    """The evidence as text, without the machine code: a line for each kernel, then one for each instruction."""
    kernels = []
    for record in evidence.records:
        plain = {k: v for k, v in asdict(record).items() if k not in ("cubin", "rows")}
        rows = ",\n    ".join(json.dumps(compact(row)) for row in record.rows)
        kernels.append(json.dumps(plain)[:-1] + f', "rows": [{rows and chr(10)}    {rows}]}}')
    body = ",\n  ".join(kernels)
    machine = json.dumps(dict(evidence.machine), indent=1)
    return f'{{"format": {FORMAT},\n"machine": {machine},\n"kernels": [\n  {body}\n]}}\n'


def compact(row: InstructionCounts) -> list[Any]:
    values = [row.offset, row.opcode, row.warps, row.threads, row.predicated_on]
    return values if row.transactions is None else [*values, row.transactions, row.ideal]


def load(path: Path) -> Evidence:
    """Evidence as `save` wrote it. InputError where it is none."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != FORMAT:
            raise InputError(f"{path}: evidence of format {plain['format']}, this version reads format {FORMAT}")
        with np.load(code_beside(path)) as codes:
            code = {name: codes[name].tobytes() for name in codes.files}
        records = tuple(record(kernel, code.get(kernel["name"], b"")) for kernel in plain["kernels"])
        return Evidence(plain["machine"], records)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}") from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no evidence of cuda_kernels ({type(error).__name__}: {error})") from None


def record(plain: dict[str, Any], cubin: bytes) -> Record:
    spreads = {key: plain[key] and Spread(**plain[key]) for key in ("microseconds", "cycles")}
    return Record(
        **plain
        | spreads
        | {
            "grid": tuple(plain["grid"]),
            "block": tuple(plain["block"]),
            "rows": tuple(InstructionCounts(*row) for row in plain["rows"]),
            "passes": tuple(tuple((a, b) for a, b in warps) for warps in plain.get("passes", ())),
            "cubin": cubin,
        }
    )


def with_neutral_folders(cubin: bytes) -> bytes:
    """Machine code whose lines name no folder of the machine that compiled it; recorders run in the checkout.
    Its length stays: slashes fill it up."""
    here, installed = Path.cwd(), Path(__file__).parents[1]
    names = {here: b"/banksim", installed: b"/banksim", Path(sys.prefix): b"/env", Path.home(): b"/user"}
    for folder, name in names.items():
        own = bytes(folder) + b"/"
        cubin = cubin.replace(own, name[: len(own) - 1].ljust(len(own), b"/"))
    return cubin


def code_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}-code.npz")


def save(evidence: Evidence, path: Path) -> None:
    """Write the evidence, and beside it the machine code that ran. Either is whole or not there."""
    code = {r.name: np.frombuffer(with_neutral_folders(r.cubin), np.uint8) for r in evidence.records if r.cubin}
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing.replaced(code_beside(path)) as file:
        np.savez_compressed(file, **code)  # type: ignore[arg-type]
    write(path, to_json(evidence))


def write(path: Path, text: str) -> None:
    """Make `path` hold `text`; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writing.write(path, text)
