"""Where the shared memory of a cluster's blocks lies, as the race check numbers its bytes: one block behind the other.
Compiled by numba.
"""

import numpy as np

from banksim.machine.codes import RANK_BIT
from banksim.machine.races.records import Watch
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Place
from banksim.system.jit import inner


@inner
def watched_place(r: Watch, address: Integer) -> Integer:
    """The place of an address, which has the rank of its block from RANK_BIT on."""
    rank, offset = address >> np.uint32(RANK_BIT), address & np.uint32((1 << RANK_BIT) - 1)
    return np.uint32(rank * np.uint32(r.stride) + offset)


@inner
def block_of(r: Watch, place: Integer) -> Integer:
    """The rank of the block in whose shared memory a place is."""
    return place // r.stride


@inner
def memory_at(c: Context, r: Watch, place: Integer) -> Place:
    """What lies at a place."""
    where: Integer = np.uint64(c.shared) + np.uint64(block_of(r, place) << RANK_BIT | place % r.stride)
    return pointer(where)
