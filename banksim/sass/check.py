"""Which instructions and modifiers are known: everything else is refused before a kernel runs."""

from __future__ import annotations

from banksim.errors import UnsupportedError
from banksim.sass.operations import OPERATIONS
from banksim.sass.program import Instruction, Kernel

CONTROL_MODIFIERS = {
    "BRA": {"U", "DIV", "CONV", "INC"},
    "BRX": set(),
    "JMP": set(),
    "CALL": {"REL", "ABS", "NOINC"},
    "RET": {"REL", "ABS", "NODEC"},
    "EXIT": set(),
    "BSSY": {"RECONVERGENT", "RELIABLE"},
    "BSYNC": {"RECONVERGENT", "RELIABLE"},
    "BREAK": {"RECONVERGENT", "RELIABLE"},
    "BMOV": {"32", "CLEAR"},
    "WARPSYNC": {"ALL", "COLLECTIVE", "EXCLUSIVE"},
    "BAR": {"SYNC", "ARV", "RED", "DEFER_BLOCKING", "POPC", "AND", "OR"},
    "B2R": {"RESULT"},
    "NANOSLEEP": {"U32"},
    "ENDCOLLECTIVE": set(),
    "YIELD": set(),
    "BPT": {"TRAP", "DRAIN", "PAUSE_QUIET"},
}
"""Control flow, which each engine has for itself, and the modifiers that this one knows."""


def check(kernel: Kernel) -> None:
    """Raise `UnsupportedError` for the first instruction or modifier that is not known."""
    for i in kernel.instructions:
        operation = OPERATIONS.get(i.name)
        known = operation.modifiers if operation else CONTROL_MODIFIERS.get(i.name)
        if known is None:
            raise refused(kernel, i, f"instruction {i.name}")
        strange = sorted(i.modifiers - set(known))
        if strange:
            raise refused(kernel, i, f"modifier .{strange[0]} of {i.name}")


def refused(kernel: Kernel, i: Instruction, what: str) -> UnsupportedError:
    where = f"{i.site.file}:{i.site.line}" if i.site.file else "no source line"
    return UnsupportedError(
        f"{kernel.plain_name}: {what} is not known (SASS {i.pc:#06x} {i.text or i.opcode}; {where})"
    )
