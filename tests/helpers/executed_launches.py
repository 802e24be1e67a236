"""Runs a CUDA program, and tells how many of its launches were executed for all that it did."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from banksim.__main__ import main
from banksim.runs.programs import repeats
from banksim.runs.run import execute_launch
from helpers.fixtures import Patch, Said

Run = Callable[[str, Sequence[object]], tuple[int, object]]


def counted_run(folder: Path, monkeypatch: Patch, capfd: Said) -> Run:
    """What runs a program with arguments: (executed launches; exit status, both outputs and report)."""

    def run(program: str, arguments: Sequence[object]) -> tuple[int, object]:
        executed = []

        def execute(*launch: Any) -> object:
            executed.append(launch)
            return execute_launch(*launch)

        monkeypatch.setattr(repeats, "execute_launch", execute)
        report = folder / "report.json"
        status = main(["run", "--json", "--output", str(report), program, *map(str, arguments)])
        said = capfd.readouterr()
        return len(executed), (status, said.out, said.err, json.loads(report.read_text()))

    return run
