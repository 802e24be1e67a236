"""Memory that takes its contents where it is touched, and tells what was written: the bytes that differ, wherever they
lie, and what was given again after that."""

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.machine.scratch import AT_ONCE, PAGE, Scratch

TELLS = hasattr(os, "memfd_create") and os.access("/proc/self/pagemap", os.R_OK)
"""Whether this system tells which pages were touched."""
TELLING = pytest.mark.skipif(not TELLS, reason="this system does not tell which pages were touched")
PIECE = AT_ONCE * PAGE
SIZES = st.sampled_from([0, 1, 7, PAGE - 1, PAGE, 3 * PAGE + 5, PIECE + 13])


def out_of_files(*given: object, **named: object) -> None:
    raise OSError("too many open files")


READ = os.pread
FAILURES: dict[str, tuple[str, Callable[..., object]]] = {
    "no file": ("open", out_of_files),
    "a short read": ("os.pread", lambda file, length, at: READ(file, length, at)[: length // 2]),
    "nothing read": ("os.pread", lambda file, length, at: b""),
}


def of(before: npt.NDArray[np.uint8]) -> Scratch:
    return Scratch(len(before), lambda start, end: before[start:end])


def mixed(memory: Scratch, places: list[int]) -> int:
    """What reads bytes at places that depend on those before, and writes others: again until all had their contents."""
    while True:
        total = 0
        for place in places if len(memory.data) else ():
            at = (place * 7919 + total) % len(memory.data)
            total = 31 * total + int(memory.data[at])
            memory.data[(at + total) % len(memory.data)] ^= 3
        if memory.complete():
            return total


@pytest.mark.parametrize("tells", [True, False])
@given(size=SIZES, seed=st.integers(0, 99), places=st.lists(st.integers(0, 2 * PIECE), max_size=9))
def test_it_is_as_if_all_contents_were_there(tells: bool, size: int, seed: int, places: list[int]) -> None:
    before = np.random.default_rng(seed).integers(0, 3, size, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        if not tells:
            patch.setattr(Scratch, "touched", out_of_files)
        memory, whole = of(before), of(before)
        assert memory.tells == (tells and TELLS and size > 0)
        whole.fill(np.arange(len(whole.known)))
        assert np.array_equal(whole.data, before)
        for _ in range(2):
            assert mixed(memory, places) == mixed(whole, places)
            wanted = np.flatnonzero(whole.data != before)
            values = whole.data[wanted]
            for one in (memory, whole):
                found, held = one.changed()
                assert found.tolist() == wanted.tolist()
                assert held.tolist() == values.tolist()
            assert np.array_equal(whole.data, before)


@TELLING
@pytest.mark.parametrize("what", FAILURES)
def test_all_contents_are_given_where_the_page_table_cannot_be_read_later(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = np.arange(3 * PIECE + 5, dtype=np.uint64).astype(np.uint8)
    memory = of(before)
    assert memory.tells
    memory.data[[7, PIECE]] ^= 1
    name, failing = FAILURES[what]
    with monkeypatch.context() as patch:
        patch.setattr(f"banksim.machine.scratch.{name}", failing, raising=False)
        assert not memory.complete()
        assert np.array_equal(memory.data, before)
        assert not of(before).tells
        assert memory.complete()


@TELLING
def test_contents_are_made_only_of_what_is_touched() -> None:
    made = []

    def contents(start: int, end: int) -> npt.NDArray[np.uint8]:
        made.append((start, end))
        return np.full(end - start, 7, np.uint8)

    size = (64 << 20) + 5
    memory = Scratch(size, contents)
    memory.data[5] = 1
    assert memory.data[40 << 20] == 0
    assert not memory.complete()
    assert made == [(0, PAGE), (40 << 20, (40 << 20) + PAGE)]
    assert memory.data[[5, 40 << 20]].tolist() == [7, 7]
    memory.data[size - 1] = 1
    assert not memory.complete()
    assert made[2:] == [(64 << 20, size)]
    memory.data[[5, size - 1]] = 1
    assert memory.complete()
    assert [one.tolist() for one in memory.changed()] == [[5, size - 1], [1, 1]]
    assert made[3:] == []
