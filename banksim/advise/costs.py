"""What compiled code costs: the one figure by which two layouts of a kernel are compared."""

from __future__ import annotations

from dataclasses import dataclass

from banksim.conflicts import Conflicts, ends
from banksim.errors import UnknownCountError
from banksim.run_kernel import Run

ISSUED = 4
"""Warp instructions that an SM issues in a cycle, one in each of its sub-cores (sm_50 on, NVIDIA's tuning guides)."""
SERVED = 1
"""Transactions that its shared memory serves in a cycle: measured on an H200, 1.00 to 1.08 cycles each."""


@dataclass(frozen=True)
class Cost:
    """Of one run by one architecture; `transactions`, of a range the most, and `ideal`.

    `time`: SM cycles in which the SM would do the launch's instructions and transactions if neither waited for
    anything; what two layouts of one kernel differ by, no prediction of how long it takes.
    """

    transactions: int
    ideal: int
    time: float


def costs(done: Run) -> tuple[Cost, ...]:
    """By each architecture of a run. `UnknownCountError` where a count is unknown."""
    return tuple(cost(done.execution(judged), judged) for judged in done.judged)


def cost(done: Run, judged: Conflicts) -> Cost:
    if judged.transactions is None or judged.ideal is None:
        site = next(site for site in judged.sites if site.transactions is None)
        raise UnknownCountError(judged.arch.why_unknown(site.op, site.width))
    transactions = ends(judged.transactions).high
    return Cost(transactions, judged.ideal, done.instructions / ISSUED + transactions / SERVED)
