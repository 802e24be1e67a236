"""From what the workers counted to what the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine.doubts import add
from banksim.machine.launch import Launch
from banksim.machine.races.findings import first_hint
from banksim.requests.counts import Count, Range
from banksim.runs.outcome import Run

if TYPE_CHECKING:
    from banksim.machine.llvm.compile import Compiled
    from banksim.machine.llvm.counts import Counts

Figures = tuple[tuple[Conflicts, ...], npt.NDArray[np.int64]]


def run_of(launch: Launch, rules: Sequence[Architecture], parts: Sequence[tuple[Compiled, Counts]]) -> Run:
    """What a launch did, from what its parts counted: (compiled code, its `Counts`), of the same sites."""
    counts = [counted for _, counted in parts]
    blocks = sum(one.blocks for one in counts)
    hint = first_hint(one.hint for one in counts)
    for one in counts:
        add(launch.doubts, [*one.doubts.items()])
    judged, executed = figures(launch, rules, parts)
    return Run(
        kernel=launch.kernel,
        launch=launch,
        judged=judged,
        counts=executed,
        blocks=blocks,
        seconds=sum(one.seconds for one in counts),
        partial=blocks < launch.blocks,
        hints=(hint,) if hint else (),
    )


def figures(launch: Launch, rules: Sequence[Architecture], parts: Sequence[tuple[Compiled, Counts]]) -> Figures:
    """`judged` and `counts` of a `Run`. Launches of a program often count the same as the one before of their kernel:
    then they are the same objects."""
    from banksim.machine.llvm.counts import merged

    compiled, first = parts[0]
    key, counted = ("figures", id(compiled), *rules), (first.counters.tobytes(), first.tallies.tobytes())
    kept = launch.kept if len(parts) == 1 else None
    if kept is not None and key in kept and kept[key][1] == counted:
        known: Figures = kept[key][2]
        return known
    tallies = merged([one.tallies.reshape(-1) for _, one in parts]).reshape(first.tallies.shape)
    judged = tuple(
        Conflicts(rule, sites(launch, compiled.sites, tallies[:, number], rule)) for number, rule in enumerate(rules)
    )
    executed = np.sum([by_instruction(launch.kernel, part, counts.counters) for part, counts in parts], axis=0)
    if kept is not None:
        kept[key] = compiled, counted, (judged, executed)
    return judged, executed


def by_instruction(kernel: Kernel, compiled: Compiled, counters: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The counts of each instruction: by warps, by threads, by threads whose guard held."""
    counts = np.zeros((len(kernel.listing), 3), np.int64)
    reached = np.append(counters, 0)[compiled.places[: len(counts)]]
    counts[: len(reached)] = reached
    return counts


def sites(
    launch: Launch, places: Sequence[tuple[int, str, int]], tallies: npt.NDArray[np.void], rule: Architecture
) -> tuple[SiteConflicts, ...]:
    """What each instruction that made requests cost under one rule, in the order of the code. One that makes requests
    of several kinds is one site for each kind."""
    from banksim.machine.llvm.counts import merged

    alike: dict[tuple[int, str, int], list[npt.NDArray[np.void]]] = {}
    for number, place in sorted(enumerate(places), key=lambda pair: pair[1][0]):
        if tallies[number]["worst_mask"]:
            alike.setdefault(place, []).append(tallies[number : number + 1])
    return tuple(site_conflicts(launch, *place, merged(found)[0], rule) for place, found in alike.items())


def site_conflicts(launch: Launch, pc: int, op: str, width: int, t: np.void, rule: Architecture) -> SiteConflicts:
    low, high, unknown = int(t["low"]), int(t["high"]), int(t["unknown"])
    ideal = int(t["ideal"])
    transactions: Count | None = None if unknown else low if low == high else Range(low, high)
    address = np.asarray(t["worst_address"], np.int64) - launch.kernel.shared_base
    mask = int(t["worst_mask"])
    return SiteConflicts(
        site=launch.kernel.instructions[pc // BYTES].site,
        op=op,
        width=width,
        requests=int(t["requests"]),
        transactions=transactions,
        ideal=None if unknown else ideal,
        degree=None if unknown else int(t["degree"]),
        worst=Request(
            op=op,
            width=width,
            mask=mask,
            address=tuple(max(int(a), 0) * (mask >> lane & 1) for lane, a in enumerate(address)),
            block=int(t["worst_block"]),
            warp=int(t["worst_warp"]),
            excess=0 if unknown else int(t["worst_excess"]),
        ),
        status="unknown" if unknown else rule.status(op, width),
    )
