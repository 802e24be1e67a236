"""What compiled code costs: the one figure by which two layouts of a kernel are compared."""

from __future__ import annotations

from dataclasses import dataclass

from banksim.architectures.code_layout import runs_as
from banksim.architectures.latencies import FIGURES
from banksim.banks.conflicts import Conflicts
from banksim.errors import UnknownCountError
from banksim.requests.counts import ends
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import estimate, whole

ISSUED = 4
"""Warp instructions that an SM issues in a cycle, one in each of its sub-cores (sm_50 on, NVIDIA's tuning guides)."""
SERVED = 1
"""Transactions that its shared memory serves in a cycle: measured on an H200, 1.00 to 1.08 cycles each."""


@dataclass(frozen=True)
class Cost:
    """The cost of one run by one architecture: its `transactions` (of a range the most) and their `ideal`.

    `time`: the cycles that an SM needs to issue the launch's instructions and to serve its transactions if neither
    ever waits. It compares two layouts of one kernel, and predicts no duration. `cycles` do: those of the whole launch,
    estimated from the simulated blocks; None where no time was simulated. `microseconds`: the same with the launch's
    start and end; None, too, where most of it would rest on assumed latencies.
    """

    transactions: int
    ideal: int
    time: float
    cycles: int | None = None
    microseconds: float | None = None

    def of(self, before: Cost) -> float:
        """This cost over the one before: by the simulated cycles if both have them, else by `time`."""
        if self.cycles is not None and before.cycles is not None:
            return self.cycles / before.cycles
        return self.time / before.time


def costs(done: Run) -> tuple[Cost, ...]:
    """The cost of a run by each of its architectures. `UnknownCountError` where a count is unknown."""
    return tuple(cost(done.execution(judged), judged) for judged in done.judged)


def cost(done: Run, judged: Conflicts) -> Cost:
    if judged.transactions is None or judged.ideal is None:
        site = next(site for site in judged.sites if site.transactions is None)
        raise UnknownCountError(judged.arch.why_unknown(site.op, site.width))
    transactions = ends(judged.transactions).high
    time = done.instructions / ISSUED + transactions / SERVED
    if done.cycles is None or not runs_as(judged.arch.name, done.kernel.arch):
        return Cost(transactions, judged.ideal, time)
    launch = estimate(done.launch, done.cycles)
    cycles = whole(done.launch, done.cycles, launch.together)
    return Cost(transactions, judged.ideal, time, cycles, launch.microseconds)


def can_be_timed(done: Run) -> bool:
    """Whether time can be simulated for the machine whose code ran, and is one of those to judge by."""
    return done.kernel.arch in FIGURES and any(runs_as(one.arch.name, done.kernel.arch) for one in done.judged)
