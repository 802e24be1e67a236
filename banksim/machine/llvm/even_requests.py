"""Requests to global memory that lie in one buffer, as most do, checked and moved at once: as one stretch where lanes
lie at even distances (neighbours, all in one place, a member of each of an array's structures), by rows where the lanes
of each row of eight do so (blocks of 8 or 16 threads in a row), else each lane by itself, as a gather or scatter
does it. Any request that may leave its buffer goes to the code behind, whose checks take several times as long.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from banksim.kernels.global_addresses import AddressMap
from banksim.kernels.kernel import BYTES
from banksim.machine.codes import READ, WRITTEN
from banksim.machine.llvm import ir
from banksim.machine.llvm.buffers import find_buffer, note_use
from banksim.machine.llvm.data_movement import extended, put_result, scattered
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall
from banksim.machine.llvm.scratch import MET, MET_BYTES, MET_SITES, STORE_MET
from banksim.machine.llvm.values import INT, LANES, POINTER, VOID, WORDS, splat, typed, vector
from banksim.machine.state import CONTEXT

BLOCKS = {1: (), 2: (), 4: (8, 12, 16), 8: (8, 16), 16: (16, 32)}
"""Distances of lanes in bytes at which blocks are loaded of which they have a part, by the bytes that each loads."""
ROW = 8
"""Lanes of a row."""


class EvenRequest:
    """A request that may lie in one buffer. `use`: READ or WRITTEN; `every_lane`: all lanes access memory."""

    def __init__(self, e: Emitter, layout: AddressMap, a: MemoryCall, width: int, use: int, every_lane: bool) -> None:
        self.e, self.a, self.width, self.use, self.every_lane = e, a, width, use, every_lane
        b = e.b
        assert a.upper is not None
        self.lane: ir.Value
        self.lane, second, last = (INT[32](0), INT[32](1), INT[32](LANES - 1)) if every_lane else self.lanes_of_mask()
        self.first = b.extract_element(a.address, self.lane)
        self.step = b.sub(b.extract_element(a.address, second), self.first)
        if not every_lane:
            lanes = b.sub(second, self.lane)
            self.step = b.sdiv(self.step, b.select(e.empty(lanes), INT[32](1), lanes))
        self.all_lanes = b.sub(last, self.lane)
        self.window = b.extract_element(a.upper, self.lane)
        self.met = self.buffer(layout)
        self.base, self.size = b.load(e.at(self.met, 8), typ=POINTER), b.load(e.at(self.met, 16), typ=INT[64])
        notes = b.ptrtoint(e.get(a.context, CONTEXT, "notes", as_type=POINTER), INT[64])
        alike = self.everywhere(b.icmp_unsigned("==", a.upper, splat(b, self.window)))
        self.plain = b.and_(alike, b.icmp_unsigned("==", notes, INT[64](0)))

    def everywhere(self, condition: ir.Value) -> ir.Value:
        """Whether a condition holds in every lane that accesses memory."""
        return self.e.everywhere(condition, INT[32](0) if self.every_lane else self.e.b.not_(self.a.mask))

    def lanes_of_mask(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The first, the second (the first again, where it is the only one), the last."""
        e, b, mask = self.e, self.e.b, self.a.mask
        first, others = e.first_lane(mask), b.and_(mask, b.sub(mask, INT[32](1)))
        second = b.select(e.empty(others), first, e.first_lane(others))
        return first, second, b.sub(INT[32](LANES - 1), e.call("llvm.ctlz.i32", INT[32], mask, INT[1](0)))

    def buffer(self, layout: AddressMap) -> ir.Value:
        """The entry of the buffer in which the first lane is, of no bytes where there is none: its upper word and
        number, where it lies, its bytes. Mostly it is that of the instruction's last request: looking it up takes
        longer than all the rest. That a buffer is read is noted then: loads share their entries with no store."""
        e, b, a = self.e, self.e.b, self.a
        entry = b.mul(b.and_(a.pc, INT[32](BYTES * (MET_SITES - 1))), INT[32](MET_BYTES // BYTES))
        first = INT[64](MET if self.use == READ else STORE_MET)
        met = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), b.add(b.zext(entry, INT[64]), first))
        other = b.icmp_unsigned("!=", b.load(met, typ=INT[32]), self.window)
        with b.if_then(other, likely=False):
            known, number, base, size = find_buffer(e, a.context, layout, self.window)
            if self.use == READ:
                with b.if_then(known):
                    note_use(e, a, READ, number)
            b.store(self.window, met)
            b.store(number, e.at(met, 4))
            b.store(base, e.at(met, 8))
            b.store(b.select(known, size, INT[64](0)), e.at(met, 16))
        return met

    @contextmanager
    def even(self) -> Iterator[None]:
        """Builds what is done if all lanes lie at even distances, `step`, within the buffer."""
        e, b, width = self.e, self.e.b, self.width
        ahead = b.mul(self.step, self.lane)
        steps = b.mul(splat(b, self.step), vector(range(LANES)))
        alike = self.everywhere(b.icmp_unsigned("==", self.a.address, b.add(splat(b, b.sub(self.first, ahead)), steps)))
        low_bits = b.and_(b.or_(self.first, self.step), INT[32](width - 1))
        one, whole = b.zext(self.first, INT[64]), b.sext(self.step, INT[64])
        other = b.add(one, b.mul(whole, b.zext(self.all_lanes, INT[64])))
        ends = b.select(b.icmp_signed("<", whole, INT[64](0)), one, other)
        inside = b.and_(
            b.icmp_signed(">=", other, INT[64](0)), b.icmp_signed("<=", b.add(ends, INT[64](width)), self.size)
        )
        with b.if_then(b.and_(b.and_(self.plain, alike), b.and_(e.empty(low_bits), inside))):
            self.start = b.sub(one, b.mul(whole, b.zext(self.lane, INT[64])))
            self.ends = one, other
            yield

    @contextmanager
    def inside(self, beyond: int = 0) -> Iterator[None]:
        """Builds what is done if all lanes lie within the buffer, with so many bytes `beyond` the access of each."""
        b, width = self.e.b, self.width
        limit = b.trunc(b.sub(self.size, INT[64](width + beyond)), INT[32])
        fits = b.icmp_unsigned("<=", self.a.address, splat(b, limit))
        low_bits = b.and_(self.a.address, vector([width - 1] * LANES))
        fits = b.and_(fits, b.icmp_unsigned("==", low_bits, ir.Constant(WORDS, None)))
        large = b.icmp_unsigned(">=", self.size, INT[64](width + beyond))
        with b.if_then(b.and_(b.and_(self.plain, large), self.everywhere(fits))):
            yield

    @contextmanager
    def apart(self, distance: int) -> Iterator[ir.Value]:
        """Builds what is done with lanes that lie evenly so far apart, from where lane 0 would be, which is given."""
        with self.e.b.if_then(self.e.b.icmp_unsigned("==", self.step, INT[32](distance))):
            yield self.e.at(self.base, self.start)

    def load(self, signed: bool) -> None:
        """Returns from the function with what the request loads, if it lies in one buffer."""
        e, b, width = self.e, self.e.b, self.width
        words = max(width // 4, 1)
        with self.even():
            self.expect(self.ends)
            if width <= 4:
                with self.apart(width) as start:
                    b.ret(extended(e, self.neighbours(start), signed))
            with self.apart(0) as start:
                kind = INT[8 * min(width, 4)]
                values = [b.load(e.at(start, 4 * word), typ=kind) for word in range(words)]
                self.give([extended(e, splat(b, v), signed) for v in values])
            for distance in BLOCKS[width]:
                with self.apart(distance) as start:
                    end = b.add(self.start, INT[64](LANES * distance))
                    whole = b.and_(b.icmp_signed(">=", self.start, INT[64](0)), b.icmp_signed("<=", end, self.size))
                    with b.if_then(whole):
                        block = b.load(start, typ=ir.VectorType(INT[32], distance // 4 * LANES), align=4)
                        self.give(self.parts_of_block(block, distance // 4, words))
        if width > 4:
            with self.inside():
                self.give(self.parts_of_block(self.of_each_lane(words), words, words))
        else:
            with self.inside(beyond=4 - width):
                if width == 4 and self.every_lane:
                    self.rows()
                found = e.gather(self.base, self.a.address, e.as_bools(self.a.mask))
                b.ret(extended(e, b.trunc(found, typed("u", 8 * width, LANES)), signed))

    def expect(self, offsets: Sequence[ir.Value]) -> None:
        """Has memory fetched that lies as far behind these offsets as this request behind the instruction's last one:
        the next warp, or the next pass of a loop, mostly asks for that. (A place that is not there is not fetched.)"""
        e, b = self.e, self.e.b
        last = e.at(self.met, 24)
        way = b.sext(b.sub(self.first, b.load(last, typ=INT[32])), INT[64])
        b.store(self.first, last)
        for one in offsets:
            e.call("llvm.prefetch.p0", VOID, e.at(self.base, b.add(one, way)), INT[32](0), INT[32](3), INT[32](1))

    def neighbours(self, start: ir.Value) -> ir.Value:
        """What neighbours load, of up to four bytes each."""
        e, width = self.e, self.width
        kind = typed("u", 8 * width, LANES)
        if self.every_lane:
            return e.b.load(start, typ=kind, align=width)
        return e.call(f"masked_load_i{8 * width}", kind, start, e.as_bools(self.a.mask))

    def of_each_lane(self, words: int) -> ir.Value:
        """The words of each lane behind those of the one below, loaded lane by lane: a gather of each of the words
        takes longer. Lanes that access nothing load what the first does."""
        e, b, address = self.e, self.e.b, self.a.address
        if not self.every_lane:
            address = b.select(e.as_bools(self.a.mask), address, splat(b, self.first))
        places = [e.at(self.base, b.zext(b.extract_element(address, INT[32](n)), INT[64])) for n in range(LANES)]
        return self.joined([b.load(one, typ=ir.VectorType(INT[32], words), align=4) for one in places])

    def parts_of_block(self, found: ir.Value, step: int, words: int) -> list[ir.Value]:
        """The first words of each of 32 pieces of so many words, one behind the other."""
        nothing = ir.Constant(found.type, ir.UNDEFINED)
        places = [vector(range(word, step * LANES, step)) for word in range(words)]
        return [self.e.b.shuffle_vector(found, nothing, one) for one in places]

    def rows(self) -> None:
        """Returns with what is loaded if the lanes of each row are neighbours, or in one place."""
        e, b, address = self.e, self.e.b, self.a.address
        nothing = ir.Constant(WORDS, ir.UNDEFINED)
        starts = b.shuffle_vector(address, nothing, vector([lane // ROW * ROW for lane in range(LANES)]))
        steps = b.mul(splat(b, self.step), vector([lane % ROW for lane in range(LANES)]))
        with b.if_then(self.everywhere(b.icmp_unsigned("==", address, b.add(starts, steps)))):
            lanes = range(0, LANES, ROW)
            offsets = [b.zext(b.extract_element(address, INT[32](lane)), INT[64]) for lane in lanes]
            self.expect(offsets)
            places = [e.at(self.base, one) for one in offsets]
            with b.if_then(b.icmp_unsigned("==", self.step, INT[32](4))):
                parts = [b.load(one, typ=ir.VectorType(INT[32], ROW), align=4) for one in places]
                b.ret(self.joined(parts))
            with b.if_then(e.empty(self.step)):
                b.ret(self.joined([splat(b, b.load(one, typ=INT[32]), ROW) for one in places]))

    def joined(self, parts: list[ir.Value]) -> ir.Value:
        """Vectors one behind the other."""
        while len(parts) > 1:
            assert isinstance(parts[0].type, ir.VectorType)
            lanes = vector(range(2 * parts[0].type.count))
            parts = [self.e.b.shuffle_vector(*two, lanes) for two in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def give(self, values: Sequence[ir.Value]) -> None:
        if len(values) == 1:
            self.e.b.ret(values[0])
            return
        for word, v in enumerate(values):
            put_result(self.e, self.a, word, v, self.every_lane)
        self.e.b.ret_void()

    def store(self, values: Sequence[ir.Value]) -> None:
        """Returns from the function with what the request stores, if it lies in one buffer."""
        e, b, width = self.e, self.e.b, self.width
        narrow = [b.trunc(values[0], typed("u", 8 * width, LANES))] if width < 4 else values
        if len(values) == 1 or self.every_lane:
            with self.even(), self.apart(width) as start:
                if self.every_lane:
                    b.store(self.woven(narrow), start, align=min(width, 4))
                else:
                    e.call(f"masked_store_i{8 * width}", VOID, start, e.as_bools(self.a.mask), narrow[0])
                self.touch()
        with self.inside():
            scattered(e, self.a, self.base, self.a.address, width, narrow)
            self.touch()

    def touch(self) -> None:
        """Notes that the buffer is written, and returns."""
        note_use(self.e, self.a, WRITTEN, self.e.b.load(self.e.at(self.met, 4), typ=INT[32]))
        self.e.b.ret_void()

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
