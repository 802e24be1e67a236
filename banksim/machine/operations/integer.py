"""Integer arithmetic: sums with carries, products, shifts, comparisons, minima."""

from collections.abc import Iterable
from dataclasses import replace

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.table import (
    COMBINATIONS,
    COMPARISONS,
    in_64_bits,
    operation,
    parts,
    select,
    shift_left,
    shift_right,
    shift_right_signed,
    which,
    write_comparison,
)

WORD, MASK = 32, 0xFFFFFFFF

# ---- sums


def plain_sum(x: Engine, values: list[Value], carries: tuple[Operand, ...]) -> Value:
    """Sum modulo 2³² of values and carry predicates."""
    v = values[0]
    for other in values[1:]:
        v = v + other
    for p in counted(carries):
        v = v + x.number(x.predicate(p))
    return v


def counted(carries: tuple[Operand, ...]) -> list[Operand]:
    """The carries that can be 1: all but !PT."""
    return [p for p in carries if not (p.is_zero and p.inverted)]


def is_negative(o: Operand) -> bool:
    return o.negative and o.kind not in ("imm", "float")


def carrying_sum(
    x: Engine, terms: list[Value], ones: int, carries: tuple[Operand, ...], most: int
) -> tuple[Value, list[Value]]:
    """Sum of u32 terms, `ones`, and carry predicates; and whether 1, 2 … `most` carries leave its 32 bits."""
    incoming = counted(carries)
    if len(terms) == 2 and ones + len(incoming) <= 1 and most == 1:
        v = terms[0] + terms[1]
        if ones:
            v = v + 1
            return v, [v <= terms[0]]  # a + ~b + 1 = a − b carries where a ≥ b; then it is at most a
        carry = v < terms[0]
        if incoming:
            one = x.predicate(incoming[0])
            v = v + x.number(one)
            carry = carry | (one & (v == 0))
        return v, [carry]
    total = x.const(ones, 64)
    for term in terms:
        total = total + x.zext(term)
    for p in incoming:
        total = total + x.zext(x.predicate(p))
    above = x.high(total)
    return x.low(total), [above > n for n in range(most)]


@operation("IADD3 UIADD3 IADD", "X 64")
def iadd3(x: Engine, i: Instruction) -> None:
    """−a counts as ~a + 1, whose + 1 may itself carry."""
    to, carries_out, sources, carries_in = parts(i)
    if in_64_bits(i):
        return _add_in_64_bits(x, i)
    sources = tuple(o for o in sources if not o.is_zero or o.negative or o.inverted)
    if all(p.is_zero for p in carries_out):
        values = [x.value(o) for o in sources] or [x.const(0)]
        return x.write(to, plain_sum(x, values, carries_in))
    terms = [x.complement(o) for o in sources]
    terms += [x.const(0)] * (2 - len(terms))
    v, carries = carrying_sum(x, terms, sum(map(is_negative, sources)), carries_in, len(carries_out))
    for p, carry in zip(carries_out, carries, strict=True):
        if not p.is_zero:
            x.write_predicate(p, carry)
    return x.write(to, v)


def _add_in_64_bits(x: Engine, i: Instruction) -> None:
    to, carries_out, sources, carries_in = parts(i)
    if "X" in i.modifiers or counted(carries_in) or not all(p.is_zero for p in carries_out):
        raise UnsupportedError("a carry of 64 bits")
    first, *others = (x.wide(o) for o in sources if not o.is_zero or o.inverted)
    for v in others:
        first = first + v
    x.write64(to, first)


@operation("VIADD UVIADD", "16x2 U16x2 S16x2 U8x4 S8x4")
def viadd(x: Engine, i: Instruction) -> None:
    to, *sources = i.operands
    u, v = values(x, i, sources)
    x.write(to, sum_of_parts(u, v, part_bits(i)))


def part_bits(i: Instruction) -> int:
    """Bits of the numbers that a register holds: one of 32, two of 16, or four of 8."""
    kind = next((mark for mark in i.modifiers if mark.endswith(("16x2", "8x4"))), "")
    return 32 // int(kind[-1] or 1) if kind else WORD


def repeated(number: int, bits: int) -> int:
    """`number` in every part of a word."""
    return sum(number << at for at in range(0, WORD, bits))


