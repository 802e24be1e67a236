"""Kernels of one block of 23, 18, 18, 18 and 12 kinds, written and recorded on one H200 before they were simulated."""

import numpy as np
import pytest

from helpers.recordings import clocked, passes


@pytest.mark.parametrize(
    ("file", "threads", "half", "most"),
    [
        ("kinds", 32, 0.005, 0.07),
        ("kinds", 64, 0.0075, 0.07),
        ("kinds", 128, 0.01, 0.066),
        ("kinds", 256, 0.012, 0.05),
        ("kinds", 512, 0.015, 0.08),
        ("kinds", 1024, 0.025, 0.125),
        ("tasks", 32, 0.006, 0.056),
        ("tasks", 64, 0.008, 0.056),
        ("tasks", 128, 0.01, 0.07),
        ("tasks", 256, 0.012, 0.05),
        ("tasks", 512, 0.015, 0.06),
        ("tasks", 1024, 0.021, 0.055),
        ("crafts", 32, 0.0085, 0.065),
        ("crafts", 64, 0.0085, 0.065),
        ("crafts", 128, 0.009, 0.065),
        ("crafts", 256, 0.019, 0.075),
        ("crafts", 512, 0.032, 0.07),
        ("crafts", 1024, 0.035, 0.13),
        ("habits", 32, 0.01, 0.035),
        ("habits", 64, 0.01, 0.045),
        ("habits", 128, 0.012, 0.045),
        ("habits", 256, 0.015, 0.07),
        ("habits", 512, 0.03, 0.095),
        ("habits", 1024, 0.03, 0.095),
        *(("chores", threads, 0.01, 0.045) for threads in (32, 64, 128, 256)),
        ("chores", 512, 0.015, 0.03),
        ("chores", 1024, 0.026, 0.085),
    ],
)
def test_kinds_of_kernels(file: str, threads: int, half: float, most: float) -> None:
    """Half of them are off by no more than the one part, all by no more than the other."""
    file = f"timing/h200_{file}"
    errors = [
        abs(simulated / measured - 1)
        for name in clocked(file)[0]["names"].tolist()
        for _, simulated, measured in passes(file, name, [threads])
    ]
    assert np.median(errors) <= half
    assert max(errors) <= most
