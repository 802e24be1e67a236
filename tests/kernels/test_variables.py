"""`__constant__` and `__device__` variables: filled from outside, and told where nobody did."""

import json
from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim import distributed
from banksim.errors import InputError
from banksim.kernels.compilers import assemble, compile_cuda
from banksim.kernels.cubin import decode, decode_ahead
from helpers.commands import out_of, refused

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """\
__constant__ int mask[4];
namespace deep { __constant__ float scale; __constant__ int known[2] = {3, 4}; __constant__ int unread[2]; }
__device__ int offset[2];
extern "C" __global__ void conv(const int *in, int *out) {
    __shared__ int row[32];
    row[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = row[31 - threadIdx.x] * mask[threadIdx.x % 4] + deep::known[1]
        + (int)(10 * deep::scale) + offset[1] + (deep::unread[0] == 77 && out == in ? deep::unread[1] : 0);
}
__device__ const int *place() { return mask; }
extern "C" __global__ void pointed(int *out, int n) { out[threadIdx.x] = place()[(threadIdx.x + n) % 4]; }
"""


SIZE = {"sm_75": 4096, "sm_90": 16384, "sm_100": 16384}
"""Bytes of the largest parameter, by architecture."""


def large(arch: str) -> str:
    """PTX of a kernel with such a parameter."""
    return f""".version 9.0
        .target {arch}
        .address_size 64
        .visible .entry k(.param .u16 n, .param .align 64 .b8 map[{SIZE[arch]}], .param .u64 out) {{
            .reg .b64 a; .reg .b32 v;
            ld.param.u64 a, [out]; ld.param.u32 v, [map+{SIZE[arch] - 4}]; st.global.u32 [a], v; ret; }}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In one place for all tests: nvcc compiles it once for each architecture."""
    path = tmp_path_factory.mktemp("variables") / "conv.cu"
    path.write_text(SOURCE.replace("deep::unread[0] == 77 && out == in ? deep::unread[1] : 0", "0"))
    for arch in SIZE:
        decode_ahead([compile_cuda(path, arch), assemble(large(arch), arch)])
    return path


def given() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, 129, dtype=np.int32), np.zeros(128, np.int32)


def expected(values: np.ndarray) -> list[int]:
    mask = np.array([1, 2, 3, 4] * 8)
    return (values.reshape(4, 32)[:, ::-1] * mask + 4 + 25 + 9).reshape(-1).tolist()


def filled(file: Path, arch: str = "sm_90") -> banksim.kernels.kernel.Kernel:
    kernel = banksim.load(file, arch)["conv"]
    kernel.constants["mask"] = np.array([1, 2, 3, 4], np.int32)
    kernel.constants["deep::scale"] = 2.5
    kernel.constants["offset"] = np.array([8, 9], np.int32)
    return kernel


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_filled(file: Path, arch: str, engine: str) -> None:
    values, out = given()
    done = banksim.run(filled(file, arch), 4, 32, [values, out], arch=arch, engine=engine)
    assert out.tolist() == expected(values)
    assert done.unfilled == ()


def test_several_architectures_and_workers(file: Path) -> None:
    """Of the code of each architecture the variables are filled; wrong results of one would be told."""
    values, out = given()
    done = banksim.run(filled(file), 4, 32, [values, out], arch=["sm_90", "sm_80"])
    assert out.tolist() == expected(values)
    assert [one.unfilled for one in done.executions] == [(), ()]
    values, out = given()
    distributed.run(filled(file), 4, 32, [values, out], workers=1)
    assert out.tolist() == expected(values)


def test_through_a_pointer(file: Path) -> None:
    """Code that reads by a generic address finds the same."""
    kernel, out = banksim.load(file)["pointed"], np.zeros(4, np.int32)
    kernel.constants["mask"] = np.array([5, 6, 7, 8], np.int32)
    banksim.run(kernel, 1, 4, [out, 1])
    assert out.tolist() == [6, 7, 8, 5]


