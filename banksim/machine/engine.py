"""What an operation sees of the machine, whichever engine runs it.

An operation is `f(x, i)`: `x` an `Engine`, `i` the instruction. It reads operands, computes with the usual
operators, and writes results. A value is an engine's own object, one per lane or one per warp (a scalar that
broadcasts), of a kind: bool, unsigned or signed integer of 32 or 64 bits, float of 32 or 64 bits. Operators want
both sides of one width; a plain Python number takes the other side's kind. u32 and u64 wrap. `>>`, `<`, `>` and
the like follow the kind: `signed(v)` and `unsigned(v)` choose. A shift of the width or more is undefined: clamp.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import ZERO_REGISTER, Instruction, Operand

Value = Any
Routine = Callable[..., tuple[Value, ...]]
"""What makes words of an engine and some values, known by a name: code that many instructions share."""
Table = Callable[[int, Value], Value]
"""The u32 that stands in a column of a table, in a row (u32)."""

PTX_NAMES = {"SR_VIRTID": "%warpid", "SR_VIRTUALSMID": "%smid", "SR_VIRTCFG": "%nwarpid"}
"""What PTX calls some of the special registers that have no value here."""


def unknown_special(name: str) -> UnsupportedError:
    called = f"%pm{name[5:]}" if name.startswith("SR_PM") else PTX_NAMES.get(name)
    return UnsupportedError(f"{called} ({name})" if called else f"special register {name}")


class Access(NamedTuple):
    """What each executing lane accesses, of those where `lanes` holds: 1 to 16 bytes at its address.

    `space`: "global", "shared", "local", "generic", "const", or "barrier": shared memory, with no request.
    """

    i: Instruction
    space: str
    address: Value
    width: int
    lanes: Value | None = None
    signed: bool = False
    """What is read of 1 or 2 bytes is extended to 32 bits, with its sign if this holds."""

    @property
    def bank(self) -> int:
        """Of constant memory."""
        return next(o.number for o in self.i.operands if o.kind == "const")


class Engine(ABC):
    """Operand decoding, stated once, over the primitives that each engine supplies."""

    registers = ZERO_REGISTER["R"]
    """How many a thread has."""

    def check_register(self, kind: str, number: int) -> None:
        """UnsupportedError for a register that threads of this kernel do not have, as damaged code may name."""
        count = self.registers if kind == "R" else ZERO_REGISTER[kind]
        if number >= count:
            raise UnsupportedError(f"register {kind}{number} (of {count})")

    # ---- reading operands
    def value(self, o: Operand) -> Value:
        """The operand as u32, with its sign marks applied as integer operations."""
        v = self.raw(o)
        if o.kind in ("imm", "float"):
            return v
        if o.negative:
            v = ~v + 1
        return ~v if o.inverted else v

    def complement(self, o: Operand) -> Value:
        """As `value`, but -a read as ~a: the + 1 is left to an addition that counts carries."""
        v = self.raw(o)
        return ~v if o.kind not in ("imm", "float") and (o.negative or o.inverted) else v

    def wide(self, o: Operand) -> Value:
        """The operand as u64: a register pair, two words of constant memory, or a zero-extended immediate."""
        if o.kind in ("imm", "float"):
            return self.const(o.number, 64)
        if o.is_zero:
            return self.const(0, 64)
        v = self.long_of(self.raw(o), self.raw(o, word=1))
        if o.negative:
            v = ~v + 1
        return ~v if o.inverted else v

    def float32(self, o: Operand) -> Value:
        v = self.as_float(self.raw(o))
        if o.absolute:
            v = self.absolute(v)
        return -v if o.negative and o.kind != "float" else v

    def float64(self, o: Operand) -> Value:
        """A register pair or two constant words as a double; an immediate is the upper word of one."""
        if o.kind in ("imm", "float"):
            return self.const(float(o.text), 64)
        v = self.as_float(self.const(0, 64) if o.is_zero else self.long_of(self.raw(o), self.raw(o, word=1)))
        return self.marked(v, o)

    def marked(self, v: Value, o: Operand) -> Value:
        """A double with the marks of sign of its operand; the text of an immediate has its own."""
        if o.absolute:
            v = self.absolute(v)
        return -v if o.negative and o.kind not in ("imm", "float") else v

    def predicate(self, o: Operand) -> Value:
        """A predicate operand as bool, its ! applied; PT is true."""
        v = self.read_predicate(o.kind, o.number)
        return ~v if o.inverted else v

    # ---- primitives: registers
    @abstractmethod
    def raw(self, o: Operand, word: int = 0) -> Value:
        """u32 of a register, constant word or immediate, sign marks ignored; `word` 1: the one after it."""

    @abstractmethod
    def read_predicate(self, kind: str, number: int) -> Value: ...

    @abstractmethod
    def write(self, o: Operand, v: Value, word: int = 0) -> None:
        """Write u32 (or s32) to register `o` (+ `word`) in the lanes that execute the instruction."""

    @abstractmethod
    def write_predicate(self, o: Operand, v: Value) -> None: ...

    def write_words(self, o: Operand, words: Iterable[Value]) -> None:
        """Write several u32 to register `o` and those after it."""
        for word, v in enumerate(words):
            self.write(o, v, word)

    def write64(self, o: Operand, v: Value) -> None:
        self.write_words(o, self.words_of(self.unsigned(v)))

    def write_old(self, to: Operand, v: Value, wide: bool, lanes: Value | None) -> None:
        """What an atomic found, as u32 or u64, to register `to`; to a predicate: whether it is not 0. Where `lanes`
        does not hold, a register stays."""
        if to.kind == "P":
            return self.write_predicate(to, v != 0)
        for word, part in enumerate((self.low(v), self.high(v)) if wide else (v,)):
            self.write(to, part if lanes is None else self.where(lanes, part, self.raw(to, word)), word)
        return None

    # ---- primitives: kinds and conversions
    @abstractmethod
    def const(self, c: int | float, bits: int = 32) -> Value:
        """A scalar: an int gives unsigned, a float gives a float of that many bits."""

    @abstractmethod
    def zext(self, v: Value) -> Value:
        """u32, s32 (its bits) or bool → u64."""

    @abstractmethod
    def sext(self, v: Value) -> Value:
        """u32 or s32, taken as signed → s64."""

    @abstractmethod
    def low(self, v: Value) -> Value:
        """u64 or s64 → its lower 32 bits as u32."""

    def high(self, v: Value) -> Value:
        return self.low(self.unsigned(v) >> 32)

    def long_of(self, low: Value, high: Value) -> Value:
        """Two u32 as the words of a u64."""
        return self.zext(low) | self.zext(high) << 32

    def words_of(self, v: Value) -> tuple[Value, Value]:
        """The lower and the upper word of a u64."""
        return self.low(v), self.high(v)

    @abstractmethod
    def number(self, v: Value) -> Value:
        """bool → u32, 0 or 1; what `short` made → u32."""

    @abstractmethod
    def signed(self, v: Value) -> Value: ...

    @abstractmethod
    def unsigned(self, v: Value) -> Value: ...

    @abstractmethod
    def bits(self, v: Value) -> Value:
        """The bit pattern of a float (or a signed integer) as unsigned."""

    @abstractmethod
    def as_float(self, v: Value) -> Value:
        """A bit pattern as a float of the same width."""

    @abstractmethod
    def to_f32(self, v: Value) -> Value:
        """Value conversion from f64 or an integer kind, to nearest even."""

    @abstractmethod
    def to_f64(self, v: Value) -> Value: ...

    @abstractmethod
    def to_integer(self, v: Value, bits: int, signed: bool) -> Value:
        """A float, already rounded to a whole number, as an integer: saturating, NaN gives 0."""

    def short(self, v: Value) -> Value:
        """u32 below 2¹⁶, for sums below 2¹⁶: as u16 where an engine is faster with these. `number` makes it u32."""
        return v

    # ---- primitives: arithmetic beyond the operators
    @abstractmethod
    def where(self, condition: Value, a: Value, b: Value) -> Value: ...

    def rarely(self, condition: Value, v: Value, other: Callable[[], Value]) -> Value:
        """`v`, or where the condition holds, which it seldom does in any lane, `other()`."""
        return self.where(condition, other(), v)

    @abstractmethod
    def absolute(self, v: Value) -> Value: ...

    @abstractmethod
    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a·b + c of f32 or f64, rounded once, to nearest even."""

    @abstractmethod
    def divide(self, a: Value, b: Value) -> Value: ...

    @abstractmethod
    def round(self, v: Value, mode: str) -> Value:
        """A float to a whole number; mode nearest (even), floor, ceil, trunc."""

    @abstractmethod
    def popcount(self, v: Value) -> Value: ...

    @abstractmethod
    def leading_zeros(self, v: Value) -> Value:
        """Of u32; 32 for 0."""

    # ---- primitives: the warp
    @abstractmethod
    def lane(self) -> Value:
        """Lane numbers, u32."""

    @abstractmethod
    def warp_number(self) -> Value:
        """The number of the warp in its block, scalar u32."""

    @abstractmethod
    def active(self) -> Value:
        """Mask of the lanes that execute this instruction, scalar u32."""

    @abstractmethod
    def ballot(self, v: Value) -> Value:
        """bool → mask of the executing lanes where it holds, scalar u32."""

    @abstractmethod
    def first(self, v: Value) -> Value:
        """The value of the lowest executing lane, as a scalar."""

    @abstractmethod
    def shuffle(self, v: Value, source: Value) -> Value:
        """In each lane the u32 that lane `source` (u32, 0 to 31) holds, executing or not."""

    @abstractmethod
    def permute(self, v: Value, source: Sequence[int]) -> Value:
        """In lane l the u32 that lane `source[l]` holds, executing or not, known when the code is."""

    @abstractmethod
    def apart(self, name: str, function: Routine, values: Sequence[Value]) -> tuple[Value, ...]:
        """`function(x, *values)`, which computes one to eight u32 of u32 and of nothing else, as a routine of that
        name: code of some length that many instructions share."""

    @abstractmethod
    def lanewise(self, name: str, function: Callable[..., Value], values: Sequence[Value]) -> Value:
        """As `apart`, of a function that makes one value of each lane's, all of the kind of the first."""

    @abstractmethod
    def tabulated(
        self, name: str, function: Callable[[Engine, Value, Table], Value], v: Value, columns: Sequence[Sequence[int]]
    ) -> Value:
        """As `apart`, of a function that makes one u32 of each lane's, by a table of `columns` of numbers below 2³²."""

    @abstractmethod
    def read_apart(
        self, i: Instruction, name: str, function: Routine, values: Sequence[Value], lanes: Value | None = None
    ) -> tuple[Value, ...]:
        """As `apart`, of a function that reads global memory too, for the executing lanes, of those where `lanes`
        holds. Undefined elsewhere."""

    @abstractmethod
    def service(self, i: Instruction, name: str, words: Sequence[Value]) -> tuple[Value, Value]:
        """Let the host do what driver_calls.py calls `name`, for the executing lanes; up to ten u32 → two."""

    def need_cluster(self, i: Instruction) -> None:
        """Refuse what only the launches of clusters may execute."""
        self.service(i, "need_cluster", [self.const(0)])

    def bulk_copy(self, i: Instruction, name: str, shared: Value, outside: Value, size: Value) -> None:
        """Do what driver_calls.py calls `name` for the lowest executing lane: copy `size` (u32) bytes between an
        address of shared memory (u32) and a generic one (u64)."""
        self.service(i, name, [shared, self.low(outside), self.high(outside), size])

    @abstractmethod
    def special(self, name: str, uniform: bool) -> Value:
        """A special register (SR_TID.X, SR_LANEID …) as u32; `uniform`: as a scalar."""

    # ---- memory
    def address(self, o: Operand, wide: bool) -> Value:
        """Sum of the terms of a memory operand: u64 if `wide`, else u32."""
        total = self.const(0, 64 if wide else 32)
        for part in o.parts:
            scale = next((int(m[1:]) for m in part.modifiers if m in ("X4", "X8", "X16")), 1)
            term = self.term(part, wide)
            total = total + (term * scale if scale > 1 else term)
        return total

    def term(self, part: Operand, wide: bool) -> Value:
        """A register pair, unless marked as 32 bits, in a wide address; offsets are signed."""
        if not wide:
            return self.raw(part)
        if part.kind in ("imm", "float"):
            return self.unsigned(self.sext(self.raw(part)))
        return self.zext(self.raw(part)) if "U32" in part.modifiers else self.wide(part)

    @abstractmethod
    def fetch(self, a: Access) -> tuple[Value, ...]:
        """The words that are read. Undefined in other lanes."""

    @abstractmethod
    def put(
        self, a: Access, words: Sequence[Value], other: tuple[Value, str] | None = None, source: Value | None = None
    ) -> None:
        """Write words. `other`: (condition, one for the warp; the op that the request counts as where it holds).
        `source`: the addresses' bits from `SOURCE_BIT` on."""

    def load(self, a: Access, to: Operand) -> None:
        """Read into register `to` and those after it."""
        self.write_words(to, self.fetch(a))

    def store(self, a: Access, source: Operand) -> None:
        self.put(a, [self.raw(source, word) for word in range(max(a.width // 4, 1))])

    @abstractmethod
    def atomic(self, a: Access, kind: str, function: str, values: tuple[Value, ...], to: Operand | None) -> None:
        """One read-modify-write a lane, lane by lane.

        `kind`: u32 s32 u64 s64, or one of operations/float_atomics.py. `function`: add min max inc dec and or xor exch
        cas cas_spin, or arrive (at an mbarrier; the value: arrivals and bytes to come, each in its field).
        `values`: the operand (cas: compare, then new), u32 or u64 bits. `to` receives the old value. cas_spin tries
        only one lane of each bank, the lowest (of 8 bytes, one of each bank in each half of the warp), and gives 1
        where the exchange took place, else 0."""
