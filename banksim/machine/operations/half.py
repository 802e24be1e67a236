"""Half precision, two numbers a register: float16, and bfloat16 under the mark BF16_V2.

Halves are computed as doubles. A sum of products of halves is not always exact in 53 bits, so it is rounded to odd
first, and then once to half precision.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.floating import FLOAT_COMPARISONS, chosen, holds
from banksim.machine.operations.rounding import round_to_odd, two_sum
from banksim.machine.operations.table import COMBINATIONS, combined, operation, write_float

HALVES = "H0_H0 H1_H1 H0_NH1"
NAN16, OUT_OF_BOUNDS16 = 0x7FFF, 0x7FF7
SIGN16 = 0x8000


@dataclass(frozen=True)
class Format:
    """A format of 16 or 8 bits: significant binary digits (the hidden one counted), bias of the exponent, the bits of
    infinity (which are the first beyond those of all numbers), the bit of the sign."""

    digits: int
    bias: int
    infinity: int
    sign: int = SIGN16

    @property
    def one(self) -> int:
        return self.bias << (self.digits - 1)


FLOAT16, BFLOAT16 = Format(11, 15, 0x7C00), Format(8, 127, 0x7F80)


def format_of(i: Instruction) -> Format:
    return BFLOAT16 if i.modifiers & {"BF16_V2", "BF16"} else FLOAT16


def from_half(x: Engine, v: Value, form: Format) -> Value:
    """The lower 16 bits of u32 as f32."""
    if form is BFLOAT16:
        return x.as_float(v << 16)
    sign, exponent, digits = (v & SIGN16) << 16, v >> 10 & 31, v & 0x3FF
    small = x.bits(x.to_f32(digits) * 2.0**-24)
    large = (exponent << 23) + (112 << 23) | digits << 13
    special = digits << 13 | 0x7F800000
    return x.as_float(x.where(exponent == 0, small, x.where(exponent == 31, special, large)) | sign)


def to_half(x: Engine, v: Value, form: Format, direction: str = "") -> Value:
    """A double in a format, to nearest even, or toward zero (RZ), down (RM) or up (RP); a NaN has all other bits."""
    bits = x.bits(v)
    negative = bits >> 63 != 0
    sign = x.where(negative, x.const(form.sign), x.const(0))
    exponent = x.signed(x.low(bits >> 52) & 0x7FF) - (1023 - form.bias)
    normal = exponent >= 1
    digits = (bits & ((1 << 52) - 1)) | (1 << 52)
    drop = x.where(normal, x.const(53 - form.digits), x.const(54 - form.digits) - x.unsigned(exponent))
    drop = x.zext(x.where(drop < 63, drop, x.const(63)))
    kept = digits >> drop
    result = x.low(kept) + x.where(normal, x.unsigned(exponent - 1) << (form.digits - 1), x.const(0))
    middle = x.const(1, 64) << (drop - 1)
    rest = digits & ((middle << 1) - 1)
    never = negative & ~negative
    if not direction:
        outward = (rest > middle) | ((rest == middle) & ((kept & 1) != 0))
    else:
        outward = {"RZ": never, "RM": negative, "RP": ~negative}[direction] & (rest != 0) & (v != 0.0)
    result = result + x.number(outward)
    beyond = {"": ~never, "RZ": never, "RM": negative, "RP": ~negative}[direction]
    largest = x.where(beyond, x.const(form.infinity), x.const(form.infinity - 1))
    result = x.where(result >= form.infinity, largest, result)
    result = x.where(x.absolute(v) == float("inf"), x.const(form.infinity), result)
    return x.where(v == v, result | sign, x.const(form.sign - 1))


# ---- operands: pairs (lower, upper) of halves


def sources(i: Instruction, first: int) -> list[tuple[Operand, ...]]:
    """Operands from the first source on; two immediates in a row, upper and lower, are one operand."""
    out: list[tuple[Operand, ...]] = []
    for o in i.operands[first:]:
        if o.kind == "float" and out and len(out[-1]) == 1 and out[-1][0].kind == "float":
            out[-1] = (*out[-1], o)
        else:
            out.append((o,))
    return out


def half_bits(o: Operand, form: Format) -> int:
    """The 16 bits of an immediate."""
    if form is BFLOAT16:
        return int.from_bytes(struct.pack("<f", float(o.text)), "little") >> 16
    return int.from_bytes(struct.pack("<e", float(o.text)), "little")


def packed(x: Engine, i: Instruction, source: tuple[Operand, ...]) -> Value:
    """The word of an operand."""
    if len(source) == 2:
        upper, lower = (half_bits(o, format_of(i)) for o in source)
        return x.const(upper << 16 | lower)
    (o,) = source
    if o.kind == "float" and (not i.name.endswith("F2FP") or "NAN" in o.text):
        raise UnsupportedError("one immediate for a pair of halves")
    return x.raw(o)


def pair(x: Engine, i: Instruction, source: tuple[Operand, ...], word: Value | None = None) -> tuple[Value, Value]:
    """The lower and upper half of an operand, or of the `word` that it holds, as f32, marks of sign applied, .FTZ
    heeded."""
    v, o = packed(x, i, source) if word is None else word, source[0]
    words = (v >> 16 if "H1_H1" in o.modifiers else v, v if "H0_H0" in o.modifiers else v >> 16)
    lower, upper = (half(x, i, one, w & 0xFFFF) for one, w in zip((source[-1], o), words, strict=True))
    return lower, -upper if "H0_NH1" in o.modifiers else upper


def half(x: Engine, i: Instruction, o: Operand, word: Value) -> Value:
    if "FTZ" in i.modifiers:
        word = x.where((word & format_of(i).infinity) == 0, word & SIGN16, word)
    f = from_half(x, word, format_of(i))
    if o.absolute:
        f = x.absolute(f)
    return -f if o.negative and o.kind != "float" else f


def finish(x: Engine, i: Instruction, v: Value) -> Value:
    """A double as the 16 bits of a result: .FTZ, .SAT (0 to 1, a NaN is 0), .RELU (not below 0).

    A result counts as denormal if it was one before rounding to a denormal's precision: it is checked 2¹⁰ times larger.
    """
    form = format_of(i)
    word = to_half(x, v, form)
    if "FTZ" in i.modifiers:
        tiny = (to_half(x, v * 2.0**10, form) & 0x7FFF) < (11 << (form.digits - 1))
        word = x.where(tiny, word & SIGN16, word)
    if "SAT" in i.modifiers:
        word = x.where(v > 0.0, x.where(v < 1.0, word, x.const(form.one)), x.const(0))
    if "RELU" in i.modifiers:
        word = x.where((word & SIGN16) != 0, x.const(0), word)
    return word


def write_halves(x: Engine, to: Operand, lower: Value, upper: Value) -> None:
    x.write(to, upper << 16 | lower)


# ---- arithmetic


def write_of_halves(x: Engine, i: Instruction, compute: Callable[..., Value]) -> None:
    """Write what `compute(x, a, …)` makes of the lower halves of the sources, and of the upper ones: by a routine, for
    each of its roundings is long."""
    given = sources(i, 1)

    def routine(y: Engine, *words: Value) -> Value:
        operands = (pair(y, i, source, word) for source, word in zip(given, words, strict=True))
        lower, upper = (compute(y, *one) for one in zip(*operands, strict=True))
        return upper << 16 | lower

    marks = ((len(s), s[0].negative, s[0].absolute, *sorted(s[0].modifiers)) for s in given)
    name = " ".join(map(str, (i.name, *sorted(i.modifiers), *marks)))
    x.write(i.operands[0], x.lanewise(name, routine, [packed(x, i, source) for source in given]))


ARITHMETIC = "MMA F32 BF16_V2 FTZ SAT RELU"


@operation("HADD2", ARITHMETIC, marks=HALVES)
def hadd2(x: Engine, i: Instruction) -> None:
    """a + b; F32: of the lower halves, as float32."""
    if "F32" in i.modifiers:
        a, b = (pair(x, i, source) for source in sources(i, 1))
        return write_float(x, i.operands[0], a[0] + b[0])
    return write_of_halves(x, i, lambda y, p, q: finish(y, i, y.to_f64(p) + y.to_f64(q)))


@operation("HMUL2", "BF16_V2 FTZ SAT RELU", marks=HALVES)
def hmul2(x: Engine, i: Instruction) -> None:
    write_of_halves(x, i, lambda y, p, q: finish(y, i, y.to_f64(p) * y.to_f64(q)))


@operation("HFMA2", "MMA BF16_V2 FTZ SAT RELU OOB", marks=HALVES)
def hfma2(x: Engine, i: Instruction) -> None:
    """a · b + c; with a = −0 and b = 0 the compiler's way to load a constant. OOB: 0 where a or b is the NaN that tells
    of an element out of bounds, of whatever sign (so an H200 gave it in 8,192 of 8,192 pairs, in four forms)."""
    a, b, c = sources(i, 1)
    form = format_of(i)
    if a[0].is_zero and b[0].is_zero and len(c) == 2 and not i.modifiers & {"SAT", "RELU", "FTZ"}:
        return x.write(i.operands[0], packed(x, i, c))

    def fused(y: Engine, p: Value, q: Value, r: Value) -> Value:
        s, error = two_sum(y.to_f64(p) * y.to_f64(q), y.to_f64(r))
        result = finish(y, i, round_to_odd(y, s, error))
        if "OOB" not in i.modifiers:
            return result
        mark = y.bits(from_half(y, y.const(OUT_OF_BOUNDS16), form))
        outside = (y.bits(y.absolute(p)) == mark) | (y.bits(y.absolute(q)) == mark)
        return y.where(outside, y.const(0), result)

    return write_of_halves(x, i, fused)


@operation("HMNMX2 VHMNMX", "BF16_V2 FTZ NAN XORSIGN", marks=HALVES)
def hmnmx2(x: Engine, i: Instruction) -> None:
    """As FMNMX and FMNMX3, half by half."""
    to, p = i.operands[0], i.operands[-1]
    operands = sources(i, 1)[:-1]
    raw = [pair(x, i, tuple(replace(o, negative=False, absolute=False) for o in source)) for source in operands[:2]]
    results = []
    for side, (f, *others) in enumerate(zip(*(pair(x, i, source) for source in operands), strict=True)):
        for v in others:
            f = x.as_float(chosen(x, i, f, v, p))
        if "XORSIGN" in i.modifiers:
            sign = (x.bits(raw[0][side]) ^ x.bits(raw[1][side])) & 0x80000000
            f = x.where(f == f, x.as_float(x.bits(f) & 0x7FFFFFFF | sign), f)
        results.append(to_half(x, x.to_f64(f), format_of(i)))
    write_halves(x, to, *results)


@operation("HSETP2", f"BF16_V2 FTZ {FLOAT_COMPARISONS} {COMBINATIONS}", marks=HALVES)
def hsetp2(x: Engine, i: Instruction) -> None:
    """P: of the lower halves; Q: of the upper ones."""
    for to, v in zip(i.operands, comparisons(x, i, i.operands[2:]), strict=False):
        if not to.is_zero:
            x.write_predicate(to, v)


@operation("HSET2", f"BF16_V2 BF FTZ {FLOAT_COMPARISONS} {COMBINATIONS}", marks=HALVES)
def hset2(x: Engine, i: Instruction) -> None:
    """1.0 with BF, else all bits set, in each half where the comparison holds."""
    true = x.const(format_of(i).one if "BF" in i.modifiers else 0xFFFF)
    lower, upper = (x.where(v, true, x.const(0)) for v in comparisons(x, i, i.operands[1:]))
    write_halves(x, i.operands[0], lower, upper)


def comparisons(x: Engine, i: Instruction, operands: tuple[Operand, ...]) -> list[Value]:
    """a, b, P: the comparison of the lower and of the upper halves, combined with P."""
    *compared, p = sources(replace(i, operands=operands), 0)
    halves = zip(*(pair(x, i, o) for o in compared), strict=True)
    return [combined(x, i, holds(i, u, v), p[0]) for u, v in halves]


def lower_half(x: Engine, i: Instruction, o: Operand) -> Value:
    """A register's lower half, or with H1 its upper one, or an immediate, as f32; marks of sign applied."""
    if o.kind == "float":
        return half(x, i, o, x.const(half_bits(o, format_of(i))))
    v = x.raw(o)
    return half(x, i, o, v >> 16 if "H1" in o.modifiers else v & 0xFFFF)
