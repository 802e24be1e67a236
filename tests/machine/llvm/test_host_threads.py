"""Threads of the host end in order, whenever an interrupt comes."""

import numpy as np
import pytest

from banksim.machine.llvm import host_threads
from banksim.machine.llvm.host_threads import Task, in_threads


@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_that_got_to_no_thread_keeps_nobody_waiting(
    sent: int, before: bool, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt, or that no thread can be started, comes before a task is sent off or behind it."""
    submit, calls = host_threads.submit, []

    def interrupted(task: Task) -> None:
        calls.append(task)
        if len(calls) == sent + 1 and before:
            raise error
        submit(task)
        if len(calls) == sent + 1:
            raise error

    monkeypatch.setattr(host_threads, "submit", interrupted)
    stop, ran = np.zeros(1, np.uint32), list[int]()

    def work(number: int) -> int:
        ran.append(number)
        return number

    works = [lambda n=n: work(n) for n in range(3)]  # type: ignore[misc]
    if error is KeyboardInterrupt:
        assert in_threads(works, stop, lambda: None) == [0, 1, 2]
    else:
        with pytest.raises(error):
            in_threads(works, stop, lambda: None)
    assert stop[0] == 1
    assert sorted(ran) == [0, 1, 2]
