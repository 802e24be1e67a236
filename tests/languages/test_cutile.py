"""cuTile's kernels: compiled by its own compiler with no GPU, held against NumPy; lines are those of Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from helpers.commands import one_line, out_of, reported
from helpers.places import written_to
from languages import cutile_kernels as kernels

ARCHS = ("sm_80", "sm_90")
random = np.random.default_rng(0)
SOURCE = Path(kernels.__file__).read_text().splitlines()


@pytest.mark.parametrize("arch", ARCHS)
def test_transpose_and_its_lines(arch: str) -> None:
    x, y = random.random((64, 96), np.float32), np.zeros((96, 64), np.float32)
    done = banksim.run(kernels.transpose, (2, 3), None, [x, y], arch=arch, const={"T": 32})
    assert (y == x.T).all()
    assert done.kernel.plain_name == "transpose"
    lines = {SOURCE[(site.line or 0) - 1].strip() for site in done.conflicts.sites}
    assert lines
    assert all("ct.load" in line or "ct.store" in line or "ct.transpose" in line for line in lines)
    assert {Path(site.file or "").name for site in done.conflicts.sites} == {"cutile_kernels.py"}


@pytest.mark.parametrize("arch", ARCHS)
def test_a_tiled_product(arch: str) -> None:
    a, b = random.random((32, 48)).astype(np.float16), random.random((48, 16)).astype(np.float16)
    c = np.zeros((32, 16), np.float32)
    banksim.run(kernels.product, (2, 1), None, [a, b, c, 3], arch=arch, const={"T": 16})
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_reduction(arch: str) -> None:
    x, out = np.arange(1024, dtype=np.float32), np.zeros(2, np.float32)
    banksim.run(kernels.total, 2, None, [x, out], arch=arch, const={"T": 512})
    assert out.tolist() == [x[:512].sum(), x[512:].sum()]


@pytest.mark.parametrize("arch", ARCHS)
def test_softmax(arch: str) -> None:
    x = random.random((3, 128), np.float32)
    out = np.zeros_like(x)
    banksim.run(kernels.softmax, 3, None, [x, out], arch=arch, const={"T": 128})
    expected = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


def test_arrays_are_taken_as_they_lie() -> None:
    """A view that is not aligned, and a column of a matrix; of one memory both."""
    memory = np.arange(4 * 256, dtype=np.float32)
    before = memory.copy()
    banksim.run(kernels.scaled, 2, None, [memory[1:129], memory[512:640], 3.0], const={"T": 64})
    assert (memory[512:640] == before[1:129] * 3).all()
    assert (memory[:512] == before[:512]).all()


def test_tensor_maps_of_the_driver_are_refused_by_name() -> None:
    x, out = np.arange(512, dtype=np.float32), np.zeros(1, np.float32)
    banksim.run(kernels.by_tma, 1, None, [x, out], arch="sm_80", const={"T": 512})
    assert out[0] == x.sum()
    with pytest.raises(UnsupportedError, match=r"by_tma: on sm_90 it copies by tensor maps .* allow_tma=False"):
        banksim.run(kernels.by_tma, 1, None, [x, out], arch="sm_90", const={"T": 512})


def test_what_is_missing_or_odd_is_one_line() -> None:
    x = np.zeros(128, np.float32)
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        ([x, x], {"T": 64}, "scaled takes 3 arguments (x, out, factor), 2 were given"),
        ([x, x, 1.0], {"T": 64, "K": 4}, "scaled has no parameter K: it has x, out, factor, T"),
        ([x, x, "2"], {"T": 64}, "argument factor: a str cannot be passed: give an array or a number"),
    ]
    for args, const, told in cases:
        with one_line(told):
            banksim.run(kernels.scaled, 1, None, args, const=const)


def test_the_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{here / 'cutile_kernels.py'}:transpose", "--grid", "1,1", "--const", "T=32", "--json"]
    found = json.loads(out_of(capsys, [*words, "--arg", "float32[32,32]=random", "--arg", "float32[32,32]"]))
    assert found["kernel"] == "transpose"
    assert found["conflicts"][0]["transactions"] > 0
    assert "transpose(x, y, T)" in out_of(capsys, ["kernel", "--list", str(here / "cutile_kernels.py")]).splitlines()


PROGRAM = """
import cuda.tile as ct
import numpy as np
from numba import cuda

@ct.kernel
def transpose(x, y, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(T, T))))

x = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
given, out, stream = cuda.to_device(x), cuda.device_array((96, 64), np.float32), cuda.stream()
ct.launch(stream, (2, 3), transpose, (given, out, 32))
stream.synchronize()
print((out.copy_to_host() == x.T).all())
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_a_host_program_unchanged(arch: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It counts as the kernel alone does."""
    status, report = reported(tmp_path, "--arch", arch, written_to(tmp_path / "program.py", PROGRAM))
    assert (status, capfd.readouterr().out) == (0, "True\n")
    [kernel] = report["kernels"]
    x, y = np.zeros((64, 96), np.float32), np.zeros((96, 64), np.float32)
    alone = banksim.run(kernels.transpose, (2, 3), None, [x, y], arch=arch, const={"T": 32})
    assert kernel["kernel"] == "transpose"
    assert kernel["conflicts"][0]["transactions"] == alone.conflicts.transactions
