"""What an instruction is said to write is what it writes: a register more, and what was there before would be taken for
not needed; one less, and what it writes now would be."""

from __future__ import annotations

import pytest

from banksim.classes.footprint import LOCAL, footprint
from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine.llvm.engine import Register
from banksim.machine.llvm.translate import Translator
from helpers.recorded_launches import kernels

Form = tuple[str, tuple[tuple[str, bool], ...]]


class Writes(Translator):
    """Compares, of every form of instruction once, the registers that the machine writes with those that are told."""

    def __init__(self, kernel: Kernel, seen: set[Form]) -> None:
        super().__init__(kernel, False, False, False, False)
        self.seen = seen
        self.wrong: list[str] = []

    def simple(self, i: Instruction) -> None:
        form = i.opcode, tuple((o.kind, o.is_zero) for o in i.operands)
        if i.name in CONTROL or form in self.seen:
            return
        self.seen.add(form)
        before, self.x.defines = self.x.defines, set[Register]()
        super().simple(i)
        written, self.x.defines = self.x.defines, self.x.defines | before
        try:
            told = footprint(i).writes.keys() - {LOCAL}
        except UnsupportedError:
            return
        if told != written:
            self.wrong.append(f"{i.text}: {sorted(told ^ written)}")


@pytest.mark.parametrize("source", ["arithmetic", "atomics", "copies", "products", "textbook", "warp"])
def test_what_instructions_write_is_told(source: str) -> None:
    seen: set[Form] = set()
    wrong = []
    for kernel in kernels(source).values():
        writes = Writes(kernel, seen)
        writes.translate(None)
        wrong += writes.wrong
    assert wrong == []
    assert seen
