"""What the recorders share: where recordings lie, compilation, digests of results, the command line."""

import argparse
import csv
import hashlib
import inspect
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuda_kernels.evidence_records import with_neutral_folders

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "hardware"


def compile_kernels(nvcc: str, source: str | bytes, cubin: Path, *options: str, arch: str = "sm_90") -> None:
    """Compile a file of this folder, or CUDA C++ as bytes."""
    file, text = (source, None) if isinstance(source, str) else ("-", source)
    command = [nvcc, "-cubin", f"-arch={arch}", *options, "-o", cubin, "-x", "cu", file]
    subprocess.run(command, input=text, cwd=HERE, check=True)
    cubin = HERE / cubin
    cubin.write_bytes(with_neutral_folders(cubin.read_bytes()))


def counts(table: Path, metric: str) -> Any:
    """A counter of each launch, from the raw page of Nsight Compute as CSV."""
    with table.open() as lines:
        head, _, *rows = csv.reader(line for line in lines if line.startswith('"'))
    return np.array([float(row[head.index(metric)].replace(",", "")) for row in rows], np.int32)


def digest(*arrays: Any) -> Any:
    """A digest of 8 bytes of what arrays hold."""
    joined = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return np.frombuffer(hashlib.sha256(joined).digest()[:8], np.uint64)[0]


def digests(rows: Any) -> Any:
    """The digest of each of several arrays."""
    return np.array([digest(row) for row in rows])


def commands(description: str | None, **functions: Callable[..., object]) -> None:
    """Call the function that the first word names. A parameter without a default is a word, a list of strings any
    number of words; one with a default is an option of its name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_subparsers(required=True)
    for name, function in functions.items():
        command = chosen.add_parser(name)
        command.set_defaults(function=function)
        for one in inspect.signature(function, eval_str=True).parameters.values():
            if one.annotation == list[str]:
                command.add_argument(one.name, nargs="*")
            elif one.default is one.empty:
                command.add_argument(one.name, type=one.annotation)
            else:
                command.add_argument(f"--{one.name}", type=one.annotation, default=one.default)
    given = vars(parser.parse_args())
    given.pop("function")(**given)
