"""NVIDIA's programs: where they are, and how they are run."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from banksim.errors import CompileError, InputError

PACKAGES = {
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "nvdisasm": "nvidia-cuda-nvdisasm",
}
"""The wheel that brings each program."""


def roots() -> list[Path]:
    """Folders of NVIDIA's wheels (each with bin, include, lib …): one per release in newer ones, one per part in older."""
    spec = importlib.util.find_spec("nvidia")
    if spec is None or spec.submodule_search_locations is None:
        return []
    folders = [child for place in spec.submodule_search_locations for child in Path(place).iterdir() if child.is_dir()]
    return sorted(folders, key=lambda child: (child.name.startswith("cu1"), child.name), reverse=True)


@functools.cache
def tool(name: str) -> Path:
    """The program `name` (nvcc, ptxas, nvlink, nvdisasm): from the wheels if they have it, else from PATH."""
    file = name + (".exe" if os.name == "nt" else "")
    for root in roots():
        if (root / "bin" / file).is_file():
            return root / "bin" / file
    found = shutil.which(name)
    if found is None:
        raise InputError(
            f"{name} is neither in NVIDIA's wheels nor on PATH: pip install 'banksim[cuda]' (or {PACKAGES[name]})"
        )
    return Path(found)


@functools.cache
def identity(name: str) -> str:
    """What tells this version of a program from every other, for cache keys, without running it."""
    program = tool(name)
    state = program.stat()
    return f"{name} {program} {state.st_size} {state.st_mtime_ns}"


def include_folders() -> list[Path]:
    """Headers of the wheels: the CUDA runtime, and the C++ library for devices beside it."""
    folders = [root / "include" for root in roots() if (root / "include").is_dir()]
    return folders + [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()]


def run(name: str, arguments: Sequence[str | Path], *, cwd: Path | None = None, what: str = "") -> bytes:
    """Standard output of a program. CompileError with its message, the first error's line first, when it fails."""
    command = [str(tool(name)), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
        raise CompileError(first_error(said) or f"{name} failed with status {done.returncode} on {what}")
    return done.stdout


def first_error(message: str) -> str:
    """A compiler's message with its first line that tells an error in front."""
    lines = [line.rstrip() for line in message.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line.lower() or "fatal" in line.lower()), None)
    if first is None:
        return "\n".join(lines)
    lines.remove(first)
    return "\n".join([first, *lines])
