"""What the blocks that a worker ran counted, and how counts are added."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.machine.doubts import Doubts
from banksim.machine.faults import Stop
from banksim.machine.races.findings import Finding, Hint
from banksim.requests.kinds import LANES

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


Site = tuple[int, str, int]
"""The pc of an instruction that makes requests, their op and width."""
SUMMED = ("requests", "low", "high", "ideal", "unknown")
WORST = ("worst_excess", "worst_mask", "worst_block", "worst_warp", "worst_address")


def numbers_of(sites: Sequence[Site]) -> dict[Site, list[int]]:
    """The sites in the order of the code, each once, with their numbers: an instruction may have been translated more
    than once."""
    found: dict[Site, list[int]] = {}
    for number, site in sorted(enumerate(sites), key=lambda pair: pair[1][0]):
        found.setdefault(site, []).append(number)
    return found


def by_site(numbers: Mapping[Site, Sequence[int]], tallies: Array) -> Array:
    """The tallies of each site, from those of each number."""
    found = tallies[[first for first, *_ in numbers.values()]]
    for row, alike in enumerate(numbers.values()):
        if len(alike) > 1:
            found[row] = merged([tallies[number] for number in alike])
    return found


def merged(tallies: Sequence[Array], of_launches: bool = False) -> Array:
    """The sums of what workers counted, or launches; of their worst requests the worst, first in block and warp."""
    total = copied(tallies[0])
    for other in tallies[1:]:
        for name in SUMMED:
            total[name] += other[name]
        total["degree"] = np.maximum(total["degree"], other["degree"])
        held, new = total.view(np.recarray), other.view(np.recarray)
        better = takes_over(held, new, is_before(total, other) if of_launches else np.False_)
        for name in WORST:
            total[name][better] = other[name][better]
    return total


def copied(tallies: Array) -> Array:
    """The same in memory of its own. NumPy's own copy leaves what lies between fields as memory was, and the bytes of
    equal tallies would differ."""
    return np.ascontiguousarray(tallies).reshape(-1).view(np.uint8).copy().view(tallies.dtype).reshape(tallies.shape)


def of_launches(tallies: Sequence[Array], times: Sequence[int], base: int) -> Array:
    """The sums of launches, each of which was made so many times. Of their worst requests nothing is left that is not
    told, so that they can be compared; `base`: where the kernel's shared memory begins."""
    found = np.stack(tallies)
    for name in SUMMED:
        found[name] *= np.reshape(times, (-1, *[1] * (found.ndim - 1)))
    lanes = found["worst_mask"][..., None] >> np.arange(LANES, dtype=np.uint32) & 1
    found["worst_address"] = np.maximum(found["worst_address"] * lanes, base)
    found["worst_excess"] *= found["unknown"] == 0
    while len(found) > 1:
        more = len(found) // 2
        rest = found[more:]
        rest[:more] = merged([rest[:more], found[:more]], of_launches=True)
        found = rest
    return copied(found[0])


def is_before(held: Array, new: Array) -> npt.NDArray[np.bool_]:
    """Whether of two requests that are alike otherwise that of `new` has the smaller mask, or smaller addresses."""
    first = (held["worst_address"] != new["worst_address"]).argmax(-1)[..., None]
    old, other = (np.take_along_axis(one["worst_address"], first, -1)[..., 0] for one in (held, new))
    less: npt.NDArray[np.bool_] = new["worst_mask"] < held["worst_mask"]
    less |= (new["worst_mask"] == held["worst_mask"]) & (other < old)
    return less


def takes_over(held: Any, new: Any, better: Any) -> Any:
    """Whether the worst request of `new` is to be named instead of the one that is held: of two tallies, or of each two
    of arrays. `better`: whether it is if both are of equal excess, of one block and of one warp."""
    better = (new.worst_warp < held.worst_warp) | ((new.worst_warp == held.worst_warp) & better)
    better = (new.worst_block < held.worst_block) | ((new.worst_block == held.worst_block) & better)
    better = (new.worst_excess > held.worst_excess) | ((new.worst_excess == held.worst_excess) & better)
    return (new.worst_mask != 0) & (better | (held.worst_mask == 0))
