"""The state of a multiprocessor: the records and arrays on which the loop over cycles works."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from banksim.system.bundles import bundle
from banksim.system.compiled_types import I4, I8, U4, U8, fields
from banksim.timing.instruction_caches import InstructionCaches

BEHIND_BARRIER = 64
"""How many instructions may issue behind a barrier before it releases their warp (assumed: 16 did)."""
RING = 8
"""Instructions of a sub-core that the choice of a warp does not see yet, at most; a power of two."""
READY, BLOCKED, DONE = range(3)
"""The state of a warp: it can issue; it waits for other warps; it has exited, or no block is in its place."""


class ResidentWarp(Protocol):
    """A warp of a block that is resident on the multiprocessor."""

    state: I8
    place: I8  # which of the places for resident blocks its block has
    core: I8
    record: U8  # address of its record (machine/state.py, WARP)
    context: U8  # address of its block's CONTEXT
    next: I8  # number of its next instruction
    previous: I8  # number of the instruction issued last
    issued: I8  # the cycle at which that issued
    ready: I8  # the cycle at which its stall count is over
    line: I8  # the cycle at which the next cache line of code has been fetched
    turn: I8  # the cycle since which it lacks only a place or its turn (+ BEHIND); -1: more is lacking
    issues: I8  # how much it has issued, as its counter has it,
    seen: I8  # … and as the choice of a warp sees that
    age: I8  # how many blocks the multiprocessor was given before its own
    refused: I8  # whether it waits since the queue was full
    accessed: I8  # whether it has accessed global memory since its last fence
    lacked: I8  # whether a constant had not come since it issued last
    released: I8  # the cycle at which a barrier releases it, NEVER: not known yet; -1: none has
    barrier: I8  # the number of that barrier's instruction; -1: it waits at none
    ahead: I8  # how many instructions behind the barrier have issued while it waits there
    number: I8  # of the warp in its block
    ended: I8
    parked: U4  # mask of the part that its last divergent branch parked, as long as that waits,
    buried: U4  # … and of those that others had parked before
    executed: I8  # instructions,
    crowded: I8  # … and cycles in which the next one waited for other warps alone
    awaits: I8  # the number of the group that it waits for; -1: none
    awaited: I8  # … and its kind: asynchronous.COPIES …


RESIDENT_WARP = np.dtype(fields(ResidentWarp))


class IssueRow(Protocol):
    """What must be known of an instruction to issue it; kinds and units are those of `issue_table`.

    What is passed on has the width that requests have it in: else numba compiles functions for both."""

    kind: I4
    stall: I4
    wait: I4  # mask of scoreboards
    yields: I4  # whether another warp is to issue next
    write: I8  # scoreboard, -1: none
    read: I8
    latency: I4  # of VARIABLE: cycles until the result may be used
    pipe: I4  # of VARIABLE and PLAIN: the pipe that it holds; -1: none
    interval: I4  # cycles for which it holds the pipe
    server: I4  # the unit shared by all sub-cores that it holds; -1: none
    serves: I4  # … how many times as long as most do
    ahead: I4  # … how long before that begins with it the pipe is free again; -1: at any time
    between: I4  # of a product of 64 bits: by how many cycles later both warps go on, if two come one behind the other
    passes: I4  # whether the slots of the path give up time for it
    more: I4  # cycles beyond the stall count until the warp's next instruction
    returns: I4  # of MEMORY: whether a result comes back
    parts: I8  # … in how many transfers, if it has no request to shared memory
    together: I4  # of MEMORY: whether the result comes in one transfer, however many parts the request has
    cost: I4  # of MEMORY without a request to shared memory: its transactions; 0: the lines that it touches
    far: I8  # of MEMORY: what it does to global or local memory (global_memory.CACHED …); 0: nothing
    apart: I4  # of MEMORY: cycles until the sub-core's next one may issue
    fetches: I4  # of MEMORY: cycles from a store's service until its data come
    matches: I4  # of MATCH.ANY: the register with the masks that it finds; -1: none
    constant: I8  # of LDC: where the constant begins that it reads, among all banks; -1: none
    operand: I8  # … of others, which issue when it has come
    lane_index: I4  # … the register that is added to that, -1: none,
    uniform_index: I4  # … and the uniform one
    values: I4  # of LDC and WARPSYNC: the register whose different values are served one after the other; -1: none
    each: I4  # … more for each of them (of LDC after the first) until the result comes, or the warp goes on
    floats: I4  # of an addition to global memory: whether it is one of floats
    copies: I4  # of MEMORY: whether it is an asynchronous copy
    pause: I4  # of SLEEP: nanoseconds
    register: I4  # of SLEEP: the register that holds the nanoseconds; -1: none
    later: I4  # cycles by which the result comes later than that of a load
    joins: I4  # whether threads of the warp converge at it
    behind: I4  # what it does to mbarriers and groups (asynchronous.NOTHING …)
    base: I4  # the register, -1: none, with the address of the mbarrier that it names,
    uniform: I4  # … the uniform register, -1: none,
    offset: I4  # … and what is added
    units: I4  # of a bulk copy: the uniform register that counts its 16 bytes; -1: `copied` of the context
    multicast: I4  # of a copy: the uniform register whose upper half is the mask of blocks; -1: one block
    near: I4  # … whether it comes from shared memory
    pending: I4  # of what waits for groups: how many may be under way
    commits: I4  # of a product: whether it ends a group
    guard: I4  # -1: none; 0 to 7: a predicate; 8 to 15: a uniform one
    inverted: I4
    reads: I4  # of integers and floats: the registers that it reads (operand_collector.ONE),
    again: I4  # … and of a product of 64 bits those of its second half
    even_behind: I8  # of a request to shared memory: how many it reads of even numbers in each cycle behind its issue,
    odd_behind: I8  # … and of odd ones
    newer: I4  # how many instructions before it one of two results of one bank comes from that it reads; 0: none does,
    older: I4  # … and the other one
    alone: I4  # whether the sub-core issues nothing in the cycle before
    others: I4  # mask of the pipes that it holds besides its own (or REQUESTS),
    blocks: I4  # … and for how many cycles
    way: I4  # cycles until it comes to its server, or until its warp has ended
    exits: I4  # whether it is EXIT
    waits: I4  # of BARRIER: whether the warp waits there, and does not only arrive
    fences: I4  # … whether later requests wait until those before its end are through,
    reduces: I4  # … and whether it counts for which threads a condition holds


CODE = np.dtype(fields(IssueRow))
SPENT = np.dtype([(name, "i8") for name in ("issue", "fixed", "shared", "memory", "barrier", "other", "contention")])


@bundle
class ConstantCaches(NamedTuple):
    """When each line of the banks of a launch has come to each cache, or that it has not been asked for."""

    comes: npt.NDArray[np.int64]  # (sub-core; the last: that of LDC, line)
    asked: npt.NDArray[np.int64]  # by line: whether any sub-core has
    behind: npt.NDArray[np.int64]  # … when the first of four has come to the cache behind
    free: npt.NDArray[np.int64]  # two: when the last line has come to sub-cores, and the next one may for LDC


@bundle
class Multiprocessor(NamedTuple):
    """The state of a multiprocessor, on which every function of the loop works."""

    code: npt.NDArray[np.void]
    warps: npt.NDArray[np.void]
    pipes: npt.NDArray[np.int64]  # (sub-core, PIPES): the cycle until which each pipe is held
    ahead: npt.NDArray[np.int64]  # (warp, BEHIND_BARRIER): when what stands behind the barrier that it waits at issued
    wide: npt.NDArray[np.int64]  # (sub-core, 2): register_reads.WARP …
    latest: npt.NDArray[np.int64]  # by sub-core: the cycle in which it issued last
    turns: npt.NDArray[np.int64]  # (sub-core, 3): turns.SEEN …
    unseen: npt.NDArray[np.int64]  # (sub-core, RING, 3): what the choice of a warp does not see yet: the cycle from
    # which on it does, the warp that issued (-1: it is not counted), and whether a round was taken from all
    asked: npt.NDArray[np.int64]  # by sub-core: when it issued its last request to global memory,
    reading: npt.NDArray[np.int64]  # … and for how many cycles that reads registers, every other one
    held: npt.NDArray[np.int64]  # by sub-core: the cycle until which it issues nothing, since registers come late
    recent: npt.NDArray[np.int64]  # (warp, register_reads.RECENT): when its last instructions read, by their numbers
    collectors: npt.NDArray[np.int64]  # (sub-core, 11): operand_collector.FROZEN …
    caches: InstructionCaches
    constants: ConstantCaches
    busy: npt.NDArray[np.int64]  # (sub-core, PIPES + 1): cycles that each pipe was held; last: instructions issued
    served: npt.NDArray[np.int64]  # requests to shared memory, their transactions, cycles on assumed latencies
    spent: npt.NDArray[np.void]  # by instruction
    classes: npt.NDArray[np.int64]  # (warp, scoreboard): as what waiting for it is accounted (SHARED …)
    shared: npt.NDArray[np.int64]  # by place: where its block's shared memory begins; last: how much there is in all
    clock: npt.NDArray[np.int64]  # four numbers: CYCLE, PER_MILLE …
    stop: npt.NDArray[np.uint32]
    ideal: npt.NDArray[np.bool_]  # one: whether requests take their ideal transactions
    constant: npt.NDArray[np.bool_]  # one: whether global memory answers after a constant


CYCLE, PER_MILLE, ISSUED, ALLOWED = range(4)
"""`Multiprocessor.clock`: the cycle; nanoseconds of a thousand cycles; instructions issued, and how many may be."""
