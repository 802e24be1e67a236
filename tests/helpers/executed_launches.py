"""Runs a CUDA program, and tells how many of its launches were executed for all that it did."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from banksim.runs.programs import repeated_launches
from banksim.runs.run import execute_launch
from helpers.commands import reported
from helpers.fixtures import Patch, Said

Run = Callable[[str, Sequence[object]], tuple[int, object]]


def counted_run(folder: Path, monkeypatch: Patch, capfd: Said) -> Run:
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
