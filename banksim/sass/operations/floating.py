"""Operations on float32."""

from __future__ import annotations

from banksim.sass.engine import Engine, Value
from banksim.sass.operations.rounding import (
    DIRECTIONS,
    LIFT,
    ROUNDINGS,
    finish,
    flushed,
    narrow,
    round_to_odd,
    two_sum,
    zero_of_sum,
)
from banksim.sass.operations.table import (
    COMBINATIONS,
    COMPARISONS,
    NAN32,
    float_bits,
    operation,
    select,
    which,
    write_comparison,
    write_float,
)
from banksim.sass.program import Instruction, Operand

FLOAT_MODIFIERS = f"FTZ SAT {ROUNDINGS}"


def operand(x: Engine, i: Instruction, o: Operand) -> Value:
    """A float32 operand; .FTZ takes its denormals for zeros."""
    v = x.float32(o)
    return flushed(x, v) if "FTZ" in i.modifiers else v


def directed(i: Instruction) -> bool:
    return bool(i.modifiers & set(DIRECTIONS))


def plain(i: Instruction) -> bool:
    """Rounds to nearest, with nothing to do to the result."""
    return not i.modifiers & {"FTZ", "SAT", *DIRECTIONS}


def rounded_sum(x: Engine, i: Instruction, a: Value, b: Value) -> Value:
    """Bits of a + b, two doubles, as float32, rounded once."""
    s, error = two_sum(a, b)
    return zero_of_sum(x, i, narrow(x, i, round_to_odd(x, s, error)), s, a, b)


@operation("FADD", FLOAT_MODIFIERS)
def fadd(x: Engine, i: Instruction) -> None:
    a, b = (operand(x, i, o) for o in i.operands[1:3])
    if plain(i):
        return write_float(x, i.operands[0], a + b)
    bits = rounded_sum(x, i, x.to_f64(a), x.to_f64(b)) if directed(i) else float_bits(x, a + b)
    return x.write(i.operands[0], finish(x, i, bits))


@operation("FMUL", FLOAT_MODIFIERS)
def fmul(x: Engine, i: Instruction) -> None:
    a, b = (operand(x, i, o) for o in i.operands[1:3])
    if plain(i):
        return write_float(x, i.operands[0], a * b)
    if directed(i):
        p = x.to_f64(a) * x.to_f64(b)
        bits = finish(x, i, narrow(x, i, p), lambda: narrow(x, i, p * LIFT**2))
    else:
        bits = finish(x, i, float_bits(x, a * b), lambda: x.bits((a * LIFT) * (b * LIFT)))
    return x.write(i.operands[0], bits)


@operation("FFMA", FLOAT_MODIFIERS)
def ffma(x: Engine, i: Instruction) -> None:
    a, b, c = (operand(x, i, o) for o in i.operands[1:4])
    if plain(i):
        return write_float(x, i.operands[0], x.fma(a, b, c))
    if directed(i):
        p, d = x.to_f64(a) * x.to_f64(b), x.to_f64(c)
        bits = rounded_sum(x, i, p, d)
        bits = finish(x, i, bits, lambda: rounded_sum(x, i, p * LIFT**2, d * LIFT**2))
    else:
        bits = float_bits(x, x.fma(a, b, c))
        bits = finish(x, i, bits, lambda: x.bits(x.fma(a * LIFT, b * LIFT, c * LIFT**2)))
    return x.write(i.operands[0], bits)


@operation("FSEL", "FTZ")
def fsel(x: Engine, i: Instruction) -> None:
    to, a, b, p = i.operands
    x.write(to, select(x, p, x.bits(operand(x, i, a)), x.bits(operand(x, i, b))))


def float_extremum(x: Engine, a: Value, b: Value, smaller: bool) -> Value:
    """Bits of the smaller or larger of two floats that are no NaNs; −0 is smaller than +0."""
    u, v = x.bits(a), x.bits(b)
    if smaller:
        return x.where(a < b, u, x.where(b < a, v, u | v))
    return x.where(a > b, u, x.where(b > a, v, u & v))


@operation("FMNMX", "FTZ NAN XORSIGN")
def fmnmx(x: Engine, i: Instruction) -> None:
    """The other operand where one is a NaN; NAN: a NaN where either is; XORSIGN: the sign of a · b."""
    to, a, b, p = i.operands
    u, v = operand(x, i, a), operand(x, i, b)
    if p.is_zero:
        bits = float_extremum(x, u, v, smaller=not p.inverted)
    else:
        bits = x.where(x.predicate(p), float_extremum(x, u, v, True), float_extremum(x, u, v, False))
    if "NAN" not in i.modifiers:
        bits = x.where(u == u, x.where(v == v, bits, x.bits(u)), x.bits(v))
        number = (u == u) | (v == v)
    else:
        number = (u == u) & (v == v)
    if "XORSIGN" in i.modifiers:
        bits = (bits & 0x7FFFFFFF) | ((x.raw(a) ^ x.raw(b)) & 0x80000000)
    x.write(to, x.where(number, bits, x.const(NAN32)))


