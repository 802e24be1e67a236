"""Which pieces of a block's shared memory have been written: reads of what nothing wrote are found here."""

import numpy as np

from banksim.machine.codes import LANES
from banksim.machine.races import records
from banksim.machine.races.recorded_findings import find
from banksim.machine.races.records import BULK, COPY, EXCHANGE, FLAG_WRITE, SEND, STARTING, UPDATE, WRITE, Watch
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inner


@inner
def began_at(r: Watch) -> Integer:
    """The summary of a line of which the block has written no piece; blocks come in the order of their numbers."""
    return (np.int64(r.block) + 1) << records.ENTRY_TIME


@inner
def initialize(q: records.WatchedRequest) -> None:
    """Notice reads of what nothing has written since the block began; remember what is written."""
    r = q.watch
    shift, pieces = np.uint32(r.shift), np.uint32(q.width >> r.shift)
    lines = carray(pointer(r.written), r.pieces, np.int64)
    reads = q.kind not in (WRITE, COPY, BULK, SEND, STARTING, FLAG_WRITE)
    writes = not reads or q.kind in (UPDATE, EXCHANGE)
    began = began_at(r)
    own = (np.int64(1) << pieces) - 1
    line, whole = np.uint32(records.NO_LINE), False
    for lane in range(LANES):
        start = q.addresses[lane] >> shift
        here = start >> np.uint32(records.LINE)
        if not q.mask >> lane & 1 or (here == line and whole):
            continue
        line = here
        written = lines[line] if lines[line] >= began else began
        whole = written & records.LOWER == records.LOWER
        wanted = own << np.int64(start & np.uint32(records.PIECES - 1))
        if reads and wanted & ~written:
            find(q, records.UNWRITTEN, q.entry | lane, q.warp, q.entry | lane, q.warp, np.int64(start))
        if writes:
            lines[line] = written | wanted
