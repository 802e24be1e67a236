"""What numba lacks for judging requests: room on the stack, bit counts, and the 32 lanes as one LLVM vector.

A comparison of lanes gives one word, bit i for lane i; LLVM makes of it what the processor has (AVX-512,
AVX2, SSE2, NEON). Places are pointers to 32 lanes of 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

word = np.uint32
I32 = ir.IntType(32)
LANES = ir.VectorType(I32, 32)


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


def room(words: int) -> Any:
    """A function that gives the address of so many 32-bit words on the stack: no request may allocate."""

    def place(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = cgutils.alloca_once(builder, ir.ArrayType(I32, words))  # type: ignore[no-untyped-call]
            array.align = 64
            return builder.bitcast(array, cgutils.voidptr_t)

        return types.voidptr(), generate

    return _intrinsic(place)


@_intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """An integer as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate


@_intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return word(word), generate


@_intrinsic
def lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit that is set; the number of bits of the word if none is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return word(word), generate


def _load(builder: Any, place: Any, first: Any = None) -> Any:
    words = builder.bitcast(place, I32.as_pointer())
    if first is not None:
        words = builder.gep(words, [first])
    return builder.load(builder.bitcast(words, LANES.as_pointer()), align=4)


def _everywhere(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(LANES, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(LANES, [0] * 32))


@_intrinsic
def equal_to(typing_context: Any, place: Any, value: Any) -> Any:
    """The lanes that hold `value`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(builder, args[0])
        return builder.bitcast(builder.icmp_unsigned("==", vector, _everywhere(builder, args[1])), I32)

    return types.uint32(types.voidptr, types.uint32), generate


@_intrinsic
def having(typing_context: Any, place: Any, bits: Any) -> Any:
    """The lanes that hold any of `bits`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = builder.and_(_load(builder, args[0]), _everywhere(builder, args[1]))
        return builder.bitcast(builder.icmp_unsigned("!=", vector, ir.Constant(LANES, [0] * 32)), I32)

    return types.uint32(types.voidptr, types.uint32), generate


@_intrinsic
def equal(typing_context: Any, place: Any, i: Any, j: Any) -> Any:
    """For which lanes the 32 words from word i on and the 32 words from word j on are equal."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pair = [_load(builder, args[0], first) for first in args[1:]]
        return builder.bitcast(builder.icmp_unsigned("==", *pair), I32)

    return types.uint32(types.voidptr, types.int64, types.int64), generate


def across(relation: str, order: list[int]) -> Any:
    """A function that gives the lanes i for which `relation` holds between lane i and lane `order[i]`."""

    def lanes(typing_context: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = _load(builder, args[0])
            moved = builder.shuffle_vector(vector, ir.Constant(LANES, ir.Undefined), ir.Constant(LANES, order))
            return builder.bitcast(builder.icmp_unsigned(relation, vector, moved), I32)

        return types.uint32(types.voidptr), generate

    return _intrinsic(lanes)
