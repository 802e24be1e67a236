"""The command line, called in this process."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from banksim.__main__ import main
from banksim.errors import BanksimError
from helpers.fixtures import Said


def out_of(captured: Said, words: Sequence[str], status: int = 0) -> str:
    """What a command that ends with this status writes to standard output."""
    assert main(words) == status
    return captured.readouterr().out


def err_of(captured: Said, words: Sequence[str], status: int = 2) -> str:
    """What a command that ends with this status writes to standard error."""
    assert main(words) == status
    return captured.readouterr().err


def refused(captured: Said, words: Sequence[str]) -> str:
    """The one line that a command which is refused writes, all on standard error."""
    assert main(words) == 2
    said = captured.readouterr()
    assert said.out == ""
    assert said.err.startswith("banksim: ")
    assert said.err.count("\n") == 1
    return said.err


@contextmanager
def one_line(message: str) -> Iterator[None]:
    """Within, something is refused in one line that holds `message`."""
    with pytest.raises(BanksimError) as caught:
        yield
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def reported(folder: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """The exit status of `banksim run` with these words, and its report."""
    report = folder / "report.json"
    status = main(["run", "--json", "--output", str(report), *map(str, words)])
    return status, json.loads(report.read_text())
