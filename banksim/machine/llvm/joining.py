"""Whether workers may join a launch that one worker has begun."""

from collections.abc import Collection
from functools import lru_cache

from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine.llvm.trace_callbacks import Sink

ORDERED = ("ATOM", "RED", "SERVICE", "SUATOM", "SURED", "UBLKRED", "UTMARED")
"""Beginnings of opcodes whose results may depend on the order of blocks. One worker runs them by their numbers."""


def may_join(kernel: Kernel, max_instructions: int | None, trace: Sink | None, checks: Collection[str]) -> bool:
    """Whether it makes no difference in what order a launch's blocks run."""
    return max_instructions is None and trace is None and not checks and not depends_on_order(kernel)


@lru_cache(maxsize=256)
def depends_on_order(kernel: Kernel) -> bool:
    """Whether what a block does may depend on how far others are."""
    return any(map(meets_others, kernel.instructions))


def meets_others(i: Instruction) -> bool:
    """Whether an instruction is one by which blocks tell each other something: an atomic, a volatile or acquiring load,
    a fence of more than the block."""
    if i.name.startswith("LD"):
        return "STRONG" in i.modifiers
    return i.name.startswith(ORDERED) or (i.name == "MEMBAR" and "CTA" not in i.modifiers)
