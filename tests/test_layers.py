"""The floors of the package, as [tool.importlinter] in pyproject.toml draws them: imports go only down."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.places import ROOT, TESTS, written_to

COMMAND = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def contracts(folder: Path) -> tuple[int, str]:
    """The exit status and the report of import-linter on the packages of a folder."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages, to add imports to."""
    folder = tmp_path_factory.mktemp("layers")
    for package in ("banksim", "cuda_kernels"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_imports_go_only_down() -> None:
    status, report = contracts(ROOT)
    assert status == 0, report


UPWARDS = [
    ("requests/trace.py", "def lazy():\n    import banksim.report.json", "trace -> banksim.report.json"),
    ("machine/addresses.py", "if TYPE_CHECKING:\n    import banksim.runs.run", "addresses -> banksim.runs.run"),
    ("commands/arch.py", "import banksim.commands.diff", "arch -> banksim.commands.diff"),
    ("machine/reference/block.py", "import banksim.machine.llvm.values", "block -> banksim.machine.llvm.values"),
    ("storage/npz.py", "import banksim.storage.csv", "npz -> banksim.storage.csv"),
    ("report/text/table.py", "import banksim.report.html.picture", "table -> banksim.report.html.picture"),
    ("errors.py", "import cuda_kernels.gpu", "errors -> cuda_kernels.gpu"),
]


@contextmanager
def with_lines(copy: Path, lines: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Lines at the ends of files of the copy."""
    before = {copy / "banksim" / file: (copy / "banksim" / file).read_text() for file, _ in lines}
    for file, line in lines:
        place = copy / "banksim" / file
        place.write_text(f"{before[place]}\n{line}\n")
    try:
        yield
    finally:
        for place, text in before.items():
            place.write_text(text)


@pytest.fixture(scope="module")
def told_of_all(copy: Path) -> tuple[int, str]:
    with with_lines(copy, [(file, line) for file, line, _ in UPWARDS]):
        return contracts(copy)


@pytest.mark.parametrize("told", [told for *_, told in UPWARDS])
def test_an_import_upwards_is_told_wherever_it_stands(told_of_all: tuple[int, str], told: str) -> None:
    status, report = told_of_all
    assert status == 1
    assert told in report, report


def test_a_circle_is_told(copy: Path) -> None:
    with with_lines(copy, [("machine/codes.py", "import banksim.machine.state")]):
        status, report = contracts(copy)
    assert status == 1
    assert "No cycles are allowed in banksim.machine." in report, report


def test_a_new_file_needs_a_floor(copy: Path) -> None:
    new = written_to(copy / "banksim" / "elsewhere.py", "")
    status, report = contracts(copy)
    new.unlink()
    assert status == 1
    assert "elsewhere" in report


FOLDERS = sorted(
    one.parent.relative_to(ROOT).as_posix()
    for one in (*ROOT.glob("banksim/**/__init__.py"), *ROOT.glob("cuda_kernels/**/__init__.py"))
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_map_of_a_folder_names_every_file(folder: str) -> None:
    text = (ROOT / folder / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    files = {one.name for one in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    folders = {f"{one.parent.name}/" for one in (ROOT / folder).glob("*/__init__.py")}
    assert not {name for name in files | folders if name not in text}


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.startswith("banksim/")])
def test_every_folder_has_its_tests_in_a_folder_of_the_same_name(folder: str) -> None:
    assert any((TESTS / folder.removeprefix("banksim/")).rglob("test_*.py"))


def test_contributing_names_every_room() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    floors = next(one["layers"] for one in linter["contracts"] if one.get("containers") == ["banksim"])
    rooms = {room for floor in floors for room in floor.split(" | ")} - {"__main__"}
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == rooms
