"""What made a page: the command, versions, whose code was executed, the date."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from banksim.system.dates import date
from banksim.system.extras import installed
from banksim.version import VERSION
from banksim.wording import listed, plural

if TYPE_CHECKING:
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches

PACKAGES = ("numba-cuda", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc", "numba", "numpy")
"""What compiles and executes kernels."""


def provenance(
    words: Sequence[str] = (), run: Run | None = None, launches: Launches | None = None, when: datetime | None = None
) -> list[tuple[str, str]]:
    """Names and what stands behind them. `words`: those of the command line, none where Python asked; `when`: the date
    of the page (None: now, or that of the environment variable SOURCE_DATE_EPOCH)."""
    packages = [f"{name} {found}" for name in PACKAGES if (found := installed(name))]
    return [
        ("command", shlex.join(["banksim", *words]) if words else ""),
        *code(run, launches),
        ("versions", listed([f"banksim {VERSION}", f"Python {platform.python_version()}", *packages])),
        ("made", f"{when or date():%Y-%m-%d %H:%M} UTC"),
    ]


def code(run: Run | None, launches: Launches | None) -> Iterator[tuple[str, str]]:
    """Whose code was executed, with which arguments."""
    if run is not None:
        yield "arrays", ", ".join(f"{one.name}: {plural(one.data.nbytes, 'byte')}" for one in run.launch.buffers[1:])
        compiled = [one.kernel.arch for one in run.executions or (run,)]
        yield "executed", f"machine code of {listed(compiled)}, by banksim ({run.engine})"
    elif launches is not None:
        yield "executed", f"machine code of {launches.code}, by banksim"
