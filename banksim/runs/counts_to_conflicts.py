"""From what the workers counted to what the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, overload

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
    from banksim.machine.llvm.counts import Counts, Site


@dataclass(frozen=True, eq=False)
class Judged(Sequence[Conflicts]):
    """What requests cost by each rule: `tallies` (sites, rules) of dtype TALLY. The `Conflicts` are made when somebody
    looks at them: a program may have thousands of launches, which are added up before."""

    kernel: Kernel
    sites: tuple[Site, ...]
    tallies: npt.NDArray[np.void]
    rules: tuple[Architecture, ...]

    @cached_property
    def conflicts(self) -> tuple[Conflicts, ...]:
        return tuple(
            Conflicts(rule, sites(self.kernel, self.sites, self.tallies[:, number], rule))
            for number, rule in enumerate(self.rules)
        )

    @overload
    def __getitem__(self, index: int) -> Conflicts: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Conflicts, ...]: ...
    def __getitem__(self, index: int | slice) -> Conflicts | tuple[Conflicts, ...]:
        return self.conflicts[index]

    def __len__(self) -> int:
        return len(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.conflicts == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def sum_of_launches(judged: Sequence[tuple[Judged, int]]) -> Judged:
    """What `merge` makes of the conflicts of launches of the same sites, each of which was made so many times."""
    from banksim.machine.llvm.counts import of_launches

    one, times = judged[0][0], [number for _, number in judged]
    return replace(one, tallies=of_launches([each.tallies for each, _ in judged], times, one.kernel.shared_base))


Figures = tuple[Judged, npt.NDArray[np.int64]]


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
    from banksim.machine.llvm.counts import by_site, merged

    compiled, first = parts[0]
    key, counted = ("figures", id(compiled), *rules), (first.counters.tobytes(), first.tallies.tobytes())
    kept = launch.kept if len(parts) == 1 else None
    if kept is not None and key in kept and kept[key][1] == counted:
        known: Figures = kept[key][2]
        return known
    numbers, tallies = compiled.numbers_of_sites, merged([one.tallies for _, one in parts])
    judged = Judged(launch.kernel, tuple(numbers), by_site(numbers, tallies), tuple(rules))
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
    kernel: Kernel, places: Sequence[Site], tallies: npt.NDArray[np.void], rule: Architecture
) -> tuple[SiteConflicts, ...]:
    """What the requests of each site cost under one rule, where there were any."""
    met = zip(places, tallies, strict=True)
    return tuple(site_conflicts(kernel, *place, tally, rule) for place, tally in met if tally["worst_mask"])


def site_conflicts(kernel: Kernel, pc: int, op: str, width: int, t: np.void, rule: Architecture) -> SiteConflicts:
    low, high, unknown = int(t["low"]), int(t["high"]), int(t["unknown"])
    ideal = int(t["ideal"])
    transactions: Count | None = None if unknown else low if low == high else Range(low, high)
    address = np.asarray(t["worst_address"], np.int64) - kernel.shared_base
    mask = int(t["worst_mask"])
    return SiteConflicts(
        site=kernel.instructions[pc // BYTES].site,
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
