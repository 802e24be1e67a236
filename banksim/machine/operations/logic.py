"""Bitwise operations: three-input logic, permutations of bytes, masks, bit searches."""

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.table import operation, shift_left, shift_right, which


def logic(table: int, values: list[Value]) -> Value:
    """The logic function with truth table `table` (a row's number has the first value as its highest bit).

    Expands about a value, f = a ? f1 : f0, and drops what that leaves unneeded: about the first one that leaves but one
    of the two, so that (b & c) | a has two operations and bits put together are seen to be so.
    """
    if not values:
        raise ValueError("a logic function of nothing")
    rows = 1 << len(values) - 1
    all_ones = (1 << rows) - 1
    tables = [halves(table, len(values), n) for n in range(len(values))]
    n = next((n for n, (f0, f1) in enumerate(tables) if {f0, f1} & {0, all_ones} or f0 == f1), 0)
    a, rest, (f0, f1) = values[n], [*values[:n], *values[n + 1 :]], tables[n]
    if f0 == f1:
        return logic(f0, rest) if rest else (~(a ^ a) if f0 else a ^ a)
    if f1 == all_ones ^ f0:
        return _exclusive_or(a, f0, f1, rest)
    if f0 == 0:
        return a & logic(f1, rest)
    if f1 == 0:
        return ~a & logic(f0, rest)
    if f1 == all_ones:
        return a | logic(f0, rest)
    if f0 == all_ones:
        return ~a | logic(f1, rest)
    return (a & logic(f1, rest)) | (~a & logic(f0, rest))


def halves(table: int, values: int, n: int) -> tuple[int, int]:
    """The tables of the other values where value `n` is 0 and where it is 1."""
    weight = 1 << values - 1 - n
    found = [0, 0]
    rows = [0, 0]
    for row in range(1 << values):
        side = bool(row & weight)
        found[side] |= (table >> row & 1) << rows[side]
        rows[side] += 1
    return found[0], found[1]


def _exclusive_or(a: Value, f0: int, f1: int, rest: list[Value]) -> Value:
    """a ? ¬f0 : f0"""
    if not f0:
        return a
    return ~a if not f1 else a ^ logic(f0, rest)


@operation("LOP3 ULOP3", "LUT PAND")
def lop3(x: Engine, i: Instruction) -> None:
    """[P,] d, a, b, c, table, Q: P = (d ≠ 0) ∨ Q, or ∧ Q."""
    flag = i.operands[0] if i.operands[0].kind in ("P", "UP") else None
    to, a, b, c, table, q = i.operands[flag is not None :]
    v = logic(table.number, [x.value(a), x.value(b), x.value(c)])
    if flag is not None:
        holds = v != 0
        if not (q.is_zero and q.inverted == ("PAND" not in i.modifiers)):
            other = x.predicate(q)
            holds = holds & other if "PAND" in i.modifiers else holds | other
        x.write_predicate(flag, holds)
    x.write(to, v)


@operation("PLOP3 UPLOP3", "LUT", marks="SIGN")
def plop3(x: Engine, i: Instruction) -> None:
    """R.SIGN as a source: whether the register is negative."""
    p, q, a, b, c, first, second = i.operands
    values = [x.signed(x.value(o)) < 0 if "SIGN" in o.modifiers else x.predicate(o) for o in (a, b, c)]
    for to, table in ((p, first), (q, second)):
        if not to.is_zero:
            x.write_predicate(to, logic(table.number, values))


