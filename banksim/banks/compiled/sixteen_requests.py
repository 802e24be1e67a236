"""The rule of rule.py for sixteen requests at a time: as straight vector code, in which a vector holds a lane of each.

With lane i of all sixteen in vector i, what is a loop over lanes in rule.py is a sequence of vector operations here,
and takes the same time whatever the addresses are:

- Every lane is one bit, at the place of its part and group of banks (`one_request` tells what groups are). If no
  two lanes of a request have the same bit, no lane waits for another, and the parts with a bit are the count.
- Else a sorting network brings lanes that want the same word together, all but the first of those are dropped, and
  the 32 words are added bit by bit of the sum: the groups with the most lanes are the count.

LLVM makes of sixteen words one register of AVX-512, two of AVX2, four of SSE or NEON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.rule_words import BROADCAST, FIELDS, HEADER, KEEP, ONCE, WORD, rule_records
from banksim.requests.kinds import OPS, WIDTHS
from banksim.system.compiled_types import Code, NumbaType, Signature, TargetContext, TypingContext
from banksim.system.jit import intrinsic

REQUESTS = 16
"""Requests that are judged together."""
LANES = 32
I32, I64 = ir.IntType(32), ir.IntType(64)
ALL = 0xFFFFFFFF
VECTOR = ir.VectorType(I32, REQUESTS)
PARTS = 8
"""Most parts of a request: `Architecture` refuses more."""
AHEAD = 16
"""Requests that are fetched from memory while others are judged."""

Field = tuple[int, int]
SHIFT, GROUPS, PART, MERGED, ROWS, PASSES, SERVES = (0, 3), (3, 3), (6, 3), (9, 3), (12, 5), (17, 12), (29, 3)
"""First bit and number of bits of each field of a record, which is the rule of one op and width: log2 of the bytes that
share a group's word, log2 of the groups, log2 of the lanes of a part, the same if pairs merge (0: never), lanes that
give addresses − 1, passes of each, whom a pass serves."""
ELSEWHERE = BROADCAST << SERVES[0]
"""Records from this number on are not judged here: counts that are a range, of copies, of other blocks, or unknown."""
WIDEST = 32
"""Records of an op in a table: that of each width at its number."""
TRANSACTIONS, IDEAL, DEGREE, UNION, FIGURES = range(5)
"""What is found of each request; the last is the union of the bits of all its addresses, inactive lanes' too."""


@lru_cache
def records(arch: Architecture) -> npt.NDArray[np.uint32]:
    """The record of every op and width, at `WIDEST` × op + width; last, which address bits tell words apart."""
    rule = rule_records(arch)
    shift, groups, part, merged, serves, passes, rows = np.moveaxis(rule[HEADER:].reshape(len(OPS), -1, FIELDS), 2, 0)
    fields = {
        SHIFT: shift,
        GROUPS: np.log2(np.maximum(groups, 1)).astype(np.int64),
        PART: part,
        MERGED: merged,
        ROWS: np.maximum(rows - 1, 0),
        PASSES: passes,
        SERVES: np.where(serves < 0, BROADCAST, np.minimum(serves, BROADCAST)),
    }
    table = np.full((len(OPS), WIDEST), ELSEWHERE, np.uint32)
    table[:, WIDTHS] = sum(values << first for (first, _), values in fields.items())
    found = np.append(table, np.uint32(rule[KEEP]))
    found.flags.writeable = False
    return found


@dataclass(frozen=True)
class Words:
    """Sixteen 32-bit words of compiled code; operations with a number take it sixteen times."""

    builder: ir.IRBuilder
    value: ir.Value

    def of(self, other: Words | int) -> ir.Value:
        return other.value if isinstance(other, Words) else ir.Constant(VECTOR, [other] * REQUESTS)

    def __and__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.and_(self.value, self.of(other)))

    def __or__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.or_(self.value, self.of(other)))

    def __xor__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.xor(self.value, self.of(other)))

    def __add__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.add(self.value, self.of(other)))

    def __mul__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.mul(self.value, self.of(other)))

    def __lshift__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.shl(self.value, self.of(other)))

    def __rshift__(self, other: Words | int) -> Words:
        return Words(self.builder, self.builder.lshr(self.value, self.of(other)))

    def __rlshift__(self, number: int) -> Words:
        return self.like(number) << self

    def __rrshift__(self, number: int) -> Words:
        return self.like(number) >> self

    def __rsub__(self, number: int) -> Words:
        return Words(self.builder, self.builder.sub(self.of(number), self.value))

    def like(self, number: int) -> Words:
        return Words(self.builder, self.of(number))

    def which(self, relation: str, other: Words | int) -> ir.Value:
        """For each request whether `relation` (unsigned) holds."""
        return self.builder.icmp_unsigned(relation, self.value, self.of(other))

    def where(self, which: ir.Value, other: Words | int = 0) -> Words:
        """The word of `self` where `which` is true, else that of `other`."""
        return Words(self.builder, self.builder.select(which, self.value, self.of(other)))

    def smaller(self, other: Words) -> Words:
        return self.where(self.which("<", other), other)

    def larger(self, other: Words) -> Words:
        return self.where(self.which(">", other), other)

    def any(self) -> ir.Value:
        """Whether a bit of any of the words is set, as a condition."""
        bits = self.builder.bitcast(self.which("!=", 0), ir.IntType(REQUESTS))
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(REQUESTS), 0))

    def field(self, field: Field) -> Words:
        first, bits = field
        return (self >> first) & ((1 << bits) - 1)


