"""Work that neither the warp nor its memory instructions do: the driver's functions."""

from banksim.kernels.address_space import RETURN_ADDRESS
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine
from banksim.machine.operations.table import operation
from banksim.machine.services import SERVICES

FIRST_ARGUMENT, ARGUMENTS = 4, 10
"""The calling convention: arguments from R4 on, results in R4 and R5."""


@operation("SERVICE")
def serve(x: Engine, i: Instruction) -> None:
    name = i.operands[0].text
    registers = [Operand("R", FIRST_ARGUMENT + n) for n in range(ARGUMENTS)]
    words = [x.raw(o) for o in (*registers, Operand("R", RETURN_ADDRESS))]
    results = x.service(i, name if name in SERVICES else "unknown", words)
    for o, v in zip(registers, results, strict=False):
        x.write(o, v)
