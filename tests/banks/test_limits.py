"""Limits, excuses, baselines; what review tools get; the pytest plugin in a project of someone else's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.banks.conflicts import Conflicts
from banksim.banks.limits import Findings, Guard, Limit, check, limit
from banksim.errors import InputError
from banksim.report.github import github
from banksim.report.sarif import sarif
from banksim.requests.trace import Site, Trace
from banksim.testing import assert_conflict_free
from helpers.commands import err_of, out_of, reported
from helpers.places import PACKAGES, PROGRAMS, SARIF_SCHEMA, written_to
from helpers.traces import strided

SCHEMA = json.loads((SARIF_SCHEMA).read_text())
COLUMN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]
KERNEL = """\
from numba import cuda, float32

@cuda.jit
def transpose(out, a):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]  # banksim: allow(2, "never needed")
    cuda.syncthreads()
    out[y, x] = tile[x, y]  # banksim: allow(32, "cured next week")
"""


def above(judged: Conflicts, *limits: str, **more: Any) -> list[str]:
    """The lines above limits."""
    return [one.site.text for one in check([judged], Guard(tuple(map(limit, limits)), **more)).above]


# ---- limits
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", []), ("3", Limit("excess", 3)), ("excess=3", Limit("excess", 3)),
        ("line-excess=3", Limit("excess", 3, True)), ("per-request=1.5", Limit("per-request", 1.5)),
        ("line-per-request=2", Limit("per-request", 2, True)), ("degree=4", Limit("degree", 4, True)),
    ],
)  # fmt: skip
def test_limits_are_read(text: str, expected: Limit | list[object]) -> None:
    assert limit(text) == (expected or Limit("excess", 0))
    assert limit(str(limit(text))) == limit(text)


@pytest.mark.parametrize("text", ["", "-1", "few", "ways=3", "degree", "degree=", "excess=nan", "1e3"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--fail-above"):
        limit(text)


def test_limits_on_all_lines_and_on_each() -> None:
    judged = strided(1, 2, 8)  # 1, 2 and 8 transactions: 0, 1 and 7 beyond the ideal
    assert above(judged, "excess=8") == []
    assert above(judged, "excess=7") == ["s[2 * t]", "s[8 * t]"]
    assert above(judged, "line-excess=6") == ["s[8 * t]"]
    assert above(judged, "line-excess=7") == []
    assert above(judged, "degree=2") == ["s[8 * t]"]
    assert above(judged, "degree=1") == ["s[2 * t]", "s[8 * t]"]
    assert above(judged, "per-request=3.66") == ["s[2 * t]", "s[8 * t]"]
    assert above(judged, "per-request=3.67") == []
    assert above(judged, "line-per-request=2") == ["s[8 * t]"]


def test_limits_of_a_program_are_those_of_each_kernel() -> None:
    bad, good = strided(2), strided(1, 1, 1)
    both = Conflicts(bad.arch, bad.sites + good.sites)  # together 5 transactions of 4 requests
    guard = Guard((limit("per-request=1.5"),))
    assert not check([both], guard).above
    assert [one.site.text for one in check([both], guard, [[bad], [good]]).above] == ["s[2 * t]"]
    assert not check([both], Guard((limit("excess=1"),)), [[bad], [bad], [good]]).above


def test_a_program_s_report_is_its_baseline(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = str(PROGRAMS / "transpose.py")
    assert reported(tmp_path, program)[0] == 0
    guarded = ["run", "--output", str(tmp_path / "again.txt"), "--fail-above"]
    assert main([*guarded, "per-request=16.6", program]) == 0
    assert main([*guarded, "per-request=16.4", program]) == 1
    assert capfd.readouterr().err.endswith("32-way on sm_90, above per-request=16.4\n")
    assert main([*guarded, "0", "--baseline", str(tmp_path / "report.json"), program]) == 0


def test_what_nobody_knows_is_above_every_limit() -> None:
    trace = Trace.from_arrays("atom", 4, 0xFFFFFFFF, np.zeros(32, int), sites=[Site(text="atomicAdd(…)")])
    assert above(banksim.replay(trace, "kepler-4"), "1000000") == ["atomicAdd(…)"]


def test_lines_above_a_limit_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COLUMN, "--json", "--fail-above", "degree=31", "--fail-above", "992"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["command"] == "pattern"
    assert said.err == (
        "banksim: tile[threadIdx.x][threadIdx.y]: ld 4 B, 992 transactions beyond 32, 32.00 per request, 32-way "
        "on sm_90, above degree=31\n"
    )


# ---- excuses
@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A source at the root of a project, which is named from there whatever lies above."""
    (tmp_path / ".git").mkdir()
    return tmp_path / "k.cu"


