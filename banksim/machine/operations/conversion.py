"""Conversions among integers and floats, with their roundings."""

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.double import write_double
from banksim.machine.operations.floating import operand
from banksim.machine.operations.half import FLOAT16, NAN16, Format, format_of, from_half, lower_half, pair, to_half
from banksim.machine.operations.half import finish as finish_half
from banksim.machine.operations.integer import field
from banksim.machine.operations.rounding import DIRECTIONS, ROUNDINGS, finish, narrow
from banksim.machine.operations.table import NAN32, float_bits, operation, which, write_float

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


def directed_magnitude(x: Engine, i: Instruction, v: Value, signed: bool, digits: int) -> tuple[Value, Value, Value]:
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
    """As a double, whose last bit tells whether more followed, and then rounded once."""
    direction = which(i, DIRECTIONS)
    if not i.modifiers & {"S64", "U64"}:
        return to_half(x, x.to_f64(x.signed(v)), format_of(i), direction)
    cut, inexact, negative = cut_magnitude(x, v, signed, 53)
    d = x.as_float((x.bits(x.to_f64(cut)) | x.zext(inexact)) | x.zext(negative) << 63)
    return to_half(x, d, format_of(i), direction)


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
    low, high = limits(bits, signed)
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
        return write_double(x, i, (0,), lambda y, d: (r := y.round(d, mode), y.bits(r)))
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
        case "F64", "F16" | "BF16" if len(i.modifiers) == 2:
            f = lower_half(x, i, source)
            _write_widened(x, to, f, x.bits(f))
        case "F32", "F64":
            d = x.float64(source)
            bits = finish(x, i, narrow(x, i, d))
            nan = x.low(x.bits(d) >> 63 << 31 | (x.bits(d) >> 29 & 0x3FFFFF) | 0x7FC00000)
            x.write(to, bits if "SAT" in i.modifiers else x.where(d == d, bits, nan))
        case (("F16" | "BF16"), "F64") if not i.modifiers & {"FTZ", "SAT"}:
            d, form = x.float64(source), format_of(i)
            digits = (1 << form.digits - 2) - 1
            nan = x.low(x.bits(d) >> 63 << 15 | (x.bits(d) >> 53 - form.digits & digits)) | (form.infinity | digits + 1)
            x.write(to, x.where(d == d, to_half(x, d, form, which(i, DIRECTIONS)), nan))
        case "F32", "F32":
            x.write(to, finish(x, i, float_bits(x, operand(x, i, source))))
        case (("F16" | "BF16"), "F32") if not i.modifiers & {"FTZ", "SAT"}:
            x.write(to, to_half(x, x.to_f64(x.float32(source)), format_of(i), which(i, DIRECTIONS)))
        case _:
            raise UnsupportedError(f"the conversion of {given} to {result}")


def _write_widened(x: Engine, to: Operand, f: Value, bits: Value) -> None:
    """A float32 as a double; a NaN keeps the sign and digits of `bits`."""
    wide = x.zext(bits)
    nan = (wide & 0x80000000) << 32 | (wide & 0x7FFFFF) << 29 | 0x7FF8000000000000
    x.write64(to, x.where(f == f, x.bits(x.to_f64(f)), nan))


@operation("I2I", f"SAT {' '.join(INTEGERS)}")
def i2i(x: Engine, i: Instruction) -> None:
    """A word to 8 or 16 bits, saturating; the bits above them are zeros."""
    to, source = i.operands
    result, given = types(i, frozenset(INTEGERS))
    if given not in ("S32", "U32") or INTEGERS[result] > 16 or "SAT" not in i.modifiers:
        raise UnsupportedError(f"the form {i.opcode}")
    v = x.value(source)
    wide = x.signed(x.sext(v) if given == "S32" else x.zext(v))
    x.write(to, saturated(x, wide, INTEGERS[result], result[0] == "S"))


def saturated(x: Engine, wide: Value, bits: int, signed: bool) -> Value:
    """A signed integer of 64 bits as the nearest of so many."""
    low, high = limits(bits, signed)
    wide = x.where(wide < low, x.signed(x.const(low & (1 << 64) - 1, 64)), wide)
    wide = x.where(wide > high, x.signed(x.const(high, 64)), wide)
    return x.low(wide) & (1 << bits) - 1


