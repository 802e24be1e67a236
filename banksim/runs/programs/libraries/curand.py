"""The host's generators of cuRAND over NumPy.

Philox, XORWOW and MRG32k3a give an H200's numbers (cuRAND 10.4): integers, uniform numbers, and a device generator's
normal and log-normal floats (of mean 0 and deviation 1: others were not recorded) bit for bit. A host's generator
computes the same with functions that are rounded correctly, as 32 recorded log-normal floats tell. Normal numbers as
doubles differ in the last digits, as do their exponentials. MT19937 gives an H200's integers and uniform numbers; its
normal floats differ by at most 3 units in the last place, log-normal ones by 7, normal doubles in the last digits.
Poisson's are those of poisson.py, as ten million recorded ones tell. XORWOW's and MRG32k3a's of means from 2,000 on,
MTGP32's numbers and those of XORWOW's ordering by seeds are NumPy's of the same distribution, quasirandom ones those of
quasirandom.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.machine.operations import special_functions
from banksim.machine.reference.engine import NumpyEngine
from banksim.runs.programs.libraries import poisson, quasirandom
from banksim.runs.programs.libraries.calls import Array, Memory, of_bits
from banksim.runs.programs.libraries.generators import M1, Generator, Mrg32k3a, Philox, Xorwow

Draw = Callable[[np.random.Generator, int, float, float], Array]
DISTRIBUTIONS: dict[str, tuple[type[np.generic], Draw]] = {
    "Generate": (np.uint32, lambda g, n, a, b: g.integers(0, 1 << 32, n, np.uint32)),
    "GenerateLongLong": (np.uint64, lambda g, n, a, b: g.integers(0, 1 << 64, n, np.uint64)),
    "GenerateUniform": (np.float32, lambda g, n, a, b: 1 - g.random(n, np.float32)),  # above 0, up to and including 1
    "GenerateUniformDouble": (np.float64, lambda g, n, a, b: 1 - g.random(n)),
    "GenerateNormal": (np.float32, lambda g, n, a, b: a + b * g.standard_normal(n)),
    "GenerateNormalDouble": (np.float64, lambda g, n, a, b: a + b * g.standard_normal(n)),
    "GenerateLogNormal": (np.float32, lambda g, n, a, b: np.exp(a + b * g.standard_normal(n))),
    "GenerateLogNormalDouble": (np.float64, lambda g, n, a, b: np.exp(a + b * g.standard_normal(n))),
    "GeneratePoisson": (np.uint32, lambda g, n, a, b: g.poisson(a, n)),
}
"""What NumPy draws for each. A deviation may be negative, as on an H200."""
SEEDED = 102
"""The ordering in which each thread of XORWOW has a seed of its own."""
PIECE = 1 << 17
"""Numbers that are computed at once: their steps stay in the caches."""
ENGINE = type("Engine", (NumpyEngine,), dict.fromkeys(NumpyEngine.__abstractmethods__))()
WORD_PER_DIFFERENCE = 1.000000048662
"""What MRG32k3a's differences are multiplied by, so that its words reach 2^32: 10,000 recorded words tell 14 digits."""


def mt19937(seed: int, offset: int) -> Generator:
    from banksim.runs.programs.libraries.twister import Mt19937  # and numba

    return Mt19937(seed)


