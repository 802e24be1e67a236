"""Global memory under load: micro-kernels beside what one H200 took for them (tests/data/timing/load.cu)."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "load.cubin")
EVENT = 1.31
"""Microseconds: launches with cold caches were timed together with an event."""


def rows(kernel: str, *, cold: bool) -> list[list[Any]]:
    return [row for row in timing("load")["rows"] if row[0] == kernel and (row[7] is not None or not cold)]


def simulated(row: list[Any], *, cold: bool) -> float:
    kernel, grid, block, out, given, numbers, _, _ = row
    arrays = [np.zeros(out, np.float32), np.zeros(given, np.float32)]
    numbers = map(np.uint32, numbers + [0] * (6 - len(numbers)))
    launch = [*arrays, *numbers]
    return microseconds_of(banksim.run(kernels()[kernel], tuple(grid), tuple(block), launch, timing=True, cold=cold))


@pytest.mark.parametrize("kernel", ["near_1_1", "near_3_1"])
@pytest.mark.parametrize("words", [2048, 2816])
def test_with_cold_caches_what_is_stored_last_does_not_leave_for_dram(kernel: str, words: int) -> None:
    """Of 60 MB that are copied little has left when the launch ends, and what the L2 had needs no writing: these were
    up to 23 % too long (and are up to 11 % too short since blocks begin as soon as warps have left room)."""
    for row in rows(kernel, cold=True):
        if row[5][2] == words:
            assert simulated(row, cold=True) == pytest.approx(row[7] - EVENT, rel=0.123), row


@pytest.mark.parametrize("words", [2048, 2816])
def test_with_cold_caches_all_rows_of_a_picture_are_new(words: int) -> None:
    """Each word with its four neighbours, by blocks of 16 x 16 and wider."""
    for row in rows("near_5_1", cold=True):
        if row[5][2] == words:
            assert simulated(row, cold=True) == pytest.approx(row[7] - EVENT, rel=0.075), row
