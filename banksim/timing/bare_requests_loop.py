"""The loop over cycles for bare requests: each warp issues its own, in order, onto the path of
shared_memory_path.py."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import NUMBERS, Numbers
from banksim.banks.compiled.one_request import parts as parts_of
from banksim.requests.lane_intrinsics import pointer
from banksim.system.bundles import Words, at, bundle
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inner, outer
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.path_records import NEVER, Path, new_path
from banksim.timing.scoreboards import Waiting, new_waiting
from banksim.timing.shared_memory_path import has_place, move, offer, serve

RESULT = 0
"""The only scoreboard that a warp has here."""


@bundle
class Requests(NamedTuple):
    """The requests of one block, sorted by epoch, then by warp. `number`: the warp of each, counted from 0."""

    number: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    cost: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]


@outer
def parts_of_each(
    address: Integers, mask: Integers, op: Integers, width: Integers, rule: Integers, found: Integers
) -> None:
    """Write to `found` how many parts each request has, those without an active lane included."""
    for n in range(len(address)):
        place = pointer(np.uint64(address.ctypes.data + 4 * 32 * n))
        found[n] = parts_of(place, mask[n], op[n], width[n], rule)


def path_cycles(requests: Requests, numbers: Numbers, chained: bool) -> int:
    """Cycles until all requests of a block have been served and their results have come."""
    warps = int(requests.number.max()) + 1
    next_of, end_of, ready = np.full(warps, -1), np.zeros(warps, np.int64), np.zeros(warps, np.int64)
    figures = numbers.record()
    parts = [Words(part) for part in (requests, new_path(), new_waiting(warps, 1))]
    places = np.array([*(part.address for part in parts), figures.ctypes.data])
    return int(run(places, next_of, end_of, ready, chained))


@outer
def run(places: Integers, next_of: Integers, end_of: Integers, ready: Integers, chained: bool) -> Integer:
    """`places`: the addresses of Requests, Path, Waiting, and of the figures."""
    requests, path, waiting = at(Requests, places[0]), at(Path, places[1]), at(Waiting, places[2])
    f = carray(pointer(places[3]), 1, NUMBERS)[0]
    total, warps = len(requests.number), len(next_of)
    t: Integer = np.int64(0)
    first = 0
    while first < total:
        last = first
        while last < total and requests.epoch[last] == requests.epoch[first]:
            last += 1
        for w in range(warps):
            next_of[w] = end_of[w] = 0
        for n in range(first, last):
            w = requests.number[n]
            if n == first or requests.number[n - 1] != w:
                next_of[w] = n
            end_of[w] = n + 1
        t = epoch(requests, path, waiting, f, next_of, end_of, ready, t, chained)
        if last < total:
            t += f.barrier + f.server * warps
        ready[:] = t
        first = last
    return t


@inner
def epoch(
    requests: Requests,
    path: Path,
    waiting: Waiting,
    f: Numbers,
    next_of: Integers,
    end_of: Integers,
    ready: Integers,
    t: Integer,
    chained: bool,
) -> Integer:
    """Serve the requests between two barriers. Returns the cycle at which the last result has come."""
    warps = len(next_of)
    left = 0
    for w in range(warps):
        left += end_of[w] - next_of[w]
    one = path.one[0]
    while True:
        serve(path, waiting, f, t)
        move(path, waiting, f, t)
        for s in range(SUB_CORES):
            if has_place(path, f, s) > t:
                continue
            best, since = -1, NEVER
            for w in range(s, warps, SUB_CORES):
                free = not chained or (waiting.pending[w, RESULT] == 0 and waiting.until[w, RESULT] <= t)
                if next_of[w] < end_of[w] and free and ready[w] < since:
                    best, since = w, ready[w]
            if best >= 0 and since <= t:
                n = next_of[best]
                row = offer(path, f, s, t, best, requests.cost[n], requests.parts[n], 0)
                path.requests[row].write, path.requests[row].read = RESULT, -1
                waiting.pending[best, RESULT] += 1
                next_of[best], ready[best] = n + 1, t + 1
                left -= 1
        t += 1
        if left == 0 and one.pool == 0 and idle(path):
            break
    done = max(path.ends[0], path.ends[1])
    for w in range(warps):
        done = max(done, waiting.until[w, RESULT])
    return done


@inner
def idle(path: Path) -> bool:
    """Whether no request is under way."""
    for s in range(SUB_CORES):
        if path.sub_cores[s].count:
            return False
    return path.slots[0] < 0 and path.slots[1] < 0
