"""The registers that an instruction is said to write are those that it writes. One too many, and the value that was
there before would count as not needed; one too few, and the new one would. What it reads is told too."""

import pytest

import banksim
from banksim.classes.footprint import LOCAL, SHARED, footprint
from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine.llvm.engine import Register
from banksim.machine.llvm.translate import Translator
from banksim.machine.llvm.values import Value
from helpers.places import KERNELS
from helpers.recorded_launches import kernels

STORES = ("ST", "ATOM", "RED")
"""Beginnings of the names of instructions that read besides what they store, which decides nothing."""
Form = tuple[str, tuple[tuple[str, bool], ...]]


class Writes(Translator):
    """Compares, of every form of instruction once, the registers that the machine writes with those that are told."""

    def __init__(self, kernel: Kernel, seen: set[Form]) -> None:
        super().__init__(kernel, False, False, False, False)
        self.seen = seen
        self.wrong: list[str] = []
        self.read = set[Register]()
        read = self.x.read

        def noted(register: Register) -> Value:
            self.read.add(register)
            return read(register)

        self.x.read = noted  # type: ignore[method-assign]

    def simple(self, i: Instruction) -> None:
        form = i.opcode, tuple((o.kind, o.is_zero) for o in i.operands)
        if i.name in CONTROL or form in self.seen:
            return
        self.seen.add(form)
        before, self.x.defines = self.x.defines, set[Register]()
        self.read.clear()
        super().simple(i)
        written, self.x.defines = self.x.defines, self.x.defines | before
        try:
            found = footprint(i)
        except UnsupportedError:
            return
        told = found.writes.keys() - {LOCAL, SHARED}
        if told != written:
            self.wrong.append(f"{i.text} writes: {sorted(told ^ written)}")
        known = found.needs.union(found.places, *found.writes.values(), written)
        if self.read - known and not i.name.startswith(STORES):
            self.wrong.append(f"{i.text} reads: {sorted(self.read - known)}")


@pytest.mark.parametrize(
    "source", ["arithmetic", "atomics", "copies", "products", "textbook", "warp", "wide_atomics.cu"]
)
def test_what_instructions_write_is_told(source: str) -> None:
    seen: set[Form] = set()
    wrong = []
    for kernel in (banksim.load(KERNELS / source, "sm_90") if source.endswith(".cu") else kernels(source)).values():
        writes = Writes(kernel, seen)
        writes.translate(None)
        wrong += writes.wrong
    assert wrong == []
    assert seen
