"""What must hold in every block of the region, as LLVM code: where it does not, the region is narrowed."""

import operator
from collections.abc import Callable

from banksim.classes.compiled.records import REGION
from banksim.classes.followed import Followed, Slopes, either
from banksim.machine import codes
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.engine import LLVMEngine
from banksim.machine.llvm.values import INT, LANES, LONGS, POINTER, VOID, WORDS, Value, constant
from banksim.machine.state import CONTEXT, ERROR

FAR = 1 << 62
"""The largest distance that a value may move. Products of slopes and steps stay below it, and so do not overflow."""
STEEP = 1 << 30
"""Slopes from here on are left to `narrow`: their product with a number of steps may have more than 64 bits."""


class Bounds:
    """`inner` executes; `axes`: the directions of regions, by the axes of the grid along which they go."""

    inner: LLVMEngine
    e: Emitter
    axes: tuple[int, ...]

    def mask(self, lanes: Value | None) -> ir.Value:
        """Lanes as a mask."""
        return INT[32](0) if lanes is None else self.e.as_mask(lanes.spread().ir)

    def undecided(self, unknown: Value | None, mask: ir.Value | None = None) -> None:
        """Give up if the value of an executing lane, of those in the mask, is unknown."""
        if unknown is None:
            return
        lanes = self.inner.executing() if mask is None else mask

        def build(context: ir.Value, pc: ir.Value, bad: ir.Value) -> None:
            e = self.e
            error = e.get(context, CONTEXT, "error", as_type=POINTER)
            none = e.empty(e.get(error, ERROR, "code"))
            with e.b.if_then(e.b.and_(none, e.b.not_(e.empty(bad)))):
                e.set(error, ERROR, "code", INT[32](codes.UNDECIDED))
                e.set(error, ERROR, "pc", pc)
                e.set(error, ERROR, "mask", bad)
            e.b.ret_void()

        function = self.e.outline("undecided", VOID, [POINTER, INT[32], INT[32]], build)
        self.e.b.call(function, [self.inner.context, INT[32](self.inner.pc), self.e.b.and_(lanes, self.mask(unknown))])

    def longs(self, v: Value, signed: bool) -> ir.Value:
        """A value of every lane as 32 integers of 64 bits."""
        if v.bits == 32:
            v = self.inner.sext(v) if signed else self.inner.zext(v)
        return v.spread().ir

    def distance(self, v: Value) -> ir.Value:
        """A distance that a value may move, as 64 bits; at most FAR, up to which the arithmetic is exact."""
        if v.bits == 64:
            v = v.like(v.ir, "u")
            v = self.inner.where(v < FAR, v, self.inner.const(FAR, 64))
        return self.longs(v, signed=False)

    def bound(
        self, of: Followed, below: Value, above: Value | None, slopes: Slopes, step_bits: int | Value, *others: Followed
    ) -> None:
        """In all blocks of the region, Σ slope·k lies from −`below` to `above` (None: any number), in the executing
        lanes where `of` is known. `step_bits`: slopes matter modulo 2^step_bits, so that longer steps may help; where
        lanes differ, the most bits of any: steps that help these lanes help the others."""
        if not self.axes:
            return
        mask = self.inner.executing()
        unknown = either(of.unknown, *(o.unknown for o in others))
        if unknown is not None:
            mask = self.e.b.and_(mask, self.e.b.not_(self.mask(unknown)))
        far = constant("u", 64, LANES, FAR)
        arguments = [
            self.distance(below),
            far if above is None else self.distance(above),
            *(self.longs(s, signed=True) for s in slopes),
        ]
        function = self.e.outline("bound", VOID, [POINTER, *[INT[32]] * 3, *[LONGS] * len(arguments)], self.build_bound)
        bits = self.most(step_bits, mask) if isinstance(step_bits, Value) else INT[32](step_bits)
        self.e.b.call(function, [self.inner.context, INT[32](self.inner.pc), mask, bits, *arguments])

    def most(self, v: Value, mask: ir.Value) -> ir.Value:
        """The largest u32 in the lanes of a mask."""
        if v.lanes == 1:
            return v.ir
        zeros = ir.Constant(WORDS, None)
        return self.e.call(
            "llvm.vector.reduce.umax.v32i32", INT[32], self.e.b.select(self.e.as_bools(mask), v.ir, zeros)
        )

    def build_bound(self, context: ir.Value, pc: ir.Value, mask: ir.Value, bits: ir.Value, *rows: ir.Value) -> None:
        """The sums at the far corner of the region show at once whether the bound holds everywhere. Where it does not,
        or where slopes are steep, `narrow` decides exactly."""
        e, b = self.e, self.e.b
        new = self.inner.new
        below, above, *slopes = (new("i", 64, LANES, row) for row in rows)
        region = e.get(context, CONTEXT, "region", as_type=POINTER)
        least = most = self.inner.const(0, 64).like(ir.Constant(INT[64], 0), "i")
        bad: Value | None = None
        for axis, slope in enumerate(slopes):
            count = new("i", 64, 1, e.get(region, REGION, "count", axis))
            moved = slope * count
            down = self.inner.where(moved < 0, moved, moved ^ moved)
            least, most = least + down, most + (moved - down)
            steep = (slope + STEEP).like((slope + STEEP).ir, "u") > 2 * STEEP
            bad = either(bad, steep & (count != 0))
        bad = either(bad, (below + least < 0) | (above < most))
        with b.if_then(b.not_(e.empty(b.and_(self.mask(bad), mask))), likely=False):
            for name, number, row in (
                ("below", 0, below),
                ("above", 0, above),
                *(("slopes", d, s) for d, s in enumerate(slopes)),
            ):
                e.store(row.ir, e.field(region, REGION, name, number * LANES))
            e.call("narrow", VOID, context, pc, mask, bits)
        b.ret_void()

    def settled(self, v: Followed, where: Value | None = None) -> Followed:
        """The value, with bounds that make sure that it is the same in every block, in all lanes or only in some."""
        if not v.slopes:
            return v
        zero = v.plain.like((v.plain ^ v.plain).ir, "u")
        slopes = v.slopes if where is None else tuple(self.inner.where(where, s, s ^ s) for s in v.slopes)
        self.bound(v, zero, zero, slopes, v.plain.bits)
        rest = () if where is None else tuple(s - t for s, t in zip(v.slopes, slopes, strict=True))
        return Followed(self, v.plain, rest, v.unknown)

    def decided(self, v: Followed) -> Value:
        """What a value is in every block; bounds make sure that it is known, and the same in all of them."""
        self.undecided(v.unknown)
        return self.settled(v).plain

    def within_kind(self, v: Followed) -> None:
        """Make sure that a value does not wrap around as a number of its kind, signed or unsigned."""
        if not v.slopes:
            return
        place = v.plain.like(v.plain.ir, "u")
        if v.plain.kind == "i":
            place = place ^ (1 << (v.plain.bits - 1))
        self.bound(v, place, ~place, v.slopes, 0)

    def bound_equal(self, a: Followed, b: Followed) -> None:
        """Make sure that lanes in which a and b are equal here have them equal in every block, and lanes in which they
        differ have them different."""
        apart = a - b
        gap = apart.plain.like(apart.plain.ir, "u")
        equal, zero = gap == 0, gap ^ gap
        self.bound(apart, self.inner.where(equal, zero, gap - 1), self.inner.where(equal, zero, ~gap), apart.slopes, 0)

    def bound_order(self, a: Followed, b: Followed, how: Callable[[Value, Value], Value]) -> None:
        """Make sure that the smaller of the two is the smaller one in every block, and that neither wraps around."""
        if how in (operator.gt, operator.ge):
            a, b = b, a
        strict = how in (operator.lt, operator.gt)
        self.within_kind(a)
        self.within_kind(b)
        holds = a.plain < b.plain if strict else a.plain <= b.plain
        wide = [self.view(v) for v in (a, b)]
        for v in wide if a.plain.bits == 64 else ():
            if v.slopes:  # so that differences of slopes do not wrap around either
                far = v.plain.like(constant("u", 64, v.plain.lanes, FAR >> 1))
                self.bound(v, far, far, v.slopes, 0)
        up, down = wide[1] - wide[0], wide[0] - wide[1]
        one = self.inner.const(1, 64)
        gaps = (up.plain - one, down.plain) if strict else (up.plain, down.plain - one)
        gap = self.inner.where(holds, *gaps)
        slopes = [
            self.inner.where(holds, s, t)
            for s, t in zip(up.slopes or up.zeros(), down.slopes or down.zeros(), strict=True)
        ]
        self.bound(up, gap, None, tuple(slopes), 0)

    def view(self, v: Followed) -> Followed:
        """An integer that does not wrap around, as one of 64 bits."""
        if v.plain.bits == 64:
            return Followed(self, v.plain.like(v.plain.ir, "u"), v.slopes, v.unknown)
        widen = self.inner.sext if v.plain.kind == "i" else self.inner.zext
        slopes = tuple(self.unsigned_value(self.inner.sext(s)) for s in v.slopes)
        return Followed(self, self.unsigned_value(widen(v.plain)), slopes, v.unknown)

    def unsigned_value(self, v: Value) -> Value:
        return v.like(v.ir, "u")

    def pure(self, function: Callable[..., Value], *values: Followed) -> Followed:
        """The result of a function, whose operands must be the same in every block."""
        followed = [self.settled(v) for v in values]
        return Followed(self, function(*(v.plain for v in followed)), (), either(*(v.unknown for v in followed)))
