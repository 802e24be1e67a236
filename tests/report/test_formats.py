"""Every form of a report holds what every other holds: the leaves of the JSON are asked for in each."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from banksim.__main__ import main
from banksim.banks.limits import Findings
from banksim.commands.check import FORMATS
from banksim.commands.shared import report_options
from banksim.report import github as github_module
from banksim.report.github import github
from helpers.fixtures import Patch, Said
from helpers.places import SARIF_SCHEMA

pytestmark = pytest.mark.usefixtures("by_nvrtc")

RACE = """\
#include <cstdio>
__global__ void race(float *out, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = out[threadIdx.x];
    float seen = tile[threadIdx.x][threadIdx.y] + tile[31 - threadIdx.x][7];
    out[32 * threadIdx.y + threadIdx.x] = seen;
    if (threadIdx.x == 0 && threadIdx.y == 0) printf("printed by block %d\\n", blockIdx.x);
}
"""
EXCUSE = '// banksim: allow(32, "cured next week")'
PROGRAM = """\
import numpy as np
from numba import cuda, float32

@cuda.jit
def columns(out):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = x
    cuda.syncthreads()
    out[y, x] = tile[x, y]

@cuda.jit
def racing(out):
    tile = cuda.shared.array(96, float32)
    x = cuda.threadIdx.x
    tile[x] = x
    out[x] = tile[(x + 32) % 96]

out = np.zeros((32, 32), np.float32)
columns[3, (32, 32)](out)
columns[5, (32, 32)](out)
racing[7, 96](np.zeros(96, np.float32))
"""
LAUNCH = ["--block", "32,32", "--arg", "float32[1024]", "--arg", "int32=5"]
TILE = ["t[threadIdx.x][threadIdx.y]", "t[0][threadIdx.x]", "--declare", "int t[32][33]", "--block", "32,5"]
COMMANDS = {
    "pattern": ["pattern", *TILE, "--arch", "tesla,fermi,sm_90"],
    "unknown": ["pattern", "atomicAdd(&c[threadIdx.x], 1)", "c[3]", "--declare", "int c[256]", "--arch", "fermi"],
    "kernel": [
        "kernel", "race.cu", "--grid", "3", *LAUNCH, "--check", "races,uninitialized", "--arch", "sm_90,kepler-4",
    ],
    "classes": ["kernel", "quiet.cu", "--grid", "70000", *LAUNCH],
    "time": ["kernel", "race.cu", "--grid", "3", *LAUNCH, "--timing"],
    "several": ["kernel", "quiet.cu", *LAUNCH, "--arch", "sm_90,sm_80,kepler-4"],
    "run": ["run", "--check", "races", "program.py"],
    "time of a program": ["run", "--timing", "program.py"],
}  # fmt: skip
SARIF = json.loads((SARIF_SCHEMA).read_text())
Leaf = tuple[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("formats")
    (made / "race.cu").write_text(RACE)
    (made / "quiet.cu").write_text(RACE.replace("printf(", "(void)(").replace("[7];", f"[7];  {EXCUSE}"))
    (made / "program.py").write_text(PROGRAM)
    return made


def leaves(plain: Any, path: str = "") -> Iterator[Leaf]:
    """Every value of plain data with its path; of a list of values all together."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(plain, list) and any(isinstance(one, dict | list) for one in plain):
        for value in plain:
            yield from leaves(value, f"{path}[]")
    else:
        yield path, plain


class Texts(HTMLParser):
    """The texts of a page, without its style and its script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.hidden = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.found.append(data.strip())


def printed(command: list[str], more: list[str], folder: Path, monkeypatch: Any, capsys: Any) -> str:
    """What a command prints for programs or people, 160 columns wide."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "160")
    words = [command[0], *more, *(["--output", "-"] if command[0] == "run" else []), *command[1:]]
    assert main(words) in (0, 1)
    said = capsys.readouterr()
    assert "internal error" not in said.err
    return str(said.out)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_page_holds_all_of_the_json(command: list[str], folder: Path, monkeypatch: Patch, capsys: Said) -> None:
    text = printed(command, ["--json", "--html", "page.html"], folder, monkeypatch, capsys)
    texts = set(Texts((folder / "page.html").read_text(encoding="utf-8")).found)
    for path, value in leaves(json.loads(text)):
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        shown = "–" if value is None else str(value).strip()
        assert not shown or shown in texts, (path, value)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_sarif_holds_all_of_the_json(command: list[str], folder: Path, monkeypatch: Patch, capsys: Said) -> None:
    plain = json.loads(printed(command, ["--json"], folder, monkeypatch, capsys))
    log = json.loads(printed(command, ["--format", "sarif"], folder, monkeypatch, capsys))
    jsonschema.validate(log, SARIF)
    assert log["runs"][0]["properties"]["report"] == plain


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"text"}))
def test_a_form_is_made_of_one_report_and_of_a_project_s(form: str) -> None:
    module = import_module(f"banksim.report.{form}")
    assert [*signature(module.project).parameters] == [*signature(github_module.project).parameters]
    if form in report_options.FORMATS:
        assert [*signature(getattr(module, form)).parameters] == [*signature(github).parameters]


