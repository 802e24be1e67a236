"""Kernels of one block of 23, 18, 18, 18 and 12 kinds, written and recorded on one H200 before they were simulated."""

import numpy as np
import pytest

from helpers.recordings import clocked, passes


@pytest.mark.parametrize(
    ("file", "threads", "half", "most"),
    [
        ("kinds", 32, 0.003, 0.029),
        ("kinds", 64, 0.0045, 0.029),
        ("kinds", 128, 0.007, 0.028),
        ("kinds", 256, 0.011, 0.051),
        ("kinds", 512, 0.013, 0.079),
        ("kinds", 1024, 0.0225, 0.122),
        ("tasks", 32, 0.0065, 0.034),
        ("tasks", 64, 0.007, 0.025),
        ("tasks", 128, 0.01, 0.041),
        ("tasks", 256, 0.0095, 0.046),
        ("tasks", 512, 0.015, 0.055),
        ("tasks", 1024, 0.016, 0.052),
        ("crafts", 32, 0.0075, 0.025),
        ("crafts", 64, 0.0065, 0.024),
        ("crafts", 128, 0.008, 0.024),
        ("crafts", 256, 0.0115, 0.043),
        ("crafts", 512, 0.014, 0.049),
        ("crafts", 1024, 0.018, 0.126),
        ("habits", 32, 0.0055, 0.031),
        ("habits", 64, 0.005, 0.029),
        ("habits", 128, 0.008, 0.031),
        ("habits", 256, 0.0075, 0.048),
        ("habits", 512, 0.013, 0.048),
        ("habits", 1024, 0.0245, 0.08),
        ("chores", 32, 0.0015, 0.042),
        ("chores", 64, 0.002, 0.033),
        ("chores", 128, 0.005, 0.037),
        ("chores", 256, 0.007, 0.029),
        ("chores", 512, 0.013, 0.025),
        ("chores", 1024, 0.0245, 0.067),
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
