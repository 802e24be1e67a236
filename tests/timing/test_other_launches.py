"""Launches of 37 and 28 kinds, written and recorded on one H200 before they were simulated, back to back and with cold
caches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from banksim.architectures.latencies import H200
from helpers.daily_launch_cases import daily_cases
from helpers.launch_cases import Case, microseconds_of, timed
from helpers.other_launch_cases import other_cases
from helpers.places import DATA, loaded
from helpers.recordings import timing

CASES = {"other_launches": other_cases, "daily_launches": daily_cases}


def errors(file: str, cases: Iterator[Case], measured: dict[str, float], **how: Any) -> list[float]:
    """By how much the times of launches are off what was measured, as parts of it."""
    found = []
    for case in cases:
        run = timed(case, loaded(DATA / "timing" / f"{file}.cubin")[case.kernel], **how)
        found.append(abs(microseconds_of(run) / measured[case.name] - 1))
    return found


@pytest.mark.parametrize(
    ("file", "family", "half", "most"),
    [
        ("other_launches", "streams", 0.085, 0.21), ("other_launches", "sums", 0.085, 0.26),
        ("other_launches", "scans", 0.09, 0.125), ("other_launches", "sorts", 0.04, 0.06),
        ("other_launches", "sparse", 0.1, 0.2), ("other_launches", "graphs", 0.03, 0.05),
        ("other_launches", "tables", 0.12, 0.271), ("other_launches", "stencils", 0.04, 0.09),
        ("other_launches", "pictures", 0.075, 0.25), ("other_launches", "products", 0.06, 0.17),
        ("other_launches", "bodies", 0.04, 0.05), ("other_launches", "chances", 0.09, 0.16),
        ("other_launches", "texts", 0.11, 0.22),
        ("daily_launches", "streams", 0.07, 0.125), ("daily_launches", "sums", 0.06, 0.1),
        ("daily_launches", "scans", 0.07, 0.125), ("daily_launches", "products", 0.06, 0.09),
        ("daily_launches", "transposes", 0.05, 0.1), ("daily_launches", "stencils", 0.085, 0.105),
        ("daily_launches", "pictures", 0.06, 0.15), ("daily_launches", "tables", 0.06, 0.08),
        ("daily_launches", "points", 0.08, 0.12),
    ],
)  # fmt: skip
def test_kinds_of_launches(file: str, family: str, half: float, most: float) -> None:
    """Half of them are off by no more than the one part, all by no more than the other."""
    cases = (case for case in CASES[file]() if case.family == family)
    found = errors(file, cases, timing(file)["microseconds"])
    assert np.median(found) <= half
    assert max(found) <= most


@pytest.mark.parametrize(
    ("file", "half", "nine_of_ten", "most"),
    [("other_launches", 0.075, 0.18, 0.41), ("daily_launches", 0.07, 0.15, 0.25)],
)
def test_launches_with_cold_caches(file: str, half: float, nine_of_ten: float, most: float) -> None:
    """The smaller of each two."""
    event = H200.event.value / 1000
    took = {name: microseconds - event for name, microseconds in timing("cold")[f"{file}.cu"].items()}
    found = errors(file, iter([*CASES[file]()][::2]), took, cold=True)
    assert np.median(found) <= half
    assert np.quantile(found, 0.9) <= nine_of_ten
    assert max(found) <= most
