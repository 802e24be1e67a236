"""What CUDA programs ask of what they set or made."""

from pathlib import Path

from banksim.__main__ import main
from helpers.fixtures import Patch, Said
from helpers.places import PROGRAMS


def test_what_is_asked_for_is_what_was_set(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    """queries.cu says which of its expectations fail."""
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--output", "report.txt", str(PROGRAMS / "cuda" / "queries.cu")]) == 0
    assert capfd.readouterr() == ("done\n", "")
