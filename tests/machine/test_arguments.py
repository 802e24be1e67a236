"""Arguments as a GPU's launcher takes them; what a kernel reaches from them, and what lies outside."""

import itertools
import mmap
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cuda

import banksim
from banksim.errors import ArgumentTypeError, Fault, InputError
from banksim.kernels.compilers.numba_without_gpu import importable
from banksim.kernels.global_addresses import ARGUMENTS, PROGRAM, STRIDE
from banksim.machine.addresses import address_of
from banksim.machine.host_memory import Stretches, copied, extent
from helpers.operations import ENGINES
from helpers.places import KERNELS

FILE = KERNELS / "arguments.cu"
f4 = np.float32


@cache
def kernels(arch: str = "sm_90") -> Any:
    return banksim.load(FILE, arch)


def run(name: str, *args: Any, engine: str = "llvm", arch: str = "sm_90", **options: Any) -> Any:
    return banksim.run(kernels(arch)[name], 1, 32, args, engine=engine, **options)


# ---- views
def mapped(size: int) -> Any:
    return mmap.mmap(-1, size)


@ENGINES
@pytest.mark.parametrize("owner", [bytearray, mapped, lambda size: memoryview(bytearray(size))[::1]])
def test_a_view_reaches_as_far_as_its_memory(owner: Any, engine: str) -> None:
    memory = owner(33 * 4)
    np.frombuffer(memory, f4)[:] = np.arange(33)
    out = np.zeros(32, f4)
    run("before", out, np.frombuffer(memory, f4, offset=4), engine=engine)
    assert np.array_equal(out, np.arange(32))


@ENGINES
def test_views_of_one_array_are_one_memory(engine: str) -> None:
    a = np.arange(66, dtype=f4)
    run("before", a[:32], a[33:65], engine=engine)
    assert np.array_equal(a[:32], np.arange(32, 64))
    got = run("before", a[:32], a[33:65], engine=engine)
    assert len(got.launch.buffers) == 2, "the module's variables and the array"


def test_numba_kernels_reach_as_far() -> None:
    @cuda.jit
    def reach(out: Any, p: Any) -> None:
        out[cuda.threadIdx.x] = p[cuda.threadIdx.x + p.size]

    a = np.arange(64, dtype=f4)
    out = np.zeros(32, f4)
    banksim.run(reach, 1, 32, [out, a[:32]])
    assert np.array_equal(out, a[32:])


def test_several_architectures_begin_with_the_same_memory() -> None:
    """What a kernel changes outside the given views is restored too."""
    a = np.zeros(64, f4)
    a[:32] = np.arange(32)
    run("before", a[32:], a[1:2], arch="sm_90")
    expected = a.copy()
    a[32:] = 0
    banksim.run(kernels()["before"], 1, 32, [a[32:], a[1:2]], arch=("sm_90", "sm_80"))
    assert np.array_equal(a, expected)


@ENGINES
def test_a_fault_tells_the_byte_of_the_argument(engine: str) -> None:
    a = np.zeros(64, f4)
    message = r"at byte 64 of argument 2 \(64 bytes, in an array of 256\)"
    with pytest.raises(Fault, match=message.replace("64 of", "192 of")):
        run("far", np.zeros(32, f4), a[16:32], 48, engine=engine)
    with pytest.raises(Fault, match=r"at byte -4 of argument 2 \(256 bytes\)"):
        run("before", np.zeros(32, f4), a, engine=engine)


def test_memory_of_more_than_a_piece_is_the_view_alone() -> None:
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (1 << 32,), (0,))
    assert extent(huge)[1] - extent(huge)[0] == 1
    owner = np.empty((1 << 31) + 8, np.uint8)
    part = owner[8:40]
    assert extent(part) == (part.ctypes.data, part.ctypes.data + 32)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=8))
