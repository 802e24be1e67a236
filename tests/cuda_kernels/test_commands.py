"""`python -m cuda_kernels`: what it prints, writes and returns, and that a wrong prediction does not pass."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from banksim.__main__ import main as banksim_main
from cuda_kernels import catalogue, evidence_records, gpu, validate
from cuda_kernels.__main__ import main
from cuda_kernels.predict import Prediction, predict
from helpers.fixtures import Patch, Said
from helpers.goldens import assert_golden

Words = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: Said, monkeypatch: Patch) -> Words:
    """Run a command without a GPU: its exit status, what it printed, and its errors."""
    monkeypatch.setattr(gpu, "why_not", lambda: "there is none in this test")

    def run(*words: str, width: int = 80) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_list_names_every_kernel_with_its_group(command: Words) -> None:
    status, out, _ = command("list")
    assert status == 0
    assert re.findall(r"^  (\w+)", out, re.M) == list(catalogue.entries())
    assert re.search(r"^  productNoBarrier16 +tiles, a barrier missing \(wrong on purpose\)$", out, re.M)
    assert json.loads(command("list", "sorting", "--json")[1])[0]["name"] == "bitonicSort"


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["setRowReadCol", "--block", "4,4"], [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]),
        (["setRowReadColRectPad", "--block", "4,2", "--pad", "1"], [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (["setColReadColDyn", "--block", "2,2"], [[0, 1], [2, 3]]),
    ],
)
def test_show_draws_a_tiles_way(command: Words, words: list[str], rows: list[list[int]]) -> None:
    status, out, _ = command("show", *words)
    drawn = out.partition("as ")[2].partition("\n\n")[0].splitlines()[1:]
    assert (status, [[*map(int, line.split())] for line in drawn]) == (0, rows)
    assert "cuda.syncthreads()" in out


def test_run_checks_the_result_in_banksim(command: Words) -> None:
    status, out, _ = command("run", "setRowReadCol", "productNoBarrier16")
    assert (status, out.splitlines()[:2]) == (0, ["in banksim: there is none in this test", "setRowReadCol: right"])
    assert "productNoBarrier16: not checked: one of its barriers is missing" in out


def test_the_program_runs_unchanged_under_banksim_run(capfd: pytest.CaptureFixture[str]) -> None:
    names = ["histogramShared", "productDynamicPad16"]
    assert banksim_main(["run", "-m", "cuda_kernels", "run", "--gpu", *names]) == 0
    said = capfd.readouterr()
    assert said.out.startswith("".join(f"{name}: right\n" for name in names))
    assert "198,610" in said.out + said.err, "the report has the transactions of histogramShared"


# ---- validate
NAMES = ("setRowReadColPad2", "productPad16", "histogramShared")


def tampered(folder: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """The evidence on one kernel with a change."""
    plain = json.loads(evidence_records.EVIDENCE.read_text(encoding="utf-8"))
    plain["kernels"] = [kernel for kernel in plain["kernels"] if kernel["name"] == NAMES[0]]
    change(plain["kernels"][0])
    path = folder / "evidence.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    evidence_records.code_beside(path).write_bytes(evidence_records.code_beside(evidence_records.EVIDENCE).read_bytes())
    return str(path)


@pytest.mark.parametrize("width", [80, 160])
def test_validate_without_a_gpu_uses_the_record_and_says_so(command: Words, monkeypatch: Patch, width: int) -> None:
    def of_recorded_code(work: tuple[str, evidence_records.Record]) -> tuple[Prediction, bool]:
        return predict(catalogue.entries()[work[0]].launch(), work[1].cubin), True

    # what the compilers here make of a function may change with their version
    monkeypatch.setattr(validate, "predicted", of_recorded_code)
    status, out, err = command("validate", *NAMES, width=width)
    assert (status, err) == (0, "")
    assert "Not done: no GPU was used (there is none in this test)" in out
    assert "Every count agrees: 3 kernels" in out
    assert max(map(len, out.splitlines())) <= width
    assert_golden(out, f"cuda-kernels-validate-{width}")


def change_row(kernel: dict[str, Any]) -> None:
    next(row for row in kernel["rows"] if row[1] == "LDS")[5] += 1


def change_counter(kernel: dict[str, Any]) -> None:
    kernel["counters"]["instructions"] -= 1


def change_opcode(kernel: dict[str, Any]) -> None:
    kernel["rows"][3][1] = "NOP"


def change_result(kernel: dict[str, Any]) -> None:
    kernel["wrong"] = "argument 1: 3 of 1,024 elements are wrong"


@pytest.mark.parametrize("change", [change_row, change_counter, change_opcode, change_result])
def test_a_count_that_disagrees_is_exit_status_1(
    command: Words, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    evidence = tampered(tmp_path, change)
    status, out, _ = command("validate", NAMES[0], "--evidence", evidence)
    assert status == 1
    assert "DIFFER" in out
    assert f"DISAGREEMENT in 1 kernel: {NAMES[0]}" in out
    status, out, _ = command("validate", NAMES[0], "--evidence", evidence, "--json")
    assert (status, json.loads(out)["agrees"]) == (1, False)


def test_validate_says_what_was_not_counted(command: Words, tmp_path: Path) -> None:
    def no_counts(kernel: dict[str, Any]) -> None:
        kernel |= {"rows": [], "counters": {}, "microseconds": None, "cycles": None}

    status, out, _ = command("validate", *NAMES[:2], "--evidence", tampered(tmp_path, no_counts))
    assert status == 0
    assert f"Not done: no record of {NAMES[1]}" in out
    assert f"Not done: no counts of {NAMES[0]}" in out
    assert "No kernel was counted on a GPU, so no prediction was put to the test." in out


def test_the_picture_has_a_point_for_every_kernel(command: Words, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "agreement.svg"
    assert command("validate", *NAMES, "--picture", str(picture))[0] == 0
    titles = [e.text or "" for e in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}title")]
    for name in NAMES:
        assert sum(title.startswith(f"{name}:") for title in titles) == 2
    assert [path.name for path in picture.parent.iterdir()] == ["agreement.svg"]


def test_evidence_survives_being_written_and_read(tmp_path: Path) -> None:
    evidence = evidence_records.load(evidence_records.EVIDENCE)
    evidence_records.save(evidence, tmp_path / "copy.json")
    assert evidence_records.load(tmp_path / "copy.json") == evidence
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy-code.npz", "copy.json"]
    assert (tmp_path / "copy.json").read_text() == evidence_records.EVIDENCE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "setRowReadCole"], "no kernel, family or group 'setRowReadCole': is it setRowReadCol"),
        (["show", "tiles"], "tiles is a family or a group: show takes one kernel"),
        (["show", "setRowReadCol", "--block", "4,5"], "--block 4,5: this tile is square"),
        (["show", "setRowReadCol", "--block", "four"], "'four' is no size"),
        (["show", "setRowReadCol", "--block", "64,64"], "at most 1024 threads"),
        (["show", "setRowReadCol", "--pad", "-1"], "--pad -1"),
        (["show", "bitonicSort", "--pad", "1"], "bitonicSort has no --pad: one can choose nothing"),
        (["run", "--gpu", "bitonicSort"], "no GPU can be used: there is none in this test"),
        (["validate", "--save", "x.json"], "--save keeps what a GPU measured, and none is used"),
        (["validate", "--evidence", "absent.json"], "absent.json: No such file or directory"),
        (["validate", "--evidence", "pyproject.toml"], "pyproject.toml: no evidence of cuda_kernels"),
        (["measure"], "invalid choice: 'measure'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_wrong_use_is_one_line_and_exit_status_2(command: Words, words: list[str], message: str) -> None:
    status, out, err = command(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
