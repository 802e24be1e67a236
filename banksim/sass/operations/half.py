"""Half precision: its formats, its use to load constants, its conversion to float32."""

from __future__ import annotations

from banksim.errors import UnsupportedError
from banksim.sass.engine import Engine, Value
from banksim.sass.operations.moves import half_bits
from banksim.sass.operations.table import operation, write_float
from banksim.sass.program import Instruction, Operand


def to_float16(x: Engine, v: Value, truncate: bool) -> Value:
    """A double as the 16 bits of a float16, to nearest even or cut; a NaN is 0x7fff."""
    return _narrow(x, v, truncate, digits=11, bias=15)


def to_bfloat16(x: Engine, v: Value, truncate: bool) -> Value:
    """A double as the 16 bits of a bfloat16, to nearest even or cut; a NaN is 0x7fff."""
    return _narrow(x, v, truncate, digits=8, bias=127)


def _narrow(x: Engine, v: Value, truncate: bool, digits: int, bias: int) -> Value:
    """Cut the double's digits (fewer where the result is denormal), then round by what was cut."""
    bits = x.bits(v)
    sign = x.low(bits >> 48) & 0x8000
    exponent = x.signed(x.low(bits >> 52) & 0x7FF) - (1023 - bias)
    normal = exponent >= 1
    digits_kept = (bits & ((1 << 52) - 1)) | (1 << 52)
    drop = x.where(normal, x.const(53 - digits), x.const(54 - digits) - x.unsigned(exponent))
    drop = x.zext(x.where(drop < 63, drop, x.const(63)))
    kept = digits_kept >> drop
    base = x.where(normal, x.unsigned(exponent - 1) << (digits - 1), x.const(0))
    result = x.low(kept) + base
    if not truncate:
        half = x.const(1, 64) << (drop - 1)
        rest = digits_kept & ((half << 1) - 1)
        up = (rest > half) | ((rest == half) & ((kept & 1) != 0))
        result = result + x.number(up)
    infinity = (2 * bias + 1) << (digits - 1)
    largest = x.const(infinity - 1 if truncate else infinity)
    result = x.where((exponent > 2 * bias) | (result > infinity), largest, result)
    result = x.where(x.absolute(v) == float("inf"), x.const(infinity), result)
    return x.where(v == v, result | sign, x.const(0x7FFF))


def from_float16(x: Engine, v: Value) -> Value:
    """The lower 16 bits as a float16 → f32."""
    sign, exponent, digits = (v & 0x8000) << 16, v >> 10 & 31, v & 0x3FF
    small = x.bits(x.to_f32(digits) * 2.0**-24)
    large = (exponent << 23) + (112 << 23) | digits << 13
    special = digits << 13 | 0x7F800000
    return x.as_float(x.where(exponent == 0, small, x.where(exponent == 31, special, large)) | sign)


@operation("HADD2", "F32", marks="H0_H0 H1_H1")
def hadd2(x: Engine, i: Instruction) -> None:
    """Only as the compiler's conversion to float32: d = −0 + half of b."""
    to, a, b = i.operands
    if "F32" not in i.modifiers or not (a.is_zero and a.negative):
        raise UnsupportedError(f"{i.text or i.opcode}: arithmetic on halves is not known")
    write_float(x, to, chosen_half(x, b))


def chosen_half(x: Engine, o: Operand) -> Value:
    """H0_H0 or H1_H1 of a register, as f32 with its sign marks applied."""
    v = x.raw(o)
    f = from_float16(x, v >> 16 if "H1_H1" in o.modifiers else v)
    if o.absolute:
        f = x.absolute(f)
    return -f if o.negative else f


@operation("HFMA2", "MMA")
def hfma2(x: Engine, i: Instruction) -> None:
    """Only as the compiler's way to load a constant: d = −0 · 0 + {upper, lower}."""
    to, a, b, *halves = i.operands
    if not (a.is_zero and b.is_zero and len(halves) == 2):
        raise UnsupportedError(f"{i.text or i.opcode}: arithmetic on halves is not known")
    upper, lower = (half_bits(o) for o in halves)
    x.write(to, x.const(upper << 16 | lower))
