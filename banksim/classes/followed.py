"""Values of the block that is executed, with what they are in the other blocks of its region.

A block of the region is k = (k₀, k₁ …) steps away from the executed one along the axes of the grid. An integer whose
content is v here is v + Σ slopesₐ·kₐ there, modulo 2^bits: sums, differences and products by what does not change keep
that form whatever wraps around. Every other operation holds only while its operands stay within bounds, and says so by
`Bounds.bound`, which narrows the region. Where nothing is known (data from memory), a lane is `unknown`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, Union

from banksim.machine.llvm import ir
from banksim.machine.llvm.engine import LLVMEngine
from banksim.machine.llvm.values import Value, constant

Slopes = tuple[Value, ...]
"""One for each axis; none at all for what does not change."""
How = Callable[[Value, Value], Value]
"""An operation on the contents of two values."""
Term: TypeAlias = Union["Followed", float]
"""What a followed value is added to, compared with …: another, or a number of its kind."""
MOST_FIELDS = 4
"""A bitwise operation with a mask is followed if the mask has at most so many runs of ones."""


def either(*conditions: Value | None) -> Value | None:
    """Where one of several conditions holds; None: nowhere."""
    known = [one for one in conditions if one is not None]
    return functools.reduce(operator.or_, known) if known else None


def unsigned(v: Value) -> Value:
    return v.like(v.ir, "u")


def trailing_ones(v: Value) -> Value:
    """A mask of the lowest bits that are all ones."""
    return v & ~(v + 1)


def upper_slope(slope: Value, lower: Value, count: Value | int) -> Value:
    """The slope of the bits from number `count` on, where `lower` is that of those below: (slope - lower) / 2^count,
    without a difference that may have a bit more than slopes have."""
    high, borrowed = slope.like(slope.ir, "i") >> count, lower.like(lower.ir, "i") >> slope.bits - 1
    return unsigned(high - borrowed)


def fields(mask: int) -> list[tuple[int, int]]:
    """The runs of ones in a mask, as (first bit, bit behind)."""
    found, at = [], 0
    while mask >> at:
        start = at + ((mask >> at) & -(mask >> at)).bit_length() - 1
        ones = mask >> start
        at = start + (~ones & (ones + 1)).bit_length() - 1
        found.append((start, at))
    return found


class Following(Protocol):
    """What a value needs of `Bounds` (bounds.py), which imports this module."""

    inner: LLVMEngine
    axes: tuple[int, ...]

    def bound(
        self, of: Followed, below: Value, above: Value | None, slopes: Slopes, step_bits: Value | int, *others: Followed
    ) -> None: ...

    def settled(self, v: Followed, where: Value | None = None) -> Followed: ...

    def within_kind(self, v: Followed) -> None: ...

    def bound_equal(self, a: Followed, b: Followed) -> None: ...

    def bound_order(self, a: Followed, b: Followed, how: How) -> None: ...

    def pure(self, function: Callable[..., Value], *values: Followed) -> Followed: ...


def by(method: Callable[[Followed, Term, How], Followed], how: How) -> Callable[[Followed, Term], Followed]:
    """An operator that a method does."""
    return lambda value, other: method(value, other, how)


class Followed:
    """`plain`: the content in the executed block; `slopes`: by how much each step along each axis changes it;
    `unknown`: the lanes in which the content means nothing (None: no lane)."""

    __slots__ = ("plain", "slopes", "unknown", "x")

    def __init__(self, x: Following, plain: Value, slopes: Slopes = (), unknown: Value | None = None) -> None:
        self.x, self.plain, self.slopes, self.unknown = x, plain, slopes, unknown

    def lifted(self, other: Term) -> Followed:
        """Another value, or a plain number as a value of this one's kind."""
        if isinstance(other, Followed):
            return other
        p = self.plain
        return Followed(self.x, Value(p.builder, p.kind, p.bits, 1, constant(p.kind, p.bits, 1, other)))

    def literal(self) -> int | None:
        """The number that this always is, if it is known when the code is made."""
        v = self.plain.ir
        if self.slopes or self.unknown is not None or self.plain.kind == "f" or not isinstance(v, ir.Constant):
            return None
        return v.constant & (1 << self.plain.bits) - 1 if isinstance(v.constant, int) else None

    def zeros(self) -> Slopes:
        p = self.plain
        return tuple(Value(p.builder, "u", p.bits, 1, constant("u", p.bits, 1, 0)) for _ in self.x.axes)

    def with_slopes(self, plain: Value, slopes: Sequence[Value], *others: Followed) -> Followed:
        """A result that is computed from this value and `others`, unknown where any of them is."""
        return Followed(self.x, plain, tuple(slopes), either(self.unknown, *(o.unknown for o in others)))

    def pure(self, function: Callable[..., Value], *others: Followed) -> Followed:
        return self.x.pure(function, self, *others)

    # ---- sums and products, whatever wraps around
    def added(self, o: Term, how: How) -> Followed:
        o = self.lifted(o)
        slopes: Sequence[Value] = ()
        if self.slopes or o.slopes:
            pairs = zip(self.slopes or self.zeros(), o.slopes or o.zeros(), strict=True)
            slopes = [how(a, b) for a, b in pairs]
        return self.with_slopes(how(self.plain, o.plain), slopes, o)

    __add__, __sub__ = by(added, operator.add), by(added, operator.sub)

    def __rsub__(self, o: Term) -> Followed:
        return self.lifted(o) - self

    def __mul__(self, o: Term) -> Followed:
        """(a + s·k)(b + t·k) = ab + (s·b + a·t)·k where s or t is zero. Of lanes where neither is, a bound makes sure
        that the second factor is the same in every block."""
        o = self.lifted(o)
        if self.slopes and o.slopes:
            o = self.x.settled(o, functools.reduce(operator.or_, (s != 0 for s in self.slopes)))
        mine, other = (p.like(p.ir, "u") for p in (self.plain, o.plain))
        slopes, more = [s * other for s in self.slopes], [s * mine for s in o.slopes]
        both = [s + t for s, t in zip(slopes, more, strict=True)] if slopes and more else slopes or more
        return self.with_slopes(self.plain * o.plain, both, o)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Followed:
        return self.with_slopes(-self.plain, [-s for s in self.slopes])

    def __invert__(self) -> Followed:
        return self.with_slopes(~self.plain, [-s for s in self.slopes])

    # ---- bits
    def bitwise(self, o: Term, how: How) -> Followed:
        o = self.lifted(o)
        if self.plain.kind == "b":
            return Followed(self.x, how(self.plain, o.plain), (), self.unknown_truth(o, how))
        if self.slopes and o.slopes:
            return self.bits_of_both(o, how)
        changing, mask = (o, self) if o.slopes else (self, o)
        plain = how(self.plain, o.plain)
        if not changing.slopes:
            return self.with_slopes(plain, (), o)
        number = mask.literal()
        if number is not None and len(fields(number)) <= MOST_FIELDS:
            return self.with_slopes(plain, changing.of_fields(number, how), o)
        return self.with_slopes(plain, changing.above(mask.plain, how), o)

    def bits_of_both(self, o: Followed, how: How) -> Followed:
        """Where one value has no ones in the lowest bits, in any block, and the other none above, which a bound makes
        sure of, the two are added: so rows and columns are put together. In other lanes a bound makes sure that the
        second is the same in every block."""
        where, none = self.x.inner.where, self.plain ^ self.plain
        low = [trailing_ones(~functools.reduce(operator.or_, (unsigned(v.plain), *v.slopes))) for v in (self, o)]
        below = [unsigned(a.plain) & ~ones == 0 for a, ones in ((o, low[0]), (self, low[1]))]
        apart = below[0] | below[1]
        for a, ones, here in ((o, low[0], below[0]), (self, low[1], below[1] & ~below[0])):
            place = where(here, unsigned(a.plain), unsigned(none))
            room = where(here, ones, unsigned(none)) - place
            self.x.bound(self, place, room, tuple(where(here, s, s ^ s) for s in a.slopes), 0, o)
        first, second = (
            Followed(self.x, v.plain, tuple(where(apart, s ^ s, s) for s in v.slopes), v.unknown) for v in (self, o)
        )
        other = first.bitwise(self.x.settled(second), how)
        if how is operator.and_:
            return other
        slopes = [where(apart, s + t, u) for s, t, u in zip(self.slopes, o.slopes, other.slopes, strict=True)]
        return other.with_slopes(other.plain, slopes)

    def unknown_truth(self, o: Followed, how: How) -> Value | None:
        """Where the AND or OR of two truths is unknown. It is known where one side is known and decides it."""
        if self.unknown is None and o.unknown is None:
            return None
        if how is operator.xor or (how is not operator.and_ and how is not operator.or_):
            return either(self.unknown, o.unknown)
        open_, mine, other = None, self.plain, o.plain
        if how is operator.or_:
            mine, other = ~mine, ~other
        if self.unknown is not None:
            open_ = self.unknown & other
        if o.unknown is not None:
            open_ = either(open_, o.unknown & mine)
        if self.unknown is not None and o.unknown is not None:
            open_ = either(open_, self.unknown & o.unknown)
        return open_

    def of_fields(self, mask: int, how: How) -> list[Value]:
        """The slopes of a bitwise operation with a constant: of the bits where it has ones, or of the others."""
        inside = self.below_bits(fields(mask))
        if how is operator.and_:
            return inside
        rest = [all_ - part for all_, part in zip(self.slopes, inside, strict=True)]
        return rest if how is operator.or_ else [a - b for a, b in zip(rest, inside, strict=True)]

    def below_bits(self, runs: list[tuple[int, int]]) -> list[Value]:
        """The slopes of the number that some runs of bits make, each left at its place."""
        total = list(self.zeros())
        for first, behind in runs:
            upper, lower = self.lower_slopes(behind), self.lower_slopes(first)
            total = [t + (u - v) for t, u, v in zip(total, upper, lower, strict=True)]
        return total

    def lower_slopes(self, bits: int) -> Slopes:
        """The slopes of the number that the lowest bits make: the lowest bits of the slopes, taken as signed. A bound
        makes sure that the number overflows these bits in no block."""
        p = self.plain
        if bits in (0, p.bits):
            return self.slopes if bits else self.zeros()
        return self.low_slopes(p.bits - bits, (1 << bits) - 1, bits)

    def low_slopes(
        self, shift: Value | int, ones: Value | int, step_bits: Value | int, where: Value | None = None
    ) -> Slopes:
        """The same of all bits but so many, which may differ from lane to lane, in the lanes `where` there are any.
        `ones`: as many, or none if these bits may not change at all."""
        high = [s << shift for s in self.slopes]
        rest = tuple(unsigned(s.like(s.ir, "i") >> shift) for s in high)
        if where is not None:
            rest = tuple(self.x.inner.where(where, s, s ^ s) for s in rest)
        mine = self.plain.like(self.plain.ir, "u")
        self.x.bound(self, mine & ones, ~mine & ones, rest, step_bits)
        return rest

    def above(self, mask: Value, how: How) -> list[Value]:
        """The slopes of a bitwise operation with a mask that differs from lane to lane. The highest bits of each mask
        are all equal. If the bits below are all equal too, a bound makes sure that the number that they make of the
        value does not overflow; else that it does not change."""
        x = self.x
        if mask.bits != 32:
            return list(x.settled(self).zeros())
        sign = mask.like((mask.like(mask.ir, "i") >> 31).ir, "u")
        upper = x.inner.leading_zeros(sign ^ mask)
        some, none = upper < 32, mask ^ mask
        shift = x.inner.where(some, upper, none)
        below = x.inner.where(some, (none - 1) >> shift, none)
        alike = (sign ^ mask) == below
        lower = self.low_slopes(shift, x.inner.where(alike, below, none), 32 - upper, some)
        out = []
        for s, rest in zip(self.slopes, lower, strict=True):
            over, rest = s - rest, x.inner.where(alike, rest, none)
            if how is operator.and_:
                out.append((over & sign) + (rest & ~sign))
            elif how is operator.or_:
                out.append((over & ~sign) + (rest & sign))
            else:
                out.append((over ^ sign) - sign + ((rest ^ ~sign) - ~sign))
        return out

    __and__, __or__, __xor__ = by(bitwise, operator.and_), by(bitwise, operator.or_), by(bitwise, operator.xor)
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # ---- shifts
    def __lshift__(self, o: Term) -> Followed:
        o = self.x.settled(self.lifted(o)) if isinstance(o, Followed) else self.lifted(o)
        amount = o.plain.like(o.plain.ir, "u")
        return self.with_slopes(self.plain << o.plain, [s << amount for s in self.slopes], o)

    def __rshift__(self, o: Term) -> Followed:
        o = self.lifted(o)
        count = o.literal()
        if not self.slopes and not o.slopes:
            return self.with_slopes(self.plain >> o.plain, (), o)
        if count is None:
            return self.shifted_right(self.x.settled(o))
        if count >= self.plain.bits:
            return self.pure(operator.rshift, o)
        self.x.within_kind(self)
        rest = self.lower_slopes(count) if count else self.zeros()
        slopes = [upper_slope(s, r, count) for s, r in zip(self.slopes, rest, strict=True)]
        return self.with_slopes(self.plain >> o.plain, slopes, o)

    def shifted_right(self, o: Followed) -> Followed:
        """By what only the machine code knows, the same in every block: by less than the width in bits, or the result
        does not change."""
        plain = self.plain >> o.plain
        if not self.slopes:
            return self.with_slopes(plain, (), o)
        self.x.within_kind(self)
        where, bits = self.x.inner.where, plain.bits
        amount = o.plain.like(o.plain.ir, "u")
        none, moved = amount ^ amount, (amount != 0) & (amount < bits)
        shift = where(moved, bits - amount, none)
        count = where(moved, amount, none)
        words = self.x.inner.low(count) if bits == 64 else count
        lower = self.low_slopes(shift, where(moved, (none - 1) >> shift, none), words, moved)
        upper = (upper_slope(s, rest, count) for s, rest in zip(self.slopes, lower, strict=True))
        return self.with_slopes(plain, [where(amount < bits, s, none) for s in upper], o)

    # ---- comparisons, which come out the same in all blocks of the region
    def compared(self, o: Term, how: How) -> Followed:
        o = self.lifted(o)
        if self.plain.kind in "fb" or not (self.slopes or o.slopes):
            return self.pure(how, o)
        plain = how(self.plain, o.plain)
        if how in (operator.eq, operator.ne):
            self.x.bound_equal(self, o)
        else:
            self.x.bound_order(self, o, how)
        return self.with_slopes(plain, (), o)

    __lt__, __le__ = by(compared, operator.lt), by(compared, operator.le)
    __gt__, __ge__ = by(compared, operator.gt), by(compared, operator.ge)
    __eq__, __ne__ = by(compared, operator.eq), by(compared, operator.ne)  # type: ignore[assignment]
    __hash__ = object.__hash__
