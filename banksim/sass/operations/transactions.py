"""Transaction barriers (mbarrier): words of shared memory at which threads arrive and copies add up their bytes.

Of the word of 64 bits, 1 to 20 hold minus the arrivals that a phase expects, 43 to 62 minus those still to come, 63 the
parity of the phase, as the code around them shows; 21 to 42 are taken to hold the bytes still to come. The counters
report no request for any of these instructions.
"""

from __future__ import annotations

from banksim.errors import UnsupportedError
from banksim.sass.engine import Engine, Value
from banksim.sass.operations.memory import memory_operand
from banksim.sass.operations.table import operation, which
from banksim.sass.program import Instruction

ARRIVALS = {"A1T0": (1, 0), "ART0": (None, 0), "A0TR": (0, 1), "A0TX": (0, -1)}
"""By what a modifier adds (None: the register's value): arrivals, and the sign with which its value counts as bytes."""
PLAIN = (1, 1)


def try_wait(i: Instruction) -> bool:
    """Whether the instruction may wait for the end of a phase; each engine lets its threads wait in front of it."""
    return i.name == "SYNCS" and "TRYWAIT" in i.modifiers


def over(x: Engine, i: Instruction) -> Value:
    """Whether the phase whose parity the operand's top bit tells is over."""
    _, high = x.fetch(i, "barrier", x.address(memory_operand(i), False), 8)
    return (high ^ x.raw(i.operands[-1])) >> 31 != 0


@operation("SYNCS", f"EXCH 64 ARRIVE TRANS64 RED PHASECHK TRYWAIT {' '.join(ARRIVALS)}")
def transact(x: Engine, i: Instruction) -> None:
    to, at, source = i.operands
    address = x.address(at, False)
    match which(i, ("EXCH", "ARRIVE", "PHASECHK")):
        case "EXCH" if to.is_zero:
            x.atomic(i, "barrier", address, "u64", "exch", (x.wide(source),), None)
        case "ARRIVE":
            count, sign = ARRIVALS.get(which(i, ARRIVALS), PLAIN)
            value = x.zext(x.value(source))
            bytes_ = x.const(0, 64) if not sign else value if sign > 0 else -value
            arrivals = value if count is None else x.const(count, 64)
            change = (arrivals & 0xFFFFF) << 43 | (bytes_ & 0x3FFFFF) << 21
            x.atomic(i, "barrier", address, "u64", "arrive", (change,), None if to.is_zero else to)
        case "PHASECHK":
            x.write_predicate(to, over(x, i))
        case _:
            raise UnsupportedError(f"the form {i.opcode}")
