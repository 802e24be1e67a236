"""Loads, stores and atomics of the LLVM engine: one function for each space, kind and width of access.

Every function checks its addresses against the bounds of the memory that they point into, has a request to shared
memory judged, and moves the data: as one vector where the lanes are neighbours, by a broadcast where they have one
address, else by gather or scatter. Inlined, they would make 40 % more code and run slower.

All take (context, warp, memo, pc, mask, address, …): `memo` is what the instruction remembers of its last request; of
addresses of 64 bits the upper words follow the lower ones.
"""

from collections.abc import Callable
from functools import partial

from banksim.architectures.code_layout import LOCAL_WINDOW, SHARED_WINDOW
from banksim.kernels.global_addresses import PROGRAM
from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine import codes, doubts
from banksim.machine.addresses import layout_of, passes_in_shared, shared_start
from banksim.machine.codes import ADDED, ADDED_LONG, READ, WRITTEN
from banksim.machine.llvm import far_requests, ir, shared_requests
from banksim.machine.llvm.atomics import Sum, lane_by_lane
from banksim.machine.llvm.buffers import Checked, beyond, find_buffer, note_use, record
from banksim.machine.llvm.data_movement import are_in_one_place, extended, interleaved, move_in, move_out
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.even_requests import EvenRequest
from banksim.machine.llvm.memory_call import COMMON, MemoryCall, Place, arguments_of, taken
from banksim.machine.llvm.scratch import ADDRESSES
from banksim.machine.llvm.values import INT, LANES, POINTER, VOID, WORDS, splat, vector
from banksim.machine.operations.loads_and_stores import bytes_of
from banksim.machine.state import CLUSTER, CONTEXT, MEMO, WARP

FAULT_OF = {
    "shared": codes.OUT_OF_SHARED,
    "cluster": codes.OUT_OF_SHARED,
    "barrier": codes.OUT_OF_SHARED,
    "global": codes.OUT_OF_GLOBAL,
    "local": codes.OUT_OF_LOCAL,
}
WINDOWS: dict[str, tuple[tuple[str, int | None], ...]] = {
    "generic": (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("global", None)),
    "anywhere": (("global", None),),
}
"""Spaces whose addresses are told apart by their upper words: what lies where. "anywhere": in several buffers."""
SHARED = ("shared", "cluster", "barrier")


