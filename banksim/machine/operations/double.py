"""Operations on float64."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.floating import FLOAT_COMPARISONS, float_extremum, holds
from banksim.machine.operations.rounding import DIRECTIONS, ROUNDINGS, direct, two_sum
from banksim.machine.operations.table import COMBINATIONS, NAN64, QUIET64, operation, which, write_comparison


def write_double(x: Engine, i: Instruction, order: Sequence[int], compute: Callable[..., tuple[Value, Value]]) -> None:
    """Write what `compute(x, *sources)` makes of doubles: a result, and its bits, rounded as they are to be. Where the
    result is a NaN: the first of the sources, in this `order`, that is one, made quiet, else the GPU's NaN. A routine
    does so: LLVM would take long for what each instruction does with NaNs.

    Marks of sign on an operand do not change a NaN.
    """
    to, *sources = i.operands

    def routine(y: Engine, *given: Value) -> Value:
        result, bits = compute(y, *(y.marked(v, o) for v, o in zip(given, sources, strict=True)))
        return y.as_float(y.rarely(result != result, bits, lambda: nan_of(y, *(given[n] for n in order))))

    marks = (mark for o in sources for mark in (o.negative, o.absolute, o.kind in ("imm", "float")))
    name = " ".join(map(str, (i.name, *sorted(i.modifiers), *map(int, marks))))
    given = [x.float64(replace(o, negative=False, absolute=False)) for o in sources]
    x.write64(to, x.bits(x.lanewise(name, routine, given)))


def nan_of(x: Engine, *operands: Value) -> Value:
    """The bits of the first NaN of the operands, made quiet; the GPU's NaN where none is one."""
    nan: Value = x.const(NAN64, 64)
    for d in reversed(operands):
        nan = x.where(d == d, nan, x.bits(d) | QUIET64)
    return nan


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
    direction = which(i, DIRECTIONS)

    def sum_of(y: Engine, a: Value, b: Value) -> tuple[Value, Value]:
        s = a + b
        if not direction:
            return s, y.bits(s)
        error = toward_finite(y, s, two_sum(a, b)[1], a, b)
        return s, rounded_sum(y, direction, s, error, a, b)

    write_double(x, i, (1, 0), sum_of)


SCALE, TINY, SMALL, NEGLIGIBLE = 2.0**200, 2.0**-900, 2.0**-800, 2.0**-960
"""Products below TINY are scaled by SCALE, so that their rounding error is a double itself."""


def scaled(x: Engine, a: Value, b: Value, scale: Value) -> tuple[Value, Value]:
    """a and b with the one nearer to zero multiplied by `scale`."""
    swap = x.absolute(a) > x.absolute(b)
    return x.where(swap, b, a) * scale, x.where(swap, a, b)


@operation("DMUL", ROUNDINGS)
def dmul(x: Engine, i: Instruction) -> None:
    direction = which(i, DIRECTIONS)

    def product(y: Engine, a: Value, b: Value) -> tuple[Value, Value]:
        p = a * b
        if not direction:
            return p, y.bits(p)
        return p, direct(y, direction, p, fused_error(y, p, a, b, y.const(0.0, 64)))

    write_double(x, i, (1, 0), product)


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
    direction = which(i, DIRECTIONS)

    def fused(y: Engine, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
        r = y.fma(a, b, c)
        if not direction:
            return r, y.bits(r)
        return r, rounded_sum(y, direction, r, fused_error(y, r, a, b, c), a * b, c)

    write_double(x, i, (1, 2, 0), fused)


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
