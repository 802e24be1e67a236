"""Runs of launches: of a program, those that were executed for all that it did; and one made by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from banksim.banks.conflicts import Conflicts
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Launch
from banksim.runs.outcome import Run
from banksim.runs.programs import repeated_launches
from banksim.runs.run import execute_launch
from helpers.commands import reported
from helpers.fixtures import Patch, Said

CountedRun = Callable[[str, Sequence[object]], tuple[int, object]]


def run_by_hand(kernel: Kernel, judged: Sequence[Conflicts], cycles: object = None) -> Run:
    """Of one warp that executed each of two instructions once."""
    launch = SimpleNamespace(doubts={}, kernel=kernel)
    counts = np.array([[1, 32, 32]] * 2)
    return Run(kernel, cast(Launch, launch), judged, counts, 1, 0.0, cycles=cast(Any, cycles))


def counted_run(folder: Path, monkeypatch: Patch, capfd: Said) -> CountedRun:
    """What runs a program with arguments: (executed launches; all that is seen of it)."""

    def run(program: str, arguments: Sequence[object]) -> tuple[int, object]:
        executed = []

        def execute(*launch: Any) -> object:
            executed.append(launch)
            return execute_launch(*launch)

        monkeypatch.setattr(repeated_launches, "execute_launch", execute)
        found = reported(folder, program, *arguments), capfd.readouterr()
        return len(executed), found

    return run
