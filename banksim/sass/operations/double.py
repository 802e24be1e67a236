"""Operations on float64."""

from __future__ import annotations

from banksim.sass.engine import Engine, Value
from banksim.sass.operations.floating import FLOAT_COMPARISONS, float_extremum, holds
from banksim.sass.operations.rounding import DIRECTIONS, ROUNDINGS, direct, two_sum
from banksim.sass.operations.table import COMBINATIONS, NAN64, operation, which, write_comparison
from banksim.sass.program import Instruction, Operand


def write_double(x: Engine, o: Operand, v: Value) -> None:
    x.write64(o, canonical(x, v, x.bits(v)))


def canonical(x: Engine, v: Value, bits: Value) -> Value:
    """`bits`, or the GPU's NaN where v is one."""
    return x.where(v == v, bits, x.const(NAN64, 64))


def finite(v: Value) -> Value:
    return (v - v) == 0.0


def sum_error(x: Engine, s: Value, a: Value, b: Value) -> Value:
    """Sign of a + b − s; where finite operands overflow, toward zero."""
    _, error = two_sum(a, b)
    overflow = finite(a) & finite(b) & ~finite(s)
    return x.where(overflow, -s, x.where(finite(s), error, x.const(0.0, 64)))


@operation("DADD", ROUNDINGS)
def dadd(x: Engine, i: Instruction) -> None:
    a, b = (x.float64(o) for o in i.operands[1:])
    s = a + b
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, i.operands[0], s)
    bits = direct(x, direction, s, sum_error(x, s, a, b))
    return x.write64(i.operands[0], canonical(x, s, signed_zero(x, direction, bits, s, a, b)))


def signed_zero(x: Engine, direction: str, bits: Value, s: Value, a: Value, b: Value) -> Value:
    """Rounding down, x − x is −0."""
    if direction != "RM":
        return bits
    either_negative = (x.bits(a) | x.bits(b)) >> 63 != 0
    return x.where((s == 0.0) & either_negative, x.const(1 << 63, 64), bits)


SCALE = 2.0**200
"""Lifts products out of the range where their rounding error is itself too small for a double."""


def product_error(x: Engine, p: Value, a: Value, b: Value) -> Value:
    """Sign of a · b − p for p = a · b to nearest; where finite operands overflow, toward zero."""
    swap = x.absolute(a) > x.absolute(b)
    small, large = x.where(swap, b, a), x.where(swap, a, b)
    tiny = x.absolute(p) < 2.0**-800
    scale = x.where(tiny, x.const(SCALE, 64), x.const(1.0, 64))
    small = small * scale
    scaled = small * large
    error = (scaled - p * scale) + x.fma(small, large, -scaled)
    overflow = finite(a) & finite(b) & ~finite(p)
    return x.where(overflow, -p, x.where(finite(p), error, x.const(0.0, 64)))


@operation("DMUL", ROUNDINGS)
def dmul(x: Engine, i: Instruction) -> None:
    a, b = (x.float64(o) for o in i.operands[1:3])
    p = a * b
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, i.operands[0], p)
    return x.write64(i.operands[0], canonical(x, p, direct(x, direction, p, product_error(x, p, a, b))))


def fused_error(x: Engine, r: Value, a: Value, b: Value, c: Value) -> Value:
    """Sign of a · b + c − r for r its nearest double (Boldo and Muller, 2011), if no underflow."""
    p = a * b
    e = x.fma(a, b, -p)
    upper, lower = two_sum(c, e)
    first, second = two_sum(p, upper)
    error = ((first - r) + second) + lower
    overflow = finite(a) & finite(b) & finite(c) & ~finite(r)
    return x.where(overflow, -r, x.where(finite(r), error, x.const(0.0, 64)))


@operation("DFMA", ROUNDINGS)
def dfma(x: Engine, i: Instruction) -> None:
    a, b, c = (x.float64(o) for o in i.operands[1:4])
    r = x.fma(a, b, c)
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, i.operands[0], r)
    bits = direct(x, direction, r, fused_error(x, r, a, b, c))
    return x.write64(i.operands[0], canonical(x, r, signed_zero(x, direction, bits, r, a * b, c)))


@operation("DSETP", f"MIN MAX {FLOAT_COMPARISONS} {COMBINATIONS}")
def dsetp(x: Engine, i: Instruction) -> None:
    """MIN and MAX: P, whether a is the result; Q, whether both are NaNs."""
    a, b = (x.float64(o) for o in i.operands[2:4])
    if not i.modifiers & {"MIN", "MAX"}:
        return write_comparison(x, i, holds(i, a, b))
    chosen = float_extremum(x, a, b, "MIN" in i.modifiers) == x.bits(a)
    first = ((a == a) & chosen) | (b != b)
    return write_comparison(x, i, first, (a != a) & (b != b))


@operation("DMNMX", "")
def dmnmx(x: Engine, i: Instruction) -> None:
    to, a, b, p = i.operands
    u, v = x.float64(a), x.float64(b)
    smaller, larger = float_extremum(x, u, v, True), float_extremum(x, u, v, False)
    bits = x.where(x.predicate(p), smaller, larger)
    nan = x.const(NAN64, 64)
    x.write64(to, x.where(u == u, x.where(v == v, bits, x.bits(u)), x.where(v == v, x.bits(v), nan)))
