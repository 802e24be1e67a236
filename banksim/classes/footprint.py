"""Which registers the results of an instruction depend on. Its operation runs on values that hold only that.

A value here is the set of what it depends on: registers, by file and number, and sources that are no registers:
("block", axis) for an index of the block, ("data", pc) for what an instruction reads from memory or a clock, `THREAD`
for what differs from thread to thread of a warp by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Access, Engine, Routine, Value
from banksim.machine.operations import OPERATIONS
from banksim.machine.operations.mbarriers import try_wait

Source = tuple[str, int]
Guard = tuple[int, bool]
"""The number of a thread's predicate, and whether it must be false."""
LOCAL = ("local", 0)
"""Local memory, as if it were one register."""
SHARED = ("shared", 0)
"""The block's shared memory, likewise."""
THREAD = ("thread", 0)
"""Which thread of its warp it is."""
DECIDING = frozenset({"shared", "generic", "barrier"})
"""Spaces whose accesses may be requests to shared memory, or decide how long threads wait at an mbarrier."""
MEMORIES = {"local": (LOCAL,), "shared": (SHARED,), "generic": (SHARED,)}
"""What a store to a space changes of what is followed."""
INSIDE = frozenset({"shared", "barrier"})
"""Spaces that lie in the block's own shared memory."""
NOT_FOLLOWED = {"cluster": "shared memory of other blocks"}
TENSOR_COPIES = {"tensor_in": (1, 2, 3, 9), "tensor_out": ()}
"""Services that copy tensors, and which of their words decide how many bytes an mbarrier is told of."""


class Dependences(frozenset[Source]):
    """What a value depends on; any operator gives what both sides depend on."""

    def joined(self, *others: object) -> Dependences:
        return Dependences(self.union(*(o for o in others if isinstance(o, Dependences))))

    __add__ = __radd__ = __mul__ = __rmul__ = __lshift__ = __rshift__ = joined
    __rsub__ = __rand__ = __ror__ = __rxor__ = __and__ = __or__ = __xor__ = __sub__ = joined
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = joined  # type: ignore[assignment]
    __hash__ = frozenset.__hash__

    def __invert__(self) -> Dependences:
        return self

    __neg__ = __invert__


NOTHING = Dependences()
RESULTS: dict[str, int] = {}
"""How many results a routine has, by its name."""


@dataclass
class Footprint:
    """`writes`: what each result depends on. `needs`: what its requests, or the way that control takes, depend on;
    `places`: what its addresses in other memory depend on, and `reaches`: whether it has any there. `guarded`: it may
    be left out; `guard`: the predicate of the only threads that read and write for it (None: all, or not known)."""

    writes: dict[Source, Dependences] = field(default_factory=dict)
    needs: Dependences = NOTHING
    places: Dependences = NOTHING
    reaches: bool = False
    guarded: bool = False
    guard: Guard | None = None


class Unfollowed(Engine):
    """What neither the search for dependences nor the following of values can handle, and both refuse."""

    def read_apart(
        self, i: Instruction, name: str, function: Routine, values: Sequence[Value], lanes: Value | None = None
    ) -> tuple[Value, ...]:
        raise UnsupportedError("what a fetch from a texture decides")

    def service(self, i: Instruction, name: str, words: Sequence[Value]) -> tuple[Value, Value]:
        raise UnsupportedError(f"what {'a call of the driver' if i.name == 'SERVICE' else i.opcode} decides")


