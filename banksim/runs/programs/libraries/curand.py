"""The host's generators of cuRAND over NumPy: the same distributions, but the numbers of NumPy's Philox generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from banksim.runs.programs.libraries.calls import Array, Memory, of_bits

Draw = Callable[[np.random.Generator, int, float, float], Array]
DISTRIBUTIONS: dict[str, tuple[type[np.generic], Draw]] = {
    "Generate": (np.uint32, lambda g, n, a, b: g.integers(0, 1 << 32, n, np.uint32)),
    "GenerateUniform": (np.float32, lambda g, n, a, b: 1 - g.random(n, np.float32)),  # above 0, up to and with 1
    "GenerateUniformDouble": (np.float64, lambda g, n, a, b: 1 - g.random(n)),
    "GenerateNormal": (np.float32, lambda g, n, a, b: g.normal(a, b, n)),
    "GenerateNormalDouble": (np.float64, lambda g, n, a, b: g.normal(a, b, n)),
    "GenerateLogNormal": (np.float32, lambda g, n, a, b: g.lognormal(a, b, n)),
    "GenerateLogNormalDouble": (np.float64, lambda g, n, a, b: g.lognormal(a, b, n)),
    "GeneratePoisson": (np.uint32, lambda g, n, a, b: g.poisson(a, n)),
}


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Write random numbers to an address; for address 0, return them as bytes. They depend on the type, the seed, and
    how many were taken before."""
    kind, seed, taken, address, count, first, second = words
    dtype, draw = DISTRIBUTIONS[name]
    parameters: tuple[Any, ...] = of_bits(first, np.float64), of_bits(second, np.float64)
    bits = np.random.Philox(np.random.SeedSequence([kind, seed & 0xFFFFFFFFFFFFFFFF, taken & 0xFFFFFFFFFFFFFFFF]))
    values = draw(np.random.Generator(bits), count, *parameters).astype(dtype)
    if not address:
        return values.tobytes()
    memory.array(address, count, dtype)[:] = values
    return b""
