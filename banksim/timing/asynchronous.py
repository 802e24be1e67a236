"""What a warp starts and does not wait for: copies that form groups or of which mbarriers count the bytes, and products
of groups of warps.

An instruction is executed when it issues. So what it copies or computes is there at once, and the phase of an mbarrier
ends when the last of its bytes are on their way. On the hardware both come later: this module tells when, and those
that wait go on then.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.machine.codes import RANK_BIT
from banksim.machine.state import Context, Warp
from banksim.requests.lane_intrinsics import pointer
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inlined
from banksim.timing.issue_records import IssueRow

NOTHING, BEGINS, ARRIVES, ARRIVES_LATER, TRIES, COPIES_IN, COPIES_OUT, COMMITS, AWAITS, MULTIPLIES, AWAITS_PRODUCTS = (
    range(11)
)
JOINS_CLUSTER, AWAITS_CLUSTER = 11, 12
"""What an instruction does to mbarriers and groups: it makes an mbarrier; arrives at it; has the warp's copies by
cp.async arrive once they have come; looks whether a phase is over;
starts a copy of which one counts the bytes, or one that belongs to a group; ends a group; waits for groups of copies;
starts a product; waits for groups of products; arrives at the barrier of the cluster; waits there."""
COPIES, PRODUCTS, PHASES = range(3)
"""What a warp waits for: the two kinds of groups, or an mbarrier's phase of which nobody knows yet when it ends."""
MBARRIER = 8
"""Bytes."""
GROUPS = 16
"""Groups of a warp that are remembered."""
PHASE, DUE, OPEN, FIELDS = 0, 1, 3, 5
"""Of an mbarrier: the parity of the phase that goes on, and for each parity, from DUE on, when the phase ends or has
ended in simulated time, and from OPEN on, how many arrivals it has of which that is not known yet."""
WARP, AFTER, PLACE, NUMBER, PARITY = range(5)
"""Of such an arrival: the warp, how many of its copies must have been served, and the mbarrier and its phase."""
LATER = 256
"""Most of such arrivals, of all warps, that are remembered. Others count as known when they are made."""
NEEDED, END = range(2)
"""Of a group: how many copies of the warp must have been served, and when the last has come."""
STARTED, SERVED, LATEST = range(3)
"""The copies that the path of requests serves (cp.async): how many, how many it has served, when the last came."""


@bundle
class Behind(NamedTuple):
    """What goes on behind the warps of a multiprocessor."""

    mbarriers: npt.NDArray[np.int64]  # (place of a block, address // MBARRIER, PHASE …), of all multiprocessors
    clusters: npt.NDArray[np.int64]  # (place of a cluster, parity): when the phase of its barrier is over, … of all
    later: npt.NDArray[np.int64]  # (n, WARP …)
    pending: npt.NDArray[np.int64]  # one: how many of these there are
    named: npt.NDArray[np.int64]  # the addresses of those that the instruction names
    groups: npt.NDArray[np.int64]  # (COPIES or PRODUCTS, warp, number % GROUPS, NEEDED …)
    committed: npt.NDArray[np.int64]  # (COPIES or PRODUCTS, warp): how many groups
    last: npt.NDArray[np.int64]  # … when what is in no group yet will have been done
    copies: npt.NDArray[np.int64]  # (warp, STARTED …)


def new_behind(
    warps: int, places: int = 1, shared_bytes: int = 0, ranks: int = 1, others: Behind | None = None
) -> Behind:
    """`ranks`: multiprocessors, with so many places each, which share what blocks of a cluster do to each other."""
    if others is None:
        shape = ranks * places, shared_bytes // MBARRIER, FIELDS
        mbarriers, clusters = np.zeros(shape, np.int64), np.zeros((places, 2), np.int64)
    else:
        mbarriers, clusters = others.mbarriers, others.clusters
    return Behind(
        mbarriers=mbarriers,
        clusters=clusters,
        later=np.zeros((LATER, PARITY + 1), np.int64),
        pending=np.zeros(1, np.int64),
        named=np.zeros(32, np.int64),
        groups=np.zeros((2, warps, GROUPS, 2), np.int64),
        committed=np.zeros((2, warps), np.int64),
        last=np.zeros((2, warps), np.int64),
        copies=np.zeros((warps, 3), np.int64),
    )


