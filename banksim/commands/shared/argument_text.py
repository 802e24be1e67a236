"""Kernel arguments as text: `float32[64,64]=random`, `int32=5`, `2.5`, `image.npy`, `{data: float32[8], int32=8}`."""

import math
import os
import re
from math import prod
from typing import Any

import numpy as np

from banksim.commands.shared.sizes import natural, short
from banksim.errors import InputError
from banksim.machine.host_memory import Contents, absent
from banksim.machine.parameter_types import split
from banksim.machine.structs import Struct

FILLS: dict[str, str] = {
    "zeros": "0 everywhere, as without a value",
    "ones": "1 everywhere",
    "NUMBER": "that number everywhere",
    "arange": "0, 1, 2, … (wrapped to the type)",
    "random": "floats in [0, 1), integers in [0, 256), the same on every run; random(LOW,HIGH) for others",
    "FILE.npy": "what the file holds, of this type and shape",
}
"""What may stand behind the `=` of an array; the help of the command is made from this."""

FORM = re.compile(r"([a-zA-Z]\w*) *(?:\[([^\]]*)\])? *(?:=(.*))?", re.DOTALL)
RANDOM = re.compile(r"random(?:\(([^,()]+),([^,()]+)\))?")
FIELD = re.compile(r"([A-Za-z_]\w*) *: *(.*)", re.DOTALL)
CLOSING = {"{": "}", "(": ")"}
DEEPEST = 100
"""The most brackets of a kind in one argument."""
SMALL = 1 << 20
"""Bytes up to which an array is made at once."""
DRAWN = 1 << 16
"""Random numbers that are drawn at a time: these stay in the CPU's cache."""
LONGEST = 100
"""The most characters of a number: 64 bits in binary have fewer, and so has every float64."""
MOST_AXES = 64
"""The most dimensions of a NumPy array."""
AMBIGUOUS = {"float": "float32 or float64", "int": "int32 or int64", "uint": "uint32 or uint64"}


def parse(text: str, seed: int, deferred: bool = False) -> Any:
    """The argument that `text` describes: a NumPy array or scalar, or a Python number where no type is given.

    `seed` makes each argument's random numbers its own. `deferred`: of a large array nothing is made before somebody
    asks for its contents. Raises `InputError`.
    """
    try:
        return value_of(text.strip(), seed, deferred)
    except InputError as error:
        raise InputError(f"argument {short(text)!r}: {error}") from None


def value_of(text: str, seed: int, deferred: bool) -> Any:
    plain = number(text)
    if plain is not None:
        return plain
    if text.endswith(".npy") and "=" not in text:
        return from_file(text)
    if text.startswith(tuple(CLOSING)):
        return several(text, seed, deferred)
    match = FORM.fullmatch(text)
    if match is None:
        raise InputError("give a type, a shape and a value such as float32[1024,1024]=random, int32=5 or 2.5")
    name, shape, value = match.groups()
    dtype = type_of(name)
    if shape is not None:
        sizes, value = shape_of(shape), value or "zeros"
        if deferred and prod(sizes) * dtype.itemsize > SMALL and not value.endswith(".npy"):
            return absent(sizes, dtype, elements(dtype, sizes, value, seed))
        return array(dtype, sizes, value, seed)
    plain = number(value or "")
    if plain is None:
        raise InputError(f"give a scalar a number ({dtype}=5) or an array a shape ({dtype}[16])")
    return filled(dtype, (), plain)[()]


def holds_zeros(text: str) -> bool:
    """Whether it is an array of which nobody says what it holds."""
    match = FORM.fullmatch(text)
    return match is not None and match[2] is not None and match[3] is None


def several(text: str, seed: int, deferred: bool) -> Any:
    """A struct in braces, whose fields may be named; or a C array in parentheses."""
    if not text.endswith(CLOSING[text[0]]):
        raise InputError(f"{CLOSING[text[0]]!r} is missing at its end")
    values: dict[str, Any] = {}
    for place, part in enumerate(parted(text[1:-1])):
        named = FIELD.fullmatch(part) if text[0] == "{" else None
        name = named[1] if named else str(place)
        if name in values:
            raise InputError(f"the field {name!r} stands there twice")
        values[name] = value_of(named[2] if named else part, seed + place, deferred)
    if text[0] == "(":
        return tuple(values.values())
    return Struct(**values)


def parted(text: str) -> list[str]:
    """Values with commas between them, apart."""
    if max(text.count(bracket) for bracket in "([{") > DEEPEST:
        raise InputError(f"more than {DEEPEST} brackets")
    return split(text, "([{", ")]}")


def number(text: str) -> int | float | bool | None:
    """A number or truth value as in Python, or None if `text` is none."""
    if text in ("True", "False", "true", "false"):
        return text in ("True", "true")
    if len(text) > LONGEST:
        return None
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        found = float(text)
    except ValueError:
        return None
    if math.isinf(found) and "inf" not in text.lower():
        raise InputError(f"{text} is beyond the numbers of float64")
    return found


