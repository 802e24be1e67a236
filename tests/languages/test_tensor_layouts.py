"""Held against tensor-layouts, where it counts as the hardware does, and where the guide tells that it does not."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensor_layouts
import tensor_layouts.analysis

import banksim

GUIDE = Path(__file__).parents[2] / "examples" / "guide" / "layouts.md"
LAYOUTS = 300
SHAPES = ((32,), (8, 4), (4, 8), (16, 2), (2, 16), (4, 2, 4), (2, 4, 4))
"""Of 32 threads."""


def compared(values: int) -> Counter[str]:
    """Random layouts of threads with so many neighbouring words each: on how many both count the same."""
    chance, found = np.random.default_rng(values), Counter[str]()
    for _ in range(LAYOUTS):
        shape = SHAPES[chance.integers(len(SHAPES))]
        strides = tuple(int(one) * values for one in chance.integers(0, 65, len(shape)))
        theirs = tensor_layouts.Layout((shape, values), (strides, 1))
        ways = tensor_layouts.analysis.bank_conflicts(theirs, element_bytes=4)["max_ways"]
        words = banksim.layout(str(theirs)).at(np.arange(32))  # of each thread the first: threads run fastest
        assert words.tolist() == [theirs(thread, 0) for thread in range(32)]
        count = banksim.transactions(4 * words.astype(np.uint32), width=4 * values)
        found["equal" if ways == count else "fewer" if ways < count else "more"] += 1
    return found


@pytest.mark.parametrize("values", [1, 2, 4])
def test_the_guide_tells_where_both_count_the_same(values: int) -> None:
    found = compared(values)
    assert values > 1 or found == {"equal": LAYOUTS}
    row = f"| {4 * values} | {found['equal']} | {found['fewer']} | {found['more']} |"
    assert row in GUIDE.read_text(encoding="utf-8").splitlines()


def test_their_objects_are_layouts() -> None:
    theirs = tensor_layouts.compose(tensor_layouts.Swizzle(3, 0, 3), tensor_layouts.Layout((8, 8), (8, 1)))
    ours = banksim.layout("S<3,0,3> o (8,8):(8,1)")
    assert banksim.layout(theirs).at(range(64)).tolist() == ours.at(range(64)).tolist()
