"""Whether 32 requests of one kind are free of conflicts, in a quarter of the time that it takes to judge them.

A lane has a bit at (part, group). If all 32 lanes have different bits, no two lanes of a part want the same group.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.banks.compiled.many_requests import (
    BLOCKS,
    GROUPS,
    HALF,
    I32,
    I64,
    LANES,
    PART,
    REQUESTS,
    SHIFT,
    in_each_block,
    loaded,
)
from banksim.banks.compiled.vectors import Variable, Words, some
from banksim.system.jit import intrinsic

SIDES = [
    (in_each_block([0, 2, 16, 18]), in_each_block([1, 3, 17, 19])),
    (
        [4 * b + k for b in (0, 2, 4, 6) for k in range(BLOCKS)],
        [4 * b + k for b in (1, 3, 5, 7) for k in range(BLOCKS)],
    ),
]
"""Words of two vectors that are joined with one another: within blocks of four, and whole blocks."""


def everywhere(builder: ir.IRBuilder, number: ir.Value) -> Words:
    one = Words(builder, builder.insert_element(ir.Constant(HALF, ir.Undefined), number, ir.Constant(I32, 0)))
    return one.picked(one, [0] * HALF.count)


def joined(vectors: list[Words]) -> Words:
    """The unions of the words of each vector, one for each of sixteen."""
    for within in (SIDES[0], SIDES[0], SIDES[1], SIDES[1]):
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [a.picked(b, within[0]) | a.picked(b, within[1]) for a, b in pairs]
    return vectors[0]


@intrinsic(int, types.uint64(types.voidptr, types.uint32))
def free_of_conflicts(builder: ir.IRBuilder, rows: ir.Value, record: ir.Value) -> ir.Value:
    """Whether `REQUESTS` requests of which all lanes are active are free of conflicts, from the places of their rows
    and their record, whose parts have as many lanes as groups. That is bit 32; those below are the union of all
    addresses."""
    rows = builder.bitcast(rows, I64.as_pointer())
    all_fields = everywhere(builder, record)
    shift, groups, part = ((all_fields >> first) & ((1 << bits) - 1) for first, bits in (SHIFT, GROUPS, PART))
    one = all_fields.like(1)
    lanes = [Words(builder, ir.Constant(HALF, [*range(first, first + HALF.count)])) for first in (0, HALF.count)]
    first_bits = [(lane >> part) << groups for lane in lanes]
    low = (one << groups) - 1
    union, shared = Variable(one ^ one), Variable(one ^ one)
    with cgutils.for_range(builder, ir.Constant(I64, REQUESTS // HALF.count)) as loop:
        at = builder.gep(rows, [builder.mul(loop.index, ir.Constant(I64, HALF.count))])
        bits = []
        for request in range(HALF.count):
            place = builder.load(builder.gep(at, [ir.Constant(I32, request)]))
            both = []
            for half, first_bit in enumerate(first_bits):
                offset = ir.Constant(I64, 4 * HALF.count * half)
                address = loaded(builder, builder.inttoptr(builder.add(place, offset), cgutils.voidptr_t), HALF)
                union.set(union.get() | address)
                both.append(Words(builder, one.call("fshl", one, ((address >> shift) & low) | first_bit)))
            bits.append(both[0] | both[1])
        shared.set(shared.get() | ~joined(bits))
    free = builder.not_(some(builder, shared.get().which("!=", 0)))
    found = builder.zext(union.get().union(), I64)
    return builder.or_(found, builder.shl(builder.zext(free, I64), ir.Constant(I64, LANES)))
