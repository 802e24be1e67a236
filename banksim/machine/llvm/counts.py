"""What the blocks that a worker ran counted, and how counts are added."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from banksim.machine.doubts import Doubts
from banksim.machine.faults import Stop
from banksim.machine.races.findings import Finding, Hint

Array = npt.NDArray[np.void]


@dataclass
class Counts:
    """What a launch did.

    `counters` as `Compiled` lays them out; `tallies` (sites, architectures) of dtype TALLY; `blocks` that finished;
    what checks `found`, and how many findings they had to leave out (`lost`); a `hint` at races where none looked;
    the `doubts`.
    """

    counters: npt.NDArray[np.int64]
    tallies: Array
    blocks: int
    seconds: float
    stop: Stop | None
    found: tuple[Finding, ...] = field(default=())
    lost: int = 0
    hint: Hint | None = None
    doubts: Doubts = field(default_factory=dict)


def merged(tallies: list[Array]) -> Array:
    """The sums of what workers counted; of their worst requests the worst, first in block and warp."""
    total = tallies[0].copy()
    for other in tallies[1:]:
        for name in ("requests", "low", "high", "ideal", "unknown"):
            total[name] += other[name]
        total["degree"] = np.maximum(total["degree"], other["degree"])
        for at, (a, b) in enumerate(zip(total, other, strict=True)):
            if b["worst_mask"] and (not a["worst_mask"] or rank(b) < rank(a)):
                for name in ("worst_excess", "worst_mask", "worst_block", "worst_warp", "worst_address"):
                    total[name][at] = other[name][at]
    return total


def rank(tally: np.void) -> tuple[int, int, int]:
    return -int(tally["worst_excess"]), int(tally["worst_block"]), int(tally["worst_warp"])
