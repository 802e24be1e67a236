"""What the parts of a memory function share while it is built."""

from dataclasses import dataclass
from typing import NamedTuple

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.values import INT, LANES, LONGS, POINTER, WORDS, vector

NARROW = ("shared", "cluster", "barrier", "local")
"""Spaces whose addresses have 32 bits. "cluster": the shared memory of any block of the cluster."""
COMMON = [POINTER, POINTER, POINTER, INT[32], INT[32]]
Values = tuple[ir.Value, ...]


@dataclass
class MemoryCall:
    """The arguments that every memory function has, while it is built. `address`: that of each lane, of one of 64
    bits the lower word; `upper`: the upper words of these."""

    context: ir.Value
    warp: ir.Value
    memo: ir.Value
    pc: ir.Value
    mask: ir.Value
    address: ir.Value
    upper: ir.Value | None = None

    def passed_on(self, mask: ir.Value, *address: ir.Value) -> list[ir.Value]:
        """The arguments of another memory function, for these lanes and addresses."""
        return [self.context, self.warp, self.memo, self.pc, mask, *address]

    def whole(self, b: Builder) -> ir.Value:
        """Addresses of 64 bits."""
        lower = b.zext(self.address, LONGS)
        if self.upper is None:
            return lower
        return b.or_(lower, b.shl(b.zext(self.upper, LONGS), vector([32] * LANES, 64)))


class Place(NamedTuple):
    """Where the lanes of a request access memory, checked: a base, 32-bit offsets from it, that of the first lane.

    `interleaved`: in local memory the same word of all lanes of a warp lies together, as on a GPU."""

    base: ir.Value
    offsets: ir.Value
    first: ir.Value
    interleaved: bool


def arguments_of(space: str) -> list[ir.Type]:
    """The types of the arguments that all functions have that access a space."""
    return [*COMMON, *[WORDS] * (1 if space in NARROW else 2)]


def taken(space: str, arguments: Values) -> tuple[MemoryCall, Values]:
    """The arguments of a function, and the values behind those that all have."""
    count = len(arguments_of(space))
    return MemoryCall(*arguments[:count]), arguments[count:]
