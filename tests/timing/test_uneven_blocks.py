"""Launches whose blocks or warps take unequally long, against an H200."""

from functools import partial

import numpy as np
import pytest

import banksim
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing
from helpers.uneven_cases import Uneven, uneven_cases

kernels = partial(loaded, DATA / "timing" / "uneven.cubin")
MICROSECONDS = timing("uneven")["microseconds"]
CASES = list(uneven_cases())


def error(case: Uneven) -> float:
    given = np.zeros(case.rounds.size * 32, np.int32), case.rounds.ravel(), np.float32(-0.5), np.float32(0.1)
    run = banksim.run(kernels()["plain"], len(case.rounds), case.threads, list(given), timing=True)
    return microseconds_of(run) / MICROSECONDS[case.name] - 1


@pytest.mark.parametrize(
    ("kind", "half", "most"),
    [("equal 10", 0.04, 0.055), ("equal 40", 0.031, 0.045), ("equal 128", 0.032, 0.041),
     ("tenth", 0.08, 0.16), ("blocks", 0.04, 0.13), ("random", 0.05, 0.12), ("rising", 0.037, 0.08)],
)  # fmt: skip
def test_warps_with_unequal_rounds(kind: str, half: float, most: float) -> None:
    """Half of them are off by no more than the one part, all by no more than the other."""
    errors = np.abs([error(case) for case in CASES if case.kind == kind])
    assert np.median(errors) <= half
    assert max(errors) <= most
