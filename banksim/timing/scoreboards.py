"""The scoreboards of the warps of a multiprocessor: what they wait for, and when it is worth while to look at one."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined
from banksim.timing.asynchronous import Behind, new_behind
from banksim.timing.instruction_caches import SUB_CORES


@bundle
class Waiting(NamedTuple):
    """The scoreboards that warps wait for."""

    pending: npt.NDArray[np.int64]  # (warp, scoreboard): how many are under way with no end known
    until: npt.NDArray[np.int64]  # … when the latest of the others ends
    owner: npt.NDArray[np.int64]  # … the instruction that it was set by last
    wake: npt.NDArray[np.int64]  # by warp: when it is worth while to look at the warp again
    soon: npt.NDArray[np.int64]  # by sub-core: … at any of its warps
    stored: npt.NDArray[np.int64]  # when the data of the warp's stores have come
    asked: npt.NDArray[np.int64]  # by warp: how many requests are under way without which it does not exit,
    over: npt.NDArray[np.int64]  # … and when the latest of the others, and of what else it has started, is over
    behind: Behind  # what else they can wait for


def new_waiting(warps: int, scoreboards: int, behind: Behind | None = None) -> Waiting:
    shape = warps, scoreboards
    none, until, owner = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    wake, stored, asked, over = (np.zeros(warps, np.int64) for _ in range(4))
    behind = behind or new_behind(warps)
    return Waiting(none, until, owner, wake, np.zeros(SUB_CORES, np.int64), stored, asked, over, behind)


@inlined
def rouse(waiting: Waiting, warp: Integer) -> None:
    """Have a warp be looked at: something has changed that it may wait for."""
    waiting.wake[warp] = waiting.soon[warp % SUB_CORES] = 0


@inlined
def settle(waiting: Waiting, warp: Integer, scoreboard: Integer, at: Integer) -> None:
    """Note the cycle at which one of the operations that hold a scoreboard ends."""
    if scoreboard >= 0:
        waiting.pending[warp, scoreboard] -= 1
        waiting.until[warp, scoreboard] = max(waiting.until[warp, scoreboard], at)
        rouse(waiting, warp)


@inlined
def finish(waiting: Waiting, warp: Integer, write: Integer, read: Integer, at: Integer) -> None:
    """Note the cycle at which something ends that a warp has started beside its requests."""
    settle(waiting, warp, write, at)
    settle(waiting, warp, read, at)
    waiting.over[warp] = max(waiting.over[warp], at)
