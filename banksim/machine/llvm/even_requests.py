"""Requests to global memory whose lanes lie at even distances, as most do: neighbours, all in one place, or a member of
each of an array's structures. They are checked as one stretch of a buffer, and loaded by whole vectors: a gather, and
checks of each lane, take several times as long. Any other request, and any that might be beyond its buffer, is left to
the code behind.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from banksim.kernels.global_addresses import AddressMap
from banksim.kernels.kernel import BYTES
from banksim.machine.codes import WRITTEN
from banksim.machine.llvm import ir
from banksim.machine.llvm.buffers import find_buffer
from banksim.machine.llvm.data_movement import put_result
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall
from banksim.machine.llvm.scratch import MET, MET_BYTES, MET_SITES
from banksim.machine.llvm.values import INT, LANES, POINTER, WORDS, splat, vector
from banksim.machine.state import CONTEXT

APART = {4: (8, 12, 16), 8: (8, 16), 16: (16, 32)}
"""Distances of lanes in bytes at which blocks are loaded of which they have a part, by the bytes that each loads."""


class EvenRequest:
    """A request that may be even. `every_lane`: all lanes of the warp access memory."""

    def __init__(self, e: Emitter, layout: AddressMap, a: MemoryCall, width: int, every_lane: bool) -> None:
        self.e, self.a, self.width, self.every_lane = e, a, width, every_lane
        b = e.b
        assert a.upper is not None
        self.upper = a.upper
        self.lane: ir.Value
        self.lane, second, last = (INT[32](0), INT[32](1), INT[32](LANES - 1)) if every_lane else self.lanes_of_mask()
        self.lanes, self.all_lanes = b.sub(second, self.lane), b.sub(last, self.lane)
        self.first = b.extract_element(a.address, self.lane)
        self.step = b.sub(b.extract_element(a.address, second), self.first)
        self.window = b.extract_element(a.upper, self.lane)
        self.met = self.buffer(layout)
        self.base, self.size = b.load(e.at(self.met, 8), typ=POINTER), b.load(e.at(self.met, 16), typ=INT[64])
        aligned = b.icmp_unsigned("==", b.and_(self.first, INT[32](width - 1)), INT[32](0))
        notes = b.ptrtoint(e.get(a.context, CONTEXT, "notes", as_type=POINTER), INT[64])
        self.plain = b.and_(aligned, b.icmp_unsigned("==", notes, INT[64](0)))

    def lanes_of_mask(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The first, the second (the first again, where it is the only one), the last."""
        e, b, mask = self.e, self.e.b, self.a.mask
        first, others = e.first_lane(mask), b.and_(mask, b.sub(mask, INT[32](1)))
        second = b.select(e.empty(others), first, e.first_lane(others))
        return first, second, b.sub(INT[32](LANES - 1), e.call("llvm.ctlz.i32", INT[32], mask, INT[1](0)))

    def buffer(self, layout: AddressMap) -> ir.Value:
        """The entry of the buffer in which the first lane is, of no bytes where there is none: its upper word and
        number, where it lies, its bytes. Mostly it is that of the instruction's last request: looking it up takes
        longer than all the rest."""
        e, b, a = self.e, self.e.b, self.a
        entry = b.mul(b.and_(a.pc, INT[32](BYTES * (MET_SITES - 1))), INT[32](MET_BYTES // BYTES))
        met = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), b.add(b.zext(entry, INT[64]), INT[64](MET)))
        other = b.icmp_unsigned("!=", b.load(met, typ=INT[32]), self.window)
        with b.if_then(other, likely=False):
            known, number, base, size = find_buffer(e, a.context, layout, self.window)
            b.store(self.window, met)
            b.store(number, e.at(met, 4))
            b.store(base, e.at(met, 8))
            b.store(b.select(known, size, INT[64](0)), e.at(met, 16))
        return met

    @contextmanager
    def apart(self, distance: int, block: bool = False) -> Iterator[ir.Value]:
        """Builds what is done if lanes lie so far apart, within a buffer, from where lane 0 would be, which is given.
        `block`: so do those that access nothing, and what lies behind each up to the next."""
        e, b, a = self.e, self.e.b, self.a
        begins = b.icmp_unsigned("==", self.step, b.mul(self.lanes, INT[32](distance)))
        with b.if_then(b.and_(self.plain, begins)):
            ahead = b.mul(self.lane, INT[32](distance))
            steps = vector([distance * lane for lane in range(LANES)])
            alike = b.and_(
                b.icmp_unsigned("==", self.upper, splat(b, self.window)),
                b.icmp_unsigned("==", a.address, b.add(splat(b, b.sub(self.first, ahead)), steps)),
            )
            alike = e.everywhere(alike, b.not_(a.mask))
            start = b.sub(b.zext(self.first, INT[64]), b.zext(ahead, INT[64]))
            if block:
                end = b.add(start, INT[64](LANES * distance))
                alike = b.and_(alike, b.icmp_unsigned(">=", self.first, ahead))
            else:
                reach = b.add(b.mul(self.all_lanes, INT[32](distance)), INT[32](self.width))
                end = b.add(b.zext(self.first, INT[64]), b.zext(reach, INT[64]))
            with b.if_then(b.and_(alike, b.icmp_unsigned("<=", end, self.size))):
                yield e.at(self.base, start)

    def load(self) -> None:
        """Returns from the function with what an even request loads."""
        e, b = self.e, self.e.b
        words = self.width // 4
        if words == 1:
            with self.apart(4) as start:
                lanes = e.as_bools(self.a.mask)
                b.ret(b.load(start, typ=WORDS, align=4) if self.every_lane else e.masked_load(start, lanes))
        with self.apart(0) as start:
            self.give([splat(b, b.load(e.at(start, 4 * word), typ=INT[32])) for word in range(words)])
        for distance in APART[self.width]:
            with self.apart(distance, block=True) as start:
                step = distance // 4
                found = b.load(start, typ=ir.VectorType(INT[32], step * LANES), align=4)
                nothing = ir.Constant(found.type, ir.UNDEFINED)
                places = [vector([lane * step + word for lane in range(LANES)]) for word in range(words)]
                self.give([b.shuffle_vector(found, nothing, one) for one in places])

    def give(self, values: Sequence[ir.Value]) -> None:
        if len(values) == 1:
            self.e.b.ret(values[0])
            return
        for word, v in enumerate(values):
            put_result(self.e, self.a, word, v, self.every_lane)
        self.e.b.ret_void()

    def store(self, values: Sequence[ir.Value]) -> None:
        """Returns from the function if lanes that store are neighbours; where each stores several words, only if all
        do."""
        e, b = self.e, self.e.b
        if len(values) > 1 and not self.every_lane:
            return
        with self.apart(self.width) as start:
            if self.every_lane:
                b.store(self.woven(values), start, align=4)
            else:
                e.masked_store(start, e.as_bools(self.a.mask), values[0])
            touched = e.get(self.a.context, CONTEXT, "touched", as_type=POINTER)
            number = b.load(e.at(self.met, 4), typ=INT[32])
            e.store(INT[8](WRITTEN), e.at(touched, b.zext(number, INT[64])))
            b.ret_void()

    def woven(self, values: Sequence[ir.Value]) -> ir.Value:
        """The words of each lane behind those of the one below."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        return self.woven([self.paired(*both) for both in zip(values[:half], values[half:], strict=True)])

    def paired(self, one: ir.Value, other: ir.Value) -> ir.Value:
        """Elements of two vectors in turn."""
        assert isinstance(one.type, ir.VectorType)
        count = one.type.count
        return self.e.b.shuffle_vector(one, other, vector([n // 2 + count * (n % 2) for n in range(2 * count)]))
