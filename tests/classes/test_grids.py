"""Kernels for grids of a million blocks and more, at any size, by classes and with every block executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grids import GRIDS, Grid

import banksim
from banksim.runs.outcome import Run
from helpers.both_ways import equal
from helpers.places import H200

KERNELS = list(dict.fromkeys(one.kernel for one in GRIDS))
FEW = {"transpose": 4, "transpose_padded": 4, "product": 4, "reduce": 2, "scan": 2, "stencil": 24, "convolution": 5}
"""Classes that their edges make, at most."""


@pytest.fixture(autouse=True)
def by_classes_however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banksim.runs.by_classes.is_small", lambda launch: False)


@pytest.fixture(scope="module", name="module")
def loaded() -> Any:
    return banksim.load(H200 / "grids.cubin")


def counted(module: Any, one: Grid) -> Run:
    absent = [banksim.absent(size // 4, np.float32) for size in one.memory]
    return banksim.run(module[one.kernel], one.grid, one.block, [*absent, *map(np.uint32, one.numbers)], values=False)


@pytest.mark.parametrize("one", [one for one in GRIDS if one.kernel in FEW], ids=lambda one: one.name)
def test_edges_alone_make_classes(module: Any, one: Grid) -> None:
    """What only global memory sees, whose addresses wrap around where they are masked, makes none."""
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
