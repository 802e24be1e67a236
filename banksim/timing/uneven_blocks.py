"""Launches whose blocks take unequally long: when the last of them ends, if a multiprocessor is given the next blocks,
as far as there is room, when one of its own has ended, or of that beside it.

All blocks are executed, but few are timed. What these took gives the pace of a warp alone and of a sub-core that has
many; with these, a rough schedule is made of the timed blocks and of all, by the instructions that each warp executes.
The time of the launch is to that of the timed blocks as the one schedule is to the other. The kernels of
tests/data/timing/uneven.cu were measured on one H200 for it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Numbers
from banksim.machine.launch import Launch
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined, outer
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.issue_table import BARRIER, PIPES
from banksim.timing.multiprocessor import table_of
from banksim.timing.room import Room
from banksim.timing.spent_cycles import TimedBlock

UNEQUAL = 0.2
"""The standard deviation of what blocks execute, as a share of the mean, up to which they are taken to be equal: those
at an edge that have less to do are few."""
NOTHING = 1 / 16
"""The share of the longest block up to which blocks, and all of them one after the other, are taken to have nothing to
do."""
MOST = 1 << 23
"""Warps of a launch up to which they are told apart."""
MOST_WAITING = 0.5
"""The share of warps' time up to which they may wait for global memory: beyond that it is other multiprocessors that
they wait for."""
APART = 0.25
"""By how much the timed warps must differ, as a share of their mean, to tell what they take besides instructions."""
NEVER = 1e18
ENDED = 1e-3
"""Instructions: less than this is nothing left."""
Floats: TypeAlias = npt.NDArray[np.float64]


class Pace(NamedTuple):
    """Cycles that a warp takes `before` its instructions and for `each` of them if it is alone, instructions that a
    sub-core issues in a cycle at `most`; cycles between blocks that are given at first, and from a block's end to the
    next one's begin."""

    before: float
    each: float
    most: float
    apart: float
    replace: float


def room_for_work(launch: Launch) -> npt.NDArray[np.int64] | None:
    """Where `execute` notes what each warp executes. None where warps are not told apart."""
    if launch.cluster_blocks > 1 or launch.blocks * launch.warps > MOST:
        return None
    return np.zeros((launch.blocks, launch.warps), np.int64)


def work_of(launch: Launch, blocks: Sequence[TimedBlock], noted: npt.NDArray[np.int64]) -> Floats:
    """Instructions of each warp (block, warp): of the timed blocks as they did, of others as it was noted. Where warps
    wait for each other at barriers, all of a block count alike."""
    found = noted.astype(np.float64)
    for block in blocks:
        found[block.number] = block.executed
    if (table_of(launch.kernel)["kind"] == BARRIER).any():
        found[:] = found.mean(1, keepdims=True)
    return found


def unequal(work: Floats) -> bool:
    """Whether blocks differ, in all that they execute or in their longest warp."""
    return any(np.std(each) > UNEQUAL * np.mean(each) for each in (work.sum(1), work.max(1)))


def at_work(work: Floats, held: int, multiprocessors: int) -> int | None:
    """How many multiprocessors have work: as many as there are blocks that do not end at once. None: all."""
    longest = work.max(1)
    idle = longest < NOTHING * longest.max()
    busy = int(np.count_nonzero(~idle))
    short = longest[idle].sum() < NOTHING * longest.max() * multiprocessors * held
    return busy if busy < multiprocessors and short else None


def executed_by(blocks: Sequence[TimedBlock]) -> Floats:
    return np.concatenate([block.executed for block in blocks]).astype(np.float64)


def alike(blocks: Sequence[TimedBlock]) -> bool:
    """Whether these tell nothing of what warps take besides instructions."""
    did = executed_by(blocks)
    return bool(np.ptp(did) <= APART * did.mean())


def pace_of(
    blocks: Sequence[TimedBlock], more: Sequence[TimedBlock], resources: Mapping[str, int], numbers: Numbers, apart: int
) -> Pace:
    """The pace of the timed blocks, for which each resource was busy so many cycles, and of some `more`."""
    did, every = executed_by(blocks), [*blocks, *more]
    alone = np.concatenate([np.subtract(block.warps, block.start) - block.crowded for block in every])
    each, before = alone[: len(did)].mean() / did.mean(), 0.0
    if not alike(every):
        slope, level = np.polyfit(executed_by(every), alone, 1)
        if slope > 0 and level > 0:
            each, before = slope, level
    busiest = max(resources[name] for name in PIPES)
    by_all = max(busy for name, busy in resources.items() if name not in PIPES and name != "issue")
    most = min(resources["issue"] / max(busiest, 1), did.sum() / SUB_CORES / max(by_all, 1), 1)
    return Pace(before, each, most, apart, numbers.replace)


