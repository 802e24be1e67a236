"""What the blocks that a worker ran counted, and how counts are added."""

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
    what checks `found`, and how many findings were `lost`; a `hint` at races where none looked; the `doubts`.
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
    """The sums of what workers counted; of their worst requests the worst, first in block and warp. (NumPy's own copy
    leaves what lies between fields as memory was, and equal tallies would differ in their bytes.)"""
    total = tallies[0].view(np.uint8).copy().view(tallies[0].dtype)
    for other in tallies[1:]:
        for name in ("requests", "low", "high", "ideal", "unknown"):
            total[name] += other[name]
        total["degree"] = np.maximum(total["degree"], other["degree"])
        better = takes_over(total, other)
        for name in ("worst_excess", "worst_mask", "worst_block", "worst_warp", "worst_address"):
            total[name][better] = other[name][better]
    return total


def takes_over(held: Array, new: Array) -> npt.NDArray[np.bool_]:
    """Where the worst request of `new` is to be named instead of the one that is held."""
    better: npt.NDArray[np.bool_] = np.zeros(held.shape, np.bool_)
    for name, better_of in (("worst_warp", np.less), ("worst_block", np.less), ("worst_excess", np.greater)):
        better = better_of(new[name], held[name]) | ((new[name] == held[name]) & better)
    better = (new["worst_mask"] != 0) & (better | (held["worst_mask"] == 0))
    return better
