"""Vectors of LLVM code as Python values, and the sorting of such vectors, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from llvmlite import ir
from numba.core import cgutils


def operator(name: str) -> Callable[[Words, Words | int], Words]:
    """What the builder's function of this name does."""
    return lambda words, other: Words(words.builder, getattr(words.builder, name)(words.value, words.of(other)))


@dataclass(frozen=True)
class Words:
    """A vector of compiled code; operations with a number take it for each element."""

    builder: ir.IRBuilder
    value: ir.Value

    def of(self, other: Words | int) -> ir.Value:
        if isinstance(other, Words):
            return other.value
        return ir.Constant(self.value.type, [other] * self.value.type.count)

    def like(self, number: int) -> Words:
        return Words(self.builder, self.of(number))

    __and__, __or__, __xor__ = map(operator, ("and_", "or_", "xor"))
    __add__, __sub__, __mul__ = map(operator, ("add", "sub", "mul"))
    __lshift__, __rshift__ = map(operator, ("shl", "lshr"))

    def __invert__(self) -> Words:
        return Words(self.builder, self.builder.not_(self.value))

    def which(self, relation: str, other: Words | int) -> ir.Value:
        """For each element whether `relation` (unsigned) holds."""
        return self.builder.icmp_unsigned(relation, self.value, self.of(other))

    def where(self, which: ir.Value, other: Words | int = 0) -> Words:
        """The element of `self` where `which` is true, else that of `other`."""
        return Words(self.builder, self.builder.select(which, self.value, self.of(other)))

    def picked(self, other: Words, order: Sequence[int]) -> Words:
        """These elements of two vectors, those of the second behind those of the first."""
        constant = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order)
        return Words(self.builder, self.builder.shuffle_vector(self.value, other.value, constant))

    def call(self, name: str, *others: Words | int, result: ir.Type | None = None) -> ir.Value:
        """What LLVM's intrinsic function of such vectors gives: such a vector, if no other result is named."""
        kind = self.value.type
        name = f"llvm.{name}.v{kind.count}{kind.element}"
        signature = ir.FunctionType(result or kind, [kind] * (1 + len(others)))
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)  # type: ignore[no-untyped-call]
        return self.builder.call(function, [self.value, *map(self.of, others)])

    def smaller(self, other: Words | int) -> Words:
        return Words(self.builder, self.call("umin", other))

    def larger(self, other: Words | int) -> Words:
        return Words(self.builder, self.call("umax", other))

    def saturated(self, other: Words | int) -> Words:
        """The sum, all bits set where it would be above."""
        return Words(self.builder, self.call("uadd.sat", other))

    def less(self, other: Words | int) -> Words:
        """The difference, 0 where it would be below."""
        return Words(self.builder, self.call("usub.sat", other))

    def union(self) -> ir.Value:
        """The union of the bits of all elements."""
        return self.call("vector.reduce.or", result=self.value.type.element)

    def as_type(self, kind: ir.Type) -> Words:
        """As many elements of another type, cut or filled up with zeros."""
        make = self.builder.trunc if kind.element.width < self.value.type.element.width else self.builder.zext
        return Words(self.builder, make(self.value, kind))


def some(builder: ir.IRBuilder, which: ir.Value) -> ir.Value:
    """Whether any of the conditions holds."""
    bits = ir.IntType(which.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(which, bits), ir.Constant(bits, 0))


class Variable:
    """A vector that several branches of compiled code assign."""

    def __init__(self, first: Words) -> None:
        self.builder = first.builder
        with self.builder.goto_entry_block():
            self.place = self.builder.alloca(first.value.type)
        self.set(first)

    def set(self, words: Words) -> None:
        self.builder.store(words.value, self.place)

    def get(self) -> Words:
        return Words(self.builder, self.builder.load(self.place))


def merging(first: int, last: int, step: int) -> Iterator[tuple[int, int]]:
    """Comparators of Batcher's odd-even merge of every `step`-th key from `first` to before `last`."""
    if 2 * step >= last - first:
        yield first, first + step
        return
    yield from merging(first, last, 2 * step)
    yield from merging(first + step, last, 2 * step)
    yield from ((i, i + step) for i in range(first + step, last - step, 2 * step))


def comparators(first: int, last: int, sorted_already: int = 1) -> Iterator[tuple[int, int]]:
    """Those of his sort of a number of keys that is a power of two, of which each so many are sorted already: the pairs
    to put in order, one by one."""
    if last - first > sorted_already:
        middle = (first + last) // 2
        yield from comparators(first, middle, sorted_already)
        yield from comparators(middle, last, sorted_already)
        yield from merging(first, last, 1)


def in_order(keys: Sequence[Words], sorted_already: int = 1) -> list[Words]:
    """The keys of each request in ascending order."""
    found = [*keys]
    for i, j in comparators(0, len(found), sorted_already):
        found[i], found[j] = found[i].smaller(found[j]), found[i].larger(found[j])
    return found
