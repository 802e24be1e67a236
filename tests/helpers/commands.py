"""The command line, called in this process."""

from collections.abc import Sequence

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