def test_stretches_hold_every_array_and_lie_apart(ends: list[tuple[int, int]]) -> None:
    memory = np.zeros(64, np.uint8)
    base = memory.ctypes.data
    known = Stretches()
    for low, high in ends:
        known.add((base + min(low, high), base + max(low, high)))
    for low, high in ends:
        first, last = base + min(low, high), base + max(low, high)
        assert any(s[0] <= first and last <= s[1] for s in known.all)
    filled = sorted(s for s in known.all if s[0] < s[1])
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(filled))


def test_copies_are_laid_out_alike() -> None:
    a = np.arange(24, dtype=f4)
    given_ = [a[4:8], (a[::-2], a.reshape(4, 6).T), 5]
    first, (second, third), number = copied(given_)
    assert np.array_equal(first, a[4:8])
    assert np.array_equal(second, a[::-2])
    assert np.array_equal(third, a.reshape(4, 6).T)
    assert number == 5
    first[:] = -1
    assert third.T.reshape(-1)[4] == -1
    assert a[4] == 4


# ---- addresses
@given(st.integers(0, 2000), st.integers(0, (1 << 31) - 1))
def test_a_place_is_that_of_its_address(index: int, byte: int) -> None:
    assert ARGUMENTS.place_of(address_of(index) + byte) == (index, byte)


@given(st.integers(0, 300), st.integers(1, 36), st.integers(0, 8), st.booleans())
def test_no_slip_of_an_index_leads_into_another_buffer(index: int, size: int, shift: int, back: bool) -> None:
    """An index that is off by 2**31 or 2**32 elements, of any size below STRIDE."""
    for bits in 31, 32:
        slip = (size << bits + shift) * (-1 if back else 1)
        number, byte = ARGUMENTS.place_of(address_of(index) + slip)
        assert number > 2000 or byte >= 1 << 31 or number == index


@given(st.integers(0, PROGRAM.slots - 1), st.integers(0, (1 << 32) - 1))
def test_a_programs_memory_has_a_place_of_its_own_where_a_host_can_map_it(index: int, byte: int) -> None:
    address = PROGRAM.address_of(index) + byte
    assert PROGRAM.place_of(address) == (index, byte)
    assert 0x2000 <= address >> 32 < 0x5500


@given(st.integers(0, 365), st.integers(1, 16), st.booleans(), st.integers(0, 365))
def test_no_slip_of_an_index_leads_into_other_memory_of_a_program(
    index: int, size: int, back: bool, other: int
) -> None:
    slip = (size << 32) * (-1 if back else 1)
    assert PROGRAM.place_of(PROGRAM.address_of(index) + slip)[0] != other


def test_what_lies_beside_a_programs_memory_is_none_of_it() -> None:
    ends = PROGRAM.first - 1, PROGRAM.first + (PROGRAM.slots << 32), 0x7FFF << 32, 0
    assert all(PROGRAM.place_of(address)[0] >= PROGRAM.slots for address in ends)


@ENGINES
@pytest.mark.parametrize("bits", [29, 30, 31, 32, 33, 34])
def test_a_slip_is_a_fault(bits: int, engine: str) -> None:
    arrays = [np.zeros(32, f4) for _ in range(2)]
    for sign in 1, -1:
        with pytest.raises(Fault, match=rf"at byte {sign * 4 << bits} of argument 2"):
            run("far", *arrays, sign << bits, engine=engine)


def test_hundreds_of_buffers() -> None:
    @cuda.jit
    def first_of(out: Any, many: Any) -> None:
        for k in range(2):
            out[k] = many[k][0]

    out = np.zeros(2, f4)
    addresses = {address_of(n) >> 32 for n in range(1000)}
    windows = {0x7C00, 0x7D00, 0x7E00}
    assert not addresses & windows
    assert STRIDE % 2
    banksim.run(first_of, 1, 1, [out, tuple(np.full(1, k, f4) for k in range(2))])
    assert out.tolist() == [0, 1]


