"""The launches of tests/data/timing/uneven.cu that one H200 was measured with: rounds of each warp, in seven kinds."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LONG, SHORT = 128, 12
"""Rounds."""
WARPS = 64 * 132
"""That an H200 holds."""


class Uneven(NamedTuple):
    kind: str
    threads: int
    rounds: npt.NDArray[np.int32]
    """Of each warp, (blocks, warps)."""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.threads} {len(self.rounds)}"


def uneven_cases() -> Iterator[Uneven]:
    g = np.random.default_rng(5)
    for threads in (64, 256, 1024):
        warps = threads // 32
        for blocks in (WARPS // warps, 4 * WARPS // warps):
            each = {f"equal {n}": np.full(blocks * warps, n) for n in (10, 40, 128)}
            each["tenth"] = np.where(g.random(blocks * warps) < 0.1, LONG, SHORT)
            each["blocks"] = np.repeat(np.where(g.random(blocks) < 0.2, LONG, SHORT), warps)
            each["random"] = np.repeat(g.integers(1, LONG, blocks), warps)
            each["rising"] = np.repeat(np.linspace(1, LONG, blocks).astype(int), warps)
            for kind, rounds in each.items():
                yield Uneven(kind, threads, rounds.astype(np.int32).reshape(blocks, warps))