class Variable:
    """A vector that several branches of compiled code assign."""

    def __init__(self, first: Words) -> None:
        self.builder = first.builder
        with self.builder.goto_entry_block():
            self.place = self.builder.alloca(VECTOR)
        self.set(first)

    def set(self, words: Words) -> None:
        self.builder.store(words.value, self.place)

    def get(self) -> Words:
        return Words(self.builder, self.builder.load(self.place))


def transposed(builder: ir.IRBuilder, rows: ir.Value) -> list[Words]:
    """The 32 lanes of sixteen requests, from the address of each."""
    halves: list[list[ir.Value]] = [[], []]
    for request in range(REQUESTS):
        place = builder.load(builder.gep(rows, [ir.Constant(I32, request)]))
        for half in range(2):
            words = builder.inttoptr(builder.add(place, ir.Constant(I64, 64 * half)), VECTOR.as_pointer())
            halves[half].append(builder.load(words, align=4))
    return [Words(builder, lane) for half in halves for lane in swapped(builder, half)]


def swapped(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """A matrix of 16 × 16 words, rows and columns swapped: in each step blocks of twice the size."""
    for size in (1, 2, 4, 8):
        low = [lane + 16 - size if lane & size else lane for lane in range(16)]
        high = [lane + 16 if lane & size else lane + size for lane in range(16)]
        following = list(rows)
        for row in range(16):
            if not row & size:
                pair = rows[row], rows[row | size]
                for to, order in ((row, low), (row | size, high)):
                    following[to] = builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(I32, 16), order))
        rows = following
    return rows


