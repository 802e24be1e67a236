"""The table of operations, and what its rows have in common."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value

Function = Callable[[Engine, Instruction], None]

NAN32, NAN64 = 0x7FFFFFFF, 0xFFF8000000000000
"""The bits that the GPU writes for any float32 NaN, and for a double NaN that no operand brought along."""
QUIET64 = 1 << 51
"""The bit of a double NaN that arithmetic sets."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What an opcode does, and every modifier of it that `function` heeds or may ignore."""

    name: str
    function: Function
    modifiers: frozenset[str]


OPERATIONS: dict[str, Operation] = {}
ADDRESS_MARKS = frozenset({"64", "U32", "X4", "X8", "X16", "desc"})
"""Marks on the terms of an address, which engines heed."""


def operation(names: str, modifiers: str = "", marks: str = "") -> Callable[[Function], Function]:
    """Register a function under each of `names`; engines refuse an instruction with another modifier.

    `marks` are what may stand on its operands (the H1_H1 of R4.H1_H1): any other raises `UnsupportedError`.
    """
    known = frozenset(marks.split())

    def register(function: Function) -> Function:
        @wraps(function)
        def checked(x: Engine, i: Instruction) -> None:
            refuse_marks(i, known)
            function(x, i)

        for name in names.split():
            if name in OPERATIONS:
                raise ValueError(f"{name} stands twice in the table")
            OPERATIONS[name] = Operation(name, checked, frozenset(modifiers.split()))
        return function

    return register


def refuse_marks(i: Instruction, known: frozenset[str]) -> None:
    for o in i.operands:
        allowed = ADDRESS_MARKS if o.kind == "memory" else known
        strange = [m for m in o.modifiers if m not in allowed]
        strange += [m for part in o.parts for m in part.modifiers if m not in ADDRESS_MARKS]
        if strange:
            raise UnsupportedError(f"operand mark .{strange[0]} of {i.name}")


class Parts(NamedTuple):
    """Operands of the form `d, [P,]* a, b, …, [P,]*`."""

    to: Operand
    carries_out: tuple[Operand, ...]
    sources: tuple[Operand, ...]
    carries_in: tuple[Operand, ...]


def parts(i: Instruction) -> Parts:
    to, *rest = i.operands
    flags = [o.kind in ("P", "UP") for o in rest]
    first = flags.index(False)
    last = len(flags) - flags[::-1].index(False)
    return Parts(to, tuple(rest[:first]), tuple(rest[first:last]), tuple(rest[last:]))


def in_64_bits(i: Instruction) -> bool:
    """Whether operands and result of an integer instruction are pairs of registers (sm_120)."""
    return bool(i.modifiers & {"64", "S64", "U64"})


def which(i: Instruction, names: Mapping[str, object] | tuple[str, ...], default: str = "") -> str:
    """The one modifier among `names` that the instruction has."""
    return next((name for name in names if name in i.modifiers), default)


COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "LT": operator.lt, "EQ": operator.eq, "LE": operator.le,
    "GT": operator.gt, "NE": operator.ne, "GE": operator.ge,
}  # fmt: skip
COMBINATIONS = "AND OR XOR"
COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "AND": operator.and_, "OR": operator.or_, "XOR": operator.xor,
}  # fmt: skip


def neutral(i: Instruction, p: Operand) -> bool:
    """Whether combining with p changes nothing: PT of AND, !PT of OR and XOR."""
    return p.is_zero and p.inverted == ("AND" not in i.modifiers)


def combined(x: Engine, i: Instruction, holds: Value, p: Operand) -> Value:
    """holds ∘ p, ∘ being the instruction's AND, OR or XOR."""
    return holds if neutral(i, p) else COMBINE[which(i, COMBINE)](holds, x.predicate(p))


def write_comparison(x: Engine, i: Instruction, holds: Value, other: Value | None = None) -> None:
    """`P, Q, …, R`: P = holds ∘ R and Q = ¬holds ∘ R (or other ∘ R)."""
    last = next(o for o in i.operands[4:] if o.kind in ("P", "UP"))
    results = [combined(x, i, v, last) for v in (holds, ~holds if other is None else other)]
    for o, v in zip(i.operands, results, strict=False):
        if not o.is_zero:
            x.write_predicate(o, v)


def select(x: Engine, o: Operand, a: Value, b: Value) -> Value:
    """a where predicate operand `o` holds, else b; no choice is left where it is PT or !PT."""
    if o.is_zero:
        return b if o.inverted else a
    return x.where(x.predicate(o), a, b)


# ---- shifts by any amount; `where` never looks at the side that it does not take


def shift_left(x: Engine, v: Value, s: Value, bits: int = 32) -> Value:
    return x.where(s < bits, v << s, x.const(0, bits))


def shift_right(x: Engine, v: Value, s: Value, bits: int = 32) -> Value:
    return x.where(s < bits, v >> s, x.const(0, bits))


def shift_right_signed(x: Engine, v: Value, s: Value, bits: int = 32) -> Value:
    """Of an unsigned value's signed view; unsigned result."""
    s = x.where(s < bits, s, x.const(bits - 1, bits))
    return x.unsigned(x.signed(v) >> x.signed(s))


# ---- results of floating point


def write_float(x: Engine, o: Operand, v: Value) -> None:
    """Write the result of float32 arithmetic: any NaN as the GPU's one NaN."""
    x.write(o, float_bits(x, v))


def float_bits(x: Engine, v: Value) -> Value:
    return x.where(v == v, x.bits(v), x.const(NAN32))
