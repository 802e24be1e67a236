"""The groups of a warp's threads, as compiled functions see them: parked, joined, parted.

A group is a set of threads of one warp that execute together. The groups that do not run are parked in the warp's
record, each with its mask, its pc and what it waits for (machine/codes.py).
"""

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils

from banksim.kernels.kernel import BYTES
from banksim.machine import codes, doubts
from banksim.machine.codes import APART, COLLECTIVE, CONVERGENCE, READY, WARPSYNC, YIELDED
from banksim.machine.record_types import _CLUSTER
from banksim.machine.state import Context, Warp
from banksim.requests.lane_intrinsics import call_at, lowest, ones, pointer, room
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inner, intrinsic

_room_for_later = room(32)


@intrinsic(type(None), lambda function, c, w, *others: types.void(types.uint64, c, w, *[types.uint32] * 3))
def tell(
    builder: ir.IRBuilder,
    function: ir.Value,
    c: ir.Value,
    w: ir.Value,
    mask: ir.Value,
    what: ir.Value,
    number: ir.Value,
) -> None:
    """Call the function at an address that the race check has given, races.ordering_events.follow."""
    records = [builder.bitcast(record, cgutils.voidptr_t) for record in (c, w)]
    call_at(builder, function, [*records, mask, what, number], ir.VoidType())


@inner
def put_aside(w: Warp, mask: Integer, pc: Integer, wait: Integer, phase: Integer) -> None:
    """Park a group, on top of the others."""
    n = w.groups
    w.group_mask[n] = mask
    w.group_pc[n] = pc
    w.group_wait[n] = wait
    w.group_phase[n] = phase
    w.groups = n + 1


@inner
def copy_group(w: Warp, source: Integer, to: Integer) -> None:
    w.group_mask[to] = w.group_mask[source]
    w.group_pc[to] = w.group_pc[source]
    w.group_wait[to] = w.group_wait[source]
    w.group_phase[to] = w.group_phase[source]


@inner
def remove(w: Warp, g: Integer) -> None:
    """Take a group out of those that are parked; the others keep their order."""
    w.groups -= 1
    for h in range(g, w.groups):
        copy_group(w, h + 1, h)


@inner
def come_to(w: Warp, g: Integer) -> Integer:
    """The threads that wait at the same convergence barrier as group g, and that it gathers; of a WARPSYNC, those that
    have named the same threads."""
    b = w.group_wait[g]
    come = np.uint32(0)
    if b < WARPSYNC:
        for h in range(w.groups):
            if w.group_wait[h] == b:
                come |= w.group_mask[h]
        return come & w.barriers[b]
    named = w.named[b - WARPSYNC]
    gathered = named[lowest(w.group_mask[g])]
    for h in range(w.groups):
        same = w.group_wait[h] == b and named[lowest(w.group_mask[h])] == gathered
        if same and (b != WARPSYNC or w.group_pc[h] == w.group_pc[g]):
            come |= w.group_mask[h]
    return come


@inner
def keep_back(w: Warp, released: Integer, b: Integer) -> Integer:
    """Part the groups at a convergence barrier of whose threads it gathers some only: the others wait on. Returns how
    many groups there are more."""
    before = w.groups
    h: Integer = 0
    while h < w.groups:
        back = w.group_mask[h] & ~released
        if w.group_wait[h] == b and back and w.group_mask[h] & released:
            w.groups += 1
            for k in range(w.groups - 1, h, -1):
                copy_group(w, k - 1, k)
            w.group_mask[h] = back
            w.group_mask[h + 1] &= released
            h += 1
        h += 1
    return w.groups - before


