"""Fences of a block beside requests to shared memory that are under way: the clocks of one H200 (fences.cu)."""

from functools import cache

import numpy as np
import pytest

import banksim
from helpers.recordings import clocked

BEGIN, END = 0, 9
"""Among the clocks of a warp."""
LOADS, STORES = range(2)
KERNELS = "loads_4", "stores_4"
WARPS, PASSES, READINGS = 16, 3, 10
ALL_FOUR = 0xF00
"""A warp of each sub-core."""
SHARED = pytest.mark.xfail(
    strict=True,
    reason="a quarter too early and more where two warps of its sub-core issue requests: their turns differ",
)
LATE = pytest.mark.xfail(strict=True, reason="29 % too late: why is not known")


@cache
def clocks(case: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Of a case, simulated and measured: when the last warp has issued its requests, or has their results, and of the
    first warp with fences how long after its begin each of these was over."""
    kernel, stream, fences, stride, count, kind = case
    arrays, kernels = clocked("timing/h200_fences")
    time, far = np.zeros((WARPS, PASSES, READINGS), np.uint32), np.zeros(1 << 18, np.uint32)
    numbers = map(np.uint32, (stream, fences, stride, count, kind))
    banksim.run(kernels[KERNELS[kernel]], 1, 32 * WARPS, [*numbers, time, far], dynamic_shared=64 << 10, timing=True)
    warm = time[:, -1].astype(np.int64)
    busy = [w for w in range(WARPS) if (stream | fences) >> w & 1]
    ends = [warm[w, END] for w in busy if stream >> w & 1]
    own = warm[next(w for w in busy if fences >> w & 1)]
    simulated = [max(ends) - warm[:, BEGIN].min(), *(own[1 : 1 + count] - own[BEGIN])]
    measured = arrays["clocks"][arrays["cases"].tolist().index(list(case))]
    return [int(n) for n in simulated], measured[: 1 + count].tolist()


@pytest.mark.parametrize(
    ("kernel", "stream"),
    [
        (LOADS, 0x2),
        (LOADS, 0x6),
        pytest.param(LOADS, 0xF, marks=LATE),
        pytest.param(LOADS, 0xFF, marks=SHARED),
        (STORES, 0x2),
        (STORES, 0x6),
        (STORES, 0xF),
        pytest.param(STORES, 0xFF, marks=SHARED),
    ],
)
def test_a_fence_waits_in_its_queue_behind_what_other_warps_ask_for(kernel: int, stream: int) -> None:
    """Of 32 transactions each: of a warp whose sub-core is busy it was over up to 1,200 cycles too early."""
    simulated, measured = clocks((kernel, stream, 0x100, 128, 1, 0))
    assert simulated[1] == pytest.approx(measured[1], rel=0.05, abs=30)


@pytest.mark.parametrize(("stream", "fences"), [(0x6, 0x100), (0x6, ALL_FOUR), (0xE, 0x100)])
def test_what_issues_behind_a_second_fence_waits_until_all_before_has_left_the_queues(stream: int, fences: int) -> None:
    """Two and three warps that store took 10 to 20 % too short."""
    simulated, measured = clocks((STORES, stream, fences, 128, 2, 0))
    assert simulated[0] == pytest.approx(measured[0], rel=0.025)


@pytest.mark.parametrize("stream", [0x6, 0xE])
def test_fences_in_a_row_let_each_other_go_on_one_after_the_other(stream: int) -> None:
    """The eighth was over six times too early."""
    simulated, measured = clocks((STORES, stream, 0x100, 128, 8, 0))
    assert simulated[8] == pytest.approx(measured[8], rel=0.1)


def test_without_fences_the_path_is_as_long_as_there() -> None:
    for kernel in (LOADS, STORES):
        for stream, within in ((0x2, 0.006), (0xE, 0.03), (0xFF, 0.0125)):
            simulated, measured = clocks((kernel, stream, 0x100, 128, 0, 0))
            assert simulated[0] == pytest.approx(measured[0], rel=within)
