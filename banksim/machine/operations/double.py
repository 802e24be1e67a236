"""Operations on float64."""

from dataclasses import replace

from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.floating import FLOAT_COMPARISONS, float_extremum, holds
from banksim.machine.operations.rounding import DIRECTIONS, ROUNDINGS, direct, two_sum
from banksim.machine.operations.table import COMBINATIONS, NAN64, QUIET64, operation, which, write_comparison


def with_nan(x: Engine, v: Value, bits: Value, *operands: Operand) -> Value:
    """`bits`, or where v is a NaN: the first of the operands that is one, made quiet, else the GPU's NaN.

    Marks of sign on an operand do not change a NaN.
    """
    nan = x.const(NAN64, 64)
    for o in reversed(operands):
        d = x.float64(replace(o, negative=False, absolute=False))
        nan = x.where(d == d, nan, x.bits(d) | QUIET64)
    return x.where(v == v, bits, nan)


def write_double(x: Engine, to: Operand, v: Value, *operands: Operand) -> None:
    """Write a result of arithmetic on operands, which are given in the order in which their NaNs win."""
    x.write64(to, with_nan(x, v, x.bits(v), *operands))


def finite(v: Value) -> Value:
    return (v - v) == 0.0


def sign_of_product(x: Engine, a: Value, b: Value) -> Value:
    """−1 or 1 as a · b is negative or not; 0 where a or b is 0."""
    negative = (x.bits(a) ^ x.bits(b)) >> 63 != 0
    sign = x.where(negative, x.const(-1.0, 64), x.const(1.0, 64))
    return x.where((a == 0.0) | (b == 0.0), x.const(0.0, 64), sign)


def toward_finite(x: Engine, r: Value, error: Value, *operands: Value) -> Value:
    """`error`, or toward zero where finite operands overflow; 0 where r is an infinity or NaN by right."""
    all_finite = finite(operands[0])
    for o in operands[1:]:
        all_finite = all_finite & finite(o)
    return x.where(finite(r), error, x.where(all_finite, -r, x.const(0.0, 64)))


def rounded_sum(x: Engine, direction: str, s: Value, error: Value, a: Value, b: Value) -> Value:
    """Bits of a + b = s + error rounded to a side; rounding down, the sum x − x is −0."""
    bits = direct(x, direction, s, error)
    if direction != "RM":
        return bits
    either_negative = (x.bits(a) | x.bits(b)) >> 63 != 0
    return x.where((s == 0.0) & (error == 0.0) & either_negative, x.const(1 << 63, 64), bits)


@operation("DADD", ROUNDINGS)
def dadd(x: Engine, i: Instruction) -> None:
    to, *sources = i.operands
    a, b = (x.float64(o) for o in sources)
    s = a + b
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, to, s, *reversed(sources))
    error = toward_finite(x, s, two_sum(a, b)[1], a, b)
    return x.write64(to, with_nan(x, s, rounded_sum(x, direction, s, error, a, b), *reversed(sources)))


SCALE, TINY, SMALL, NEGLIGIBLE = 2.0**200, 2.0**-900, 2.0**-800, 2.0**-960
"""Products below TINY are scaled by SCALE, so that their rounding error is a double itself."""


def scaled(x: Engine, a: Value, b: Value, scale: Value) -> tuple[Value, Value]:
    """a and b with the one nearer to zero multiplied by `scale`."""
    swap = x.absolute(a) > x.absolute(b)
    return x.where(swap, b, a) * scale, x.where(swap, a, b)


@operation("DMUL", ROUNDINGS)
def dmul(x: Engine, i: Instruction) -> None:
    to, *sources = i.operands
    a, b = (x.float64(o) for o in sources)
    p = a * b
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, to, p, *reversed(sources))
    error = fused_error(x, p, a, b, x.const(0.0, 64))
    return x.write64(to, with_nan(x, p, direct(x, direction, p, error), *reversed(sources)))


def fused_error(x: Engine, r: Value, a: Value, b: Value, c: Value) -> Value:
    """Sign of a · b + c − r for r its nearest double, by the terms of Boldo and Muller (2011)."""
    one = x.const(1.0, 64)
    tiny, far = x.absolute(a * b) < TINY, x.absolute(c) >= SMALL
    scale = x.where(tiny & ~far, x.const(SCALE, 64), one)
    small, large = scaled(x, a, b, scale)
    p = small * large
    e = x.fma(small, large, -p)
    upper, lower = two_sum(c * scale, e)
    first, second = two_sum(p, upper)
    error = ((first - r * scale) + second) + lower
    lost = tiny & (far | (x.absolute(p) < NEGLIGIBLE))  # the product is all of the error
    return toward_finite(x, r, x.where(lost, sign_of_product(x, a, b), error), a, b, c)


@operation("DFMA", ROUNDINGS)
def dfma(x: Engine, i: Instruction) -> None:
    to, *sources = i.operands
    a, b, c = (x.float64(o) for o in sources)
    order = sources[1], sources[2], sources[0]
    r = x.fma(a, b, c)
    direction = which(i, DIRECTIONS)
    if not direction:
        return write_double(x, to, r, *order)
    error = fused_error(x, r, a, b, c)
    return x.write64(to, with_nan(x, r, rounded_sum(x, direction, r, error, a * b, c), *order))


@operation("DSETP", f"MIN MAX {FLOAT_COMPARISONS} {COMBINATIONS}")
def dsetp(x: Engine, i: Instruction) -> None:
    """MIN and MAX: P, whether a is the result; Q, whether both are NaNs."""
    a, b = (x.float64(o) for o in i.operands[2:4])
    if not i.modifiers & {"MIN", "MAX"}:
        return write_comparison(x, i, holds(i, a, b))
    chosen = float_extremum(x, a, b, "MIN" in i.modifiers) == x.bits(a)
    first = (a == a) & (chosen | (b != b))
    return write_comparison(x, i, first, (a != a) & (b != b))


@operation("DMNMX", "")
def dmnmx(x: Engine, i: Instruction) -> None:
    to, a, b, p = i.operands
    u, v = x.float64(a), x.float64(b)
    smaller, larger = float_extremum(x, u, v, True), float_extremum(x, u, v, False)
    bits = x.where(x.predicate(p), smaller, larger)
    x.write64(to, x.where(u == u, x.where(v == v, bits, x.bits(u)), x.bits(v)))
