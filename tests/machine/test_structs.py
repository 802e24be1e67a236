"""Structs as arguments: laid out as C does, with arrays' addresses inside."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim import Struct
from banksim.__main__ import main
from banksim.errors import BanksimError, InputError
from banksim.machine.host_memory import copied
from helpers.commands import err_of, one_line
from helpers.fixtures import source_file

SOURCE = """
struct Slice { int *data; short first; };
struct View { float *data; int n; float scale; double bias; short steps[3]; Slice rest; };
extern "C" __global__ void sum(View v, float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[2 * t % 64] = t < v.n ? v.data[t] * v.scale : 0;
    __syncthreads();
    if (t < v.n) {
        out[t] = s[2 * t % 64] + (float)v.bias + v.steps[t % 3];
        v.rest.data[v.rest.first + t] = t;
    }
}
struct alignas(32) Wide { char tag; float *data; };
extern "C" __global__ void sums(const float *const *parts, int n, float *out) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += parts[i][threadIdx.x];
    out[threadIdx.x] = sum;
}
__global__ void wide(char before, Wide w) { w.data[threadIdx.x] = before + w.tag; }
"""

SCALARS = {
    np.int8: ctypes.c_int8, np.int16: ctypes.c_int16, np.int32: ctypes.c_int32, np.int64: ctypes.c_int64,
    np.uint8: ctypes.c_uint8, np.float32: ctypes.c_float, np.float64: ctypes.c_double, np.bool_: ctypes.c_bool,
}  # fmt: skip


file = source_file("structs.cu", SOURCE)


@pytest.fixture(scope="module")
def kernels(file: Path) -> Any:
    return banksim.load(file, "sm_90")


# ---- as C lays it out
leaves = st.sampled_from(list(SCALARS)).map(lambda kind: (kind(1), SCALARS[kind]))
pointers = st.sampled_from([(None, ctypes.c_void_p), (np.zeros(3), ctypes.c_void_p)])


def in_struct(fields: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    members = [(f"f{number}", kind) for number, (_, kind) in enumerate(fields)]
    return Struct(*(value for value, _ in fields)), type("Of", (ctypes.Structure,), {"_fields_": members})


def in_array(field: tuple[Any, Any]) -> tuple[Any, Any]:
    return (field[0],) * 3, field[1] * 3


fields = st.recursive(
    leaves | pointers,
    lambda inner: st.lists(inner, min_size=1, max_size=5).map(in_struct) | inner.map(in_array),
    max_leaves=10,
)


@given(st.lists(fields, min_size=1, max_size=6))
def test_fields_lie_as_in_c(given: list[tuple[Any, Any]]) -> None:
    found, expected = in_struct(given)
    assert found.offsets == tuple(getattr(expected, f"f{number}").offset for number in range(len(given)))
    assert (found.size, found.align) == (ctypes.sizeof(expected), ctypes.alignment(expected))


def test_numbers_without_a_type_are_refused() -> None:
    with pytest.raises(InputError, match=r"^field n of a struct is 5, a int: give a NumPy scalar"):
        Struct(np.zeros(3), n=5)
    with pytest.raises(InputError, match=r"field 0 of a struct is 1\.5, a float"):
        Struct((1.5,))
    with pytest.raises(InputError, match="a struct without fields"):
        Struct()
    with pytest.raises(InputError, match="3 is no power of two"):
        Struct(np.int32(1)).aligned(3)


# ---- as arguments
def view(data: np.ndarray, more: np.ndarray, n: int = 32) -> Struct:
    return Struct(
        data=data,
        n=np.int32(n),
        scale=np.float32(2),
        bias=np.float64(0.5),
        steps=(np.int16(1), np.int16(-2), np.int16(3)),
        rest=Struct(data=more, first=np.int16(4)),
    )


def check(data: np.ndarray, more: np.ndarray, out: np.ndarray) -> None:
    thread = np.arange(32)
    assert (out == data[:32] * 2 + 0.5 + np.array([1, -2, 3])[thread % 3]).all()
    assert (more[4:36] == thread).all()
    assert not more[:4].any()


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_kernel_reads_and_writes_through_a_struct(kernels: Any, engine: str) -> None:
    data, more, out = np.arange(100, dtype=np.float32), np.zeros(40, np.int32), np.zeros(32, np.float32)
    done = banksim.run(kernels["sum"], 1, 32, [view(data, more), out], engine=engine)
    check(data, more, out)
    assert [(site.op, site.transactions) for site in done.conflicts.sites] == [("st", 2), ("ld", 2)]


def test_every_architecture_begins_with_the_same_arrays(kernels: Any) -> None:
    memory = np.zeros(100, np.int32)
    data, more, out = np.arange(40, dtype=np.float32), memory[50:90], np.zeros(32, np.float32)
    done = banksim.run(kernels["sum"], 1, 32, [view(data, more), out], arch=["sm_80", "sm_90"])
    assert len(done.executions) == 2
    check(data, more, out)
    assert (memory[:54] == 0).all()


def test_counts_alone_change_nothing(kernels: Any) -> None:
    data, more, out = np.arange(40, dtype=np.float32), np.zeros(40, np.int32), np.zeros(32, np.float32)
    done = banksim.run(kernels["sum"], 1, 32, [view(data, more), out], values=False)
    assert done.conflicts.transactions == 4
    assert not more.any()
    assert not out.any()


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_tuple_is_an_array_of_addresses(kernels: Any, engine: Any, tmp_path: Path) -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    banksim.run(kernels["sums"], 1, 32, [(x[:32], x[32:], np.ones(32, np.float32)), 3, out], engine=engine)
    assert (out == x[:32] + x[32:] + 1).all()
    for wrong, told in (((), "a tuple cannot be passed"), ((x, 5), "5, a int: give a NumPy scalar")):
        with pytest.raises(BanksimError, match=told):
            banksim.run(kernels["sums"], 1, 32, [wrong, 3, out])


def test_an_alignment_can_be_declared(kernels: Any) -> None:
    data = np.zeros(32, np.float32)
    banksim.run(kernels["wide"], 1, 32, [np.int8(3), Struct(tag=np.int8(4), data=data).aligned(32)])
    assert (data == 7).all()


def test_copies_of_structs_share_what_the_originals_share() -> None:
    memory = np.arange(10)
    struct, alone = copied([Struct(memory[2:], np.int32(3)), memory])
    assert struct.values[0].base is not memory
    alone[5] = 77
    assert struct.values[0][3] == 77
    assert memory[5] == 5


def test_what_does_not_fit_is_one_line(kernels: Any) -> None:
    data, out = np.zeros(4, np.float32), np.zeros(32, np.float32)
    for arguments, told in (
        ([Struct(data, np.int32(4)), out], "argument 1 is a Struct of 16 bytes, the parameter has 48 bytes"),
        ([view(data[::2], data.view(np.int32)), out], "argument 1.data is not contiguous"),
        ([view(data, np.array([None])), out], "argument 1.rest.data holds Python objects"),
    ):
        with one_line(told):
            banksim.run(kernels["sum"], 1, 32, arguments)
    with pytest.raises(BanksimError, match=r"argument 1 is Struct of 8 bytes .*, and the parameter is char"):
        banksim.run(kernels["wide"], 1, 32, [Struct(data), out])


# ---- on the command line
def test_the_command_line_has_structs(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    struct = (
        "{data: float32[40]=arange, int32=32, scale: float32=2, float64=0.5, (int16=1, int16=-2, int16=3),"
        " {int32[40], first: int16=4}}"
    )
    words = ["kernel", f"{file}:sum", "--arg", struct, "--arg", "float32[32]", "--save-args", str(tmp_path)]
    assert main(words) == 0
    assert sorted(path.name for path in tmp_path.glob("*.npy")) == ["0.5.0.npy", "0.data.npy", "1.npy"]
    check(*(np.load(tmp_path / f"{name}.npy") for name in ("0.data", "0.5.0", "1")))
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{int32=5", "'}' is missing at its end"),
        ("{int32=5, n: 7}", "field n of a struct is 7, a int"),
        ("{a: int32=5, a: int32=6}", "the field 'a' stands there twice"),
        ("{}", "a struct without fields"),
        ("{a: quux=5}", "quux is no type of numbers"),
        ("{" * 200 + "}" * 200, "more than 100 brackets"),
    ],
)
def test_a_wrong_struct_is_one_line(file: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = err_of(capsys, ["kernel", f"{file}:sum", "--arg", text, "--arg", "float32[32]"])
    assert told in shown
    assert len(shown.splitlines()) == 1
