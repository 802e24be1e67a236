"""Which figures the time model has of an architecture, and what follows from them: of whole launches, and behind DRAM.

The sources that stand in capitals here are those of latencies.py, which has the figures themselves.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.requests.counts import Status

BEYOND_L2 = "a word a thread of arrays of 8 to 256 MB, and chains, on one H200: h200_grids.json, h200_dram.json there"
"""The source of what `Figures.behind_dram` changes."""
SECTOR = 32
"""Bytes."""


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


class Crossing(NamedTuple):
    """For how many hundredths of a cycle a request to another block's shared memory holds what it passes. The way of
    the multiprocessor that asks: for each `sector` of 32 bytes or, if that is more, for each `lane` at one word. The
    way of the one that is `asked`, and what all of a cluster have in common (`shared`): for the request, and for each
    of its sectors."""

    sector: int
    lane: int
    asked: int
    asked_sector: int
    shared: int
    shared_sector: int


class Numbers(NamedTuple):
    """The figures as the model reads them."""

    queue: int  # places of a sub-core's queue of memory instructions
    held: int  # … and places behind it,
    pool: int  # places of the multiprocessor's pool of requests, which follows these
    look_ahead: int  # the oldest requests of the pool among which a free slot chooses
    apart: int  # cycles for which a request holds its sub-core's way out of the queue, and bare ones apart
    unexecuted: int  # … behind one that no thread executes, which reads no registers
    to_pool: int  # from issue to the pool, at the earliest
    to_slot: int  # from the pool to a slot, at the earliest
    queue_return: int  # from leaving the queue until its place is free
    pool_return: int  # from leaving the pool until its place is free
    service: int  # cycles of one of the two slots for a transaction
    settle: int  # from when all before a barrier's end or a fence is through until the slots go on behind it
    result: int  # from the end of a load's transfer until its result may be used
    missed: int  # hundredths of a transaction that the slots give up for a load that the L1 lacks,
    stored: int  # … for what is stored to global memory,
    special: int  # … and for a special register that a block has
    operands: int  # from entering the pool until a request's registers may be written,
    reads: int  # … and from its issue, besides two for each of them, if no other is in its sub-core's queue
    fence_entered: int  # a fence is done so long after it has left its sub-core's queue,
    fence: int  # … and at least so long after its issue
    fence_accessed: int  # … and one of the GPU later by so much, if the warp has accessed global memory since the last
    branch: int  # from a taken branch to the next instruction
    branch_apart: int  # between two taken branches of a sub-core, at the earliest
    branch_others: int  # how much longer a taken branch takes that follows one of another warp of the sub-core so soon
    line: int  # more, until the following line of 128 bytes of code
    code_own: int  # lines of 128 bytes that the instruction cache of a sub-core holds,
    code_shared: int  # … that of the multiprocessor
    code_last: int  # … and the one behind that
    code_near: int  # more from a taken branch to a line that the sub-core lacks and the multiprocessor's cache has,
    code_ahead: int  # from a line's coming to the sub-core until that of each of the next two, which come with it
    code_far: int  # … that only the cache behind it has
    code_farthest: int  # … or the L2
    code_apart: int  # between lines that follow one another, from the cache behind the multiprocessor's
    code_apart_l2: int  # … and from the L2
    constants: int  # more until a constant comes to LDC whose line no LDC of the launch has asked for,
    constants_own: int  # … of others until it comes to their sub-core,
    constants_next: int  # … and to another one, at the earliest, if all multiprocessors ask
    constants_l2: int  # … and if the cache behind those lacks it: from the L2
    barrier: int  # from the last arrival at a barrier to the release
    join: int  # more than a branch, where another group of the warp goes on with the same instruction,
    switch: int  # … or with another
    buried: int  # … and still more, if the warp parted again after it had been parked
    server: int  # cycles for which most instructions hold what else all sub-cores share
    value: int  # more until MATCH.ANY has its result, for each different value after the first
    copy: int  # half the transactions' worth of time that an asynchronous copy takes of the slots,
    copy_ways: int  # … and half of what each of its transactions takes
    sleep: int  # what NANOSLEEP takes beyond the time that it names
    global_cost: int  # transactions' worth of time that a global access takes of the slots,
    global_latency: int  # … and from there until the result of a load may be used, without a model of the caches
    l1: int  # more until the result of a load from global memory than of one from shared memory, if the L1 has it
    l1_lacks: int  # from one line that the L1 lacks, and asks the L2 for, to the next
    l2: int  # from the service of a load until its data come from the L2
    late: int  # … of which so many, in the mean, if DRAM gives them
    fetched: int  # hundredths of DRAM's time that a sector a cycle takes which the L2 is asked for,
    written: int  # … and which it is given,
    others: int  # … and either, by what others have stored,
    drain: int  # … by which, if it were all, data would come so many hundredths later from there
    copies_later: int  # … and of bulk copies, where no cache has anything when the launch begins,
    copies_read: int  # … for so many hundredths of a cycle of each sector that DRAM is asked for
    l2_atomic: int  # the same of an atomic
    l2_ahead: int  # how much earlier than the way to the L2 is free atomics may leave
    l2_buffer: int  # … and how much earlier than the L2 takes them these and stores may
    l2_places: int  # lines that wait to be stored, at most,
    l2_under_way: int  # … each until so many cycles before the L2 takes it
    first: int  # from one block's begin to the next's, of those that a multiprocessor is given at first,
    first_warp: int  # … and at least so much for each of its warps
    begin: int  # from one warp's begin to that of the next of its block
    replace: int  # from the end of a block to the begin of that which takes its place
    apart_blocks: int  # … and from one such begin to the next, at the earliest
    arrive: int  # from the issue of an arrival at an mbarrier until it counts
    signal: int  # from the end of an mbarrier's phase until who waits for it goes on
    bulk: int  # from the issue of a bulk or tensor copy into shared memory until it asks the L2
    bulk_row: int  # that a row of a box holds the way from the L2 at least
    bulk_row_out: int  # … and the way to the L2
    bulk_out: int  # from when a copy out of shared memory has left on the way to the L2 until it is done
    product: int  # from the issue of a product of a group of warps until it begins, if the tensor cores are free
    remote: int  # from the service of a load from another block of the cluster until its data come
    remote_sector: int  # hundredths of a cycle for which a sector of a copy holds the way to other blocks,
    remote_ahead: int  # … how much earlier than it is free stores and reductions may leave,
    remote_buffer: int  # … and how much earlier than those before them have crossed
    remote_seen: int  # from a store's crossing until a fence behind it begins
    across: int  # how much later an arrival counts at an mbarrier of another block
    cluster: int  # from the last arrival at the barrier of a cluster until those that wait go on
    near: int  # from the issue of a copy between blocks of a cluster until it has come, but for its sectors

    def record(self) -> npt.NDArray[np.void]:
        """The same to compiled code, which hands it on as one address, not as so many numbers: a record of NUMBERS."""
        return np.array([self], NUMBERS)


NUMBERS = np.dtype([(name, np.int64) for name in Numbers._fields])


class Dram(NamedTuple):
    """What all multiprocessors together have of DRAM (STREAMS_OF_DRAM; BEYOND_L2: `all`, `none` and latencies)."""

    all: int
    """Bytes of which the L2 has all, from launch to launch, and of which it has
    … none: it lacks a share between these (assumed: in proportion)."""
    none: int
    kept: int
    """Bytes that all multiprocessors ask for, behind which the L2 still has all that one of them asked for before,
    … and has none of it any more (MEETS: again)."""
    lost: int
    stays: int
    """Bytes of what is stored, at most, that the L2 alone has: more is written to DRAM
    (tests/data/timing/h200_unwritten.json)."""
    read: int
    """Cycles that a million bytes take,"""
    write: int
    turn: int
    """… and how many more for each that has one of the other kind beside it (tests/data/timing/h200_unwritten.json)."""
    alone: int
    """As how many bytes a line counts at least whose neighbours nobody asks for (GATHERS),
    … and where nobody stores to them."""
    alone_written: int
    parts: int
    """Bytes of lines of which sectors are stored in part: those that it lacks the L2 keeps as they are. Of more, the
    rest of a sector is read, and it is written at once (tests/data/timing/h200_queues.npz)."""
    first: int
    """Cycles that it takes besides, and where a launch follows another at once."""
    first_at_once: int
    late: int
    """Cycles that a load's data come later from there than from the L2,"""
    spread: tuple[int, ...]
    """Single lines come later by so many hundredths of that, each as likely,"""
    drain: int
    """… and by so many hundredths more if it were written to all the time."""

    @property
    def later(self) -> tuple[int, ...]:
        """As `late`, of single lines: each of these is as likely."""
        return tuple(self.late * share // 100 for share in self.spread)


class Traffic(NamedTuple):
    """Of DRAM: as how many bytes what comes and goes counts; which share of what the L2 is asked for comes, and of
    which it is known line by line; which one of what goes there goes on by whole sectors, and in all, and how much that
    others have stored by both together; as how many bytes the others count for each time that a line is stored to, and
    how many sectors of it go to the L2 meanwhile (one less at random places); which share of what it is asked for the
    L2 lacks; whether it has too little room."""

    read: float
    written: float
    share_read: float
    share_known: float
    share_written: float
    share_back: float
    share_others: float
    of_parts: float
    at_a_time: float
    lacks: float
    beyond: bool


@dataclass(frozen=True)
class Figures:
    """One multiprocessor."""

    name: str
    clock_mhz: int
    multiprocessors: int
    l1_and_shared: int
    """Bytes of the memory of one that is both L1 cache and shared memory."""
    launch: Figure
    """Nanoseconds that a launch takes beyond its blocks: its start and its end,"""
    spread: Figure
    """… and how many more if all multiprocessors have a block,"""
    accesses: tuple[Figure, Figure]
    """… if one accesses global memory, and if all do;"""
    first_launch: Figure
    """… and how many more the first of a program takes,"""
    new_code: Figure
    """… or a later one of much code if no launch before was of the same kernel."""
    event: Figure
    """Nanoseconds of a stream that an event takes behind launches;"""
    graph: Figure
    """… that the launch of a graph takes besides those of its kernels,"""
    in_graph: Figure
    """… each of which takes so many less."""
    figures: dict[str, Figure]
    """The fields of `Numbers`, and `l2_farthest`: how many cycles more than `l2` to the farthest multiprocessor."""
    together: tuple[int, ...]
    """Multiprocessors that a cluster can spread over: how many of them lie together, group by group (TOGETHER)."""
    crossing: dict[str, Crossing]
    """By what a request does to another block (CLUSTERS, lanes at one word REMOTE)."""
    slices: tuple[int, int, int]
    """For how many hundredths of a cycle an addition holds its slice of the L2, if all multiprocessors add to the same
    lines: that to a whole sector, to a part of one, or of floats to any (ADDITIONS)."""
    dram: Dram
    held: dict[str, Held]
    """By what is done to what: a line of 128 bytes, a sector of 32, a part of a sector, a lane of those at one word."""
    assumption: str = ""
    """What is assumed of all of them; empty where they were measured."""

    def around(self, active: int, accesses: bool) -> float:
        """Nanoseconds that a launch on so many multiprocessors takes beyond its blocks."""
        share = float(np.log(active) / np.log(self.multiprocessors))
        one, every = (figure.value if accesses else 0 for figure in self.accesses)
        return self.launch.value + one + (self.spread.value + every - one) * share

    def later_by(self, more: Figure) -> "Figures":
        """The same for a launch that takes so much longer."""
        return replace(self, launch=self.launch._replace(value=self.launch.value + more.value))

    def at_once(self, cluster: int, blocks: int = 1) -> int:
        """How many clusters of so many blocks run at once, where a multiprocessor has room for `blocks`. A group of
        fewer multiprocessors than a cluster has blocks runs none, and no multiprocessor takes more than 8 blocks of
        clusters (TOGETHER)."""
        return sum(group * min(blocks, 8) // cluster for group in self.together if group >= cluster)

    def behind_dram(self, has: Traffic, by_line: bool) -> "Figures":
        """The same where DRAM gives some of what the L2 is asked for, and takes some of what goes there. `by_line`: it
        is known of each line whether DRAM gives it."""
        if not (has.read or has.written):
            return self
        dram, sector = self.dram, SECTOR * self.multiprocessors / 10_000
        least = {
            "load sector": (has.share_read - has.share_known) * dram.read, "load beside": has.share_read * dram.read,
            "store sector": has.share_written * dram.write,
        }  # fmt: skip
        held = {n: self.held[n]._replace(all=max(self.held[n].all, round(sector * each))) for n, each in least.items()}
        parts, both = self.held["store parts"], (dram.read + dram.write) / 2
        more = round(sector * has.of_parts / SECTOR * both - has.at_a_time * held["store sector"].all)
        held["store parts"] = parts._replace(all=max(parts.all, more))
        later = {
            "l2": self.figures["l2"].value + (not by_line) * has.lacks * dram.late, "late": has.lacks * dram.late,
            "drain": dram.drain, "fetched": has.share_read * dram.read * sector,
            "written": has.share_back * dram.write * sector, "others": has.share_others * dram.write * sector,
            "copies_later": by_line * has.lacks * dram.late, "copies_read": sector * has.share_known * dram.read,
        }  # fmt: skip
        status: Status = "assumed" if self.assumption else "measured"
        figures = {name: Figure(round(value), status, BEYOND_L2) for name, value in later.items()}
        return replace(self, held=self.held | held, figures=self.figures | figures)

    def numbers(self, global_latency: int | None = None, active: int = 1) -> Numbers:
        """The figures for the slowest of so many multiprocessors that are busy."""
        values = {name: figure.value for name, figure in self.figures.items()}
        values["l2"] += values.pop("l2_farthest") * active // self.multiprocessors
        for name in ("fetched", "written", "others", "copies_read", "constants_next"):
            values[name] = values[name] * active // self.multiprocessors
        if global_latency is not None:
            values["global_latency"] = global_latency
        return Numbers(**values)