def unequally_long(
    blocks: Sequence[TimedBlock], work: Floats, total: int, room: Room, held: int, multiprocessors: int, pace: Pace
) -> int:
    """Cycles of a launch: when its last block ends. The timed ones took `total`."""
    timed = work[[block.number for block in blocks]]
    return round(total * last_end(work, room, held, multiprocessors, pace) / last_end(timed, room, held, 1, pace))


def last_end(work: Floats, room: Room, held: int, multiprocessors: int, pace: Pace) -> float:
    """When the last block ends of those that execute `work` (block, warp), of which a multiprocessor holds so many
    whole ones."""
    places = multiprocessors, max(room.places, held)
    left, paces = np.zeros((2, *places, work.shape[1]))
    now, soon = np.zeros((2, multiprocessors))
    order = np.tile(np.arange(places[1]), (multiprocessors, 1))
    free = np.zeros(SUB_CORES)
    begins, looks = np.full(places, NEVER), np.zeros(multiprocessors, np.int64)
    return float(schedule(work, left, begins, order, now, soon, paces, free, np.array(pace), looks, held, room.slots))


@inlined
def put(work: Floats, block: Integer, left: Floats) -> None:
    for w in range(work.shape[1]):
        left[w] = work[block, w]


@inlined
def advance(left: Floats, begins: Integer, paces: Floats, before: float, t: float) -> bool:
    """Let the warps of a block go on until `t`. Returns whether the last of them ends then."""
    was, alive = False, False
    for w in range(len(left)):
        was = was or left[w] > 0
        if left[w] > 0 and begins <= before:
            left[w] -= (t - before) * paces[w]
            if left[w] < ENDED:
                left[w] = 0.0
        alive = alive or left[w] > 0
    return was and not alive


@inlined
def running_warps(left: Floats) -> Integer:
    n: Integer = 0
    for w in range(len(left)):
        n += left[w] > 0
    return n


@inlined
def next_change(
    left: Floats, begins: Floats, order: Integers, paces: Floats, free: Floats, t: float, each: float, most: float
) -> float:
    """When a block of a multiprocessor begins or a warp ends next, behind `t`. Sets how fast warps go on until then:
    `order` has the places of blocks, of which those that were given first go ahead. `left`: instructions."""
    held, warps = left.shape
    for s in range(SUB_CORES):
        free[s] = most
    soon = NEVER
    for n in range(held):
        place = order[n]
        for w in range(warps):
            if left[place, w] > 0 and begins[place] > t:
                soon = min(soon, begins[place])
            elif left[place, w] > 0:
                s = (place * warps + w) % SUB_CORES
                paces[place, w] = min(1 / each, free[s])
                free[s] -= paces[place, w]
                if paces[place, w] > 0:
                    soon = min(soon, t + left[place, w] / paces[place, w])
    return soon


@outer
def schedule(
    work: Floats,
    left: Floats,
    begins: Floats,
    order: Integers,
    now: Floats,
    soon: Floats,
    paces: Floats,
    free: Floats,
    pace: Floats,
    looks: Integers,
    held: int,
    slots: int,
) -> float:
    """At first each multiprocessor is given as many blocks as it holds, one after the other, then, when one has
    ended there or beside, as many as there are places and slots for. Returns when the last one ends. By
    (multiprocessor, place): what its warps have `left` and how fast they go on, when they begin; the places in the
    `order` of their blocks. By multiprocessor: the time, when something changes next, and whether it
    `looks` for room then."""
    before, each, most, apart, replace = pace[0], pace[1], pace[2], pace[3], pace[4]
    multiprocessors, places = begins.shape
    following: Integer = 0
    for place in range(held):
        for sm in range(multiprocessors):
            if following < len(work):
                put(work, following, left[sm, place])
                begins[sm, place] = place * apart + before
                following += 1
    last = 0.0
    while True:
        sm = 0
        for other in range(multiprocessors):
            if soon[other] < soon[sm]:
                sm = other
        t = soon[sm]
        if t >= NEVER:
            return last
        ended = False
        for place in range(places):
            if advance(left[sm, place], begins[sm, place], paces[sm, place], now[sm], t):
                last, ended = max(last, t), True
        beside = sm ^ 1
        if ended and beside < multiprocessors and soon[beside] < NEVER:
            soon[beside], looks[beside] = t, 1
        running = slots
        if ended or looks[sm]:
            looks[sm] = 0
            running = 0
            for place in range(places):
                running += running_warps(left[sm, place])
        for place in range(places):
            if running + work.shape[1] <= slots and following < len(work) and running_warps(left[sm, place]) == 0:
                put(work, following, left[sm, place])
                begins[sm, place] = t + replace + before
                following += 1
                running += work.shape[1]
                youngest(order[sm], place)
        now[sm] = t
        soon[sm] = next_change(left[sm], begins[sm], order[sm], paces[sm], free, t, each, most)


@inlined
def youngest(order: Integers, place: Integer) -> None:
    """Put a place behind all others."""
    n: Integer = 0
    for m in range(len(order)):
        if order[m] != place:
            order[n] = order[m]
            n += 1
    order[n] = place
