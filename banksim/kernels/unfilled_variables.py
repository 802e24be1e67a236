"""Which `__constant__` variables a kernel read though nobody had filled them.

A `__constant__` variable that the source initialises and one that a host is to fill differ in a cubin by their bytes
alone. So this is what is said to be unfilled: what begins as zeros, was not filled, and was named by an instruction
that threads executed, by its place in constant bank 3 (of an element that a register tells: the place to which that
adds). One that the source initialises with nothing but zeros is told too. What code reads through a pointer is not
seen, and Numba's constant arrays, which the compiler fills, are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import Instruction, Kernel
from banksim.kernels.variables import CONSTANT_VARIABLES
from banksim.requests.trace import Site

NUMBA = "_cudapy_cmem"
"""The names that Numba gives its constant arrays."""


@dataclass(frozen=True)
class Unfilled:
    """A `__constant__` variable that is zero because nobody filled it, its bytes, and where it was read first."""

    name: str
    size: int
    site: Site

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "bytes": self.size, "file": self.site.file, "line": self.site.line}


def in_words(name: str, size: int, where: str) -> str:
    """`where`: the place at which it was read, if that is known."""
    what = f"__constant__ {name} ({size} bytes) was read{f' at {where}' if where else ''} and is all zeros"
    return f"{what}: nobody filled it, give --constant {name}=TYPE[SHAPE]=VALUE"


def unfilled(
    kernel: Kernel, banks: Mapping[int, npt.NDArray[np.uint8]], executed: Iterable[Instruction]
) -> tuple[Unfilled, ...]:
    """The variables that these instructions read though nobody filled them, in the order of the code.

    `banks`: the launch's constants."""
    content = banks.get(CONSTANT_VARIABLES, np.zeros(0, np.uint8))
    zeros = [
        (variable.place, variable)
        for variable in kernel.variables
        if variable.place is not None
        and variable.name not in kernel.constants
        and not variable.name.startswith(NUMBA)
        and not any(content[variable.place : variable.place + variable.size])
    ]
    found: dict[str, Unfilled] = {}
    for i in executed if zeros else ():
        for o in i.operands:
            if o.kind != "const" or o.number != CONSTANT_VARIABLES:
                continue
            at = sum(part.number for part in o.parts if part.kind == "imm")
            for place, variable in zeros:
                if place <= at < place + variable.size:
                    found.setdefault(variable.name, Unfilled(variable.plain_name, variable.size, i.site))
    return tuple(found.values())
