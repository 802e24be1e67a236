"""Triton's kernels: compiled by its own compiler with no GPU, held against NumPy, line by line."""

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.errors import CompileError, InputError, UnsupportedError
from helpers.commands import out_of, reported
from helpers.fixtures import Said
from helpers.places import written_to
from languages import triton_kernels as kernels

ARCHS = ("sm_80", "sm_90")
random = np.random.default_rng(0)


def line_of(kernel: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("arch", ARCHS)
def test_transpose(arch: str) -> None:
    x = random.random((64, 96), np.float32)
    y = np.zeros((96, 64), np.float32)
    done = banksim.run(kernels.transpose, (2, 3), None, [x, y, 64, 96], arch=arch, const={"BLOCK": 32})
    assert (y == x.T).all()
    assert {site.line for site in done.conflicts.sites} == {line_of(kernels.transpose, "tl.store")}
    assert {Path(site.file or "").name for site in done.conflicts.sites} == {"triton_kernels.py"}
    assert done.launch.block == (128, 1, 1)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_tiled_product(arch: str) -> None:
    a, b = random.random((64, 48), np.float32), random.random((48, 32), np.float32)
    c = np.zeros((64, 32), np.float32)
    const = {"BM": 32, "BN": 32, "BK": 16, "num_warps": 2, "num_stages": 2}
    done = banksim.run(kernels.product, (2, 1), None, [a, b, c, 64, 32, 48], arch=arch, const=const)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert done.launch.block == (64, 1, 1)
    assert done.conflicts.requests > 0


@pytest.mark.parametrize("arch", ARCHS)
def test_a_reduction(arch: str) -> None:
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
    done = banksim.run(kernels.total, 4, None, [x, out, 1000], arch=arch, const={"BLOCK": 256})
    assert out[0] == x.sum()
    assert line_of(kernels.total, "tl.sum") in {site.line for site in done.conflicts.sites}


@pytest.mark.parametrize("arch", ARCHS)
def test_softmax(arch: str) -> None:
    x = random.random((3, 200), np.float32)
    out = np.zeros_like(x)
    banksim.run(kernels.softmax, 3, None, [out, x, 200, 200], arch=arch, const={"BLOCK": 256})
    expected = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("arch", "warps", "tile", "opcode"), [
    ("sm_80", 4, 64, "LDSM"), ("sm_90", 2, 32, "LDSM"), ("sm_90", 4, 64, "HGMMA"),
])  # fmt: skip
def test_a_product_on_tensor_cores(arch: str, warps: int, tile: int, opcode: str) -> None:
    a, b = (random.integers(-4, 5, (size, 64)).astype(np.float16) for size in (128, 64))
    c = np.zeros((128, 64), np.float32)
    const = {"BM": tile, "BN": tile, "BK": 32, "num_warps": warps, "num_stages": 2}
    grid = (128 // tile, 64 // tile)
    done = banksim.run(kernels.product_f16, grid, None, [a, b, c, 128, 64, 64], arch=arch, const=const)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
    sites = [site for site in done.conflicts.sites if (site.opcode or "").startswith(opcode)]
    assert sites
    lines = range(line_of(kernels.product_f16, "for start"), line_of(kernels.product_f16, "tl.store"))
    assert {site.line for site in sites} <= {*lines}


@pytest.mark.parametrize("arch", ARCHS)
def test_scans_sorts_and_histograms(arch: str) -> None:
    x, out = random.integers(-99, 99, 512).astype(np.int32), np.zeros(512, np.int32)
    banksim.run(kernels.running_total, 2, None, [x, out], arch=arch, const={"BLOCK": 256})
    assert (out.reshape(2, -1) == np.cumsum(x.reshape(2, -1), axis=1)).all()
    banksim.run(kernels.sort, 2, None, [x, out], arch=arch, const={"BLOCK": 256})
    assert (out.reshape(2, -1) == np.sort(x.reshape(2, -1), axis=1)).all()
    x = random.integers(0, 64, 512).astype(np.int32)
    done = banksim.run(kernels.histogram, 1, None, [x, out], arch=arch, const={"BLOCK": 512, "BINS": 64})
    assert (out[:64] == np.bincount(x, minlength=64)).all()
    assert {site.line for site in done.conflicts.sites} == {line_of(kernels.histogram, "tl.histogram")}


@pytest.mark.parametrize("arch", ARCHS)
def test_attention(arch: str) -> None:
    q, k, v = (random.standard_normal((64, 64)).astype(np.float16) for _ in range(3))
    out = np.zeros((64, 64), np.float32)
    const = {"T": 64, "D": 64, "num_stages": 2}
    banksim.run(kernels.attention, 1, None, [q, k, v, out, 64], arch=arch, const=const)
    scores = q.astype(np.float32) @ k.astype(np.float32).T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float32)
    assert np.abs(out - expected).max() < 1e-3