def test_a_comment_excuses_its_line_up_to_its_limit(file: Path) -> None:
    file.write_text('a; // banksim: allow(4, "four are fine")\nb; // banksim: allow(4, "not eight")\nc;\n')
    found = check([strided(4, 8, 2, file=file)], Guard((Limit(),)))
    assert [one.site.line for one in found.above] == [2, 3]
    assert [(site.line, excuse.reason) for site, excuse in found.excused] == [(1, "four are fine")]
    assert [str(excuse) for _, excuse in found.exceeded] == ['k.cu:2: allow(4, "not eight")']
    assert found.unused == ()


def test_a_cost_that_nobody_knows_has_an_excuse_of_its_own(file: Path) -> None:
    file.write_text('a; // banksim: allow(unknown, "a mix")\nb; // banksim: allow(32, "is known")\n')
    sites = [Site("ATOM", 16 * line, str(file), line, "mixed") for line in (1, 2)]
    judged = banksim.replay(Trace.from_arrays("remote", 4, 1, np.zeros((2, 32), int), site=[0, 1], sites=sites))
    found = check([judged], Guard((limit("0"),)))
    assert [(site.line, excuse.reason) for site, excuse in found.excused] == [(1, "a mix")]
    assert [site.line for site, _ in found.exceeded] == [2]
    assert [one.site.line for one in found.above] == [2]


def test_what_is_excused_is_not_part_of_the_total(file: Path) -> None:
    file.write_text("a; // banksim: allow(32, 'known')\nb;\n")
    assert above(strided(32, 2, file=file), "excess=1") == []
    assert above(strided(32, 4, file=file), "excess=1") == ["s[4 * t]"]


def test_an_excuse_without_a_reason_excuses_nothing(file: Path) -> None:
    file.write_text('a; // banksim: allow(32)\nb; // banksim: allow(unknown, "")\nc; // banksim: allow(8)\n')
    found = check([strided(4, 8, 1, file=file)], Guard((Limit(),)))
    assert [one.site.line for one in found.above] == [1, 2]
    assert [str(excuse) for _, excuse in found.exceeded] == [
        'k.cu:1: allow(32) gives no reason, as allow(32, "why") does',
        'k.cu:2: allow(unknown) gives no reason, as allow(unknown, "why") does',
    ]
    assert [excuse.line for excuse in found.unused] == [3]


def test_an_unused_excuse_is_reported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file.with_name("kernel.py")
    file.write_text(KERNEL)
    words = ["kernel", f"{file}:transpose", "--block", "32,32", "--arg", "float32[32,32]", "--arg", "float32[32,32]"]
    assert main([*words, "--fail-above", "0"]) == 0
    assert capsys.readouterr().err == 'banksim: unused excuse: kernel.py:7: allow(2, "never needed")\n'


# ---- baseline
def test_only_what_is_worse_than_the_baseline_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = written_to(tmp_path / "baseline.json", out_of(capsys, [*COLUMN, "--json"]))
    guarded = ["--fail-above", "0", "--baseline", str(baseline), "--no-picture"]
    assert main([*COLUMN, *guarded]) == 0
    assert main([*COLUMN, "tile[threadIdx.x][0]", *guarded]) == 1
    assert re.findall(r"banksim: (.*?):", capsys.readouterr().err) == ["tile[threadIdx.x][0]"]
    wider = [word.replace("tile[32][32]", "tile[32][64]") for word in COLUMN]
    assert main([*wider, *guarded]) == 0
    assert main([*COLUMN, "--grid", "2", *guarded]) == 1


def test_bad_baselines_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = written_to(tmp_path / "odd.json", "[]")
    empty = written_to(tmp_path / "empty.json", '{"conflicts": []}')
    for words, complaint in [
        (["--baseline", str(odd)], "give a limit too"),
        (["--baseline", str(odd), "--fail-above", "0"], "no report of banksim"),
        (["--baseline", str(empty), "--fail-above", "0"], "was judged by nothing, not by sm_90"),
        (["--baseline", "missing", "--fail-above", "0"], "missing: No such file"),
    ]:
        error = err_of(capsys, [*COLUMN, "--no-picture", *words])
        assert complaint in error
        assert error.count("\n") == 1


