"""Kernels for grids of a million blocks and more, at any size, by classes and with every block executed."""

from typing import Any

import numpy as np
import pytest
from grids import GRIDS, Grid

import banksim
from banksim.runs.outcome import Run
from helpers import recordings
from helpers.both_ways import equal

KERNELS = list(dict.fromkeys(one.kernel for one in GRIDS))
FEW = {"transpose": 4, "transpose_padded": 4, "product": 4, "reduce": 2, "scan": 2, "stencil": 24, "convolution": 5}
"""Classes that their edges make, at most."""
RECORDED = {one["name"]: one for one in recordings.text("grids")["launches"]}
MORE_THREADS = {"convolution 1000001 128000001,13": 16}
"""By how much the counter of thread instructions is above the sum of the source page's rows, which all agree."""


pytestmark = pytest.mark.usefixtures("by_classes")


@pytest.fixture(scope="module", name="module")
def loaded() -> Any:
    return recordings.kernels("grids")


def counted(module: Any, one: Grid) -> Run:
    absent = [banksim.absent(size // 4, np.float32) for size in one.memory]
    return banksim.run(module[one.kernel], one.grid, one.block, [*absent, *map(np.uint32, one.numbers)], values=False)


@pytest.mark.parametrize("one", [one for one in GRIDS if one.kernel in FEW], ids=lambda one: one.name)
def test_edges_alone_make_classes(module: Any, one: Grid) -> None:
    """Addresses of global memory alone make none, though they are masked and so wrap around within the grid."""
    assert 0 < counted(module, one).classes <= FEW[one.kernel]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("grid", "numbers"), [((23, 5), (701, 13, 37)), ((1,), (5, 3, 2)), ((3, 2, 5), (17, 19, 18))])
def test_any_size_is_counted_as_every_block(
    module: Any, kernel: str, grid: tuple[int, ...], numbers: tuple[int, ...]
) -> None:
    like = next(one for one in GRIDS if one.kernel == kernel)

    def run(values: bool) -> Run:
        memory = [np.zeros(1 << 20, np.float32) for _ in like.memory]
        given = [*memory, *map(np.uint32, numbers[: len(like.numbers)])]
        return banksim.run(module[kernel], grid, like.block, given, values=values)

    mine = run(False)
    assert mine.classes, mine.undecided
    equal(mine, run(True))


@pytest.mark.parametrize("one", [one for one in GRIDS if one.name in RECORDED], ids=lambda one: one.name)
def test_a_gpu_counts_the_same(module: Any, one: Grid) -> None:
    """Every row of the profiler's source page, and its counters that hold nothing but this launch."""
    mine, recorded = counted(module, one), RECORDED[one.name]
    assert mine.classes
    executed = {e.instruction.pc: [e.warps, e.threads, e.predicated_on] for e in mine.profile if e.warps}
    assert executed == {offset: counts for offset, *counts in (row[:4] for row in recorded["rows"])}
    passes: dict[int, list[int]] = {}
    for site in mine.conflicts.sites:
        before = passes.get(site.site.offset, [0, 0])
        passes[site.site.offset] = [before[0] + site.transactions, before[1] + site.ideal]
    assert passes == {row[0]: row[4:] for row in recorded["rows"] if len(row) > 4}
    hardware = recorded["hardware"]
    assert mine.instructions == hardware["smsp__inst_executed.sum"]
    more = MORE_THREADS.get(one.name, 0)
    assert mine.thread_instructions + more == hardware["smsp__thread_inst_executed.sum"]


def test_most_of_what_was_recorded_has_more_than_a_million_blocks() -> None:
    assert sum(np.prod(one.grid) > 10**6 for one in GRIDS if one.name in RECORDED) >= 27
