"""printf in a kernel, beside that of the C library."""

import ctypes
import math
import struct
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim.errors import Fault, UnsupportedError
from banksim.machine import driver_calls
from banksim.machine.printing import lines, parsed, printed
from helpers.commands import refused
from helpers.places import written_to

SOURCE = r"""
#include <cstdio>
__global__ void sizes(int w) {
    printf("[%hhd][%hd][%hhu][%hx][%c][%5c][%.2c][%%][%x][%lld]\n", 300, 70000, -1, -1, 200, 65, 66, -1, -5ll);
}
__global__ void letters() { printf("%c%c %s\n", 0xc3, 0xa9, "gr\xc3\xb6\xc3\x9f" "er"); }
__global__ void precision(int w) { printf("[%.*f]\n", w, 1.5); }
__global__ void width(int w) { printf("[%*d]\n", w, 5); }
__global__ void absurd() { printf("[%99999999999999999999d]\n", 5); }
__global__ void astray(int n) { if (threadIdx.x == 3) printf("%s\n", (const char *)0 + n); }
__global__ void infinite() {
    if (threadIdx.x < 3) printf("[%06.2f]\n", threadIdx.x == 1 ? 1.0 / 0.0 : 1.0 / (1 + threadIdx.x / 2));
}
__global__ void each(int n) {
    char own[2] = {'x', 0};
    for (int i = 0; i < n; i++)
        printf("%-4d %x: %s | %.2f %s\n", threadIdx.x, i, threadIdx.x & 1 ? "odd" : "even", threadIdx.x * 0.5, own);
}
__global__ void lines(int n) { for (int i = 0; i < n; i++) printf("%d\n", i); }
"""
SHORT = {"hh": 1, "h": 2, "": 4, "l": 8, "ll": 8, "j": 8, "z": 8, "t": 8}


@cache
def kernels() -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return banksim.load(written_to(Path(folder) / "prints.cu", SOURCE))


def output(name: str, *args: int, engine: str = "llvm", threads: int = 1) -> str:
    return banksim.run(kernels()[name], 1, threads, args, engine=engine).output


# ---- beside the C library
def c_library(form: bytes, values: list[Any]) -> bytes:
    buffer = ctypes.create_string_buffer(20_000)
    function = ctypes.CDLL(None).snprintf
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]  # the others are variadic
    size = function(buffer, len(buffer), form, *values)
    return buffer.raw[:size]


flags = st.lists(st.sampled_from("-+ #0"), max_size=3, unique=True).map("".join)
figures = st.one_of(st.just(""), st.integers(0, 30).map(str))


def number_of(passed: tuple[int, bytes]) -> int:
    return int.from_bytes(passed[1], "little", signed=True)


@st.composite
def conversions(draw: st.DrawFn) -> tuple[bytes, list[Any], list[tuple[int, bytes]]]:
    """A format of one conversion, its arguments for C, and their sizes and bytes as a kernel passes them."""
    kind = draw(st.sampled_from("diouxXcsfFeEgGaA"))
    length = draw(st.sampled_from([*SHORT])) if kind in "diouxX" else ""
    values: list[Any] = []
    passed: list[tuple[int, bytes]] = []
    width, precision = draw(figures), draw(st.one_of(st.just(""), figures.map(".".__add__)))
    if draw(st.booleans()):
        number = draw(st.integers(-30, 30))
        width = "*"
        values.append(ctypes.c_int(number))
        passed.append((4, struct.pack("<i", number)))
    if draw(st.booleans()) and kind not in "aA":
        number = draw(st.integers(-3, 30))
        precision = ".*"
        values.append(ctypes.c_int(number))
        passed.append((4, struct.pack("<i", number)))
    if kind in "aA":
        precision = ""
    marks = draw(flags)
    if kind in "cs":
        marks = "-" if "-" in marks else ""  # C leaves open what the others mean there
    if kind not in "oxXfFeEgG":
        marks = marks.replace("#", "")
    if width == "*" and number_of(passed[0]) < 0:
        marks = marks.replace("0", "")  # a glibc in which a library has registered conversions pads with zeros here
    if kind in "diouxX":
        number = draw(st.one_of(st.integers(-2, 300), st.integers(-(2**63), 2**63 - 1)))
        size = 8 if SHORT[length] == 8 else 4
        content = (number & (2 ** (8 * size) - 1)).to_bytes(size, "little")
        values.append((ctypes.c_int64 if size == 8 else ctypes.c_int32)(number))
        passed.append((size, content))
    elif kind == "c":
        values.append(ctypes.c_int(draw(st.integers(0, 255))))
        passed.append((4, struct.pack("<i", values[-1].value)))
    elif kind == "s":
        text = draw(st.binary(max_size=12).map(lambda text: text.replace(b"\0", b".")))
        values.append(ctypes.c_char_p(text))
        passed.append((8, struct.pack("<q", 77)))
    else:
        real = draw(st.floats())
        values.append(ctypes.c_double(real))
        passed.append((8, struct.pack("<d", real)))
    return f"%{marks}{width}{precision}{length}{kind}".encode(), values, passed


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is the C library of CUDA's Linux")
@given(st.lists(conversions(), min_size=1, max_size=3), st.binary(max_size=5))
def test_every_conversion_is_that_of_c(
    given: list[tuple[bytes, list[Any], list[tuple[int, bytes]]]], text: bytes
) -> None:
    text = text.replace(b"%", b"%%").replace(b"\0", b"_")
    form = text.join([b"", *(one for one, _, _ in given), b""])
    arguments = b""
    strings = []
    for _, values, passed in given:
        strings += [value.value for value in values if isinstance(value, ctypes.c_char_p)]
        for size, content in passed:
            arguments += bytes(-len(arguments) % size) + content
    assert parsed(form).bytes == len(arguments)
    texts = iter(strings)
    format = parsed(form)
    found = printed(format, arguments, lambda address: next(texts))
    assert found == c_library(form, [value for _, values, _ in given for value in values])
    if format.plain:
        texts = iter(strings + strings)
        assert lines(format.plain, arguments + arguments, lambda address, number: next(texts)) in (None, [found] * 2)


