"""Copies from global to shared memory that a warp does not wait for.

They are simulated as if each were done at once: a program that waits for its copies, as it must, sees no difference.
"""

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.loads_and_stores import CACHE, width
from banksim.machine.operations.table import operation
from banksim.machine.operations.warp import alike_lanes
from banksim.requests.copies import LINE, PIECE
from banksim.requests.kinds import LANES, LINE_BIT, SOURCE_BIT, UNREAD


@operation("LDGSTS", f"64 128 BYPASS ZFILL {CACHE}")
def copy(x: Engine, i: Instruction) -> None:
    """LDGSTS copies 4, 8 or 16 bytes for each lane, or zeros where a predicate operand does not hold. With .ZFILL, the
    last bytes of the copy are zeros, and the source address is off by as many bytes."""
    to, source, *others = i.operands
    size, address = width(i), x.address(source, True)
    reads = next((x.predicate(o) for o in others), None)
    if "ZFILL" in i.modifiers:
        words = part(x, i, address, size, reads)
    else:
        words = x.fetch(Access(i, "global", address, size, reads))
        if reads is not None:
            words = tuple(x.where(reads, v, x.const(0)) for v in words)
    other, aligned = None, x.low(address) - (x.low(address) & size - 1)
    bits = (aligned - x.lane() * size) >> 2 << SOURCE_BIT
    if "BYPASS" in i.modifiers:
        bits = bits | (first_of_line(x, address) - (x.lane() & LANES - LINE // PIECE) & LANES - 1) << LINE_BIT
        if reads is not None and "ZFILL" not in i.modifiers:
            bits = bits | x.where(reads, x.const(0), x.const(UNREAD))
            other = x.ballot(reads) != x.active(), "cp_async_bypass_zfill"
    elif reads is not None and "ZFILL" in i.modifiers:
        bits = bits | x.where(reads, x.const(0), x.const(UNREAD))
    elif reads is not None:
        other = x.ballot(reads) != x.active(), "cp_async_gather"
    x.put(Access(i, "shared", x.address(to, False), size), words, other, source=bits)


def first_of_line(x: Engine, address: Value) -> Value:
    """The first executing lane that reads from the same line of global memory as each lane."""
    line = address >> LINE.bit_length() - 1
    alike = alike_lanes(x, x.low(line), x.high(line))
    return x.popcount((alike & -alike) - 1)


def part(x: Engine, i: Instruction, address: Value, size: int, reads: Value | None) -> tuple[Value, ...]:
    """The words of a copy whose last bytes are not read: there may be no memory."""
    missing = x.low(address) & size - 1
    start, words = address - x.zext(missing), [x.const(0)] * (size // 4)
    for n in range(size):
        there = missing < size - n
        if reads is not None:
            there = there & reads
        (byte,) = x.fetch(Access(i, "global", start + n, 1, there))
        words[n // 4] = words[n // 4] | x.where(there, byte, x.const(0)) << 8 * (n % 4)
    return tuple(words)
