"""`banksim check`: the entries of a project judged together, in every form, from the cache and against a baseline."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from banksim.__main__ import main
from banksim.project import from_plain
from banksim.project.execute import Commands, Executed
from banksim.project.file import Entry
from banksim.project.files_read import own
from helpers.commands import err_of
from helpers.fixtures import Patch, Said
from helpers.places import PACKAGES, SARIF_SCHEMA, written_to

KERNELS = """\
#include "pad.h"
__global__ void transpose(float *out, const float *in) {
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.y][threadIdx.x] = in[32 * threadIdx.y + threadIdx.x];
    __syncthreads();
    out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void row(float *out) {
    __shared__ float s[32];
    s[threadIdx.x] = out[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void race(float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""
PROJECT = """\
[tool.banksim]
arch = "sm_90"

[[tool.banksim.kernels]]
name = "transpose"
kernel = "source/kernels.cu:transpose"
block = [32, 32]
args = ["float32[32,32]", "float32[32,32]=random"]
arch = ["sm_90", "kepler-4"]

[[tool.banksim.kernels]]
name = "row"
kernel = "source/kernels.cu:row"
args = ["float32[32]"]

[[tool.banksim.kernels]]
name = "race"
kernel = "source/kernels.cu:race"
block = 64
args = ["float32[64]"]
check = "races"

[[tool.banksim.kernels]]
name = "absent"
kernel = "source/kernels.cu:rwo"

[[tool.banksim.programs]]
name = "program"
command = "source/program.py 0"

[[tool.banksim.programs]]
name = "broken"
command = "source/program.py 3"
"""
PROGRAM = "import sys\nprint('its own output')\nsys.exit(int(sys.argv[1]))\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with entries that pass, fail, and cannot be judged."""
    root = tmp_path_factory.mktemp("project")
    (root / ".git").mkdir()
    (root / "source").mkdir()
    (root / "source" / "kernels.cu").write_text(f"{KERNELS}// {root}: no verdict of an earlier run is found\n")
    (root / "source" / "pad.h").write_text("#define PAD 0\n")
    (root / "source" / "program.py").write_text(PROGRAM)
    (root / "pyproject.toml").write_text(PROJECT)
    return root


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")


EXECUTED: dict[str, Executed] = {}


@pytest.fixture
def executed_once(monkeypatch: Patch) -> None:
    """For tests of how verdicts are told, each entry's command is run once: those that fail, and programs whose inputs
    nobody names, would be anew each time."""
    execute = Commands.execute

    def once(self: Commands, entry: Entry) -> Executed:
        if entry.name not in EXECUTED:
            EXECUTED[entry.name] = execute(self, entry)
        return EXECUTED[entry.name]

    monkeypatch.setattr(Commands, "execute", once)


def found(words: list[str], capsys: Said, status: int) -> str:
    assert main(["check", *words]) == status
    return capsys.readouterr().out


def entries(words: list[str], capsys: Said, status: int) -> Mapping[str, Any]:
    report = json.loads(found([*words, "--format", "json"], capsys, status))
    return {one["name"]: one for one in report["entries"]}


@pytest.mark.usefixtures("executed_once")
def test_every_entry_has_its_verdict(folder: Path, capsys: Said) -> None:
    each = entries([], capsys, 2)
    assert {name: one["outcome"] for name, one in each.items()} == {
        "transpose": "failed", "row": "passed", "race": "failed", "absent": "error", "program": "passed",
        "broken": "error",
    }  # fmt: skip
    by_arch = {one["arch"]: one["transactions"] for one in each["transpose"]["report"]["conflicts"]}
    assert by_arch == {"sm_90": 1056, "kepler-4": 544}
    assert each["transpose"]["reasons"] == [
        "source/kernels.cu:6  out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];: "
        f"ld 4 B, {excess} transactions beyond 32, {each_request} per request, {ways} on {arch}, above excess=0"
        for excess, each_request, ways, arch in [
            (992, "32.00", "32-way", "sm_90"),
            (480, "16.00", "16-way", "kepler-4"),
        ]
    ]
    assert each["race"]["reasons"] == [
        "race: write at source/kernels.cu:16 and read at source/kernels.cu:17: __syncthreads() is missing before "
        "source/kernels.cu:17."
    ]
    assert each["absent"]["error"].startswith("source/kernels.cu has no kernel 'rwo': it has row")
    assert "ended with status 3" in each["broken"]["error"]


@pytest.mark.usefixtures("executed_once")
def test_the_exit_status_is_the_worst(folder: Path, capsys: Said) -> None:
    for names, status in ([["row"], 0], [["row", "transpose"], 1], [["row", "absent"], 2], [["r*"], 1]):
        found(list(names), capsys, int(str(status)))


def test_what_was_judged_is_what_the_command_prints(folder: Path, capsys: Said) -> None:
    """An entry's command by hand gives the same report, and objects made of it say the same again."""
    listed = json.loads(found(["--list", "--format", "json"], capsys, 0))["entries"]
    for one in listed:
        if one["name"] not in ("transpose", "race"):
            continue
        main([*one["command"], "--json"])
        report = json.loads(capsys.readouterr().out)
        checked = entries([one["name"]], capsys, 1)[one["name"]]["report"]
        assert checked["conflicts"] == report["conflicts"]
        assert [finding["first"] for finding in checked["findings"]] == [f["first"] for f in report["findings"]]
        again = [conflicts.to_json() for conflicts in from_plain.conflicts(report["conflicts"], lambda file: file)]
        without = [{**c, "sites": [{**site, "worst": None} for site in c["sites"]]} for c in report["conflicts"]]
        assert json.loads(json.dumps(again)) == without
        findings = [from_plain.finding(finding, lambda file: file).to_json() for finding in report["findings"]]
        assert json.loads(json.dumps(findings)) == report["findings"]


def test_only_what_changed_is_judged_again(folder: Path, capsys: Said) -> None:
    found(["transpose", "program"], capsys, 1)
    each = entries(["transpose", "program"], capsys, 1)
    assert (each["transpose"]["cached"], each["program"]["cached"]) == (True, False)  # nobody named its inputs
    assert not entries(["transpose", "--no-cache"], capsys, 1)["transpose"]["cached"]
    header = written_to(folder / "source" / "pad.h", "#define PAD 1\n")
    try:
        cured = entries(["transpose"], capsys, 0)["transpose"]
        assert (cured["cached"], cured["outcome"]) == (False, "passed")
    finally:
        header.write_text("#define PAD 0\n")


def test_a_program_is_kept_by_what_it_reads(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "helper.py").write_text("data = open('data.txt').read()\n")
    program = f"import helper\nassert helper.data != 'wrong'\n# {tmp_path}: no report of an earlier run is found\n"
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "data.txt").write_text("1")
    project = tmp_path / "banksim.toml"
    project.write_text("[[programs]]\nname = 'it'\ncommand = 'program.py'\ninputs = ['named.*']\n")
    words = ["--project", str(project)]
    assert [entries(words, capsys, 0)["it"]["cached"] for _ in range(2)] == [False, True]
    for name, content in (("data.txt", "2"), ("helper.py", "data = 3\n"), ("named.bin", "")):
        (tmp_path / name).write_text(content)
        assert [entries(words, capsys, 0)["it"]["cached"] for _ in range(2)] == [False, True], name
    (tmp_path / "helper.py").write_text("data = 'wrong'\n")
    assert entries(words, capsys, 2)["it"]["error"]


def test_bytecode_that_is_kept_elsewhere_stands_for_its_source(tmp_path: Path, monkeypatch: Patch) -> None:
    """As PYTHONPYCACHEPREFIX has it."""
    source = written_to(tmp_path / "helper.py", "")
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    assert own([cache_from_source(str(source))]) == {str(source)}


def test_a_program_of_which_no_launch_was_chosen_is_not_judged(tmp_path: Path, capsys: Said) -> None:
    """A kernel that has another name now would else never be checked again."""
    text = "import numpy\nfrom numba import cuda\n\n@cuda.jit\ndef now(a):\n    a[0] = 1\n\nnow[1, 1](numpy.zeros(1))\n"
    (tmp_path / "program.py").write_text(text)
    project = written_to(
        tmp_path / "banksim.toml", "[[programs]]\nname = 'it'\ncommand = 'program.py'\nkernel-name = 'before'\n"
    )
    it = entries(["--project", str(project)], capsys, 2)["it"]
    assert it["error"] == "no launch was chosen, so nothing was checked: launched were now"


@pytest.mark.usefixtures("executed_once")
@pytest.mark.parametrize("width", ["80", "160"])
def test_the_table_names_what_failed(width: str, folder: Path, capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    text = found([], capsys, 2)
    assert max(map(len, text.splitlines())) <= int(width)
    for part in (
        "transpose on kepler-4", "FAILED race", "ERROR absent", "above excess=0", "6 entries: 2 passed, 2 failed",
    ):  # fmt: skip
        assert part in text
    assert "its own output" not in text


# ---- forms for other programs
@pytest.mark.usefixtures("executed_once")
def test_github_gets_the_annotations_of_all_entries(folder: Path, capsys: Said) -> None:
    lines = found(["--format", "github"], capsys, 2).splitlines()
    assert "::error file=source/kernels.cu,line=6,title=Shared-memory bank conflict::" in lines[0]
    assert any(line.startswith("::error file=source/kernels.cu,line=17,title=Shared-memory race::") for line in lines)
    assert any(line.startswith("::error title=banksim check,file=pyproject.toml,line=23::absent: ") for line in lines)


@pytest.mark.usefixtures("executed_once")
def test_sarif_is_one_log_of_all_entries(folder: Path, capsys: Said) -> None:
    log = json.loads(found(["--format", "sarif"], capsys, 2))
    jsonschema.validate(log, json.loads(SARIF_SCHEMA.read_text()))
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    told = [(one["properties"]["entry"], rules[one["ruleIndex"]]["id"], one["level"]) for one in run["results"]]
    assert told == [
        ("transpose", "bank-conflict", "error"), ("transpose", "bank-conflict", "error"),
        ("race", "shared-memory-race", "error"),
    ]  # fmt: skip
    assert all(one["ruleId"] == rules[one["ruleIndex"]]["id"] for one in run["results"])
    assert not run["invocations"][0]["executionSuccessful"]


@pytest.mark.usefixtures("executed_once")
def test_junit_has_a_case_for_each_entry(folder: Path, capsys: Said) -> None:
    """As the schemas of Ant and of Jenkins have it: one suite with its date and counts, properties, cases with name,
    class, time and one reason at most, then what was printed."""
    text = found(["--format", "junit"], capsys, 2)
    suites = ElementTree.fromstring(text)
    [suite] = suites
    assert (suites.tag, suites.attrib, suite.tag) == ("testsuites", {}, "testsuite")
    told = ["name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"]
    assert list(suite.attrib) == told
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    first, *cases, printed, errors = suite
    assert (first.tag, {case.tag for case in cases}) == ("properties", {"testcase"})
    assert (printed.tag, errors.tag, errors.text) == ("system-out", "system-err", None)
    assert (printed.text or "").splitlines()[0] == "transpose"
    reasons = {case.get("name"): [one.tag for one in case] for case in cases}
    assert reasons == {
        "transpose": ["failure"], "row": [], "race": ["failure"], "absent": ["error"], "program": [],
        "broken": ["error"],
    }  # fmt: skip
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "2", "2", "0"]
    for case in cases:
        assert list(case.attrib) == ["name", "classname", "time"]
        assert str(case.get("classname")).startswith("banksim.")
        assert float(str(case.get("time"))) >= 0
        assert all(one.get("message") and one.get("type") for one in case if one.tag in ("failure", "error"))


# ---- the baseline
def test_a_baseline_accepts_what_is_there_and_nothing_worse(folder: Path, capsys: Said) -> None:
    words = ["transpose", "row", "--baseline", "accepted.json"]
    assert "accepted.json: No such file or directory: make it with banksim check" in err_of(capsys, ["check", *words])
    found([*words, "--update-baseline"], capsys, 0)
    written = json.loads(Path("accepted.json").read_text())
    assert written["entries"]["transpose"]["sm_90"][0]["file"] == "source/kernels.cu"
    found(words, capsys, 0)
    found(["r*", "--baseline", "accepted.json"], capsys, 1)  # races are never accepted
    for site in written["entries"]["transpose"]["sm_90"]:
        site["excess"] -= 1
    Path("accepted.json").write_text(json.dumps(written))
    assert len(entries(words, capsys, 1)["transpose"]["reasons"]) == 1
    Path("accepted.json").write_text("{}")
    assert "accepted.json: no baseline: make it anew" in err_of(capsys, ["check", *words])


@pytest.mark.usefixtures("executed_once")
def test_a_baseline_is_written_only_when_all_could_be_judged(folder: Path, capsys: Said) -> None:
    assert "names no file: add baseline" in err_of(capsys, ["check", "--update-baseline"])
    assert main(["check", "--baseline", "new.json", "--update-baseline"]) == 2
    assert "new.json: left as it is, since absent, broken could not be judged" in capsys.readouterr().err
    assert not Path("new.json").exists()


# ---- pytest
def test_the_plugin_collects_the_entries_when_asked(folder: Path) -> None:
    """All from one process, which imports pytest and banksim once."""
    (folder / "test_own.py").write_text("def test_of_its_own(): pass\n")
    ini = ["-o", "banksim_project=pyproject.toml"]
    runs = [
        [], ["--banksim-project=pyproject.toml"], [*ini, "pyproject.toml::row"], [*ini, "test_own.py"],
        [*ini, "--collect-only"],
    ]  # fmt: skip
    options = ["-p", "banksim.testing", "-p", "no:cacheprovider", "-v", "-rN"]
    each = f"import pytest\nfor words in {runs}:\n    pytest.main([*{options}, *words])\n    print('ended', flush=True)"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "COLUMNS": "160", "PYTEST_ADDOPTS": ""}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # most of the time would be theirs
    done = subprocess.run(
        [sys.executable, "-c", each], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    unasked, asked, entry, own, collected, _ = done.stdout.split("\nended\n")
    assert "1 passed" in unasked
    for name, outcome in (("transpose", "FAILED"), ("row", "PASSED"), ("absent", "FAILED"), ("program", "PASSED")):
        assert f"pyproject.toml::{name} {outcome}" in asked
    assert "4 failed, 3 passed" in asked
    assert "32-way on sm_90, above excess=0" in asked
    assert "1 passed" in entry
    assert "1 passed" in own
    assert "7 tests collected" in collected
