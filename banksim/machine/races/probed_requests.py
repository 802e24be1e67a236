"""What compiled kernels do at each request to shared memory while `probe.py` looks for a race."""

import numpy as np
from numba import types

from banksim.kernels.kernel import BYTES
from banksim.machine.codes import BLOCK_BARRIERS, LANES
from banksim.machine.races.probe import EPOCH, LANE_BITS, PROBE, WARP_BITS
from banksim.machine.races.records import COPY, EXCHANGE, FLAG_READ, READ, WRITE
from banksim.machine.record_types import CONTEXT, WARP
from banksim.machine.state import CLUSTER
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Place
from banksim.system.jit import callback, carray

_PROBE = PROBE
_CLUSTER = CLUSTER


@callback(types.void(CONTEXT, WARP, *[types.uint32] * 3, types.voidptr))
def touch(context: Place, warp: Place, pc: Integer, mask: Integer, width: Integer, places: Place) -> None:
    """Compare a request with those of other warps since the last barrier."""
    c = carray(context, 1)[0]
    r = carray(pointer(c.probe), 1, _PROBE)[0]
    c.probing -= 1
    if r.block != c.block:
        r.block = c.block
        r.base = r.latest + 1
        r.acquired = 0
    epoch = r.base + r.acquired
    for b in range(BLOCK_BARRIERS):
        epoch += np.int64(c.phase[b])
    epoch += np.int64(carray(pointer(c.cluster), 1, _CLUSTER)[0].phase)
    r.latest = epoch
    number = np.int64(pc) // BYTES
    kind = carray(pointer(r.kinds), r.instructions, np.uint8)[number]
    if kind in (EXCHANGE, FLAG_READ):
        r.acquired += 1
        r.latest += 1
        return
    if kind not in (READ, WRITE, COPY):
        return
    me = np.int64(carray(warp, 1)[0].index)
    entry = epoch << EPOCH | number << (WARP_BITS + LANE_BITS) | me
    warps = (1 << WARP_BITS) - 1
    offset = carray(places, LANES, np.uint32)
    writes = carray(pointer(r.writes), r.pieces, np.int64)
    reads = carray(pointer(r.reads), r.pieces, np.int64)
    others = carray(pointer(r.others), r.pieces, np.int64)
    shift, looked_at = r.shift, np.int64(-1)
    count = np.int64(width) >> shift
    for lane in range(LANES):
        first = np.int64(offset[lane]) >> shift
        if first == looked_at or not (mask >> np.uint32(lane)) & np.uint32(1):
            continue
        looked_at = first
        now = entry | lane << WARP_BITS
        for piece in range(first, first + count):
            before = np.int64(0)
            if writes[piece] >> EPOCH == epoch and writes[piece] & warps != me:
                before = writes[piece]
            elif kind == READ:
                if reads[piece] >> EPOCH != epoch:
                    reads[piece] = now
                elif reads[piece] & warps != me:
                    others[piece] = now
            else:
                if reads[piece] >> EPOCH == epoch and reads[piece] & warps != me:
                    before = reads[piece]
                elif others[piece] >> EPOCH == epoch and others[piece] & warps != me:
                    before = others[piece]
                writes[piece] = now
            if before:
                c.probing = 0
                if not r.found or c.block < r.found_block:
                    r.found = 1
                    r.found_block, r.address = c.block, piece << shift
                    r.first, r.second = before, now
                return
