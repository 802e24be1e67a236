"""Conflicts by arbitration of whole launches, as estimated and as one H200 counted them.

`python tests/benchmarks/bench_conflicts.py` prints both for each launch of tests/helpers/meeting_launches.py, then the
lines of the guide's table: of those of tests/data/timing/later_meetings.cu, recorded when the model was done, of all,
and of cuda_kernels.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

import banksim
from banksim.kernels.cubin import decode
from cuda_kernels import evidence_records
from cuda_kernels.catalogue import entries
from cuda_kernels.predict import own_copy, parameters
from helpers.meeting_launches import FEW, KINDS, Compared, compared, launches, recorded

LATER = "later_meetings"


def line(name: str, found: Sequence[Compared]) -> str:
    none, some = [one for one in found if one.none], [one for one in found if not one.none]
    right = sum(one.estimated <= FEW for one in none)
    missed = sum(one.estimated <= FEW for one in some)
    factors = " | ".join(f"{np.quantile([one.factor for one in some], share):.1f}" for share in (0.5, 0.75, 0.9))
    off = 100 * np.quantile([abs(one.estimated - one.counted) / max(one.transactions, 1) for one in some], (0.5, 0.9))
    total = sum(one.estimated for one in some) / sum(one.counted for one in some)
    return (
        f"| {name} | {right} of {len(none)} | {missed} of {len(some)} | {factors} | {off[0]:.2g} %, {off[1]:.2g} % | "
        f"{total:.2f} |"
    )


def catalogue() -> Iterator[tuple[str, dict[str, Compared]]]:
    """The kernels of cuda_kernels that access shared memory, whose counters are of wavefronts: with ideal ones."""
    evidence = evidence_records.load(evidence_records.EVIDENCE)
    for name, entry in entries().items():
        record = evidence.record(name)
        if record is None or not record.counters:
            continue
        launch = entry.launch()
        given = [part for argument in own_copy(launch) for part in parameters(argument)]
        how = {"dynamic_shared": launch.dynamic_shared, "timing": True}
        run = banksim.run(next(iter(decode(record.cubin).values())), launch.grid, launch.block, given, **how)
        counted = {}
        for kind, op in KINDS.items():
            sites = [site for site in run.conflicts.sites if site.op.startswith(op)]
            ideal = sum(site.ideal or 0 for site in sites)
            counted[kind] = counted[f"{kind}, cold"] = record.counters.get(f"transactions_{op}", ideal) - ideal
        if run.conflicts.sites:
            yield name, compared(run, counted)


def main() -> None:
    rows, found = recorded(), defaultdict(list)
    for one in launches():
        both = compared(one.run(), rows[one.cubin, one.case.name])
        figures = ", ".join(f"{kind} {each.estimated:,} of {each.counted:,.0f}" for kind, each in both.items())
        print(f"{one.case.name:34}{figures}", flush=True)
        for kind, each in both.items():
            found[kind].append((one.cubin, each))
    for kind in KINDS:
        print(line(f"{kind}, recorded later", [each for cubin, each in found[kind] if cubin == LATER]))
        print(line(f"{kind}, all", [each for _, each in found[kind]]), flush=True)
    kernels = dict(catalogue())
    for kind in KINDS:
        print(line(f"{kind}, {len(kernels)} of cuda_kernels", [both[kind] for both in kernels.values()]))


if __name__ == "__main__":
    main()
