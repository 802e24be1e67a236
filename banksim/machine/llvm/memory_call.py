"""What the parts of a memory function share while it is built."""

from dataclasses import dataclass
from typing import NamedTuple

from banksim.machine.llvm import ir


@dataclass
class MemoryCall:
    """The arguments that every memory function has, while it is built."""

    context: ir.Value
    warp: ir.Value
    memo: ir.Value
    pc: ir.Value
    address: ir.Value
    mask: ir.Value


class Place(NamedTuple):
    """Where the lanes of a request access memory, checked: a base, 32-bit offsets from it, that of the first lane.

    `interleaved`: in local memory the same word of all lanes of a warp lies together, as on a GPU."""

    base: ir.Value
    offsets: ir.Value
    first: ir.Value
    interleaved: bool
