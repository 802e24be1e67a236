"""What got better or worse: lines are found again though they moved or changed, and a regression is exit status 1."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from banksim.__main__ import main
from banksim.banks.comparison import Comparison, Line, compare, from_conflicts, from_json
from banksim.banks.pieces import replay
from banksim.errors import InputError
from banksim.report.text.comparison import report
from banksim.requests.counts import Range
from banksim.requests.trace import Site, Trace
from helpers.commands import out_of, refused
from helpers.fixtures import Said
from helpers.goldens import assert_golden
from helpers.places import written_to


def line(number: int | None, text: str, transactions: object, excess: object = 0, file: str | None = "k.cu") -> Line:
    return Line(file, number, text, transactions, excess)  # type: ignore[arg-type]


def verdicts(before: list[Line], after: list[Line]) -> list[tuple[str, str, int | None]]:
    return [(one.label, one.verdict, one.difference) for one in compare("sm_90", before, after).changes]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (line(4, "a = s[t]", 32), line(4, "a = s[t]", 64), ("worse", 32)),
        (line(4, "a = s[t]", 64), line(4, "a = s[t]", 32), ("better", -32)),
        (line(4, "a = s[t]", 64), line(4, "a = s[t]", 64), ("same", 0)),
        (line(4, "a = s[t]", 64), line(9, "a = s[t]", 64), ("same", 0)),
        (line(4, "a = s[t]", 64), line(4, "a = s[t ^ 1]", 65), ("worse", 1)),
        (line(None, "s[t]", 64, file=None), line(None, "s[t]", 65, file=None), ("worse", 1)),
        (line(4, "a = s[t]", Range(4, 8)), line(4, "a = s[t]", Range(4, 9)), ("worse", 1)),
        (line(4, "a = s[t]", Range(4, 8)), line(4, "a = s[t]", Range(3, 8)), ("better", 0)),
        (line(4, "a = s[t]", None, None), line(4, "a = s[t]", 64), ("unknown", None)),
        (line(4, "a = s[t]", 64), line(4, "a = s[t]", None, None), ("unknown", None)),
    ],
)
def test_what_became_of_a_line(before: Line, after: Line, found: tuple[str, int | None]) -> None:
    [(_, *rest)] = verdicts([before], [after])
    assert tuple(rest) == found


def test_lines_that_moved_go_with_themselves() -> None:
    before = [line(4, "s[t] = 1", 10), line(5, "a = s[t]", 20), line(6, "s[t] = 1", 30)]
    after = [line(5, "s[t] = 1", 10), line(6, "b = s[u]", 1), line(7, "a = s[t]", 21), line(8, "s[t] = 1", 30)]
    assert verdicts(before, after) == [
        ("k.cu:5  a = s[t]", "worse", 1), ("k.cu:6  b = s[u]", "new", 1),
        ("k.cu:4  s[t] = 1", "same", 0), ("k.cu:6  s[t] = 1", "same", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("excess", "fails"), [(0, False), (1, True), (Range(0, 3), True)])
def test_a_new_line_is_a_regression_if_it_has_conflicts(excess: object, fails: bool) -> None:
    assert compare("sm_90", [], [line(4, "a = s[t]", 5, excess)]).is_regression is fails


def test_a_line_that_is_gone_is_none() -> None:
    found = compare("sm_90", [line(4, "a = s[t]", 5, 4)], [])
    assert (found.changes[0].verdict, found.is_regression, found.total.difference) == ("gone", False, -5)


some_lines = st.lists(
    st.builds(line, st.integers(1, 5), st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 9)), st.just(0)),
    max_size=6,
    unique_by=lambda one: (one.line, one.text),
)


@given(some_lines, some_lines)
def test_no_line_is_lost_and_totals_are_those_of_the_lines(before: list[Line], after: list[Line]) -> None:
    found = compare("sm_90", before, after)
    assert sum(one.verdict != "new" for one in found.changes) >= len(before)
    assert sum(one.verdict != "gone" for one in found.changes) >= len(after)
    if all(one.transactions is not None for one in [*before, *after]):
        assert found.total.difference == sum(one.difference or 0 for one in found.changes)
    assert not compare("sm_90", [one for one in before if one.transactions is not None], []).is_regression


def test_json_and_traces_say_the_same() -> None:
    trace = Trace.from_arrays(
        "ld", 4, 0xFFFFFFFF, [[128 * n for n in range(32)]] * 3, site=[0, 1, 1],
        sites=[Site("LDS", 0, "k.cu", 4, "a = s[t]"), Site("LDS", 16, "k.cu", 4, "a = s[t]")],
    )  # fmt: skip
    for name in ("sm_90", "tesla"):
        judged = [replay(trace, name)]
        text = json.dumps({"conflicts": [one.to_json() for one in judged]})
        assert from_json(text, "-") == from_conflicts(judged)
    assert [one.transactions for one in from_conflicts([replay(trace)])["sm_90"]] == [96]


def test_the_report() -> None:
    before = [line(4, "s[t] = 1", 10), line(5, "a = s[t]", 2000), line(9, "b = s[u]", 32, 30), line(12, "c = s[u]", 4)]
    after = [line(4, "s[t] = 1", 10), line(5, "a = s[t]", 1000), line(9, "b = s[u]", 64, 30), line(11, "d", None, None)]
    text = "\n=====\n".join(
        Text("\n").join([report([compare("sm_90", a, b)], width)]).plain
        for a, b in ((before, after), (before, before), (after[:2], before[:2]), ([], []))
        for width in (80, 24)
    )
    assert_golden(text + "\n", "diff")


# ---- the command
def pattern(folder: Path, name: str, width: int, *more: str) -> str:
    words = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", f"int tile[32][{width}]", "--block", "32,32"]
    path = folder / name
    assert main([*words, "--trace", str(path), *more]) == 0
    return str(path)


@pytest.fixture
def traces(tmp_path: Path) -> tuple[str, str]:
    return pattern(tmp_path, "bad.parquet", 32), pattern(tmp_path, "good.parquet", 33)


def test_exit_status_of_two_traces(traces: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = traces
    assert main(["diff", bad, good]) == 0
    assert main(["diff", good, good]) == 0
    capsys.readouterr()
    found = json.loads(out_of(capsys, ["diff", good, bad, "--arch", "kepler-4,sm_90", "--json"], 1))["architectures"]
    assert [(one["arch"], one["regression"], one["total"]["difference"]) for one in found] == [
        ("kepler-4", True, 512 - 32),
        ("sm_90", True, 1024 - 32),
    ]


def test_exit_status_of_two_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, width in (("bad", 32), ("good", 33)):
        capsys.readouterr()
        pattern(tmp_path, f"{name}.parquet", width, "--json")
        (tmp_path / f"{name}.json").write_text(capsys.readouterr().out)
    bad, good = str(tmp_path / "bad.json"), str(tmp_path / "good.json")
    assert main(["diff", good, bad]) == 1
    assert main(["diff", bad, good]) == 0
    assert main(["diff", bad, str(tmp_path / "good.parquet")]) == 0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"conflicts": 1}', '{"conflicts": [{"arch": "sm_90"}]}', "[" * 10**6,
     '{"conflicts": [{"arch": "x", "sites": [{"file": 1}]}]}',
     '{"conflicts": [{"arch": "x", "sites": [{"file": "f", "line": 1, "text": "", "op": "ld", "width": 4, '
     '"function": "", "transactions": "many", "excess": 0}]}]}'],
)  # fmt: skip
def test_what_is_no_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    refused(capsys, ["diff", str(tmp_path / "r.json"), str(tmp_path / "r.json")])


@pytest.mark.parametrize("name", ["report", "report.jsn"])
def test_a_report_may_have_any_name_that_is_no_trace_s(tmp_path: Path, capsys: Said, name: str) -> None:
    plain = out_of(capsys, ["pattern", "a[threadIdx.x]", "--declare", "int a[32]", "--block", "32", "--json"])
    report = str(written_to(tmp_path / name, plain))
    assert "No change." in out_of(capsys, ["diff", report, report])
    other = str(written_to(tmp_path / "other", "text"))
    assert "give what a command prints with --json, or a trace" in refused(capsys, ["diff", report, other])
    assert f"banksim: {tmp_path}/none: No such file" in refused(capsys, ["diff", report, f"{tmp_path}/none"])


def test_reports_of_different_architectures_are_refused(tmp_path: Path) -> None:
    for name in ("sm_90", "fermi"):
        text = json.dumps({"conflicts": [{"arch": name, "sites": []}]})
        (tmp_path / f"{name}.json").write_text(text)
    with pytest.raises(InputError):
        raise_of(tmp_path)


def raise_of(folder: Path) -> None:
    from banksim.__main__ import dispatch

    dispatch(["diff", str(folder / "sm_90.json"), str(folder / "fermi.json")])


def test_a_comparison_is_plain_data() -> None:
    found: Comparison = compare("sm_90", [line(4, "a", Range(1, 2))], [line(4, "a", 5)])
    assert json.loads(json.dumps(found.to_json()))["lines"][0]["before"] == {"low": 1, "high": 2}