def sum_of_parts(u: Value, v: Value, bits: int) -> Value:
    """The sums of the parts of two words: all bits but a part's highest are added, the highest without a carry."""
    if bits == WORD:
        return u + v
    top = repeated(1 << bits - 1, bits)
    rest = MASK ^ top
    return ((u & rest) + (v & rest)) ^ ((u ^ v) & top)


def values(x: Engine, i: Instruction, operands: Iterable[Operand]) -> list[Value]:
    """Words; of those with parts, −a negates each by itself."""
    bits = part_bits(i)
    ones = x.const(repeated(1, bits))
    return [sum_of_parts(~x.raw(o), ones, bits) if is_negative(o) else x.value(o) for o in operands]


@operation("IABS UIABS")
def iabs(x: Engine, i: Instruction) -> None:
    v = x.value(i.operands[1])
    x.write(i.operands[0], x.where(x.signed(v) < 0, x.const(0) - v, v))


@operation("VABSDIFF", "U32")
def vabsdiff(x: Engine, i: Instruction) -> None:
    """|a − b| + c"""
    to, a, b, c = i.operands
    u, v = x.value(a), x.value(b)
    less = u < v if "U32" in i.modifiers else x.signed(u) < x.signed(v)
    x.write(to, x.where(less, v - u, u - v) + x.value(c))


@operation("VABSDIFF4", "U8 ACC")
def vabsdiff4(x: Engine, i: Instruction) -> None:
    """Byte by byte |a − b|; ACC: their sum + c."""
    to, a, b, c = i.operands
    u, v, total = x.value(a), x.value(b), x.value(c)
    for k in range(4):
        p, q = u >> 8 * k & 0xFF, v >> 8 * k & 0xFF
        total = total + (x.where(p < q, q - p, p - q) << (0 if "ACC" in i.modifiers else 8 * k))
    x.write(to, total)


# ---- products


@operation("IMAD UIMAD", "WIDE HI U32 X MOV IADD SHL")
def imad(x: Engine, i: Instruction) -> None:
    to, carries_out, (a, b, c), carries_in = parts(i)
    if i.modifiers & {"WIDE", "HI"}:
        return _imad_wide(x, i)
    if not all(p.is_zero for p in carries_out):
        raise UnsupportedError("the carry of a 32-bit IMAD")
    if a.is_zero or b.is_zero:
        v = x.value(c)
    elif c.is_zero and not c.inverted:
        v = x.value(a) * x.value(b)
    else:
        v = x.value(a) * x.value(b) + x.value(c)
    return x.write(to, plain_sum(x, [v], carries_in))


def _imad_wide(x: Engine, i: Instruction) -> None:
    """d = a · b + c in 64 bits, or the upper half of it."""
    to, carries_out, (a, b, c), carries_in = parts(i)
    extend = x.zext if "U32" in i.modifiers else x.sext
    product = x.unsigned(extend(x.value(a)) * extend(x.value(b)))
    carries_out = tuple(p for p in carries_out if not p.is_zero)
    v, carry = product, x.const(0) != 0
    if c.is_zero and c.inverted:
        v = product + (2**64 - 1)
    elif not c.is_zero:
        v = product + x.wide(c)
    if carries_out:  # else nothing need be compared
        carry = _carry_of_sum(x, product, c, v)
    for p in counted(carries_in):
        one = x.predicate(p)
        v = v + x.zext(one)
        if carries_out:
            carry = carry | (one & (v == 0))
    for p in carries_out:
        x.write_predicate(p, carry)
    if "HI" in i.modifiers:
        x.write(to, x.high(v))
    else:
        x.write64(to, v)


def _carry_of_sum(x: Engine, product: Value, c: Operand, v: Value) -> Value:
    """Whether product + c, which is v, has a carry."""
    if c.is_zero:
        return product != 0 if c.inverted else x.const(0) != 0
    return product >= x.wide(replace(c, negative=False)) if c.negative else v < product


