"""The pipes of other generations: a table of code as `issue_table` makes it, at the rates that were published."""

import math

import numpy as np
import numpy.typing as npt

from banksim.architectures.published_gpus import Gpu, published
from banksim.kernels.kernel import Instruction, Kernel
from banksim.timing.issue_table import DOUBLE, FMA, HEAVY

TIMES = {"IMMA": 0.5, "TF32": 2}
"""How long a product takes by that of halves of its shape: of bytes, and of floats (the whitepapers' rates)."""


def at_published_rates(table: npt.NDArray[np.void], kernel: Kernel) -> npt.NDArray[np.void]:
    """The table of a kernel's code; changed where its architecture was not measured, but a GPU of it is published."""
    if gpu := published(kernel.arch):
        for row, i in zip(table, kernel.instructions, strict=True):
            slow_down(row, i, gpu)
    return table


def slow_down(row: np.void, i: Instruction, gpu: Gpu) -> None:
    """Have an instruction hold its pipe as long as it does on a GPU. Where there is one pipe of floats, they take
    that of integer products, so that both take turns."""
    if row["pipe"] == FMA and gpu.floats > 1:
        row["pipe"], row["interval"] = HEAVY, gpu.floats
    elif row["pipe"] == DOUBLE or any(m in ("F64", "S64", "U64") for m in i.modifiers):
        row["interval"] = max(row["interval"], gpu.doubles)
    elif i.name in ("HMMA", "IMMA"):
        times = next((TIMES[word] for word in (i.name, *i.modifiers) if word in TIMES), 1)
        row["interval"] = max(math.ceil(times * multiply_adds(i) / gpu.halves), 1)


def multiply_adds(i: Instruction) -> int:
    """Of a product of matrices: 2,048 of HMMA.16816, whose shape is 16 × 8 × 16."""
    shape = next(m for m in i.modifiers if m.isdigit())
    rows = 16 if shape.startswith("16") else 8
    return rows * 8 * int(shape[len(str(rows)) + 1 :])
