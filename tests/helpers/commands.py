"""The command line, called in this process."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from banksim.__main__ import main
from helpers.fixtures import Said


def out_of(captured: Said, words: Sequence[str], status: int = 0) -> str:
    """What a command that ends with this status writes to standard output."""
    assert main(words) == status
    return captured.readouterr().out


def err_of(captured: Said, words: Sequence[str], status: int = 2) -> str:
    """What a command that ends with this status writes to standard error."""
    assert main(words) == status
    return captured.readouterr().err


def reported(folder: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """The exit status of `banksim run` with these words, and its report."""
    report = folder / "report.json"
    status = main(["run", "--json", "--output", str(report), *map(str, words)])
    return status, json.loads(report.read_text())
