"""How loads and stores move their data, as code of the kernel: as one vector where the lanes are neighbours, by a
broadcast where they have one address, the same half by half where each half of the warp is so (rows of sixteen
elements), else by gather or scatter, which take several times as long."""

from collections.abc import Sequence

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall, Place
from banksim.machine.llvm.scratch import RESULT, ROW
from banksim.machine.llvm.values import INT, LANES, POINTER, WORDS, splat, typed, vector
from banksim.machine.state import CONTEXT


def extended(e: Emitter, v: ir.Value, signed: bool) -> ir.Value:
    if v.type == WORDS:
        return v
    return (e.b.sext if signed else e.b.zext)(v, WORDS)


def interleaved(b: Builder, offsets: ir.Value, word: int = 0) -> ir.Value:
    """Addresses of local memory, in which the same word of all lanes of a warp lies together, as on a GPU."""
    plain = b.add(offsets, vector([4 * word] * LANES)) if word else offsets
    whole = b.shl(b.and_(plain, vector([~3] * LANES)), vector([5] * LANES))
    byte = b.and_(plain, vector([3] * LANES))
    return b.add(b.add(whole, byte), vector([4 * lane for lane in range(LANES)]))


def move_in(e: Emitter, a: MemoryCall, at: Place, width: int, signed: bool) -> None:
    """Write the code that loads, and returns what it loaded."""
    b = e.b
    lanes = e.as_bools(a.mask)
    if at.interleaved:
        if width >= 4:
            with b.if_then(are_in_one_place(e, a, at)):
                found = [e.masked_load(row(e, at, word), lanes) for word in range(width // 4)]
                if width == 4:
                    b.ret(found[0])
                else:
                    for word, v in enumerate(found):
                        put_result(e, a, word, v)
                    b.ret_void()
        if width <= 4:
            b.ret(extended(e, e.gather(at.base, interleaved(b, at.offsets), lanes, 8 * width), signed))
            return
        for word in range(width // 4):
            put_result(e, a, word, e.gather(at.base, interleaved(b, at.offsets, word), lanes))
        b.ret_void()
        return
    if width < 4:
        b.ret(extended(e, e.gather(at.base, at.offsets, lanes, 8 * width), signed))
        return
    agree = are_in_one_place(e, a, at)
    if width == 4:
        start, neighbours = are_neighbours(e, a, at, 4)
        with b.if_then(neighbours):
            b.ret(e.masked_load(e.at(at.base, start), lanes))
        with b.if_then(agree):
            b.ret(splat(b, b.load(e.at(at.base, b.zext(at.first, INT[64])), typ=INT[32])))
        halves = [Half(e, a, at, number) for number in range(2)]
        with b.if_then(b.and_(*(half.neighbours for half in halves))):
            b.ret(joined(b, [half.loaded(e) for half in halves]))
        with b.if_then(b.and_(*(half.agree for half in halves))):
            b.ret(joined(b, [half.broadcast(e) for half in halves]))
        b.ret(e.gather(at.base, at.offsets, lanes))
        return
    words = width // 4
    start, neighbours = are_neighbours(e, a, at, width)
    with b.if_then(b.and_(neighbours, b.icmp_signed("==", a.mask, INT[32](-1)))):
        block = b.load(e.at(at.base, start), typ=ir.VectorType(INT[32], words * LANES), align=4)
        for word in range(words):
            order = vector([lane * words + word for lane in range(LANES)])
            put_result(e, a, word, b.shuffle_vector(block, ir.Constant(block.type, ir.UNDEFINED), order), whole=True)
        b.ret_void()
    halves = [Half(e, a, at, number) for number in range(2)]
    with b.if_then(b.and_(*(half.agree for half in halves))):
        for word in range(words):
            put_result(e, a, word, joined(b, [half.broadcast(e, word) for half in halves]))
        b.ret_void()
    few_addresses(e, a, at, words)


HALF = LANES // 2


class Half:
    """Half of a request's lanes, and where they access memory: `neighbours`, each 4 bytes behind the one below, from
    `start` on; or `agree`, all at `first`."""

    def __init__(self, e: Emitter, a: MemoryCall, at: Place, number: int) -> None:
        b = e.b
        numbers = vector(range(HALF * number, HALF * (number + 1)))
        offsets = b.shuffle_vector(at.offsets, ir.Constant(WORDS, ir.UNDEFINED), numbers)
        mask = b.trunc(b.lshr(a.mask, INT[32](HALF * number)), INT[16])
        self.lanes = b.bitcast(mask, ir.VectorType(INT[1], HALF))
        lane = b.and_(b.zext(e.call("llvm.cttz.i16", INT[16], mask, INT[1](0)), INT[32]), INT[32](HALF - 1))
        # A half that has no lane is where the first lane of the other is: nothing lies beyond what was checked.
        first = b.select(b.icmp_unsigned("==", mask, INT[16](0)), at.first, b.extract_element(offsets, lane))
        ahead = b.mul(lane, INT[32](4))
        steps = vector([4 * one for one in range(HALF)])
        self.first = e.at(at.base, b.zext(first, INT[64]))
        self.start = e.at(at.base, b.sub(b.zext(first, INT[64]), b.zext(ahead, INT[64])))
        self.neighbours = self.all(b, offsets, b.add(splat(b, b.sub(first, ahead), HALF), steps))
        self.agree = self.all(b, offsets, splat(b, first, HALF))

    def loaded(self, e: Emitter) -> ir.Value:
        """What neighbours load."""
        zeros = ir.Constant(ir.VectorType(INT[32], HALF), None)
        return e.call("llvm.masked.load.v16i32.p0", zeros.type, self.start, INT[32](4), self.lanes, zeros)

    def broadcast(self, e: Emitter, word: int = 0) -> ir.Value:
        """What lanes load that agree: one of their words."""
        return splat(e.b, e.b.load(e.at(self.first, 4 * word), typ=INT[32]), HALF)

    def all(self, b: Builder, offsets: ir.Value, expected: ir.Value) -> ir.Value:
        """Whether all lanes have the offsets expected."""
        other = b.and_(b.icmp_unsigned("!=", offsets, expected), self.lanes)
        return b.icmp_unsigned("==", b.bitcast(other, INT[16]), INT[16](0))


def joined(b: Builder, halves: list[ir.Value]) -> ir.Value:
    """The lanes of both halves."""
    low, high = halves
    return b.shuffle_vector(low, high, vector(range(LANES)))


def are_neighbours(e: Emitter, a: MemoryCall, at: Place, width: int) -> tuple[ir.Value, ir.Value]:
    """(where lane 0 would be, be it before the base; whether every lane is `width` bytes behind the one below)."""
    b = e.b
    ahead = b.mul(e.first_lane(a.mask), INT[32](width))
    start = b.sub(b.zext(at.first, INT[64]), b.zext(ahead, INT[64]))
    expected = b.add(splat(b, b.sub(at.first, ahead)), vector([width * lane for lane in range(LANES)]))
    return start, e.everywhere(b.icmp_unsigned("==", at.offsets, expected), b.not_(a.mask))


def are_in_one_place(e: Emitter, a: MemoryCall, at: Place) -> ir.Value:
    """Whether every lane has the same address."""
    b = e.b
    return e.everywhere(b.icmp_unsigned("==", at.offsets, splat(b, at.first)), b.not_(a.mask))


def row(e: Emitter, at: Place, word: int) -> ir.Value:
    """Where all lanes have a word of local memory whose addresses are one place."""
    start = e.b.shl(e.b.zext(at.first, INT[64]), INT[64](5))
    return e.at(at.base, e.b.add(start, INT[64](word * ROW)))


def put_result(e: Emitter, a: MemoryCall, word: int, v: ir.Value, whole: bool = False) -> None:
    where = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), RESULT + ROW * word)
    if whole:
        e.store(v, where)
    else:
        e.masked_store(where, e.as_bools(a.mask), v)


def few_addresses(e: Emitter, a: MemoryCall, at: Place, words: int) -> None:
    """Wide loads are mostly of few different places: broadcast each of up to four, gather the rest."""
    b = e.b
    scratch = e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
    start = b.block
    loop, gather, end = (b.append_basic_block(n) for n in ("places", "gather", "end"))
    b.branch(loop)
    b.position_at_end(loop)
    left, turn = b.phi(INT[32]), b.phi(INT[32])
    left.add_incoming(a.mask, start)
    turn.add_incoming(INT[32](0), start)
    place = b.extract_element(at.offsets, e.first_lane(left))
    # Lanes that are not asked for may name the same byte of another memory, whose contents they have been given.
    lanes = b.and_(e.as_bools(left), b.icmp_unsigned("==", at.offsets, splat(b, place)))
    for word in range(words):
        one = b.load(e.at(at.base, b.zext(b.add(place, INT[32](4 * word)), INT[64])), typ=INT[32])
        e.masked_store(e.at(scratch, RESULT + ROW * word), lanes, splat(b, one))
    rest = b.and_(left, b.not_(e.as_mask(lanes)))
    again = b.append_basic_block("again")
    b.cbranch(e.empty(rest), end, again)
    b.position_at_end(again)
    left.add_incoming(rest, again)
    more = b.add(turn, INT[32](1))
    turn.add_incoming(more, again)
    b.cbranch(b.icmp_unsigned("==", more, INT[32](4)), gather, loop)
    b.position_at_end(gather)
    lanes = e.as_bools(rest)
    for word in range(words):
        v = e.gather(at.base, b.add(at.offsets, vector([4 * word] * LANES)), lanes)
        e.masked_store(e.at(scratch, RESULT + ROW * word), lanes, v)
    b.branch(end)
    b.position_at_end(end)
    b.ret_void()


def scattered(
    e: Emitter, a: MemoryCall, base: ir.Value, offsets: ir.Value, width: int, values: Sequence[ir.Value]
) -> None:
    """Write the code that stores each lane's values. Where lanes write the same bytes, the lowest lane of the last part
    of the request wins (measured on one H200): a scatter writes lanes in their order, so they are turned round."""
    part = 128 // max(width, 4)
    turned = vector([lane // part * part + part - 1 - lane % part for lane in range(LANES)])

    def turn(v: ir.Value) -> ir.Value:
        return e.b.shuffle_vector(v, ir.Constant(v.type, ir.UNDEFINED), turned)

    for word, v in enumerate(values):
        places = e.b.add(offsets, vector([4 * word] * LANES)) if word else offsets
        e.scatter(base, turn(places), turn(e.as_bools(a.mask)), turn(v))


def move_out(e: Emitter, a: MemoryCall, at: Place, width: int, values: tuple[ir.Value, ...]) -> None:
    """Write the code that stores and returns."""
    b = e.b
    lanes = e.as_bools(a.mask)
    if width < 4:
        narrow = b.trunc(values[0], typed("u", 8 * width, LANES))
        scattered(e, a, at.base, interleaved(b, at.offsets) if at.interleaved else at.offsets, width, [narrow])
        b.ret_void()
        return
    if at.interleaved:
        with b.if_then(are_in_one_place(e, a, at)):
            for word, v in enumerate(values):
                e.masked_store(row(e, at, word), lanes, v)
            b.ret_void()
        for word, v in enumerate(values):
            e.scatter(at.base, interleaved(b, at.offsets, word), lanes, v)
        b.ret_void()
        return
    if width == 4:
        start, neighbours = are_neighbours(e, a, at, 4)
        with b.if_then(neighbours):
            e.masked_store(e.at(at.base, start), lanes, values[0])
            b.ret_void()
    scattered(e, a, at.base, at.offsets, width, values)
    b.ret_void()
