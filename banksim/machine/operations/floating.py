"""Operations on float32."""

from collections.abc import Sequence
from dataclasses import replace

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.rounding import (
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
from banksim.machine.operations.table import (
    COMBINATIONS,
    COMPARISONS,
    NAN32,
    combined,
    float_bits,
    operation,
    select,
    which,
    write_comparison,
)

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


def added(x: Engine, i: Instruction, operands: Sequence[Operand]) -> Value:
    """Bits of a + b."""
    a, b = (operand(x, i, o) for o in operands)
    if plain(i):
        return float_bits(x, a + b)
    bits = rounded_sum(x, i, x.to_f64(a), x.to_f64(b)) if directed(i) else float_bits(x, a + b)
    return finish(x, i, bits)


@operation("FADD UFADD", FLOAT_MODIFIERS)
def fadd(x: Engine, i: Instruction) -> None:
    x.write(i.operands[0], added(x, i, i.operands[1:3]))


SCALES = {"D2": 0.5, "D4": 0.25, "D8": 0.125, "M2": 2.0, "M4": 4.0, "M8": 8.0}


def multiplied(x: Engine, i: Instruction, operands: Sequence[Operand]) -> Value:
    """Bits of a · b; D2 … M8: times a power of two before it is rounded."""
    a, b = (operand(x, i, o) for o in operands)
    scale = which(i, SCALES)
    if plain(i) and not scale:
        return float_bits(x, a * b)
    if directed(i) or scale:
        p = x.to_f64(a) * x.to_f64(b) * SCALES.get(scale, 1.0)
        return finish(x, i, narrow(x, i, p), lambda: narrow(x, i, p * LIFT**2))
    return finish(x, i, float_bits(x, a * b), lambda: x.bits((a * LIFT) * (b * LIFT)))


@operation("FMUL UFMUL", f"{FLOAT_MODIFIERS} {' '.join(SCALES)}")
def fmul(x: Engine, i: Instruction) -> None:
    x.write(i.operands[0], multiplied(x, i, i.operands[1:3]))


def fused(x: Engine, i: Instruction, operands: Sequence[Operand]) -> Value:
    """Bits of a · b + c, rounded once."""
    a, b, c = (operand(x, i, o) for o in operands)
    if plain(i):
        return float_bits(x, x.fma(a, b, c))
    if directed(i):
        p, d = x.to_f64(a) * x.to_f64(b), x.to_f64(c)
        return finish(x, i, rounded_sum(x, i, p, d), lambda: rounded_sum(x, i, p * LIFT**2, d * LIFT**2))
    bits = float_bits(x, x.fma(a, b, c))
    return finish(x, i, bits, lambda: x.bits(x.fma(a * LIFT, b * LIFT, c * LIFT**2)))


@operation("FFMA UFFMA", FLOAT_MODIFIERS)
def ffma(x: Engine, i: Instruction) -> None:
    x.write(i.operands[0], fused(x, i, i.operands[1:4]))


PAIRS = {"FADD2": added, "FMUL2": multiplied, "FFMA2": fused}


@operation(" ".join(PAIRS), FLOAT_MODIFIERS, marks="F32x2 HI_LO F32")
def in_pairs(x: Engine, i: Instruction) -> None:
    """Two float32 in neighbouring registers at once (sm_100); an operand without F32x2.HI_LO serves both."""
    to, *sources = i.operands
    results = [PAIRS[i.name](x, i, [element(o, number) for o in sources]) for number in (0, 1)]
    for word, bits in enumerate(results):
        x.write(to, bits, word)


def element(o: Operand, number: int) -> Operand:
    """The operand of one of two results."""
    if number and "HI_LO" in o.modifiers and not o.is_zero:
        if o.kind not in ("R", "UR"):
            raise UnsupportedError(f"a pair {o.text}")
        return replace(o, number=o.number + 1)
    return o


@operation("FSEL UFSEL", "FTZ")
def fsel(x: Engine, i: Instruction) -> None:
    to, a, b, p = i.operands
    x.write(to, select(x, p, x.bits(operand(x, i, a)), x.bits(operand(x, i, b))))


def float_extremum(x: Engine, a: Value, b: Value, smaller: bool) -> Value:
    """Bits of the smaller or larger of two floats that are no NaNs; −0 is smaller than +0."""
    u, v = x.bits(a), x.bits(b)
    if smaller:
        return x.where(a < b, u, x.where(b < a, v, u | v))
    return x.where(a > b, u, x.where(b > a, v, u & v))


@operation("FMNMX UFMNMX", "FTZ NAN XORSIGN")
def fmnmx(x: Engine, i: Instruction) -> None:
    """XORSIGN: with the sign of a · b."""
    to, a, b, p = i.operands
    bits = chosen(x, i, operand(x, i, a), operand(x, i, b), p)
    if "XORSIGN" in i.modifiers:
        signed = (bits & 0x7FFFFFFF) | ((x.raw(a) ^ x.raw(b)) & 0x80000000)
        bits = x.where(x.as_float(bits) == x.as_float(bits), signed, bits)
    x.write(to, bits)


@operation("FMNMX3", "FTZ NAN")
def fmnmx3(x: Engine, i: Instruction) -> None:
    to, a, b, c, p = i.operands
    first = x.as_float(chosen(x, i, operand(x, i, a), operand(x, i, b), p))
    x.write(to, chosen(x, i, first, operand(x, i, c), p))


def chosen(x: Engine, i: Instruction, u: Value, v: Value, p: Operand) -> Value:
    """Bits of the smaller of two floats where p holds, else of the larger. Of a NaN: the other, or with NAN a NaN."""
    if p.is_zero:
        bits = float_extremum(x, u, v, smaller=not p.inverted)
    else:
        bits = x.where(x.predicate(p), float_extremum(x, u, v, True), float_extremum(x, u, v, False))
    if "NAN" not in i.modifiers:
        bits = x.where(u == u, x.where(v == v, bits, x.bits(u)), x.bits(v))
        number = (u == u) | (v == v)
    else:
        number = (u == u) & (v == v)
    return x.where(number, bits, x.const(NAN32))


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


@operation("FSETP UFSETP", f"FTZ {FLOAT_COMPARISONS} {COMBINATIONS}")
def fsetp(x: Engine, i: Instruction) -> None:
    a, b = (operand(x, i, o) for o in i.operands[2:4])
    write_comparison(x, i, holds(i, a, b))


@operation("FSET UFSET", f"BF FTZ {FLOAT_COMPARISONS} {COMBINATIONS}")
def fset(x: Engine, i: Instruction) -> None:
    """All bits set, or 1.0 with BF, where the comparison holds."""
    to, a, b, p = i.operands
    v = combined(x, i, holds(i, operand(x, i, a), operand(x, i, b)), p)
    x.write(to, x.where(v, x.const(0x3F800000 if "BF" in i.modifiers else 0xFFFFFFFF), x.const(0)))


@operation("FCHK", "DIVIDE")
def fchk(x: Engine, i: Instruction) -> None:
    """Whether a / b needs the slow path: what an H200 answers for all pairs of exponents."""
    to, a, b = i.operands
    u, v = (x.signed(x.bits(x.float32(o)) >> 23 & 0xFF) for o in (a, b))
    x.write_predicate(to, (v < 2) | (v > 251) | (u == 255) | (u < 25) | (u - v > 126) | (u - v < -124))