class Tracer(Unfollowed):
    """Performs operations over `Dependences`."""

    def __init__(self) -> None:
        self.found = Footprint()
        self.pc = 0
        self.crosses = False

    def joined(self, *values: object, **more: object) -> Dependences:
        return NOTHING.joined(*values, *more.values())

    def data(self, *values: object) -> Dependences:
        return Dependences({("data", self.pc)}).joined(*values)

    def need(self, *values: object) -> None:
        self.found.needs = self.found.needs.joined(*values)

    # ---- registers
    def raw(self, o: Operand, word: int = 0) -> Dependences:
        if o.kind in ("R", "UR"):
            return NOTHING if o.is_zero else Dependences({(o.kind, o.number + word)})
        if o.kind == "const" and any(part.kind != "imm" for part in o.parts):
            self.reach(*map(self.raw, o.parts))
        return self.joined(*map(self.raw, o.parts)) if o.kind == "const" else NOTHING

    def read_predicate(self, kind: str, number: int) -> Dependences:
        return NOTHING if number == 7 else Dependences({(kind, number)})

    def write(self, o: Operand, v: Dependences, word: int = 0) -> None:
        if not o.is_zero:
            register = (o.kind, o.number + word)
            self.found.writes[register] = self.found.writes.get(register, NOTHING).joined(v)

    write_predicate = write

    # ---- arithmetic: whatever it computes
    def const(self, c: int | float, bits: int = 32) -> Dependences:
        return NOTHING

    zext = sext = low = number = signed = unsigned = bits = as_float = to_f32 = to_f64 = joined
    absolute = fma = divide = where = popcount = leading_zeros = joined

    def across(self, *values: object) -> Dependences:
        """Results that lanes get from each other."""
        self.crosses = True
        return self.joined(*values)

    def ballot(self, v: Dependences) -> Dependences:
        return self.across(v)

    first = ballot

    def shuffle(self, v: Dependences, source: Dependences) -> Dependences:
        return self.across(v, source)

    def to_integer(self, v: Dependences, bits: int, signed: bool) -> Dependences:
        return v

    def round(self, v: Dependences, mode: str) -> Dependences:
        return v

    def lanewise(self, name: str, function: Callable[..., Dependences], values: Sequence[Dependences]) -> Dependences:
        return self.joined(*values)

    def tabulated(
        self, name: str, function: Callable[..., Dependences], v: Dependences, columns: Sequence[Sequence[int]]
    ) -> Dependences:
        return v

    def lane(self) -> Dependences:
        return Dependences({THREAD})

    def warp_number(self) -> Dependences:
        return NOTHING

    active = lane

    def permute(self, v: Dependences, source: Sequence[int]) -> Dependences:
        return self.across(v)

    def apart(
        self, name: str, function: Callable[..., tuple[Dependences, ...]], values: Sequence[Dependences]
    ) -> tuple[Dependences, ...]:
        """Each result depends on everything that the routine is given. How many they are, performing it tells: of a
        register that is not written, what was there before is needed."""
        if name not in RESULTS:
            RESULTS[name] = len(function(self, *values))
        return (self.across(*values),) * RESULTS[name]

    def special(self, name: str, uniform: bool) -> Dependences:
        if name.startswith("SR_CTAID."):
            return Dependences({("block", "XYZ".index(name[-1]))})
        if "CLOCK" in name or "TIMER" in name:
            return self.data()
        return NOTHING if uniform else self.lane()

    # ---- memory
    def address(self, o: Operand, wide: bool) -> Dependences:
        pairs = [part for part in o.parts if (wide and part.kind == "UR") or "U32" not in part.modifiers]
        words = [self.raw(part, 1) for part in pairs if wide and part.kind in ("R", "UR")]
        return self.joined(*map(self.raw, o.parts), *words)

    def fetch(self, a: Access) -> tuple[Dependences, ...]:
        if a.space != "barrier" or at_mbarrier(a.i):
            self.request(a.space, a.address, a.lanes)
        return (self.read(a),) * max(a.width // 4, 1)

    def request(self, space: str, *deciding: object) -> None:
        refuse(space)
        if space in DECIDING:
            self.need(*deciding)
        if space not in INSIDE:
            self.reach(*deciding)

    def reach(self, *deciding: object) -> None:
        self.found.places = self.found.places.joined(*deciding)
        self.found.reaches = True

    def read(self, a: Access) -> Dependences:
        address: Dependences = a.address
        if a.space == "const" or at_mbarrier(a.i):  # all that mbarriers are told is the same in every block
            return address
        if a.space == "local":
            return address.joined(Dependences({LOCAL}))
        return address.joined(self.data(), Dependences({SHARED})) if a.space == "shared" else self.data()

    def put(
        self,
        a: Access,
        words: Sequence[Dependences],
        other: tuple[Dependences, str] | None = None,
        source: Dependences | None = None,
    ) -> None:
        self.request(a.space, a.address, a.lanes, source, other and other[0])
        for memory in MEMORIES.get(a.space, ()):
            self.found.writes[memory] = self.joined(a.address, *words)

    def atomic(self, a: Access, kind: str, function: str, values: tuple[Dependences, ...], to: Operand | None) -> None:
        self.request(a.space, a.address, a.lanes, *values if a.space == "barrier" else ())
        found = self.lane() if a.space == "barrier" else self.data()
        for memory in MEMORIES.get(a.space, ()):
            self.found.writes[memory] = self.joined(a.address, *values)
            found = found.joined(a.address, *values, Dependences({memory}))
        if to is not None and a.width == 16:
            self.write_words(to, [found] * 4)
        elif to is not None:
            self.write_old(to, found, a.width == 8, None)

    def bulk_copy(
        self, i: Instruction, name: str, shared: Dependences, outside: Dependences, size: Dependences
    ) -> None:
        self.reach(outside, size)

    def service(self, i: Instruction, name: str, words: Sequence[Dependences]) -> tuple[Dependences, Dependences]:
        if name not in TENSOR_COPIES:
            return super().service(i, name, words)
        self.need(*(words[n] for n in TENSOR_COPIES[name]))
        self.reach(*words)
        return NOTHING, NOTHING


def at_mbarrier(i: Instruction) -> bool:
    """Whether an instruction reads or changes an mbarrier and does nothing else."""
    return i.name in ("SYNCS", "ARRIVES")


def refuse(space: str) -> None:
    """`UnsupportedError` for accesses to a space that are not followed."""
    if space in NOT_FOLLOWED:
        raise UnsupportedError(f"what {NOT_FOLLOWED[space]} decides")


def footprint(i: Instruction) -> Footprint:
    """What an instruction's results and effects depend on. `UnsupportedError` for what is not followed."""
    x = Tracer()
    x.pc = i.pc
    if i.name in CONTROL:
        at_control(x, i)
    else:
        OPERATIONS[i.name].function(x, i)
    if try_wait(i):  # for what phase, decides when threads go on
        x.need(x.raw(i.operands[-1]))
    if i.predicate is not None:
        x.need(x.predicate(i.predicate))
        x.found.guarded = True
        if i.predicate.kind == "P" and not x.crosses:
            x.found.guard = (i.predicate.number, i.predicate.inverted)
    return x.found


def written_by_control(i: Instruction) -> tuple[Operand, ...]:
    """The operands of an instruction of control flow that it writes."""
    return {"BMOV": i.operands[:1], "B2R": i.operands}.get(i.name, ())


def at_control(x: Tracer, i: Instruction) -> None:
    """All operands decide where control goes, except those that it writes."""
    writes = written_by_control(i)
    for o in i.operands:
        if o.kind not in ("R", "UR", "P", "UP") or o.is_zero:
            continue
        if o in writes:
            x.write(o, NOTHING)
        else:
            x.need(Dependences({(o.kind, o.number)}))
