"""Loads, stores and atomics of the LLVM engine: one function for each space, kind and width of access.

Every function checks its addresses against the bounds of the memory that they point into, has a request to shared
memory judged, and moves the data: as one vector where the lanes are neighbours, by a broadcast where they have one
address, else by gather or scatter. Inlined, they would make 40 % more code and run slower.

All take (context, warp, memo, pc, address, mask, …): `memo` is what the instruction remembers of its last request.
"""

from __future__ import annotations

from collections.abc import Callable

import llvmlite.ir as ir

from banksim.architectures.code_layout import LOCAL_WINDOW, SHARED_WINDOW
from banksim.kernels.global_addresses import PROGRAM
from banksim.kernels.kernel import Kernel
from banksim.machine import codes
from banksim.machine.addresses import layout_of, shared_start
from banksim.machine.codes import ADDED, ADDED_LONG, READ, WRITTEN
from banksim.machine.llvm.atomics import Sum, lane_by_lane
from banksim.machine.llvm.buffers import Checked, MemoryCall, beyond, find_buffer, record
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.scratch import ADDRESSES, RESULT, ROW, STORED
from banksim.machine.llvm.values import INT, LANES, LONGS, POINTER, VOID, WORDS, splat, typed, vector
from banksim.machine.state import CONTEXT, MEMO, REQUEST, TRACE_ROWS, WARP
from banksim.requests.copies import LINE
from banksim.requests.kinds import DESTINATION, FULL_MASK

FAULT_OF = {
    "shared": codes.OUT_OF_SHARED,
    "barrier": codes.OUT_OF_SHARED,
    "global": codes.OUT_OF_GLOBAL,
    "local": codes.OUT_OF_LOCAL,
}
WINDOWS: dict[str, tuple[tuple[str, int | None], ...]] = {
    "generic": (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("global", None)),
    "anywhere": (("global", None),),
}
"""Spaces whose addresses are told apart by their upper words: what lies where. "anywhere": in several buffers."""
NARROW = ("shared", "barrier", "local")
"""Spaces whose addresses have 32 bits."""
COMMON = [POINTER, POINTER, POINTER, INT[32]]


