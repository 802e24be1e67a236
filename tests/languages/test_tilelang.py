"""TileLang's kernels: compiled by its own compiler with no GPU, held against NumPy; lines are those of Python."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilelang

import banksim
from banksim.errors import CompileError
from helpers.commands import one_line, out_of
from languages import tilelang_kernels as kernels

ARCHS = ("sm_80", "sm_90")
random = np.random.default_rng(0)
SOURCE = Path(kernels.__file__).read_text().splitlines()


def small(*shape: int) -> np.ndarray:
    return random.integers(-4, 5, shape).astype(np.float16)


@pytest.mark.parametrize("arch", ARCHS)
def test_transpose_and_its_lines(arch: str) -> None:
    x, y = random.random((64, 96), np.float32), np.zeros((96, 64), np.float32)
    done = banksim.run(kernels.transpose, None, None, [x, y], arch=arch, const={"M": 64, "N": 96})
    assert (y == x.T).all()
    assert done.kernel.plain_name == "transpose"
    assert (done.launch.grid, done.launch.block) == ((3, 2, 1), (128, 1, 1))
    loads = [site for site in done.conflicts.sites if site.op == "ld"]
    assert {site.transactions / site.requests for site in loads} == {32}
    assert {Path(site.file or "").name for site in done.conflicts.sites} == {"tilelang_kernels.py"}
    assert {SOURCE[(site.line or 0) - 1].strip() for site in loads} == {"y[bx * B + i, by * B + j] = tile[j, i]"}
    cured = banksim.run(kernels.transpose, None, None, [x, y], arch=arch, const={"M": 64, "N": 96, "PAD": 1})
    assert cured.conflicts.excess == 0


@pytest.mark.parametrize("arch", ARCHS)
def test_a_tiled_product(arch: str) -> None:
    """On sm_90 by tensor maps and products of a warp group, copied by warps of their own."""
    a, b, c = small(128, 96), small(96, 64), np.zeros((128, 64), np.float32)
    const = {"M": 128, "N": 64, "K": 96}
    done = banksim.run(kernels.product, None, None, [a, b, c], arch=arch, const=const)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
    lines = {(site.opcode or "").partition(".")[0]: set[str]() for site in done.conflicts.sites}
    for site in done.conflicts.sites:
        text = Path(site.file or "").read_text().splitlines()[(site.line or 0) - 1]
        lines[(site.opcode or "").partition(".")[0]].add(text.strip().partition("(")[0])
    if arch == "sm_90":  # where its passes give copies to warps of their own, TileLang does not tell their line
        assert "T.gemm" in lines["HGMMA"]  # of a row of them, ptxas tells some to be where their results are wanted
        assert lines["UTMALDG"] == {"tl::tma_load"}
    else:
        assert (lines["LDSM"], lines["LDGSTS"]) == ({"T.gemm"}, {"T.copy"})
    again = banksim.run(kernels.product, None, None, [a, b], arch=arch, const=const)  # c is allocated, as TileLang does
    assert again.conflicts.transactions == done.conflicts.transactions


@pytest.mark.parametrize("arch", ARCHS)
def test_a_reduction(arch: str) -> None:
    """Its rows are a size that the array tells."""
    x, out = random.integers(0, 99, (3, 512)).astype(np.float32), np.zeros(3, np.float32)
    done = banksim.run(kernels.total, None, None, [x, out], arch=arch, const={"N": 512})
    assert (out == x.sum(axis=1)).all()
    assert done.launch.grid == (3, 1, 1)
    assert done.conflicts.requests > 0
    lines = {SOURCE[(site.line or 0) - 1].strip().partition("(")[0] for site in done.conflicts.sites}
    assert lines == {"T.reduce_sum"}  # a macro of TileLang's own, which calls its templates


@pytest.mark.parametrize("arch", ARCHS)
def test_softmax(arch: str) -> None:
    x = random.random((3, 256), np.float32)
    out = np.zeros_like(x)
    banksim.run(kernels.softmax, None, None, [x, out, 0.5], arch=arch, const={"N": 256})
    expected = np.exp((x - x.max(axis=1, keepdims=True)) / 2)
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_function_may_be_its_kernel_itself() -> None:
    x, y = random.random((64, 96), np.float32), np.zeros((96, 64), np.float32)
    done = banksim.run(kernels.eager, None, None, [x, y])
    assert (y == x.T).all()
    assert done.conflicts.excess == 0
    flat, out = random.random(256, np.float32), np.zeros(256, np.float32)
    banksim.run(kernels.doubled, None, None, [flat, out])
    assert (out == 2 * flat).all()
    banksim.run(kernels.sums, None, None, [flat, out])  # out is what it makes and returns
    assert (out == flat + 1).all()
    banksim.run(kernels.sums, None, None, [flat])


def test_what_is_missing_or_odd_is_one_line() -> None:
    x, y = np.zeros((64, 96), np.float32), np.zeros((96, 64), np.float32)
    sizes = {"M": 64, "N": 96}
    cases: list[tuple[Any, list[Any], dict[str, Any], Any, str]] = [
        (kernels.transpose, [x, y], {"M": 64}, 1, "transpose: the constants N are missing: give --const N=…"),
        (kernels.transpose, [x, y], {**sizes, "K": 4}, 1, "transpose: K is no constant: it has M, N, B, PAD, dtype"),
        (kernels.transpose, [x], sizes, 1, "transpose takes 2 arguments (x, y), 1 were given"),
        (kernels.transpose, [x, x], sizes, 1, "argument y is float32[64, 96], and the kernel takes float32[96, 64]"),
        (kernels.transpose, [x.astype(int), y], sizes, 1, "argument x is int64[64, 96], and the kernel takes float32"),
        (kernels.transpose, [x, y.T.copy().T], sizes, 1, "argument y has gaps, and the kernel takes float32[96, 64]"),
        (kernels.transpose, [x, 3], sizes, 1, "argument y is a int: give a NumPy array"),
        (kernels.transpose, [x, y], sizes, (4, 4), "transpose says its grid itself, (3, 2, 1): give none"),
        (kernels.softmax, [x, x, x], {"N": 96}, 1, "argument scale is an array, and the kernel takes a float32"),
        (kernels.eager, [x], {}, 1, "eager takes 2 arguments (x, y), 1 were given"),
        (kernels.two_kernels, [x[0]], {"N": 96}, 1, "two_kernels makes 2 kernels (main_kernel, main_kernel_1)"),
    ]
    for kernel, args, const, grid, told in cases:
        with one_line(told):
            banksim.run(kernel, grid, None, args, const=const)


def test_a_compiler_that_ends_its_process_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tilelang, "lower", lambda *_, **__: os.abort())
    x, y = np.zeros((64, 96), np.float32), np.zeros((96, 64), np.float32)
    with pytest.raises(CompileError, match=r"transpose: its compiler gave up on code for sm_90 \(SIGABRT\)$"):
        banksim.run(kernels.transpose, None, None, [x, y], const={"M": 64, "N": 96})


def test_the_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{here / 'tilelang_kernels.py'}:transpose", "--const", "M=32", "--const", "N=32", "--json"]
    found = json.loads(out_of(capsys, [*words, "--arg", "float32[32,32]=random", "--arg", "float32[32,32]"]))
    assert found["kernel"] == "transpose"
    assert found["conflicts"][0]["transactions"] > 0
    listed = out_of(capsys, ["kernel", "--list", str(here / "tilelang_kernels.py")]).splitlines()
    assert "transpose(M, N, B=32, PAD=0, dtype='float32')" in listed
    assert "doubled(x, y)" in listed
