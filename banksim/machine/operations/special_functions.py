"""MUFU: the special functions that the GPU reads from tables of parabolas.

A function's argument is brought into one interval, which is cut into segments. In each, the result is c0 + c1·d + c2·d²
of the distance d from the segment's beginning, in fixed point, with d² short of its last bits; it is cut, not rounded,
after a constant is added. This is how S. F. Oberman and M. Y. Siu describe it ("A high-performance area-efficient
multifunction interpolator", ARITH 2005); shifts and the square are those that envytools (`nvhw/sfu.c`) found on a G80.
With them an H200's results leave one table possible, which `special_function_tables` has: equal for all 2³² arguments.
Assumed for other GPUs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Table, Value
from banksim.machine.operations import half
from banksim.machine.operations.special_function_tables import ROWS
from banksim.machine.operations.table import NAN32, operation, which

SIGN, INFINITY = 0x80000000, 0x7F800000
BEYOND_FLOAT16 = 0x47800000
HIDDEN = 1 << 23
"""The leading bit of a float32's mantissa, which is not written."""
SQUARED = 17
"""Bits of a distance that are squared."""


@dataclass(frozen=True)
class Parabolas:
    """Of one function: bits of a distance; shifts of c0 and of c2; the constant that is added."""

    distance: int
    constant: int
    square: int
    added: int

    def at(self, x: Engine, table: Table, place: Value) -> Value:
        """The sum at a place (u32) in the function's interval: s64."""
        row = place >> self.distance
        c0, c1, c2 = (x.sext(table(column, row)) for column in range(3))
        d = place & ((1 << self.distance) - 1)
        square = squared(x, d << (SQUARED - self.distance))
        return (c0 << self.constant) + c1 * x.sext(d) + (c2 * x.sext(square) << self.square) + self.added


def squared(x: Engine, d: Value) -> Value:
    """About d²/2¹⁹ of a u32 of 17 bits: each partial product is cut before they are summed. The last two bits of d
    have no part in them, and the sum is below 2¹⁶."""
    upper = x.short(d >> 2)
    total = upper & 0
    for k in range(SQUARED - 2):
        total = total + x.where((upper & (1 << k)) != 0, upper >> (SQUARED - 3 - k), upper & 0)
    return x.number(total) >> 1


RECIPROCAL = Parabolas(16, 13, 0, 0x7E7)
RECIPROCAL_ROOT = Parabolas(17, 14, 2, 0x3FFF)
ROOT = Parabolas(17, 15, 0, 0x7FFF)
EXPONENTIAL = Parabolas(17, 13, 0, 0x17E2)
LOGARITHM = Parabolas(17, 12, 1, 0x345)
SINE = Parabolas(17, 11, 0, 0)
TANGENT = Parabolas(17, 14, 0, 0)


# ---- float32, as bits


def magnitude(x: Engine, v: Value) -> tuple[Value, Value, Value]:
    """Of a float32's bits: those without the sign, 0 for a denormal; the exponent; the rest."""
    size = v & 0x7FFFFFFF
    size = x.where(size < HIDDEN, x.const(0), size)
    return size, size >> 23, size & (HIDDEN - 1)


def normal(x: Engine, bits: Value) -> Value:
    """A result's bits (s32): 0 below the smallest normal number."""
    return x.unsigned(x.where(bits < HIDDEN, x.signed(x.const(0)), bits))


def cut(x: Engine, v: Value, unit: float) -> Value:
    """Bits of v (s64, not negative) times a power of two as a float32, without the bits beyond."""
    kept = x.bits(x.to_f64(v)) & 0xFFFFFFFFE0000000
    return x.bits(x.to_f32(x.as_float(kept) * unit))


def fixed(x: Engine, exponent: Value, fraction: Value) -> Value:
    """A number of 2⁷ at most, as its multiple of 2⁻²³, toward 0: u32."""
    digits = fraction | HIDDEN
    right = x.const(127) - exponent
    lower = digits >> x.where(right < 32, right, x.const(31))
    return x.where(exponent < 127, lower, digits << (exponent - 127 & 31))


