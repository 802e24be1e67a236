"""The state of a multiprocessor: the records and arrays on which the loop over cycles works.

The Protocols here tell a type checker what compiled code sees of a record (`IssueRow` of `issue_table.CODE`,
`ResidentWarp` of `RESIDENT_WARP`). tests/machine/test_compiled_records.py makes sure that they have the same names."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.timing.instruction_caches import InstructionCaches

READY, BLOCKED, DONE = range(3)
"""The state of a warp: it can issue; it waits for other warps; it has exited, or no block is in its place."""
RESIDENT_WARP = np.dtype(
    [
        ("state", "i8"),
        ("place", "i8"),  # which of the places for resident blocks its block has
        ("core", "i8"),
        ("record", "u8"),  # address of its record (machine/state.py, WARP)
        ("context", "u8"),  # address of its block's CONTEXT
        ("next", "i8"),  # number of its next instruction
        ("previous", "i8"),  # number of the instruction issued last
        ("issued", "i8"),  # the cycle at which that issued
        ("ready", "i8"),  # the cycle at which its stall count is over
        ("line", "i8"),  # the cycle at which the next cache line of code has been fetched
        ("turn", "i8"),  # the cycle since which it lacks only a place or its turn (+ BEHIND); -1: more is lacking
        ("refused", "i8"),  # whether it waits since the queue was full
        ("released", "i8"),  # the cycle at which a barrier released it; -1: none has
        ("arrived", "i8"),  # the cycle at which it came to its last barrier
        ("number", "i8"),  # of the warp in its block
        ("ended", "i8"),
        ("awaits", "i8"),  # the number of the group that it waits for; -1: none
        ("awaited", "i8"),  # … and its kind: asynchronous.COPIES …
    ]
)


class IssueRow(Protocol):
    """A row of `issue_table.CODE`: what must be known of an instruction to issue it."""

    kind: Integer
    stall: Integer
    wait: Integer
    yields: Integer
    write: Integer
    read: Integer
    latency: Integer
    pipe: Integer
    interval: Integer
    server: Integer
    serves: Integer
    more: Integer
    returns: Integer
    together: Integer
    cost: Integer
    far: Integer
    apart: Integer
    fetches: Integer
    matches: Integer
    copies: Integer
    pause: Integer
    register: Integer
    later: Integer
    joins: Integer
    behind: Integer
    base: Integer
    uniform: Integer
    offset: Integer
    units: Integer
    multicast: Integer
    near: Integer
    pending: Integer
    commits: Integer
    guard: Integer
    inverted: Integer
    even: Integer
    odd: Integer
    even_slack: Integer
    odd_slack: Integer
    alone: Integer
    blocks: Integer


class ResidentWarp(Protocol):
    """`RESIDENT_WARP`: a warp of a block that is resident on the multiprocessor."""

    state: Integer
    place: Integer
    core: Integer
    record: Integer
    context: Integer
    next: Integer
    previous: Integer
    issued: Integer
    ready: Integer
    line: Integer
    turn: Integer
    refused: Integer
    released: Integer
    arrived: Integer
    number: Integer
    ended: Integer
    awaits: Integer
    awaited: Integer


SPENT = np.dtype([(name, "i8") for name in ("issue", "fixed", "shared", "memory", "barrier", "other", "contention")])


@bundle
class Multiprocessor(NamedTuple):
    """The state of a multiprocessor, on which every function of the loop works."""

    code: npt.NDArray[np.void]
    warps: npt.NDArray[np.void]
    pipes: npt.NDArray[np.int64]  # (sub-core, PIPES): the cycle until which each pipe is held
    ahead: npt.NDArray[np.int64]  # … by instructions that issue while their warps wait at a barrier
    halves: npt.NDArray[np.int64]  # by sub-core: which half of the multipliers was used last, FMA or HEAVY
    latest: npt.NDArray[np.int64]  # by sub-core: the cycle in which it issued last
    asked: npt.NDArray[np.int64]  # by sub-core: when it issued its last request to global memory,
    reading: npt.NDArray[np.int64]  # … and for how many cycles that reads registers, every other one
    held: npt.NDArray[np.int64]  # by sub-core: the cycle until which it issues nothing, since registers come late
    banks: npt.NDArray[np.int64]  # (sub-core, 2): … and each bank of registers, of even and of odd numbers
    caches: InstructionCaches
    busy: npt.NDArray[np.int64]  # (sub-core, PIPES + 1): cycles that each pipe was held; last: instructions issued
    served: npt.NDArray[np.int64]  # requests to shared memory, their transactions, cycles on assumed latencies
    spent: npt.NDArray[np.void]  # by instruction
    classes: npt.NDArray[np.int64]  # (warp, scoreboard): as what waiting for it is accounted (SHARED …)
    clock: npt.NDArray[np.int64]  # four numbers: CYCLE, PER_MILLE …
    stop: npt.NDArray[np.uint32]
    ideal: npt.NDArray[np.bool_]  # one: whether requests take their ideal transactions
    constant: npt.NDArray[np.bool_]  # one: whether global memory answers after a constant


CYCLE, PER_MILLE, ISSUED, ALLOWED = range(4)
"""`Multiprocessor.clock`: the cycle; nanoseconds of a thousand cycles; instructions issued, and how many may be."""
