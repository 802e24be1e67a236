"""Blocks of a cluster, each on a multiprocessor of its own, in simulated time."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cluster_latency as recorder
import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from banksim.report.text.cycles import page
from banksim.runs.programs.kernel_launches import Times
from helpers.places import loaded
from helpers.recordings import arrays, clocked
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


CASES = """
    chain/2/32/1/4/1/1 chain/8/32/3/4/1/1 chain/2/32/1/32/1/1 loads/2/32/1/4/1/1 loads/2/32/1/32/1/1
    loads/2/1024/1/4/1/4 loads/2/128/1/4/2/4 loads/8/128/1/4/8/4 loads_16/2/32/1/16/1/1
    stores/2/128/1/4/1/4 stores/2/128/1/4/2/4 stores_16/8/64/1/16/8/4
    atoms/2/128/1/32/1/4 atoms/2/128/1/4/2/4 atoms/8/64/1/4/8/4 cas_chain/2/256/1/32/1/4 reds/2/128/1/4/1/4
    async_stores/2/32/1/4/1/4 async_stores/2/256/1/32/1/4 barriers/2/32 barriers/16/128
    ping_store/2/32/1/0 ping_arrive/2/32/1/0 ping_copy/2/32/1/16 ping_copy/2/32/1/4096
"""


recorded_kernels = partial(loaded, Path(recorder.__file__).parent / "cluster_latency.cu", "sm_90a")


@pytest.mark.parametrize("case", CASES.split())
def test_kernels_take_what_they_took(case: str) -> None:
    """Within 9 % of an H200's clock; a ring of eight blocks that store within 14 %."""
    wanted = arrays("timing/clusters")[case]
    name, *numbers = case.split("/")
    blocks, threads, *arguments = map(int, numbers)
    time = np.zeros((blocks, threads // 32, 2, len(wanted) + 1), np.uint32)
    given = [time, np.int32(2), *map(np.int32, arguments)]
    kernel = recorded_kernels()[name]
    banksim.run(kernel, blocks, threads, given, cluster=blocks, dynamic_shared=recorder.SHARED, timing=True)
    found = recorder.span(time)
    last = min(len(wanted), 2) - 1
    assert found[last] == pytest.approx(wanted[last], rel=0.14 if case.startswith("stores_16/8") else 0.09)


def test_the_report_says_where_blocks_were_timed() -> None:
    time = np.zeros((4, 1, 2, 3), np.uint32)
    given = [time, *map(np.int32, [2, 0, 4, 1, 1])]
    run = banksim.run(recorded_kernels()["chain"], 4, 32, given, cluster=2, dynamic_shared=recorder.SHARED, timing=True)
    said = run.report(width=160)
    assert "Time of 2 blocks of clusters, each block of one on an SM of its own of sm_90; the other 2" in said
    assert "atomics on other blocks" not in said


def test_what_is_assumed_of_the_ways_between_blocks_is_said() -> None:
    given = [np.zeros((2, 1, 2, 4), np.uint32), *map(np.int32, [2, 1, 32, 1, 1])]
    run = banksim.run(recorded_kernels()["atoms"], 2, 32, given, cluster=2, dynamic_shared=recorder.SHARED, timing=True)
    said = "clusters do not slow each other's ways to other blocks' shared memory"
    assert said in run.report(width=250)
    assert said in page(run)["sentences"][-1]  # type: ignore[index]
    assert run.cycles is not None
    times, longer = Times(), replace(run.cycles, total=10**6, resources={**run.cycles.resources, "other blocks": 0})
    times.add(run.cycles, 1)
    times.add(longer, 2)
    assert times.longest is longer
    assert said in times.assumptions  # of any launch, not only of the longest


def by_places(kind: str, pattern: int, warps: int) -> tuple[int, int]:
    """Cycles of 64 requests of each warp of one block to another's places, simulated and measured."""
    arrays, kernels = clocked("timing/h200_remote")
    number = arrays["kinds"].tolist().index(kind)
    clocks, out = np.zeros((16, 3), np.uint32), np.zeros(1 << 12, np.uint64)
    given = [clocks, out, arrays["words"][pattern]]
    banksim.run(kernels[f"remote{number}"], 2, 32 * warps, given, dynamic_shared=1 << 15, timing=True)
    measured = arrays["cycles"][number, pattern, arrays["warps"].tolist().index(warps)]
    return int(clocks[:warps, 2].max() - clocks[:warps, 0].min()), int(measured)


@pytest.mark.parametrize(
    ("kind", "pattern", "warps", "within"),
    [
        ("add", 1, 1, 0.04), ("add", 4, 4, 0.01), ("add", 12, 16, 0.01), ("add", 9, 4, 0.06), ("red", 1, 16, 0.01),
        ("red", 3, 4, 0.01), ("red", 4, 16, 0.02), ("cas", 3, 1, 0.03), ("cas", 1, 16, 0.02), ("cas", 9, 4, 0.03),
    ],
)  # fmt: skip
def test_atomics_on_another_blocks_memory_take_what_they_took(
    kind: str, pattern: int, warps: int, within: float
) -> None:
    """Lanes that are 4 to 32 bytes apart, and eight at a word."""
    simulated, measured = by_places(kind, pattern, warps)
    assert simulated == pytest.approx(measured, rel=within)