# ---- shared memory
@ENGINES
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    ("index", "what"),
    [
        (-1, "4 bytes below the kernel's own"),
        (-33, "132 bytes below the kernel's own"),
        (-300, "1200 bytes below the kernel's own"),
        (1, "at byte 128 of 128"),
        (1 << 20, "at byte 4194304 of 128"),
    ],
)
def test_outside_of_what_a_kernel_declared(index: int, what: str, arch: str, engine: str) -> None:
    if arch == "sm_90" and index in (-1, -33):  # in the part that is reserved, which an H200 lets pass
        assert run("at", np.zeros(32, np.int32), index, engine=engine, arch=arch).out_of_bounds
        return
    with pytest.raises(Fault, match=f"store of 4 bytes out of bounds in shared memory, {what}"):
        run("at", np.zeros(32, np.int32), index, engine=engine, arch=arch)


@ENGINES
def test_copies_outside_of_what_a_kernel_declared(engine: str) -> None:
    out = np.arange(64, dtype=np.int32)
    run("copied", out, 3, engine=engine)
    assert run("copied", out, -1, engine=engine).out_of_bounds  # in the part that is reserved
    for index, what in (-1, "16 bytes below the kernel's own"), (16, "at byte 256 of 256"):
        with pytest.raises(Fault, match=f"in shared memory, {what}"):
            run("copied", out, index, engine=engine, arch="sm_80" if index < 0 else "sm_90")


@ENGINES
def test_dynamic_shared_memory_to_the_byte(engine: str) -> None:
    out = np.zeros(32, f4)
    assert not run("grown", out, engine=engine, dynamic_shared=128).out_of_bounds
    assert out.all()
    assert run("grown", out, engine=engine, dynamic_shared=124).out_of_bounds  # a block has units of 128 bytes
    with pytest.raises(Fault, match=r"at byte 124 of 124, at"):
        run("grown", out, engine=engine, dynamic_shared=124, arch="sm_80")
    with pytest.raises(Fault, match=r"at byte 0 of 0 \(no dynamic shared memory was given: --dynamic-shared\)"):
        run("grown", out, engine=engine)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("grown_by_a_call", "at byte 128 of 128 (no dynamic shared memory was given: --dynamic-shared), at"),
        ("at", "at byte 128 of 128, at"),  # no kernel of dynamic shared memory, though its file has one
    ],
)
def test_only_kernels_that_use_dynamic_shared_memory_are_told_of_it(name: str, end: str) -> None:
    with pytest.raises(Fault, match=f"out of bounds in shared memory, {re.escape(end)}"):
        run(name, np.zeros(32, np.int32), 32 * (name == "at"), arch="sm_80")