SELECTORS = {
    "F4E": (0x3210, 0x4321, 0x5432, 0x6543),
    "B4E": (0x5670, 0x6701, 0x7012, 0x0123),
    "RC8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ECL": (0x3210, 0x3211, 0x3222, 0x3333),
    "ECR": (0x0000, 0x1110, 0x2210, 0x3210),
    "RC16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""What the modes of PRMT select, by the lower two bits of their operand (PTX ISA, prmt)."""


@operation("PRMT UPRMT", " ".join(SELECTORS))
def prmt(x: Engine, i: Instruction) -> None:
    """Byte k of d is the byte of b:a that nibble k of the selector names; bit 3: that byte's sign only."""
    to, a, selector, b = i.operands
    sources = [x.value(a), x.value(b)]
    if mode := which(i, SELECTORS):
        choice, v = x.value(selector) & 3, x.const(0)
        for n, constant in enumerate(SELECTORS[mode]):
            v = x.where(choice == n, _permute_by_constant(x, sources, constant), v)
        return x.write(to, v)
    if selector.kind == "imm":
        return x.write(to, _permute_by_constant(x, sources, selector.number))
    s = x.value(selector)
    both = x.zext(sources[1]) << 32 | x.zext(sources[0])
    v = x.const(0)
    for k in range(4):
        nibble = s >> 4 * k
        byte = x.low(both >> x.zext((nibble & 7) << 3)) & 0xFF
        sign = (x.const(0) - (byte >> 7)) & 0xFF
        v = v | x.where((nibble & 8) != 0, sign, byte) << 8 * k
    return x.write(to, v)


def _permute_by_constant(x: Engine, sources: list[Value], selector: int) -> Value:
    """Bytes of one source that move by the same distance move together."""
    groups: dict[tuple[int, int], int] = {}
    v = x.const(0)
    for k in range(4):
        nibble = selector >> 4 * k & 15
        source, byte = nibble >> 2 & 1, nibble & 3
        if nibble & 8:
            sign = x.unsigned(x.signed(sources[source] << 8 * (3 - byte)) >> 31)
            v = v | (sign & (0xFF << 8 * k))
        else:
            group = source, 8 * (k - byte)
            groups[group] = groups.get(group, 0) | 0xFF << 8 * k
    for (source, distance), mask in groups.items():
        moved = sources[source] << distance if distance >= 0 else sources[source] >> -distance
        v = v | moved & mask
    return v


SWAPS = (1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)


@operation("BREV UBREV")
def brev(x: Engine, i: Instruction) -> None:
    v = x.value(i.operands[1])
    for distance, mask in SWAPS:
        v = (v >> distance & mask) | (v & mask) << distance
    x.write(i.operands[0], v >> 16 | v << 16)


@operation("POPC UPOPC")
def popc(x: Engine, i: Instruction) -> None:
    x.write(i.operands[0], x.popcount(x.value(i.operands[1])))


@operation("FLO UFLO", "U32 SH")
def flo(x: Engine, i: Instruction) -> None:
    """The highest bit that is set (signed: that differs from the sign), −1 for none; SH: from above."""
    *to, source = i.operands
    if any(not o.is_zero for o in to[1:]):
        raise UnsupportedError("a predicate result of FLO")
    v = x.value(source)
    if "U32" not in i.modifiers:
        v = v ^ x.unsigned(x.signed(v) >> 31)
    zeros = x.leading_zeros(v)
    if "SH" in i.modifiers:
        x.write(to[0], x.where(v == 0, x.const(0xFFFFFFFF), zeros))
    else:
        x.write(to[0], x.const(31) - zeros)


def amount(x: Engine, i: Instruction, o: Operand) -> Value:
    """A count of bits: 0 to 31 with W, any number without."""
    return x.value(o) & 31 if "W" in i.modifiers else x.value(o)


@operation("BMSK UBMSK", "W")
def bmsk(x: Engine, i: Instruction) -> None:
    """Bits [a, a + b) set."""
    to, a, b = i.operands
    position, count = amount(x, i, a), amount(x, i, b)
    x.write(to, shift_left(x, ~shift_left(x, x.const(0xFFFFFFFF), count), position))


@operation("SGXT USGXT", "U32 W")
def sgxt(x: Engine, i: Instruction) -> None:
    """The lower b bits of a, extended by their sign or by zeros."""
    to, a, b = i.operands
    v = x.value(a)
    if b.kind == "imm" and 0 < b.number < 32:
        spare = 32 - b.number
        v = v << spare
        return x.write(to, v >> spare if "U32" in i.modifiers else x.unsigned(x.signed(v) >> spare))
    count = amount(x, i, b)
    mask = ~shift_left(x, x.const(0xFFFFFFFF), count)
    if "U32" in i.modifiers:
        return x.write(to, v & mask)
    top = shift_right(x, v, count - 1) & 1  # count 0: no bit, and so no sign
    return x.write(to, x.where(top != 0, v | ~mask, v & mask))
