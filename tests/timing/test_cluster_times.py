"""Blocks of a cluster, each on a multiprocessor of its own, in simulated time."""

from functools import partial
from pathlib import Path
from typing import Any

import cluster_latency as recorder
import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from helpers.places import loaded
from helpers.recordings import arrays
from machine.test_clusters import kernels

NUMBERS = np.arange(64 * 24, dtype=np.int32)
LAUNCHES: dict[str, tuple[Any, int, list[Any], dict[str, Any]]] = {
    "passed_on": ((6, 4), 64, [np.zeros(64 * 24, np.int32), NUMBERS], {}),
    "both": (2, 32, [np.zeros(64, np.int32)], {}),
    "histogram": (
        16,
        32,
        [np.zeros(256, np.uint32), NUMBERS.view(np.uint32) % 256, 500],
        {"cluster": 8, "dynamic_shared": 128},
    ),
    "early": (4, 64, [np.zeros(256, np.int32)], {"cluster": 2}),
    "signalled": (2, 32, [np.zeros(64, np.int32)], {}),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_results_and_counts_are_those_without_time(name: str) -> None:
    grid, block, given, how = LAUNCHES[name]
    plain, timed = [np.copy(one) if isinstance(one, np.ndarray) else one for one in given], list(given)
    without = banksim.run(kernels()[name], grid, block, plain, **how)
    run = banksim.run(kernels()[name], grid, block, timed, timing=True, **how)
    np.testing.assert_array_equal(timed[0], plain[0])
    assert run.instructions == without.instructions
    assert [(s.op, s.requests, s.transactions) for s in run.conflicts.sites] == [
        (s.op, s.requests, s.transactions) for s in without.conflicts.sites
    ]
    assert run.cycles is not None
    assert run.cycles.total > 0


def test_a_barrier_that_not_all_reach_ends_the_launch() -> None:
    with pytest.raises(Fault, match="a barrier that not all can reach"):
        banksim.run(kernels()["stuck"], 2, 32, [np.zeros(8, np.int32)], cluster=2, timing=True)


CASES = [
    "chain/2/32/1/4/1/1", "chain/8/32/3/4/1/1", "chain/2/32/1/32/1/1", "loads/2/32/1/4/1/1", "loads/2/32/1/32/1/1",
    "loads/2/1024/1/4/1/4", "loads_16/2/32/1/16/1/1", "async_stores/2/32/1/4/1/4", "barriers/2/32", "barriers/16/128",
    "ping_store/2/32/1/0", "ping_arrive/2/32/1/0", "ping_copy/2/32/1/16", "ping_copy/2/32/1/4096",
]  # fmt: skip


recorded_kernels = partial(loaded, Path(recorder.__file__).parent / "cluster_latency.cu", "sm_90a")


@pytest.mark.parametrize("case", CASES)
def test_kernels_take_what_they_took(case: str) -> None:
    """Within 9 % of an H200's clock."""
    wanted = arrays("timing/clusters")[case]
    name, *numbers = case.split("/")
    blocks, threads, *arguments = map(int, numbers)
    time = np.zeros((blocks, threads // 32, 2, len(wanted) + 1), np.uint32)
    given = [time, np.int32(2), *map(np.int32, arguments)]
    kernel = recorded_kernels()[name]
    banksim.run(kernel, blocks, threads, given, cluster=blocks, dynamic_shared=recorder.SHARED, timing=True)
    found = recorder.span(time)
    last = min(len(wanted), 2) - 1
    assert found[last] == pytest.approx(wanted[last], rel=0.09)


def test_the_report_says_where_blocks_were_timed() -> None:
    time = np.zeros((4, 1, 2, 3), np.uint32)
    given = [time, *map(np.int32, [2, 0, 4, 1, 1])]
    run = banksim.run(recorded_kernels()["chain"], 4, 32, given, cluster=2, dynamic_shared=recorder.SHARED, timing=True)
    said = run.report(width=160)
    assert "Time of 2 blocks of clusters, each block of one on an SM of its own of sm_90; the other 2" in said
    assert "atomics on other blocks" not in said


def test_the_time_of_atomics_on_other_blocks_memory_is_said_to_be_assumed() -> None:
    given = [np.zeros((2, 1, 2, 4), np.uint32), *map(np.int32, [2, 1, 32, 1, 1])]
    run = banksim.run(recorded_kernels()["atoms"], 2, 32, given, cluster=2, dynamic_shared=recorder.SHARED, timing=True)
    assert "atomics on other blocks' shared memory hold the way there as loads do: too short" in run.report(width=250)
