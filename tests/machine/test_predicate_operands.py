"""Predicates among the operands of instructions that decide which threads go on where (`@!P0 EXIT P1`)."""

from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL, Predicates
from banksim.machine.supported import check
from helpers.assembler import kernel

WAYS: dict[str, dict[str, Any]] = {"numpy": {"engine": "numpy"}, "llvm": {}, "timing": {"timing": True}}


def code(way_out: str) -> list[str]:
    """Threads whose word has bit 0 set have P0, those with bit 1 P1; the way out leads past a store of 1."""
    return [
        "S2R R0, SR_LANEID",
        "IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x210]",
        "IMAD.WIDE.U32 R4, R0, 0x4, c[0x0][0x218]",
        "LDG.E R8, [R2.64]",
        "LOP3.LUT P0, RZ, R8, 0x1, RZ, 0xc0, !PT",
        "LOP3.LUT P1, RZ, R8, 0x2, RZ, 0xc0, !PT",
        way_out,
        "MOV R9, 0x1",
        "STG.E [R4.64], R9",
        "EXIT",
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("leave", ["EXIT", "BRA", "JMP"])
@pytest.mark.parametrize("guard", ["@!P0 ", "@P0 ", ""])
@pytest.mark.parametrize("operand", ["P1", "!P1", "PT"])
def test_a_thread_leaves_where_guard_and_operand_hold(operand: str, guard: str, leave: str, way: str) -> None:
    words = np.random.default_rng(1).integers(0, 4, 32).astype(np.uint32)
    line = f"{guard}{leave} {operand}" + ("" if leave == "EXIT" else ", 0x90")
    out = np.zeros(32, np.uint32)
    run = banksim.run(kernel(code(line)), 1, 32, [words, out], workers=1, **WAYS[way])
    given = {"P0": words & 1 != 0, "P1": words & 2 != 0, "PT": words >= 0}
    holds = given | {f"!{name}": ~v for name, v in given.items()}
    leaves = holds[operand] & holds[guard.strip(" @") or "PT"]
    assert out.tolist() == (~leaves).astype(int).tolist()
    assert {e.instruction.pc: e.threads for e in run.profile if e.warps}.get(0x80, 0) == int((~leaves).sum())


UNKNOWN = [name for name, one in CONTROL.items() if one.predicates == Predicates.UNKNOWN]


@pytest.mark.parametrize("name", UNKNOWN)
def test_elsewhere_nobody_has_seen_one(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"the predicate operand of {name} is not known"):
        check(kernel([f"{name} P1", "EXIT"]))
