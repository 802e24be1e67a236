"""How a launch is written down: the rules of its arguments, its registration.

An argument is `dtype[count] = expression` (an array) or `dtype = expression` (a scalar). The expression is
NumPy over `i`, the index of the element, `hash(i, seed)`, PCG's 32-bit output function, and `unit(i, seed)`,
a multiple of 2⁻²⁴ in [0, 1).
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

ARGUMENT = re.compile(r"(\w+)(?:\[(\d+)\])? = (.+)")


def pcg(i: Any, seed: int = 0) -> Any:
    """PCG's output function over 32-bit integers (O'Neill, RXS-M-XS), as int64."""
    state = (np.asarray(i).astype(np.uint64) + np.uint64(seed * 0x9E3779B9)) & np.uint64(0xFFFFFFFF)
    state = (state * np.uint64(747796405) + np.uint64(2891336453)) & np.uint64(0xFFFFFFFF)
    word = ((state >> ((state >> np.uint64(28)) + np.uint64(4))) ^ state) * np.uint64(277803737)
    word &= np.uint64(0xFFFFFFFF)
    return ((word >> np.uint64(22)) ^ word).astype(np.int64)


def unit(i: Any, seed: int = 0) -> Any:
    return (pcg(i, seed) >> 8) * 2.0**-24


def argument(rule: str) -> Any:
    """The array or NumPy scalar that a rule describes."""
    match = ARGUMENT.fullmatch(rule)
    if match is None:
        raise ValueError(f"not an argument's rule: {rule}")
    dtype, count, expression = match.groups()
    index = np.arange(int(count or 1), dtype=np.int64)
    value = eval(expression, {"i": index, "hash": pcg, "unit": unit, "np": np})
    array = np.broadcast_to(np.asarray(value), index.shape).astype(dtype)
    return array if count else array[0]


@dataclass(frozen=True)
class Launch:
    name: str
    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    dynamic_shared: int = 0
    may_hang: bool = False


LAUNCHES: list[Launch] = []


def launch(
    source: str,
    kernel: str,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *arguments: str,
    variant: str = "",
    mangled: str = "",
    dynamic_shared: int = 0,
    may_hang: bool = False,
) -> None:
    LAUNCHES.append(
        Launch(
            f"{source}.{kernel}{'/' if variant else ''}{variant}",
            source,
            mangled or kernel,
            grid if isinstance(grid, tuple) else (grid,),
            block if isinstance(block, tuple) else (block,),
            arguments,
            dynamic_shared,
            may_hang,
        )
    )
