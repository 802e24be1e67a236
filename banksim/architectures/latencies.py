"""The figures of the time model, by architecture: each with where it comes from.

A multiprocessor's path of shared-memory requests, in cycles of its clock. One set of figures stands for all accesses.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.requests.counts import Status

LINES = "depths and issue clocks of one H200: tests/data/timing/h200_lines.npz"
STREAMS = "block times of one H200: tests/data/timing/h200_streams.npz"
LATENCY = "chains and rates of instructions on one H200: tests/data/hardware/timing/latency.npz"
CLOCK = "micro-kernels of one block on one H200: tests/data/timing/h200_clock.json"
SEQUENCES = "sequences of instructions on 1 to 32 warps of one H200: tests/data/timing/h200_sequences.npz"
OPERANDS = "chains of 1 to 32 warps in straight code on one H200: tests/data/timing/h200_operands.npz"
CODE = "loops, jumps and operands on one H100: tests/data/timing/h100_code.json"
LAUNCHES = "back-to-back launches of 35 kernels of one block on one H200: cuda_kernels/evidence/h200.json"
GRIDS = "empty launches of 1 to 16,896 blocks on one H200: tests/data/timing/h200_memory.json"
STAMPS = "begin and end of each block of 264 to 5,280 on one H200: tests/data/timing/h200_memory.json"
MEMORY = "loads, stores and atomics of 1 to 1,056 blocks on one H200: tests/data/timing/h200_memory.json"
ASSUMED = "assumed: nobody has shown it"
BEHIND = "copies, mbarriers and products of warp groups on one H100: tests/data/hardware/timing/asynchronous.npz"

CLUSTERS = "accesses between blocks of clusters of 2 to 16 on one H200: tests/data/hardware/timing/clusters.npz"


class Figure(NamedTuple):
    """A number of cycles or places, how well it is founded, and on what."""

    value: int
    status: Status
    source: str


class Held(NamedTuple):
    """For how many hundredths of a cycle something holds a multiprocessor's way to or from the L2 cache, and, where all
    multiprocessors ask, its share of what that cache gives or takes."""

    alone: int
    all: int
    status: Status
    source: str


class Numbers(NamedTuple):
    """The figures as the model reads them; the fields of `Figures`, which says what they are."""

    queue: int
    pool: int
    look_ahead: int
    apart: int
    to_pool: int
    to_slot: int
    queue_return: int
    pool_return: int
    service: int
    result: int
    operands: int
    reads: int
    fence_entered: int
    fence: int
    branch: int
    branch_apart: int
    branch_others: int
    line: int
    code_own: int
    code_shared: int
    code_last: int
    code_near: int
    code_ahead: int
    code_far: int
    code_farthest: int
    code_apart: int
    code_apart_l2: int
    barrier: int
    defer: int
    join: int
    switch: int
    server: int
    value: int
    copy: int
    copy_ways: int
    sleep: int
    global_cost: int
    global_latency: int
    l1: int
    l2: int
    l2_atomic: int
    l2_ahead: int
    l2_buffer: int
    first: int
    first_warp: int
    replace: int
    apart_blocks: int
    arrive: int
    signal: int
    bulk: int
    bulk_row: int
    bulk_row_out: int
    bulk_out: int
    product: int
    remote: int
    remote_sector: int
    across: int
    cluster: int
    near: int

    def record(self) -> npt.NDArray[np.void]:
        """The same to compiled code, which hands it on as one address, not as so many numbers: a record of NUMBERS."""
        return np.array([self], NUMBERS)


NUMBERS = np.dtype([(name, np.int64) for name in Numbers._fields])


@dataclass(frozen=True)
class Figures:
    """One multiprocessor.

    queue            places of a sub-core's queue of memory instructions
    pool             places of the multiprocessor's pool of requests
    look_ahead       the oldest requests of the pool among which a free slot chooses
    apart            cycles between two memory instructions of a sub-core
    to_pool          from issue to the pool, at the earliest
    to_slot          from the pool to a slot, at the earliest
    queue_return     from leaving the queue until its place is free
    pool_return      from leaving the pool until its place is free
    service          cycles of one of the two slots for a transaction
    result           from the end of a load's transfer until its result may be used
    operands         from entering the pool until a request's registers may be written,
    reads            … and from its issue, besides two for each of them, at the earliest
    fence_entered    a fence is done so long after the warp's last request entered the pool,
    fence            … and at least so long after its issue
    branch           from a taken branch to the next instruction
    branch_apart     between two taken branches of a sub-core, at the earliest
    branch_others    how much longer a taken branch takes that follows one of another warp of the sub-core so soon
    line             more, until the following line of 128 bytes of code
    code_own         lines of 128 bytes that the instruction cache of a sub-core holds,
    code_shared      … that of the multiprocessor
    code_last        … and the one behind that
    code_near        more from a taken branch to a line that the sub-core lacks and the multiprocessor's cache has,
    code_ahead       from a line's coming to the sub-core until that of each of the next two, which come with it
    code_far         … that only the cache behind it has
    code_farthest    … or the L2
    code_apart       between lines that follow one another, from the cache behind the multiprocessor's
    code_apart_l2    … and from the L2
    barrier          from the last arrival at a barrier to the release
    defer            cycles behind a barrier in which other instructions still issue; after as many as `barrier` they do
                     again, if their warp still waits
    join             more than a branch, where another group of the warp goes on with the same instruction,
    switch           … or with another
    server           cycles for which most instructions hold what else all sub-cores share
    value            more until MATCH.ANY has its result, for each different value after the first
    copy             half the transactions' worth of time that an asynchronous copy takes of the slots,
    copy_ways        … and half of what each of its transactions takes
    sleep            what NANOSLEEP takes beyond the time that it names
    global_cost      transactions' worth of time that a global access takes of the slots,
    global_latency   and from there until the result of a global load may be used, where no model of the caches says it
    l1               more until the result of a load from global memory than of one from shared memory, if the L1 has it
    l2               from the service of a load until its data come from the L2
    l2_farthest      more to the farthest multiprocessor
    l2_atomic        the same of an atomic
    l2_ahead         how much earlier than the way to the L2 is free stores and atomics may leave
    l2_buffer        … and how much earlier than the L2 takes them
    first            from one block's begin to the next's, of those that a multiprocessor is given at first,
    first_warp       … and at least so much for each of its warps
    replace          from the end of a block to the begin of that which takes its place
    apart_blocks     … and from one such begin to the next, at the earliest
    arrive           from the issue of an arrival at an mbarrier until it counts
    signal           from the end of an mbarrier's phase until who waits for it goes on
    bulk             from the issue of a bulk or tensor copy into shared memory until it asks the L2
    bulk_row         that a row of a box holds the way from the L2 at least
    bulk_row_out     … and the way to the L2
    bulk_out         from when a copy out of shared memory has left on the way to the L2 until it is done
    product          from the issue of a product of a group of warps until it begins, if the tensor cores are free
    remote           from the service of a load from another block of the cluster until its data come
    remote_sector    hundredths of a cycle for which a sector of 32 bytes holds the way to other blocks
    across           how much later an arrival counts at an mbarrier of another block
    cluster          from the last arrival at the barrier of a cluster until those that wait go on
    near             from the issue of a copy between blocks of a cluster until it has come, but for its sectors
    """

    name: str
    clock_mhz: int
    multiprocessors: int
    launch: Figure
    """Nanoseconds that a launch takes beyond its blocks: its start and its end,"""
    spread: Figure
    """… and how many more if all multiprocessors have a block."""
    figures: dict[str, Figure]
    clusters: dict[int, int]
    """How many clusters run at once, by their blocks, each of which has a multiprocessor to itself (CLUSTERS)."""
    held: dict[str, Held]
    """By what is done to what: a line of 128 bytes, a sector of 32, a part of a sector, a lane of those at one word."""

    def around(self, active: int) -> float:
        """Nanoseconds that a launch on so many multiprocessors takes beyond its blocks."""
        return self.launch.value + self.spread.value * active / self.multiprocessors

    def at_once(self, cluster: int) -> int:
        """How many clusters of so many blocks run at once, with one block of each on a multiprocessor. Where that was
        not measured (assumed): as many as of the next larger ones."""
        return self.multiprocessors if cluster == 1 else self.clusters[next(n for n in self.clusters if n >= cluster)]

    def numbers(self, global_latency: int | None = None, active: int = 1) -> Numbers:
        """The figures for the slowest of so many multiprocessors that are busy."""
        values = {name: figure.value for name, figure in self.figures.items()}
        values["l2"] += values.pop("l2_farthest") * active // self.multiprocessors
        if global_latency is not None:
            values["global_latency"] = global_latency
        return Numbers(**values)


H200 = Figures(
    "sm_90",
    clock_mhz=1980,
    multiprocessors=132,
    launch=Figure(1570, "measured", LAUNCHES),
    spread=Figure(200, "measured", MEMORY),
    figures={
        "queue": Figure(10, "measured", LINES),
        "pool": Figure(19, "measured", LINES),
        "look_ahead": Figure(4, "measured", STREAMS),
        "apart": Figure(2, "measured", STREAMS),
        "to_pool": Figure(3, "measured", STREAMS),
        "to_slot": Figure(3, "measured", STREAMS),
        "queue_return": Figure(2, "measured", STREAMS),
        "pool_return": Figure(13, "measured", STREAMS),
        "service": Figure(2, "measured", STREAMS),
        "result": Figure(14, "measured", STREAMS),
        "operands": Figure(5, "measured", STREAMS),
        "reads": Figure(7, "measured", OPERANDS),
        "fence_entered": Figure(4, "measured", STREAMS),
        "fence": Figure(8, "measured", STREAMS),
        "branch": Figure(10, "measured", STREAMS),
        "branch_apart": Figure(2, "measured", CODE),
        "branch_others": Figure(2, "measured", CODE),
        "line": Figure(3, "measured", STREAMS),
        "code_own": Figure(46, "measured", CODE),
        "code_shared": Figure(272, "measured", CODE),
        "code_last": Figure(1024, "measured", CODE),
        "code_near": Figure(11, "measured", CODE),
        "code_ahead": Figure(11, "measured", CODE),
        "code_far": Figure(51, "measured", CODE),
        "code_farthest": Figure(195, "measured", CODE),
        "code_apart": Figure(18, "measured", CODE),
        "code_apart_l2": Figure(44, "measured", CODE),
        "barrier": Figure(14, "measured", LATENCY),
        "defer": Figure(8, "measured", SEQUENCES),
        "join": Figure(6, "measured", LATENCY),
        "switch": Figure(10, "measured", LATENCY),
        "server": Figure(2, "measured", LATENCY),
        "value": Figure(11, "measured", CLOCK),
        "copy": Figure(5, "measured", LATENCY),
        "copy_ways": Figure(3, "measured", LATENCY),
        "sleep": Figure(75, "measured", LATENCY),
        "global_cost": Figure(6, "measured", STREAMS),
        "global_latency": Figure(600, "assumed", ASSUMED),
        "l1": Figure(10, "measured", MEMORY),
        "l2": Figure(277, "measured", MEMORY),
        "l2_farthest": Figure(18, "measured", MEMORY),
        "l2_atomic": Figure(400, "measured", MEMORY),
        "l2_ahead": Figure(100, "measured", MEMORY),
        "l2_buffer": Figure(900, "measured", MEMORY),
        "first": Figure(24, "measured", STAMPS),
        "first_warp": Figure(3, "measured", STAMPS),
        "replace": Figure(300, "measured", STAMPS),
        "apart_blocks": Figure(166, "measured", GRIDS),
        "arrive": Figure(14, "measured", BEHIND),
        "signal": Figure(20, "measured", BEHIND),
        "bulk": Figure(7, "measured", BEHIND),
        "bulk_row": Figure(1, "measured", BEHIND),
        "bulk_row_out": Figure(2, "measured", BEHIND),
        "bulk_out": Figure(64, "measured", BEHIND),
        "product": Figure(10, "measured", BEHIND),
        "remote": Figure(189, "measured", CLUSTERS),
        "remote_sector": Figure(150, "measured", CLUSTERS),
        "across": Figure(169, "measured", CLUSTERS),
        "cluster": Figure(70, "measured", CLUSTERS),
        "near": Figure(160, "measured", CLUSTERS),
    },
    clusters={2: 66, 4: 30, 8: 15, 16: 7},
    held={
        "load line": Held(28, 163, "measured", MEMORY),
        "load sector": Held(28, 93, "measured", MEMORY),
        "store line": Held(200, 350, "measured", MEMORY),
        "store sector": Held(100, 183, "measured", MEMORY),
        "store part": Held(125, 225, "measured", MEMORY),
        "add sector": Held(125, 235, "measured", MEMORY),
        "add lane": Held(100, 290, "measured", MEMORY),
        "atom sector": Held(130, 340, "measured", MEMORY),
        "atom lane": Held(200, 370, "measured", MEMORY),
    },
)
FIGURES = {"sm_90": H200}


def figures(name: str) -> Figures:
    """Raises `InputError` for an architecture whose time nobody has measured in such detail."""
    if name not in FIGURES:
        raise InputError(f"no time model for {name}: it was measured for {', '.join(FIGURES)} only")
    return FIGURES[name]
