"""Points of a cube and their neighbours, by blocks of several shapes; whole sectors of lines: micro-kernels beside what
one H200 took for them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "tiles.cubin")


recorded = partial(timing, "tiles")


def microseconds(kernel: str, grid: Any, block: Any, *given: Any) -> float:
    return microseconds_of(banksim.run(kernels()[kernel], grid, block, given, timing=True))


def of_cube(kernel: str, block: tuple[int, int, int], edge: int) -> tuple[float, float]:
    """Microseconds, simulated and measured."""
    (row,) = (row for row in recorded()["cubes"] if row[:5] == [kernel, *block, edge])
    arrays = [np.zeros(edge**3, np.float32) for _ in range(2)]
    return microseconds(kernel, tuple(-(-edge // n) for n in block), block, *arrays, np.int32(edge)), row[5]


SHAPES = (8, 8, 8), (32, 8, 1), (32, 4, 4)


@pytest.mark.parametrize("block", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", ["center", "center_y", "center_z", "around", "fill", "stencil"])
def test_cubes_that_the_l2_has(kernel: str, block: tuple[int, int, int]) -> None:
    simulated, measured = of_cube(kernel, block, 128)
    assert simulated == pytest.approx(measured, rel=0.12)


@pytest.mark.parametrize("edge", [192, 256])
@pytest.mark.parametrize("block", SHAPES[1:], ids=str)
@pytest.mark.parametrize("kernel", ["copy_z", "stencil"])
def test_neighbours_wait_for_a_line_that_is_on_its_way_from_dram(
    kernel: str, block: tuple[int, int, int], edge: int
) -> None:
    """Stencils were 13 to 31 % too short while each load waited by the share of them that comes from DRAM."""
    simulated, measured = of_cube(kernel, block, edge)
    assert simulated == pytest.approx(measured, rel=0.13)


@pytest.mark.xfail(
    strict=True, reason="29 and 40 % too short: DRAM takes longer for lines that are stored tile by tile"
)
@pytest.mark.parametrize("block", [(8, 8, 8), (32, 4, 4)], ids=str)
def test_what_is_stored_tile_by_tile(block: tuple[int, int, int]) -> None:
    simulated, measured = of_cube("fill", block, 256)
    assert simulated == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize(("blocks", "sectors", "rounds", "measured"), recorded()["quads"])
def test_whole_sectors_of_lines(blocks: int, sectors: int, rounds: int, measured: float) -> None:
    words = 1 << 22
    given = [np.zeros(words, np.float32), *map(np.uint32, (rounds, sectors, words // 4 - 1))]
    assert microseconds("quads", blocks, 256, *given) == pytest.approx(measured, rel=0.12 if sectors == 2 else 0.06)
