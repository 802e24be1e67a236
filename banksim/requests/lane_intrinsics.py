"""What numba lacks for judging requests: room on the stack, bit counts, and the 32 lanes (or several words) as one LLVM
vector.

A comparison of lanes gives one word, bit i for lane i; LLVM makes of it what the processor has (AVX-512,
AVX2, SSE2, NEON). Places are pointers to 32 lanes of 32 bits.
"""

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.system.compiled_types import Integer, Place
from banksim.system.jit import intrinsic

word = np.uint32
I32 = ir.IntType(32)
LANES = ir.VectorType(I32, 32)


def room(words: int) -> Callable[[], Place]:
    """A function that gives the address of so many 32-bit words on the stack: no request may allocate."""

    @intrinsic(Place, types.voidptr())
    def place(builder: ir.IRBuilder) -> ir.Value:
        array = cgutils.alloca_once(builder, ir.ArrayType(I32, words))  # type: ignore[no-untyped-call]
        array.align = 64
        return builder.bitcast(array, cgutils.voidptr_t)

    return place


@intrinsic(Place, types.voidptr(types.uint64))
def pointer(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """An integer as a pointer."""
    return builder.inttoptr(address, cgutils.voidptr_t)


@intrinsic(int, lambda word: word(word))
def ones(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    """How many bits of a word are set."""
    return builder.ctpop(word)


@intrinsic(int, lambda word: word(word))
def lowest(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    """The number of the lowest bit that is set; the number of bits of the word if none is."""
    return builder.cttz(word, ir.Constant(ir.IntType(1), 0))


def _load(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    return builder.load(builder.bitcast(place, LANES.as_pointer()), align=4)


def _everywhere(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType = LANES) -> ir.Value:
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, value, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count))


@intrinsic(int, types.uint32(types.voidptr, types.uint32))
def equal_to(builder: ir.IRBuilder, place: ir.Value, value: ir.Value) -> ir.Value:
    """The lanes that hold `value`."""
    alike = builder.icmp_unsigned("==", _load(builder, place), _everywhere(builder, value))
    return builder.bitcast(alike, I32)


@intrinsic(int, types.uint32(types.voidptr, types.uint32))
def having(builder: ir.IRBuilder, place: ir.Value, bits: ir.Value) -> ir.Value:
    """The lanes that hold any of `bits`."""
    vector = builder.and_(_load(builder, place), _everywhere(builder, bits))
    return builder.bitcast(builder.icmp_unsigned("!=", vector, ir.Constant(LANES, [0] * 32)), I32)


@intrinsic(int, types.uint32(types.voidptr, types.voidptr, types.uint32))
def moved_otherwise(builder: ir.IRBuilder, place: ir.Value, other: ir.Value, distance: ir.Value) -> ir.Value:
    """The lanes whose word is not the other's and `distance`."""
    expected = builder.add(_load(builder, other), _everywhere(builder, distance))
    return builder.bitcast(builder.icmp_unsigned("!=", _load(builder, place), expected), I32)


@intrinsic(bool, types.boolean(types.voidptr))
def all_alike(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """Whether the 32 bytes there are all the same."""
    kind = ir.VectorType(ir.IntType(8), 32)
    found = builder.load(builder.bitcast(place, kind.as_pointer()), align=1)
    first = builder.shuffle_vector(found, found, ir.Constant(LANES, [0] * 32))
    other = builder.bitcast(builder.icmp_unsigned("!=", found, first), I32)
    return builder.icmp_unsigned("==", other, ir.Constant(I32, 0))


def across(relation: str, order: list[int]) -> Callable[[Place], int]:
    """A function that gives the lanes i for which `relation` holds between lane i and lane `order[i]`."""

    @intrinsic(int, types.uint32(types.voidptr))
    def lanes(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
        vector = _load(builder, place)
        moved = builder.shuffle_vector(vector, ir.Constant(LANES, ir.Undefined), ir.Constant(LANES, order))
        return builder.bitcast(builder.icmp_unsigned(relation, vector, moved), I32)

    return lanes


@intrinsic(type(None), types.void(types.voidptr))
def fetch(builder: ir.IRBuilder, place: ir.Value) -> None:
    """Prefetch a line into the second cache. The address may be anywhere, even where no memory is."""
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
    builder.call(function, [place, *(ir.Constant(I32, word) for word in (0, 2, 1))])


def equal_or_least(count: int) -> Callable[[object, Integer], Integer]:
    """A function of a record that begins with two vectors of so many signed words of 64 bits, and of such a word: the
    place of that in the first vector, less `count`; where it is not there, the least of the second vector, which
    has none below 0."""
    kind = ir.VectorType(ir.IntType(64), count)

    @intrinsic(int, lambda record, value: types.int64(record, types.int64))
    def found(builder: ir.IRBuilder, record: ir.Value, value: ir.Value) -> ir.Value:
        place = builder.bitcast(record, kind.as_pointer())
        first, second = (builder.load(builder.gep(place, [I32(n)]), align=8) for n in range(2))
        alike = builder.icmp_signed("==", first, _everywhere(builder, value, kind))
        each = builder.select(alike, ir.Constant(kind, list(range(-count, 0))), second)
        least = ir.FunctionType(kind.element, [kind])
        name = f"llvm.vector.reduce.smin.v{count}i64"
        return builder.call(cgutils.get_or_insert_function(builder.module, least, name), [each])  # type: ignore[no-untyped-call]

    return found


def call_at(builder: ir.IRBuilder, address: ir.Value, arguments: list[ir.Value], result: ir.Type) -> ir.Value:
    """Call the function at an address."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)
