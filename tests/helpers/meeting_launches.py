"""Launches that access shared memory, of which the conflicts on one H200 are recorded (h200_meetings.json), and what is
predicted of them."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import banksim
from banksim.runs.outcome import Run
from helpers.later_meeting_cases import later_meeting_cases
from helpers.launch_cases import IN_PLACE, cases
from helpers.meeting_cases import Meeting, meeting_cases
from helpers.more_launch_cases import more_cases
from helpers.places import DATA

MOST = 100 << 20
"""Bytes of arrays of a launch of the others."""
FEW = 8
"""Conflicts that count as none."""
KINDS = {"loads": "ld", "stores": "st"}


class Recorded(NamedTuple):
    """A launch, and its cubin."""

    cubin: str
    case: Meeting

    def kernel(self) -> Any:
        return banksim.load(DATA / "timing" / f"{self.cubin}.cubin")[self.case.kernel]

    def run(self) -> Run:
        case, given = self.case, self.case.arguments
        if IN_PLACE.get(case.kernel) == 1:  # its second launch was recorded
            banksim.run(self.kernel(), case.grid, case.block, given)
        how = {"dynamic_shared": case.dynamic or None, "timing": True}
        return banksim.run(self.kernel(), case.grid, case.block, given, **how)


def own_launches() -> Iterator[Recorded]:
    """Those of kernels that were written for it."""
    for cubin, found in {"meetings": meeting_cases(), "later_meetings": later_meeting_cases()}.items():
        yield from (Recorded(cubin, case) for case in found)


def launches() -> Iterator[Recorded]:
    """All."""
    for cubin, found in {"launches": cases(), "more_launches": more_cases()}.items():
        kernels = banksim.load(DATA / "timing" / f"{cubin}.cubin")
        for case in found:
            kernel = kernels[case.kernel]
            arrays = sum(one.nbytes for one in case.given if isinstance(one, np.ndarray))
            if kernel.shared_bytes > kernel.shared_base and arrays <= MOST:
                yield Recorded(cubin, Meeting(case.name, case.kernel, case.grid, case.block, tuple(case.given), 0))
    yield from own_launches()


def recorded() -> dict[tuple[str, str], dict[str, int]]:
    """By cubin and name of a launch: the counters of its second run, warm and with cold caches, and KB of the
    multiprocessor's shared memory."""
    record = json.loads((DATA / "timing" / "h200_meetings.json").read_text())
    return {(row[0], row[1]): dict(zip(record["columns"][2:], row[2:], strict=True)) for row in record["launches"]}


class Compared(NamedTuple):
    """Conflicts of loads or stores by arbitration, as estimated and as counted, and all transactions of the kind."""

    estimated: int
    counted: float
    transactions: int

    @property
    def none(self) -> bool:
        return self.counted <= FEW

    @property
    def factor(self) -> float:
        """By how much one is more than the other."""
        one, other = self.estimated + FEW, self.counted + FEW
        return max(one / other, other / one)


def compared(run: Run, row: dict[str, int]) -> dict[str, Compared]:
    """By kind; what was counted is the mean of both ways, less the conflicts of the addresses."""
    assert run.cycles is not None
    found = {}
    for kind, op in KINDS.items():
        ours = run.cycles.bank_conflicts[kind]
        assert ours.address is not None
        assert ours.arbitration is not None
        whole = sum(int(site.transactions) for site in run.conflicts.sites if site.op.startswith(op))
        found[kind] = Compared(ours.arbitration, (row[kind] + row[f"{kind}, cold"]) / 2 - ours.address, whole)
    return found