class Memory:
    """Builds the functions, each when it is first needed."""

    def __init__(self, emit: Emitter, traced: bool, stepwise: bool, watched: bool, kernel: Kernel) -> None:
        self.e = emit
        self.shared_start, self.layout = shared_start(kernel), layout_of(kernel)
        self.traced, self.stepwise, self.watched = traced, stepwise, watched

    # ---- the functions that the engine calls
    def load(self, space: str, width: int, signed: bool) -> ir.Function:
        """→ <32 x i32>; 8 and 16 bytes a lane: rows of scratch memory at RESULT."""
        result = WORDS if width <= 4 else VOID
        name = f"load_{space}_{width}{'_signed' * signed}"
        kind = WORDS if space in NARROW else LONGS

        def build(*arguments: ir.Value) -> None:
            a = MemoryCall(*arguments)
            self.unless_empty(a, result)
            if space in WINDOWS:
                self.by_window(a, space, lambda s: self.load(s, width, signed), (), result)
                return
            if space == "global":
                self.one_buffer(a, lambda: self.load("anywhere", width, signed), (), result)
            base, offsets, first = self.place(a, space, width, result, READ)
            self.move_in(a, base, offsets, first, width, signed, contiguous=space != "local")

        return self.e.outline(name, result, [*COMMON, kind, INT[32]], build)

    def store(self, space: str, width: int, copied: bool = False) -> ir.Function:
        """`copied`: a last argument has the bits that the addresses of the request have besides."""
        words = max(width // 4, 1)
        kind = WORDS if space in NARROW else LONGS

        def build(*arguments: ir.Value) -> None:
            a, values = MemoryCall(*arguments[:6]), arguments[6 : 6 + words]
            self.unless_empty(a, VOID)
            if space in WINDOWS:
                self.by_window(a, space, lambda s: self.store(s, width), values, VOID)
                return
            if space == "global":
                self.one_buffer(a, lambda: self.store("anywhere", width), values, VOID)
            if self.watched and space == "shared":
                self.show(a, values)
            source = arguments[-1] if copied else None
            base, offsets, first = self.place(a, space, width, VOID, WRITTEN, source)
            self.move_out(a, base, offsets, first, width, values, contiguous=space != "local")

        name = f"store_{space}_{width}{'_copied' * copied}"
        return self.e.outline(name, VOID, [*COMMON, kind, INT[32], *[WORDS] * (words + copied)], build)

    def request(self, width: int, copied: bool = False) -> ir.Function:
        """A request to shared memory that moves nothing; `copied` as for `store`."""

        def build(*arguments: ir.Value) -> None:
            a = MemoryCall(*arguments[:6])
            self.unless_empty(a, VOID)
            self.place(a, "shared", width, VOID, WRITTEN, arguments[-1] if copied else None)
            self.e.b.ret_void()

        name = f"request_{width}{'_copied' * copied}"
        return self.e.outline(name, VOID, [*COMMON, WORDS, INT[32], *[WORDS] * copied], build)

    def atomic(self, space: str, kind: str, function: str, wanted: bool, float_sum: Sum | None) -> ir.Function:
        """Old values go to scratch memory at RESULT, as words or as longs; `wanted`: somebody reads them. `float_sum`:
        what an addition of floats computes."""
        bits = 64 if kind.endswith("64") else 32
        wide = WORDS if space in NARROW else LONGS
        operand = LONGS if bits == 64 else WORDS
        sums = function == "add" and float_sum is None and not wanted
        use = (ADDED_LONG if bits == 64 else ADDED) if sums else READ | WRITTEN

        def build(*arguments: ir.Value) -> None:
            a, values = MemoryCall(*arguments[:6]), arguments[6:]
            self.unless_empty(a, VOID)
            if space in WINDOWS:
                self.by_window(a, space, lambda s: self.atomic(s, kind, function, wanted, float_sum), values, VOID)
                return
            if space == "global":
                self.one_buffer(a, lambda: self.atomic("anywhere", kind, function, wanted, float_sum), values, VOID)
            base, offsets, _ = self.place(a, space, bits // 8, VOID, use)
            lane_by_lane(self.e, a.context, a.mask, base, offsets, values, kind, bits, function, space, float_sum)

        count = 2 if function in ("cas", "cas_spin") else 1
        name = f"atomic_{space}_{kind}_{function}{'_wanted' * wanted}"
        return self.e.outline(name, VOID, [*COMMON, wide, INT[32], *[operand] * count], build)

    def constant(self, bank: int, width: int, signed: bool) -> ir.Function:
        """→ <32 x i32> from a constant bank, at addresses that registers give; width at most 4."""

        def build(*arguments: ir.Value) -> None:
            a, e = MemoryCall(*arguments), self.e
            self.unless_empty(a, WORDS)
            size = e.b.trunc(e.get(a.context, CONTEXT, "constant_sizes", bank), INT[32])
            last = e.b.select(e.empty(size), INT[32](0), e.b.sub(size, INT[32](width)))
            fits = e.b.icmp_unsigned("<=", a.address, splat(e.b, last))
            fits = e.b.and_(fits, splat(e.b, e.b.not_(e.empty(size))))
            low_bits = e.b.and_(a.address, vector([width - 1] * LANES))
            fits = e.b.and_(fits, e.b.icmp_unsigned("==", low_bits, ir.Constant(WORDS, None)))
            with e.b.if_then(e.b.not_(e.everywhere(fits, e.b.not_(a.mask))), likely=False):
                self.fail(a, codes.OUT_OF_CONSTANT, fits)
                e.b.ret(ir.Constant(WORDS, None))
            if bank == 0:
                mask = e.get(a.context, CONTEXT, "written", as_type=POINTER)
                known = e.gather(mask, a.address, e.as_bools(a.mask), 8 * width)
                known = e.b.icmp_signed("==", known, vector([-1] * LANES, 8 * width))
                with e.b.if_then(e.b.not_(e.everywhere(known, e.b.not_(a.mask))), likely=False):
                    self.fail(a, codes.UNKNOWN_CONSTANT, known)
                    e.b.ret(ir.Constant(WORDS, None))
            base = e.get(a.context, CONTEXT, "constants", bank, POINTER)
            e.b.ret(self.extended(e.gather(base, a.address, e.as_bools(a.mask), 8 * width), signed))

        return self.e.outline(
            f"load_constant_{bank}_{width}{'_signed' * signed}", WORDS, [*COMMON, WORDS, INT[32]], build
        )

    # ---- parts of a function
    def leave(self, result: ir.Type) -> None:
        self.e.b.ret_void() if isinstance(result, ir.VoidType) else self.e.b.ret(ir.Constant(result, None))

    def unless_empty(self, a: MemoryCall, result: ir.Type) -> None:
        with self.e.b.if_then(self.e.empty(a.mask), likely=False):
            self.leave(result)

    def fail(self, a: MemoryCall, code: int, good: ir.Value) -> None:
        """Record the first fault of the warp: its pc, lanes and addresses."""
        record(self.e, a, "error", code, good)

    def one_buffer(
        self, a: MemoryCall, apart: Callable[[], ir.Function], values: tuple[ir.Value, ...], result: ir.Type
    ) -> None:
        """Addresses that differ in their upper words go buffer by buffer."""
        e = self.e
        upper = e.b.trunc(e.b.lshr(a.address, vector([32] * LANES, 64)), WORDS)
        leader = e.b.extract_element(upper, e.first_lane(a.mask))
        same = e.everywhere(e.b.icmp_unsigned("==", upper, splat(e.b, leader)), e.b.not_(a.mask))
        with e.b.if_then(e.b.not_(same), likely=False):
            arguments = (a.context, a.warp, a.memo, a.pc, a.address, a.mask, *values)
            r = e.b.call(apart(), arguments)
            e.b.ret_void() if isinstance(result, ir.VoidType) else e.b.ret(r)

    def by_window(
        self,
        a: MemoryCall,
        space: str,
        part: Callable[[str], ir.Function],
        values: tuple[ir.Value, ...],
        result: ir.Type,
    ) -> None:
        """Lanes that share the upper word of their address go together, each to one of WINDOWS[space]."""
        e = self.e
        b = e.b
        has_result = not isinstance(result, ir.VoidType)
        upper = b.trunc(b.lshr(a.address, vector([32] * LANES, 64)), WORDS)
        lower = b.trunc(a.address, WORDS)
        start = b.block
        loop = b.append_basic_block("window")
        b.branch(loop)
        b.position_at_end(loop)
        left = b.phi(INT[32])
        left.add_incoming(a.mask, start)
        if has_result:
            so_far = b.phi(WORDS)
            so_far.add_incoming(ir.Constant(WORDS, None), start)
        leader = b.extract_element(upper, e.first_lane(left))
        lanes = b.and_(left, e.as_mask(b.icmp_unsigned("==", upper, splat(b, leader))))
        join = b.append_basic_block("joined")
        cases = []
        switch = None
        default = b.append_basic_block("in_global")
        switch = b.switch(leader, default)
        for name, window in WINDOWS[space]:
            if name == "local" and "atomic" in e.function.name:
                continue  # no atomics on local memory: the address then lies in no buffer
            block = default if window is None else b.append_basic_block(f"in_{name}")
            if window is not None:
                switch.add_case(INT[32](window >> 32), block)
            b.position_at_end(block)
            place = a.address if name == "global" else lower
            r = b.call(part(name), (a.context, a.warp, a.memo, a.pc, place, lanes, *values))
            cases.append((r, b.block))
            b.branch(join)
        b.position_at_end(join)
        if has_result:
            got = b.phi(WORDS)
            for r, block in cases:
                got.add_incoming(r, block)
            merged = b.select(e.as_bools(lanes), got, so_far)
            so_far.add_incoming(merged, join)
        rest = b.and_(left, b.not_(lanes))
        left.add_incoming(rest, join)
        end = b.append_basic_block("end")
        b.cbranch(e.empty(rest), end, loop)
        b.position_at_end(end)
        b.ret(merged) if has_result else b.ret_void()

    def place(
        self, a: MemoryCall, space: str, width: int, result: ir.Type, use: int, source: ir.Value | None = None
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """(base pointer, 32-bit offsets, offset of the first lane), checked; the request is asked about (`source`: bits
        that its addresses have besides), and what is done to global memory, `use`, noted if someone wants to know."""
        e = self.e
        b = e.b
        others = b.not_(a.mask)
        lane = e.first_lane(a.mask)
        known: ir.Value | None = None
        if space == "global":
            upper = b.trunc(b.lshr(b.extract_element(a.address, lane), INT[64](32)), INT[32])
            known, number, base, size = find_buffer(e, a.context, self.layout, upper)
            offsets = b.trunc(a.address, WORDS)
        else:
            field = "shared" if space == "barrier" else space
            base = e.get(a.context, CONTEXT, field, as_type=POINTER)
            size = e.get(a.context, CONTEXT, f"{field}_size")
            offsets = a.address
        start = self.shared_start if space in ("shared", "barrier") else 0
        inside = b.sub(offsets, vector([start] * LANES)) if start else offsets
        limit = b.trunc(b.sub(size, INT[64](start + width)), INT[32])
        fits = b.icmp_unsigned("<=", inside, splat(b, limit))
        if width > 1:
            low_bits = b.and_(offsets, vector([width - 1] * LANES))
            fits = b.and_(fits, b.icmp_unsigned("==", low_bits, ir.Constant(WORDS, None)))
        good = b.and_(e.everywhere(fits, others), b.icmp_unsigned(">=", size, INT[64](start + width)))
        if known is not None:
            good = b.and_(good, known)
            fits = b.and_(fits, splat(b, known))
        if known is not None and self.layout == PROGRAM:

            def refuse(passes: ir.Value) -> None:
                self.fail(a, codes.OUT_OF_GLOBAL, passes)
                self.leave(result)

            checked = Checked(upper, known, base, offsets, width, fits, good)
            base = beyond(e, self.layout, a, checked, refuse)
        else:
            with b.if_then(b.not_(good), likely=False):
                self.fail(a, FAULT_OF[space], fits)
                self.leave(result)
        first = b.extract_element(offsets, lane)
        if space == "global":
            notes = e.get(a.context, CONTEXT, "notes", as_type=POINTER)
            with b.if_then(b.icmp_unsigned("!=", b.ptrtoint(notes, INT[64]), INT[64](0)), likely=False):
                places = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
                e.store(offsets, places)
                of_buffer = b.load(e.at(notes, b.shl(b.zext(number, INT[64]), INT[64](3))), typ=INT[64])
                e.call("note", VOID, of_buffer, places, a.mask, INT[32](width), INT[32](use))
        if space == "shared":
            asked = offsets if source is None else b.or_(offsets, source)
            self.ask(a, asked, first if source is None else b.extract_element(asked, lane), others, source is not None)
        if self.watched and space in ("shared", "barrier"):
            self.watch(a, offsets, width)
        elif space == "shared":
            probing = e.get(a.context, CONTEXT, "probing")
            with b.if_then(b.icmp_signed(">", probing, INT[64](0)), likely=False):
                places = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
                e.store(offsets, places)
                e.call("touch", VOID, a.context, a.warp, a.pc, a.mask, INT[32](width), places)
        if space == "local":
            thread_bytes = e.get(a.context, CONTEXT, "local_size")
            warp = b.zext(e.get(a.warp, WARP, "index"), INT[64])
            base = e.at(base, b.mul(warp, b.mul(thread_bytes, INT[64](LANES))))
        return base, offsets, first

    def ask(self, a: MemoryCall, offsets: ir.Value, first: ir.Value, others: ir.Value, copied: bool) -> None:
        """Judge a request to shared memory. Each site remembers its last request: one with the same mask, and addresses
        that differ by a common shift that no bank rule sees, costs the same. Of one that copies (`copied`) that is a
        shift by whole lines of the places that are written."""
        e = self.e
        b = e.b
        relative = b.sub(offsets, splat(b, first))
        period = b.trunc(e.get(a.context, CONTEXT, "period"), INT[32])
        seen = INT[32](FULL_MASK & ~(DESTINATION & -LINE)) if copied else b.sub(period, INT[32](1))
        phase = b.and_(first, seen)
        same = e.everywhere(b.icmp_unsigned("==", relative, e.get(a.memo, MEMO, "relative", as_type=WORDS)), others)
        same = b.and_(same, b.icmp_unsigned("==", e.get(a.memo, MEMO, "mask"), a.mask))
        same = b.and_(same, b.icmp_unsigned("==", e.get(a.memo, MEMO, "phase"), phase))
        with b.if_then(b.not_(same), likely=False):
            addresses = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
            e.store(offsets, addresses)
            e.call("judge_new", VOID, a.context, a.warp, a.memo, a.mask, addresses)
            e.set(a.memo, MEMO, "mask", a.mask)
            e.set(a.memo, MEMO, "phase", phase)
            e.set(a.memo, MEMO, "relative", relative)
        e.increase(e.field(a.memo, MEMO, "hits"), INT[64](1))
        if self.stepwise:
            e.set(a.context, CONTEXT, "asked", b.ptrtoint(a.memo, INT[64]))
        if self.traced:
            self.write_down(a, offsets)

    def write_down(self, a: MemoryCall, offsets: ir.Value) -> None:
        """Add the request to the trace, which is handed on when it is full."""
        e = self.e
        b = e.b
        count = e.get(a.context, CONTEXT, "traced")
        row = e.at(e.get(a.context, CONTEXT, "trace", as_type=POINTER), b.mul(count, INT[64](REQUEST.itemsize)))
        e.set(row, REQUEST, "site", b.trunc(e.get(a.memo, MEMO, "site"), INT[32]))
        e.set(row, REQUEST, "block", b.trunc(e.get(a.context, CONTEXT, "block"), INT[32]))
        e.set(row, REQUEST, "warp", e.get(a.warp, WARP, "index"))
        e.set(row, REQUEST, "epoch", e.get(a.context, CONTEXT, "phase"))
        e.set(row, REQUEST, "mask", a.mask)
        e.set(row, REQUEST, "address", offsets)
        more = b.add(count, INT[64](1))
        e.set(a.context, CONTEXT, "traced", more)
        with b.if_then(b.icmp_signed("==", more, INT[64](TRACE_ROWS)), likely=False):
            e.call("hand_on", VOID, a.context)

    def show(self, a: MemoryCall, values: tuple[ir.Value, ...]) -> None:
        """Put the values that are to be stored where the race check finds them."""
        scratch = self.e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
        for word, v in enumerate(values):
            self.e.store(v, self.e.at(scratch, STORED + ROW * word))

    def watch(self, a: MemoryCall, offsets: ir.Value, width: int) -> None:
        """Have the race check compare the request with those before it."""
        e = self.e
        scratch = e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
        places = e.at(scratch, ADDRESSES)
        e.store(offsets, places)
        e.call("watch", VOID, a.context, a.warp, a.pc, a.mask, INT[32](width), places, e.at(scratch, STORED))

    def extended(self, v: ir.Value, signed: bool) -> ir.Value:
        if v.type == WORDS:
            return v
        return (self.e.b.sext if signed else self.e.b.zext)(v, WORDS)

    def interleaved(self, offsets: ir.Value, word: int = 0) -> ir.Value:
        """Addresses of local memory, in which the same word of all lanes of a warp lies together, as on a GPU."""
        b = self.e.b
        plain = b.add(offsets, vector([4 * word] * LANES)) if word else offsets
        whole = b.shl(b.and_(plain, vector([~3] * LANES)), vector([5] * LANES))
        byte = b.and_(plain, vector([3] * LANES))
        return b.add(b.add(whole, byte), vector([4 * lane for lane in range(LANES)]))

    def move_in(
        self,
        a: MemoryCall,
        base: ir.Value,
        offsets: ir.Value,
        first: ir.Value,
        width: int,
        signed: bool,
        contiguous: bool,
    ) -> None:
        """Read and return."""
        e = self.e
        b = e.b
        lanes = e.as_bools(a.mask)
        others = b.not_(a.mask)
        if not contiguous:
            if width <= 4:
                b.ret(self.extended(e.gather(base, self.interleaved(offsets), lanes, 8 * width), signed))
                return
            for word in range(width // 4):
                self.put_result(a, word, e.gather(base, self.interleaved(offsets, word), lanes))
            b.ret_void()
            return
        if width < 4:
            b.ret(self.extended(e.gather(base, offsets, lanes, 8 * width), signed))
            return
        agree = e.everywhere(b.icmp_unsigned("==", offsets, splat(b, first)), others)
        if width == 4:
            start, neighbours = self.neighbours(a, offsets, first, 4)
            with b.if_then(neighbours):
                b.ret(e.masked_load(e.at(base, start), lanes))
            with b.if_then(agree):
                b.ret(splat(b, b.load(e.at(base, b.zext(first, INT[64])), typ=INT[32])))
            b.ret(e.gather(base, offsets, lanes))
            return
        words = width // 4
        start, neighbours = self.neighbours(a, offsets, first, width)
        with b.if_then(b.and_(neighbours, b.icmp_signed("==", a.mask, INT[32](-1)))):
            block = b.load(e.at(base, start), typ=ir.VectorType(INT[32], words * LANES), align=4)
            for word in range(words):
                order = vector([lane * words + word for lane in range(LANES)])
                self.put_result(
                    a, word, b.shuffle_vector(block, ir.Constant(block.type, ir.Undefined), order), whole=True
                )
            b.ret_void()
        self.few_addresses(a, base, offsets, words)

    def neighbours(self, a: MemoryCall, offsets: ir.Value, first: ir.Value, width: int) -> tuple[ir.Value, ir.Value]:
        """(where lane 0 would be, be it before the base; whether every lane is `width` bytes behind the one below)."""
        b = self.e.b
        ahead = b.mul(self.e.first_lane(a.mask), INT[32](width))
        start = b.sub(b.zext(first, INT[64]), b.zext(ahead, INT[64]))
        expected = b.add(splat(b, b.sub(first, ahead)), vector([width * lane for lane in range(LANES)]))
        return start, self.e.everywhere(b.icmp_unsigned("==", offsets, expected), b.not_(a.mask))

    def put_result(self, a: MemoryCall, word: int, v: ir.Value, whole: bool = False) -> None:
        e = self.e
        where = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), RESULT + ROW * word)
        if whole:
            e.store(v, where)
        else:
            e.masked_store(where, e.as_bools(a.mask), v)

    def few_addresses(self, a: MemoryCall, base: ir.Value, offsets: ir.Value, words: int) -> None:
        """Wide loads are mostly of few different places: broadcast each of up to four, gather the rest."""
        e = self.e
        b = e.b
        scratch = e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
        start = b.block
        loop, gather, end = (b.append_basic_block(n) for n in ("places", "gather", "end"))
        b.branch(loop)
        b.position_at_end(loop)
        left, turn = b.phi(INT[32]), b.phi(INT[32])
        left.add_incoming(a.mask, start)
        turn.add_incoming(INT[32](0), start)
        place = b.extract_element(offsets, e.first_lane(left))
        lanes = b.icmp_unsigned("==", offsets, splat(b, place))
        for word in range(words):
            one = b.load(e.at(base, b.zext(b.add(place, INT[32](4 * word)), INT[64])), typ=INT[32])
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
            v = e.gather(base, b.add(offsets, vector([4 * word] * LANES)), lanes)
            e.masked_store(e.at(scratch, RESULT + ROW * word), lanes, v)
        b.branch(end)
        b.position_at_end(end)
        b.ret_void()

    def move_out(
        self,
        a: MemoryCall,
        base: ir.Value,
        offsets: ir.Value,
        first: ir.Value,
        width: int,
        values: tuple[ir.Value, ...],
        contiguous: bool,
    ) -> None:
        """Write and return. Where lanes write the same bytes, the lowest lane of the last part of the request wins
        (measured on one H200): a scatter writes lanes in their order, so they are turned round."""
        e = self.e
        b = e.b
        lanes = e.as_bools(a.mask)
        part = 128 // max(width, 4)
        turned = vector([lane // part * part + part - 1 - lane % part for lane in range(LANES)])

        def turn(v: ir.Value) -> ir.Value:
            return b.shuffle_vector(v, ir.Constant(v.type, ir.Undefined), turned) if contiguous else v

        if width < 4:
            narrow = b.trunc(values[0], typed("u", 8 * width, LANES))
            places = offsets if contiguous else self.interleaved(offsets)
            e.scatter(base, turn(places), turn(lanes), turn(narrow))
            b.ret_void()
            return
        if contiguous and width == 4:
            start, neighbours = self.neighbours(a, offsets, first, 4)
            with b.if_then(neighbours):
                e.masked_store(e.at(base, start), lanes, values[0])
                b.ret_void()
        for word, v in enumerate(values):
            if contiguous:
                e.scatter(base, turn(b.add(offsets, vector([4 * word] * LANES))), turn(lanes), turn(v))
            else:
                e.scatter(base, self.interleaved(offsets, word), lanes, v)
        b.ret_void()