def type_of(name: str) -> np.dtype:
    if name in AMBIGUOUS:
        raise InputError(f"say {AMBIGUOUS[name]} in place of {name}")
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc":
        raise InputError(f"{name} is no type of numbers; give one such as float32, int32 or uint8")
    return dtype


def shape_of(text: str) -> tuple[int, ...]:
    """`1024,4*256` as numbers; each may be a product."""
    words = [[natural(factor.strip()) for factor in word.split("*")] for word in text.split(",")]
    shape = [prod(factor for factor in word if factor is not None) for word in words if None not in word]
    if len(shape) < len(words) or len(words) > MOST_AXES:
        raise InputError(f"give a shape such as [1024] or [64,32], of up to {MOST_AXES} sizes")
    return tuple(shape)


def array(dtype: np.dtype, shape: tuple[int, ...], value: str, seed: int) -> np.ndarray:
    """An array filled as `value` says."""
    if not value.endswith(".npy"):
        return elements(dtype, shape, value, seed)(0, prod(shape)).reshape(shape)
    found = from_file(value)
    if found.dtype != dtype or found.shape != shape:
        raise InputError(f"the file holds {found.dtype}{list(found.shape)}")
    return found


def elements(dtype: np.dtype, shape: tuple[int, ...], value: str, seed: int) -> Contents:
    """What makes the elements of an array that is filled as `value` says."""
    size = prod(length or 1 for length in shape) * dtype.itemsize
    if size > memory():
        raise InputError(f"it takes {size:,} bytes, more than this machine has")
    plain = number({"zeros": "0", "ones": "1"}.get(value, value))
    if plain is not None:
        filled(dtype, (), plain)
        return lambda start, end: filled(dtype, (end - start,), plain)
    if value == "arange":
        return lambda start, end: np.arange(start, end).astype(dtype)
    if chosen := RANDOM.fullmatch(value):
        low, high = (number(end) if end else None for end in chosen.groups())
        if chosen[1] and None in (low, high):
            raise InputError("give random two numbers, the smaller one first")
        return random(dtype, low, high, seed)
    raise InputError(f"{short(value)!r} is none of {', '.join(FILLS)}")


def filled(dtype: np.dtype, shape: tuple[int, ...], value: float) -> np.ndarray:
    """`value` everywhere, if the type can hold it."""
    if dtype.kind == "b" and value not in (0, 1):
        raise InputError(f"{short(str(value))} is no {dtype}: give 0 or 1")
    if dtype.kind in "iu" and not (np.iinfo(dtype).min <= value <= np.iinfo(dtype).max and value == int(value)):
        raise InputError(f"{value} is no {dtype}")
    try:
        if value == 0 and math.copysign(1, value) > 0:
            return np.zeros(shape, dtype)  # which takes no room before it is written
        with np.errstate(over="raise"):
            return np.full(shape, float(value) if dtype.kind in "fc" else value, dtype)
    except (FloatingPointError, OverflowError):
        raise InputError(f"{short(str(value))} is no {dtype}") from None


def random(dtype: np.dtype, low: float | None, high: float | None, seed: int) -> Contents:
    """What makes random numbers from `low` to below `high`, or from 0 to what suits the type.

    They are drawn by pieces, each from a place of its own in the generator's sequence: any part can be made alone."""
    if low is None or high is None:
        most = {"f": 1, "c": 1, "b": 2}.get(dtype.kind) or min(256, int(np.iinfo(dtype).max) + 1)
        low, high = 0, most
    if not low < high:
        raise InputError("give random two numbers, the smaller one first")
    drawn = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    filled(drawn, (), low)
    filled(drawn, (), high if dtype.kind in "fc" else high - 1)
    if not math.isfinite(float(high) - float(low)):
        raise InputError("give random two numbers that are not as far apart")
    bits = np.random.PCG64(seed)
    generator, begin = np.random.Generator(bits), bits.state

    def draw(count: int) -> np.ndarray:
        if dtype.kind in "fc":
            numbers = generator.uniform(low, high, count if dtype.kind == "f" else 2 * count)
            return numbers if dtype.kind == "f" else numbers.view(np.complex128)
        return generator.integers(int(low), int(high), count, drawn)

    def part(start: int, end: int) -> np.ndarray:
        found = np.empty(end - start, dtype)
        for piece in range(start - start % DRAWN, end, DRAWN):
            at, stop = max(start, piece), min(end, piece + DRAWN)
            first = at if dtype.kind in "fc" else piece  # an integer may take several draws
            bits.state = begin
            bits.advance(first * (2 if dtype.kind == "c" else 1))
            found[at - start : stop - start] = draw(stop - first)[at - first :]
        return found

    return part


def from_file(name: str) -> np.ndarray:
    try:
        found = np.load(name, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError, OverflowError):
        raise InputError(f"{name} holds no NumPy array") from None
    if not isinstance(found, np.ndarray):
        raise InputError(f"{name} holds several arrays")
    return found


def memory() -> int:
    """Bytes that this machine has, or a number beyond any machine where it does not say."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**62
