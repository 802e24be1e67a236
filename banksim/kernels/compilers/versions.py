"""The versions of banksim and of all that it compiles with."""

import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress

from banksim.errors import BanksimError
from banksim.kernels.compilers import tools
from banksim.system.extras import installed
from banksim.version import VERSION

PYTHON_PACKAGES = ("numpy", "numba", "llvmlite", "numba-cuda", "nvidia-cuda-nvrtc")
RELEASE = re.compile(r"\bV(\d+\.\d+\.\d+)")
"""As NVIDIA's programs write theirs."""


def versions() -> str:
    """A line each: banksim, Python and the packages that matter, NVIDIA's programs, the host's compiler."""
    found = [("Python", platform.python_version()), *packages(), *programs()]
    width = max(len(name) for name, _ in found)
    return "\n".join([f"banksim {VERSION}", *(f"  {name:<{width}}  {said}" for name, said in found)])


def packages() -> Iterator[tuple[str, str]]:
    return ((name, installed(name) or "not installed") for name in PYTHON_PACKAGES)


def programs() -> Iterator[tuple[str, str]]:
    for name in tools.PACKAGES:
        try:
            program = tools.tool(name)
        except BanksimError:
            yield name, "not found"
            continue
        release = RELEASE.search(said_by(str(program)))
        yield name, f"{release[1] if release else 'of unknown version'}, {program}"
    host = tools.host_compiler()
    said = said_by(host).strip().splitlines() if host else []
    yield "C++ compiler", f"{said[0] if said else 'of unknown version'}, {host}" if host else "none: NVRTC compiles"


def said_by(program: str) -> str:
    """What a program says of its version; nothing if it cannot be run."""
    with suppress(OSError, subprocess.SubprocessError):
        command = [program, "--version"]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=20).stdout
    return ""