@pytest.mark.parametrize("arch", ARCHS)
def test_tensor_descriptors(arch: str) -> None:
    """By tensor maps on sm_90, by addresses before; as banksim and, of PyTorch's tensors, as Triton makes them."""
    a, b = (random.integers(-4, 5, (128, 64)).astype(np.float16) for _ in range(2))
    const, c = {"BM": 64, "BN": 64, "BK": 64}, np.zeros((128, 128), np.float16)
    maps = [banksim.tensor_map(one, (64, 64)) for one in (a, b, c)]
    done = banksim.run(kernels.by_descriptors, (2, 2), None, [*maps, 64], arch=arch, const=const)
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all()
    assert any((site.opcode or "").startswith("UTMALDG") for site in done.conflicts.sites) == (arch == "sm_90")
    torch = pytest.importorskip("torch")
    from triton.tools.tensor_descriptor import TensorDescriptor

    again = np.zeros_like(c)
    made = [TensorDescriptor.from_tensor(torch.from_numpy(one), [64, 64]) for one in (a, b, again)]
    banksim.run(kernels.by_descriptors, (2, 2), None, [*made, 64], arch=arch, const=const)
    assert (again == c).all()


def test_clusters() -> None:
    x, y = random.random((64, 128), np.float32), np.zeros((128, 64), np.float32)
    const = {"BLOCK": 64, "num_ctas": 2}
    done = banksim.run(kernels.transpose, (1, 2), None, [x, y, 64, 128], arch="sm_90", const=const)
    assert (y == x.T).all()
    assert (done.launch.grid, done.launch.cluster) == ((2, 2, 1), (2, 1, 1))


