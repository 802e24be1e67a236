"""A worker that is kept runs the blocks of the next launch as one that is made for it would."""

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from banksim.machine.launch import Launch
from banksim.machine.llvm import workers
from banksim.machine.llvm.counts import merged
from banksim.machine.state import TALLY, aligned
from banksim.runs import run
from helpers.recorded_launches import ENDING, launched

KERNELS = ("memory.", "textbook.reduce", "textbook.scan", "textbook.race")


def test_launches_by_kept_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded launches, those of one kernel one after the other, with other arguments, each twice."""
    prepared, made = run.launched, []
    kept: dict[Any, Any] | None = None

    def with_kept(*call: Any) -> Launch:
        return dataclasses.replace(prepared(*call), kept=kept)

    class Counted(workers.Worker):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            made.append(self)

    monkeypatch.setattr(run, "launched", with_kept)
    monkeypatch.setattr(workers, "Worker", Counted)
    names = [name for name in ENDING if name.startswith(KERNELS)]
    fresh = [launched(name, workers=1) for name in names]
    kept = {}
    for (one, arrays), name in zip(fresh, names, strict=True):
        for _ in range(2):
            made.clear()
            other, others = launched(name, workers=1)
            assert (one.judged, one.hints, one.blocks) == (other.judged, other.hints, other.blocks)
            assert (one.counts == other.counts).all()
            for array, same in zip(arrays, others, strict=True):
                np.testing.assert_array_equal(array, same)
        assert not made, "the second is run by the worker of the first"


def test_short_launches_take_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first launch of a worker is run piece by piece, as others may join it; the next ones whole if they are short.
    What tells launches from each other is no longer than what a launch writes to constant memory."""
    prepared, calls, launches = run.launched, [], []
    kept: dict[Any, Any] = {}
    execute = workers.Worker.run

    def with_kept(*call: Any) -> Launch:
        launches.append(dataclasses.replace(prepared(*call), kept=kept))
        return launches[-1]

    def counted(worker: workers.Worker, *words: Any) -> int:
        calls.append(words)
        return execute(worker, *words)

    monkeypatch.setattr(run, "launched", with_kept)
    monkeypatch.setattr(workers.Worker, "run", counted)
    monkeypatch.setattr(workers, "SHORT", math.inf)
    launched("textbook.matmul<16, 0>", workers=1)
    first = len(calls)
    launched("textbook.matmul<16, 0>", workers=1)
    assert first > 1
    assert len(calls) == first + 1
    one, other = launches
    assert one.key == other.key
    assert len(pickle.dumps(one.key[1:])) < 4096


def test_equal_tallies_are_equal_in_every_byte() -> None:
    """By their bytes launches of a program are found to have counted the same; records have bytes between fields."""
    tallies = aligned(TALLY, 3)
    tallies["requests"], tallies["worst_block"] = 7, 2
    dirty = [np.full(tallies.nbytes, 0xA5, np.uint8) for _ in range(64)]
    del dirty  # what NumPy is given next
    assert merged([tallies]).tobytes() == tallies.view(np.uint8).tobytes()


@pytest.mark.parametrize(("short", "wanted"), [(math.inf, [2, 1, 1]), (0, [2, 2, 2])])
def test_short_launches_of_many_threads_have_one_worker(
    short: float, wanted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its last launch a kernel is known to take less time than waking a second worker does."""
    prepared, in_threads, used = run.launched, workers.in_threads, []
    kept: dict[Any, Any] = {}

    def counted(works: Any, *words: Any) -> Any:
        used.append(len(works))
        return in_threads(works, *words)

    monkeypatch.setattr(run, "launched", lambda *call: dataclasses.replace(prepared(*call), kept=kept))
    monkeypatch.setattr(workers, "in_threads", counted)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(workers, "SMALL", 1)
    monkeypatch.setattr(workers, "SHORT", short)
    results = [launched("textbook.matmul<16, 0>") for _ in range(3)]
    assert used == wanted
    assert all((one.counts == results[0][0].counts).all() for one, _ in results)
