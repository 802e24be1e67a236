"""Which launches of a program are counted (`-k`, `--launch-skip`, `--launch-count`), and what kernels a file has."""

import json
import os
from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.runs.programs.chosen_launches import choice
from banksim.storage import open_trace
from helpers.commands import err_of, out_of, reported
from helpers.fixtures import Patch, Said, source_file
from helpers.places import PROGRAMS, ROOT, written_to

PROGRAM = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def columns(out):
    tile = cuda.shared.array((32, 32), np.int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[x, y] = out[y, x] + 1
    cuda.syncthreads()
    out[y, x] = tile[x, y]

@cuda.jit
def rows(out):
    tile = cuda.shared.array((32, 32), np.int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = out[y, x] + 1
    out[y, x] = tile[y, x]

out = np.zeros((32, 32), np.int32)
for kernel in (columns, rows, columns, rows, columns):
    kernel[1, (32, 32)](out)
assert (out == 5).all()
"""


program = source_file("program.py", PROGRAM)


@pytest.mark.parametrize(
    ("options", "counted", "others"),
    [
        ([], {"columns": 3, "rows": 2}, {}),
        (["-k", "rows"], {"rows": 2}, {"columns": 3}),
        (["-k", "row"], {}, {"columns": 3, "rows": 2}),
        (["-k", "regex:^r|x"], {"rows": 2}, {"columns": 3}),
        (["--launch-skip", "3"], {"rows": 1, "columns": 1}, {"columns": 2, "rows": 1}),
        (["-k", "columns", "-s", "1", "-c", "1"], {"columns": 1}, {"columns": 2, "rows": 2}),
        (["--launch-count", "2"], {"columns": 1, "rows": 1}, {"columns": 2, "rows": 1}),
    ],
)
def test_all_are_executed_and_the_chosen_counted(
    program: Path, options: list[str], counted: dict[str, int], others: dict[str, int]
) -> None:
    """Skips and counts are of the launches of the kernels that -k names, as ncu's are."""
    status, report = reported(program.parent, *options, program)
    assert status == 0
    assert {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]} == counted
    assert report["not_counted"] == others
    conflicts = {"columns": 2 * 32 * 32, "rows": 32}  # the compiler leaves rows' loads out
    total = sum(launches * conflicts[name] for name, launches in counted.items())
    assert sum(site["transactions"] for site in report["conflicts"][0]["sites"]) == total


def test_launches_that_are_not_counted_are_in_no_trace_check_or_hint(program: Path) -> None:
    trace = program.parent / "requests.arrow"
    options = ["-k", "rows", "-c", "1", "--trace", str(trace), "--check", "races"]
    _, report = reported(program.parent, *options, program)
    assert sum(len(part) for part in open_trace(trace)) == 32
    assert {kernel["launches"] for kernel in report["kernels"]} == {1}


def test_nothing_is_judged_of_launches_that_are_not_counted(program: Path, monkeypatch: Patch) -> None:
    """The rule is not asked: that is what makes them quick."""
    from banksim.machine.llvm import workers

    asked: list[int] = []
    plain = workers.bank_rules
    monkeypatch.setattr(workers, "bank_rules", lambda rules, code: (asked.append(len(rules)), plain(rules, code))[1])
    reported(program.parent, "-k", "rows", str(program))
    assert sorted(asked) == [0, 0, 0, 1, 1]


def test_of_cuda_programs_the_launches_are_chosen_too(tmp_path: Path) -> None:
    _, report = reported(tmp_path, "-k", "store", "-c", "2", str(PROGRAMS / "cuda" / "features.cu"), "results")
    assert [(kernel["kernel"], kernel["launches"]) for kernel in report["kernels"]] == [("store", 2)]
    assert report["not_counted"]["scale"] == 2


def test_the_text_names_what_was_not_counted(program: Path, capsys: Said) -> None:
    assert out_of(capsys, ["run", "--output", "-", "-k", "nothing", str(program)]) == (
        "program.py: bank conflicts on sm_90\nNo launch was chosen.\n"
        "5 other launches executed, not counted: columns (3) and rows (2)\n"
    )


@pytest.mark.parametrize("gate", [["--fail-above", "0"], ["--check", "races"]])
def test_a_gate_of_which_no_launch_was_chosen_does_not_pass(program: Path, gate: list[str], capsys: Said) -> None:
    """A kernel that has another name now would else never be checked again."""
    assert main(["run", "--output", "/dev/null", "-k", "nothing", *gate, str(program)]) == 2
    said = f"{gate[0]}: no launch was chosen, so nothing was checked: launched were columns and rows"
    assert capsys.readouterr().err == f"banksim: {said}\n"


SYMBOL = "_ZN2ns4copyILi32EfEEvPT0_"
"""void ns::copy<32, float>(float*)"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("copy", True), ("ns::copy", True), ("copy<32,float>", True), ("ns::copy<32, float>(float*)", True),
        (SYMBOL, True), ("cop", False), ("copy<64, float>", False), ("regex:op", True), ("regex:^copy", True),
        ("regex:<64", False), ("regex:_ZN", False),
    ],
)  # fmt: skip
def test_a_name_is_one_of_the_ways_to_write_it(name: str, found: bool) -> None:
    assert choice(name).names(SYMBOL) is found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-k", "regex:["], "-k regex:[: no regular expression: unterminated character set at position 0"),
        (["--launch-skip", "x"], "--launch-skip x: give a whole number"),
        (["-c", "0"], "--launch-count 0: give how many launches to count"),
    ],
)
def test_a_wrong_choice_is_told_before_the_program_runs(options: list[str], said: str, capsys: Said) -> None:
    assert err_of(capsys, ["run", *options, "program.py"]) == f"banksim: {said}\n"


# ---- the kernels of a file
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("examples/transpose.py", "transpose(out, a)\ntranspose_padded(out, a)\n"),
        ("examples/neighbours.cu", "neighbours(float*, float const*)\n"),
        ("tests/data/triton/transpose.cubin", "transpose(.u64, .u64, .u32, .u32)\n"),
    ],
)
def test_kernels_are_listed_with_their_signatures(file: str, said: str, capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.chdir(ROOT)
    for command in "kernel", "run":
        assert out_of(capsys, [command, "--list", file]) == said
    entries = json.loads(out_of(capsys, ["kernel", "--list", "--json", file]))["kernels"]
    assert "".join(f"{entry['signature']}\n" for entry in entries) == said


@pytest.mark.parametrize("command", ["kernel", "kernel --list", "run", "run --list", "advise kernel"])
def test_binary_data_is_no_source(command: str, tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "a.cu").write_bytes(b"\x7fELF\0\1\2\xff{}")
    file = f"{tmp_path / 'a.cu'}" + (":k" if command.endswith("kernel") else "")
    said = f"banksim: {tmp_path / 'a.cu'}: binary data and no source to compile\n"
    assert err_of(capsys, [*command.split(), file]) == said


@pytest.mark.parametrize("command", ["kernel", "kernel --list", "run --list", "advise kernel"])
def test_a_notebook_is_no_file_of_kernels(command: str, capsys: Said) -> None:
    name = "" if "--list" in command else ":k"
    said = "banksim: a.ipynb is a notebook: banksim run executes it whole; its kernels alone want a Python file"
    assert err_of(capsys, [*command.split(), f"a.ipynb{name}"]) == f"{said} (jupyter nbconvert --to script)\n"


def test_a_list_is_of_a_file(capsys: Said) -> None:
    assert main(["kernel", "--list", f"{os.curdir}/a.py:k"]) == 2
    assert capsys.readouterr().err == "banksim: --list ./a.py:k: give the file alone, ./a.py\n"
    assert err_of(capsys, ["run", "--list", "-m", "a"]) == "banksim: --list: give a file, and not the module a\n"


def test_a_program_s_list_is_of_its_sources_with_the_options_of_nvcc(tmp_path: Path, capsys: Said) -> None:
    for name in "ab":
        kernels = f'__global__ void NAME_{name}(int *out) {{}}\nextern "C" __global__ void c_{name}(const int *in) {{}}'
        (tmp_path / f"{name}.cu").write_text(kernels)
    given = ["--nvcc", "-DNAME_a=first -DNAME_b=second -O2", f"{tmp_path}/a.cu", f"{tmp_path}/b.cu", "argument"]
    assert out_of(capsys, ["run", "--list", *given]).splitlines() == [
        *("first(int*)", "c_a(int const*)", "second(int*)", "c_b(int const*)")
    ]


@pytest.mark.parametrize(("header", "number"), [("cufft.h", "cufftComplex"), ("cublas_v2.h", "cuComplex")])
def test_a_program_s_list_finds_the_headers_that_the_program_finds_when_it_runs(
    header: str, number: str, tmp_path: Path, capsys: Said
) -> None:
    text = f"#include <{header}>\n__global__ void scale({number} *a) {{ a->x *= 2; }}"
    assert main(["run", "--list", str(written_to(tmp_path / "a.cu", text))]) == 0
    assert capsys.readouterr() == ("scale(float2*)\n", "")