def reciprocal(x: Engine, v: Value, table: Table) -> Value:
    size, exponent, fraction = magnitude(x, v)
    digits = x.low(RECIPROCAL.at(x, table, fraction) >> 15)
    bits = normal(x, x.signed((x.const(252) - exponent << 23) + digits))
    bits = x.where(size == 0, x.const(INFINITY), x.where(size == INFINITY, x.const(0), bits))
    return x.where(size > INFINITY, x.const(NAN32), bits | v & SIGN)


def reciprocal_root(x: Engine, v: Value, table: Table) -> Value:
    size, exponent, fraction = magnitude(x, v)
    place = (exponent + 1 & 1) << 23 | fraction
    digits = x.low(RECIPROCAL_ROOT.at(x, table, place) >> 16)
    digits = x.where(place == 0, x.const(2 * HIDDEN), digits)
    bits = (x.const(189) - (exponent + 1 >> 1) << 23) + digits
    bits = x.where(size == INFINITY, x.const(0), bits)
    bits = x.where((size > INFINITY) | (v >> 31 != 0), x.const(NAN32), bits)
    return x.where(size == 0, v & SIGN | INFINITY, bits)


def exponential(x: Engine, v: Value, table: Table) -> Value:
    size, exponent, fraction = magnitude(x, v)
    negative = v >> 31 != 0
    number = x.where(size == 0, x.const(0), fixed(x, exponent, fraction))
    whole = (number & (HIDDEN - 1)) == 0
    number = x.where(negative, x.where(whole, x.const(0) - number, ~number), number)
    digits = x.low(EXPONENTIAL.at(x, table, number & (HIDDEN - 1)) >> 15)
    bits = normal(x, x.signed((number & -HIDDEN % (1 << 32)) + digits) + (126 << 23))
    bits = x.where(size >= 134 << 23, x.where(negative, x.const(0), x.const(INFINITY)), bits)
    return x.where(size > INFINITY, x.const(NAN32), bits)


def logarithm(x: Engine, v: Value, table: Table) -> Value:
    size, exponent, fraction = magnitude(x, v)
    total = (LOGARITHM.at(x, table, fraction) >> 2) + (x.sext(exponent - 127) << 36)
    total = x.where(size == 127 << 23, total - total, total)
    negative = total < 0
    bits = cut(x, x.where(negative, ~total, total), 2.0**-36) | x.number(negative) << 31
    bits = x.where(size == INFINITY, x.const(INFINITY), bits)
    bits = x.where((size > INFINITY) | (v >> 31 != 0), x.const(NAN32), bits)
    return x.where(size == 0, x.const(SIGN | INFINITY), bits)


def sine(x: Engine, v: Value, table: Table, quarters: int = 0) -> Value:
    """Of an angle in turns; `quarters` 1: its cosine."""
    size, exponent, fraction = magnitude(x, v)
    exponent = exponent + 2
    number = x.where((size == 0) | (exponent >= 159), x.const(0), fixed(x, exponent, fraction)) + quarters * HIDDEN
    sign = (number >> 24 & 1) << 31 ^ (x.const(0) if quarters else v & SIGN)
    place = x.where((number & HIDDEN) != 0, ~number, number) & (HIDDEN - 1)
    bits = cut(x, SINE.at(x, table, place), 2.0**-37) | sign
    return x.where(size >= INFINITY, x.const(NAN32), bits)


def cosine(x: Engine, v: Value, table: Table) -> Value:
    return sine(x, v, table, 1)