def test_both_architectures_at_once_and_a_grid_that_is_a_function() -> None:
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
    done = banksim.run(
        kernels.total, lambda meta: (-(-meta["n"] // meta["BLOCK"]),), None, [x, out, 1000], arch=ARCHS,
        const={"BLOCK": 128, "num_warps": 4},
    )  # fmt: skip
    assert done.launch.grid == (8, 1, 1)
    assert [run.kernel.arch for run in done.executions] == [*ARCHS]
    assert out[0] == x.sum()


@pytest.mark.parametrize(
    ("factor", "kind"),
    [(2.5, np.float32), (np.float32(0.5), np.float32), (3, np.int32), (1, np.int32), (np.int64(7), np.int32)],
)
def test_scalars_have_tritons_types(factor: Any, kind: type) -> None:
    """An argument of 1 is compiled in."""
    x, out = np.arange(128).astype(kind), np.zeros(128, kind)
    banksim.run(kernels.scaled, 1, None, [x, out, factor, 100])
    assert (out[:100] == x[:100] * factor).all()
    assert not out[100:].any()


def test_arrays_that_are_not_aligned_are_not_taken_for_aligned() -> None:
    """Triton reads 16 bytes at once where every address is a multiple of 16."""
    memory = np.arange(512, dtype=np.float32)
    out = np.zeros(256, np.float32)
    wide = banksim.run(kernels.scaled, 1, None, [memory[:256], out, 2.0, 256], const={"BLOCK": 256, "num_warps": 1})
    narrow = banksim.run(kernels.scaled, 1, None, [memory[1:257], out, 2.0, 256], const={"BLOCK": 256, "num_warps": 1})
    assert (out == memory[1:257] * 2).all()
    assert narrow.instructions > wide.instructions


def test_configurations_and_heuristics() -> None:
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    with pytest.raises(InputError, match=r"tuned is tuned among 2 configurations: choose one.* --const BLOCK=64"):
        banksim.run(kernels.tuned, 4, None, [x, out, 1000])
    done = banksim.run(kernels.tuned, 4, None, [x, out, 1000], const={"BLOCK": 256, "num_warps": 8})
    assert (out == x + 1).all()
    assert done.launch.block == (256, 1, 1)


def test_what_is_missing_or_odd_is_one_line() -> None:
    x = np.zeros(128, np.float32)
    for kernel, args, const, error, told in (
        (kernels.transpose, [x, x, 8, 8], {}, InputError, "transpose: the constants BLOCK are missing: give --const"),
        (kernels.transpose, [x, x], {"BLOCK": 8}, InputError, "transpose takes 4 arguments (x, y, m, n), 2 were given"),
        (kernels.scaled, [x, x, 1, 1], {"BLOK": 8}, InputError, "scaled: BLOK is no constant: it has BLOCK"),
        (kernels.scaled, ["x", x, 1, 1], {}, UnsupportedError, "argument x: a str cannot be passed"),
        (kernels.wrong, [x], {"BLOCK": 4}, CompileError, "wrong: arange's range must be a power of 2"),
    ):
        with pytest.raises(error) as caught:
            banksim.run(kernel, 1, None, args, const=const)
        assert told in str(caught.value).splitlines()[0]


def test_the_command(here: Path, capsys: Said) -> None:
    words = ["kernel", f"{here / 'triton_kernels.py'}:transpose", "--const", "BLOCK=32", "--const", "num_warps=4"]
    words += [
        "--grid", "1,1", "--arg", "float32[32,32]=random", "--arg", "float32[32,32]", "--arg", "32", "--arg", "32",
    ]  # fmt: skip
    found = json.loads(out_of(capsys, [*words, "--json", "--arch", "sm_80,sm_90"]))
    assert [one["transactions"] > 0 for one in found["conflicts"]] == [True, True]
    assert main(["kernel", "--list", str(here / "triton_kernels.py")]) == 0
    assert "transpose(x, y, m, n, BLOCK: constexpr)" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("arch", ARCHS)
def test_an_array_of_addresses(arch: str) -> None:
    parts, out = tuple(random.random((3, 64), np.float32)), np.zeros(64, np.float32)
    banksim.run(kernels.sums, 1, None, [parts, 3, out], arch=arch, const={"BLOCK": 64})
    assert (out == parts[0] + parts[1] + parts[2]).all()


PROGRAM = """\
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()

def is_hopper():
    target = triton.runtime.driver.active.get_current_target()
    return target.backend == "cuda" and torch.cuda.get_device_capability()[0] == 9

@triton.autotune(configs=[triton.Config({"BLOCK": 256 if is_hopper() else 128})], key=["n"])
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

x = torch.zeros(300, device=DEVICE)
add[(2,)](x, x, 300)
"""


@pytest.mark.parametrize(("arch", "block"), [("sm_80", 128), ("sm_90", 256)])
def test_a_program_that_asks_for_its_gpu(arch: str, block: int, tmp_path: Path, capsys: Said) -> None:
    """As Triton's tutorials: what GPU there is is answered, a device is none there, and kernels are not launched."""
    pytest.importorskip("torch")
    from banksim.runs.python_file import load_python

    file = written_to(tmp_path / "program.py", PROGRAM)
    left_out = list[InputError]()
    add = load_python(file, arch, left_out).add
    assert [config.kwargs for config in add.configs] == [{"BLOCK": block}]
    assert [str(one).rpartition("program.py")[2].split(" failed ")[0] for one in left_out] == [
        f":{line}: importing it" for line in (5, 17, 18)
    ]
    words = ["kernel", f"{file}:add", "--arch", arch, "--grid", "3", "--arg", "float32[300]", "--arg", "float32[300]"]
    assert main([*words, "--arg", "300", "--save-args", str(tmp_path)]) == 0
    assert (np.load(tmp_path / "1.npy") == 1).all()
    assert "program.py:5: " in capsys.readouterr().err


BY_DRIVER = """
import ctypes
import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")

class Tensor:
    def __init__(self, values):
        self.values, self.dtype, address = values, f"torch.{values.dtype}", ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)) == 0
        self.address = address
        assert cuda.cuMemcpyHtoD_v2(address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)) == 0
    def data_ptr(self):
        return self.address.value
    def numpy(self):
        out = np.empty_like(self.values)
        assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), self.address, ctypes.c_size_t(out.nbytes)) == 0
        return out

@triton.jit
def transpose(x, y, n, B: tl.constexpr):
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tl.store(y + j[:, None] * n + i[None, :], tl.trans(tl.load(x + i[:, None] * n + j[None, :])))

a = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
x, y = Tensor(a), Tensor(np.zeros_like(a))
transpose[(4, 4)](x, y, 128, B=32)
print((y.numpy() == a.T).all())
"""


def test_a_host_program_unchanged(tmp_path: Path, capfd: Said) -> None:
    """No PyTorch is needed, and one for processors only does not matter."""
    (tmp_path / "train.py").write_text(BY_DRIVER)
    for words in ([tmp_path / "train.py"], [sys.executable, tmp_path / "train.py"]):
        status, report = reported(tmp_path, *words)
        assert (status, capfd.readouterr().out) == (0, "True\n")
        [kernel] = report["kernels"]
        assert (kernel["kernel"], kernel["shapes"][0]["grid"]) == ("transpose", [4, 4, 1])
        assert kernel["conflicts"][0]["transactions"] >= 1024
