"""Loads of shared memory whose addresses are those of an earlier load of their basic block, moved by a number of bytes,
as unrolled loops have them.

Where that one's request was like its last one, so is this one: every execution of the block makes both, for the same
lanes. So its cost is known, and where the lanes of each half of the warp are in one place or (of loads of one word)
neighbours, its first address tells all. Only whether these lie in shared memory is looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from banksim.machine.llvm import ir, shared_requests
from banksim.machine.llvm.data_movement import HALF, joined
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory import MemoryFunctions
from banksim.machine.llvm.memory_call import arguments_of
from banksim.machine.llvm.values import INT, POINTER, VOID, WORDS, Value, splat, vector
from banksim.machine.state import CONTEXT, MEMO

Terms = tuple[tuple[str, int], ...]
"""What an address is made of, but for a number: registers' values, with what they are multiplied by."""
Called = Callable[[ir.Function, Sequence[ir.Value], int], tuple[Value, ...]]
"""What a memory function gives for its arguments: words of a load of so many bytes."""


class Places(NamedTuple):
    """Where a load is that others are shifted against: its first address, where each half of its lanes begins, and at
    how many first addresses, from the first of shared memory on, all lanes are within it (none: each looks itself);
    which word behind its half's beginning each lane of a half loads, where it loads one."""

    first: ir.Value
    room: ir.Value
    halves: tuple[ir.Value, ir.Value]
    order: ir.Value


@dataclass
class Known:
    """A load that was met, and the hits that its request had before."""

    arguments: Sequence[ir.Value]
    hits: ir.Value
    distance: int
    places: Places | None = None


class ShiftedLoads:
    """The loads of one basic block."""

    def __init__(self, emit: Emitter, memory: MemoryFunctions) -> None:
        self.e, self.memory = emit, memory
        self.known: dict[tuple[Terms, int], Known] = {}

    def load(
        self, arguments: Sequence[ir.Value], terms: Terms, distance: int, width: int, called: Called
    ) -> tuple[Value, ...]:
        """The words of a load of `width` bytes at the sum of `terms` and `distance`; `arguments`: those of the memory
        function."""
        known = self.known.get((terms, width))
        if known is None or (distance - known.distance) % width:
            self.known[terms, width] = Known(arguments, self.hits(arguments), distance)
            return called(self.memory.load("shared", width, False), arguments, width)
        if known.places is None:
            known.places = self.places(known)
        first, room, halves, order = known.places
        e, b, by = self.e, self.e.b, distance - known.distance
        at_once, apart, loaded = (b.append_basic_block(name) for name in ("at_once", "apart", "loaded"))
        place = b.add(first, INT[32](by - self.memory.shared_start & 0xFFFFFFFF))
        b.cbranch(b.icmp_unsigned("<", place, room), at_once, apart, likely=True)
        b.position_at_end(at_once)
        e.increase(e.field(arguments[2], MEMO, "hits"), INT[64](1))
        starts = [e.at(half, by) for half in halves]
        one = [joined(b, [self.half(start, order, width, word) for start in starts]) for word in range(width // 4)]
        b.branch(loaded)
        b.position_at_end(apart)
        seldom = [*arguments[:-1], known.arguments[-1], INT[32](by & 0xFFFFFFFF)]
        other, end = called(self.apart(width), seldom, width), b.block
        b.branch(loaded)
        b.position_at_end(loaded)
        either = [b.phi(WORDS) for _ in one]
        for v, u, w in zip(either, one, other, strict=True):
            v.add_incoming(u, at_once)
            v.add_incoming(w.ir, end)
        return tuple(v.like(u) for v, u in zip(other, either, strict=True))

    def apart(self, width: int) -> ir.Function:
        """The function that loads so many bytes, its last argument, behind the addresses: calls of it are seldom made,
        and short."""

        def build(*arguments: ir.Value) -> None:
            b, (*others, addresses, by) = self.e.b, arguments
            found = b.call(self.memory.load("shared", width, False), [*others, b.add(addresses, splat(b, by))])
            b.ret(found) if width <= 4 else b.ret_void()

        kinds = [*arguments_of("shared"), INT[32]]
        return self.e.kept(self.memory.kind, f"shifted_load_{width}", WORDS if width <= 4 else VOID, kinds, build)

    def hits(self, arguments: Sequence[ir.Value]) -> ir.Value:
        return self.e.get(arguments[2], MEMO, "hits")

    def places(self, known: Known) -> Places:
        """Where the load is, if others follow from it. Its request was like its last one if it has one hit more than
        the one or more before: a fault adds none, and with a new request they begin anew."""
        e, b, (context, _, memo, *_) = self.e, self.e.b, known.arguments
        again = b.icmp_unsigned("==", self.hits(known.arguments), b.add(known.hits, INT[64](1)))
        again = b.and_(again, b.icmp_unsigned("!=", known.hits, INT[64](0)))
        again = b.and_(again, b.icmp_signed("<=", e.get(context, CONTEXT, "probing"), INT[64](0)))
        room = b.select(again, e.get(memo, MEMO, "room"), INT[32](0))
        first = b.extract_element(known.arguments[-1], INT[32](0))
        one = e.at(e.get(context, CONTEXT, "shared", as_type=POINTER), b.zext(first, INT[64]))
        together = e.empty(e.get(memo, MEMO, "relative", 1))
        order = b.select(together, vector([0] * HALF), vector(range(HALF)))
        return Places(first, room, (one, e.at(one, b.zext(e.get(memo, MEMO, "second"), INT[64]))), order)

    def half(self, start: ir.Value, order: ir.Value, width: int, word: int) -> ir.Value:
        """What half of the lanes load: in one place, or neighbours."""
        if shared_requests.FURTHEST[width]:
            return self.e.loaded_half(start, order)
        return splat(self.e.b, self.e.b.load(self.e.at(start, 4 * word), typ=INT[32]), HALF)
