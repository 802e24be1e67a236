"""The memory layout that the compiled code and its run-time support share, as NumPy dtypes.

The LLVM engine addresses these fields by their offsets, compiled functions (`llvm/groups.py`) by their names.
"""

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import CONSTANT_BANKS
from banksim.machine.codes import BLOCK_BARRIERS, CONVERGENCE, GROUPS, LANES, WARPSYNC


def layout(
    *fields: tuple[str, str] | tuple[str, str, int] | tuple[str, str, tuple[int, ...]], size: int = 0
) -> np.dtype:
    """A dtype whose fields lie on multiples of their item size (vectors of 32 on 64), padded to 64 bytes."""
    names, formats, offsets, at = [], [], [], 0
    for name, kind, *shape in fields:
        whole = np.dtype((kind, shape[0])) if shape else np.dtype(kind)
        align = 64 if whole.itemsize >= 128 else np.dtype(kind).itemsize
        at = -(-at // align) * align
        names.append(name)
        formats.append(whole)
        offsets.append(at)
        at += whole.itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": max(size, -(-at // 64) * 64)})


def offset(kind: np.dtype, name: str) -> int:
    """The byte offset of a field."""
    fields = kind.fields
    assert fields is not None
    return int(fields[name][1])


WARP = layout(
    ("live", "u4"),  # threads that have not exited
    ("active", "u4"),  # mask of the group that runs
    ("pc", "u4"),
    ("running", "u4"),  # 1: `active` and `pc` are what comes next, no group is to be chosen
    ("groups", "i4"),  # how many groups are parked
    ("index", "u4"),  # number of this warp in its block
    ("block", "u4", 3),  # blockIdx
    ("slot", "u4"),  # mask of the part that the last branch parked: it goes on next, and alone; 0: none
    ("collected", "u4"),  # mask of the group that came last to the last collective region
    ("again", "u4"),  # threads that wait at the BSYNC where the group begins to run, and execute it again with it
    ("cluster_phase", "u4"),  # of the cluster's barrier, when the warp arrived there last,
    ("cluster_arrived", "u4"),  # and its threads that have arrived in that phase
    ("reduced", "i4"),  # the block barrier of the warp's last BAR.RED, for B2R.RESULT
    ("predicates", "u4", 8),
    ("uniform_predicates", "u4", 8),
    ("barriers", "u4", WARPSYNC),  # for each convergence barrier, which threads it gathers
    ("group_mask", "u4", GROUPS),
    ("group_pc", "u4", GROUPS),
    ("group_wait", "i4", GROUPS),
    ("group_phase", "u4", GROUPS),  # phase of the block barrier at which the group waits
    ("named", "u4", (CONVERGENCE - WARPSYNC, LANES)),  # for each thread, which its last WARPSYNC named; of a COLLECTIVE
    ("resume", "u4", LANES),  # where each thread goes on behind a collective region
    ("thread", "u4", (3, LANES)),  # threadIdx
    ("uniform", "u4", 256),
)
FRESH = offset(WARP, "named")
"""Bytes of a warp's record that every block begins with anew. What follows is written before it is read, or (`thread`)
the same in all blocks."""
REGISTERS = WARP.itemsize
"""A warp's registers follow its record: rows of 32 words."""

ERROR = layout(("code", "u4"), ("pc", "u4"), ("mask", "u4"), ("warp", "u4"), ("block", "u4"), ("address", "u8", LANES))

MEMO = layout(
    # a site's last request: one with the same mask, and the same addresses up to a common shift, costs as much
    ("mask", "u4"),
    ("phase", "u4"),  # first address modulo the translation period
    ("hits", "i8"),
    ("site", "i8"),
    ("op", "i8"),
    ("width", "i8"),
    ("parts", "i4"),  # of the request, as the time model counts them
    ("relative", "u4", LANES),
)

TALLY = layout(
    # the sums of one site by one architecture's rule
    ("requests", "i8"),
    ("low", "i8"),
    ("high", "i8"),
    ("ideal", "i8"),
    ("unknown", "i8"),
    ("last_low", "i4"),
    ("last_high", "i4"),
    ("last_ideal", "i4"),
    ("degree", "i4"),
    ("worst_excess", "i4"),
    ("worst_mask", "u4"),
    ("worst_block", "i4"),
    ("worst_warp", "i4"),
    ("worst_address", "u4", LANES),
)

CLUSTER = layout(
    # the barrier of a cluster of blocks, which all of their workers share
    ("threads", "i8"),
    ("live", "i8"),  # threads that have not exited
    ("arrived", "i8"),  # threads that have arrived in this phase
    ("phase", "u4"),  # how many phases have ended
    ("ended", "u4"),  # the ranks of blocks that have ended, as a mask
)

REQUEST = layout(
    # one request of a trace
    ("site", "i4"),
    ("block", "i4"),
    ("warp", "i4"),
    ("epoch", "i4"),
    ("mask", "u4"),
    ("address", "u4", LANES),
)
TRACE_ROWS = 1 << 16
"""Requests that a worker collects before it hands them on."""

CONTEXT = layout(
    # one worker's view of a launch; pointers as integers
    ("constants", "u8", CONSTANT_BANKS),
    ("constant_sizes", "u8", CONSTANT_BANKS),
    ("written", "u8"),  # of each byte of constant bank 0: 255 if the launch wrote it, else 0
    ("shared", "u8"),  # of the block of rank 0 of the cluster
    ("own_shared", "u8"),  # how far behind it this block's lies: its rank, from RANK_BIT on
    ("cluster", "u8"),  # address of a CLUSTER
    ("cluster_blocks", "u8"),
    ("shared_size", "u8"),
    ("shared_reach", "u8"),  # with what lies beyond its end, and can be accessed
    ("shared_allocated", "u8"),  # bytes that the block takes of its multiprocessor's
    ("local", "u8"),
    ("local_size", "u8"),  # of one thread
    ("buffers", "u8"),  # table of (address, size)
    ("buffer_count", "i8"),
    ("counters", "u8"),
    ("memos", "u8"),
    ("memo_count", "i8"),
    ("tallies", "u8"),  # (sites, architectures)
    ("architectures", "i8"),
    ("rules", "u8"),  # (architectures, rule_words) int64
    ("rule_words", "i8"),
    ("period", "i8"),
    ("warps", "u8"),
    ("template", "u8"),  # the warps' records as a block begins with them
    ("warp_count", "i8"),
    ("warp_size", "i8"),
    ("grid", "u8", 3),
    ("block", "i8"),  # number of the block that runs
    ("scratch", "u8"),
    ("turn_length", "i8"),  # instructions of a turn
    ("turn", "i8"),  # instructions left of the running warp's turn
    ("allowance", "i8"),  # `budget` at the start of each block; 0: `budget` is for the whole launch
    ("budget", "i8"),  # instructions that may still be executed
    ("stop", "u8"),  # address of a word that is not 0 when the worker is to stop
    ("error", "u8"),
    ("doubts", "u8"),  # for each instruction a byte of bits (doubts.py)
    ("stray", "u8"),  # the first access beyond an allocation that a GPU lets pass, as an ERROR
    ("mapped", "u8"),  # of mapped_pages.MappedPages: a byte for each page, not 0 if it is mapped
    ("mapped_start", "u8"),
    ("mapped_pages", "u8"),  # how many there are; 0: no access beyond an allocation passes
    ("threads", "i8"),  # of a block
    ("live", "i8"),  # threads of the block that have not exited
    ("resumed", "i8"),  # how often a group went on: a pass over the block in which none did is a deadlock
    ("blocks_done", "i8"),
    ("now", "i8"),  # the time that %clock reads, in cycles
    ("nanoseconds", "i8"),  # the time that %globaltimer reads
    ("asked", "u8"),  # the memo of the request that was made last
    ("far_mask", "u4"),  # lanes that the last instruction let access global or local memory,
    ("far_width", "u4"),  # how many bytes each,
    ("far_places", "u8", LANES),  # and where: LOCAL_PLACES and beyond in local memory
    ("copied", "u4"),  # bytes of the last copy of a tensor,
    ("copied_rows", "u4"),  # and rows of its box
    ("trace", "u8"),  # TRACE_ROWS requests
    ("traced", "i8"),  # how many of them are filled
    ("notes", "u8"),  # for each buffer the address of an array with a byte of use bits for each of its bytes; 0: none
    (
        "touched",
        "u8",
    ),  # for each buffer a byte of use bits: WRITTEN; of code that accesses none (classes/accesses.py), all
    ("watch", "u8"),  # address of races.records.WATCH; 0: the race check does not run
    ("follow", "u8"),  # address of races.ordering_events.follow
    ("probe", "u8"),  # address of races.probe.PROBE
    ("probed", "i8"),  # one block of so many is probed; 0: none
    ("probing", "i8"),  # requests of the block that are still to be probed
    ("region", "u8"),  # address of classes.regions.REGION; 0: blocks are executed one by one
    ("arrived", "i4", BLOCK_BARRIERS),  # threads that have arrived at each barrier of the block in this phase
    ("expected", "i4", BLOCK_BARRIERS),  # how many arrivals end the phase; 0: one of each live thread of the block
    ("phase", "u4", BLOCK_BARRIERS),  # how many phases have ended
    ("votes", "i4", BLOCK_BARRIERS),  # threads that arrived with a true predicate
    ("reduction", "i4", BLOCK_BARRIERS),
    ("result", "i4", BLOCK_BARRIERS),  # result of the reduction of the phase that ended last
)
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
