"""Work that neither the warp nor its memory instructions do: the driver's functions, and bulk copies.

The counters report no request for a bulk copy; `bulk` requests have no count.
"""

from __future__ import annotations

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.driver_calls import REDUCTIONS, SERVICES
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.mbarriers import changed
from banksim.machine.operations.table import operation, which

FIRST_ARGUMENT, ARGUMENTS = 4, 10
"""The calling convention: arguments from R4 on, results in R4 and R5, the return address in R20."""
UNIT = 16
"""Bytes that bulk copies count in."""


@operation("SERVICE")
def serve(x: Engine, i: Instruction) -> None:
    name = i.operands[0].text
    registers = [Operand("R", FIRST_ARGUMENT + n) for n in range(ARGUMENTS)]
    results = x.service(i, name if name in SERVICES else "unknown", [x.raw(o) for o in registers])
    for o, v in zip(registers, results, strict=False):
        x.write(o, v)


@operation("UBLKCP", "S G")
def bulk_copy(x: Engine, i: Instruction) -> None:
    """S.G: [shared, and behind it the mbarrier], [global], units; G.S: [global], [shared], units."""
    to, source, units = i.operands
    size = x.value(units) * UNIT
    if i.opcode.endswith(".G.S"):
        return copy(x, i, "copy_out", x.address(source, False), x.address(to, True), size)
    copy(x, i, "copy_in", x.address(to, False), x.address(source, True), size)
    first = x.lane() == x.first(x.lane())
    change = changed(x, size, 0, "-R")
    return x.atomic(i, "barrier", x.raw(to.parts[0], 1), "u64", "arrive", (change,), None, first)


@operation("UBLKRED", f"G S {' '.join(REDUCTIONS)} 64 U32 S32 U64 S64")
def bulk_reduction(x: Engine, i: Instruction) -> None:
    to, source, units = i.operands
    if not which(i, tuple(REDUCTIONS)):
        raise UnsupportedError(f"the form {i.opcode}")
    copy(x, i, "reduce_out", x.address(source, False), x.address(to, True), x.value(units) * UNIT)


def copy(x: Engine, i: Instruction, name: str, shared: Value, outside: Value, size: Value) -> None:
    first = x.lane() == x.first(x.lane())
    x.fetch(i, "shared", shared, UNIT, first)  # the request
    x.bulk_copy(i, name, shared, outside, size)
