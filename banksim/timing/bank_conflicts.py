"""Conflicts of a launch's requests to shared memory as the hardware counts them: those that follow from the addresses,
and those by arbitration, which are estimated from the blocks that were timed."""

from collections.abc import Sequence

import numpy as np

from banksim.architectures.time_figures import Figures
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Counts
from banksim.requests.kinds import OP_CODES
from banksim.timing.asynchronous import COPIES_IN, COPIES_OUT
from banksim.timing.data_stage import (
    COULD,
    COULD_ABOVE,
    MEETS,
    MET,
    NOTHING,
    PLACED,
    SERVED,
    STORES,
    in_lower_half,
)
from banksim.timing.multiprocessor import table_of
from banksim.timing.simulation import Simulated
from banksim.timing.spent_cycles import BankConflicts

KINDS = "loads", "stores", "atomics"
"""In the order of data_stage.LOADS …"""


def untold(launch: Launch, known: Figures, constant: bool, elsewhere: bool) -> str:
    """Why the arbitration of a launch is not known; empty: it is estimated. `constant`: global memory answers after a
    constant; `elsewhere`: blocks depend on those of other multiprocessors."""
    if known.assumption:
        return "it was measured on sm_90 alone"
    if launch.cluster_blocks > 1:
        return "nobody has measured it in clusters"
    if np.isin(table_of(launch.kernel)["behind"], (COPIES_IN, COPIES_OUT)).any():
        return "nobody has measured it beside bulk copies"
    if constant:
        return "with --global-latency the L1 is not simulated"
    return "blocks wait for those of other SMs, or take work that others take too" if elsewhere else ""


def bank_conflicts(
    launch: Launch, known: Figures, outcome: Simulated, parts: Sequence[tuple[Compiled, Counts]], told: bool
) -> dict[str, BankConflicts]:
    """By kind of request. `parts`: what all blocks counted; `told`: whether arbitration is."""
    met = arbitration(launch, known, outcome) if told else [None] * NOTHING
    return {kind: BankConflicts(*both) for kind, *both in zip(KINDS, addresses(parts), met, strict=True)}


def addresses(parts: Sequence[tuple[Compiled, Counts]]) -> list[int | None]:
    """Conflicts that follow from the addresses, by kind."""
    found: list[int | None] = [0] * NOTHING
    for compiled, counts in parts:
        for (_, op, _), (tally, *_) in zip(compiled.sites, counts.tallies, strict=True):
            kind = MEETS[OP_CODES[op]]
            if kind != NOTHING:
                sofar = found[kind]
                found[kind] = None if sofar is None or tally["unknown"] else sofar + int(tally["low"] - tally["ideal"])
    return found


def arbitration(launch: Launch, known: Figures, outcome: Simulated) -> list[int]:
    """Conflicts by arbitration, by kind. Blocks that were not timed meet as much as those that were, as far as the
    lines of the L1 lie in the same half as shared memory by then. Each warp of a block that follows another one meets a
    load of the other resident blocks in the cycle in which it begins, if there is one: as often as there is in the
    mean, since blocks do not keep in step."""
    active = min(launch.blocks, known.multiprocessors)
    each, timed, (stage,) = launch.blocks / active, len(outcome.blocks), outcome.stages
    if not timed:
        return [0] * NOTHING
    placed, others = int(stage.lines[PLACED]), max(each - timed, 0)
    more = placed * others / timed
    lower = in_lower_half(stage, placed + more) - in_lower_half(stage, placed)
    begin = launch.warps * max(each - outcome.held, 0) * (outcome.held - 1) / outcome.held
    found = []
    for kind, met in enumerate(stage.met.tolist()):
        later = (met[COULD] * lower + met[COULD_ABOVE] * (more - lower)) / max(placed, 1)
        begun = 0 if kind == STORES else begin * min(met[SERVED] / outcome.cycles, 1)
        found.append(round(active * ((met[MET] / 1000 + later) * min(each / timed, 1) + begun)))
    return found
