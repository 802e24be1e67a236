"""From what the workers counted to what the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine.launch import Launch
from banksim.machine.races.findings import first_hint
from banksim.requests.counts import Count, Range
from banksim.runs.outcome import Executed, Run


def run_of(launch: Launch, rules: Sequence[Architecture], parts: Sequence[tuple[Any, Any]]) -> Run:
    """What a launch did, from what its parts counted: (compiled code, its `Counts`), of the same sites."""
    from banksim.machine.llvm.counts import merged

    counts = [counted for _, counted in parts]
    places, shape = parts[0][0].sites, counts[0].tallies.shape
    tallies = merged([one.tallies.reshape(-1) for one in counts]).reshape(shape)
    blocks = sum(one.blocks for one in counts)
    hint = first_hint(one.hint for one in counts)
    return Run(
        kernel=launch.kernel,
        launch=launch,
        judged=tuple(
            Conflicts(rule, sites(launch, places, tallies[:, number], rule)) for number, rule in enumerate(rules)
        ),
        profile=added([profile(launch.kernel, compiled, counted.counters) for compiled, counted in parts]),
        blocks=blocks,
        seconds=sum(one.seconds for one in counts),
        partial=blocks < launch.blocks,
        hints=(hint,) if hint else (),
    )


def added(profiles: Sequence[tuple[Executed, ...]]) -> tuple[Executed, ...]:
    """The sums of profiles of the same code."""
    if len(profiles) == 1:
        return profiles[0]
    counts = ("warps", "threads", "predicated_on")
    return tuple(
        Executed(rows[0].instruction, *(sum(getattr(e, name) for e in rows) for name in counts))
        for rows in zip(*profiles, strict=True)
    )


def profile(kernel: Kernel, compiled: Any, counters: npt.NDArray[np.uint64]) -> tuple[Executed, ...]:
    """Counts of each instruction, from those of its basic block."""
    executed = {}
    guarded = {pc: int(counters[2 * len(compiled.spans) + n]) for n, pc in enumerate(compiled.guarded)}
    for n, (start, end) in enumerate(compiled.spans):
        warps, threads = int(counters[2 * n]), int(counters[2 * n + 1])
        for pc in range(start, end, BYTES):
            executed[pc] = (warps, threads, guarded.get(pc, threads))
    return tuple(Executed(i, *executed.get(i.pc, (0, 0, 0))) for i in kernel.listing)


def sites(
    launch: Launch, places: Sequence[tuple[int, str, int]], tallies: npt.NDArray[np.void], rule: Architecture
) -> tuple[SiteConflicts, ...]:
    """What each instruction that made requests cost under one rule, in the order of the code. One that makes several is
    one site for those of a kind."""
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