FLOAT_COMPARISONS = " ".join([*COMPARISONS, *(name + "U" for name in COMPARISONS), "NUM", "NAN"])


def holds(i: Instruction, a: Value, b: Value) -> Value:
    """The comparison of two floats: NE and its like are false for NaNs, those with U are true."""
    unordered = (a != a) | (b != b)
    if "NAN" in i.modifiers:
        return unordered
    if "NUM" in i.modifiers:
        return ~unordered
    name = which(i, COMPARISONS)
    if name:
        return COMPARISONS[name](a, b) & ~unordered if name == "NE" else COMPARISONS[name](a, b)
    name = next(n for n in COMPARISONS if n + "U" in i.modifiers)
    return COMPARISONS[name](a, b) if name == "NE" else COMPARISONS[name](a, b) | unordered


@operation("FSETP", f"FTZ {FLOAT_COMPARISONS} {COMBINATIONS}")
def fsetp(x: Engine, i: Instruction) -> None:
    a, b = (operand(x, i, o) for o in i.operands[2:4])
    write_comparison(x, i, holds(i, a, b))


@operation("FSET", f"BF FTZ {FLOAT_COMPARISONS} {COMBINATIONS}")
def fset(x: Engine, i: Instruction) -> None:
    """All bits set, or 1.0 with BF, where the comparison holds."""
    to, a, b, p = i.operands
    v, q = holds(i, operand(x, i, a), operand(x, i, b)), x.predicate(p)
    v = v & q if "AND" in i.modifiers else v | q if "OR" in i.modifiers else v ^ q
    x.write(to, x.where(v, x.const(0x3F800000 if "BF" in i.modifiers else 0xFFFFFFFF), x.const(0)))


@operation("FCHK", "DIVIDE")
def fchk(x: Engine, i: Instruction) -> None:
    """Whether a / b needs the slow path: what an H200 answers for all pairs of exponents."""
    to, a, b = i.operands
    u, v = (x.signed(x.bits(x.float32(o)) >> 23 & 0xFF) for o in (a, b))
    x.write_predicate(to, (v < 2) | (v > 251) | (u == 255) | (u < 25) | (u - v > 126) | (u - v < -124))



def turned(x: Engine, v: Value) -> Value:
    """Radians of an angle in turns."""
    return (v - x.round(v, "nearest")) * 6.283185307179586


@operation("MUFU", "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H FTZ")
def mufu(x: Engine, i: Instruction) -> None:
    """Approximations; here the nearest float32, from which the GPU's tables differ by a few of the last bits.

    SIN and COS take turns, not radians. RCP64H and RSQ64H: from upper word to upper word of doubles.
    """
    to, source = i.operands
    if i.modifiers & {"RCP64H", "RSQ64H"}:
        return _upper_word(x, i)
    if "TANH" in i.modifiers:
        return write_float(x, to, x.to_f32(x.math("tanh", x.to_f64(x.float32(source)))))
    v = x.to_f64(flushed(x, x.float32(source)))
    if "RCP" in i.modifiers:
        v = x.divide(x.const(1.0, 64), v)
    elif "RSQ" in i.modifiers:
        v = x.divide(x.const(1.0, 64), x.math("sqrt", v))
    elif "SQRT" in i.modifiers:
        v = x.math("sqrt", v)
    elif "SIN" in i.modifiers:
        v = x.math("sin", turned(x, v))
    elif "COS" in i.modifiers:
        v = x.math("cos", turned(x, v))
    else:
        v = x.math("exp2" if "EX2" in i.modifiers else "log2", v)
    return x.write(to, float_bits(x, flushed(x, x.to_f32(v))))


def _upper_word(x: Engine, i: Instruction) -> None:
    """RCP64H, RSQ64H: a double's upper word to that of its reciprocal (root), denormals taken for zeros."""
    to, source = i.operands
    word = x.value(source)
    d = x.as_float(x.zext(x.where((word & 0x7FF00000) == 0, word & 0x80000000, word)) << 32)
    negative_zero = x.bits(d) == 1 << 63
    root = d if "RCP64H" in i.modifiers else x.math("sqrt", d)
    result = x.divide(x.const(1.0, 64), root)
    word = x.high(x.bits(result))
    word = x.where((word & 0x7FF00000) == 0, word & 0x80000000, word)
    word = x.where(negative_zero, x.const(0xFFF00000), word)
    x.write(to, x.where(result == result, word, x.const(NAN32)))