@operation("I2IP", "S32 SAT S16 U16 S8 U8 S4 U4 S2 U2", marks="24 28")
def i2ip(x: Engine, i: Instruction) -> None:
    """Two words to 16, 8, 4 or 2 bits each, saturating: the second lowest, above it the first, above both the third's
    lowest bits (PTX ISA, cvt.pack)."""
    to, first, second, others = i.operands
    result = i.opcode.split(".")[1]
    bits = int(result[1:])
    if not i.opcode.endswith(".S32.SAT") or bits > 16:
        raise UnsupportedError(f"the form {i.opcode}")
    a, b = (saturated(x, x.signed(x.sext(x.value(o))), bits, result[0] == "S") for o in (first, second))
    rest = x.value(others) << 2 * bits if bits < 16 else x.const(0)
    x.write(to, rest | a << bits | b)


def limits(bits: int, signed: bool) -> tuple[int, int]:
    """The least and the largest integer of so many bits."""
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


EIGHTS = {"E4M3": Format(4, 7, 0x7F, sign=0x80), "E5M2": Format(3, 15, 0x7C, sign=0x80)}
"""Floats of 8 bits. E4M3 has no infinity: 0x7f is its only NaN."""
PACKINGS = ("PACK_AB", "PACK_B", "PACK_AB_MERGE_C", "UNPACK_B", "UNPACK_B_MERGE_C")


@operation("F2FP UF2FP", f"F16 BF16 F32 TF32 E4M3 E5M2 RN RZ RELU SATFINITE {' '.join(PACKINGS)}", marks="H1")
def f2fp(x: Engine, i: Instruction) -> None:
    """PACK_AB: two float32 to a pair of halves, a above, b below; PACK_B: one to TF32. MERGE_C: two numbers to floats
    of 8 bits, a above, b below, under the lower half of c. UNPACK_B: two such floats, of the lower half of a register
    or with H1 of the upper one, to halves."""
    to, *sources = i.operands
    form = which(i, PACKINGS)
    small = EIGHTS.get(which(i, tuple(EIGHTS)))
    if form == "PACK_AB" and small is None:
        doubles = [x.to_f64(x.float32(o)) for o in sources]
        upper, lower = (not_below_zero(x, i, to_half(x, v, format_of(i), which(i, DIRECTIONS))) for v in doubles)
        return x.write(to, upper << 16 | lower)
    if form == "PACK_B" and "TF32" in i.modifiers:
        return x.write(to, not_below_zero(x, i, to_tf32(x, i, x.float32(sources[0])), 1 << 31))
    if form == "UNPACK_B" and small is not None and "F16" in i.modifiers:
        v = x.raw(sources[0]) >> (16 if "H1" in sources[0].modifiers else 0)
        pieces = (eighth_to_half(x, byte, small) for byte in (v >> 8 & 0xFF, v & 0xFF))
        upper, lower = (not_below_zero(x, i, piece) for piece in pieces)
        return x.write(to, upper << 16 | lower)
    if small is None or "SATFINITE" not in i.modifiers:
        raise UnsupportedError(f"the form {i.opcode}")
    numbers = [x.float32(o) for o in sources[:2]] if len(sources) == 3 else [*pair(x, i, (sources[0],))][::-1]
    upper, lower = (not_below_zero(x, i, to_eighth(x, x.to_f64(v), small), 0x80) for v in numbers)
    return x.write(to, x.value(sources[-1]) << 16 | upper << 8 | lower)


def not_below_zero(x: Engine, i: Instruction, word: Value, sign: int = 0x8000) -> Value:
    return x.where((word & sign) != 0, x.const(0), word) if "RELU" in i.modifiers else word


def to_eighth(x: Engine, v: Value, form: Format) -> Value:
    """A double as 8 bits, beyond the largest number that number (.SATFINITE)."""
    word = to_half(x, v, form)
    return x.where((v == v) & ((word & 0x7F) >= form.infinity), word & 0x80 | (form.infinity - 1), word)


def eighth_to_half(x: Engine, v: Value, form: Format) -> Value:
    """8 bits as a half: E5M2 is a half's upper byte."""
    sign, rest = (v & 0x80) << 8, v & 0x7F
    if form is EIGHTS["E5M2"]:
        return x.where(rest > form.infinity, x.const(NAN16), rest << 8 | sign)
    number = x.to_f64(from_half(x, rest << 7, FLOAT16)) * 2.0**8
    return x.where(rest == form.infinity, x.const(NAN16), to_half(x, number, FLOAT16) | sign)


def to_tf32(x: Engine, i: Instruction, v: Value) -> Value:
    """Rounded to 10 fractional digits, to nearest even or toward zero."""
    bits = x.bits(v)
    rounded = bits if "RZ" in i.modifiers else bits + 0xFFF + (bits >> 13 & 1)
    return x.where(v == v, rounded, x.const(NAN32)) & 0xFFFFE000
