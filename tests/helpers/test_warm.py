"""What is forked runs as a cold process does: words, folder, environment, streams and exit status are its own."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import warm
from helpers.places import PACKAGES

PROGRAM = """\
import os, sys
print(__name__, sys.argv, os.getcwd(), os.environ["COLOUR"], os.environ.get("WARM"), sys.stdin.read(), sep="|")
print("told", file=sys.stderr)
os.kill(os.getpid(), 15) if sys.argv[1] == "end" else sys.exit(int(sys.argv[1]))
"""


def done(start: list[str], words: list[str], folder: Path) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "COLOUR": "green"}
    process = subprocess.run(
        [*start, *words], cwd=folder, env=environment, input="typed", capture_output=True, text=True, check=False
    )
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["program.py", "3"],
        ["program.py", "0"],
        ["-m", "banksim", "pattern", "s[2 * threadIdx.x]", "--declare", "float s[64]"],
        ["-m", "banksim", "pattern", "s[", "--declare", "float s[64]"],
    ],
    ids=["status", "done", "command", "refused"],
)
def test_it_does_what_a_cold_process_does(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warmed = shlex.split(warm.starter())
    monkeypatch.setenv("WARM", "no longer that of the process that forks")
    (tmp_path / "program.py").write_text(PROGRAM)
    assert done(warmed, words, tmp_path) == done([sys.executable, "-P"], words, tmp_path)


def test_a_signal_is_an_exit_status_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    status, _, error = done(shlex.split(warm.starter()), ["program.py", "end"], tmp_path)
    assert (status, error) == (128 + 15, "told\n")
