"""Kernels of one block of 23 kinds, which were written and recorded on one H200 before they were simulated."""

import numpy as np
import pytest

from helpers.recordings import clocked, passes


@pytest.mark.parametrize(
    ("threads", "half", "most"),
    [
        (32, 0.009, 0.07),
        (64, 0.011, 0.07),
        (128, 0.017, 0.07),
        (256, 0.014, 0.055),
        (512, 0.024, 0.085),
        (1024, 0.034, 0.09),
    ],
)
def test_kinds_of_kernels(threads: int, half: float, most: float) -> None:
    """Half of them are off by no more than the one part, all by no more than the other."""
    file = "timing/h200_kinds"
    errors = [
        abs(simulated / measured - 1)
        for name in clocked(file)[0]["names"].tolist()
        for _, simulated, measured in passes(file, name, [threads])
    ]
    assert np.median(errors) <= half
    assert max(errors) <= most
