"""What each warp of a launch executes, as its workers note it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from banksim.machine.llvm import workers
from banksim.machine.llvm.counts import Counts
from banksim.timing.issue_table import BARRIER
from banksim.timing.multiprocessor import table_of
from helpers.recorded_launches import ENDING, launched

NAMES = [name for name in ENDING if name.startswith(("textbook.", "divergence.", "memory."))]


@pytest.mark.parametrize("name", NAMES)
def test_work_of_warps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as much as the simulation issues of each warp that is timed, and in sum what the counters say."""
    noted: list[tuple[Any, Counts, np.ndarray]] = []

    def noting(execute: Callable[..., Counts], launch: Any, compiled: Any, *how: Any, **options: Any) -> Counts:
        work = np.zeros((launch.blocks, launch.warps), np.int64)
        noted.append((compiled, execute(launch, compiled, *how, executed=work, **options), work))
        return noted[-1][1]

    timed, _ = launched(name, timing=True)
    monkeypatch.setattr(workers, "execute", partial(noting, workers.execute))
    launched(name)
    for compiled, counts, work in noted:
        assert work.sum() == compiled.warp_instructions(counts.counters)
    ((_, _, work),) = noted
    assert timed.cycles is not None
    alike = not (table_of(timed.launch.kernel)["kind"] == BARRIER).any()
    for block in timed.cycles.blocks:
        done = work[block.number]
        assert tuple(done.tolist()) == block.executed if alike else done.sum() == sum(block.executed)
