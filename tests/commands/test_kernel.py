"""`banksim kernel`: files in, reports and files out."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banksim.__main__ import main
from helpers.commands import err_of, out_of, refused
from helpers.fixtures import Patch, Said
from helpers.numba_programs import ENDLESS
from helpers.places import EXAMPLES, TESTS, written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

TRANSPOSE = str(EXAMPLES / "transpose.py")
SOURCE = """
extern __shared__ float bytes[];
extern "C" __global__ void reverse(float *out, const float *in, int n) {
    bytes[threadIdx.x * STRIDE] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = bytes[(n - 1 - threadIdx.x) * STRIDE];
}
"""
OWN = """
extern "C" __global__ void __launch_bounds__(128, 1) own(int *out) {
    __shared__ int s[128];
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40; wgmma.fence.sync.aligned;" ::: "memory");
    s[threadIdx.x * 2 % 128] = threadIdx.x;
    out[threadIdx.x] = s[threadIdx.x];
}
"""
"""With instructions of sm_90a alone."""


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def found(words: list[str], capsys: Said) -> dict[str, Any]:
    """The JSON that a command prints."""
    document: dict[str, Any] = json.loads(out_of(capsys, [*words, "--json"]))
    return document


def test_a_numba_kernel_is_executed_and_judged(capsys: Said, tmp_path: Path) -> None:
    words = ["kernel", f"{TRANSPOSE}:transpose", "--grid", "2,3", "--block", "32,32", "--arch", "kepler-4,sm_90"]
    words += ["--arg", "float32[64,96]", "--arg", "float32[96,64]=arange", "--save-args", str(tmp_path / "args")]
    run = found(words, capsys)
    out, a = (np.load(tmp_path / "args" / f"{n}.npy") for n in (0, 1))
    np.testing.assert_array_equal(out, a.T)
    np.testing.assert_array_equal(a, np.arange(96 * 64, dtype=np.float32).reshape(96, 64))
    assert {name: run[name] for name in ("command", "kernel", "grid", "block", "blocks", "partial")} == {
        "command": "kernel", "kernel": "transpose", "grid": [2, 3, 1], "block": [32, 32, 1], "blocks": 6,
        "partial": False,
    }  # fmt: skip
    counts = [
        [(s["line"], s["op"], s["requests"], s["transactions"]) for s in one["sites"]] for one in run["conflicts"]
    ]
    assert counts == [
        [(11, "st", 192, 192), (13, "ld", 192, 192 * 16)],
        [(11, "st", 192, 192), (13, "ld", 192, 192 * 32)],
    ]
    assert run["instructions"] == sum(executed["warps"] for executed in run["profile"])
    assert run["thread_instructions"] == sum(executed["threads"] for executed in run["profile"])


def test_padding_cures_the_transpose(capsys: Said) -> None:
    words = ["--block", "32,32", "--arg", "float32[32,32]", "--arg", "float32[32,32]=random", "--fail-above", "0"]
    assert "32-way" in out_of(capsys, ["kernel", f"{TRANSPOSE}:transpose", *words], status=1)
    assert "No conflicts" in out_of(capsys, ["kernel", f"{TRANSPOSE}:transpose_padded", *words])


def test_a_cuda_kernel_takes_macros_scalars_and_dynamic_shared_memory(capsys: Said, tmp_path: Path) -> None:
    (tmp_path / "reverse.cu").write_text(SOURCE)
    words = [
        "kernel", str(tmp_path / "reverse.cu"), "--block", "64", "--dynamic-shared", "1024", "--define", "STRIDE=4",
    ]  # fmt: skip
    words += ["--arg", "float32[64]", "--arg", "float32[64]=arange", "--arg", "int32=64", "--save-args", str(tmp_path)]
    run = found(words, capsys)
    np.testing.assert_array_equal(np.load(tmp_path / "0.npy"), np.arange(64)[::-1])
    (judged,) = run["conflicts"]
    assert [(site["op"], site["requests"], site["degree"]) for site in judged["sites"]] == [("st", 2, 4), ("ld", 2, 4)]
    assert judged["sites"][0]["text"] == "bytes[threadIdx.x * STRIDE] = in[threadIdx.x];"


def test_the_listing_holds_every_executed_instruction(capsys: Said) -> None:
    words = ["kernel", f"{TRANSPOSE}:transpose", "--block", "32,32", "--sass", "--no-picture"]
    words += ["--arg", "float32[32,32]", "--arg", "float32[32,32]"]
    shown = out_of(capsys, words)
    run = found(words, capsys)
    for executed in run["profile"]:
        assert (f"{executed['offset']:#06x} {executed['sass']}" in shown) == bool(executed["warps"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([TRANSPOSE], "has 2 kernels: give"),
        ([str(TESTS / "helpers" / "places.py")], "places.py has no kernel\n"),
        (
            [f"{TRANSPOSE}:transpos"],
            "has no kernel 'transpos' (did you mean transpose or transpose_padded?): it has transpose",
        ),
        ([f"{TRANSPOSE}:cuda"], "is no kernel"),
        ([f"{TRANSPOSE}:transpose", "--arg", "5"], "2 arguments"),
        ([f"{TRANSPOSE}:transpose", "--define", "A"], "are for CUDA C++"),
        ([f"{TRANSPOSE}:transpose", "--block", "2048", "--arg", "float32[2,2]", "--arg", "float32[2,2]"], "1024"),
        (
            [f"{TRANSPOSE}:transpose", "--block", "32", "--arg", "float32[2,2]", "--arg", "float32[2,2]"],
            "out of bounds",
        ),
    ],
)
def test_what_cannot_run_is_one_line(words: list[str], complaint: str, capsys: Said) -> None:
    assert complaint in refused(capsys, ["kernel", *words])


def test_an_endless_kernel_stops_at_the_limit(capsys: Said, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    words = ["kernel", str(tmp_path / "endless.py"), "--arg", "int32[2]", "--max-instructions", "100000"]
    said = err_of(capsys, words)
    assert "--max-instructions" in said
    assert re.search(r"endless\.py:\d+ .*\(SASS 0x[0-9a-f]+ .*\), warp 0, lane 0, block \(0, 0, 0\)", said)


def test_code_for_a_variant_of_an_architecture(capsys: Said, tmp_path: Path) -> None:
    words = ["kernel", str(written_to(tmp_path / "own.cu", OWN)), "--block", "128", "--arg", "int32[128]", "--arch"]
    [judged, other] = found([*words, "sm_90a,kepler-4"], capsys)["conflicts"]
    assert (judged["arch"], judged["requests"], judged["transactions"]) == ("sm_90a", 8, 12)
    assert other["arch"] == "kepler-4"
    assert err_of(capsys, [*words, "sm_90"]).startswith("banksim: sm_90a has more instructions: --arch sm_90a\n")
    assert "more instructions" not in err_of(capsys, [*words, "sm_80"])


def test_an_endless_kernel_is_stopped_where_no_limit_is_given(capsys: Said, monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr("banksim.machine.state.ALLOWANCE", 10_000)
    assert main(["kernel", str(written_to(tmp_path / "endless.py", ENDLESS)), "--arg", "int32[2]"]) == 2
    assert "--max-instructions (0: no limit)" in capsys.readouterr().err


def test_a_long_run_shows_its_progress_and_an_interrupt_leaves_a_partial_report(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    terminal, inner = pty.openpty()
    program = [sys.executable, "-P", "-m", "banksim", "kernel", str(tmp_path / "endless.py"), "--arg", "int32[2]"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=inner)
    os.close(inner)
    shown = b""
    while b"0 of 1 blocks" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(terminal)
    assert re.search(rb"0 of 1 blocks, [1-9][\d.]* .? ?thread instructions, [1-9][\d.]* ?.?/s", shown)
    assert b"PARTIAL: interrupted after 0 of 1 block" in out
    assert process.returncode == 130


BINS = """
extern "C" __global__ void bins(const unsigned char *data, int *out) {
    __shared__ int counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[data[threadIdx.x]], 1);
    __syncthreads();
    out[threadIdx.x] = counts[threadIdx.x];
}
extern "C" __global__ void rows(const int *data, int *out) {
    __shared__ int kept[256];
    kept[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = kept[255 - threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("kernel", "arguments", "told"),
    [
        ("bins", ["uint8[256]", "int32[256]"], True),
        ("bins", ["uint8[256]=random", "int32[256]"], False),
        ("bins", ["uint8[256]", "int32[256]=1"], False),  # somebody thought of contents
        ("rows", ["int32[256]", "int32[256]"], False),  # whatever they hold
    ],
)
def test_zeros_that_decide_what_is_counted_are_told(
    kernel: str, arguments: list[str], told: bool, capsys: Said, tmp_path: Path
) -> None:
    words = ["kernel", f"{written_to(tmp_path / 'k.cu', BINS)}:{kernel}", "--block", "256"]
    for argument in arguments:
        words += ["--arg", argument]
    notes = found(words, capsys)["notes"]
    zeros = (
        "ATOMS of k.cu:6 depends on what LDG of k.cu:6 reads, and all arrays were given as zeros: "
        "say what they hold, as in --arg 'uint8[256]=random'"
    )
    assert notes == ([zeros] if told else [])