def forget(behind: Behind, place: int, warps: npt.NDArray[np.int64]) -> None:
    """Another block takes a place, and its warps those of the last."""
    behind.mbarriers[place] = 0
    kept = behind.later[: behind.pending[0]][behind.later[: behind.pending[0], PLACE] != place]
    behind.later[: len(kept)], behind.pending[0] = kept, len(kept)
    behind.groups[:, warps], behind.committed[:, warps], behind.last[:, warps], behind.copies[warps] = 0, 0, 0, 0


# ---- mbarriers


@inlined
def name(behind: Behind, row: IssueRow, record: Warp, registers: Integer, mask: Integer) -> Integer:
    """Note the mbarriers that an instruction names, whose registers lie at an address: where they lie, the block's rank
    from RANK_BIT on. Returns how many."""
    at = np.int64(row.offset)
    if row.uniform >= 0:
        at += np.int64(record.uniform[row.uniform])
    if row.base < 0:
        behind.named[0] = at & 0xFFFFFFFF
        return 1
    lanes = carray(pointer(registers), (row.base + 1, 32), np.uint32)[row.base]
    n = 0
    for lane in range(32):
        if mask >> lane & 1:
            place = at + np.int64(lanes[lane]) & 0xFFFFFFFF
            if n == 0 or behind.named[n - 1] != place:
                behind.named[n] = place
                n += 1
    return n


@inlined
def to_several(behind: Behind, mask: Integer) -> Integer:
    """Name, in place of the one that is named, that at its place in each block of a mask. Returns how many."""
    inside = behind.named[0] & (1 << RANK_BIT) - 1
    n = 0
    for rank in range(16):
        if mask >> rank & 1:
            behind.named[n] = rank << RANK_BIT | inside
            n += 1
    return n


