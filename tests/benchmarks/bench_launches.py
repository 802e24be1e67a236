"""Estimates of whole launches beside the times that an H200 took for them, back to back, and with cold caches.

`python tests/benchmarks/bench_launches.py` prints both for each kernel of cuda_kernels, then the line of the guide
and how many pairs of launches of one kind are ranked right; then the same for the launches of
tests/helpers/launch_cases.py, more_launch_cases.py and other_launch_cases.py; then for all of these with cold caches.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

import banksim
from banksim.architectures.latencies import H200
from banksim.kernels.cubin import decode
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import estimate
from cuda_kernels import evidence_records
from cuda_kernels.catalogue import entries
from cuda_kernels.predict import own_copy, parameters
from helpers.daily_launch_cases import daily_cases
from helpers.launch_cases import Case, cases, timed
from helpers.more_launch_cases import more_cases
from helpers.other_launch_cases import other_cases
from helpers.places import DATA

DIFFERS = 0.03
"""By how much of their time two launches must differ on the hardware, to be ranked."""
LONGEST = 400_000_000
"""Warp instructions of a launch, at most."""
EVENT = H200.event.value / 1000
"""Microseconds: launches with cold caches were timed together with an event."""


class Measured(NamedTuple):
    """A launch, the microseconds that it took, and what runs it."""

    family: str
    name: str
    microseconds: float
    run: Callable[[], Run]


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "timing" / f"h200_{name}.json").read_text())
    return found


def catalogue(cold: bool = False) -> Iterator[Measured]:
    evidence, behind_others = evidence_records.load(evidence_records.EVIDENCE), recorded("cold")["catalogue"]
    for name, entry in entries().items():
        record = evidence.record(name)
        if record is None or record.microseconds is None:
            continue
        launch = entry.launch()
        kernel = next(iter(decode(record.cubin).values()))
        given = [part for argument in own_copy(launch) for part in parameters(argument)]
        how = {"dynamic_shared": launch.dynamic_shared, "timing": True, "max_instructions": LONGEST, "cold": cold}
        run = partial(banksim.run, kernel, launch.grid, launch.block, given, **how)
        took = behind_others[name] - EVENT if cold else record.microseconds.median
        yield Measured(entry.family, name, took, run)


def others(name: str, cases: Iterator[Case], cold: bool = False) -> Iterator[Measured]:
    took = recorded("cold")[f"{name}.cu"] if cold else recorded(name)["microseconds"]
    kernels = banksim.load(DATA / "timing" / f"{name}.cubin")
    for case in cases:
        run = partial(timed, case, kernels[case.kernel], max_instructions=LONGEST, cold=cold)
        yield Measured(case.family, case.name, took[case.name] - EVENT * cold, run)


def compare(launches: Iterator[Measured]) -> None:
    errors, none = [], 0
    kinds = defaultdict(list)
    for one in launches:
        run = one.run()
        assert run.cycles is not None
        found, measured = estimate(run.launch, run.cycles), one.microseconds
        if found.microseconds is None:
            none += 1
            print(f"{one.name:32} no estimate: {found.assumed:.0%} assumed, {measured:8.2f} µs measured", flush=True)
            continue
        kinds[one.family].append((found.microseconds, measured))
        errors.append(found.microseconds / measured - 1)
        print(
            f"{one.name:32} {found.microseconds:8.2f} µs, {measured:8.2f} µs measured, {errors[-1]:+5.0%}, "
            f"{found.assumed:.0%} assumed",
            flush=True,
        )
    sizes = 100 * np.abs(errors)
    figures = [f"{np.quantile(sizes, share):.1f}%" for share in (0.5, 0.9, 1)]
    print(f"\n| {len(sizes)} launches | {' | '.join(figures)} |\n{none} launches have no estimate")
    pairs = [
        (here < other_here) == (there < other_there)
        for times in kinds.values()
        for (here, there), (other_here, other_there) in combinations(times, 2)
        if abs(there / other_there - 1) > DIFFERS
    ]
    print(f"{sum(pairs):,} of {len(pairs):,} pairs are ranked right\n")


if __name__ == "__main__":
    for cold in (False, True):
        compare(catalogue(cold))
        compare(others("launches", cases(), cold))
        compare(others("more_launches", more_cases(), cold))
        compare(others("other_launches", other_cases(), cold))
        compare(others("daily_launches", daily_cases(), cold))
