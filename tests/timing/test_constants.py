"""Constant memory that a launch reads for the first time, against an H200."""

import numpy as np
import pytest

import banksim
from helpers.places import DATA, loaded
from helpers.recordings import timing

AGAIN = timing("constants")["again"]
TABLES = [name for name in AGAIN if name.startswith("of_table")]
FIRST = 0
"""It waits for more than its constant."""


@pytest.mark.parametrize("name", TABLES)
def test_words_some_way_apart(name: str) -> None:
    """Each step takes as long as there, within 10 cycles, or 26 where it comes from the L2; the first within 70."""
    kernel, apart = name.split()
    log = np.zeros(65, np.uint32)
    given = [log, np.int32(apart), np.zeros(1, "V3600")[0]]
    banksim.run(loaded(DATA / "timing" / "constants.cubin")[kernel], 1, 32, given, timing=True)
    steps = np.diff(log.astype(np.int64))
    off = np.abs(steps - AGAIN[name])
    assert off[FIRST] <= 70
    assert (off[1:] <= np.where(steps[1:] > 200, 26, 10)).sum() >= 61  # a word or two are lost again there
    assert abs(steps[1:].sum() / sum(AGAIN[name][1:]) - 1) < 0.04
