"""The README says what is so: every command in it prints what stands under it, and so do the examples."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import goldens
from helpers.goldens import assert_golden
from helpers.places import EXAMPLES, PACKAGES, ROOT

README = ROOT / "README.md"
SESSION = re.compile(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```\n", re.DOTALL)


def output_of(command: list[str], folder: str = "") -> str:
    """What a command prints at 80 columns in the root of the checkout; it must succeed."""
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def run(words: list[str]) -> str:
    assert words[0] == "banksim"
    return output_of([sys.executable, "-P", "-m", *words])


sessions = [match.groups() for match in SESSION.finditer(README.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("command", "output"), sessions, ids=[command for command, _ in sessions])
def test_a_command_prints_what_the_readme_shows(command: str, output: str) -> None:
    found = run(shlex.split(command))
    rewrite(f"$ {command}\n", output, found)
    assert f"$ {command}\n{found}```\n" in README.read_text(encoding="utf-8")


def rewrite(before: str, output: str, found: str) -> None:
    """With --rewrite-goldens, put what was found in the place of what the README shows."""
    if goldens.rewriting:
        text = README.read_text(encoding="utf-8")
        README.write_text(text.replace(before + output, before + found), encoding="utf-8")


def test_a_program_prints_what_the_readme_shows() -> None:
    text = README.read_text(encoding="utf-8")
    match = re.search(r"```python\n(?P<program>.*?)```\n\n```text\n(?P<output>.*?)```\n", text, re.DOTALL)
    assert match is not None
    found = output_of([sys.executable, "-P", "-c", match["program"]], str(EXAMPLES))
    rewrite(match["program"] + "```\n\n```text\n", match["output"], found)
    assert f"```text\n{found}```\n" in README.read_text(encoding="utf-8")


def test_the_commands_on_traces_work_one_after_the_other(tmp_path: Path) -> None:
    section = README.read_text(encoding="utf-8").partition("## Traces")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    commands = [shlex.split(line) for line in block[1].splitlines()]
    assert [words[:2] for words in commands] == [
        ["banksim", name] for name in ("kernel", "replay", "pattern", "pattern", "diff")
    ]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    (tmp_path / "examples").symlink_to(EXAMPLES)
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_readme_shows_the_commands_that_matter() -> None:
    assert {command.split()[1] for command, _ in sessions} >= {"pattern", "kernel"}


reports = sorted(path.name for path in (EXAMPLES).glob("*.py") if "print(" in path.read_text())


@pytest.mark.parametrize("name", reports)
def test_an_example_prints_its_report(name: str) -> None:
    assert_golden(output_of([sys.executable, "-P", f"examples/{name}"]), f"example-{name.removesuffix('.py')}")


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    section = README.read_text(encoding="utf-8").partition("## Tests")[2]
    command = re.search(r"```sh\n(.*)\n```", section)
    assert command is not None
    assert command[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
