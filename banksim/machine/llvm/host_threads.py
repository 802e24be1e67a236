"""The host's threads that launches run on: kept from launch to launch, as a program may have many thousand."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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


@dataclass(eq=False)
class Lasting:
    """A task to start once work that began at `began` has lasted for `JOINED` seconds; `submitted`: it was started."""

    began: float
    task: Task
    submitted: bool = False


class Watcher:
    """Looks, in a thread of its own, for what lasts. It sleeps where nothing begins."""

    def __init__(self) -> None:
        self.running: list[Lasting] = []
        self.lock = threading.Lock()
        self.awake = threading.Event()
        self.begun = 0
        threading.Thread(target=self.look, name=OWN_THREADS, daemon=True).start()

    @contextmanager
    def of(self, task: Task) -> Iterator[Lasting]:
        """Within, something lasts: after `JOINED` seconds a thread begins the task."""
        one = Lasting(time.monotonic(), task)
        with self.lock:
            self.running.append(one)
            self.begun += 1
        if not self.awake.is_set():
            self.awake.set()
        try:
            yield one
        finally:
            with self.lock:
                self.running.remove(one)

    def look(self) -> None:
        while True:
            seen = self.begun
            time.sleep(JOINED)
            with self.lock:
                for one in self.running:
                    if not one.submitted and time.monotonic() - one.began >= JOINED:
                        with suppress(RuntimeError):  # no thread can be started: it goes on as it is
                            submit(one.task)
                            one.submitted = True
            if not self.running and seen == self.begun:
                self.awake.clear()
                if not self.running:
                    self.awake.wait()


@lru_cache(maxsize=1)
def watcher(process: int) -> Watcher:
    return Watcher()


def in_threads(
    works: Sequence[Callable[[], T]],
    stop: npt.NDArray[np.uint32],
    tick: Callable[[], object],
    later: Sequence[Callable[[], T]] = (),
) -> list[T]:
    """What each of `works` returns, each run in a thread of its own; and of `later`, which begin if the others have not
    ended after `JOINED` seconds. `tick` is called about ten times a second, and at the end, unless that comes at once.
    At a KeyboardInterrupt `stop` is set, for which they are to look.

    A single work is run by this thread itself where no signal interrupts it: handing it to another takes longer than
    most launches of programs do."""
    if len(works) > 1 or threading.current_thread() is threading.main_thread():
        return supervised(works, stop, tick, later)
    ended, others = SimpleQueue[T](), SimpleQueue[list[T] | BaseException]()

    def supervise() -> None:
        try:
            others.put(supervised([ended.get], stop, tick, later)[1:])
        except BaseException as error:
            others.put(error)

    lasting, answer = None, None
    try:
        with watcher(os.getpid()).of(supervise) as lasting:
            answer = works[0]()
    finally:
        ended.put(answer)  # type: ignore[arg-type]
        more = others.get() if lasting and lasting.submitted else []
    return [answer, *returned(more)]


def supervised(
    works: Sequence[Callable[[], T]],
    stop: npt.NDArray[np.uint32],
    tick: Callable[[], object],
    later: Sequence[Callable[[], T]] = (),
) -> list[T]:
    """`in_threads`, in which this thread does nothing but wait. What did not get to a thread is run by this one. (An
    interrupted `Thread.join` of CPython 3.11 takes a thread that runs for one that has ended; a queue that wakes nobody
    does no harm.)"""
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
