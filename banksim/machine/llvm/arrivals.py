"""Barriers of the block and of its cluster, as compiled kernels call them: who arrives, and when a phase ends."""

import numpy as np
from numba import types

from banksim.machine import codes
from banksim.machine.codes import BLOCK_BARRIERS, OF_CLUSTER
from banksim.machine.llvm.groups import cluster_of, put_aside, tell
from banksim.machine.record_types import CONTEXT, WARP
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import ones
from banksim.system.compiled_types import Integer, Place
from banksim.system.jit import callback, carray, inner


@inner
def complete(c: Context, b: Integer) -> None:
    """End the phase of barrier b of the block: keep the result of its reduction and begin the next phase."""
    if c.watch:
        tell(c.follow, c, c, 0, codes.PASSED, b)
    how, votes = c.reduction[b], c.votes[b]
    if how == codes.POPC:
        c.result[b] = votes
    elif how == codes.AND:
        c.result[b] = votes == c.arrived[b]
    else:
        c.result[b] = votes > 0
    c.arrived[b] = 0
    c.votes[b] = 0
    c.phase[b] += 1


@callback(types.uint32(CONTEXT, WARP, *[types.uint32] * 6, types.int32))
def arrive(
    context: Place,
    warp: Place,
    mask: Integer,
    votes: Integer,
    number: Integer,
    expected: Integer,
    how: Integer,
    pc: Integer,
    waits: Integer,
) -> Integer:
    """Threads arrive at barrier `number` of the block. Returns 1 if they go on: those that do not wait, and the last to
    arrive, which end the phase; the others are parked."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    b = np.int64(number) & (BLOCK_BARRIERS - 1)
    if waits:
        put_aside(w, mask, pc, codes.AT_BARRIER + b, c.phase[b])
    if c.watch:
        tell(c.follow, c, w, mask, codes.ARRIVED, b)
    c.arrived[b] += ones(mask)
    c.expected[b] = expected
    if how != codes.NO_REDUCTION:
        w.reduced = b
        c.reduction[b] = how
        c.votes[b] += ones(votes & mask)
    if c.arrived[b] >= (expected if expected else c.live):
        complete(c, b)
        if waits:
            w.groups -= 1  # parked until now, so that the race check finds it among those that wait
        return 1
    return 0 if waits else 1


@callback(types.void(CONTEXT, WARP, types.uint32))
def leave(context: Place, warp: Place, mask: Integer) -> None:
    """Threads exit. The phase of a barrier of the block that waited only for them ends; threads that have yielded are
    as others again."""
    w = carray(warp, 1)[0]
    c = carray(context, 1)[0]
    for g in range(w.groups):
        if w.group_wait[g] == codes.YIELDED:
            w.group_wait[g] = codes.READY
    w.live &= ~mask
    c.live -= ones(mask)
    for b in range(BLOCK_BARRIERS):
        if c.arrived[b] and not c.expected[b] and c.arrived[b] >= c.live:
            complete(c, b)
    cluster = cluster_of(c)
    cluster.live -= ones(mask)
    if w.cluster_phase == cluster.phase:  # they are awaited no more, nor do they stand for others
        cluster.arrived -= ones(w.cluster_arrived & mask)
    gather_cluster(c)
    if not c.live:
        cluster.ended |= np.uint32(1) << np.uint32(c.own_shared >> np.uint64(codes.RANK_BIT))


# ---- the barrier of a cluster of blocks


@inner
def gather_cluster(c: Context) -> None:
    """End the phase of the cluster's barrier if all of its threads have arrived that have not exited."""
    cluster = cluster_of(c)
    if cluster.arrived and cluster.arrived >= cluster.live:
        if c.watch:
            tell(c.follow, c, c, 0, codes.PASSED, OF_CLUSTER)
        cluster.arrived = 0
        cluster.phase += np.uint32(1)


@callback(types.void(CONTEXT, WARP, types.uint32))
def cluster_arrive(context: Place, warp: Place, mask: Integer) -> None:
    """Threads arrive at the barrier of their cluster; none waits."""
    c = carray(context, 1)[0]
    w = carray(warp, 1)[0]
    cluster = cluster_of(c)
    if w.cluster_phase != cluster.phase:
        w.cluster_phase, w.cluster_arrived = cluster.phase, 0
    w.cluster_arrived |= mask
    if c.watch:
        tell(c.follow, c, w, mask, codes.ARRIVED, OF_CLUSTER)
    cluster.arrived += ones(mask)
    gather_cluster(c)


@callback(types.void(CONTEXT, WARP, types.uint32))
def cluster_release(context: Place, warp: Place, mask: Integer) -> None:
    """Threads come to wait for a phase of their cluster's barrier that is over, and are watched."""
    c = carray(context, 1)[0]
    tell(c.follow, c, carray(warp, 1)[0], mask, codes.RELEASED, OF_CLUSTER)
