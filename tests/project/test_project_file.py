"""A project's file: what it says, and how what is wrong in it is told."""

from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest

from banksim.banks.limits import Limit
from banksim.errors import InputError
from banksim.project import keys
from banksim.project.file import find, read

GOOD = """\
[project]
name = "x"

[tool.banksim]
arch = ["H100", "kepler-4"]
include = "headers"
baseline = "accepted.json"

[[tool.banksim.kernels]]
kernel = "a.cu:copy<float, 32>"
name = "copy"
grid = [2, 2]
block = "32,8"
args = ["float32[64]=random", 2.5, -1, true]
constants = { taps = "float32[4]=arange", n = 4 }
dynamic-shared = 512
fail-above = ["degree=2", 100]
check = ["races", "uninitialized"]

[[tool.banksim.kernels]]
kernel = "b.py"
arch = "sm_80"

[[tool.banksim.programs]]
command = "main.py --size '6 4'"
inputs = []
whole = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.cu", "b.py"):
        (tmp_path / name).touch()
    return tmp_path


def project(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_an_entry_is_a_command(folder: Path) -> None:
    found = read(project(folder, GOOD))
    assert [one.name for one in found.entries] == ["copy", "b.py", "main.py --size 6 4"]
    copy, other, program = found.entries
    assert set(copy.words[1:-1]) == {
        "--grid=2,2", "--block=32,8", "--arg=float32[64]=random", "--arg=2.5", "--arg=-1", "--arg=True",
        "--constant=taps=float32[4]=arange", "--constant=n=4", "--dynamic-shared=512", "--check=races,uninitialized",
        "--arch=sm_90,kepler-4", "--include=headers",
    }  # fmt: skip
    assert (copy.words[0], copy.words[-1], copy.line) == ("kernel", "a.cu:copy<float, 32>", 9)
    assert copy.limits == (Limit("degree", 2, True), Limit("excess", 100))
    assert other.words == ("kernel", "--arch=sm_80", "b.py")  # headers are for CUDA C++
    assert other.limits == (Limit(),)
    assert program.words == ("run", "--arch=sm_90,kepler-4", "--whole", "main.py", "--size", "6 4")
    assert (other.inputs, program.inputs, found.baseline) == (None, (), "accepted.json")


@pytest.mark.parametrize(("command", "known"), [("kernel", keys.KERNEL), ("run", keys.PROGRAM)])
def test_a_key_is_an_option_of_its_command(command: str, known: dict[str, keys.Key]) -> None:
    parser = ArgumentParser()
    import_module(f"banksim.commands.{command}").options(parser)
    options = {word for action in parser._actions for word in action.option_strings}
    assert {key.option for key in known.values() if key.option} <= options


def test_banksim_toml_says_the_same(folder: Path) -> None:
    own = GOOD.partition("\n\n")[2].replace("[tool.banksim]\n", "").replace("tool.banksim.", "")
    one, other = read(project(folder, GOOD)), read(project(folder, own, "banksim.toml"))
    assert [(e.name, e.words, e.limits) for e in one.entries] == [(e.name, e.words, e.limits) for e in other.entries]
    assert other.entries[0].line == 5


def test_the_nearest_file_is_found(folder: Path) -> None:
    inner = folder / "deep" / "er"
    inner.mkdir(parents=True)
    with pytest.raises(InputError, match=r"no banksim\.toml.*in .*er or above: list kernels"):
        find(inner)
    outer = project(folder, GOOD)
    project(inner.parent, "[project]\nname = 'not for banksim'\n")
    assert find(inner) == outer
    assert find(folder) == outer
    own = project(folder, "", "banksim.toml")
    assert find(folder) == own


HEAD = "[[tool.banksim.kernels]]\nkernel = 'a.cu'\n"
LINE = "pyproject.toml:3: kernels[1]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.banksim\n", "pyproject.toml:1: no TOML: "),
        ("[tool.banksim]\narch = 'sm_90'\n", "pyproject.toml:1: kernels: no entry is there: list kernels or programs"),
        ("[tool]\nbanksim = 3\n", "pyproject.toml:2: tool.banksim: give a table"),
        (HEAD + "gird = 3\n", f"{LINE}.gird: there is no such key (did you mean grid?): give one of name, kernel, "),
        (HEAD + "grid = [1, 2, 3, 4]\n", f"{LINE}.grid: give one to three sizes such as [32, 16]"),
        (HEAD + "grid = 0\n", f"{LINE}.grid: give one to three sizes"),
        (HEAD + "args = [[1]]\n", f"{LINE}.args: give an array such as "),
        (HEAD + "constants = 'x=1'\n", f"{LINE}.constants: give a table such as "),
        (HEAD + "dynamic-shared = '1'\n", f"{LINE}.dynamic-shared: give a whole number"),
        (HEAD + "arch = 'sm_91'\n", f"{LINE}.arch: unknown architecture 'sm_91': give sm_90"),
        (HEAD + "arch = []\n", f"{LINE}.arch: give one architecture or several"),
        (HEAD + "fail-above = 'exces=1'\n", f"{LINE}.fail-above: exces=1: give a whole number of transactions"),
        (HEAD + "check = 'race'\n", f"{LINE}.check: race: there is no such check, choose races or uninitialized"),
        (HEAD + "name = 3\n", f"{LINE}.name: give a text in quotation marks"),
        ("[[tool.banksim.kernels]]\ngrid = 1\n", "pyproject.toml:1: kernels[1]: kernel is missing: give FILE:NAME"),
        ("[[tool.banksim.kernels]]\nkernel = 'c.cu:k'\n", "pyproject.toml:2: kernels[1].kernel: c.cu: no such file"),
        ("[[tool.banksim.programs]]\ncommand = \"x 'y\"\n", "pyproject.toml:2: programs[1].command: give a command as"),
        ("[[tool.banksim.programs]]\ncommand = '--json x'\n", "pyproject.toml:2: programs[1].command: give a program"),
        ("[[tool.banksim.programs]]\ncommand = 'x'\nwhole = 1\n", "pyproject.toml:3: programs[1].whole: give true or"),
        ("[tool.banksim]\nkernels = 3\n", "pyproject.toml:2: kernels: give an array of tables: [[tool."),
        ("[tool.banksim]\nkernels = [3]\n", "pyproject.toml:2: kernels[1]: give a table"),
        ("[tool.banksim]\narchs = 'x'\n" + HEAD, "pyproject.toml:2: archs: there is no such key (did you mean arch?)"),
        ("[tool.banksim]\narch = 'x y z'\n" + HEAD, "pyproject.toml:2: arch: unknown architecture 'x y z'"),
        (HEAD + "\n" + HEAD, "pyproject.toml:4: another entry is called 'a.cu' too (line 1): add name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, said: str, folder: Path) -> None:
    with pytest.raises(InputError) as found:
        read(project(folder, text))
    assert str(found.value).startswith(said)
    assert "\n" not in str(found.value)


def test_everything_wrong_is_told_at_once(folder: Path) -> None:
    with pytest.raises(InputError) as found:
        read(project(folder, "[tool.banksim]\nx = 1\n" + HEAD + "grid = 0\n" + HEAD + "name = 'b'\nblock = -1\n"))
    assert [line.split(": ")[:2] for line in str(found.value).splitlines()] == [
        ["pyproject.toml:2", "x"], ["pyproject.toml:5", "kernels[1].grid"], ["pyproject.toml:9", "kernels[2].block"],
    ]  # fmt: skip


def test_lines_are_not_those_of_texts_that_look_like_entries(folder: Path) -> None:
    text = '[project]\nabout = """\n[[tool.banksim.kernels]]\ngrid = 0\n"""\n' + HEAD + "grid = 0\n"
    with pytest.raises(InputError, match=r"^pyproject\.toml:8: kernels\[1\]\.grid"):
        read(project(folder, text))


def test_files_that_cannot_be_read_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: No such file"):
        read(folder / "no.toml")
    (folder / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"bytes\.toml: it is not UTF-8"):
        read(folder / "bytes.toml")


def test_entries_are_chosen_by_names_and_patterns(folder: Path) -> None:
    found = read(project(folder, GOOD))
    assert [one.name for one in found.chosen([])] == [one.name for one in found.entries]
    assert [one.name for one in found.chosen(["main*", "copy"])] == ["copy", "main.py --size 6 4"]
    with pytest.raises(InputError, match=r"pyproject.toml has no entry 'cpoy' \(did you mean copy\?\)"):
        found.chosen(["cpoy"])
