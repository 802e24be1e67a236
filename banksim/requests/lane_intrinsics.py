"""What numba lacks for judging requests: room on the stack, bit counts, and the 32 lanes as one LLVM vector.

A comparison of lanes gives one word, bit i for lane i; LLVM makes of it what the processor has (AVX-512,
AVX2, SSE2, NEON). Places are pointers to 32 lanes of 32 bits.
"""

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.system.compiled_types import Code, NumbaType, Place, Signature, TargetContext, TypingContext
from banksim.system.jit import intrinsic

word = np.uint32
I32 = ir.IntType(32)
LANES = ir.VectorType(I32, 32)


def room(words: int) -> Callable[[], Place]:
    """A function that gives the address of so many 32-bit words on the stack: no request may allocate."""

    def place(typing_context: TypingContext) -> Code:
        def generate(
            context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]
        ) -> ir.Value:
            array = cgutils.alloca_once(builder, ir.ArrayType(I32, words))  # type: ignore[no-untyped-call]
            array.align = 64
            return builder.bitcast(array, cgutils.voidptr_t)

        return types.voidptr(), generate

    return intrinsic(Place)(place)


@intrinsic(Place)
def pointer(typing_context: TypingContext, address: NumbaType) -> Code:
    """An integer as a pointer."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate


@intrinsic(int)
def ones(typing_context: TypingContext, word: NumbaType) -> Code:
    """How many bits of a word are set."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        return builder.ctpop(args[0])

    return word(word), generate


@intrinsic(int)
def lowest(typing_context: TypingContext, word: NumbaType) -> Code:
    """The number of the lowest bit that is set; the number of bits of the word if none is."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return word(word), generate


def _load(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    return builder.load(builder.bitcast(place, LANES.as_pointer()), align=4)


def _everywhere(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    undefined = ir.Constant(LANES, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(LANES, [0] * 32))


@intrinsic(int)
def equal_to(typing_context: TypingContext, place: NumbaType, value: NumbaType) -> Code:
    """The lanes that hold `value`."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        vector = _load(builder, args[0])
        return builder.bitcast(builder.icmp_unsigned("==", vector, _everywhere(builder, args[1])), I32)

    return types.uint32(types.voidptr, types.uint32), generate


@intrinsic(int)
def having(typing_context: TypingContext, place: NumbaType, bits: NumbaType) -> Code:
    """The lanes that hold any of `bits`."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        vector = builder.and_(_load(builder, args[0]), _everywhere(builder, args[1]))
        return builder.bitcast(builder.icmp_unsigned("!=", vector, ir.Constant(LANES, [0] * 32)), I32)

    return types.uint32(types.voidptr, types.uint32), generate


@intrinsic(bool)
def all_alike(typing_context: TypingContext, place: NumbaType) -> Code:
    """Whether the 32 bytes there are all the same."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        kind = ir.VectorType(ir.IntType(8), 32)
        found = builder.load(builder.bitcast(args[0], kind.as_pointer()), align=1)
        first = builder.shuffle_vector(found, found, ir.Constant(LANES, [0] * 32))
        other = builder.bitcast(builder.icmp_unsigned("!=", found, first), I32)
        return builder.icmp_unsigned("==", other, ir.Constant(I32, 0))

    return types.boolean(types.voidptr), generate


def across(relation: str, order: list[int]) -> Callable[[Place], int]:
    """A function that gives the lanes i for which `relation` holds between lane i and lane `order[i]`."""

    def lanes(typing_context: TypingContext, place: NumbaType) -> Code:
        def generate(
            context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]
        ) -> ir.Value:
            vector = _load(builder, args[0])
            moved = builder.shuffle_vector(vector, ir.Constant(LANES, ir.Undefined), ir.Constant(LANES, order))
            return builder.bitcast(builder.icmp_unsigned(relation, vector, moved), I32)

        return types.uint32(types.voidptr), generate

    return intrinsic(int)(lanes)


@intrinsic(type(None))
def fetch(typing_context: TypingContext, place: NumbaType) -> Code:
    """Prefetch a line into the second cache. The address may be anywhere, even where no memory is."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [args[0], *(ir.Constant(I32, word) for word in (0, 2, 1))])
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.void(types.voidptr), generate
