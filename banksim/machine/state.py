"""The records that the compiled code and its run-time support share.

The LLVM engine addresses their fields by offsets, in NumPy dtypes made from the classes here; compiled functions
(`llvm/groups.py`) by their names.
"""

from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import CONSTANT_BANKS
from banksim.machine.codes import BLOCK_BARRIERS, CONVERGENCE, GROUPS, LANES, WARPSYNC
from banksim.system.compiled_types import I4, I8, U4, U8, Integers, fields


def layout(record: type) -> np.dtype:
    """A dtype whose fields lie on multiples of their item size (vectors of 32 on 64), padded to 64 bytes."""
    names, formats, offsets, at = [], [], [], 0
    for name, whole in fields(record):
        align = 64 if whole.itemsize >= 128 else whole.base.itemsize
        at = -(-at // align) * align
        names.append(name)
        formats.append(whole)
        offsets.append(at)
        at += whole.itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": -(-at // 64) * 64})


def offset(kind: np.dtype, name: str) -> int:
    """The byte offset of a field."""
    assert kind.fields is not None
    return int(kind.fields[name][1])


class Warp(Protocol):
    """A warp; its registers follow."""

    live: U4  # threads that have not exited
    active: U4  # mask of the group that runs
    pc: U4
    running: U4  # 1: `active` and `pc` are what comes next, no group is to be chosen
    groups: I4  # how many groups are parked
    index: U4  # number of this warp in its block
    block: Annotated[Integers, "u4", 3]  # blockIdx
    slot: U4  # mask of the part that the last branch parked: it goes on next, and alone; 0: none
    collected: U4  # mask of the group that came last to the last collective region
    again: U4  # threads that wait at the BSYNC where the group begins to run, and execute it again with it
    cluster_phase: U4  # of the cluster's barrier, when the warp arrived there last,
    cluster_arrived: U4  # and its threads that have arrived in that phase
    reduced: I4  # the block barrier of the warp's last BAR.RED, for B2R.RESULT
    predicates: Annotated[Integers, "u4", 8]
    uniform_predicates: Annotated[Integers, "u4", 8]
    barriers: Annotated[Integers, "u4", WARPSYNC]  # for each convergence barrier, which threads it gathers
    group_mask: Annotated[Integers, "u4", GROUPS]
    group_pc: Annotated[Integers, "u4", GROUPS]
    group_wait: Annotated[Integers, "i4", GROUPS]
    group_phase: Annotated[Integers, "u4", GROUPS]  # phase of the block barrier at which the group waits
    # for each thread, which ones its last WARPSYNC named
    named: Annotated[Integers, "u4", (CONVERGENCE - WARPSYNC, LANES)]
    resume: Annotated[Integers, "u4", LANES]  # where each thread goes on behind a collective region
    thread: Annotated[Integers, "u4", (3, LANES)]  # threadIdx
    uniform: Annotated[Integers, "u4", 256]


WARP = layout(Warp)
FRESH = offset(WARP, "named")
"""Bytes of a warp's record that every block begins with anew. What follows is written before it is read, or (`thread`)
the same in all blocks."""
REGISTERS = WARP.itemsize
"""A warp's registers follow its record: rows of 32 words."""


class Error(Protocol):
    """Why a worker stopped."""

    code: U4
    pc: U4
    mask: U4
    warp: U4
    block: I8
    address: Annotated[Integers, "u8", LANES]


ERROR = layout(Error)


class Memo(Protocol):
    """A site's last request: one with the same mask, and the same addresses up to a common shift, costs as much."""

    mask: U4
    phase: U4  # first address modulo the translation period
    hits: I8
    site: I8
    op: I8
    width: I8
    parts: I4  # of the request, as the time model counts them
    sectors: I4  # … and a mask of the sectors of 32 of 128 bytes that it touches
    room: U4  # of a load that moves by halves (llvm/shifted_loads.py): at how many first addresses it fits,
    second: U4  # and how far its upper lanes' half lies behind
    relative: Annotated[Integers, "u4", LANES]


MEMO = layout(Memo)


class Tally(Protocol):
    """The sums of one site by one architecture's rule."""

    requests: I8
    low: I8
    high: I8
    ideal: I8
    unknown: I8
    last_low: I4
    last_high: I4
    last_ideal: I4
    degree: I4
    worst_excess: I4
    worst_mask: U4
    worst_block: I8
    worst_warp: I4
    worst_address: Annotated[Integers, "u4", LANES]


TALLY = layout(Tally)


class Cluster(Protocol):
    """The barrier of a cluster of blocks, which all of their workers share."""

    threads: I8
    live: I8  # threads that have not exited
    arrived: I8  # threads that have arrived in this phase
    phase: U4  # how many phases have ended
    ended: U4  # the ranks of blocks that have ended, as a mask


CLUSTER = layout(Cluster)


class TracedRequest(Protocol):
    """One request of a trace."""

    site: I4
    block: I4
    warp: I4
    epoch: I4
    mask: U4
    address: Annotated[Integers, "u4", LANES]


REQUEST = layout(TracedRequest)
TRACE_ROWS = 1 << 16
"""Requests that a worker collects before it hands them on."""


class Context(Protocol):
    """One worker's view of a launch; pointers as integers."""

    constants: Annotated[Integers, "u8", CONSTANT_BANKS]
    constant_sizes: Annotated[Integers, "u8", CONSTANT_BANKS]
    written: U8  # of each byte of constant bank 0: 255 if the launch wrote it, else 0
    shared: U8  # of the block of rank 0 of the cluster
    own_shared: U8  # how far behind it this block's lies: its rank, from RANK_BIT on
    cluster: U8  # address of a CLUSTER
    cluster_blocks: U8
    shared_size: U8
    shared_reach: U8  # with what lies beyond its end, and can be accessed
    shared_allocated: U8  # bytes that the block takes of its multiprocessor's
    local: U8
    local_size: U8  # of one thread
    buffers: U8  # table of (address, size)
    buffer_count: I8
    counters: U8
    memos: U8
    memo_count: I8
    tallies: U8  # (sites, architectures)
    architectures: I8
    rules: U8  # (architectures, rule_words) int64
    rule_words: I8
    period: I8
    warps: U8
    template: U8  # the warps' records as a block begins with them
    warp_count: I8
    warp_size: I8
    grid: Annotated[Integers, "u8", 3]
    block: I8  # number of the block that runs
    scratch: U8
    turn_length: I8  # instructions of a turn
    turn: I8  # instructions left of the running warp's turn
    allowance: I8  # `budget` at the start of each block; 0: `budget` is for the whole launch
    budget: I8  # instructions that may still be executed
    stop: U8  # address of a word that is not 0 when the worker is to stop
    error: U8
    doubts: U8  # for each instruction a byte of bits (doubts.py)
    stray: U8  # the first access beyond an allocation that a GPU lets pass, as an ERROR
    mapped: U8  # of mapped_pages.MappedPages: a byte for each page, not 0 if it is mapped
    mapped_start: U8
    mapped_pages: U8  # how many there are; 0: no access beyond an allocation passes
    threads: I8  # of a block
    live: I8  # threads of the block that have not exited
    resumed: I8  # how often a group went on: a pass over the block in which none did is a deadlock
    blocks_done: I8
    work: U8  # (blocks, warps) i8: what each warp executed (llvm/warp_work.py); 0: nobody wants to know
    lengths: U8  # the instructions of each part of the code that is counted,
    length_count: I8  # … how many parts there are,
    noted: I8  # and what of the worker's own is in `work`
    now: I8  # the time that %clock reads, in cycles
    nanoseconds: I8  # the time that %globaltimer reads
    asked: U8  # the memo of the request that was made last,
    asked_at: U4  # … and its first address
    far_mask: U4  # lanes that the last instruction let access global or local memory,
    far_width: U4  # how many bytes each,
    far_places: Annotated[Integers, "u8", LANES]  # and where: LOCAL_PLACES and beyond in local memory
    copied: U4  # bytes of the last copy of a tensor,
    copied_rows: U4  # and rows of its box
    trace: U8  # TRACE_ROWS requests
    traced: I8  # how many of them are filled
    notes: U8  # for each buffer the address of an array with a byte of use bits for each of its bytes; 0: none
    touched: U8  # for each buffer a byte of use bits: WRITTEN; of code that accesses none (classes/accesses.py), all
    read: U8  # for each buffer a byte that is not 0 once it was read
    watch: U8  # address of races.records.WATCH; 0: the race check does not run
    follow: U8  # address of races.ordering_events.follow
    probe: U8  # address of races.probe.PROBE
    probed: I8  # one block of so many is probed; 0: none
    probing: I8  # requests of the block that are still to be probed
    region: U8  # address of classes.regions.REGION; 0: blocks are executed one by one
    # for each barrier of the block:
    arrived: Annotated[Integers, "i4", BLOCK_BARRIERS]  # threads that have arrived in this phase
    expected: Annotated[Integers, "i4", BLOCK_BARRIERS]  # arrivals that end it; 0: one of each live thread
    phase: Annotated[Integers, "u4", BLOCK_BARRIERS]  # how many phases have ended
    votes: Annotated[Integers, "i4", BLOCK_BARRIERS]  # threads that arrived with a true predicate
    reduction: Annotated[Integers, "i4", BLOCK_BARRIERS]
    result: Annotated[Integers, "i4", BLOCK_BARRIERS]  # result of the reduction of the phase that ended last


CONTEXT = layout(Context)
LOCAL_PLACES = 1 << 62
"""Where the local memory of a launch begins among the places of its global and local memory."""
PROBED_REQUESTS = 1 << 12
"""Requests of a block that a probe looks at, at most."""
ALLOWANCE = 1 << 31
"""Where no limit is given, a block that has executed so many warp instructions on backward branches is taken for an
endless loop: less than a minute of simulation, half a second on one multiprocessor."""
OBSERVED_ALLOWANCE = ALLOWANCE >> 5
"""The same where requests are checked for races or written to a trace, which takes longer."""


def aligned(kind: np.dtype, count: int) -> npt.NDArray[np.void]:
    """Zeroed records at an address that is a multiple of 64."""
    size = kind.itemsize * count
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind)