@operation("IDP", "4A 2A LO HI S8 U8 S16 U16")
def idp(x: Engine, i: Instruction) -> None:
    """c + the scalar product of four bytes and four bytes, or of two halfwords and two bytes of b."""
    to, a, b, c = i.operands
    left, right = i.opcode.split(".")[-2:]
    u, v, total = x.value(a), x.value(b), x.value(c)
    bits, pairs = (8, 4) if "4A" in i.modifiers else (16, 2)
    first = 2 if "HI" in i.modifiers else 0
    for k in range(pairs):
        p = field(x, u, k * bits, bits, left[0] == "S")
        q = field(x, v, (first + k) * 8, 8, right[0] == "S")
        total = total + p * q
    x.write(to, total)


def field(x: Engine, v: Value, at: int, bits: int, signed: bool) -> Value:
    """Bits [at, at + bits) as u32, extended."""
    v = v << (32 - at - bits)
    return x.unsigned(x.signed(v) >> (32 - bits)) if signed else v >> (32 - bits)


# ---- shifts


@operation("LEA ULEA", "HI X SX32")
def lea(x: Engine, i: Instruction) -> None:
    """(a << s) + b; HI: the upper word of (c:a) << s, or of a extended by its sign, + b. Of −a, as in IADD3, the
    shifted word is complemented, and the + 1 may itself carry."""
    to, carries_out, (a, b, *above, shift), carries_in = parts(i)
    carries = not all(p.is_zero for p in carries_out)
    complemented = carries and is_negative(a)
    if complemented and "HI" in i.modifiers:
        raise UnsupportedError("the carry of an upper word of a negated operand")
    s, v = shift.number & 31, x.value(replace(a, negative=False) if complemented else a)
    if "HI" in i.modifiers:
        if "SX32" in i.modifiers:
            v = x.unsigned(x.signed(v) >> min(32 - s, 31))
        elif s:
            v = v >> (32 - s)
            if not above[0].is_zero:
                v = v | x.value(above[0]) << s
        else:
            v = x.value(above[0])
    elif s:
        v = v << s
    if not carries:
        return x.write(to, plain_sum(x, [v] if b.is_zero and not b.inverted else [v, x.value(b)], carries_in))
    ones = complemented + is_negative(b)
    v, (carry,) = carrying_sum(x, [~v if complemented else v, x.complement(b)], ones, carries_in, 1)
    x.write_predicate(carries_out[0], carry)
    return x.write(to, v)


@operation("SHF USHF", "L R W HI U32 S32 U64 S64")
def shf(x: Engine, i: Instruction) -> None:
    """The lower or upper word of (c:a) shifted by b; b counts up to the type's width, or with W modulo it."""
    to, a, b, c = i.operands
    left, upper, signed = "L" in i.modifiers, "HI" in i.modifiers, bool(i.modifiers & {"S32", "S64"})
    width = 64 if i.modifiers & {"U64", "S64"} else 32
    if b.kind == "imm":
        count = b.number % width if "W" in i.modifiers else min(b.number, width)
        return x.write(to, _shift_by_constant(x, i, x.value(a), x.value(c), count))
    s = x.value(b) & (width - 1) if "W" in i.modifiers else x.value(b)
    if left and not upper:
        return x.write(to, shift_left(x, x.value(a), s))
    if not left and upper:
        return x.write(to, (shift_right_signed if signed else shift_right)(x, x.value(c), s))
    v, s = x.zext(x.value(c)) << 32 | x.zext(x.value(a)), x.zext(x.where(s < width, s, x.const(width)))
    if left:
        return x.write(to, x.high(shift_left(x, v, s, 64)))
    return x.write(to, x.low((shift_right_signed if signed else shift_right)(x, v, s, 64)))


def _shift_by_constant(x: Engine, i: Instruction, low: Value, high: Value, count: int) -> Value:
    """One word of high:low, shifted by 0 to 64: it is made of two neighbours among the words around it."""
    outside = x.unsigned(x.signed(high) >> 31) if i.modifiers & {"S32", "S64"} else x.const(0)
    words = {-2: x.const(0), -1: x.const(0), 0: low, 1: high, 2: outside, 3: outside, 4: outside}
    start = 32 * ("HI" in i.modifiers) + (-count if "L" in i.modifiers else count)
    word, within = divmod(start, 32)
    if not within:
        return words[word]
    return words[word] >> within | words[word + 1] << (32 - within)


# ---- comparisons