@inlined
def number_of(behind: Behind, address: Integer) -> Integer:
    """The number of an mbarrier in its block. (What lies beyond all that the block can reach has ended the launch
    before.)"""
    n: Integer = min((address & (1 << RANK_BIT) - 1) // MBARRIER, behind.mbarriers.shape[1] - 1)
    return n


@inlined
def owner(behind: Behind, place: Integer, address: Integer) -> Integer:
    """The place of the block of a cluster in whose memory an mbarrier lies, by that of another."""
    places = len(behind.clusters)
    other: Integer = ((address >> RANK_BIT) * places + place % places) % len(behind.mbarriers)
    return other


@inlined
def begin(behind: Behind, place: Integer, count: Integer) -> None:
    """Make the named mbarriers."""
    for k in range(count):
        for field in range(FIELDS):
            behind.mbarriers[place, number_of(behind, behind.named[k]), field] = 0


@inlined
def contribute(behind: Behind, place: Integer, count: Integer, context: Context, end: Integer, across: Integer) -> bool:
    """What the named mbarriers' phases have waited for has come, or comes, at cycle `end`; to those of other blocks
    `across` cycles later. Returns whether one of them is over, as far as the program can tell."""
    over = False
    for k in range(count):
        whose = owner(behind, place, behind.named[k])
        one = behind.mbarriers[whose, number_of(behind, behind.named[k])]
        one[DUE + one[PHASE]] = max(one[DUE + one[PHASE]], end if whose == place else end + across)
        at = np.uint64(context.shared) + np.uint64(behind.named[k])
        phase = np.int64(carray(pointer(at), 2, np.uint32)[1] >> np.uint32(31))
        if phase != one[PHASE]:
            one[PHASE], one[DUE + phase] = phase, 0
            over = True
    return over


@inlined
def arrive_later(behind: Behind, place: Integer, count: Integer, warp: Integer) -> None:
    """Copies of the warp that have not been served yet will arrive at the named mbarriers."""
    copies = behind.copies[warp]
    for k in range(count):
        if copies[STARTED] > copies[SERVED] and behind.pending[0] < LATER:
            n = number_of(behind, behind.named[k])
            parity = behind.mbarriers[place, n, PHASE]
            later = behind.later[behind.pending[0]]
            later[WARP], later[AFTER], later[PLACE], later[NUMBER] = warp, copies[STARTED], place, n
            later[PARITY] = parity
            behind.pending[0] += 1
            behind.mbarriers[place, n, OPEN + parity] += 1


@inlined
def arrived(behind: Behind, warp: Integer) -> bool:
    """Copies of the warp have been served: those that arrive at mbarriers do so. Returns whether any did."""
    copies = behind.copies[warp]
    n = kept = 0
    while n < behind.pending[0]:
        later = behind.later[n]
        if later[WARP] == warp and later[AFTER] <= copies[SERVED]:
            one = behind.mbarriers[later[PLACE], later[NUMBER]]
            one[DUE + later[PARITY]] = max(one[DUE + later[PARITY]], copies[LATEST])
            one[OPEN + later[PARITY]] -= 1
        else:
            for field in range(PARITY + 1):
                behind.later[kept, field] = later[field]
            kept += 1
        n += 1
    some: bool = kept < behind.pending[0]
    behind.pending[0] = kept
    return some


@inlined
def due(behind: Behind, place: Integer, count: Integer) -> Integer:
    """When the phases before those that go on are over, as far as that is known."""
    at = 0
    for k in range(count):
        one = behind.mbarriers[place, number_of(behind, behind.named[k])]
        at = max(at, one[DUE + 1 - one[PHASE]])
    return at


@inlined
def unknown(behind: Behind, place: Integer, count: Integer) -> Integer:
    """A phase before those that go on of which nobody knows yet when it is over, as `phase_end` takes it; -1: none."""
    for k in range(count):
        n = number_of(behind, behind.named[k])
        parity: Integer = 1 - behind.mbarriers[place, n, PHASE]
        if behind.mbarriers[place, n, OPEN + parity]:
            return 2 * n + parity
    return -1


@inlined
def phase_end(behind: Behind, place: Integer, n: Integer) -> Integer:
    """When such a phase is over; -1: not known yet."""
    one = behind.mbarriers[place, n // 2]
    end: Integer = one[DUE + n % 2]
    return -1 if one[OPEN + n % 2] else end


# ---- the barrier of a cluster


@inlined
def arrives_at_cluster(behind: Behind, place: Integer, phase: Integer, end: Integer) -> None:
    """The phase of the barrier of the cluster is over at cycle `end` at the earliest."""
    of_cluster = behind.clusters[place % len(behind.clusters)]
    of_cluster[phase & 1] = max(of_cluster[phase & 1], end)


@inlined
def cluster_due(behind: Behind, place: Integer, phase: Integer) -> Integer:
    """When that phase is over, once the program can tell that it is."""
    end: Integer = behind.clusters[place % len(behind.clusters), phase & 1]
    return end


# ---- groups


@inlined
def belongs(behind: Behind, kind: Integer, warp: Integer, end: Integer) -> None:
    """Something that ends then belongs to the warp's next group."""
    behind.last[kind, warp] = max(behind.last[kind, warp], end)


@inlined
def commit(behind: Behind, kind: Integer, warp: Integer, t: Integer) -> None:
    """End a group of the warp."""
    group = behind.groups[kind, warp, behind.committed[kind, warp] % GROUPS]
    group[NEEDED], group[END] = 0, max(behind.last[kind, warp], t)
    if kind == COPIES:
        copies = behind.copies[warp]
        group[NEEDED], group[END] = copies[STARTED], max(group[END], copies[LATEST])
    behind.last[kind, warp] = 0
    behind.committed[kind, warp] += 1


@inlined
def served(behind: Behind, warp: Integer, comes: Integer) -> None:
    """The path has served an asynchronous copy of the warp, whose data come then."""
    copies = behind.copies[warp]
    copies[SERVED] += 1
    copies[LATEST] = max(copies[LATEST], comes)
    for n in range(GROUPS):
        group = behind.groups[COPIES, warp, n]
        if group[NEEDED] >= copies[SERVED]:
            group[END] = max(group[END], comes)


@inlined
def awaited(behind: Behind, kind: Integer, warp: Integer, pending: Integer) -> Integer:
    """The group that a warp waits for, which lets `pending` ones be under way; -1: none."""
    n = behind.committed[kind, warp] - 1 - pending
    return n if n >= 0 and pending < GROUPS else -1


@inlined
def end_of(behind: Behind, kind: Integer, warp: Integer, n: Integer, place: Integer) -> Integer:
    """When what a warp of the block at that place waits for is over; -1: not known yet."""
    if kind == PHASES:
        return phase_end(behind, place, n)
    group = behind.groups[kind, warp, n % GROUPS]
    return -1 if kind == COPIES and group[NEEDED] > behind.copies[warp, SERVED] else group[END]
