"""Cures of kernels: written into the source, compiled, executed, compared; and refused with the reason."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.advise import sources
from banksim.advise.kernels import KernelAdvice, advise_kernel
from banksim.advise.sources import CudaSource, NumbaSource, cuda_arrays
from banksim.errors import InputError
from cuda_kernels.products import tiled

EXAMPLES = Path(__file__).parent.parent / "examples"
MATRICES = ["--arg", "float32[32,32]", "--arg", "float32[32,32]=random"]
LAUNCH = ["--block", "32,32", *MATRICES]
CUDA = """\
// __shared__ float tile[99][99];
template <int N> __global__ void copy(float *out, const float *in) {
    const char *text = "__shared__ float none[7][7];";
    __shared__ float tile[N][N], list[N]; /* __shared__ int no[1][2]; */
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    list[threadIdx.x] = text[0];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + list[threadIdx.x];
}
__global__ void other(float *out) {
    __shared__ __align__(16) float mine[4][HALF * 2];
    mine[threadIdx.y][threadIdx.x] = 1;
    out[0] = mine[0][0];
}
"""


@pytest.fixture
def transpose(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "transpose.py", tmp_path))


def advised(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["advise", "kernel", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# ---- cures
def test_a_transpose_is_cured_in_its_file(transpose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = transpose.read_text()
    found = advised([f"{transpose}:transpose", *LAUNCH], capsys)
    assert transpose.read_text() == before
    assert found["best"] == {"tile": 1}
    assert (found["before"]["transactions"], found["before"]["ideal"]) == ([1056], [64])
    (cured,) = [one for one in found["tried"] if one["paddings"] == {"tile": 1}]
    assert (cured["transactions"], cured["refused"], cured["shared_bytes"]) == ([64], None, 4224)
    assert (
        "-    tile = cuda.shared.array((32, 32), float32)\n+    tile = cuda.shared.array((32, 33), float32)"
        in (found["diff"])
    )

    transpose.chmod(0o640)
    assert advised([f"{transpose}:transpose", *LAUNCH, "--write"], capsys)["best"] == {"tile": 1}
    assert transpose.read_text() == before.replace("(32, 32)", "(32, 33)")
    assert transpose.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in transpose.parent.iterdir() if path.suffix == ".py"] == ["transpose.py"]
    assert advised([f"{transpose}:transpose", *LAUNCH], capsys)["before"]["transactions"] == [64]


def test_the_report_shows_figures_and_diff(transpose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "kernel", f"{transpose}:transpose", *LAUNCH]) == 0
    printed = capsys.readouterr().out
    assert "Results are the same bit for bit, and no conflict is left: tile: rows of 33." in printed
    assert "\n+    tile = cuda.shared.array((32, 33), float32)\n" in printed


def test_cuda_templates_are_cured_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(CUDA)
    words = [f"{file}:copy<32>", *LAUNCH, "--define", "HALF=8", "--write"]
    found = advised(words, capsys)
    assert found["best"] == {"tile": 1}
    assert file.read_text() == CUDA.replace("tile[N][N]", "tile[N][N + 1]")


def test_declarations_are_those_of_the_kernel() -> None:
    (tile,) = cuda_arrays(CUDA.encode(), "copy<32>")
    assert (tile.name, tile.line, tile.row, tile.longer(2)) == ("tile", 4, "N", "N + 2")
    (mine,) = cuda_arrays(CUDA.encode(), "other")
    assert (mine.name, mine.row, mine.longer(1)) == ("mine", "HALF * 2", "HALF * 2 + 1")
    assert sources.Declared("a", 1, "N << 1", 0, 6).longer(1) == "(N << 1) + 1"
    assert not list(cuda_arrays(CUDA.encode(), "missing"))


def test_a_kernel_with_a_signature_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "eager.py"
    text = (EXAMPLES / "transpose.py").read_text()
    file.write_text(text.replace("@cuda.jit\n", "@cuda.jit('void(float32[:, :], float64[:, :])')\n", 1))
    words = [f"{file}:transpose", "--block", "32,32", "--arg", "float32[32,32]", "--arg", "float64[32,32]=random"]
    assert advised(words, capsys)["best"] == {"tile": 1}
    with pytest.raises(AssertionError):
        advised([f"{file}:transpose", *LAUNCH], capsys)
    assert "declared for" in capsys.readouterr().err


# ---- the honest no: the products of HARDWARE.md, whose padding cost the compiler its 16-byte loads
def product(tile: int, size: int) -> KernelAdvice:
    random = np.random.default_rng(1)
    a, b = (random.integers(0, 8, (size, size)).astype(np.float32) for _ in range(2))
    c = np.zeros((size, size), np.float32)
    advice = advise_kernel(NumbaSource(tiled(tile, 0)), (size // tile, size // tile), (tile, tile), [a, b, c])
    assert not c.any()
    return advice


@pytest.mark.parametrize("tile", [16, 32])
def test_padding_a_product_is_refused_for_its_merged_loads(tile: int) -> None:
    advice = product(tile, 64)
    assert (advice.best, advice.content, advice.diff()) == (None, advice.source.content, "")
    (both,) = advice.tried
    assert both.measured is not None
    assert (advice.before.wide[16] > 0, both.measured.wide) == (True, {})
    assert "it loses merged loads" in both.refused
    assert "transactions more" in both.refused
    assert "warp instructions more" in both.refused
    assert both.measured.instructions > advice.before.instructions
    assert advice.verdict == "No layout pays: as written no access conflicts, and no layout can do better."


def test_a_change_of_the_result_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "flat.cu"
    file.write_text(
        """\
        extern "C" __global__ void flat(float *out) {
            __shared__ float tile[32][32];
            float *all = &tile[0][0];
            tile[threadIdx.x][0] = 0;
            all[threadIdx.x * 32 + 1] = threadIdx.x;
            __syncthreads();
            out[threadIdx.x] = tile[threadIdx.x][1];
        }
        """
    )
    advice = advise_kernel(CudaSource(file, "flat", [], [], None), 1, 32, [np.zeros(32, np.float32)])
    assert {one.refused for one in advice.tried} == {"the results differ"}
    assert advice.verdict == "No layout pays: every padding that was tried is refused."


# ---- wrong use: one line, nothing written
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_a_read_only_file_is_left_alone(transpose: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = transpose.read_bytes()
    transpose.chmod(0o440)
    assert main(["advise", "kernel", f"{transpose}:transpose", *LAUNCH, "--write"]) == 2
    assert capsys.readouterr().err.endswith("it is read-only: nothing was written\n")
    assert transpose.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_left_alone(transpose: Path) -> None:
    before = transpose.read_bytes()
    transpose.write_bytes(before + b"# more\n")
    with pytest.raises(InputError, match="changed meanwhile"):
        sources.write(transpose, before, b"")
    assert transpose.read_bytes() == before + b"# more\n"


def test_a_source_that_changed_since_its_import_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def kernel(out):\n    out[0] = 1\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("def kernel(out):\n    out[0] = 2\n")
    with pytest.raises(InputError, match="changed since kernel was imported"):
        NumbaSource(names["kernel"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernel"], "give one kernel"),
        (["kernel", "none.py:a"], "none.py: no such file"),
        (["kernel", "none.ptx"], "advice rewrites sources"),
        (["kernel", f"{EXAMPLES}/transpose.py:transpose", "--declare", "int a[2]"], "are for patterns"),
        (["a[threadIdx.x]", "--declare", "int a[32]", "--write"], "are for kernels"),
    ],
)
def test_wrong_use_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_kernel_without_such_arrays_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plain.cu"
    file.write_text('extern "C" __global__ void plain(int *out) { out[threadIdx.x] = 1; }\n')
    assert main(["advise", "kernel", f"{file}:plain", "--arg", "int32[32]"]) == 2
    assert "plain declares no shared array of two dimensions" in capsys.readouterr().err
