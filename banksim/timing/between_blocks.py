"""The ways between the multiprocessors of a cluster. A request to another block's shared memory holds that of the one
that asks, that of the one that is asked, and what all of the cluster share; it has crossed when it has passed these."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Figures, Numbers
from banksim.machine.codes import RANK_BIT
from banksim.machine.state import Memo
from banksim.requests.kinds import OP_CODES
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined, inner
from banksim.timing.held_ways import hold

OF_LOADS, OF_STORES, OF_ADDITIONS, OF_SWAPS = (tuple(OP_CODES[op] for op in ops.split()) for ops in (
    "remote remote_ld", "remote_st remote_async", "remote_atom", "remote_cas",
))  # fmt: skip
"""Codes of the ops of each row of `Between.costs`."""
TO_OTHERS = OF_LOADS + OF_STORES + OF_ADDITIONS + OF_SWAPS


@bundle
class Between(NamedTuple):
    """What requests hold, in hundredths of a cycle."""

    held: npt.NDArray[np.int64]  # by rank, then what all share: until when, of all multiprocessors of the cluster
    rank: npt.NDArray[np.int64]  # one: that of this multiprocessor
    busy: npt.NDArray[np.int64]  # one: for how long its way has been held by what it asked,
    through: npt.NDArray[np.int64]  # … the cycle in which the last of that has crossed,
    posted: npt.NDArray[np.int64]  # … and what those without an answer will hold of it that have not left yet
    costs: npt.NDArray[np.int64]  # (kind of request, the fields of `Crossing`)


def new_between(known: Figures | None = None, rank: int = 0, ranks: int = 1, others: Between | None = None) -> Between:
    """`others`: the ways as another multiprocessor of the cluster has them. Nothing is asked without figures."""
    held = np.zeros(ranks + 1, np.int64) if others is None else others.held
    costs = [list(known.crossing[kind]) for kind in ("load", "store", "add", "swap")] if known else np.zeros((4, 6))
    busy, through, posted = np.zeros((3, 1), np.int64)
    return Between(held, np.array([rank]), busy, through, posted, np.array(costs, np.int64))


@inlined
def leave(between: Between, cost: Integer, t: Integer) -> Integer:
    """Have something of that cost take the multiprocessor's own way. Returns the cycle in which it is through."""
    between.busy[0] += cost
    return hold(between.held, between.rank[0], cost, t)


@inlined
def cross(between: Between, own: Integer, to: Integer, asked: Integer, shared: Integer, t: Integer) -> Integer:
    """The same of a request to the block of rank `to`: the cycle in which it has crossed."""
    there = hold(between.held, to, asked, t)
    every = hold(between.held, len(between.held) - 1, shared, t)
    between.through[0] = max(between.through[0], leave(between, own, t), there, every)
    through: Integer = between.through[0]
    return through


@inlined
def may_leave(between: Between, f: Numbers, t: Integer) -> bool:
    """Whether a request without an answer may leave: what has left before it is not too much."""
    return bool(
        between.held[between.rank[0]] <= 100 * (t + f.remote_ahead) and between.through[0] <= t + f.remote_buffer
    )


@inlined
def all_through(between: Between, t: Integer) -> Integer:
    """When all that the multiprocessor has asked of others has crossed."""
    behind: Integer = max(between.through[0], t) + between.posted[0] // 100
    return behind if between.posted[0] else between.through[0]


@inlined
def address(memo: Memo, lane: Integer) -> Integer:
    return np.int64(np.uint32(memo.phase + memo.relative[lane]))


@inner
def places_of(memo: Memo, bits: Integer) -> tuple[Integer, Integer]:
    """How many places of 2 ** bits bytes a request touches whose addresses its site remembers, and how many lanes are
    at the same one at most."""
    n = most = 0
    for lane in range(32):
        if memo.mask >> np.uint32(lane) & np.uint32(1):
            same, first = 1, True
            for other in range(lane):
                if (
                    memo.mask >> np.uint32(other) & np.uint32(1)
                    and address(memo, lane) >> bits == address(memo, other) >> bits
                ):
                    same, first = same + 1, False
            n, most = n + first, max(most, same)
    return n, most


@inner
def costs_of(between: Between, memo: Memo) -> tuple[Integer, Integer, Integer, Integer]:
    """What a request holds: of the own way; the rank that it asks (that of its first lane, assumed where there are
    several), of that one's way, and of what all share."""
    kind = 0 if memo.op in OF_LOADS else 1 if memo.op in OF_STORES else 2 if memo.op in OF_ADDITIONS else 3
    sector, lane, asked, asked_sector, shared, shared_sector = between.costs[kind]
    sectors = places_of(memo, 5)[0]
    together = places_of(memo, 2)[1] if lane else 0
    first: Integer = 0
    while not memo.mask >> np.uint32(first) & np.uint32(1):
        first += 1
    to: Integer = (address(memo, first) >> RANK_BIT) % (len(between.held) - 1)
    return max(sectors * sector, together * lane), to, asked + sectors * asked_sector, shared + sectors * shared_sector
