"""The engine whose values are followed from block to block: it adds LLVM code for the block that is executed, by the
engine of the machine, and beside it for slopes and bounds."""

from collections.abc import Callable, Sequence

from banksim.classes.bounds import Bounds
from banksim.classes.compiled.records import REGION
from banksim.classes.followed import Followed, Slopes, either
from banksim.classes.footprint import RESULTS, Unfollowed
from banksim.classes.needed import Needed
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Operand
from banksim.machine.doubts import CLOCKS
from banksim.machine.engine import Engine, Routine, Table
from banksim.machine.llvm import ir
from banksim.machine.llvm.engine import LLVMEngine, Register
from banksim.machine.llvm.scratch import ROW
from banksim.machine.llvm.values import INT, LANES, POINTER, WORDS, Value
from banksim.machine.state import CONTEXT, REGISTERS


class Follower(Bounds, Unfollowed):
    """Operations over `Followed` values. `inner` executes; `axes`: as of `Bounds`."""

    def __init__(self, inner: LLVMEngine, needed: Needed, axes: tuple[int, ...], period: int) -> None:
        self.inner, self.e, self.axes, self.period = inner, inner.e, axes, period
        self.registers = inner.registers
        self.needed = needed
        self.changing = {r: n for n, r in enumerate(sorted(needed.changing.anywhere))} if axes else {}
        self.data = {r: n for n, r in enumerate(sorted(needed.data.anywhere))}
        self.cache: dict[Register, tuple[Slopes, Value | None]] = {}
        self.defines: set[Register] = set()
        self.start = 0
        self.only_signs = False
        """Whether only the signs of what is read matter."""
        self.everywhere = inner.new("b", 1, 1, INT[1](1))
        """That a value is unknown in every lane."""

    # ---- where slopes and unknown lanes lie, behind the registers of a warp
    @property
    def spare(self) -> int:
        """Bytes of a warp's record for the slopes and the unknown lanes of registers."""
        return -(-(len(self.changing) * len(self.axes) * ROW + 4 * len(self.data)) // 64) * 64

    def slopes_at(self, register: Register) -> list[ir.Value]:
        base = REGISTERS + ROW * self.registers + ROW * len(self.axes) * self.changing[register]
        return [self.e.at(self.inner.warp, base + ROW * n) for n in range(len(self.axes))]

    def unknown_at(self, register: Register) -> ir.Value:
        base = REGISTERS + ROW * self.registers + ROW * len(self.axes) * len(self.changing)
        return self.e.at(self.inner.warp, base + 4 * self.data[register])

    def begin_block(self, start: int) -> None:
        self.cache, self.defines, self.start = {}, set(), start

    def beside(self, register: Register) -> tuple[Slopes, Value | None]:
        """The slopes of a register, and where it is unknown."""
        if register not in self.cache:
            slopes: Slopes = ()
            unknown = None
            vector = register[0] in ("R", "P")
            if register in self.needed.changing.at[self.start] and register in self.changing:
                kind = WORDS if vector else INT[32]
                lanes = LANES if vector else 1
                rows = self.slopes_at(register)
                slopes = tuple(self.inner.new("u", 32, lanes, self.e.load(row, kind)) for row in rows)
            if register in self.needed.data.at[self.start]:
                mask = self.e.load(self.unknown_at(register), INT[32])
                bools = self.e.as_bools(mask) if vector else self.e.b.trunc(mask, INT[1])
                unknown = self.inner.new("b", 1, LANES if vector else 1, bools)
            self.cache[register] = slopes, unknown
        return self.cache[register]

    def keep(self) -> None:
        """At the end of a block of instructions, write the slopes and unknown lanes of the registers that it has
        defined to the warp's record."""
        e, active = self.e, self.inner.active_mask
        for register in sorted(self.defines):
            slopes, unknown = self.cache[register]
            vector = register[0] in ("R", "P")
            if register in self.changing:
                for row, slope in zip(self.slopes_at(register), slopes or self.zeros(), strict=True):
                    if vector:
                        e.masked_store(row, e.as_bools(active), slope.spread().ir)
                    else:
                        e.store(slope.ir, row)
            if register in self.data:
                where = self.unknown_at(register)
                mask = self.mask(unknown) if vector else self.truth(unknown)
                if vector:
                    others = e.b.and_(e.load(where, INT[32]), e.b.not_(active))
                    mask = e.b.or_(e.b.and_(mask, active), others)
                e.store(mask, where)

    def zeros(self) -> Slopes:
        return tuple(self.inner.const(0) for _ in self.axes)

    def truth(self, one: Value | None) -> ir.Value:
        return INT[32](0) if one is None else self.e.b.zext(one.ir, INT[32])

    def nothing(self, word: Value | None = None) -> Followed:
        """A u32 of which nothing is known."""
        return Followed(self, word or self.inner.const(0), (), self.everywhere)

    # ---- registers
    def raw(self, o: Operand, word: int = 0) -> Followed:
        if o.kind == "const" and any(part.kind != "imm" for part in o.parts):
            self.decided(self.address(o, False))
        plain = self.inner.raw(o, word)
        if o.kind not in ("R", "UR") or o.is_zero:
            return Followed(self, plain)
        v = Followed(self, plain, *self.beside((o.kind, o.number + word)))
        return self.where(self.signed(v) < 0, self.const(0xFFFFFFFF), self.const(0)) if self.only_signs else v

    def read_predicate(self, kind: str, number: int) -> Followed:
        plain = self.inner.read_predicate(kind, number)
        return Followed(self, plain) if number == 7 else Followed(self, plain, (), self.beside((kind, number))[1])

    def write(self, o: Operand, v: Followed, word: int = 0) -> None:
        if not o.is_zero:
            self.inner.write(o, v.plain, word)
            self.assign((o.kind, o.number + word), v)

    def write_predicate(self, o: Operand, v: Followed) -> None:
        if not o.is_zero:
            self.inner.write_predicate(o, v.plain)
            self.assign((o.kind, o.number), v)

    def assign(self, register: Register, v: Followed) -> None:
        """The slopes of a register that an instruction has written, where its guard holds."""
        if (v.slopes and register not in self.changing) or (v.unknown is not None and register not in self.data):
            raise UnsupportedError(f"{register[0]}{register[1]}, which was taken for one that does not change")
        if register not in self.changing and register not in self.data:
            return
        slopes, unknown = v.slopes, v.unknown
        if register[0] in ("UR", "UP"):
            slopes = tuple(self.inner.first(s) for s in slopes)
            unknown = self.inner.first(unknown) if unknown is not None else None
        guard = self.inner.guard
        if guard is not None:
            if register[0] in ("UR", "UP"):
                guard = self.inner.active() != 0
            before, missing = self.beside(register)
            if slopes or before:
                pairs = zip(slopes or self.zeros(), before or self.zeros(), strict=True)
                slopes = tuple(self.inner.where(guard, new, old) for new, old in pairs)
            if unknown is not None or missing is not None:
                no = self.inner.const(0) != 0
                unknown = self.inner.where(guard, unknown or no, missing or no)
        self.cache[register] = slopes, unknown
        self.defines.add(register)

    # ---- kinds and conversions
    def like(self, v: Followed, plain: Value, slopes: Slopes = ()) -> Followed:
        return Followed(self, plain, slopes, v.unknown)

    def const(self, c: int | float, bits: int = 32) -> Followed:
        return Followed(self, self.inner.const(c, bits))

    def zext(self, v: Followed) -> Followed:
        unsigned = self.unsigned(v) if v.plain.kind == "i" else v
        self.within_kind(unsigned)
        slopes = tuple(self.unsigned_value(self.inner.sext(s)) for s in v.slopes)
        return self.like(v, self.inner.zext(v.plain), slopes)

    def sext(self, v: Followed) -> Followed:
        self.within_kind(self.signed(v))
        slopes = tuple(self.unsigned_value(self.inner.sext(s)) for s in v.slopes)
        return self.like(v, self.inner.sext(v.plain), slopes)

    def low(self, v: Followed) -> Followed:
        return self.like(v, self.inner.low(v.plain), tuple(map(self.inner.low, v.slopes)))

    def long_of(self, low: Followed, high: Followed) -> Followed:
        """By a sum instead of an OR of the two words, which share no bit: slopes pass through sums."""
        return self.zext(low) + (self.zext(high) << 32)

    def number(self, v: Followed) -> Followed:
        return self.like(v, self.inner.number(v.plain))

    def signed(self, v: Followed) -> Followed:
        return self.like(v, self.inner.signed(v.plain), v.slopes)

    def unsigned(self, v: Followed) -> Followed:
        return self.like(v, self.inner.unsigned(v.plain), v.slopes)

    def bits(self, v: Followed) -> Followed:
        return self.like(v, self.inner.bits(v.plain), v.slopes)

    def as_float(self, v: Followed) -> Followed:
        return self.pure(self.inner.as_float, v)

    def to_f32(self, v: Followed) -> Followed:
        return self.pure(self.inner.to_f32, v)

    def to_f64(self, v: Followed) -> Followed:
        return self.pure(self.inner.to_f64, v)

    def to_integer(self, v: Followed, bits: int, signed: bool) -> Followed:
        return self.pure(lambda u: self.inner.to_integer(u, bits, signed), v)

    # ---- arithmetic beyond the operators
    def where(self, condition: Followed, a: Followed | int, b: Followed) -> Followed:
        if not isinstance(a, Followed):
            a = b.lifted(a)
        b = a.lifted(b)
        plain = self.inner.where(condition.plain, a.plain, b.plain)
        slopes: Slopes = ()
        if a.slopes or b.slopes:
            pairs = zip(a.slopes or a.zeros(), b.slopes or b.zeros(), strict=True)
            slopes = tuple(self.inner.where(condition.plain, s, t) for s, t in pairs)
        unknown = condition.unknown
        if a.unknown is not None or b.unknown is not None:
            no = self.inner.const(0) != 0
            unknown = either(unknown, self.inner.where(condition.plain, a.unknown or no, b.unknown or no))
        return Followed(self, plain, slopes, unknown)

    def absolute(self, v: Followed) -> Followed:
        return self.pure(self.inner.absolute, v)

    def fma(self, a: Followed, b: Followed, c: Followed) -> Followed:
        return self.pure(self.inner.fma, a, b, c)

    def divide(self, a: Followed, b: Followed) -> Followed:
        return self.pure(self.inner.divide, a, b)

    def round(self, v: Followed, mode: str) -> Followed:
        return self.pure(lambda u: self.inner.round(u, mode), v)

    def lanewise(self, name: str, function: Callable[..., Value], values: Sequence[Followed]) -> Followed:
        return self.pure(lambda *given: self.inner.lanewise(name, function, given), *values)

    def tabulated(
        self,
        name: str,
        function: Callable[[Engine, Value, Table], Value],
        v: Followed,
        columns: Sequence[Sequence[int]],
    ) -> Followed:
        return self.pure(lambda u: self.inner.tabulated(name, function, u, columns), v)

    def popcount(self, v: Followed) -> Followed:
        return self.pure(self.inner.popcount, v)

    def leading_zeros(self, v: Followed) -> Followed:
        return self.pure(self.inner.leading_zeros, v)

    # ---- the warp
    def lane(self) -> Followed:
        return Followed(self, self.inner.lane())

    def warp_number(self) -> Followed:
        return Followed(self, self.inner.warp_number())

    def active(self) -> Followed:
        return Followed(self, self.inner.active())

    def ballot(self, v: Followed) -> Followed:
        unknown = None if v.unknown is None else self.inner.ballot(v.unknown) != 0
        return Followed(self, self.inner.ballot(v.plain), (), unknown)

    def first(self, v: Followed) -> Followed:
        first = self.inner.first
        unknown = None if v.unknown is None else first(v.unknown)
        return Followed(self, first(v.plain), tuple(map(first, v.slopes)), unknown)

    def shuffle(self, v: Followed, source: Followed) -> Followed:
        """A lane gets the value, the slopes and the unknown state of the lane that it reads."""
        source = self.settled(source)
        place, inner = source.plain, self.inner
        unknown = source.unknown
        if v.unknown is not None:
            unknown = either(unknown, inner.shuffle(inner.number(v.unknown), place) != 0)
        slopes = tuple(inner.shuffle(s, place) for s in v.slopes)
        return Followed(self, inner.shuffle(v.plain, place), slopes, unknown)

    def permute(self, v: Followed, source: Sequence[int]) -> Followed:
        inner = self.inner
        unknown = None if v.unknown is None else inner.permute(inner.number(v.unknown), source) != 0
        slopes = tuple(inner.permute(s, source) for s in v.slopes)
        return Followed(self, inner.permute(v.plain, source), slopes, unknown)

    def apart(self, name: str, function: Routine, values: Sequence[Followed]) -> tuple[Followed, ...]:
        """If an operand is unknown in one lane, the results are unknown in all lanes: the routine may look across
        lanes. It is not performed if one is unknown in every lane."""
        if any(v.unknown is self.everywhere for v in values):
            return (self.nothing(),) * RESULTS[name]
        followed = [self.settled(v) for v in values]
        unknown = either(*(v.unknown for v in followed))
        unknown = None if unknown is None else self.inner.ballot(unknown) != 0
        results = self.inner.apart(name, function, [v.plain for v in followed])
        return tuple(Followed(self, v, (), unknown) for v in results)

    def special(self, name: str, uniform: bool) -> Followed:
        plain = self.inner.special(name, uniform)
        if name in CLOCKS:
            return self.nothing(plain)
        if not name.startswith("SR_CTAID.") or "XYZ".index(name[-1]) not in self.axes:
            return Followed(self, plain)
        region = self.e.get(self.inner.context, CONTEXT, "region", as_type=POINTER)
        mine = "XYZ".index(name[-1])
        steps = [self.e.b.trunc(self.e.get(region, REGION, "step", d), INT[32]) for d in range(len(self.axes))]
        slopes = tuple(
            self.inner.new("u", 32, 1, step) if axis == mine else self.inner.const(0)
            for axis, step in zip(self.axes, steps, strict=True)
        )
        return Followed(self, plain, slopes)