@inner
def doubt(c: Context, pc: Integer, why: Integer) -> None:
    """What the hardware does at this instruction is not established."""
    carray(pointer(c.doubts), 1, np.uint8)[pc // BYTES] |= np.uint8(why)


@inner
def doubt_where_it_waits(c: Context, w: Warp, g: Integer, why: Integer) -> None:
    """The same at the BSYNC where group g waits."""
    doubt(c, w.group_pc[g] - BYTES, why)


@inner
def release(c: Context, w: Warp, g: Integer, released: Integer) -> Integer:
    """Group g is the last to come to its convergence barrier: it goes on with all threads of `released`. Returns its
    new place among the groups. Groups that came to the barrier at different pcs go on apart, unless the barrier opens a
    collective region. A barrier that has released threads gathers none; at a WARPSYNC, threads left behind no longer
    wait for those released."""
    b = w.group_wait[g]
    pc = w.group_pc[g]
    if b < WARPSYNC:
        g += keep_back(w, released, b)
    first = lowest(w.group_mask[g])
    w.group_wait[g] = READY if b < WARPSYNC else APART
    if b == COLLECTIVE:
        w.collected = w.group_mask[g]
    h = g - 1
    while h >= 0:
        if w.group_wait[h] == b and w.group_mask[h] & released:
            if b < WARPSYNC and w.group_pc[h] != pc:
                doubt(c, pc - BYTES, doubts.APART)
            if w.group_pc[h] == pc or b == COLLECTIVE:
                w.group_mask[g] |= w.group_mask[h]
                remove(w, h)
                g -= 1
            else:
                w.group_wait[h] = APART
        h -= 1
    if c.watch:
        tell(c.follow, c, w, released, codes.WAITED, 0)
    if b >= WARPSYNC:
        named = w.named[b - WARPSYNC]
        gathered = named[first]
        for lane in range(32):
            left_behind = (gathered & ~released) >> np.uint32(lane) & np.uint32(1)
            if left_behind and named[lane] == gathered:
                named[lane] &= ~released
    return g


@inner
def blocked(w: Warp) -> Integer:
    """The threads that wait for others of their warp."""
    found = np.uint32(0)
    for g in range(w.groups):
        if 0 <= w.group_wait[g] < CONVERGENCE:
            found |= w.group_mask[g]
    return found


@inner
def is_complete(w: Warp, g: Integer, come: Integer) -> bool:
    """Whether all live threads have come for which group g waits at its convergence barrier."""
    b = w.group_wait[g]
    if b < WARPSYNC:
        return come & w.group_mask[g] and not w.barriers[b] & w.live & ~come
    return not w.named[b - WARPSYNC, lowest(w.group_mask[g])] & w.live & ~come


@inner
def waits_at_bsync(w: Warp, g: Integer) -> bool:
    return 0 <= w.group_wait[g] < WARPSYNC


@inner
def try_again(w: Warp) -> None:
    """All groups at a BSYNC are to execute it again."""
    for g in range(np.int64(w.groups)):
        if waits_at_bsync(w, g):
            w.group_wait[g] = READY
            w.group_pc[g] -= BYTES


@inner
def join(c: Context, w: Warp) -> None:
    """Make the groups at a convergence barrier one ready group where all the live threads that it gathers have come."""
    g = w.groups - 1
    while g >= 0:
        b = w.group_wait[g]
        if waits_at_bsync(w, g) and w.barriers[b] and w.group_mask[g] & ~w.barriers[b]:
            doubt_where_it_waits(c, w, g, doubts.FOREIGN)
        if 0 <= b < CONVERGENCE:
            come = come_to(w, g)
            if is_complete(w, g, come):
                if b < WARPSYNC:
                    w.barriers[b] = 0
                g = release(c, w, g, come)
        g -= 1


@inner
def force(c: Context, w: Warp, g: Integer) -> Integer:
    """Let group g go on past its BSYNC, with those that have come, whoever has not. Returns its new place."""
    b = w.group_wait[g]
    come = come_to(w, g) | w.group_mask[g]
    w.barriers[b] = 0
    return release(c, w, g, come)


@inner
def stuck(c: Context, w: Warp) -> Integer:
    """The place of a group at a BSYNC that goes on though threads which it gathers have not come, since no other can
    but those that have yielded: the last that came; -1 if there is none."""
    for g in range(w.groups):
        if w.group_wait[g] != YIELDED and not 0 <= w.group_wait[g] < CONVERGENCE:
            return -1
    for g in range(w.groups - 1, -1, -1):
        if waits_at_bsync(w, g):
            doubt_where_it_waits(c, w, g, doubts.STUCK)
            place = force(c, w, g)
            try_again(w)
            return place
    return -1


@inner
def cluster_of(c: Context) -> Any:
    """The barrier of the block's cluster, as a `Cluster`."""
    return carray(pointer(c.cluster), 1, _CLUSTER)[0]


@inner
def phase_over(c: Context, where: Integer) -> Integer:
    """Whether the phase of an mbarrier has ended. `where`: its address, plus the parity of the phase as lowest bit."""
    address = np.uint64(c.shared) + np.uint64(where & np.uint32(0xFFFFFFF8))
    upper = carray(pointer(address), 2, np.uint32)[1]
    return upper >> np.uint32(31) != where & np.uint32(1)


@inner
def find_parts(mask: Integer, keys: Integers, parts: Integers) -> None:
    """Divide the threads of `mask` by their keys into `parts`, in the order in which they run (32 masks; 0 after the
    last). The threads with the key of the lowest lane are split off first; they run before the rest, unless the rest
    has fewer threads. The rest is divided in the same way (measured on one H200)."""
    later = carray(_room_for_later(), 32, np.uint32)
    for n in range(32):
        parts[n] = 0
    front, back = 0, 0
    while mask:
        first = np.int64(lowest(mask))
        same = np.uint32(0)
        for lane in range(first, 32):
            if (mask >> np.uint32(lane)) & np.uint32(1) and keys[lane] == keys[first]:
                same |= np.uint32(1) << np.uint32(lane)
        mask &= ~same
        if mask and ones(mask) < ones(same):
            later[back] = same
            back += 1
        else:
            parts[front] = same
            front += 1
    while back:
        back -= 1
        parts[front] = later[back]
        front += 1
