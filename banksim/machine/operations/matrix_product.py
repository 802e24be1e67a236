"""Products of matrices: HMMA, IMMA, BMMA, DMMA.

D = A·B + C for A of 8 or 16 rows and k columns, B of k rows and 8 columns. Lane l holds of a register's e numbers,
with g = l / 4 and t = l mod 4 (PTX ISA, matrix fragments for mma): A's of row g, columns e·t to e·t + e − 1; B's of
column g, rows e·t and on. Further registers go on 8 rows below (A of 16 rows) and then 4·e columns on, B's 4·e rows
on. C and D: columns 2·t and 2·t + 1 of row g, then of row g + 8.

Every result equals that of an H200 bit for bit in the 64 tiles of tests/data/hardware/matrix.npz for each instruction:
numbers of every size, zeros, denormals, infinities, NaNs; so do products of 8-bit floats, which warp groups have.
Other generations sum in other pieces and with other cuts.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Routine, Value
from banksim.machine.operations.conversion import EIGHTS, eighth_to_half
from banksim.machine.operations.double import nan_of
from banksim.machine.operations.half import BFLOAT16, FLOAT16, SIGN16, from_half, to_half
from banksim.machine.operations.table import NAN32, operation, which
from banksim.requests.kinds import LANES

Number = tuple[Value, ...]
"""A number of each lane as the words that travel between lanes."""
Dot = Callable[[Sequence[Number], Sequence[Number], Number], Number]
"""A row of A times a column of B and a number of C → the words of a number of D."""

FRACTION = 25
"""Fractional binary digits, counted from the leading digit of the largest term, that an H200 keeps of every term."""
EIGHTHS_FRACTION, EIGHTHS_DIGITS = 13, 14
"""Of products of 8-bit floats: the same, where terms that are 0 do not count, and the digits that a float32 keeps."""
SIGNS = {"F16": 0x80008000, "BF16": 0x80008000, "TF32": 0x80000000}
"""Of a B that is one register, the bits that a sign in front of it turns on an H200."""
PER_REGISTER = {"TF32": 1, "F16": 2, "BF16": 2, "E4M3": 4, "E5M2": 4}
BIAS, BIAS64 = 127, 1023


def registers(x: Engine, o: Operand, count: int, signs: int = 0) -> list[Value]:
    """The registers of an operand; `signs`: the bits that a sign in front of it turns, if that is known."""
    if (o.negative and not signs) or o.absolute or o.inverted:
        raise UnsupportedError("a matrix with a sign")
    return [x.raw(o, n) ^ signs if o.negative else x.raw(o, n) for n in range(count)]


def gather(x: Engine, parts: Sequence[Sequence[Number]], holder: Callable[[int, int], int]) -> list[Number]:
    """Numbers in the order of k: for each register, of lanes holder(lane, 0) to holder(lane, 3)."""
    return [
        tuple(x.permute(word, [holder(lane, t) for lane in range(LANES)]) for word in number)
        for part in parts
        for t in range(4)
        for number in part
    ]


def multiply(
    x: Engine, rows: int, a: Sequence[Sequence[Number]], b: Sequence[Sequence[Number]], c: Sequence[Number], dot: Dot
) -> list[Number]:
    """The numbers of D, from the numbers in each register of A and B and those of C."""
    even = gather(x, b, lambda lane, t: 4 * (2 * (lane % 4)) + t)
    odd = gather(x, b, lambda lane, t: 4 * (2 * (lane % 4) + 1) + t)
    out = []
    for half in range(rows // 8):
        row = gather(x, a[half :: rows // 8], lambda lane, t: 4 * (lane // 4) + t)
        out += [dot(row, column, c[2 * half + side]) for side, column in enumerate((even, odd))]
    return out


# ---- floats


def float_number(x: Engine, bits: Value, smallest: int = 1) -> Number:
    """Bits of a float32 with its biased exponent, which is that of the smallest normal number where it is denormal."""
    exponent = bits >> 23 & 0xFF
    return bits, x.where(exponent < smallest, x.const(smallest), exponent)


def halves(x: Engine, form: str, v: Value) -> list[Number]:
    if form == "BF16":
        return [float_number(x, x.bits(from_half(x, part, BFLOAT16))) for part in (v & 0xFFFF, v >> 16)]
    smallest = BIAS - FLOAT16.bias + 1
    return [float_number(x, x.bits(from_half(x, part, FLOAT16)), smallest) for part in (v & 0xFFFF, v >> 16)]


def eighths(x: Engine, form: str, v: Value) -> list[Number]:
    """Of a float of 8 bits."""
    eighth = EIGHTS[form]
    parts = [from_half(x, eighth_to_half(x, v >> 8 * n & 0xFF, eighth), FLOAT16) for n in range(4)]
    return [without_zero(x, float_number(x, x.bits(part), BIAS - eighth.bias + 1)) for part in parts]


def without_zero(x: Engine, n: Number) -> Number:
    """0 has the exponent 0, which no other number has."""
    bits, exponent = n
    return bits, x.where((bits & 0x7FFFFFFF) == 0, x.const(0), exponent)


def product_exponent(x: Engine, a: Value, b: Value) -> Value:
    return x.where((a == 0) | (b == 0), x.const(0), a + b)


def fused_dot(x: Engine, row: Sequence[Number], column: Sequence[Number], c: Number, fraction: int = FRACTION) -> Value:
    """The sum as a double. Every product is exact; every term is cut `fraction` digits behind the largest exponent,
    which for a product is the sum of two exponents; and so they are added."""
    # Only of 8-bit floats a 0 has an exponent that no other number has; others are spared looking for it.
    plus: Callable[[Value, Value], Value] = operator.add
    of_product = partial(product_exponent, x) if fraction == EIGHTHS_FRACTION else plus
    exponents = [of_product(a, b) for (_, a), (_, b) in zip(row, column, strict=True)]
    highest = of_product(c[1], x.const(BIAS))
    for exponent in exponents:
        highest = x.where(exponent > highest, exponent, highest)
    lift = BIAS64 + fraction + 2 * BIAS
    scale = x.as_float(x.zext(lift - highest) << 52)
    terms = [number(x, a) * number(x, b) for a, b in zip(row, column, strict=True)]
    total: Value = x.const(0.0, 64)
    for term in [*terms, number(x, c)]:
        total = total + x.round(term * scale, "trunc")
    return total * x.as_float(x.zext(highest + (2 * BIAS64 - lift)) << 52)


def number(x: Engine, n: Number) -> Value:
    return x.to_f64(x.as_float(n[0]))


def cut(x: Engine, v: Value) -> Value:
    """Bits of the double as float32, cut; infinity from 2^128 on."""
    nearest = x.to_f32(v)
    bits = x.bits(nearest)
    beyond = (x.absolute(x.to_f64(nearest)) > x.absolute(v)) & (x.absolute(v) < 2.0**128)
    return x.where(v == v, x.where(beyond, bits - 1, bits), x.const(NAN32))


SHAPES = {"16816": {"F16": 16, "BF16": 16}, "1688": {"F16": 8, "BF16": 8, "TF32": 8}, "1684": {"TF32": 4}}
"""Columns of A by the shape and the kind of its numbers."""


@operation("HMMA", "16816 1688 1684 F32 F16 BF16 TF32")
def hmma(x: Engine, i: Instruction) -> None:
    """Halves or TF32, of which the lower 13 bits do not count; the sum is cut to float32 or rounded to a half."""
    to, *sources = i.operands
    shape, kind = which(i, tuple(SHAPES)), which(i, ("BF16", "TF32"), "F16")
    result = "F32" if "F32" in i.modifiers else "F16"
    columns = SHAPES[shape].get(kind)
    if columns is None or (result == "F16" and kind != "F16") or {"F32", "F16"} <= i.modifiers:
        raise UnsupportedError(f"the form {i.opcode}")
    counts, routine = float_product((kind, kind), result, columns)
    perform(x, i, to, sources, counts, routine)


def float_product(kinds: tuple[str, str], result: str, columns: int) -> tuple[Sequence[int], Routine]:
    """Registers of A, B and C, and the product of 16 rows of A and 8 columns of B, of two kinds, as a routine."""
    in_b = columns // (4 * PER_REGISTER[kinds[1]])
    counts = (2 * in_b, in_b, 4 if result == "F32" else 2)
    of_eighths = kinds[0] in EIGHTS
    fraction = EIGHTHS_FRACTION if of_eighths else FRACTION

    def routine(x: Engine, *words: Value) -> tuple[Value, ...]:
        def unpack(kind: str, v: Value) -> list[Number]:
            if kind == "TF32":
                return [float_number(x, v & 0xFFFFE000)]
            return eighths(x, kind, v) if of_eighths else halves(x, kind, v)

        def to_float(row: Sequence[Number], column: Sequence[Number], c: Number) -> Number:
            total = fused_dot(x, row, column, c, fraction)
            if of_eighths:
                total = x.as_float(x.bits(total) & (1 << 64) - (1 << 53 - EIGHTHS_DIGITS))
            return (cut(x, total),)

        def to_half_float(row: Sequence[Number], column: Sequence[Number], c: Number) -> Number:
            half = to_half(x, fused_dot(x, row, column, c, fraction), FLOAT16)
            return (x.where(half == SIGN16, x.const(0), half),)  # what is too small becomes +0

        first, second, c = split(words, counts)
        a, b = [unpack(kinds[0], v) for v in first], [unpack(kinds[1], v) for v in second]
        numbers = [float_number(x, v) for v in c] if result == "F32" else [n for v in c for n in halves(x, "F16", v)]
        if of_eighths:
            numbers = [without_zero(x, n) for n in numbers]
        if result == "F32":
            return words_of(multiply(x, 16, a, b, numbers, to_float))
        found = words_of(multiply(x, 16, a, b, numbers, to_half_float))
        return found[0] | found[1] << 16, found[2] | found[3] << 16

    return counts, routine


def split(words: Sequence[Value], counts: Sequence[int]) -> list[Sequence[Value]]:
    """The words of A, B and C."""
    first, second = counts[0], counts[0] + counts[1]
    return [words[:first], words[first:second], words[second:]]


def words_of(numbers: Sequence[Number]) -> tuple[Value, ...]:
    return tuple(word for number in numbers for word in number)


def perform(
    x: Engine, i: Instruction, to: Operand, sources: Sequence[Operand], counts: Sequence[int], routine: Routine
) -> None:
    """Run `routine` on the registers of A, B and C and write those of D."""
    if len(sources) != 3:
        raise UnsupportedError(f"{i.name} with {len(sources)} sources")
    of_b = SIGNS.get(which(i, ("BF16", "TF32"), "F16"), 0) if i.name == "HMMA" and counts[1] == 1 else 0
    words = [v for o, n, signs in zip(sources, counts, (0, of_b, 0), strict=True) for v in registers(x, o, n, signs)]
    for n, v in enumerate(x.apart(i.opcode, routine, words)):
        x.write(to, v, n)


# ---- integers


SMALL = {"16832": (16, 2), "16816": (16, 1), "8816": (8, 1)}
"""Rows of A and registers of B."""


@operation("IMMA", "16832 16816 8816 S8 U8 SAT", marks="ROW COL")
def imma(x: Engine, i: Instruction) -> None:
    """Bytes; sums of 32 bits, which wrap or, under SAT, stay at the ends."""
    to, *sources = i.operands
    kinds = [mark for mark in i.opcode.split(".") if mark in ("S8", "U8")]
    if len(kinds) != 2 or [o.modifiers for o in sources] != [("ROW",), ("COL",), ()]:
        raise UnsupportedError(f"the form {i.opcode}")
    rows, in_b = SMALL[which(i, tuple(SMALL))]
    counts, routine = byte_product(rows, in_b, kinds, "SAT" in i.modifiers)
    perform(x, i, to, sources, counts, routine)


def byte_product(rows: int, in_b: int, kinds: Sequence[str], saturates: bool) -> tuple[Sequence[int], Routine]:
    """As `float_product`, of bytes."""
    counts = (in_b * rows // 8, in_b, rows // 4)

    def routine(x: Engine, *words: Value) -> tuple[Value, ...]:
        def unpack(v: Value, kind: str) -> list[Number]:
            if kind == "U8":
                return [(v >> 8 * n & 0xFF,) for n in range(4)]
            return [(x.unsigned(x.signed(v << 24 - 8 * n) >> 24),) for n in range(4)]

        def dot(row: Sequence[Number], column: Sequence[Number], c: Number) -> Number:
            total: Value = x.const(0)
            for (a,), (b,) in zip(row, column, strict=True):
                total = total + a * b
            return (saturated(x, c[0], total) if saturates else total + c[0],)

        a, b, c = split(words, counts)
        left, right = [unpack(v, kinds[0]) for v in a], [unpack(v, kinds[1]) for v in b]
        return words_of(multiply(x, rows, left, right, [(v,) for v in c], dot))

    return counts, routine


def saturated(x: Engine, a: Value, b: Value) -> Value:
    """Sum of signed words, kept between the least and the largest."""
    total = x.sext(a) + x.sext(b)
    least, most = x.signed(x.const(-(1 << 31) & ((1 << 64) - 1), 64)), x.signed(x.const((1 << 31) - 1, 64))
    return x.low(x.where(total < least, least, x.where(total > most, most, total)))


# ---- bits


BITS = {"168256": (16, 2), "168128": (16, 1), "88128": (8, 1)}
"""Rows of A and registers of B."""


@operation("BMMA", f"{' '.join(BITS)} AND XOR POPC", marks="ROW COL")
def bmma(x: Engine, i: Instruction) -> None:
    """How many bits of a row and a column are both set, or differ; sums wrap."""
    to, *sources = i.operands
    if [o.modifiers for o in sources] != [("ROW",), ("COL",), ()] or not i.modifiers & {"AND", "XOR"}:
        raise UnsupportedError(f"the form {i.opcode}")
    rows, in_b = BITS[which(i, tuple(BITS))]
    counts, routine = bit_product(rows, in_b, "AND" in i.modifiers)
    perform(x, i, to, sources, counts, routine)


def bit_product(rows: int, in_b: int, both: bool) -> tuple[Sequence[int], Routine]:
    """As `float_product`, of bits that are `both` set, or differ."""
    counts = (in_b * rows // 8, in_b, rows // 4)

    def routine(x: Engine, *words: Value) -> tuple[Value, ...]:
        def dot(row: Sequence[Number], column: Sequence[Number], c: Number) -> Number:
            total = c[0]
            for (a,), (b,) in zip(row, column, strict=True):
                total = total + x.popcount(a & b if both else a ^ b)
            return (total,)

        a, b, c = split(words, counts)
        return words_of(multiply(x, rows, [[(v,)] for v in a], [[(v,)] for v in b], [(v,) for v in c], dot))

    return counts, routine


# ---- doubles


DOUBLE = {"8x8x4": (8, 1), "884": (8, 1), "16x8x4": (16, 1), "16x8x8": (16, 2), "16x8x16": (16, 4)}
"""Rows of A and doubles of B in a lane."""


@operation("DMMA", " ".join(DOUBLE))
def dmma(x: Engine, i: Instruction) -> None:
    """Doubles: one fused multiplication and addition after the other, each rounded to nearest even."""
    to, *sources = i.operands
    rows, in_b = DOUBLE[which(i, tuple(DOUBLE))]
    counts = (2 * in_b * rows // 8, 2 * in_b, rows // 2)

    def routine(x: Engine, *words: Value) -> tuple[Value, ...]:
        def dot(row: Sequence[Number], column: Sequence[Number], c: Number) -> Number:
            total = double(x, c)
            for a, b in zip(row, column, strict=True):
                total = fused(x, double(x, a), double(x, b), total)
            bits = x.bits(total)
            return x.low(bits), x.high(bits)

        a, b, c = ([(v, w) for v, w in zip(part[::2], part[1::2], strict=True)] for part in split(words, counts))
        return words_of(multiply(x, rows, [[n] for n in a], [[n] for n in b], c, dot))

    perform(x, i, to, sources, counts, routine)


def double(x: Engine, n: Number) -> Value:
    return x.as_float(x.zext(n[0]) | x.zext(n[1]) << 32)


def fused(x: Engine, a: Value, b: Value, c: Value) -> Value:
    """a·b + c; a NaN among the operands stays, made quiet: the first of b, c, a, as of DFMA."""
    v = x.fma(a, b, c)
    return x.as_float(x.where(v == v, x.bits(v), nan_of(x, b, c, a)))
