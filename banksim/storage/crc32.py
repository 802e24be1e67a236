"""The CRC-32 of many bytes, by the processor's product of polynomials where it has one. Needs numba.

A CRC is the remainder of a division of polynomials whose coefficients are bits. Bytes that stand `STEP` before others
weigh as much as their product with x to the power 8 × `STEP` would among these. So every `STEP` bytes are multiplied
and added to the next, and zlib divides what is left in the end. Source: Gopal and others, Fast CRC Computation for
Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009.
"""

import zlib

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target

from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import intrinsic, outer

POLYNOMIAL = 0x104C11DB7
FEATURES = frozenset(cpu_target.target_context.codegen()._tm_features.split(","))
"""What numba's code may ask of the processor."""
WORDS = 8 if {"+vpclmulqdq", "+avx512f"} <= FEATURES else 2 if "+pclmul" in FEATURES else 0
"""How many words of 64 bits are multiplied at a time, every second with one number, the others with another."""
VECTORS = 4
STEP = 8 * WORDS * VECTORS


def power(exponent: int) -> int:
    """The remainder of x to a power, as a word of 64 bits whose highest bit is the coefficient of 1."""
    found = 1
    for _ in range(exponent):
        found <<= 1
        found ^= POLYNOMIAL * (found >> 32)
    return int(f"{found:064b}"[::-1], 2)


@intrinsic(type(None), types.void(types.voidptr, types.voidptr, types.uint64))
def fold(builder: ir.IRBuilder, state: ir.Value, data: ir.Value, steps: ir.Value) -> None:
    """Make of `STEP` bytes at `state`, before so many times `STEP` bytes of data, `STEP` bytes with the same remainder.

    Of 16 bytes the first eight are the higher coefficients. A product of two words is that of their polynomials and x.
    """
    byte, number = ir.IntType(8), ir.IntType(64)
    vector = ir.VectorType(number, WORDS)
    name = "llvm.x86.pclmulqdq" + (".512" if WORDS > 2 else "")
    product = ir.FunctionType(vector, [vector, vector, byte])
    product = cgutils.get_or_insert_function(builder.module, product, name)  # type: ignore[no-untyped-call]
    weights = ir.Constant(vector, [power(8 * STEP + 63), power(8 * STEP - 1)] * (WORDS // 2))
    state, data = (builder.bitcast(place, vector.as_pointer()) for place in (state, data))
    places = [builder.gep(state, [number(k)]) for k in range(VECTORS)]
    with builder.goto_entry_block():
        sums = [builder.alloca(vector) for _ in places]
    for sum, place in zip(sums, places, strict=True):
        builder.store(builder.load(place, align=1), sum)
    with cgutils.for_range(builder, steps) as loop:
        first = builder.mul(loop.index, number(VECTORS))
        for k, sum in enumerate(sums):
            before, found = builder.load(sum), builder.load(builder.gep(data, [builder.add(first, number(k))]), align=1)
            for halves in (0x00, 0x11):
                found = builder.xor(found, builder.call(product, [before, weights, byte(halves)]))
            builder.store(found, sum)
    for sum, place in zip(sums, places, strict=True):
        builder.store(builder.load(sum), place, align=1)


@outer
def _fold(state: Integers, data: Integers, steps: Integer) -> None:
    fold(pointer(np.uint64(state.ctypes.data)), pointer(np.uint64(data.ctypes.data)), np.uint64(steps))


def crc32(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """The same as zlib's, of at least `STEP` bytes."""
    if not WORDS:
        return zlib.crc32(data, before)
    found = np.frombuffer(data, np.uint8)
    state, steps = found[:STEP].copy(), len(found) // STEP - 1
    state[:4] ^= np.frombuffer((~before & 0xFFFFFFFF).to_bytes(4, "little"), np.uint8)
    _fold(state, found[STEP:], steps)
    whole = zlib.crc32(state.tobytes(), 0xFFFFFFFF)  # which begins with no bit set
    return zlib.crc32(memoryview(data)[STEP * (1 + steps) :], whole)