def test_threads_that_print_by_one_format_are_printed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(*arguments: Any) -> bytes:
        raise AssertionError("every thread is formatted by itself")

    found = banksim.run(kernels()["each"], 2, 40, (3,), engine="numpy").output
    monkeypatch.setattr(driver_calls, "printed", one_by_one)
    assert banksim.run(kernels()["each"], 2, 40, (3,)).output == found
    assert found.count("\n") == 2 * 40 * 3
    assert found.startswith("0    0: even | 0.00 x\n1    0: odd | 0.50 x\n")


def test_infinity_among_the_values_of_a_warp_is_padded_with_spaces() -> None:
    found = output("infinite", threads=32)
    assert found == "[001.00]\n[   inf]\n[000.50]\n"


def test_a_negative_width_pads_with_spaces_on_the_right_whatever_the_flags() -> None:
    for flags in ("", "0", "-0", "+0"):
        width, sign = struct.pack("<i", -6), "+" if "+" in flags else ""
        form = parsed(f"%{flags}*d|%{flags}*.1f|".encode())
        arguments = width + struct.pack("<i", 7) + width + bytes(4) + struct.pack("<d", 0.5)
        assert printed(form, arguments, lambda address: b"") == f"{sign + '7':<6}|{sign + '0.5':<6}|".encode()


@pytest.mark.parametrize("kind", "fFeEgGaA")
def test_what_is_not_finite_is_a_word_in_every_conversion(kind: str) -> None:
    for value, word in ((math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan")):
        shown = printed(parsed(f"%#05{kind}".encode()), struct.pack("<d", value), lambda address: b"")
        assert shown == (word.upper() if kind.isupper() else word).rjust(5).encode()


# ---- in kernels
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100"])
def test_code_of_every_architecture_prints(arch: str, tmp_path: Path) -> None:
    """Up to sm_89 the call's return address is relative to the LEPC instruction; from sm_90 on LEPC holds it."""
    file = tmp_path / "prints.cu"
    file.write_text(
        '#include <cstdio>\n__noinline__ __device__ void say(int i) { printf("%d,", i); }\n'
        '__global__ void k(int n) { for (int i = 0; i < n; i++) say(i); printf("end"); }'
    )
    kernel = banksim.load(file, arch=arch)["k"]
    assert [banksim.run(kernel, 1, 1, [3], engine=one).output for one in ("llvm", "numpy")] == ["0,1,2,end"] * 2


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_integers_are_cut_to_their_size(engine: str) -> None:
    assert output("sizes", 0, engine=engine) == "[44][4464][255][ffff][�][    A][B][%][ffffffff][-5]\n"


def test_bytes_make_letters_together() -> None:
    assert output("letters") == "é größer\n"


@pytest.mark.parametrize(
    ("name", "args", "figure"),
    [
        ("width", [2_000_000_000], "2000000000"),
        ("width", [-(2**31)], "-2147483648"),
        ("width", [4096], "4096"),
        ("precision", [1_000_000], "1000000"),
        ("absurd", [], "99999999999999999999"),
    ],
)
@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_absurd_widths_are_refused_by_name(name: str, args: list[int], figure: str, engine: str) -> None:
    message = rf"printf: a width or precision of {figure}: C guarantees no more than 4,095"
    with pytest.raises((Fault, UnsupportedError), match=message) as caught:
        output(name, *args, engine=engine)
    assert "\n" not in str(caught.value)


def test_widths_that_c_guarantees() -> None:
    assert output("width", 4095) == f"[{'5'.rjust(4095)}]\n"
    assert output("width", -8) == "[5       ]\n"
    assert output("precision", -1) == "[1.500000]\n"
    assert output("precision", 0) == "[2]\n"


def test_many_lines_are_printed_soon() -> None:
    lines = 100_000
    output("lines", 1)
    began = time.process_time()
    found = output("lines", lines)
    assert found == "".join(f"{n}\n" for n in range(lines))
    assert time.process_time() - began < 10


def test_what_is_beyond_the_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_calls, "MOST", 100)
    found = output("lines", 1000)
    kept, told, _ = found.rsplit("\n", 2)
    assert kept.startswith("0\n1\n2\n")
    assert told == f"[{3890 - len(kept):,} more bytes were printed]"


def test_the_command_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.cu").write_text(SOURCE)
    error = refused(capsys, ["kernel", f"{tmp_path / 'p.cu'}:absurd", "--grid", "1", "--block", "1"])
    line = 1 + next(n for n, text in enumerate(SOURCE.splitlines()) if "void absurd" in text)
    assert "printf: a width or precision of 9999" in error
    assert f", at {tmp_path / 'p.cu'}:{line} (SASS 0x" in error


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_refused_call_names_its_line(engine: str) -> None:
    """A string that lies nowhere: both engines say what, and where it was called."""
    text = "void astray"
    line = 1 + next(n for n, one in enumerate(SOURCE.splitlines()) if text in one)
    with pytest.raises(
        Fault, match=rf"^astray: vprintf: 1 bytes out of bounds of .*, at .*:{line} \(SASS .*CALL.*lane 3$"
    ):
        output("astray", 100_000_000, engine=engine, threads=32)