def test_of_one_module_alone(file: Path) -> None:
    """What is filled belongs to what `load` gave, as does what another `load` gives of the same file."""
    filled(file)
    assert dict(banksim.load(file)["conv"].constants) == {}
    module = banksim.load(file)
    module["conv"].constants["mask"] = bytes(16)
    assert module["conv"].constants["mask"] == bytes(16)
    assert "mask" in module["conv"].constants
    del module["conv"].constants["mask"]
    assert not module["conv"].constants


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_what_nobody_filled_is_told(file: Path, engine: str) -> None:
    """What the code reads and nobody filled or initialised; not what another kernel reads."""
    values, out = given()
    done = banksim.run(banksim.load(file)["conv"], 4, 32, [values, out], engine=engine)
    assert sorted((one.name, one.size) for one in done.unfilled) == [("deep::scale", 4), ("mask", 16)]
    assert {one.site.line for one in done.unfilled} <= {8, 9}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("maks", np.zeros(4, np.int32), r"^no variable 'maks' in the module of conv: choose one of mask$"),
        ("mask", np.zeros(3, np.int32), r"^mask has 16 bytes, int32\[3\] has 12: give all of it, of its type$"),
        ("mask", np.zeros(4, np.int64), r"^mask has 16 bytes, int64\[4\] has 32"),
        ("mask", np.zeros(4, ">i4"), r"^mask: a >i4 array cannot be in a GPU's memory"),
        ("mask", np.array([None] * 4), r"^mask: a object array cannot"),
        ("deep::scale", 2**40, r"^deep::scale has 4 bytes: 1099511627776 does not fit$"),
        ("scale", b"abc", r"^deep::scale has 4 bytes, 3 bytes: give all of it"),
    ],
)
def test_what_does_not_fit(file: Path, name: str, value: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        banksim.load(file)["conv"].constants[name] = value


def test_by_the_command(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "mask.npy", np.array([1, 2, 3, 4], np.int32))
    launch = ["kernel", f"{file}:conv", "--grid", "4", "--block", "32", "--arg", "int32[128]=arange"]
    launch += ["--arg", "int32[128]", "--save-args", str(tmp_path)]
    page = tmp_path / "page.html"
    text = " ".join(out_of(capsys, [*launch, "--html", str(page)]).split())
    assert "__constant__ mask (16 bytes) was read at" in text
    assert "--constant deep::scale=" in text
    assert "__constant__ mask (16 bytes) was read" in page.read_text()
    constants = ["--constant", f"mask={tmp_path / 'mask.npy'}", "--constant", "scale=float32=2.5"]
    constants += ["--constant", "offset=int32[2]=9"]
    assert "all zeros" not in out_of(capsys, [*launch, *constants])
    assert np.load(tmp_path / "1.npy").tolist() == expected(np.arange(128))
    found = json.loads(out_of(capsys, [*launch, "--json"]))["unfilled"]
    assert {(one["name"], one["bytes"]) for one in found} == {("mask", 16), ("deep::scale", 4)}
    for wrong, told in (
        ("mask", "give NAME=VALUE"),
        ("mask=int32[3]", "mask has 16 bytes"),
        ("n=1", "no variable 'n'"),
    ):
        assert told in refused(capsys, [*launch, "--constant", wrong])


def test_constant_arrays_of_numba_are_initialised(tmp_path: Path) -> None:
    from numba import cuda

    table = np.zeros(8, np.int32)

    def kernel(out):  # type: ignore[no-untyped-def]
        held = cuda.const.array_like(table)
        out[cuda.threadIdx.x] = held[cuda.threadIdx.x % 8] + 1

    out = np.zeros(32, np.int32)
    done = banksim.run(cuda.jit(kernel), 1, 32, [out])
    assert (out == 1).all()
    assert done.unfilled == ()


# ---- parameters
@pytest.mark.parametrize("arch", SIZE)
def test_parameters_of_kernels_with_large_ones(arch: str) -> None:
    """Such kernels list their parameters by an attribute of its own; one of them may be as large as this."""
    kernel = decode(assemble(large(arch), arch))["k"]
    assert [(p.ordinal, p.size) for p in kernel.parameters] == [(0, 2), (1, SIZE[arch]), (2, 8)]
    assert kernel.parameters[2].offset == kernel.parameters[1].offset + SIZE[arch]
    assert (kernel.parameter_base + kernel.parameters[1].offset) % 64 == 0
    content, out = np.arange(SIZE[arch] // 4, dtype=np.int32), np.zeros(1, np.int32)
    banksim.run(kernel, 1, 1, [1, content.tobytes(), out])
    assert out[0] == SIZE[arch] // 4 - 1
