"""Conversions among integers and floats, with their roundings."""

from __future__ import annotations

from banksim.errors import UnsupportedError
from banksim.sass.engine import Engine, Value
from banksim.sass.operations.double import write_double
from banksim.sass.operations.floating import operand
from banksim.sass.operations.half import BFLOAT16, FLOAT16, format_of, lower_half, to_half
from banksim.sass.operations.half import finish as finish_half
from banksim.sass.operations.integer import field
from banksim.sass.operations.rounding import DIRECTIONS, ROUNDINGS, finish, narrow
from banksim.sass.operations.table import float_bits, operation, which, write_float
from banksim.sass.program import Instruction, Operand

INTEGERS = {"S8": 8, "U8": 8, "S16": 16, "U16": 16, "S32": 32, "U32": 32, "S64": 64, "U64": 64}
ROUND = {"FLOOR": "floor", "CEIL": "ceil", "TRUNC": "trunc"}
PARTS = {"B0": 0, "B1": 8, "B2": 16, "B3": 24, "H0": 0, "H1": 16}


def types(i: Instruction, known: frozenset[str]) -> list[str]:
    """The instruction's types in the order that the opcode names them."""
    return [word for word in i.opcode.split(".")[1:] if word in known]


def integer_source(x: Engine, i: Instruction, o: Operand) -> tuple[Value, bool]:
    """The integer to convert, as u64 bits, and whether it is signed."""
    kind = next((name for name in INTEGERS if name in i.modifiers), "S32")
    signed, bits = kind[0] == "S", INTEGERS[kind]
    if bits == 64:
        return x.wide(o), signed
    v = x.value(o)
    if bits < 32:
        at = next((PARTS[m] for m in o.modifiers if m in PARTS), 0)
        v = field(x, v, at, bits, signed)
    return x.unsigned(x.sext(v) if signed else x.zext(v)), signed


def cut_magnitude(x: Engine, v: Value, signed: bool, digits: int) -> tuple[Value, Value, Value]:
    """(magnitude cut to `digits` binary digits, whether that lost any, sign) of u64 bits."""
    negative = x.signed(v) < 0 if signed else x.const(0) != 0
    magnitude = x.where(negative, x.const(0, 64) - v, v)
    high, low = x.high(magnitude), x.low(magnitude)
    zeros = x.zext(x.where(high != 0, x.leading_zeros(high), x.leading_zeros(low) + 32))
    spare = x.where(zeros < 64 - digits, x.const(64 - digits, 64) - zeros, x.const(0, 64))
    cut = magnitude >> spare << spare
    return cut, cut != magnitude, negative


def directed_magnitude(
    x: Engine, i: Instruction, v: Value, signed: bool, digits: int
) -> tuple[Value, Value, Value]:
    """(magnitude cut to `digits` binary digits, whether to take the next one, sign) of u64 bits."""
    cut, inexact, negative = cut_magnitude(x, v, signed, digits)
    outward = {"RZ": x.const(0) != 0, "RM": negative, "RP": ~negative}[which(i, DIRECTIONS)]
    return cut, inexact & outward, negative


@operation("I2F UI2F", f"F64 F32 F16 BF16 {' '.join(INTEGERS)} {ROUNDINGS}", marks=" ".join(PARTS))
def i2f(x: Engine, i: Instruction) -> None:
    to, source = i.operands
    v, signed = integer_source(x, i, source)
    number = x.signed(v) if signed else v
    if i.modifiers & {"F16", "BF16"}:
        return x.write(to, integer_to_half(x, i, v, signed))
    exact = "F64" in i.modifiers and not i.modifiers & {"S64", "U64"}
    if not i.modifiers & set(DIRECTIONS) or exact:
        if "F64" in i.modifiers:
            return x.write64(to, x.bits(x.to_f64(number)))
        return x.write(to, x.bits(x.to_f32(number)))
    if "F64" in i.modifiers:
        cut, away, negative = directed_magnitude(x, i, v, signed, 53)
        bits = x.bits(x.to_f64(cut))
        return x.write64(to, x.where(away, bits + 1, bits) | x.zext(negative) << 63)
    cut, away, negative = directed_magnitude(x, i, v, signed, 24)
    bits = x.bits(x.to_f32(cut))
    return x.write(to, x.where(away, bits + 1, bits) | x.number(negative) << 31)


def integer_to_half(x: Engine, i: Instruction, v: Value, signed: bool) -> Value:
    """To nearest even: as a double, whose last bit tells whether more followed, and then rounded once."""
    if i.modifiers & set(DIRECTIONS):
        raise UnsupportedError("a directed rounding to half precision by I2F")
    if not i.modifiers & {"S64", "U64"}:
        return to_half(x, x.to_f64(x.signed(v)), format_of(i))
    cut, inexact, negative = cut_magnitude(x, v, signed, 53)
    d = x.as_float((x.bits(x.to_f64(cut)) | x.zext(inexact)) | x.zext(negative) << 63)
    return to_half(x, d, format_of(i))


@operation("I2FP UI2FP", f"F32 S32 U32 {ROUNDINGS}")
def i2fp(x: Engine, i: Instruction) -> None:
    if i.modifiers & set(DIRECTIONS):
        return i2f(x, i)
    v = x.value(i.operands[1])
    return x.write(i.operands[0], x.bits(x.to_f32(v if "U32" in i.modifiers else x.signed(v))))


