"""Rounding to less precision or toward a side; the engines' own arithmetic rounds to nearest."""

from collections.abc import Callable

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.table import float_bits, which

DIRECTIONS = ("RM", "RP", "RZ")
"""Rounding modes other than to nearest even: down, up, toward zero."""
ROUNDINGS = "RN RM RP RZ"
MIN_NORMAL = 0x00800000
ONE = 0x3F800000


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b and its error, exactly: their sum is a + b (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def round_to_odd(x: Engine, s: Value, error: Value) -> Value:
    """The double s, or its neighbour toward s + error where s is inexact and even.

    Rounded on to float32, the result is s + error rounded once (Boldo and Melquiond, 2008).
    """
    bits = x.bits(s)
    inexact = (error < 0.0) | (error > 0.0)
    outward = (error > 0.0) ^ (s < 0.0)
    finite = (s - s) == 0.0
    odd = x.where(outward, bits + 1, bits - 1)
    return x.as_float(x.where(inexact & finite & ((bits & 1) == 0), odd, bits))


def narrow(x: Engine, i: Instruction, s: Value) -> Value:
    """Bits of the double s as float32, rounded as the instruction says; any NaN is the GPU's NaN."""
    f = x.to_f32(s)
    direction = which(i, DIRECTIONS)
    if not direction:
        return float_bits(x, f)
    d, bits, negative = x.to_f64(f), x.bits(f), s < 0.0
    if direction == "RZ":
        bits = x.where(x.absolute(d) > x.absolute(s), bits - 1, bits)
    elif direction == "RM":
        bits = x.where(d > s, x.where(negative, bits + 1, bits - 1), bits)
    else:
        bits = x.where(d < s, x.where(negative, bits - 1, bits + 1), bits)
    return x.where(s == s, bits, x.const(0x7FFFFFFF))


def zero_of_sum(x: Engine, i: Instruction, bits: Value, s: Value, a: Value, b: Value) -> Value:
    """Rounding down, x − x is −0; `s` is a + b to nearest, `bits` the float32 result so far."""
    if "RM" not in i.modifiers:
        return bits
    either_negative = (x.bits(a) | x.bits(b)) >> 63 != 0
    return x.where((s == 0.0) & either_negative, x.const(0x80000000), bits)


def flushed(x: Engine, v: Value) -> Value:
    """A float32 with denormals as zeros of their sign."""
    bits = x.bits(v)
    return x.as_float(x.where((bits & 0x7F800000) == 0, bits & 0x80000000, bits))


LIFT = 2.0**12
"""Lifts both factors of a product out of the range of denormals."""
LIFTED_NORMAL = MIN_NORMAL + (24 << 23)
"""Bits of the smallest normal float32 times LIFT²."""


def finish(x: Engine, i: Instruction, bits: Value, lifted: Callable[[], Value] | None = None) -> Value:
    """Apply .FTZ and .SAT to the bits of a float32 result.

    A result counts as denormal if it was one before it was rounded to a denormal's precision: where that
    matters, `lifted` gives the bits of the same result times LIFT².
    """
    if "FTZ" in i.modifiers:
        below = (bits if lifted is None else lifted()) & 0x7FFFFFFF
        tiny = below < (MIN_NORMAL if lifted is None else LIFTED_NORMAL)
        bits = x.where(tiny, bits & 0x80000000, bits)
    if "SAT" in i.modifiers:
        f = x.as_float(bits)
        bits = x.where(f > 0.0, x.where(f < 1.0, bits, x.const(ONE)), x.const(0))
    return bits


def direct(x: Engine, direction: str, v: Value, error: Value) -> Value:
    """Bits of double v, the nearest to v + error, moved to the neighbour on the side of `direction`.

    Only the sign of `error` counts. An infinity made of finite operands has an error of the other sign.
    """
    bits = x.bits(v)
    negative = bits >> 63 != 0
    down, up = (error < 0.0), (error > 0.0)
    toward_zero = x.where(negative, up, down)
    if direction == "RZ":
        return x.where(toward_zero, bits - 1, bits)
    if direction == "RM":
        return x.where(down, x.where(negative, bits + 1, bits - 1), bits)
    return x.where(up, x.where(negative, bits - 1, bits + 1), bits)
