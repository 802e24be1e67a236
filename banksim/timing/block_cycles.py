"""The time of a trace's requests, where nothing is known of the code between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.published_rates import Rates, rates
from banksim.errors import InputError, UnknownCountError

if TYPE_CHECKING:
    from banksim.requests.columns import Column, Ints
    from banksim.requests.trace import Trace
    from banksim.system.compiled_types import Integers
from banksim.banks.rule import Explanation, pairs_merge
from banksim.requests.kinds import IS_BYPASSING, IS_UNTIMED, UNTIMED


def transfers(found: Explanation) -> int | None:
    """The time that a request takes, in transactions. A load takes at least one for each part, with active lanes or
    not. None where the count is unknown or unspecified, for accesses to other blocks, and for copies past the L1 cache:
    on an H200, 32 transactions of these took 11 to 141 cycles."""
    access = found.arch.access(found.op, found.width)
    if access is None or not isinstance(found.transactions, int) or found.op in UNTIMED:
        return None
    if found.op != "ld":
        return found.transactions
    merge = access.merged and pairs_merge(found.address, found.mask)
    return max(found.transactions, 32 // (access.merged if merge else access.lanes))


ANSWERS = frozenset(("ld", "atom", "exch", "cas", "cas_spin")) | {
    f"ldmatrix_x{n}{t}" for n in (1, 2, 4) for t in ("", "_trans")
}
"""Requests that return something to the warp."""


def block_cycles(trace: Trace, arch: str | Architecture = "sm_90", *, chained: bool = False) -> int:
    """Cycles that the requests of the trace's slowest block take, when nothing but the requests is known.

    Assumed: the block has the multiprocessor to itself; every warp issues its requests in their order, as soon as there
    is a place for them, without waiting for results (`chained`: each when the result of the one before has come); at a
    barrier (`Trace.epoch`) all wait until everything has been served. On sm_90 the requests then take the path that was
    measured on an H200; on other architectures the longer of what the banks and what the busiest warp take, at
    published rates.

    >>> from banksim.patterns import pattern
    >>> column, padded = (pattern("t[threadIdx.x][0]", declare=f"float t[32][{n}]", block=32) for n in (32, 33))
    >>> block_cycles(column) > block_cycles(padded)
    True

    Raises `InputError` for architectures of which nothing is known, `UnknownCountError` for a request
    whose transactions nobody knows, for copies past the L1 cache and for accesses to other blocks.
    """
    rule = architecture(arch)
    if not len(trace):
        return 0
    known = rates(rule)
    if known is None:
        raise InputError(f"{rule.name}: nobody knows how many cycles a request takes there")
    if IS_UNTIMED[trace.op].any():
        what = "a copy past the L1 cache" if IS_BYPASSING[trace.op].any() else "an access to another block"
        raise UnknownCountError(f"nobody knows how many cycles {what} takes")
    cost, parts = weights(trace, rule)
    order = np.lexsort((np.arange(len(trace)), trace.warp, trace.epoch, trace.block))
    blocks = np.split(order, np.flatnonzero(np.diff(trace.block[order])) + 1)
    if rule.capability == (9, 0):
        return max(simulated(trace, rows, cost, parts, chained) for rows in blocks)
    return max(estimated(trace, rows, cost, known, chained) for rows in blocks)


def weights(trace: Trace, rule: Architecture) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each request, how many transactions' time it takes, and how many transfers return its result (0: nothing is
    returned)."""
    from banksim.banks.compiled.rule_words import rule_records
    from banksim.banks.replay import transactions
    from banksim.requests.kinds import OPS

    cost = np.asarray(
        transactions(trace.address, op=[OPS[code] for code in trace.op], width=trace.width, mask=trace.mask, arch=rule)
    )
    parts = count_parts(trace.address, trace.mask, trace.op, trace.width, rule_records(rule))
    returns = np.isin(trace.op, [OPS.index(op) for op in ANSWERS])
    matrices = np.array(["matrix" in op for op in OPS])[trace.op]
    parts = np.where(matrices, 1, parts)
    return np.where(returns, np.maximum(cost, parts), cost).astype(np.int64), np.where(returns, parts, 0)


def count_parts(address: Column, mask: Column, op: Column, width: Column, words: Integers) -> npt.NDArray[np.int64]:
    from banksim.timing.bare_requests_loop import parts_of_each

    found = np.zeros(len(address), np.int64)
    parts_of_each(np.ascontiguousarray(address), mask, op, width, words, found)
    return found


def simulated(trace: Trace, rows: Ints, cost: Ints, parts: Ints, chained: bool) -> int:
    """One block on the model of the path; rows sorted by epoch, warp, then as they came."""
    from banksim.architectures.other_generations import figures
    from banksim.timing.bare_requests_loop import Requests, path_cycles

    numbers = np.unique(trace.warp[rows], return_inverse=True)[1]
    given = Requests(
        number=np.asarray(numbers, np.int64),
        epoch=np.asarray(trace.epoch[rows], np.int64),
        cost=cost[rows],
        parts=parts[rows],
    )
    return int(path_cycles(given, figures("sm_90").numbers(), chained))


def estimated(trace: Trace, rows: Ints, cost: Ints, known: Rates, chained: bool) -> int:
    """The cycles of one block at the rates of its generation, epoch by epoch."""
    total = 0
    for epoch in np.unique(trace.epoch[rows]):
        here = rows[trace.epoch[rows] == epoch]
        inverse = np.unique(trace.warp[here], return_inverse=True)[1]
        longest = int(np.bincount(inverse, weights=cost[here]).max()) * known.alone
        if chained:
            count = np.bincount(inverse)
            longest += int(count.max()) * (known.latency - known.alone)
        total += max(longest, int(cost[here].sum()) * known.busy) + (0 if chained else known.latency)
    return total