GENERATORS: dict[int, Callable[[int, int], Generator]] = {
    100: Xorwow,
    101: Xorwow,
    121: Mrg32k3a,
    142: mt19937,
    161: Philox,
}
"""By curandRngType_t."""
generators: dict[tuple[int, int], tuple[int, Generator]] = {}
"""By process and address: the serial number and what gives the words. Another serial number begins anew."""


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Write random numbers to an address; for address 0, return them as bytes."""
    kind, seed, offset, taken, ordering, dimensions, *rest = (word % (1 << 64) for word in words)
    handle, serial, address, count, first, second = rest
    dtype, draw = DISTRIBUTIONS[name]
    a, b = (of_bits(np.uint64(word).view(np.int64).item(), np.float64) for word in (first, second))
    parameters: tuple[Any, Any] = a, b
    values = np.empty(count, dtype) if not address else memory.array(address, count, dtype)
    if kind in quasirandom.BITS:
        if name == "GeneratePoisson":
            raise UnsupportedError(f"{memory.what} of quasirandom numbers")
        values[:] = quasirandom.numbers(kind, name, offset + taken // dimensions, dimensions, count, parameters)
    elif kind in GENERATORS and ordering != SEEDED and not is_unknown(kind, name, parameters[0]):
        place = serial >> 32, handle
        if place not in generators or generators[place][0] != serial:
            generators[place] = serial, GENERATORS[kind](seed, offset)
        generator = generators[place][1]
        for done in range(0, count, PIECE):
            piece = values[done : done + PIECE]
            piece[:] = numbers(generator, name, len(piece), parameters, on_host=not address)
    else:
        memory.what += " with NumPy's own numbers"
        bits = np.random.Philox(np.random.SeedSequence([kind, seed, (offset + taken) % (1 << 64)]))
        values[:] = draw(np.random.Generator(bits), count, *parameters).astype(dtype)
    return b"" if address else values.tobytes()


def is_unknown(kind: int, name: str, mean: float) -> bool:
    """Whether no recording tells which of the generator's numbers become Poisson's."""
    return name == "GeneratePoisson" and mean >= poisson.ROUNDED and GENERATORS[kind] in (Xorwow, Mrg32k3a)


def numbers(generator: Generator, name: str, count: int, parameters: tuple[Any, Any], on_host: bool) -> Array:
    """The next numbers of a distribution. Normal ones come in pairs, by Box and Muller."""
    if name == "GeneratePoisson":
        mean = parameters[0]
        if mean < poisson.ROUNDED:
            return poisson.of_words(numbers(generator, "Generate", count, parameters, on_host), mean)
        even = count if generator.by_inverse else count + count % 2
        return poisson.of_normal(numbers(generator, "GenerateNormal", even, (0, 1), on_host)[:count], mean)
    if generator.by_inverse:
        return quasirandom.distributed(generator.draw(count, 1)[:, 0], 32, name, parameters)
    double, mrg = name.endswith("Double"), isinstance(generator, Mrg32k3a)
    normal = "Normal" in name
    width = 2 if double and not mrg else 1
    pairs = normal and not isinstance(generator, Philox)  # both numbers of the same thread
    drawn = (generator.draw(count // 2, 2 * width) if pairs else generator.draw(count, width)).reshape(count, width)
    if name == "Generate":
        first: Array = drawn[:, 0]
        return (first * WORD_PER_DIFFERENCE).astype(np.uint32) if mrg else first
    uniform = between_0_and_1(drawn, double, mrg)
    if not normal:
        return uniform
    u, v = uniform[::2], uniform[1::2]
    if double:
        size, sine, cosine = np.sqrt(-2 * np.log(u)), np.sin(2 * np.pi * v), np.cos(2 * np.pi * v)
    else:
        unit = np.float32(2 * np.pi * 2**-32)
        angle = v * np.float32(2 * np.pi) if mrg else ENGINE.fma(drawn[1::2, 0].astype(np.float32), unit, unit / 2)
        size = np.sqrt(np.float32(-2) * (rounded(np.log, u) if on_host else logarithm(u)))
        sine, cosine = (
            rounded(exact, angle) if on_host else of_angle(on_device, angle)
            for exact, on_device in ((np.sin, "SIN"), (np.cos, "COS"))
        )
    values: Array = np.stack([size * sine, size * cosine], axis=1).ravel()
    values = values * values.dtype.type(parameters[1]) + values.dtype.type(parameters[0])
    if "Log" in name:
        return np.exp(values) if double else rounded(np.exp, values) if on_host else exponential(values)
    return values


def between_0_and_1(drawn: Array, double: bool, mrg: bool) -> Array:
    """Uniform numbers above 0, up to and including 1, of words [n, words of a number]."""
    if mrg:
        uniform: Array = drawn[:, 0] * (1 / M1)
        return uniform if double else uniform.astype(np.float32)
    if double:
        uniform = (drawn[:, 0] ^ drawn[:, 1] << 21) * 2.0**-53 + 2.0**-54
    else:
        uniform = drawn[:, 0].astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    return uniform


def rounded(function: Callable[[Array], Array], values: Array) -> Array:
    """The function's values in double precision, rounded once to float32."""
    return function(values.astype(float)).astype(np.float32)


# Coefficients of log1p(x)/x - 1 + x/2 … as float32 bits, highest first: what the GPU's logf computes, rounding as it.
SERIES = np.array(
    [0xBE055027, 0x3E1039F6, 0xBDF8CDCC, 0x3E0F2955, 0xBE2AD8B9, 0x3E4CED0B, 0xBE7FFF22, 0x3EAAAA78, 0xBF000000],
    np.uint32,
).view(np.float32)


def logarithm(values: Array) -> Array:
    """A GPU's logf of normal float32 above 0."""
    bits = values.view(np.uint32)
    exponent = bits - 0x3F2AAAAB & 0xFF800000
    x = (bits - exponent).view(np.float32) - np.float32(1)
    total = SERIES[0]
    for coefficient in SERIES[1:]:
        total = ENGINE.fma(total, x, coefficient)
    total = ENGINE.fma(total * x, x, x)
    scale = exponent.view(np.int32).astype(np.float32) * np.float32(2**-23)
    result: Array = ENGINE.fma(scale, np.float32(np.log(2)), total)
    return result


def exponential(values: Array) -> Array:
    """A GPU's expf: 2 to the nearest whole number of binary logarithms, which is taken from the last digits of a number
    above 3 * 2^22, times MUFU of the rest."""
    place = np.clip(ENGINE.fma(values, _float(0x3BBB989D), np.float32(0.5)), np.float32(0), np.float32(1))
    whole = toward(place.astype(float) * 252 + (3 * 2.0**22 + 1), -np.inf)
    rest = ENGINE.fma(values, _float(0x3FB8AA3B), np.float32(3 * 2**22 + 127) - whole)
    rest = ENGINE.fma(values, _float(0x32A57060), rest)
    scale = (whole.view(np.uint32) << np.uint32(23)).view(np.float32)
    result: Array = special_functions.function(ENGINE, "EX2", rest.view(np.uint32)).view(np.float32) * scale
    return result


def _float(bits: int) -> Any:
    return np.uint32(bits).view(np.float32)


def toward(exact: Array, limit: float) -> Array:
    """Doubles rounded to float32 toward a limit below them."""
    nearest = exact.astype(np.float32)
    return np.where(nearest > exact, np.nextafter(nearest, np.float32(limit)), nearest)


def of_angle(function: str, angle: Array) -> Array:
    """A GPU's __sinf or __cosf: MUFU of turns, which are rounded toward 0."""
    exact = angle.astype(float) * np.float32(0.15915494)
    turns = toward(exact, 0)
    result: Array = special_functions.function(ENGINE, function, turns.view(np.uint32)).view(np.float32)
    return result