FIRST_OCTAVE, OCTAVES = 127 - 8, (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
"""TANH: the exponent from which on an argument is not its own tangent, and the binary logarithm of how many segments
there are for each exponent from there on, up to arguments of 8, of which the tangent is 1."""
STARTS = [sum(1 << bits for bits in OCTAVES[:n]) << 17 | 6 - bits for n, bits in enumerate(OCTAVES)]
"""For each of these: in units of 2⁻¹⁷ segments where it begins, and how many of a fraction's last bits do not count."""


def tangent(x: Engine, v: Value, table: Table) -> Value:
    size = v & 0x7FFFFFFF
    octave = (size >> 23) - FIRST_OCTAVE
    inside = octave < len(OCTAVES)
    octave = x.where(inside, octave, x.const(0))
    start = table(3, octave)
    place = (start & 0xFFFFFFF8) + ((size & (HIDDEN - 1)) >> (start & 7))
    total = TANGENT.at(x, table, place)
    bits = cut(x, total, 2.0**-48) + (octave << 23)
    bits = x.where(inside, bits, x.where(size < FIRST_OCTAVE << 23, size, x.const(127 << 23)))
    return x.where(size > INFINITY, x.const(NAN32), bits | v & SIGN)


def root(x: Engine, v: Value, table: Table) -> Value:
    size, exponent, fraction = magnitude(x, v)
    digits = x.low(ROOT.at(x, table, (exponent + 1 & 1) << 23 | fraction) >> 17)
    bits = ((exponent + 1 >> 1) + 62 << 23) + digits
    bits = x.where(size == INFINITY, size, bits)
    bits = x.where((size > INFINITY) | (v >> 31 != 0), x.const(NAN32), bits)
    return x.where(size == 0, v & SIGN, bits)


# ---- the instruction

FUNCTIONS: dict[str, tuple[Callable[[Engine, Value, Table], Value], str]] = {
    "RCP": (reciprocal, "RCP"), "RSQ": (reciprocal_root, "RSQ"), "SQRT": (root, "SQRT"), "EX2": (exponential, "EX2"),
    "LG2": (logarithm, "LG2"), "SIN": (sine, "SIN"), "COS": (cosine, "SIN"), "TANH": (tangent, "TANH"),
}  # fmt: skip
"""What computes a function of float32 bits, and by which rows."""
COLUMNS = {name: [[n % (1 << 32) for n in column] for column in zip(*rows, strict=True)] for name, rows in ROWS.items()}
COLUMNS["TANH"].append(STARTS)
OF_DOUBLES = {"RCP64H": "RCP", "RSQ64H": "RSQ"}


@operation("MUFU", f"{' '.join((*OF_DOUBLES, *FUNCTIONS))} F16 BF16", marks="H1")
def mufu(x: Engine, i: Instruction) -> None:
    """SIN and COS take turns, not radians. RCP64H and RSQ64H: from upper word to upper word of doubles. Halves are cut
    off the float32 that is the function of their value."""
    to, source = i.operands
    name = which(i, (*OF_DOUBLES, *FUNCTIONS))
    if name in OF_DOUBLES:
        x.write(to, _upper_word(x, OF_DOUBLES[name], x.bits(x.float32(source))))
    elif i.modifiers & {"F16", "BF16"}:
        form = half.format_of(i)
        bits = function(x, name, x.bits(half.lower_half(x, i, source)))
        if form is half.FLOAT16:  # its overflow gives infinity all the same
            bits = x.where((bits >= BEYOND_FLOAT16) & (bits < INFINITY), x.const(INFINITY), bits)
        x.write(to, half.to_half(x, x.to_f64(x.as_float(bits)), form, "RZ"))
    else:
        x.write(to, function(x, name, x.bits(x.float32(source))))


def function(x: Engine, name: str, v: Value) -> Value:
    """Of float32 bits, with denormals taken for zeros."""
    compute, rows = FUNCTIONS[name]
    return x.tabulated(f"mufu_{name}", compute, v, COLUMNS[rows])


def _upper_word(x: Engine, name: str, word: Value) -> Value:
    """Of a double's reciprocal (root): that of the double's leading 21 digits as a float32, cut to as many."""
    smallest, infinity, negative = 1 << 20, 0x7FF00000, word >> 31 != 0
    size, sign = word & 0x7FFFFFFF, word & SIGN
    size = x.where(size < smallest, x.const(0), size)
    exponent, digits, invalid = size >> 20, (size & (smallest - 1)) << 3, size > infinity
    if name == "RCP":
        unit, place = x.const(1919) - exponent, x.const(127)
    else:
        unit, place = x.const(1408) - (exponent + 1 >> 1), (exponent + 1 & 1) + 127
        invalid = invalid | negative & (size != 0)
    bits = x.signed((function(x, name, place << 23 | digits) >> 3) + (unit << 20))
    bits = x.unsigned(x.where(bits < smallest, x.signed(x.const(0)), bits))
    bits = x.where(size == 0, x.const(infinity), x.where(size == infinity, x.const(0), bits)) | sign
    return x.where(invalid, x.const(NAN32), bits)
