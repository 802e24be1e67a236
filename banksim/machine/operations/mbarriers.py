"""mbarriers (cuda::barrier): words of shared memory at which threads arrive and asynchronous copies count their bytes.

Bits 1 to 20 of the 64-bit word hold the number of arrivals that a phase expects, bits 43 to 62 the number still to come
(both negated), bit 63 the parity of the phase: so it follows from compiled code. Bits 21 to 42 are assumed to hold the
bytes still to come. The hardware's counters report no request for any of these instructions.
"""

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine import codes
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.loads_and_stores import memory_operand
from banksim.machine.operations.table import operation, which

FORMS: dict[str, tuple[int | str, int | str]] = {
    "A1T0": (1, 0), "ART0": ("R", 0), "A0TR": (0, "R"), "A0TX": (0, "-R"), "A0T1": (0, 1), "": (1, "R"),
}  # fmt: skip
"""By modifier ("" for none): what the instruction adds, as arrivals and bytes to come. R: the register's value."""
COMPLETED = {"TRANSCNT": (0, -1), "ARVCNT": (1, 0)}
"""The same for ARRIVES, which takes effect when the thread's copies are done."""


def try_wait(i: Instruction) -> bool:
    """Whether the instruction may wait for a phase's end. The engines make its threads wait before they execute it."""
    return i.name == "SYNCS" and "TRYWAIT" in i.modifiers


def over(x: Engine, i: Instruction) -> Value:
    """Whether the phase has ended whose parity is the top bit of the operand."""
    _, high = x.fetch(Access(i, "barrier", x.address(memory_operand(i), False), 8))
    return (high ^ x.raw(i.operands[-1])) >> 31 != 0


@operation("SYNCS", f"EXCH 64 ARRIVE TRANS64 RED PHASECHK TRYWAIT {' '.join(FORMS)} OPTOUT CCTL IV")
def transact(x: Engine, i: Instruction) -> None:
    if "CCTL" in i.modifiers:
        return None  # the barrier is given up; what was there stays
    to, at, source = i.operands
    address = x.address(at, False)
    match which(i, ("EXCH", "ARRIVE", "PHASECHK")):
        case "EXCH" if to.is_zero:
            return x.atomic(Access(i, "barrier", address, 8), "u64", "exch", (x.wide(source),), None)
        case "ARRIVE":
            value = x.value(source)
            arrivals, bytes_ = FORMS[which(i, tuple(filter(None, FORMS)))]
            change = changed(x, value, arrivals, bytes_)
            if "OPTOUT" in i.modifiers:  # and as many fewer are expected from then on
                change = change | (change & codes.PENDING) >> 42
            return arrive(x, i, address, change, None if to.is_zero else to)
        case "PHASECHK":
            return x.write_predicate(to, over(x, i))
    raise UnsupportedError(f"the form {i.opcode}")


@operation("ARRIVES", f"LDGSTSBAR 64 {' '.join(COMPLETED)}")
def arrive_with_copies(x: Engine, i: Instruction) -> None:
    arrivals, bytes_ = COMPLETED[which(i, tuple(COMPLETED))]
    change = changed(x, x.const(0), arrivals, bytes_)
    arrive(x, i, x.address(i.operands[0], False), change)


def arrive(
    x: Engine, i: Instruction, at: Value, change: Value, to: Operand | None = None, lanes: Value | None = None
) -> None:
    x.atomic(Access(i, "barrier", at, 8, lanes), "u64", "arrive", (change,), to)


def changed(x: Engine, value: Value, arrivals: int | str, bytes_: int | str) -> Value:
    """The change of a barrier's word, for each lane."""

    def number(what: int | str) -> Value:
        if isinstance(what, int):
            return x.const(what & (1 << 64) - 1, 64)
        v = x.zext(value)
        return -v if what == "-R" else v

    return number(arrivals) << 43 & codes.PENDING | number(bytes_) << 21 & codes.BYTES_TO_COME
