"""The host's threads that launches run on: kept from launch to launch, as a program may have many thousand."""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from banksim.system.ending import OWN_THREADS

JOINED = 0.02
"""Seconds of a launch after which further workers join it."""

T = TypeVar("T")
Task = Callable[[], None]


@lru_cache(maxsize=1)
def idle(process: int) -> deque[SimpleQueue[Task]]:
    """The threads of this process that have nothing to do: where each takes its next task from."""
    return deque()


def submit(task: Task) -> None:
    """Run a task in a thread that is idle, or in a new one."""
    waiting = idle(os.getpid())
    try:
        own = waiting.pop()
    except IndexError:
        own = SimpleQueue()
        threading.Thread(target=serve, args=(own, waiting), name=OWN_THREADS, daemon=True).start()
    own.put(task)


def serve(own: SimpleQueue[Task], waiting: deque[SimpleQueue[Task]]) -> None:
    while True:
        own.get()()
        waiting.append(own)


def in_threads(
    works: Sequence[Callable[[], T]],
    stop: npt.NDArray[np.uint32],
    tick: Callable[[], object],
    later: Sequence[Callable[[], T]] = (),
) -> list[T]:
    """What each of `works` returns, each run in a thread of its own; and of `later`, which begin if the others have not
    ended after `JOINED` seconds. `tick` is called about ten times a second, and at the end. At a KeyboardInterrupt
    `stop` is set, for which they are to look; what did not get to a thread is run by this one. (An interrupted
    `Thread.join` of CPython 3.11 takes a thread that runs for one that has ended; a queue that wakes nobody does no
    harm.)"""
    wake: SimpleQueue[None] = SimpleQueue()
    answers: dict[int, T | BaseException] = {}

    def task(number: int, work: Callable[[], T]) -> Task:
        first = threading.Lock()

        def run() -> None:
            if not first.acquire(blocking=False):
                return
            try:
                answers[number] = work()
            except BaseException as error:
                answers[number] = error
            wake.put(None)

        return run

    tasks = [task(number, work) for number, work in enumerate(works)]

    def all_ended(seconds: float) -> bool:
        if len(answers) < len(tasks):
            with suppress(Empty):
                wake.get(timeout=seconds)
        return len(answers) == len(tasks)

    try:
        for run in tasks:
            submit(run)
        while not all_ended(JOINED if later else 0.1):
            for work in later:
                tasks.append(task(len(tasks), work))
                submit(tasks[-1])
            later = ()
            tick()
        tick()
    except BaseException as error:
        stop[:] = 1
        for run in tasks:
            run()
        if not isinstance(error, KeyboardInterrupt):
            raise
    finally:
        while not all_ended(0.1):
            pass
    return [returned(answers[number]) for number in range(len(tasks))]


def returned(answer: T | BaseException) -> T:
    if isinstance(answer, BaseException):
        raise answer
    return answer
