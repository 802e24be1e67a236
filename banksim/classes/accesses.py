"""Loads, stores and atomics of the block that is executed. Requests to shared memory are judged.

What is read from global memory, which is not touched at all, counts as unknown. Local memory, which holds spilled
registers, is followed, and so is shared memory where counts need what is loaded from it; else its data is not moved.
The addresses of a request may differ from block to block in a way that no bank rule sees: by the same amount in all
lanes, a multiple of the rules' period."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from banksim.architectures.code_layout import CONSTANT_WINDOW, LOCAL_WINDOW, SHARED_WINDOW
from banksim.classes.compiled.records import REGION
from banksim.classes.followed import Followed, either
from banksim.classes.follower import Follower
from banksim.classes.footprint import LOCAL, SHARED, TENSOR_COPIES, at_mbarrier, refuse
from banksim.classes.needed import Needed
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine import codes
from banksim.machine.codes import READ, WRITTEN
from banksim.machine.engine import Access
from banksim.machine.llvm import ir
from banksim.machine.llvm.buffers import find_buffer
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.engine import LLVMEngine
from banksim.machine.llvm.values import INT, LANES, LONGS, POINTER, VOID, WORDS, Value, splat, vector
from banksim.machine.operations.loads_and_stores import request
from banksim.machine.state import CONTEXT, ERROR

GLOBAL, IN_SHARED = frozenset({"global", "generic"}), frozenset({"shared", "generic"})
"""Spaces whose accesses may be to global memory, and to shared memory."""


class MemoryFollower(Follower):
    """An access is judged as a request, and moves no data unless it is to local or constant memory. `placed`: those to
    global memory must lie in buffers, in every block."""

    def __init__(
        self, inner: LLVMEngine, needed: Needed, axes: tuple[int, ...], period: int, placed: bool = False
    ) -> None:
        super().__init__(inner, needed, axes, period)
        self.placed = placed
        self.keeps = bool(needed.loads)
        """Whether shared memory is followed."""

    def fetch(self, a: Access) -> tuple[Followed, ...]:
        if a.space == "const":
            return (Followed(self, self.inner.load_constant(a.bank, self.decided(a.address), a.width, a.signed)),)
        if a.space == "local":
            return self.from_kept(a)
        if at_mbarrier(a.i):
            return tuple(Followed(self, v.plain) for v in self.at_mbarrier(a))
        if a.space != "barrier":  # see `Tracer.fetch`
            self.ask(a)
        if a.i.pc in self.needed.loads:
            lanes = None if a.lanes is None else self.decided(a.lanes)
            return self.from_kept(a._replace(space="barrier", lanes=lanes))
        return (self.nothing(),) * max(a.width // 4, 1)

    def store(self, a: Access, source: Operand) -> None:
        if a.space == "local" or (self.keeps and a.space in IN_SHARED):
            super().store(a, source)
        else:
            self.ask(a)

    def put(
        self,
        a: Access,
        words: Sequence[Followed],
        other: tuple[Followed, str] | None = None,
        source: Followed | None = None,
    ) -> None:
        if a.space == "local":
            self.to_kept(a, words)
        else:
            self.ask(a, other, source)
            self.to_shared(a, words)

    def atomic(self, a: Access, kind: str, function: str, values: tuple[Followed, ...], to: Operand | None) -> None:
        if a.space == "barrier":
            return self.arrive(a, kind, function, tuple(map(self.decided, values)), to)
        self.ask(a)
        if self.keeps and a.space in IN_SHARED and a.lanes is None and a.width < 16 and (to is None or to.kind == "R"):
            return self.atomic_in_shared(a, kind, function, values, to)
        self.to_shared(a, [self.nothing()] * max(a.width // 4, 1))
        if to is None or to.is_zero:
            return
        if a.width == 16:
            self.write_words(to, [self.nothing()] * 4)
        else:
            found = Followed(self, self.inner.const(0, 8 * a.width), (), self.nothing().unknown)
            self.write_old(to, found, a.width == 8, a.lanes)
        return None

    def atomic_in_shared(
        self, a: Access, kind: str, function: str, values: tuple[Followed, ...], to: Operand | None
    ) -> None:
        """It is done where all that it needs is known and, by a bound, the same in every block. Else its results and
        what it leaves in memory are unknown, in all lanes: one lane may meet what another has left."""
        inner, address, chosen = self.inner, a.address, None
        if a.space == "generic":
            address, chosen = self.in_window(a.address, None)
        with self.among(chosen):
            place = Access(a.i, "barrier", address, a.width)
            known = [self.settled(v) for v in (*values, *self.from_kept(place))]
            unknown = either(*(v.unknown for v in known))
            if unknown is not None:
                unknown = inner.ballot(unknown) != 0
            at = place._replace(address=self.decided(address))
            inner.atomic(at, kind, function, tuple(v.plain for v in known[: len(values)]), to)
            self.to_kept(place, [Followed(self, v, (), unknown) for v in inner.fetch(at)])
        if to is not None and not to.is_zero:
            if chosen is not None:
                unknown = either(unknown, ~chosen)
            for word in range(max(a.width // 4, 1)):
                self.assign((to.kind, to.number + word), Followed(self, inner.const(0), (), unknown))

    # ---- mbarriers, whose words are kept in shared memory: in every block of the region they are the same
    def arrive(self, a: Access, kind: str, function: str, values: tuple[Value, ...], to: Operand | None) -> None:
        a = a._replace(lanes=None if a.lanes is None else self.decided(a.lanes))
        decided = a._replace(address=self.decided(a.address))
        before = () if function == "exch" else self.at_mbarrier(a)
        self.inner.atomic(decided, kind, function, values, to)
        if self.keeps:
            unknown = either(*(v.unknown for v in before))
            self.to_kept(a, [Followed(self, v, (), unknown) for v in self.inner.fetch(decided)])
        if to is not None and not to.is_zero:
            for word in range(2):
                self.assign((to.kind, to.number + word), self.const(0))

    def at_mbarrier(self, a: Access) -> tuple[Followed, ...]:
        """Its words, in which plain stores may have left what differs from block to block. Copies leave them as they
        are, even if nothing else is known behind one."""
        if self.keeps:
            return tuple(map(self.settled, self.from_kept(a)))
        return tuple(Followed(self, v) for v in self.inner.fetch(a._replace(address=self.decided(a.address))))

    def bulk_copy(self, i: Instruction, name: str, shared: Followed, outside: Followed, size: Followed) -> None:
        self.refuse_placed(i)
        self.forget_shared(self.e, self.inner.context)

    def service(self, i: Instruction, name: str, words: Sequence[Followed]) -> tuple[Followed, Followed]:
        """A copy of a tensor tells an mbarrier as many bytes as its map says; the map must be an argument."""
        self.refuse_placed(i)
        if name == "tensor_in":
            in_arguments = words[3] == CONSTANT_WINDOW >> 32
            self.decided(in_arguments)
            self.undecided(~in_arguments.plain)
            told = [self.decided(v) if n in TENSOR_COPIES[name] else v.plain for n, v in enumerate(words)]
            self.inner.service(i, "tensor_arrives", told)
            self.forget_shared(self.e, self.inner.context)
        return self.nothing(), self.nothing()

    def refuse_placed(self, i: Instruction) -> None:
        if self.placed:
            raise UnsupportedError(f"what {i.opcode} reaches")

    # ---- requests to shared memory
    def ask(self, a: Access, other: tuple[Followed, str] | None = None, source: Followed | None = None) -> None:
        """Have a request judged for those lanes whose address lies in shared memory."""
        refuse(a.space)
        if a.space == "global" or request(a.i) is None:
            if self.placed and a.space in GLOBAL:
                self.place(a, None if a.lanes is None else self.decided(a.lanes))
            return
        address, chosen, space = a.address, None if a.lanes is None else self.decided(a.lanes), "shared"
        if a.space == "generic":
            among = chosen
            address, chosen = self.in_window(a.address, among)
            if self.inner.memory.clustered:  # what requests to other blocks cost may depend on the whole address
                address, space = self.settled(address), "cluster"
            if self.placed:
                self.place(a, ~chosen if among is None else ~chosen & among)
        mask = self.inner.executing()
        if chosen is not None:
            mask = self.e.b.and_(mask, self.e.as_mask(chosen.spread().ir))
        self.undecided(address.unknown, mask)
        if source is not None:  # places of copies move by other periods
            address = self.settled(address)
        if address.slopes:
            with self.among(chosen):
                self.movable(address, a.width)
        use = READ if a.i.name.startswith("LD") and a.i.name != "LDGSTS" else WRITTEN
        arguments = self.inner.access(Access(a.i, space, address.plain, a.width, chosen))
        if other is not None:
            condition, op = other
            holds = self.decided(condition)
            arguments[2] = self.e.b.select(holds.ir, self.inner.memo(a.i, op, a.width), arguments[2])
        if source is not None:
            arguments.append(self.decided(source).spread().ir)
        self.e.b.call(self.inner.memory.request(space, a.width, use, source is not None), arguments)

    def in_window(self, address: Followed, chosen: Value | None) -> tuple[Followed, Value]:
        """A generic address as an address of shared memory, and the lanes where it is one. Accesses to local memory by
        generic addresses are not followed."""
        window = self.decided(self.high(address))
        local = window == LOCAL_WINDOW >> 32
        shared = window == SHARED_WINDOW >> 32
        self.undecided(local if chosen is None else local & chosen)
        return self.low(address), shared if chosen is None else shared & chosen

    @contextmanager
    def among(self, chosen: Value | None) -> Iterator[None]:
        """What is written within holds for the executing lanes of these."""
        guard = self.inner.guard
        if chosen is not None:
            self.inner.guard = chosen if guard is None else guard & chosen
        try:
            yield
        finally:
            self.inner.guard = guard

    def movable(self, address: Followed, width: int) -> None:
        """Make sure that from block to block the addresses of all lanes move by the same multiple of the period, and
        stay within the block's shared memory. What is outside of that here, where a GPU lets it pass, does not move."""
        inner, e = self.inner, self.e
        firsts = tuple(inner.first(s) for s in address.slopes)
        one = inner.const(1)
        zero = one ^ one
        apart = tuple(inner.where(s == first, zero, one) for s, first in zip(address.slopes, firsts, strict=True))
        self.bound(address, zero, zero, apart, 0)
        bits = self.period.bit_length() - 1
        shift = 32 - bits
        rest = tuple(inner.signed(s << shift) >> shift for s in firsts)
        self.bound(address, zero, zero, tuple(inner.unsigned(r) for r in rest), bits)
        start = inner.memory.shared_start
        size = inner.new("u", 32, 1, e.b.trunc(e.get(inner.context, CONTEXT, "shared_size"), INT[32]))
        at = address.plain
        if inner.memory.clustered:
            at = at - inner.new("u", 32, 1, e.b.trunc(e.get(inner.context, CONTEXT, "own_shared"), INT[32]))
        inside = (at >= start) & (at <= size) & (size - at >= width)
        down, up = (inner.where(inside, d, zero) for d in (at - start, size - width - at))
        self.bound(address, down, up, firsts, 0)

    # ---- places in global memory
    def place(self, a: Access, chosen: Value | None) -> None:
        """Make sure that in every block those lanes access the buffer that they access here, at multiples of the width,
        and note how the buffer is used. What accesses several buffers at once is left undecided."""
        inner, e, width = self.inner, self.e, a.width
        with self.among(chosen):
            mask = inner.executing()
            self.undecided(a.address.unknown, mask)
            name = a.i.name
            use = READ if name.startswith("LD") else WRITTEN if name.startswith("ST") else READ | WRITTEN

            def build(context: ir.Value, pc: ir.Value, lanes: ir.Value, at: ir.Value) -> None:
                self.build_place(context, pc, lanes, at, width, use)

            function = e.outline(f"place_{width}_{use}", INT[64], [POINTER, INT[32], INT[32], LONGS], build)
            at = a.address.plain.like(a.address.plain.ir, "u")
            size = e.b.call(function, [inner.context, INT[32](a.i.pc), mask, at.spread().ir])
            if not a.address.slopes:
                return
            offset = at & 0xFFFFFFFF
            last = inner.new("u", 64, 1, e.b.sub(size, INT[64](width)))
            self.bound(a.address, offset, last - offset, a.address.slopes, 0)
            zero, bits = offset ^ offset, width.bit_length() - 1
            if bits:
                shift = 64 - bits
                rests = tuple(inner.unsigned(inner.signed(s << shift) >> shift) for s in a.address.slopes)
                self.bound(a.address, zero, zero, rests, bits)

    def build_place(self, context: ir.Value, pc: ir.Value, mask: ir.Value, at: ir.Value, width: int, use: int) -> None:
        """The bytes of the buffer that all lanes of the mask access; else the error that nothing is decided."""
        e, b = self.e, self.e.b
        with b.if_then(e.empty(mask), likely=False):
            b.ret(INT[64](0))
        upper = b.trunc(b.lshr(at, vector([32] * LANES, 64)), WORDS)
        leader = b.extract_element(upper, e.first_lane(mask))
        known, number, _, size = find_buffer(e, context, self.inner.memory.layout, leader)
        offsets = b.and_(at, vector([0xFFFFFFFF] * LANES, 64))
        ends = b.add(offsets, vector([width] * LANES, 64))
        good = b.and_(b.icmp_unsigned("==", upper, splat(b, leader)), b.icmp_unsigned("<=", ends, splat(b, size)))
        low_bits = b.and_(offsets, vector([width - 1] * LANES, 64))
        good = b.and_(good, b.icmp_unsigned("==", low_bits, ir.Constant(LONGS, None)))
        with b.if_then(b.not_(b.and_(known, e.everywhere(good, b.not_(mask)))), likely=False):
            error = e.get(context, CONTEXT, "error", as_type=POINTER)
            with b.if_then(e.empty(e.get(error, ERROR, "code"))):
                e.set(error, ERROR, "code", INT[32](codes.UNDECIDED))
                e.set(error, ERROR, "pc", pc)
            b.ret(INT[64](0))
        noted = e.at(e.get(context, CONTEXT, "touched", as_type=POINTER), b.zext(number, INT[64]))
        e.store(b.or_(b.load(noted, typ=INT[8]), INT[8](use)), noted)
        b.ret(size)

    # ---- local and shared memory: beside its content a copy for each axis with slopes, and one that marks what is
    # unknown (where any mark in a word counts for all of it)
    def to_shared(self, a: Access, words: Sequence[Followed]) -> None:
        """Keep what is written, without a request."""
        if not self.keeps or a.space not in IN_SHARED:
            return
        address, chosen = a.address, None if a.lanes is None else self.decided(a.lanes)
        if a.space == "generic":
            address, chosen = self.in_window(a.address, chosen)
        with self.among(chosen):
            self.to_kept(Access(a.i, "barrier", address, a.width), words)

    def forget_shared(self, e: Emitter, context: ir.Value) -> None:
        """From now on nothing is known of shared memory: in front of a block, and where a copy writes there."""
        if self.keeps:
            marks = e.get(e.get(context, CONTEXT, "region", as_type=POINTER), REGION, "local", len(self.axes), POINTER)
            memory, size = e.get(marks, CONTEXT, "shared", as_type=POINTER), e.get(context, CONTEXT, "shared_reach")
            e.call("llvm.memset.p0.i64", VOID, memory, INT[8](0xFF), size, INT[1](0))

    def copies(self) -> list[ir.Value]:
        """Contexts like the worker's, each with one of these copies as its memory: first those of the axes, then the
        one for what is unknown."""
        region = self.e.get(self.inner.context, CONTEXT, "region", as_type=POINTER)
        wanted = [*range(len(self.axes)), len(self.axes)]
        return [self.e.get(region, REGION, "local", n, POINTER) for n in wanted]

    def followed(self, space: str) -> tuple[bool, bool]:
        """Whether memory may hold what changes from block to block, or what is unknown."""
        return (LOCAL in self.changing, LOCAL in self.data) if space == "local" else (SHARED in self.changing, True)

    def to_kept(self, a: Access, words: Sequence[Followed]) -> None:
        place = self.inner.access(a._replace(address=self.decided(a.address)))
        function = self.inner.memory.store(a.space, a.width)
        changing, data = self.followed(a.space)
        contexts = self.copies()
        if a.width < 4:
            words = [self.settled(words[0])]
            self.settle_words(a._replace(address=self.settled(a.address).plain))
        self.e.b.call(function, [*place, *(w.plain.spread().ir for w in words)])
        if changing and a.width >= 4:
            for axis, context in enumerate(contexts[:-1]):
                rows = [(w.slopes[axis] if w.slopes else self.inner.const(0)).spread().ir for w in words]
                self.e.b.call(function, [context, *place[1:], *rows])
        if data:
            marks = [self.marks(w.unknown).spread().ir for w in words]
            self.e.b.call(function, [contexts[-1], *place[1:], *marks])

    def marks(self, unknown: Value | None) -> Value:
        if unknown is None:
            return self.inner.const(0)
        return self.inner.const(0) - self.inner.number(unknown)

    def settle_words(self, a: Access) -> None:
        """Words of which only a part is read or written must be the same in all blocks."""
        if self.followed(a.space)[0]:
            slopes = tuple(self.read_copy(whole(a), context)[0] for context in self.copies()[:-1])
            self.settled(Followed(self, self.inner.const(0), slopes))

    def from_kept(self, a: Access) -> tuple[Followed, ...]:
        a = a._replace(address=self.decided(a.address))
        values = self.inner.fetch(a)
        changing, data = self.followed(a.space)
        if a.width < 4:
            self.settle_words(a)
        slopes: list[list[Value]] = [[] for _ in values]
        unknown: list[Value | None] = [None for _ in values]
        *axes, marks = self.copies()
        for context in axes if changing and a.width >= 4 else ():
            for rows, row in zip(slopes, self.read_copy(a, context), strict=True):
                rows.append(row)
        if data:
            unknown = [row != 0 for row in self.read_copy(whole(a), marks)]
        return tuple(Followed(self, v, tuple(s), u) for v, s, u in zip(values, slopes, unknown, strict=True))

    def read_copy(self, a: Access, context: ir.Value) -> tuple[Value, ...]:
        """The same from a copy of the memory."""
        return self.inner.words_read(a, [context, *self.inner.access(a)[1:]])


def whole(a: Access) -> Access:
    """The access to the word, of which it may be only a part."""
    return a if a.width >= 4 else a._replace(address=a.address & (0xFFFFFFFF ^ 3), width=4, signed=False)
