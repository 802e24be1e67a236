"""Kernels written in SASS by hand: what no compiler would emit, run on either engine.

`run(instructions, words, engine)` loads registers R8 to R15 from rows of `words`, predicates P0 to P6 from the bits of
row 0 (which is also R8), uniform registers UR8 to UR11 from lane 0 of rows 0 to 3, runs every instruction on a fresh
start, and gives R20, R21, the predicates as bits, and UR20 after each.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import banksim
from banksim.kernels import disassembly
from banksim.kernels.kernel import BYTES, Instruction, Kernel, Operand, Parameter
from banksim.requests.kinds import LANES

INPUTS, OUTPUTS, PARAMETERS = 8, 4, 0x210


def instruction(text: str, pc: int = 0) -> Instruction:
    """`@!P0 IADD3.X R4, P1, R5, …` as the decoder would give it."""
    words = text.split(maxsplit=2) if text.startswith("@") else ["", *text.split(maxsplit=1)]
    guard, opcode, rest = (*words, "")[:3]
    name, *modifiers = opcode.split(".")
    return Instruction(
        pc=pc,
        base=0,
        opcode=opcode,
        name=name,
        modifiers=frozenset(modifiers),
        predicate=disassembly.operand(guard[1:]) if guard else None,
        operands=disassembly.operands(name, frozenset(modifiers), disassembly.split(rest), place),
        text=text,
    )


def place(symbol: str, at: int, _: bool) -> Operand | None:
    """Places in the code are numbers; there are no symbols."""
    return None if symbol else Operand("code", at, text=hex(at))


def kernel(lines: list[str], pointers: int = 2, **more: Any) -> Kernel:
    """A kernel of pointers, the first at c[0x0][0x210], and with `more` fields of its own."""
    made = Kernel(
        name="written",
        plain_name="written",
        arch="sm_90",
        instructions=tuple(instruction(line, BYTES * n) for n, line in enumerate(lines)),
        parameters=tuple(Parameter(n, 8 * n, 8) for n in range(pointers)),
        parameter_base=PARAMETERS,
        shared_base=0,
        shared_bytes=0,
        local_bytes=0,
        registers=64,
        banks={0: bytes(PARAMETERS + 8 * pointers)},
        cubin="\n".join([*lines, str(more)]).encode(),  # what engines know a kernel by
    )
    return replace(made, **more)


def harness(lines: list[str]) -> list[str]:
    """The instructions, each behind its operands' loads and before its results' stores."""
    code = ["S2R R0, SR_LANEID", "IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x210]", "IMAD.WIDE.U32 R4, R0, 0x4, c[0x0][0x218]"]
    code += [f"LDG.E R{8 + n}, [R2.64+{4 * LANES * n:#x}]" for n in range(INPUTS)]
    code += [f"R2UR UR{8 + n}, R{8 + n}" for n in range(4)]
    for n, line in enumerate(lines):
        code += ["R2P PR, R8, 0x7f", "R2UR UR7, R8", "UR2UP UPR, UR7, 0x7f"]
        code += ["IMAD.MOV.U32 R20, RZ, RZ, 0x11111111", "IMAD.MOV.U32 R21, RZ, RZ, 0x22222222"]
        code += ["UMOV UR20, 0x33333333", line, "P2R R6, PR, RZ, 0x7f", "MOV R7, UR20"]
        at = 4 * LANES * OUTPUTS * n
        results = ("R20", "R21", "R6", "R7")
        code += [f"STG.E [R4.64+{at + 4 * LANES * k:#x}], {r}" for k, r in enumerate(results)]
    return [*code, "EXIT"]


def run(lines: list[str], words: Any, engine: str) -> Any:
    """uint32 (instructions, 4, 32): R20, R21, predicates and UR20 after each instruction."""
    inputs = np.ascontiguousarray(words, np.uint32)
    assert inputs.shape == (INPUTS, LANES)
    out = np.zeros((len(lines), OUTPUTS, LANES), np.uint32)
    banksim.run(kernel(harness(lines)), 1, LANES, [inputs, out], engine=engine)
    return out