class MemoryFunctions:
    """Builds the functions, each when a kernel of its `kind` first needs it."""

    def __init__(
        self, emit: Emitter, traced: bool, stepwise: bool, watched: bool, kernel: Kernel, clustered: bool
    ) -> None:
        self.e = emit
        self.shared_start, self.layout = shared_start(kernel), layout_of(kernel)
        self.passes_in_shared = passes_in_shared(kernel)
        self.traced, self.stepwise, self.watched, self.clustered = ways = traced, stepwise, watched, clustered
        self.shifts = not any(ways)
        self.kind = *ways, self.shared_start, self.layout, self.passes_in_shared

    # ---- the functions that the engine calls
    def load(self, space: str, width: int, signed: bool) -> ir.Function:
        """→ <32 x i32>; 8 and 16 bytes a lane: rows of scratch memory at RESULT."""
        result = WORDS if width <= 4 else VOID
        name = f"load_{space}_{width}{'_signed' * signed}"

        def build(*arguments: ir.Value) -> None:
            a, _ = taken(space, arguments)
            self.unless_empty(a, result)
            self.even(a, space, width, READ, lambda one: one.load(signed))
            if space in WINDOWS:
                self.by_window(a, space, lambda s: self.load(s, width, signed), (), result)
                return
            if space == "cluster":
                self.one_block(a, lambda: self.load("shared", width, signed), (), result)
            if space == "global":
                self.one_buffer(a, lambda: self.load("anywhere", width, signed), (), result)
            move_in(self.e, a, self.place(a, space, width, result, READ), width, signed)

        return self.e.kept(self.kind, name, result, arguments_of(space), build)

    def store(self, space: str, width: int, copied: bool = False) -> ir.Function:
        """A store. `copied`: its last argument holds the bits from `SOURCE_BIT` on of the request's addresses."""
        words = max(width // 4, 1)

        def build(*arguments: ir.Value) -> None:
            a, values = taken(space, arguments[: len(arguments) - copied])
            self.unless_empty(a, VOID)
            self.even(a, space, width, WRITTEN, lambda one: one.store(values))
            if space in WINDOWS:
                self.by_window(a, space, lambda s: self.store(s, width), values, VOID)
                return
            if space == "cluster":
                self.one_block(a, lambda: self.store("shared", width), values, VOID)
            if space == "global":
                self.one_buffer(a, lambda: self.store("anywhere", width), values, VOID)
            if self.watched and space in ("shared", "cluster"):
                shared_requests.show(self.e, a, values)
            source = arguments[-1] if copied else None
            move_out(self.e, a, self.place(a, space, width, VOID, WRITTEN, source), width, values)

        name = f"store_{space}_{width}{'_copied' * copied}"
        return self.e.kept(self.kind, name, VOID, [*arguments_of(space), *[WORDS] * (words + copied)], build)

    def request(self, space: str, width: int, use: int, copied: bool = False) -> ir.Function:
        """A request to shared memory that moves nothing, though it is for this `use`; `copied` as for `store`."""

        def build(*arguments: ir.Value) -> None:
            a, _ = taken(space, arguments)
            self.unless_empty(a, VOID)
            if space == "cluster":
                self.one_block(a, lambda: self.request("shared", width, use), (), VOID)
            self.place(a, space, width, VOID, use, arguments[-1] if copied else None)
            self.e.b.ret_void()

        name = f"request_{space}_{width}_{use}{'_copied' * copied}"
        return self.e.kept(self.kind, name, VOID, [*arguments_of(space), *[WORDS] * copied], build)

    def atomic(self, space: str, kind: str, function: str, wanted: bool, float_sum: Sum | None) -> ir.Function:
        """Old values go to scratch memory at RESULT, as words or as longs; `wanted`: somebody reads them. `float_sum`:
        what an addition of floats computes."""
        bits = 8 * bytes_of(kind)
        operand = ir.VectorType(INT[bits], LANES)
        sums = function == "add" and float_sum is None and not wanted
        use = (ADDED_LONG if bits == 64 else ADDED) if sums else READ | WRITTEN

        def build(*arguments: ir.Value) -> None:
            a, values = taken(space, arguments)
            self.unless_empty(a, VOID)
            if space in WINDOWS:
                kept_from = "local" if bits == 64 else ""
                one = partial(self.atomic, kind=kind, function=function, wanted=wanted, float_sum=float_sum)
                self.by_window(a, space, one, values, VOID, kept_from)
                return
            if space == "cluster":
                self.one_block(a, lambda: self.atomic("shared", kind, function, wanted, float_sum), values, VOID)
            if space == "global":
                self.one_buffer(a, lambda: self.atomic("anywhere", kind, function, wanted, float_sum), values, VOID)
            at = self.place(a, space, bits // 8, VOID, use)
            offsets = interleaved(self.e.b, at.offsets) if at.interleaved else at.offsets
            lane_by_lane(self.e, a.context, a.mask, at.base, offsets, values, kind, bits, function, space, float_sum)

        count = 2 if function in ("cas", "cas_spin") else 1
        name = f"atomic_{space}_{kind}_{function}{'_wanted' * wanted}"
        return self.e.kept(self.kind, name, VOID, [*arguments_of(space), *[operand] * count], build)

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
            base = e.get(a.context, CONTEXT, "constants", bank, POINTER)
            mask = e.get(a.context, CONTEXT, "written", as_type=POINTER)
            at = Place(base, a.address, e.b.extract_element(a.address, e.first_lane(a.mask)), interleaved=False)
            first, one = e.b.zext(at.first, INT[64]), INT[8 * width]
            with e.b.if_then(are_in_one_place(e, a, at)):
                fixed = e.b.icmp_signed("==", e.b.load(e.at(mask, first), typ=one), one(-1)) if bank == 0 else INT[1](1)
                with e.b.if_then(fixed):
                    e.b.ret(extended(e, splat(e.b, e.b.load(e.at(base, first), typ=one)), signed))
            if bank == 0:
                known = e.gather(mask, a.address, e.as_bools(a.mask), 8 * width)
                known = e.b.icmp_signed("==", known, vector([-1] * LANES, 8 * width))
                with e.b.if_then(e.b.not_(e.everywhere(known, e.b.not_(a.mask))), likely=False):
                    self.fail(a, codes.UNKNOWN_CONSTANT, known)
                    e.b.ret(ir.Constant(WORDS, None))
            e.b.ret(extended(e, e.gather(base, a.address, e.as_bools(a.mask), 8 * width), signed))

        return self.e.kept(
            self.kind, f"load_constant_{bank}_{width}{'_signed' * signed}", WORDS, [*COMMON, WORDS], build
        )

    # ---- parts of a function
    def even(self, a: MemoryCall, space: str, width: int, use: int, move: Callable[[EvenRequest], None]) -> None:
        """What is done at once if a request is even, and nobody but the kernel wants to know of it."""
        if space != "global" or self.stepwise:
            return
        with self.e.b.if_else(self.e.b.icmp_signed("==", a.mask, INT[32](-1))) as ways:
            for way, every_lane in zip(ways, (True, False), strict=True):
                with way:
                    move(EvenRequest(self.e, self.layout, a, width, use, every_lane))

    def outside(self, a: MemoryCall, offsets: ir.Value, width: int, sound: ir.Value) -> ir.Value:
        """The lanes whose accesses go on though some are outside of the kernel's own shared memory, which is noted."""
        e, b = self.e, self.e.b
        noted = e.at(e.get(a.context, CONTEXT, "doubts", as_type=POINTER), b.udiv(a.pc, INT[32](BYTES)))
        e.store(b.or_(b.load(noted, typ=INT[8]), INT[8](doubts.OUTSIDE)), noted)
        last = b.trunc(b.sub(e.get(a.context, CONTEXT, "shared_reach"), INT[64](width)), INT[32])
        return b.and_(sound, b.icmp_unsigned("<=", offsets, splat(b, last)))

    def in_own_block(self, a: MemoryCall, addresses: ir.Value) -> ir.Value:
        """Addresses of the block's own shared memory, less its rank in the cluster."""
        e = self.e
        return e.b.sub(addresses, splat(e.b, e.b.trunc(e.get(a.context, CONTEXT, "own_shared"), INT[32])))

    def in_living_block(self, a: MemoryCall, ranks: ir.Value) -> ir.Value:
        """In which lanes the block of the cluster that has the rank has not ended."""
        e, b = self.e, self.e.b
        ended = e.get(e.get(a.context, CONTEXT, "cluster", as_type=POINTER), CLUSTER, "ended")
        bits = b.lshr(splat(b, ended), b.and_(ranks, vector([31] * LANES)))
        return b.icmp_unsigned("==", b.and_(bits, vector([1] * LANES)), ir.Constant(WORDS, None))

    def leave(self, result: ir.Type) -> None:
        self.e.b.ret_void() if result is VOID else self.e.b.ret(ir.Constant(result, None))

    def unless_empty(self, a: MemoryCall, result: ir.Type) -> None:
        with self.e.b.if_then(self.e.empty(a.mask), likely=False):
            self.leave(result)

    def fail(self, a: MemoryCall, code: int, good: ir.Value) -> None:
        """Record the first fault of the warp: its pc, lanes and addresses."""
        record(self.e, a, "error", code, good)

    def one_buffer(
        self, a: MemoryCall, apart: Callable[[], ir.Function], values: tuple[ir.Value, ...], result: ir.Type
    ) -> None:
        """Where addresses differ in their upper words, access memory buffer by buffer instead."""
        e = self.e
        assert a.upper is not None
        leader = e.b.extract_element(a.upper, e.first_lane(a.mask))
        same = e.everywhere(e.b.icmp_unsigned("==", a.upper, splat(e.b, leader)), e.b.not_(a.mask))
        with e.b.if_then(e.b.not_(same), likely=False):
            r = e.b.call(apart(), [*a.passed_on(a.mask, a.address, a.upper), *values])
            e.b.ret_void() if result is VOID else e.b.ret(r)

    def one_block(
        self, a: MemoryCall, own: Callable[[], ir.Function], values: tuple[ir.Value, ...], result: ir.Type
    ) -> None:
        """Where all addresses are of the block's own shared memory, access that. Behind the memo of the plain request
        are that of one to other blocks' and that of one to both."""
        e = self.e
        rank = e.b.trunc(e.get(a.context, CONTEXT, "own_shared"), INT[32])
        ranks = e.b.and_(a.address, vector([-1 << codes.RANK_BIT] * LANES))
        own_lanes = e.b.and_(e.as_mask(e.b.icmp_unsigned("==", ranks, splat(e.b, rank))), a.mask)
        same = e.b.icmp_unsigned("==", own_lanes, a.mask)
        with e.b.if_then(same):
            r = e.b.call(own(), [*a.passed_on(a.mask, a.address), *values])
            e.b.ret_void() if result is VOID else e.b.ret(r)
        a.memo = e.b.select(e.empty(own_lanes), e.at(a.memo, MEMO.itemsize), e.at(a.memo, 2 * MEMO.itemsize))

    def by_window(
        self,
        a: MemoryCall,
        space: str,
        part: Callable[[str], ir.Function],
        values: tuple[ir.Value, ...],
        result: ir.Type,
        kept_from: str = "",
    ) -> None:
        """Access memory once for each upper word of an address, in the one of WINDOWS[space] that it names. Addresses
        of the space `kept_from` lie in no buffer: an H200 does generic atomics of 32 bits on local memory, and the
        code behind those of 64 bits does them there."""
        e = self.e
        b = e.b
        has_result = result is not VOID
        upper = a.upper
        assert upper is not None
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
            if name == kept_from:
                continue
            block = default if window is None else b.append_basic_block(f"in_{name}")
            if window is not None:
                switch.add_case(INT[32](window >> 32), block)
            b.position_at_end(block)
            address = (a.address, upper) if name == "global" else (a.address,)
            name = "cluster" if name == "shared" and self.clustered else name
            r = b.call(part(name), [*a.passed_on(lanes, *address), *values])
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
    ) -> Place:
        """Where the lanes access memory, or a fault. The request is judged (`source`: bits that its addresses have
        besides), and what is done to global memory, `use`, noted if someone wants to know."""
        e = self.e
        b = e.b
        others = b.not_(a.mask)
        lane = e.first_lane(a.mask)
        known: ir.Value | None = None
        offsets = a.address
        if space == "global":
            assert a.upper is not None
            upper = b.extract_element(a.upper, lane)
            known, number, base, size = find_buffer(e, a.context, self.layout, upper)
        else:
            field = "local" if space == "local" else "shared"
            base = e.get(a.context, CONTEXT, field, as_type=POINTER)
            size = e.get(a.context, CONTEXT, f"{field}_size")
        ranked = self.clustered and space in SHARED
        places, offsets = offsets, self.in_own_block(a, offsets) if ranked and space == "shared" else offsets
        start = self.shared_start if space in SHARED else 0
        if ranked and space != "shared":
            offsets = b.and_(offsets, vector([(1 << codes.RANK_BIT) - 1] * LANES))
        inside = b.sub(offsets, vector([start] * LANES)) if start else offsets
        limit = b.trunc(b.sub(size, INT[64](start + width)), INT[32])
        sound = b.icmp_unsigned("==", b.and_(offsets, vector([width - 1] * LANES)), ir.Constant(WORDS, None))
        if ranked and space != "shared":
            blocks = b.trunc(e.get(a.context, CONTEXT, "cluster_blocks"), INT[32])
            ranks = b.lshr(places, vector([codes.RANK_BIT] * LANES))
            sound = b.and_(sound, b.icmp_unsigned("<", ranks, splat(b, blocks)))
        fits = b.and_(sound, b.icmp_unsigned("<=", inside, splat(b, limit)))
        large = b.icmp_unsigned(">=", size, INT[64](start + width))  # else no lane fits
        holds = large if known is None else b.and_(large, known)
        fits = b.and_(fits, splat(b, holds))
        good = e.everywhere(fits, others)
        if known is not None and self.layout == PROGRAM:

            def refuse(passes: ir.Value) -> None:
                self.fail(a, codes.OUT_OF_GLOBAL, passes)
                self.leave(result)

            checked = Checked(upper, known, base, offsets, width, fits, good)
            base = beyond(e, self.layout, a, checked, refuse)
        else:
            with b.if_then(b.not_(good), likely=False):
                if self.passes_in_shared and space in SHARED:
                    fits = self.outside(a, offsets, width, sound)
                    good = e.everywhere(fits, others)
                with b.if_then(b.not_(good)):
                    self.fail(a, FAULT_OF[space], fits)
                    self.leave(result)
        if ranked and space != "shared":
            lives = self.in_living_block(a, ranks)
            with b.if_then(b.not_(e.everywhere(lives, others)), likely=False):
                self.fail(a, codes.ENDED_BLOCK, lives)
                self.leave(result)
        first = b.extract_element(offsets, lane)
        if space == "global":
            held = b.select(checked.known, number, INT[32](0)) if self.layout == PROGRAM else number
            for one, other in ((READ, WRITTEN), (WRITTEN, READ)):
                if use != other:
                    note_use(e, a, one, held)
            notes = e.get(a.context, CONTEXT, "notes", as_type=POINTER)
            with b.if_then(b.icmp_unsigned("!=", b.ptrtoint(notes, INT[64]), INT[64](0)), likely=False):
                places = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
                e.store(offsets, places)
                of_buffer = b.load(e.at(notes, b.shl(b.zext(number, INT[64]), INT[64](3))), typ=INT[64])
                e.call("note", VOID, of_buffer, places, a.mask, INT[32](width), INT[32](use))
        if space in ("shared", "cluster"):
            offsets = places if space == "cluster" else offsets
            asked = offsets if source is None else b.or_(offsets, source)
            leader = first if source is None else b.extract_element(asked, lane)
            seen = shared_requests.seen_by_rules(e, a, space, copied=source is not None)
            with shared_requests.asked(e, a, asked, leader, seen, self.stepwise):
                if self.shifts and space == "shared" and use == READ and width in shared_requests.FURTHEST:
                    shared_requests.remember(e, a, offsets, first, width, b.sub(size, INT[64](start + width)))
            if self.traced:
                shared_requests.write_down(e, a, asked)
        if self.watched and space in SHARED:
            shared_requests.watch(e, a, places if ranked else offsets, width)
        elif space == "shared":
            shared_requests.touch(e, a, offsets, width)
        if space == "local":
            thread_bytes = e.get(a.context, CONTEXT, "local_size")
            warp = b.zext(e.get(a.warp, WARP, "index"), INT[64])
            base = e.at(base, b.mul(warp, b.mul(thread_bytes, INT[64](LANES))))
        if self.stepwise and space in ("global", "local"):
            far_requests.note(e, a, a.whole(b) if space == "global" else far_requests.in_local(e, a), width)
        if ranked:
            offsets, first = places, b.extract_element(places, lane)
        return Place(base, offsets, first, interleaved=space == "local")