# ---- types
WRONG = {
    "array of doubles": ([np.zeros(32), 1, 1.0, 1.0], r"argument 1 is an array of float64, .* is float\*"),
    "array of ints": ([np.zeros(32, np.int32), 1, 1.0, 1.0], r"argument 1 is an array of int32, .* is float\*"),
    "number for an array": ([2.5, 1, 1.0, 1.0], r"argument 1 is 2.5 \(float\), .* is float\*"),
    "float for an int": ([np.zeros(32, f4), 1.5, 1.0, 1.0], r"argument 2 is 1.5 \(float\), .* is int"),
    "float32 for an int": ([np.zeros(32, f4), f4(1), 1.0, 1.0], "argument 2 is .* is int"),
    "int32 for a float": ([np.zeros(32, f4), 1, np.int32(1), 1.0], "argument 3 is .* is float"),
    "array for a double": ([np.zeros(32, f4), 1, 1.0, np.zeros(4)], "argument 4 is an array of float64, .* is double"),
    "too few": ([np.zeros(32, f4)], r"^numbers\(float\*, int, float, double\) takes 4 arguments, 1 were given"),
    "other byte order": ([np.zeros(32, ">f4"), 1, 1.0, 1.0], "argument 1 is >f4, of the other byte order"),
    "objects": ([np.zeros(32, object), 1, 1.0, 1.0], "argument 1 holds Python objects"),
    "masked": ([np.ma.zeros(32, f4), 1, 1.0, 1.0], "argument 1 is a masked array"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_parameters_do_not_take(case: str) -> None:
    args, message = WRONG[case]
    with pytest.raises(InputError, match=message) as error:
        run("numbers", *args)
    assert "\n" not in str(error.value)


def test_what_they_take() -> None:
    out = np.zeros(32, f4)
    run("numbers", out, True, 2, np.float64(3))
    assert out[0] == 6
    run("numbers", out.view(np.uint32), np.uint32(1), f4(0.5), 1)
    assert out[0] == 2.5
    run("numbers", out.view(np.uint8), 1, 0.25, 1.0)
    assert out[0] == 2.25
    run("named", out, np.array([1, 2], f4).tobytes(), 1)
    assert out[0] == 4
    for pair in 5.0, 5, f4(5):
        with pytest.raises(InputError, match="argument 2"):
            run("named", out, pair, 1)


@pytest.mark.parametrize("told", ["source", "ptx"])
def test_where_no_name_tells_the_types_source_or_ptx_does(told: str) -> None:
    """extern "C": an int given for a float was once taken as the float's bits, and the other way round."""
    kernel = kernels("sm_90")["unmangled"]
    types = ["float*", "int", "float", "double", "bool"]
    if told == "ptx":
        kernel, types = (
            replace(kernel, declared=()),
            [f"{one} (of PTX)" for one in (".u64", ".u32", ".f32", ".f64", ".u8")],
        )

    def given(*args: Any) -> None:
        banksim.run(kernel, 1, 32, args)

    out = np.zeros(32, f4)
    given(out, 1, 2, 3, True)
    assert out[0] == 7
    given(out, np.uint32(1), f4(0.5), np.float64(1), False)
    assert out[0] == 2.5
    for at, what, wrong in [
        (1, "1.5 (float)", (1.5, 2.0, 3.0, True)),
        (2, "2 (int32)", (1, np.int32(2), 3.0, True)),
        (3, "3 (int64)", (1, 2.0, np.int64(3), True)),
        (1, "an array of float32", (out, 2.0, 3.0, True)),
    ]:
        message = f"unmangled: argument {at + 1} is {what}, and the parameter is {types[at]}"
        with pytest.raises(ArgumentTypeError, match=f"^{re.escape(message)}$"):
            given(out, *wrong)
    listed = ", ".join(types).replace(" (of PTX)", "")
    with pytest.raises(InputError, match=re.escape(f"unmangled({listed}) takes 5 arguments, 1 were given")):
        given(out)
    with pytest.raises(
        ArgumentTypeError, match=re.escape(f"argument 1 is 1.5 (float), and the parameter is {types[0]}")
    ):
        given(1.5, 1, 2.0, 3.0, True)


def test_numba_converts_as_its_launcher_does() -> None:
    with importable():

        @cuda.jit("void(float32[:], int32)")
        def declared(out: Any, n: Any) -> None:
            out[0] = n

    out = np.zeros(1, f4)
    for value in 2.9, f4(2), np.float64(2):
        with pytest.raises(ArgumentTypeError, match=r"^n is .*2.*: it is declared int32$") as error:
            banksim.run(declared, 1, 1, [out, value])
        assert isinstance(error.value, TypeError)
    for value in 3, np.int64(3), np.uint8(3), 3 + (1 << 32):
        banksim.run(declared, 1, 1, [out, value])
        assert out[0] == 3
    with pytest.raises(InputError, match=r"^declared takes 2 arguments \(out, n\), 1 were given"):
        banksim.run(declared, 1, 1, [out])
    for array in np.ma.zeros(1, f4), np.zeros(1, object), np.zeros(1, ">f4"):
        with pytest.raises(InputError, match=r"Numba CUDA has no type for|is declared for"):
            banksim.run(declared, 1, 1, [array, 1])


def test_to_look_for_masks_imports_nothing() -> None:
    """numpy.ma takes as long as a twentieth of a command that counts, and an array with a mask has imported it."""
    program = """
import sys, numpy
from banksim.machine.parameters import check_content
before = {*sys.modules}
check_content(numpy.zeros(1), "argument 1")
print(*({*sys.modules} - before))
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "\n"
