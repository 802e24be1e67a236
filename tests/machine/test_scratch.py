"""Memory that tells what was written: the bytes that differ, wherever they lie, and what was given again after that."""

import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.machine import scratch
from banksim.machine.scratch import Scratch

TELLS = hasattr(os, "memfd_create") and os.access("/proc/self/pagemap", os.R_OK)
"""Whether this system tells which pages were written."""
MAPPED = pytest.mark.skipif(not TELLS, reason="this system does not tell which pages were written")
SIZES = st.sampled_from([0, 1, 7, mmap.PAGESIZE - 1, mmap.PAGESIZE, 3 * mmap.PAGESIZE + 5, scratch.PIECE + 13])


@pytest.mark.parametrize("is_mapped", [True, False])
@given(size=SIZES, seed=st.integers(0, 99), places=st.lists(st.integers(0, 2 * scratch.PIECE), max_size=9))
def test_what_was_written_is_told_and_undone(is_mapped: bool, size: int, seed: int, places: list[int]) -> None:
    before = np.random.default_rng(seed).integers(0, 3, size, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        if not is_mapped:
            patch.setattr(scratch, "mapped", lambda given: None)
        memory = Scratch(before)
    assert (memory.mapped is not None) == (is_mapped and TELLS and size > 0)
    for _ in range(2):
        assert np.array_equal(memory.data, before)
        for place in places if size else ():
            memory.data[place % size] = place % 5
        wanted = np.flatnonzero(memory.data != before)
        values = memory.data[wanted].copy()
        found, held = memory.changed()
        assert found.tolist() == wanted.tolist()
        assert held.tolist() == values.tolist()


def out_of_files(*given: object, **named: object) -> None:
    raise OSError("too many open files")


READ = os.pread
FAILURES = {
    "no file": ("open", out_of_files),
    "a short read": ("os.pread", lambda file, length, at: READ(file, length, at)[: length // 2]),
    "nothing read": ("os.pread", lambda file, length, at: b""),
}


@MAPPED
@pytest.mark.parametrize("what", FAILURES)
def test_all_is_compared_where_the_page_table_cannot_be_read_later(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = np.arange(3 * scratch.PIECE + 5, dtype=np.uint64).astype(np.uint8)
    places = [7, scratch.PIECE, 3 * scratch.PIECE + 4]
    memory = Scratch(before)
    assert memory.mapped is not None
    memory.data[places] ^= 1
    name, failing = FAILURES[what]
    with monkeypatch.context() as patch:
        patch.setattr(f"banksim.machine.scratch.{name}", failing, raising=False)
        found, values = memory.changed()
        assert found.tolist() == places
        assert values.tolist() == (before[places] ^ 1).tolist()
        assert Scratch(before).mapped is None
    assert np.array_equal(memory.data, before)


def test_memory_is_copied_where_python_makes_no_file_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    memory = Scratch(np.full(5, 3, np.uint8))
    assert memory.mapped is None
    assert memory.data.tolist() == [3] * 5


@MAPPED
def test_memory_is_copied_where_it_cannot_be_written_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[: len(data) // 2], at))
    before = np.full(scratch.PIECE + 13, 3, np.uint8)
    memory = Scratch(before)
    assert memory.mapped is None
    assert np.array_equal(memory.data, before)


@MAPPED
def test_only_what_was_touched_is_compared() -> None:
    memory = Scratch(np.zeros(64 << 20, np.uint8))
    assert memory.mapped is not None
    memory.changed()
    memory.data[[5, 20 << 20, (64 << 20) - 1]] = 1
    assert memory.data[40 << 20] == 0  # read alone
    assert sum(end - start for start, end in memory.written()) == 3 * mmap.PAGESIZE
    assert memory.changed()[0].tolist() == [5, 20 << 20, (64 << 20) - 1]
    assert list(memory.written()) == []
