"""The time of what a warp starts and does not wait for: copies that form groups or that mbarriers count, and products
of groups of warps."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

import banksim
from helpers.places import KERNELS


@cache
def kernel(name: str) -> Any:
    return banksim.load(KERNELS / "asynchronous.cu", "sm_90a")[name]


def clocks(name: str, threads: int, *given: Any, dynamic_shared: int = 0) -> tuple[np.ndarray, Any]:
    """What a kernel of one block reads, and its simulated cycles."""
    out = np.zeros(4, np.uint32)
    run = banksim.run(kernel(name), 1, threads, [out, *given], dynamic_shared=dynamic_shared, timing=True)
    assert run.cycles is not None
    return out.astype(np.int64), run.cycles


def test_a_warp_waits_for_its_copies() -> None:
    out, cycles = clocks("groups", 32, np.zeros(256, np.float32))
    committed, first, second = out[:3]
    assert 200 < first - committed < 800
    assert 0 < second - first < 100
    assert cycles.spent.memory > 200


def test_a_warp_waits_until_another_arrives() -> None:
    out, cycles = clocks("late", 64, 3000)
    assert abs(int(out[1] - out[3])) < 60
    assert out[1] - out[0] > 3000
    assert cycles.spent.barrier > 2500


def test_bulk_copies_take_the_longer_the_larger_they_are() -> None:
    rows = []
    for size in (128, 4096, 32768):
        out, cycles = clocks("bulk", 32, np.zeros(32768, np.uint8), size, 0, dynamic_shared=32768)
        rows.append((out[1] - out[0], out[3] - out[2]))
        assert cycles.spent.barrier > 0.8 * rows[-1][0]
    for smaller, larger in itertools.pairwise(rows):
        assert smaller[0] < larger[0]
        assert smaller[1] < larger[1]
    assert rows[0][0] > 300


def test_a_phase_that_is_polled_is_over_no_sooner() -> None:
    waited, polled = (clocks("bulk", 32, np.zeros(4096, np.uint8), 4096, n, dynamic_shared=4096)[0] for n in (0, 1))
    assert abs(int((waited[1] - waited[0]) - (polled[1] - polled[0]))) < 60