@operation("ISETP UISETP", "LT EQ LE GT NE GE U32 S64 U64 EX " + COMBINATIONS)
def isetp(x: Engine, i: Instruction) -> None:
    """EX: of 64-bit numbers' upper words, where the lower words' result decides a tie."""
    read = x.wide if in_64_bits(i) else x.value
    a, b = (read(o) if i.modifiers & {"U32", "U64"} else x.signed(read(o)) for o in i.operands[2:4])
    name = which(i, COMPARISONS)
    holds = COMPARISONS[name](a, b)
    if "EX" in i.modifiers:
        low = x.predicate(i.operands[5])
        if name == "EQ":
            holds = holds & low
        elif name == "NE":
            holds = holds | low
        else:
            holds = COMPARISONS[name[0] + "T"](a, b) | ((a == b) & low)
    write_comparison(x, i, holds)


def extremum(x: Engine, i: Instruction, a: Value, b: Value, p: Operand) -> Value:
    """The smaller of two u32 where p holds, else the larger; RELU: but not below 0."""
    less = a < b if "U32" in i.modifiers else x.signed(a) < x.signed(b)
    if p.is_zero:
        v = x.where(less, b, a) if p.inverted else x.where(less, a, b)
    else:
        v = x.where(less ^ x.predicate(p), b, a)
    return x.where(x.signed(v) < 0, x.const(0), v) if "RELU" in i.modifiers else v


EXTREMUM = "U32 S32 RELU S16x2 U16x2 S8x4 U8x4"


def extended(x: Engine, i: Instruction, words: list[Value]) -> list[list[Value]]:
    """The words as they are; or of each part, the lowest first, those of all words, extended."""
    bits = part_bits(i)
    if bits == WORD:
        return [words]
    signed = bool(i.modifiers & {"S16x2", "S8x4"})
    return [[field(x, v, at, bits, signed) for v in words] for at in range(0, WORD, bits)]


def write_parts(x: Engine, to: Operand, results: list[Value]) -> None:
    """One word, or its parts from the lowest on."""
    bits = WORD // len(results)
    word = results[-1]
    for v in results[-2::-1]:
        word = word << bits | v & (1 << bits) - 1
    x.write(to, word)


@operation("VIMNMX IMNMX UIMNMX UVIMNMX", f"{EXTREMUM} S64 U64")
def vimnmx(x: Engine, i: Instruction) -> None:
    """Predicate results: whether a is the result (in the lower half, in the upper half)."""
    if in_64_bits(i):
        return _extremum_in_64_bits(x, i)
    to, flags, sources, (p,) = parts(i)
    pairs = extended(x, i, values(x, i, sources))
    for flag, (a, b) in zip(flags, pairs, strict=False):
        if not flag.is_zero:
            x.write_predicate(flag, extremum(x, i, a, b, p) == a)
    return write_parts(x, to, [extremum(x, i, a, b, p) for a, b in pairs])


def _extremum_in_64_bits(x: Engine, i: Instruction) -> None:
    """PT, PT, d, a, b, P, !PT: the smaller where P holds, else the larger."""
    *flags, to, a, b, p, last = i.operands
    if not all(flag.is_zero for flag in flags) or not (last.is_zero and last.inverted):
        raise UnsupportedError(f"the form {i.opcode} with predicates")
    u, v = x.wide(a), x.wide(b)
    less = u < v if "U64" in i.modifiers else x.signed(u) < x.signed(v)
    x.write64(to, select(x, p, x.where(less, u, v), x.where(less, v, u)))


@operation("VIMNMX3 UVIMNMX3", EXTREMUM)
def vimnmx3(x: Engine, i: Instruction) -> None:
    to, *sources, p = i.operands
    triples = extended(x, i, values(x, i, sources))
    write_parts(x, to, [extremum(x, i, extremum(x, i, a, b, p), c, p) for a, b, c in triples])


@operation("VIADDMNMX UVIADDMNMX", EXTREMUM)
def viaddmnmx(x: Engine, i: Instruction) -> None:
    to, *sources, p = i.operands
    a, b, c = values(x, i, sources)
    s = sum_of_parts(a, b, part_bits(i))
    write_parts(x, to, [extremum(x, i, u, v, p) for u, v in extended(x, i, [s, c])])
