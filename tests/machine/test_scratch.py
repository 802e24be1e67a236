"""Memory that tells what was written: the bytes that differ, wherever they lie, and what was given again after that."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.machine import scratch
from banksim.machine.scratch import Scratch

SIZES = st.sampled_from([0, 1, 7, mmap.PAGESIZE - 1, mmap.PAGESIZE, 3 * mmap.PAGESIZE + 5, scratch.PIECE + 13])


@pytest.mark.parametrize("is_mapped", [True, False])
@given(size=SIZES, seed=st.integers(0, 99), places=st.lists(st.integers(0, 2 * scratch.PIECE), max_size=9))
def test_what_was_written_is_told_and_undone(is_mapped: bool, size: int, seed: int, places: list[int]) -> None:
    before = np.random.default_rng(seed).integers(0, 3, size, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        if not is_mapped:
            patch.setattr(scratch, "mapped", lambda given: None)
        memory = Scratch(before)
    assert is_mapped or memory.mapped is None
    for _ in range(2):
        assert np.array_equal(memory.data, before)
        for place in places if size else ():
            memory.data[place % size] = place % 5
        wanted = np.flatnonzero(memory.data != before)
        values = memory.data[wanted].copy()
        found, held = memory.changed()
        assert found.tolist() == wanted.tolist()
        assert held.tolist() == values.tolist()


def test_only_what_was_touched_is_compared() -> None:
    memory = Scratch(np.zeros(64 << 20, np.uint8))
    if memory.mapped is None:
        pytest.skip("this system does not tell which pages were written")
    memory.changed()
    memory.data[[5, 20 << 20, (64 << 20) - 1]] = 1
    assert memory.data[40 << 20] == 0  # read alone
    assert sum(end - start for start, end in memory.written()) == 3 * mmap.PAGESIZE
    assert memory.changed()[0].tolist() == [5, 20 << 20, (64 << 20) - 1]
    assert list(memory.written()) == []