@operation("F2I UF2I", f"F64 F32 F16 BF16 {' '.join(INTEGERS)} FLOOR CEIL TRUNC RN FTZ NTZ", marks="H1")
def f2i(x: Engine, i: Instruction) -> None:
    """Saturates; a NaN gives 0 with NTZ, else the integer with the highest bit alone."""
    to, source = i.operands
    if i.modifiers & {"F16", "BF16"}:
        v = lower_half(x, i, source)
    else:
        v = x.float64(source) if "F64" in i.modifiers else operand(x, i, source)
    kind = next((name for name in INTEGERS if name in i.modifiers), "S32")
    bits, signed = INTEGERS[kind], kind[0] == "S"
    whole = x.round(v, ROUND[mode] if (mode := which(i, tuple(ROUND))) else "nearest")
    if bits < 32:
        return x.write(to, clamped(x, whole, bits, signed))
    r = x.unsigned(x.to_integer(whole, bits, signed))
    if "NTZ" not in i.modifiers:
        r = x.where(v == v, r, x.const(1 << (bits - 1), bits))
    if bits == 64:
        x.write64(to, r)
    else:
        x.write(to, r)


def clamped(x: Engine, v: Value, bits: int, signed: bool) -> Value:
    """A whole float32 as an integer of 8 or 16 bits, in the lower bits of a u32; a NaN gives 0."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    r = x.to_integer(v, 32, True)
    r = x.where(r < low, x.signed(x.const(low & 0xFFFFFFFF)), x.where(r > high, x.signed(x.const(high)), r))
    return x.unsigned(r) & ((1 << bits) - 1)


@operation("F2IP", "U8 F32 NTZ FLOOR CEIL TRUNC")
def f2ip(x: Engine, i: Instruction) -> None:
    """Only as the compiler's conversion of one float32 to a byte."""
    to, a, b, c = i.operands
    if not (a.is_zero and c.is_zero):
        raise UnsupportedError("packing of several values by F2IP")
    whole = x.round(x.float32(b), ROUND[mode] if (mode := which(i, tuple(ROUND))) else "nearest")
    x.write(to, clamped(x, whole, 8, False))


@operation("FRND UFRND", "F64 F32 F16 BF16 FLOOR CEIL TRUNC RN FTZ", marks="H1")
def frnd(x: Engine, i: Instruction) -> None:
    to, source = i.operands
    mode = ROUND[name] if (name := which(i, tuple(ROUND))) else "nearest"
    if "F64" in i.modifiers:
        return write_double(x, to, x.round(x.float64(source), mode), source)
    if i.modifiers & {"F16", "BF16"}:
        return x.write(to, finish_half(x, i, x.to_f64(x.round(lower_half(x, i, source), mode))))
    return write_float(x, to, x.round(operand(x, i, source), mode))


@operation("F2F", f"F16 BF16 F32 F64 FTZ SAT {ROUNDINGS}", marks="H1")
def f2f(x: Engine, i: Instruction) -> None:
    """Between float formats: the opcode names the result's, then the operand's. NaNs keep sign and digits."""
    to, source = i.operands
    result, given = types(i, frozenset({"F16", "BF16", "F32", "F64"}))
    match result, given:
        case "F64", "F32":
            _write_widened(x, to, operand(x, i, source), x.raw(source))
        case "F64", "F16" if i.modifiers == {"F64", "F16"}:
            f = lower_half(x, i, source)
            _write_widened(x, to, f, x.bits(f))
        case "F32", "F64":
            d = x.float64(source)
            bits = finish(x, i, narrow(x, i, d))
            nan = x.low(x.bits(d) >> 63 << 31 | (x.bits(d) >> 29 & 0x3FFFFF) | 0x7FC00000)
            x.write(to, bits if "SAT" in i.modifiers else x.where(d == d, bits, nan))
        case "F16", "F64" if i.modifiers <= {"F16", "F64", "RN", "RZ"}:
            d = x.float64(source)
            nan = x.low(x.bits(d) >> 63 << 15 | (x.bits(d) >> 42 & 0x1FF) | 0x7E00)
            x.write(to, x.where(d == d, to_half(x, d, FLOAT16, "RZ" in i.modifiers), nan))
        case "F32", "F32":
            x.write(to, finish(x, i, float_bits(x, operand(x, i, source))))
        case ("F16" | "BF16"), "F32" if i.modifiers <= {"F16", "BF16", "F32", "RN", "RZ"}:
            form = FLOAT16 if result == "F16" else BFLOAT16
            x.write(to, to_half(x, x.to_f64(x.float32(source)), form, "RZ" in i.modifiers))
        case _:
            raise UnsupportedError(f"the conversion of {given} to {result}")


def _write_widened(x: Engine, to: Operand, f: Value, bits: Value) -> None:
    """A float32 as a double; a NaN keeps the sign and digits of `bits`."""
    wide = x.zext(bits)
    nan = (wide & 0x80000000) << 32 | (wide & 0x7FFFFF) << 29 | 0x7FF8000000000000
    x.write64(to, x.where(f == f, x.bits(x.to_f64(f)), nan))


@operation("F2FP UF2FP", "F16 BF16 F32 PACK_AB RN RZ")
def f2fp(x: Engine, i: Instruction) -> None:
    """Two float32 to a pair of halves: a above, b below."""
    to, a, b = i.operands
    upper, lower = (to_half(x, x.to_f64(x.float32(o)), format_of(i), "RZ" in i.modifiers) for o in (a, b))
    x.write(to, upper << 16 | lower)


