"""The records of the path of memory requests in a multiprocessor (shared_memory_path.py): of a request, of what each
sub-core has of it, and of what all share."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.system.bundles import bundle
from banksim.timing.between_blocks import Between, new_between
from banksim.timing.global_memory import GlobalMemory, new_memory
from banksim.timing.instruction_caches import SUB_CORES

QUEUE, POOL, RETURNS, REQUESTS = 16, 32, 32, 128
"""Lengths of the arrays below, powers of two: more than can be filled."""
SERVERS = 8
ENDED = 64
"""Barriers that may have ended when a request enters the pool, at most."""
BY_BARRIER, BY_FENCE = 1, 2
NEVER = 1 << 60
LONG_AGO = -1000

REQUEST = np.dtype(
    [
        ("warp", "i8"),
        ("moves", "i8"),  # the cycle from which on it may go on
        ("cost", "i8"),  # transactions
        ("tags", "i8"),  # … and passes through the tags of the L1 before these
        ("parts", "i8"),  # transfers over the result bus; 0: nothing comes back
        ("write", "i8"),  # scoreboards, -1: none
        ("read", "i8"),
        ("holds", "i8"),  # cycles for which it holds its sub-core's way to the pool: its registers are read meanwhile
        ("later", "i8"),  # cycles until the result beyond those of shared memory
        ("reads", "i8"),  # the cycle in which it has read its registers, if it enters the pool at once
        ("fetches", "i8"),  # cycles from a store's service until its data come from the registers
        ("far", "i8"),  # what it does to global memory
        ("copies", "i8"),  # whether it is an asynchronous copy
        ("meets", "i8"),  # how it meets data of global memory (data_stage.LOADS …),
        ("sectors", "i8"),  # … in which sectors of 32 of 128 bytes,
        ("upper", "i8"),  # … and whether it lies in the upper half of the memory
        ("fence", "i8"),  # whether it is none, but a fence
        ("fences", "i8"),  # how many fences had gone through the queues when it issued
        ("fenced", "i8"),  # what has ended since the one before it entered the pool: BY_BARRIER, BY_FENCE; 0: nothing
        ("own", "i8"),  # of one to another block: what it holds of its multiprocessor's way,
        ("to", "i8"),  # … the rank that it asks,
        ("asked", "i8"),  # … what it holds of that one's way,
        ("shared", "i8"),  # … and of what all of the cluster share (between_blocks.costs_of)
    ]
)
SUB_CORE = np.dtype(
    [
        ("head", "i8"),
        ("count", "i8"),
        ("next", "i8"),  # when it may issue its next memory instruction
        ("opens", "i8"),  # when the pool may take its next one
        ("held", "i8"),  # how many of its requests wait before the pool
        ("last", "i8"),  # the warp that issued last
        ("left", "i8"),  # how many have left the queue
    ]
)
ONE = np.dtype(
    [
        ("pool", "i8"),  # how many wait there
        ("left", "i8"),  # how many have left it
        ("bus", "i8"),  # until when it is held
        ("free", "i8"),  # how many records are
        ("tags", "i8"),  # until when the tags of the L1 are read
        ("through", "i8"),  # when all that the slots have begun with is through,
        ("opens", "i8"),  # … and when they go on behind a barrier or a fence
        ("ended", "i8"),  # how many barriers have ended,
        ("passed", "i8"),  # … and how many of these before the latest request that entered the pool
        ("fences", "i8"),  # how many fences have gone through the queues,
        ("behind", "i8"),  # … and how many of these had when the latest request that entered the pool issued
    ]
)


@bundle
class Path(NamedTuple):
    """The requests that are under way; each is named by its row in `requests`."""

    requests: npt.NDArray[np.void]
    free: npt.NDArray[np.int64]  # rows that are not used
    sub_cores: npt.NDArray[np.void]
    queues: npt.NDArray[np.int64]  # (sub-core, QUEUE): rows, a ring each
    queue_places: npt.NDArray[np.int64]  # (sub-core, QUEUE): when places become free again
    pool: npt.NDArray[np.int64]  # rows, oldest first
    pool_places: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]  # a row, or -1
    ends: npt.NDArray[np.int64]  # when each slot is free
    servers: npt.NDArray[np.int64]  # until when what else the sub-cores share is held
    order: npt.NDArray[np.int64]  # the sub-cores, by their last grant
    one: npt.NDArray[np.void]
    barriers: npt.NDArray[np.int64]  # when they ended, a ring
    memory: GlobalMemory
    between: Between


def new_path(memory: GlobalMemory | None = None, between: Between | None = None) -> Path:
    """An empty path, with what lies behind it."""
    sub_cores = np.zeros(SUB_CORES, SUB_CORE)
    sub_cores["next"] = sub_cores["opens"] = LONG_AGO
    sub_cores["last"] = -1
    one = np.zeros(1, ONE)
    one["free"] = REQUESTS
    return Path(
        requests=np.zeros(REQUESTS, REQUEST),
        free=np.arange(REQUESTS),
        sub_cores=sub_cores,
        queues=np.zeros((SUB_CORES, QUEUE), np.int64),
        queue_places=np.full((SUB_CORES, QUEUE), LONG_AGO),
        pool=np.zeros(POOL, np.int64),
        pool_places=np.full(RETURNS, LONG_AGO),
        slots=np.full(2, -1),
        ends=np.zeros(2, np.int64),
        servers=np.zeros(SERVERS, np.int64),
        order=np.arange(SUB_CORES),
        one=one,
        barriers=np.zeros(ENDED, np.int64),
        memory=memory or new_memory(REQUESTS),
        between=between or new_between(),
    )
