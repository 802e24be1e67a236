"""What a launch takes besides its blocks, and when warps go on that wait for its parameters, beside two H200s."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.architectures.latencies import H200
from banksim.timing.whole_grid import estimate
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "around.cubin")
RECORDED = timing("around")
FASTER = 0.155
"""Microseconds by which that GPU's launches take less than those of the catalogue's, whose figure `H200.launch` is."""
WAITS = 600, 810, 1020


def over(kernel: str, blocks: int, threads: int) -> float:
    """Microseconds of a launch besides the cycles that its blocks wait."""
    found = []
    for cycles in WAITS:
        given = [] if kernel == "nothing" else [np.zeros(1 << 20, np.uint32), np.uint32(cycles)]
        run = banksim.run(kernels()[kernel], blocks, threads, given, timing=True)
        assert run.cycles is not None
        one = estimate(run.launch, run.cycles).microseconds
        assert one is not None
        found.append(one - (cycles / H200.clock_mhz if given else 0))
    return float(np.mean(found))


@pytest.mark.parametrize(
    "row",
    [row for row in RECORDED["over"] if row[0] != "of_local" and row[1] in (1, 4, 16, 66, 132, 528)],
    ids=lambda row: f"{row[0]} {row[1]} {row[2]}",
)
def test_what_a_launch_takes_is_the_sum_of_its_parts(row: list[Any]) -> None:
    """Of kernels that do nothing, wait, or access memory, on one multiprocessor to all."""
    kernel, blocks, threads, measured = row
    assert over(kernel, blocks, threads) - FASTER == pytest.approx(measured, abs=0.085)


def test_half_of_these_are_within_40_nanoseconds() -> None:
    chosen = [row for row in RECORDED["over"] if row[0] != "of_local" and row[1] in (1, 132)]
    off = [over(*row[:3]) - FASTER - row[3] for row in chosen]
    assert np.median(np.abs(off)) <= 0.04


@pytest.mark.parametrize("row", RECORDED["warps"], ids=lambda row: " ".join(map(str, row[:4])))
def test_warps_wait_for_lines_of_parameters(row: list[Any]) -> None:
    """Eight lines one after the other, or (common) the two that kernels begin with."""
    kernel, threads, _, blocks, measured = row
    log = np.zeros((blocks, threads // 32, 10), np.uint32)
    given = [log] if kernel == "common" else [log, np.zeros(1, "V3600")[0]]
    banksim.run(kernels()[kernel], blocks, threads, given, timing=True)
    there = np.array(measured)
    found = log[:: 132 if blocks > 1 else 1].astype(np.int64)[..., : there.shape[1]].reshape(there.shape)
    found -= found[0, 0]
    began, *came = np.mean(found - there, axis=0)
    assert abs(began) <= 22
    assert np.abs(came[:2]).max() <= 93
    assert abs(came[-1]) <= (58 if kernel == "common" else 0.185 * there[:, -1].mean())
    if kernel == "common" and threads == 512:  # of a sub-core the youngest goes on first, as there
        for each in (found, there):
            assert np.all(np.diff(each[:, 2].reshape(4, 4), axis=0) < 0) or blocks == 1