# ---- review tools
def test_github_gets_an_annotation_for_each_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a,b:c%.cu"
    file.write_text('x;\ny; // banksim: allow(4, "fine")\nz;\n// banksim: allow(2, "unused")\nw;\n')
    judged = strided(1, 4, 2, 1, 8, file=file)
    assert github([judged], check([judged], Guard((limit("line-excess=1"),)))).splitlines() == [
        "::notice file=a%2Cb%3Ac%25.cu,line=2,title=Shared-memory bank conflict%2C excused::s[4 * t]: ld 4 B, 3 "
        "transactions beyond 1, 4.00 per request, 4-way on sm_90 (measured); excused: fine",
        "::warning file=a%2Cb%3Ac%25.cu,line=3,title=Shared-memory bank conflict::s[2 * t]: ld 4 B, 1 transaction "
        "beyond 1, 2.00 per request, 2-way on sm_90 (measured)",
        "::error file=a%2Cb%3Ac%25.cu,line=5,title=Shared-memory bank conflict::s[8 * t]: ld 4 B, 7 transactions "
        "beyond 1, 8.00 per request, 8-way on sm_90 (measured)",
        "::notice file=a%2Cb%3Ac%25.cu,line=4,title=Unused excuse::"
        + f'{file.name}:4: allow(2, "unused")'.replace("%", "%25"),
    ]


def test_nothing_in_a_source_line_makes_an_annotation_of_its_own() -> None:
    evil = Site(text="s[t]\n::error::injected\r%0A::set-output name=x::y", file="k.cu", line=1)
    address = np.arange(32) * 8
    judged = banksim.replay(Trace.from_arrays("ld", 4, 0xFFFFFFFF, address, sites=[evil]))
    assert len(github([judged], Findings(())).splitlines()) == 1


def test_no_conflict_is_no_annotation() -> None:
    assert github([strided(1)], Findings(())) == "No conflicts."


def test_sarif_is_what_its_schema_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = written_to(tmp_path / "some kernel.cu", 'x;\ny; // banksim: allow(4, "fine")\n')
    judged = strided(8, 4, 1, file=file)
    log = json.loads(sarif([judged], check([judged], Guard((Limit(),)))))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    first, second = log["runs"][0]["results"]
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("some%20kernel.cu", 1)
    assert (first["level"], "suppressions" in first) == ("error", False)
    assert (second["level"], second["suppressions"]) == ("warning", [{"kind": "inSource", "justification": "fine"}])


def test_the_schema_finds_mistakes() -> None:
    log = json.loads(sarif([strided(2)], Findings(())))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(log)


@pytest.mark.parametrize("arch", ["sm_90", "tesla,kepler-4"])
def test_commands_write_sarif_and_annotations(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads(out_of(capsys, [*COLUMN, "atomicAdd(&tile[0][0], 1)", "--format", "sarif", "--arch", arch]))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert log["runs"][0]["results"]
    assert main([*COLUMN, "--format", "github", "--arch", arch, "--fail-above", "0"]) == 1
    assert capsys.readouterr().out.startswith("::error title=Shared-memory bank conflict::tile[threadIdx.x]")
    assert main([*COLUMN, "--format", "github", "--json"]) == 2


# ---- pytest
def test_assert_conflict_free_fails_with_the_report(tmp_path: Path) -> None:
    file = written_to(tmp_path / "guarded.py", KERNEL.replace("banksim: allow(32", "(no"))
    from banksim.runs.python_file import load_python

    kernel = load_python(file).transpose
    args = [np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)]
    with pytest.raises(AssertionError) as failure:
        assert_conflict_free(kernel, 1, (32, 32), args)
    message = str(failure.value)
    assert "guarded.py:9" in message.splitlines()[0]
    assert "992 transactions beyond 32" in message.splitlines()[0]
    assert "transpose: bank conflicts on sm_90" in message
    done = assert_conflict_free(kernel, 1, (32, 32), args, limits=["excess=992", "degree=32"])
    assert done.conflicts.excess == 992


FOREIGN = """\
import numpy as np
import pytest
from kernel import transpose

ARGS = [np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)]

def test_by_the_option(assert_conflict_free):
    run = assert_conflict_free(transpose, 1, (32, 32), ARGS)
    assert [one.arch.name for one in run.judged] == ["kepler-4", "sm_90"]

@pytest.mark.banksim_arch("fermi")
def test_by_the_marker(assert_conflict_free):
    run = assert_conflict_free(transpose, 1, (32, 32), ARGS, limits="degree=32")
    assert [one.arch.name for one in run.judged] == ["fermi"]
"""


def test_the_plugin_serves_another_project_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "test_foreign.py").write_text(FOREIGN)
    root = str(PACKAGES)
    environment = {**os.environ, "PYTHONPATH": root, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider"]

    def pytest_in_project(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    done = pytest_in_project("-p", "banksim.testing", "--banksim-arch", "kepler-4,sm_90")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    without = pytest_in_project()
    assert "'banksim_arch' not found in `markers`" in without.stdout
