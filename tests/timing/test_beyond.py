"""Words that tiles store to columns: micro-kernels beside what one H200 took for them."""

from functools import partial

import numpy as np
import pytest

import banksim
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "beyond.cubin")
recorded = partial(timing, "beyond")


def both(kernel: str, numbers: list[int]) -> tuple[float, float]:
    """Microseconds, simulated and measured."""
    row = next(row for row in recorded()["rows"] if row[0] == kernel and row[5] == numbers)
    _, grid, block, out, given, _, measured, _ = row
    arrays = [np.zeros(out, np.float32), np.zeros(given, np.float32)]
    launch = [*arrays, *map(np.uint32, numbers)]
    run = banksim.run(kernels()[kernel], tuple(grid), tuple(block), launch, timing=True)
    return microseconds_of(run), measured


@pytest.mark.parametrize("kernel", ["to_columns", "store_columns"])
@pytest.mark.parametrize("edge", [512, 1024, 1440, 1792, 2048, 2240, 2432])
def test_words_of_a_column_are_stored_to_sectors_one_after_the_other(kernel: str, edge: int) -> None:
    """The warps of a block store the eight words of each sector, and each but the first takes longer: these were up to
    16 % too short. Lines 8 KB apart (2,048) meet in fewer slices of the L2."""
    simulated, measured = both(kernel, [edge, edge])
    assert simulated == pytest.approx(measured, rel=0.09 if edge == 2048 else 0.05)
