"""The memory that is both L1 cache and shared memory: when it is busy with data of global memory, and which
transactions of shared memory meet these. Nsight Compute counts a conflict for each, which no address explains.

Found by measuring one H200 (tests/data/timing/h200_arbitration.json; examples/guide/hardware.md tells how well it
predicts). What leaves for the L2 is read sector by sector, each in a cycle of its own: a load from shared memory in
that cycle gives way. What comes is written by sectors two cycles apart: of the stores to shared memory in four cycles
one gives way. An atomic does both. They meet only in the same 32 of 128 bytes and in the same half of the memory. New
lines of the L1 take its places in turn: first those of the upper half, then what shared memory leaves of the lower one.
What comes and leaves also takes time of the requests, which the slots of their path owe.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.machine.state import Memo
from banksim.requests.kinds import ATOMICS, OPS
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined

SECTORS = 4
"""Of a line."""
HALF = 128 << 10
"""Bytes of half of the memory."""
UPPER_LINES = HALF // 128
AHEAD = 1 << 12
"""Cycles, or rounds of them, that are remembered; what comes later than that meets nothing."""
ROUND = 4
"""Cycles: of the stores that meet what comes in these, one gives way."""
ALONE = 2
"""Cycles between the sectors of a line that comes to the only multiprocessor that asks; where all ask, they come
together."""
SPREAD = 128
"""Cycles by which a line may come earlier than its request is answered, since some slices of the L2 are nearer: a power
of two (assumed)."""
STEP = 4
"""Cycles by which a line may leave later: so too."""
APART = 2
"""Cycles between two transactions of a request."""
TRANSACTION = 100
"""In what the slots owe."""
ALL, RETURNING = range(2)
"""Before whatever request they owe it, or only before one that returns something."""
LOADS, STORES, ATOMS, NOTHING = range(4)
"""As what a request to shared memory meets data; or nobody knows."""
MEETS = tuple(
    ATOMS if op in ATOMICS else LOADS if op.startswith("ld") else STORES if op.startswith("st") else NOTHING
    for op in OPS
)
"""By the code of an op."""
MET, COULD, COULD_ABOVE, SERVED = range(4)
"""What is counted of transactions: a thousand times those that met data; those that would have if these had lain in the
same half, in the lower one and in the upper one; and all of them."""
PLACED, UPPER, PLACES, LOWER = range(4)
"""Of the lines of the L1: how many have been given a place, how many places there are in the upper half, and in all;
and how many of a thousand lie in the lower half."""


@bundle
class DataStage(NamedTuple):
    """What that memory is busy with, and what met it."""

    leaving: npt.NDArray[np.int64]  # (cycle % AHEAD, 2): the cycle, and what is read in it
    coming: npt.NDArray[np.int64]  # (round % AHEAD, 2): the round of cycles, and what is written in it
    latest: npt.NDArray[np.int64]  # two: the last cycle of which either has something
    lines: npt.NDArray[np.int64]  # PLACED …
    met: npt.NDArray[np.int64]  # (LOADS …, MET …)
    apart: npt.NDArray[np.int64]  # one: cycles between the sectors of a line that comes
    used: npt.NDArray[np.bool_]  # one: whether there is shared memory at all
    owed: npt.NDArray[np.int64]  # (ALL, RETURNING): hundredths of transactions for which the slots have to wait yet
    free: npt.NDArray[np.int64]  # by slot: since when it has had nothing to do, or until when it waits


def new_stage(l1_bytes: int = 0, alone: bool = False, used: bool = False) -> DataStage:
    """Beside an L1 cache of so many bytes; `alone`: of the only multiprocessor that is busy; `used`: whether there is
    shared memory."""
    places = max(l1_bytes // 128, 1)
    upper = min(places, UPPER_LINES)
    return DataStage(
        leaving=np.full((AHEAD, 2), -1),
        coming=np.full((AHEAD, 2), -1),
        latest=np.full(2, -1),
        lines=np.array([0, upper, places, 1000 * (places - upper) // places]),
        met=np.zeros((NOTHING, SERVED + 1), np.int64),
        apart=np.array([ALONE if alone else 0]),
        used=np.array([used]),
        owed=np.zeros(2, np.int64),
        free=np.zeros(2, np.int64),
    )


def in_lower_half(stage: DataStage, lines: float) -> float:
    """How many of so many lines, from the first on, lie in the lower half."""
    _, upper, places, _ = stage.lines.tolist()
    rounds, rest = divmod(lines, places)
    return float(rounds * (places - upper) + max(rest - upper, 0))


@inlined
def owe(stage: DataStage, returning: bool, hundredths: Integer) -> None:
    """Have the slots wait for so many hundredths of a transaction, if they have something to do: all requests, or only
    those that return something (tests/data/timing/h200_stage.npz)."""
    stage.owed[RETURNING if returning else ALL] += hundredths


@inlined
def do(stage: DataStage, hundredths: Integer) -> None:
    """Do so much of what the slots owe."""
    first = min(stage.owed[ALL], hundredths)
    stage.owed[ALL] -= first
    stage.owed[RETURNING] = max(stage.owed[RETURNING] - hundredths + first, 0)


@inlined
def waits(stage: DataStage, slot: Integer, ended: Integer, service: Integer, returning: bool, t: Integer) -> bool:
    """Whether a slot waits at cycle t, that has `ended` its last request and could begin with one. What the slots owe
    is done while one has nothing else to do, a transaction in so many cycles."""
    free = max(stage.free[slot], ended)
    if free <= t and stage.owed[ALL] + stage.owed[RETURNING]:
        do(stage, TRANSACTION * ((t - free) // service))
        free = t
        if stage.owed[ALL] + stage.owed[RETURNING] * returning >= TRANSACTION:
            do(stage, TRANSACTION)
            free += service
    stage.free[slot] = free
    return bool(free > t)


@inlined
def sectors_of(memo: Memo) -> Integer:
    """The mask of the sectors of 32 of 128 bytes that a request touches."""
    if memo.hits <= 1:  # it is a new one
        mask: Integer = 0
        for lane in range(32):
            if memo.mask >> lane & 1:
                mask |= 1 << (np.int64(memo.phase) + np.int64(memo.relative[lane]) >> 5 & SECTORS - 1)
        memo.sectors = mask
    found: Integer = memo.sectors
    return found


@inlined
def is_upper(begins: Integers, where: Integer, address: Integer) -> Integer:
    """Whether an address of the block in a place lies in the upper half; `begins`: Multiprocessor.shared."""
    places = len(begins) - 1
    return np.int64((begins[where % places] + address) % begins[places] >= HALF)


@inlined
def place(stage: DataStage) -> Integer:
    """Give a new line of the L1 its place. Returns whether it lies in the upper half."""
    lines = stage.lines
    upper: Integer = np.int64(lines[PLACED] % lines[PLACES] < lines[UPPER])
    lines[PLACED] += 1
    return upper


@inlined
def scatter(line: Integer, cycles: int) -> Integer:
    """A number below so many cycles, a power of two, that looks like chance: lines that are asked for together neither
    come nor leave in step with what the warps do."""
    found: Integer = line * 0x9E3779B1 >> 20 & cycles - 1
    return found


@inlined
def occupy(where: Integers, n: Integer, mask: Integer) -> None:
    """Note that the memory is busy in a cycle, or round."""
    one = where[n % AHEAD]
    if one[0] != n:
        one[0], one[1] = n, 0
    one[1] |= mask


@inlined
def leave(stage: DataStage, line: Integer, sectors: Integer, upper: Integer, t: Integer) -> None:
    """Sectors of a line are read, one after the other, from cycle t on."""
    if not stage.used[0]:
        return
    at = t + scatter(line, STEP)
    for s in range(SECTORS):
        if sectors >> s & 1:
            occupy(stage.leaving, at, 1 << s + SECTORS * upper)
            at += 1
    stage.latest[0] = max(stage.latest[0], at)


@inlined
def come(stage: DataStage, line: Integer, sectors: Integer, upper: Integer, t: Integer) -> None:
    """Sectors of a line, which a request waits for until cycle t, are written."""
    if not stage.used[0]:
        return
    at = t - scatter(line, SPREAD)
    for s in range(SECTORS):
        if sectors >> s & 1:
            occupy(stage.coming, at // ROUND, 1 << s + SECTORS * upper)
            at += stage.apart[0]
    stage.latest[1] = max(stage.latest[1], at + ROUND)


@inlined
def meet(stage: DataStage, where: Integers, n: Integer, kind: Integer, sectors: Integer, upper: Integer) -> None:
    """A transaction that touches these sectors is served in a cycle, or round. At most one meets what is busy then."""
    one = where[n % AHEAD]
    if one[0] != n:
        return
    busy, met, lines = one[1], stage.met[kind], stage.lines
    if (busy | busy >> SECTORS) & sectors:
        met[COULD + upper] += 1
        if lines[PLACED] > lines[PLACES]:  # which lines lie where is a matter of chance by now
            met[MET] += 1000 - lines[LOWER] if upper else lines[LOWER]
        elif busy >> SECTORS * upper & sectors:
            met[MET] += 1000
        one[1] = 0


@inlined
def serve(stage: DataStage, kind: Integer, sectors: Integer, upper: Integer, cost: Integer, t: Integer) -> None:
    """A request was served from cycle t on."""
    stage.met[kind, SERVED] += cost
    if kind != STORES and stage.latest[0] >= t:
        for k in range(cost):
            meet(stage, stage.leaving, t + APART * k, kind, sectors, upper)
    if kind != LOADS and stage.latest[1] >= t:
        for k in range(cost):
            meet(stage, stage.coming, (t + APART * k) // ROUND, kind, sectors, upper)
