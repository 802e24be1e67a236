"""Other processes as /proc shows them. Tests wait for what these do: a busy machine keeps no time."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def until(happens: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def until_it_has_worked(process: int, seconds: float = 0.5) -> None:
    """Wait until a process and those that it started have had so much more CPU time."""
    before = cpu_seconds(process)
    until(lambda: cpu_seconds(process) > before + seconds)


def cpu_seconds(process: int) -> float:
    """CPU time of a process and of all that it started and that still run."""
    found: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    family = {process}
    while more := {child for child, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(found[one][1] for one in family & found.keys()) / os.sysconf("SC_CLK_TCK")