def comparators(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merge sort of `count` (a power of two) keys: the pairs to put in order, one by one."""
    merged = 1
    while merged < count:
        step = merged
        while step:
            for first in range(step % merged, count - step, 2 * step):
                for i in range(first, min(first + step, count - step)):
                    if i // (2 * merged) == (i + step) // (2 * merged):
                        yield i, i + step
            step //= 2
        merged *= 2


def added(a: Words, b: Words, c: Words) -> tuple[Words, Words]:
    """Sum and carry of three bits, in every place."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


def counted(bits: Sequence[Words]) -> list[Words]:
    """How many of the words have each bit: word k holds bit k of these numbers."""
    column, sums = list(bits), []
    while column:
        carries = []
        while len(column) > 1:
            a, b, *column = column
            c = column.pop(0) if column else a.like(0)
            one, carry = added(a, b, c)
            column.append(one)
            carries.append(carry)
        sums.append(column[0])
        column = carries
    return sums


def pairs_merge(lanes: Sequence[Words], mask: Words, other: int) -> ir.Value:
    """For which requests every active lane finds lane ^ `other` inactive or at its own address."""
    differ = mask.like(0)
    for lane in range(LANES):
        if not lane & other:
            differ |= mask.like(1 << lane).where(lanes[lane].which("!=", lanes[lane | other]))
    return (differ & mask & (mask >> other)).which("==", 0)


@dataclass(frozen=True)
class Places:
    """Where the bits of lanes lie, for sixteen requests that may be of different rules."""

    shift: Words
    log_groups: Words
    part: Words

    def group(self, wants: Words) -> Words:
        """The group of a word of so many bytes."""
        return wants & ((1 << self.log_groups) + ALL)

    def field(self, part: int) -> Words:
        """The bits that the lanes of a part may have; none where a request has fewer parts."""
        groups = (ALL >> ((32 - (1 << self.log_groups)) & 31)) << ((part << self.log_groups) & 31)
        return groups.where((32 >> self.part).which(">", part))

    def used(self, lanes: Sequence[Words], mask: Words) -> tuple[Words, Words]:
        """The places of active lanes, and those where lanes meet. Most requests are of one part."""
        used, met = Variable(mask.like(0)), Variable(mask.like(0))
        with mask.builder.if_else((self.part ^ 5).any()) as (several, one):
            for way in (several, one):
                with way:
                    here = there = mask.like(0)
                    for lane, address in enumerate(lanes):
                        place = self.group(address >> self.shift)
                        if way is several:
                            place = place + ((lane >> self.part) << self.log_groups)
                        bit = (1 << place).where((mask & (1 << lane)).which("!=", 0))
                        here, there = here | bit, there | (here & bit)
                    used.set(here)
                    met.set(there)
        return used.get(), met.get()

    def sorted_keys(self, lanes: Sequence[Words], mask: Words, keep: Words) -> list[Words]:
        """For each lane a number that it shares with those of its part that want the same word, in ascending order; the
        highest bit is set for lanes that are not active."""
        top = (32 - self.shift) & 31
        keys = []
        for lane, address in enumerate(lanes):
            key = ((address & keep) >> self.shift) | ((lane >> self.part) << top)
            keys.append(key.where((mask & (1 << lane)).which("!=", 0), ALL))
        for i, j in comparators(LANES):
            keys[i], keys[j] = keys[i].smaller(keys[j]), keys[i].larger(keys[j])
        return keys

    def bit_of(self, key: Words) -> Words:
        """The bit of an active lane, from its key."""
        place = self.group(key) + ((key >> ((32 - self.shift) & 31)) << self.log_groups)
        return (1 << (place & 31)).where((key >> 31).which("==", 0))


def sums_of_parts(places: Places, of_part: Callable[[Words], Words]) -> tuple[Words, Words]:
    """The sum and the largest of what the parts' fields give; most requests are of one part."""
    first = of_part(places.field(0))
    total, largest = Variable(first), Variable(first)
    with first.builder.if_then((places.part ^ 5).any()):
        more = [of_part(places.field(part)) for part in range(1, PARTS)]
        total.set(reduce(Words.__add__, more, first))
        largest.set(reduce(Words.larger, more, first))
    return total.get(), largest.get()


def most_lanes(sums: Sequence[Words], field: Words) -> Words:
    """The most lanes in any of the groups of `field`, given the lanes of every group bit by bit."""
    most = field.like(0)
    for k, bit in reversed([*enumerate(sums)]):
        busiest = field & bit
        some = busiest.which("!=", 0)
        field, most = busiest.where(some, field), (most | 1 << k).where(some, most)
    return most


def judged(builder: ir.IRBuilder, rows: ir.Value, mask: Words, record: Words, keep: Words) -> Iterator[Words]:
    """The code that judges sixteen requests; `FIGURES` of them."""
    lanes = transposed(builder, rows)
    union = reduce(or_, lanes)
    merged, part = record.field(MERGED), Variable(record.field(PART))
    with builder.if_then(merged.any()):
        pairs = builder.or_(pairs_merge(lanes, mask, 1), pairs_merge(lanes, mask, 2))
        part.set(merged.where(builder.and_(pairs, merged.which("!=", 0)), part.get()))
    places = Places(record.field(SHIFT), record.field(GROUPS), part.get())
    mask = mask & (ALL >> (31 - record.field(ROWS)))
    used, met = places.used(lanes, mask)
    ideal, free = sums_of_parts(places, lambda field: mask.like(1).where((used & field).which("!=", 0)))
    serves, passes = record.field(SERVES), record.field(PASSES)
    total, worst = Variable(ideal), Variable(free)
    with builder.if_then(met.any()):
        keys = places.sorted_keys(lanes, mask, keep)
        bits = [places.bit_of(key) for key in keys]
        share = serves.which("==", WORD)
        for lane in range(1, LANES):
            repeats = builder.and_(share, keys[lane].which("==", keys[lane - 1]))
            bits[lane] = mask.like(0).where(repeats, bits[lane])
        sums = counted(bits)
        most, largest = sums_of_parts(places, lambda field: most_lanes(sums, field))
        once = serves.which("==", ONCE)
        total.set(ideal.where(once, most))
        worst.set(free.where(once, largest))
    yield total.get() * passes
    yield ideal * passes
    yield worst.get()
    yield union


@intrinsic(object)
def judge_sixteen(
    typing_context: TypingContext,
    rows: NumbaType,
    masks: NumbaType,
    records: NumbaType,
    keep: NumbaType,
    figures: NumbaType,
) -> Code:
    """Judge sixteen requests: addresses of their 32 words, uint64[16]; uint32[16] of masks and of records; the address
    bits that tell words apart; and where `FIGURES` × uint32[16] go. All are places, but `keep` is a word."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        def vector(place: ir.Value) -> ir.Value:
            return builder.bitcast(place, VECTOR.as_pointer())

        mask, record = (Words(builder, builder.load(vector(place), align=4)) for place in args[1:3])
        single = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), args[3], ir.Constant(I32, 0))
        keep = Words(builder, builder.shuffle_vector(single, single, ir.Constant(VECTOR, [0] * REQUESTS)))
        found = judged(builder, builder.bitcast(args[0], I64.as_pointer()), mask, record, keep)
        for number, words in enumerate(found):
            builder.store(words.value, builder.gep(vector(args[4]), [ir.Constant(I32, number)]), align=4)
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.void(types.voidptr, types.voidptr, types.voidptr, types.uint32, types.voidptr), generate


@intrinsic(object)
def fetch(typing_context: TypingContext, place: NumbaType) -> Code:
    """Prefetch a cache line. The address may be anywhere, even where no memory is."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [args[0], *(ir.Constant(I32, word) for word in (0, 3, 1))])
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.void(types.voidptr), generate
