"""Threads of the host end in order, whenever an interrupt comes."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from banksim.machine.llvm import host_threads
from banksim.machine.llvm.host_threads import Task, in_threads
from helpers.fixtures import Patch


@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_that_got_to_no_thread_keeps_nobody_waiting(
    sent: int, before: bool, error: type[BaseException], monkeypatch: Patch
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


def in_another_thread(function: Callable[[], object]) -> None:
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            function()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    if failed:
        raise failed[0]


def test_a_thread_that_no_signal_interrupts_runs_a_single_work_itself() -> None:
    ticks = list[int]()

    def launch() -> None:
        for _ in range(3):
            stop = np.zeros(1, np.uint32)
            ran = in_threads([threading.current_thread], stop, lambda: ticks.append(1))
            assert ran == [threading.current_thread()]
            with pytest.raises(ZeroDivisionError):
                in_threads([lambda: 1 // 0], stop, lambda: None)

    in_another_thread(launch)
    assert not ticks, "it ends at once"


def test_others_join_what_such_a_thread_runs_for_long(monkeypatch: Patch) -> None:
    monkeypatch.setattr(host_threads, "JOINED", 0.001)
    joined = threading.Event()

    def launch() -> None:
        with pytest.raises(ZeroDivisionError):
            in_threads(
                [lambda: joined.wait(10)], np.zeros(1, np.uint32), lambda: None, [lambda: joined.set() or 1 // 0]
            )
        joined.clear()
        answers = in_threads([lambda: joined.wait(10)], np.zeros(1, np.uint32), lambda: None, [joined.set])
        assert answers == [True, None]

    in_another_thread(launch)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_such_a_thread_runs_can_be_interrupted(error: type[BaseException], monkeypatch: Patch) -> None:
    """`tick` raises the interrupt, which another thread calls meanwhile."""
    monkeypatch.setattr(host_threads, "JOINED", 0.001)
    stop = np.zeros(1, np.uint32)
    seen = list[bool]()

    def work() -> int:
        pause = threading.Event()
        while not stop[0]:
            pause.wait(0.001)
        seen.append(True)
        return 7

    def tick() -> None:
        raise error

    def launch() -> None:
        if error is KeyboardInterrupt:
            assert in_threads([work], stop, tick) == [7]
        else:
            with pytest.raises(error):
                in_threads([work], stop, tick)

    in_another_thread(launch)
    assert seen
