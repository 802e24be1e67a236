"""Launches of 37 kinds, written and recorded on one H200 before they were simulated, back to back and with cold
caches."""

import json
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from banksim.architectures.latencies import H200
from banksim.timing.whole_grid import estimate
from helpers.launch_cases import Case, timed
from helpers.other_launch_cases import other_cases
from helpers.places import DATA, loaded

kernels = partial(loaded, DATA / "timing" / "other_launches.cubin")


@cache
def recorded(file: str, what: str) -> dict[str, float]:
    found: dict[str, float] = json.loads((DATA / "timing" / f"h200_{file}.json").read_text())[what]
    return found


def error(case: Case, measured: float, **how: Any) -> float:
    run = timed(case, kernels()[case.kernel], **how)
    assert run.cycles is not None
    found = estimate(run.launch, run.cycles).microseconds
    assert found is not None
    return abs(found / measured - 1)


@pytest.mark.parametrize(
    ("family", "half", "most"),
    [
        ("streams", 0.085, 0.21), ("sums", 0.085, 0.46), ("scans", 0.09, 0.12), ("sorts", 0.04, 0.06),
        ("sparse", 0.26, 0.5), ("graphs", 0.03, 0.05), ("tables", 0.12, 0.26), ("stencils", 0.04, 0.09),
        ("pictures", 0.075, 0.34), ("products", 0.06, 0.17), ("bodies", 0.04, 0.05), ("chances", 0.09, 0.16),
        ("texts", 0.11, 0.22),
    ],
)  # fmt: skip
def test_kinds_of_launches(family: str, half: float, most: float) -> None:
    """Half of them are off by no more than the one part, all by no more than the other."""
    took = recorded("other_launches", "microseconds")
    errors = [error(case, took[case.name]) for case in other_cases() if case.family == family]
    assert np.median(errors) <= half
    assert max(errors) <= most


def test_launches_with_cold_caches() -> None:
    """The smaller of each two."""
    took, event = recorded("cold", "other_launches.cu"), H200.event.value / 1000
    errors = [error(case, took[case.name] - event, cold=True) for case in list(other_cases())[::2]]
    assert np.median(errors) <= 0.075
    assert np.quantile(errors, 0.9) <= 0.18
    assert max(errors) <= 0.41
