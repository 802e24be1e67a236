"""What an instruction starts and its warp does not wait for: when it is done."""

import numpy as np

from banksim.architectures.time_figures import Numbers
from banksim.machine import state
from banksim.machine.state import Context, Warp
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inlined
from banksim.timing import asynchronous
from banksim.timing.asynchronous import COPIES, PRODUCTS, belongs, commit, contribute
from banksim.timing.between_blocks import leave
from banksim.timing.cold_lines import read
from banksim.timing.global_memory import OUT, PAST, SECTORS, STORED, drained, fetch
from banksim.timing.held_ways import hold
from banksim.timing.issue_records import IssueRow, Multiprocessor
from banksim.timing.issue_table import TENSOR
from banksim.timing.path_records import Path
from banksim.timing.scoreboards import Waiting
from banksim.timing.warp_choice import record_of

_CONTEXT = state.CONTEXT
SECTOR = 32
"""Bytes."""


@inlined
def copied(row: IssueRow, record: Warp, context: Context) -> Integer:
    """Bytes of the bulk or tensor copy that has been executed."""
    return (np.int64(record.uniform[row.units]) & 0xFFFF) * 16 if row.units >= 0 else np.int64(context.copied)


@inlined
def come(sm: Multiprocessor, path: Path, f: Numbers, size: Integer, rows: Integer, t: Integer) -> Integer:
    """When a bulk or tensor copy of so many bytes and rows into shared memory, issued at cycle t, has come."""
    end = fetch(path.memory, f, PAST, size // SECTOR, t + f.bulk, rows * f.bulk_row)
    if f.copies_read:
        end = max(end, t + f.bulk + f.l2 + read(path.memory.cold, f.copies_read * (size // SECTOR), t + f.bulk))
    later = f.copies_later + f.late * drained(path.memory, f, t) // 100
    return end - f.l2 + f.global_latency if sm.constant[0] else end + later


@inlined
def gone(path: Path, f: Numbers, size: Integer, rows: Integer, t: Integer) -> Integer:
    """When one out of shared memory is done: it holds the way to the L2 as stores of whole sectors do."""
    memory = path.memory
    last: Integer = t
    for share in range(2):
        cost = max(size // SECTOR * memory.costs[share, STORED, SECTORS], 100 * rows * f.bulk_row_out)
        way = OUT + 2 * share
        memory.busy[way] += cost
        last = max(last, hold(memory.held, way, cost, t))
    return last + f.bulk_out


@inlined
def crossed(path: Path, f: Numbers, size: Integer, t: Integer) -> Integer:
    """When a copy of so many bytes from shared memory into that of a block of the cluster has come."""
    return leave(path.between, size // SECTOR * f.remote_sector, t) + f.near


@inlined
def act(sm: Multiprocessor, path: Path, waiting: Waiting, f: Numbers, w: Integer, t: Integer, named: Integer) -> bool:
    """What an instruction that warp w has issued at cycle t does to mbarriers and groups. Returns whether the phase
    of an mbarrier is over."""
    warp, behind = sm.warps[w], waiting.behind
    row = sm.code[warp.previous]
    context = carray(pointer(warp.context), 1, _CONTEXT)[0]
    rows = np.int64(context.copied_rows) if row.units < 0 else 0  # of a tensor's box
    if row.behind == asynchronous.BEGINS:
        asynchronous.begin(behind, warp.place, named)
    elif row.behind == asynchronous.ARRIVES:
        return contribute(behind, warp.place, named, context, t + f.arrive, f.across)
    elif row.behind == asynchronous.ARRIVES_LATER:
        asynchronous.arrive_later(behind, warp.place, named, w)
        end = max(t + f.arrive, behind.copies[w, asynchronous.LATEST])
        return contribute(behind, warp.place, named, context, end, f.across)
    elif row.behind == asynchronous.COPIES_IN:
        size = copied(row, record_of(warp), context)
        if row.near:
            return contribute(behind, warp.place, named, context, crossed(path, f, size, t), 0)
        end = come(sm, path, f, size, rows, t)
        if row.multicast >= 0:
            named = asynchronous.to_several(behind, np.int64(record_of(warp).uniform[row.multicast]) >> 16)
        return contribute(behind, warp.place, named, context, end, 0)
    elif row.behind == asynchronous.COPIES_OUT:
        belongs(behind, COPIES, w, gone(path, f, copied(row, record_of(warp), context), rows, t))
    elif row.behind == asynchronous.COMMITS:
        commit(behind, COPIES, w, t)
    elif row.behind == asynchronous.AWAITS or row.behind == asynchronous.AWAITS_PRODUCTS:
        warp.awaited = COPIES if row.behind == asynchronous.AWAITS else PRODUCTS
        warp.awaits = asynchronous.awaited(behind, warp.awaited, w, row.pending)
    elif row.behind == asynchronous.MULTIPLIES:
        begins = max(t + f.product, sm.pipes[warp.core, TENSOR])
        sm.pipes[warp.core, TENSOR] = begins + row.interval
        sm.busy[warp.core, TENSOR] += row.interval
        belongs(behind, PRODUCTS, w, begins + row.latency)
        if row.commits:
            commit(behind, PRODUCTS, w, t)
    elif row.behind == asynchronous.JOINS_CLUSTER:
        asynchronous.arrives_at_cluster(behind, warp.place, record_of(warp).cluster_phase, t + f.cluster)
    elif row.behind == asynchronous.AWAITS_CLUSTER:
        warp.ready = max(warp.ready, asynchronous.cluster_due(behind, warp.place, record_of(warp).cluster_phase))
    return False
