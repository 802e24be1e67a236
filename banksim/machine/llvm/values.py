"""Values of the LLVM engine: one lane or 32, with the operators that operations use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TypeAlias, Union

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder

LANES = 32
INT = {n: ir.Type(f"i{n}") for n in (1, 8, 16, 32, 64, 128)}
FLOAT = {n: ir.FloatType(n) for n in (16, 32, 64)}
POINTER, VOID = ir.POINTER, ir.VOID
WORDS = ir.VectorType(INT[32], LANES)
"""One register: a word for each lane."""
LONGS = ir.VectorType(INT[64], LANES)
FOURS = ir.VectorType(INT[128], LANES)
BOOLS = ir.VectorType(INT[1], LANES)


def element(kind: str, bits: int) -> ir.Type:
    return FLOAT[bits] if kind == "f" else INT[bits]


@cache
def of_lanes(kind: ir.Type, lanes: int) -> ir.VectorType:
    return ir.VectorType(kind, lanes)


def typed(kind: str, bits: int, lanes: int) -> ir.Type:
    return element(kind, bits) if lanes == 1 else of_lanes(element(kind, bits), lanes)


def vector(numbers: Sequence[int], bits: int = 32) -> ir.Constant:
    """A constant with one number a lane."""
    return numbered(tuple(numbers), bits)


@lru_cache(1024)
def numbered(numbers: tuple[int, ...], bits: int) -> ir.Constant:
    """As `vector`. A constant is written out as text once, which takes long."""
    mask = (1 << bits) - 1
    return ir.Constant(ir.VectorType(INT[bits], len(numbers)), [INT[bits](n & mask) for n in numbers])


def uniform(scalar: ir.Constant, lanes: int) -> ir.Constant:
    return ir.Constant(of_lanes(scalar.type, lanes), scalar)


def constant(kind: str, bits: int, lanes: int, c: float) -> ir.Constant:
    scalar = ir.Constant(element(kind, bits), float(c) if kind == "f" else int(c) & ((1 << bits) - 1))
    return scalar if lanes == 1 else uniform(scalar, lanes)


def splat(b: Builder, scalar: ir.Value, lanes: int = LANES) -> ir.Value:
    """A scalar in every lane."""
    if isinstance(scalar, ir.Constant):
        return uniform(scalar, lanes)
    undefined = ir.Constant(of_lanes(scalar.type, lanes), ir.UNDEFINED)
    one = b.insert_element(undefined, scalar, INT[32](0))
    return b.shuffle_vector(one, undefined, uniform(INT[32](0), lanes))


Term: TypeAlias = Union["Value", float]
"""What a value is added to, compared with …: another, or a number of its kind."""


Operator = Callable[["Value", Term], "Value"]


def operator(integer: str, floating: str = "", signed: str = "") -> Operator:
    """An operator, by the builder's functions for each kind of number."""

    def apply(value: Value, other: Term) -> Value:
        a, c = value.pair(other)
        name = floating if value.kind == "f" else signed if signed and value.kind == "i" else integer
        return a.like(getattr(value.builder(), name)(a.ir, c.ir))

    return apply


def comparison(how: str) -> Operator:
    def apply(value: Value, other: Term) -> Value:
        a, c = value.pair(other)
        b = value.builder()
        if value.kind == "f":
            answer = (b.fcmp_unordered if how == "!=" else b.fcmp_ordered)(how, a.ir, c.ir)
        else:
            answer = (b.icmp_signed if value.kind == "i" else b.icmp_unsigned)(how, a.ir, c.ir)
        return a.like(answer, "b", 1)

    return apply


class Value:
    """`ir` of `lanes` (1 or 32) elements of a kind: u unsigned, i signed, f float, b bool."""

    __slots__ = ("bits", "builder", "ir", "kind", "lanes")

    def __init__(self, builder: Callable[[], Builder], kind: str, bits: int, lanes: int, value: ir.Value) -> None:
        self.builder, self.kind, self.bits, self.lanes, self.ir = builder, kind, bits, lanes, value

    def like(self, value: ir.Value, kind: str | None = None, bits: int | None = None) -> Value:
        """Another value of as many lanes."""
        return Value(self.builder, kind or self.kind, bits or self.bits, self.lanes, value)

    def spread(self) -> Value:
        """The value as 32 lanes."""
        if self.lanes == LANES:
            return self
        return Value(self.builder, self.kind, self.bits, LANES, splat(self.builder(), self.ir))

    def pair(self, other: Term) -> tuple[Value, Value]:
        """This and `other` with as many lanes as each other."""
        if not isinstance(other, Value):
            other = self.like(constant(self.kind, self.bits, self.lanes, other))
        if other.bits != self.bits or (other.kind == "f") != (self.kind == "f"):
            raise TypeError(f"{self.kind}{self.bits} meets {other.kind}{other.bits}")
        return (self, other) if self.lanes == other.lanes else (self.spread(), other.spread())

    __add__, __sub__, __mul__ = (operator(name, f"f{name}") for name in ("add", "sub", "mul"))
    __and__, __or__, __xor__ = map(operator, ("and_", "or_", "xor"))
    __lshift__, __rshift__ = operator("shl"), operator("lshr", signed="ashr")
    __radd__, __rmul__, __rand__, __ror__, __rxor__ = __add__, __mul__, __and__, __or__, __xor__

    def __rsub__(self, o: float) -> Value:
        return self.like(constant(self.kind, self.bits, self.lanes, o)) - self

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        return self.like(self.builder().fneg(self.ir) if self.kind == "f" else self.builder().neg(self.ir))

    __lt__, __le__, __gt__, __ge__ = map(comparison, ("<", "<=", ">", ">="))
    __eq__, __ne__ = map(comparison, ("==", "!="))  # type: ignore[assignment]
    __hash__ = object.__hash__
