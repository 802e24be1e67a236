import mmap
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.commands.shared.argument_text import parse
from banksim.errors import InputError
from helpers.commands import refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-7", -7), ("0x10", 16), ("2.5", 2.5), ("1e-3", 1e-3), ("true", True), ("int32=5", np.int32(5)),
        ("uint8=0xff", np.uint8(255)), ("float32=0.1", np.float32(0.1)), ("float64=nan", np.float64("nan")),
        ("bool=1", np.bool_(True)), ("float32[2,3]", np.zeros((2, 3), np.float32)),
        ("float32[2,3]=zeros", np.zeros((2, 3), np.float32)), ("int16[4]=ones", np.ones(4, np.int16)),
        ("uint8[2*150]=arange", np.arange(300).astype(np.uint8)), ("float64[2]=-1.5", np.array([-1.5, -1.5])),
        ("complex64[2]=2", np.array([2, 2], np.complex64)), ("int32[0]", np.zeros(0, np.int32)),
        (" int32[ 2 , 2 ] ", np.zeros((2, 2), np.int32)),
    ],
)  # fmt: skip
def test_an_argument_is_what_it_says(text: str, value: Any) -> None:
    found = parse(text, 0)
    assert type(found) is type(value)
    np.testing.assert_array_equal(found, value, strict=True) if isinstance(value, np.ndarray) else None
    assert np.asarray(found).tobytes() == np.asarray(value).tobytes()


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "uint64", "bool", "complex64"]
)
def test_random_numbers_are_the_same_on_every_run_and_differ_between_arguments(dtype: str) -> None:
    first, again, other = (parse(f"{dtype}[8,32]=random", seed) for seed in (0, 0, 1))
    assert isinstance(first, np.ndarray)
    assert first.dtype == dtype
    assert first.shape == (8, 32)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert len(np.unique(first)) > 1


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int32", -3, 4), ("uint8", 0, 256), ("float32", 2.0, 3.0), ("int8", -128, 128)]
)
def test_random_keeps_within_its_bounds(dtype: str, low: float, high: float) -> None:
    found = parse(f"{dtype}[4096]=random({low},{high})", 3)
    assert isinstance(found, np.ndarray)
    assert low <= found.min()
    assert found.max() <= high - (0 if dtype == "float32" else 1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_zeros_take_no_room_before_they_are_written() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    before = resident()
    found = parse("float32[16384,4096]", 0)
    assert found.nbytes == 256 << 20
    assert resident() - before < 64 << 20
    assert not found[::4096].any()
    assert np.signbit(parse("float32[2]=-0.0", 0)).all()


def test_random_numbers_are_those_of_one_draw() -> None:
    for name in ("float32", "float64", "float16"):
        drawn = np.random.default_rng(3).uniform(2, 5, (70, 1000)).astype(name)
        assert np.array_equal(parse(f"{name}[70,1000]=random(2,5)", 3), drawn)


@pytest.mark.parametrize(
    "text",
    [
        "float32[700,1000]=random(2,5)",
        "complex64[200000]=random",
        "int32[300000]=random(0,1000)",
        "bool[2000000]=random",
        "uint8[2000000]=random",
        "uint64[200000]=random",
        "float64[200000]=arange",
        "int32[300000]",
        "float64[200000]=1.5",
    ],
)
def test_any_part_of_a_deferred_array_can_be_made_alone(text: str) -> None:
    whole, deferred = parse(text, 3), parse(text, 3, deferred=True)
    assert deferred.contents
    for start, end in ((65530, 65540), (0, 3), (131071, 131072), (7, 190000), (69999, 70000)):
        np.testing.assert_array_equal(deferred.contents(start, end), whole.reshape(-1)[start:end], strict=True)
    assert deferred.part((deferred.place + 11, deferred.place + 70001)).tobytes() == whole.tobytes()[11:70001]


def test_files_are_read_and_checked(tmp_path: Path) -> None:
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.save(tmp_path / "image.npy", image)
    (tmp_path / "text.npy").write_text("no array")
    np.testing.assert_array_equal(parse(f"{tmp_path}/image.npy", 0), image)
    np.testing.assert_array_equal(parse(f"uint8[3,4]={tmp_path}/image.npy", 0), image)
    with pytest.raises(InputError, match=r"holds uint8\[3, 4\]"):
        parse(f"uint8[4,3]={tmp_path}/image.npy", 0)
    with pytest.raises(InputError, match="holds no NumPy array"):
        parse(f"{tmp_path}/text.npy", 0)
    with pytest.raises(InputError, match="No such file"):
        parse(f"{tmp_path}/none.npy", 0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("float[4]", "say float32 or float64"),
        ("int=4", "say int32 or int64"),
        ("str[4]", "no type of numbers"),
        ("flaot32[4]", "no type of numbers"),
        ("float32", "give a scalar a number"),
        ("float32=x", "give a scalar a number"),
        ("float32[4]=frob", "none of zeros, ones, NUMBER, arange, random, FILE.npy"),
        ("float32[a]", "give a shape"),
        ("float32[]", "give a shape"),
        ("float32[-1]", "give a shape"),
        ("float32[4", "give a type, a shape and a value"),
        ("", "give a type, a shape and a value"),
        ("bool[4]=99999999999999999999", "99999999999999999999 is no bool: give 0 or 1"),
        ("uint8=256", "256 is no uint8"),
        ("uint8[4]=-1", "-1 is no uint8"),
        ("int32=1.5", "1.5 is no int32"),
        ("int32[4]=random(5,5)", "the smaller one first"),
        ("uint8[4]=random(0,300)", "299 is no uint8"),
        ("float32[1000000,1000000,1000000]=random", "more than this machine has"),
    ],
)
def test_a_wrong_argument_is_named(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        parse(text, 0)
    assert "\n" not in str(caught.value)


pieces = st.lists(
    st.sampled_from(
        ["float32", "int8", "[", "]", "4", ",", "=", "random", "(", ")", "nan", "1e999", "-", ".npy", "*", "x"]
    )
)


@given(pieces.map("".join))
def test_any_text_is_an_argument_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        parse(text, 0)


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("float32[32]=random(0,inf)", "not as far apart"),
        ("float64[32]=random(-1e308,1e308)", "not as far apart"),
        ("float32[32]=random(-1e308,1e308)", r"-1e\+308 is no float32"),
        ("complex64[32]=random(0,inf)", "not as far apart"),
        ("float16[32]=1e10", "is no float16"),
        ("bool[32]=random(-5,2)", "-5 is no uint8"),
        ("1e5000", "1e5000 is beyond the numbers of float64"),
        (f"int32={DIGITS}", "give a scalar a number"),
        (f"int32=0x{DIGITS}", "give a scalar a number"),
        (f"int32[{DIGITS}]", "give a shape"),
        (f"float32[4]={DIGITS}", "is none of zeros"),
        (f"float32[4]=random(0,{DIGITS})", "give random two numbers"),
        ("float32[4]=random(0,x)", "give random two numbers"),
        (DIGITS, "give a type, a shape and a value"),
        (f"float32[{','.join(['1'] * 65)}]", "of up to 64 sizes"),
        ("float32[9223372036854775807,0]", "more than this machine has"),
    ],
)
def test_absurd_values_are_one_short_line(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        parse(text, 0)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("option", ["--grid", "--block", "--dynamic-shared", "--max-instructions"])
def test_absurd_sizes_are_one_short_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, ["kernel", "none.cu:k", option, DIGITS])
    assert error.startswith(f"banksim: {option} 999")
    assert len(error) < 200
