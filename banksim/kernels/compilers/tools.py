"""NVIDIA's programs: where they are, and how they are run."""

import functools
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from banksim.architectures.capabilities import CAPABILITIES
from banksim.errors import CompileError
from banksim.kernels.compilers.headers import hint
from banksim.system.extras import missing

SECONDS = 120
"""Seconds of CPU time that a compiler may take."""
MEMORY = 16 << 30
"""Bytes of memory that each process of a compiler may have: one that reads /dev/zero takes all there are."""
PATIENCE = 10
"""How many times as long it may take by the clock, on a busy machine."""
ENDED_BY_LIMIT = (-24, -9, 152, 137)
"""Exit status of a process that the limit ended (SIGXCPU, SIGKILL), as Python and as a shell report it."""
DIED_BY_LIMIT = re.compile(r"died due to signal (24|9)\b|CPU time limit exceeded", re.IGNORECASE)
"""How nvcc reports that a program which it ran was ended so."""
OUT_OF_MEMORY = re.compile(
    r"^(\w+: )?(out of memory allocating|virtual memory exhausted|terminate .*bad_alloc)", re.MULTILINE
)
"""How they say that the memory did not suffice."""
GAVE_UP = re.compile(r"ptxas fatal +: Ptx assembly aborted due to errors|\d+ errors? detected in the compilation of .*")
"""What a compiler says behind its errors."""
REFUSED_INSTRUCTION = re.compile(r"not supported on \.target 'sm_(\d+)'")
"""How ptxas says that an architecture has not an instruction."""
PACKAGES = {
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "nvdisasm": "nvidia-cuda-nvdisasm",
}
"""The wheel that brings each program."""


@functools.cache
def roots() -> tuple[Path, ...]:
    """Folders of NVIDIA's wheels, each with bin, include, lib: one a release (cu13), once one a part."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    folders = [child for place in places or () for child in Path(place).iterdir() if child.is_dir()]
    return tuple(sorted(folders, key=lambda child: (child.name.startswith("cu1"), child.name), reverse=True))


@functools.cache
def tool(name: str) -> Path:
    """The program `name`, a key of `PACKAGES`: from the wheels if they have it, else from PATH."""
    file = name + (".exe" if os.name == "nt" else "")
    for root in roots():
        if (root / "bin" / file).is_file():
            return root / "bin" / file
    found = shutil.which(name)
    if found is None:
        raise missing(f"{name} ({PACKAGES[name]}) is neither in NVIDIA's wheels nor on PATH", "cuda")
    return Path(found)


@functools.cache
def identity(name: str) -> str:
    """What tells this version of a program from every other, for cache keys."""
    program = tool(name)
    state = program.stat()
    seen = f"{program} {state.st_size} {state.st_mtime_ns}"
    if any(root in program.parents for root in roots()):
        return seen
    # What is on PATH may be a script that runs a program elsewhere.
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return f"{seen} {said}"


def include_folders() -> list[Path]:
    """Headers of the wheels: the CUDA runtime's, and beside them the C++ library for devices. Where nvcc is that of an
    installed toolkit, the toolkit's after them: a wheel may have only some."""
    folders = [root / "include" for root in roots() if (root / "include").is_dir()]
    folders += [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()]
    return folders + [folder for folder in toolkit_headers() if folder.is_dir()]


def toolkit_headers() -> list[Path]:
    """Where the toolkit on PATH has its headers, if its nvcc is the one that compiles."""
    if shutil.which("nvcc") is None or any(root in tool("nvcc").parents for root in roots()):
        return []
    return [tool("nvcc").resolve().parents[1] / "include"]


def host_compiler() -> str | None:
    """The C++ compiler that nvcc would run for a file's host side, if there is one."""
    named = os.environ.get("NVCC_CCBIN")
    return shutil.which(named) if named else shutil.which("cl" if os.name == "nt" else "g++")


def run(name: str, arguments: Sequence[str | Path], cwd: Path, what: str, seconds: int = SECONDS) -> bytes:
    """Standard output of a program, run in `cwd`. CompileError with its message when it fails, or when it or one that
    it runs takes more than `seconds` of CPU time."""
    too_long = f"{name} did not end within {seconds} s on {what}: damaged, or too large"
    try:
        status, output, errors = alone([tool(name), *arguments], cwd, seconds)
    except subprocess.TimeoutExpired:
        raise CompileError(too_long) from None
    if status:
        said = (errors + b"\n" + output).decode(errors="replace")
        if status in ENDED_BY_LIMIT or DIED_BY_LIMIT.search(said):
            raise CompileError(too_long)
        if OUT_OF_MEMORY.search(said):
            raise CompileError(f"{name} found too little memory for {what}: damaged, or too large")
        raise CompileError(complaint(said) or f"{name} ended with status {status} on {what}")
    return output


def alone(command: Sequence[str | Path], cwd: Path, seconds: int) -> tuple[int, bytes, bytes]:
    """Status, standard output and standard error of a program. If this ends early, so do all that the program started,
    and their temporary files go."""
    with tempfile.TemporaryDirectory(prefix="banksim-") as scratch:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, "TMPDIR": scratch},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        limit(process.pid, seconds)
        try:
            output, errors = process.communicate(timeout=PATIENCE * seconds)
        except BaseException:
            if os.name == "nt":
                process.kill()
            else:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    return process.returncode, output, errors


def limit(process: int, seconds: int) -> None:
    """Have a process, and each that it starts, end after so much CPU time (on a busy machine it may take longer), or
    where it wants more than `MEMORY`. Where that cannot be asked for, only the time that passes limits it."""
    if sys.platform == "linux":
        import resource

        with suppress(ProcessLookupError, PermissionError, ValueError):
            resource.prlimit(process, resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.prlimit(process, resource.RLIMIT_AS, (MEMORY, MEMORY))


def complaint(said: str) -> str:
    """What a compiler said, what to do about it in front; "" if it said nothing."""
    return "\n".join(
        filter(None, (hint(said, include_folders()), variant(said), launched_by_kernel(said), error_first(said)))
    )


def variant(message: str) -> str:
    """Which variant of the architecture has more instructions, where a compiler refuses one."""
    refused = REFUSED_INSTRUCTION.search(message)
    rows = [row for row in CAPABILITIES if refused and row.suffixes and row.number == refused[1]]
    return "".join(f"sm_{row.number}a has more instructions: --arch sm_{row.number}a" for row in rows)


def launched_by_kernel(message: str) -> str:
    """What cures it, where the compiler proposes an option for kernels that launch kernels."""
    proposed = "kernel launch from __device__ or __global__ functions requires separate compilation" in message
    cure = (
        'kernels that launch kernels (dynamic parallelism) run in programs: banksim run --nvcc "-rdc=true -lcudadevrt"'
    )
    return cure if proposed else ""


def error_first(message: str) -> str:
    """A compiler's message, the first line that tells an error moved to the front. That it gave up then is no news."""
    lines = [line.rstrip() for line in message.splitlines() if line.strip() and not GAVE_UP.fullmatch(line)]
    for number, line in enumerate(lines):
        if "error" in line.lower() or "fatal" in line.lower():
            lines.insert(0, lines.pop(number))
            break
    return "\n".join(lines)
