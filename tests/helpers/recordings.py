"""What was recorded on an H200, by the name of its recorder in tests/hardware; each file is read once in a process."""

import functools
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import banksim
from banksim.kernels.cubin import decode, decode_ahead
from banksim.kernels.kernel import Kernel
from helpers.places import DATA, H200

Clocks = Callable[[str, int, int], np.ndarray]
"""The clocks (warp, begin and end) of a kernel by its name, for a mask of warps and a number of rounds."""


@functools.cache
def arrays(recorder: str) -> dict[str, np.ndarray]:
    """The arrays of a recording by their names."""
    with np.load(H200 / f"{recorder}.npz") as stored:
        return dict(stored)


@functools.cache
def text(recorder: str) -> dict[str, Any]:
    """A recording that is JSON."""
    found: dict[str, Any] = json.loads((H200 / f"{recorder}.json").read_text())
    return found


@functools.cache
def timing(name: str) -> dict[str, Any]:
    """What was measured for the time model, where it is JSON."""
    found: dict[str, Any] = json.loads((DATA / "timing" / f"h200_{name}.json").read_text())
    return found


@functools.cache
def kernels(recorder: str) -> Mapping[str, Kernel]:
    """The machine code that ran, by the names of the kernels."""
    decode_a_share()
    return banksim.load(H200 / f"{recorder}.cubin")


@functools.cache
def clocked(file: str) -> tuple[dict[str, np.ndarray], Mapping[str, Kernel]]:
    """The arrays of a file of tests/data, clocks among them, and the machine code that ran, which it holds as well."""
    decode_a_share()
    with np.load(DATA / f"{file}.npz") as stored:
        found = dict(stored)
    return found, decode(found["cubin"].tobytes())


def written_over(cubin: np.ndarray, begin: int, body: np.ndarray) -> bytes:
    """Machine code of which a part was written over, as it ran."""
    code, there = bytearray(cubin.tobytes()), body.tobytes()
    code[begin : begin + len(there)] = there
    return bytes(code)


def labels(file: str) -> list[str]:
    """What tells the variants apart of a file that has one kernel's code, and what was written over a part of it."""
    arrays, _ = clocked(file)
    found: list[str] = arrays["labels" if "labels" in arrays else "names"].tolist()
    return found


def variant(file: str, label: str) -> bytes:
    """The machine code that ran of one of these variants."""
    arrays, _ = clocked(file)
    return written_over(arrays["cubin"], int(arrays["begin"]), arrays["bodies"][labels(file).index(label)])


def decode_variants(file: str, chosen: Collection[str] = ()) -> None:
    """Have all variants, or those that are chosen, decoded with one start of nvdisasm."""
    decode_ahead(variant(file, label) for label in chosen or labels(file))


@functools.cache
def numbers() -> np.ndarray:
    """Those with which the kernels ran that read the clock around passes."""
    found, x = np.zeros(4096, np.float32), 12345
    for n in range(len(found)):
        x = (x * 1664525 + 1013904223) % 2**32
        found[n] = (x >> 8) / 2**24
    return found


def passes(file: str, name: str, sizes: Collection[int] = ()) -> Iterator[tuple[int, float, float]]:
    """Of a kernel of one block that reads the clock around its passes, by block size (all, or these): the threads, and
    the median cycles of its warm passes, simulated and recorded."""
    arrays, kernels = clocked(file)
    for threads, measured in zip(
        arrays["threads"].tolist(), arrays["cycles"][list(arrays["names"]).index(name)], strict=True
    ):
        if not sizes or threads in sizes:
            clocks = np.zeros((6, threads // 32, 2), np.uint32)
            given = [numbers(), np.zeros(1024, np.float32), clocks, np.int32(1)]
            banksim.run(kernels[name], 1, threads, given, dynamic_shared=52 * 1024, timing=True)
            taken = clocks[:, :, 1].max(1).astype(int) - clocks[:, :, 0].min(1)
            yield threads, float(np.median(taken[1:])), float(np.median(measured))


@functools.cache
def sequences(*files: str) -> dict[str, tuple[dict[str, np.ndarray], Kernel]]:
    """The sequences of instructions in files of tests/data/timing: of each the arrays with its clocks, the kernel."""
    found = {}
    for file in files:
        arrays, code = clocked(f"timing/{file}")
        found |= {str(name): (arrays, code[kernel]) for name, kernel, *_ in arrays["kernels"]}
    return found


def clocks_of(arrays: Mapping[str, np.ndarray], **row: object) -> np.ndarray:
    """The clocks of the row that has these values."""
    same = np.logical_and.reduce([arrays[name] == value for name, value in row.items()])
    return np.asarray(arrays["clocks"][same][0])


def span(clocks: np.ndarray, active: int) -> int:
    """Cycles from the first begin to the last end, of clocks (warp, begin and end) of a mask of warps."""
    on = clocks[[w for w in range(32) if active >> w & 1]]
    since = (on - on[0, 0]).astype(np.int32)  # the clock wraps around
    return int(since[:, 1].max() - since[:, 0].min())


FEW, MANY = 4, 12
"""Rounds of the loops that were recorded."""


def error_of_rounds(simulated: Clocks, measured: Clocks, name: str, active: int) -> float:
    """The error of the cycles that rounds take, of which a loop has more."""
    taken = [span(clocks(name, active, MANY), active) - span(clocks(name, active, FEW), active)
             for clocks in (simulated, measured)]  # fmt: skip
    return taken[0] / taken[1] - 1


@functools.cache
def decode_a_share() -> None:
    """Where tests run side by side, each process decodes its share of the code for all, with one start of nvdisasm."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        share = slice(int(worker[2:]), None, int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
        files = [*DATA.rglob("*.cubin"), *DATA.rglob("*.npz")]
        decode_ahead(filter(None, map(code, sorted(files)[share])))


def code(file: Path) -> bytes:
    """The machine code that a file is or, beside arrays, holds."""
    if file.suffix == ".cubin":
        return file.read_bytes()
    with np.load(file) as stored:
        return stored["cubin"].tobytes() if "cubin" in stored else b""