NOT_FOR_PEOPLE = {
    r"schema|version|command": "what programs need to read the rest",
    r".*worst\.(mask|address|op|width|block|warp)": "drawn",
    r"(executions\[\]\.)?cycles\.(figures|held|resources|spent|launch\.limits)\..*": "sentences name those that matter",
    r"(executions\[\]\.)?cycles\.blocks\[\]\..*": "when each block began and ended",
    r"(executions\[\]\.)?cycles\.(lines\[\]\..*|assumed|launch\.occupancy)": "shares, and sums of some",
    r"(kernels\[\]\.)?conflicts\[\]\.sites\[\]\..*": "the accesses of a line together, and each in --sass",
    r"(executions\[\]\.)?(thread_instructions|profile\[\]\..*|instructions)": "by source line, and in --sass",
    r".*(findings|hints)\[\]\.((first|second|access)\.)?(opcode|offset|check)": "the line and what is done there",
    r".*hints\[\]\.(address|block)": "an example, which --check gives",
    r"conflicts\[\]\.(ideal|excess)": "of several architectures there is room for what follows from them",
    r".*checks": "there is a paragraph for each",
    r"kernels\[\]\.((thread_)?instructions|signature|shapes.*|time\..*|conflicts\[\]\.(ideal|excess))": "sums, ranges",
}
"""Leaves that a terminal is spared, and what it has instead."""


def test_the_page_shows_at_first_sight_what_matters(folder: Path, monkeypatch: Patch, capsys: Said) -> None:
    """Not only at its end, as plain data."""

    def page(name: str) -> str:
        printed(COMMANDS[name], ["--html", "page.html"], folder, monkeypatch, capsys)
        texts = Texts((folder / "page.html").read_text(encoding="utf-8")).found
        return "\n".join(texts[: texts.index("Everything")])

    race = page("kernel")
    assert "1 race in shared memory" in race
    assert "__syncthreads() is missing before race.cu:5" in race
    assert "printed by block 2" in race
    several = page("several")
    assert "kepler-4: judged on code of sm_90" in several
    assert 'Excused: quiet.cu:5: allow(32, "cured next week")' in several
    assert "measured, excused" in several
    assert "Time on one SM of sm_90" in page("time")
    program = page("run")
    for said in ("3 launches of 2 kernels", "columns", "racing", "1 race in shared memory"):
        assert said in program
    assert "timed cycles" in page("time of a program")
    assert "Totals are withheld: the count of 1 access is unknown." in page("unknown")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_text_holds_what_people_read_of_the_json(
    command: list[str], folder: Path, monkeypatch: Patch, capsys: Said
) -> None:
    plain = json.loads(printed(command, ["--json"], folder, monkeypatch, capsys))
    more = ["--picture", "all", *(["--all-lines"] if command[0] != "pattern" else [])]
    text = printed(command, [*more, *(["--sass"] if command[0] == "kernel" else [])], folder, monkeypatch, capsys)
    said = " ".join(text.split()).casefold()
    for path, value in leaves(plain):
        if not any(re.fullmatch(pattern, path) for pattern in NOT_FOR_PEOPLE):
            for one in value if isinstance(value, list) else [value]:
                assert any(spelled in said for spelled in spellings(one)), (path, one)


def spellings(value: Any) -> list[str]:
    """How a text may say a value."""
    if value is None or isinstance(value, bool):
        return [""]
    if isinstance(value, float):
        return [f"{value:,.2f}", f"{value:,.1f}", f"{value:.0%}"]
    return [f"{value:,}", f"{value:#06x}"] if isinstance(value, int) else [" ".join(value.split()).casefold()]


def test_annotations_tell_of_the_report_as_a_whole() -> None:
    """Of findings and of lines with conflicts there is one each; a line without is none's concern."""
    kernels = [{"kernel": "k", "partial": 2, "findings_lost": 3}]
    zeros = {"name": "mask", "bytes": 16, "file": "a.cu", "line": 7}
    whole = {"code": "sm_90", "judged_on_others_code": ["kepler-4", "sm_80"], "unfilled": [zeros]}
    plain = {"notes": ["so\nit is"], "kernels": kernels, "out_of_bounds": ["a store beyond"], **whole}
    assert github([], Findings(()), plain=plain).splitlines() == [
        "::warning title=banksim::a store beyond",
        "::warning title=banksim::__constant__ mask (16 bytes) was read at a.cu:7 and is all zeros: "
        "nobody filled it, give --constant mask=TYPE[SHAPE]=VALUE",
        "::notice title=banksim::kepler-4, sm_80: judged on code of sm_90",
        "::notice title=banksim::so%0Ait is",
        "::warning title=banksim::k: PARTIAL: interrupted before the end",
        "::warning title=banksim::k: 3 more findings found no room in this report",
    ]
