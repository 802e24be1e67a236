"""Tasks on processes of this machine, of which any may die at any time: another takes its place and its task.

Every worker has a thread here that sends it one task after the other through a pipe. Workers share nothing with each
other, nothing listens on a port, and a worker ends when its pipe does, so that none outlives this process.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from banksim.errors import BanksimError

Work = Callable[..., Any]
"""A function of a module: work(shared, *task)."""
ATTEMPTS = 5
"""Workers that one task may lose: one that takes all the memory would lose any number of them."""
LOST = (EOFError, OSError, pickle.UnpicklingError)
"""The errors of writing to a worker that has died, or reading from it."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class TaskResult:
    """What became of a task: its value, or the error that it raised."""

    value: Any = None
    error: Exception | None = None

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def spread(
    work: Work, shared: object, tasks: Sequence[tuple[object, ...]], workers: int, what: str
) -> Iterator[tuple[int, TaskResult]]:
    """The number of each task and what became of it, as they end. `what` is named where workers die again and again."""
    pool = Pool(pickle.dumps((work, shared), pickle.HIGHEST_PROTOCOL), tasks, what)
    threads = [Thread(target=pool.serve, daemon=True) for _ in range(min(workers, len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        for _ in tasks:
            yield pool.done.get()
    finally:
        pool.end()
        for thread in threads:
            if thread.ident is not None:  # it was started
                thread.join()


class Pool:
    """Tasks that are left, what became of the others, and the processes that live."""

    def __init__(self, greeting: bytes, tasks: Sequence[tuple[object, ...]], what: str) -> None:
        self.greeting, self.what = greeting, what
        self.left = iter([*enumerate(tasks)])
        self.done: SimpleQueue[tuple[int, TaskResult]] = SimpleQueue()
        self.living: set[subprocess.Popen[bytes]] = set()
        self.lock, self.ended = Lock(), False

    def serve(self) -> None:
        """Have tasks done by one worker, or by those that follow it, until none is left."""
        worker = Worker(self)
        while (item := self.next()) is not None:
            number, task = item
            try:
                outcome = worker.outcome(task)
            except Exception as error:  # or nobody would wait for the end of this thread
                outcome = TaskResult(error=error)
            self.done.put((number, outcome))
        worker.end()

    def next(self) -> tuple[int, tuple[Any, ...]] | None:
        with self.lock:
            return None if self.ended else next(self.left, None)

    def process(self) -> subprocess.Popen[bytes]:
        """A new process. `BanksimError` when all is over."""
        code = f"import sys; sys.path[:] = {sys.path!r}; from banksim.system.processes import main; main()"
        with self.lock:
            if self.ended:
                raise BanksimError(f"{self.what}: ended")
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if "BANKSIM_TRACEBACK" in os.environ else subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process, which ends the others
            )
            self.living.add(process)
        return process

    def end(self) -> None:
        """No more tasks, no more workers."""
        with self.lock:
            self.ended = True
            for process in self.living:
                process.kill()


class Worker:
    """A process and, if it dies, the next one."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.process: subprocess.Popen[bytes] | None = None

    def outcome(self, task: tuple[object, ...]) -> TaskResult:
        """What becomes of a task, though processes be lost. `BanksimError` if it loses too many."""
        for _ in range(ATTEMPTS):
            try:
                return self.ask(task)
            except LOST:
                self.end()
        raise BanksimError(
            f"{self.pool.what}: {ATTEMPTS} workers in a row were lost at one task: give fewer of them more memory each"
        )

    def ask(self, task: tuple[object, ...]) -> TaskResult:
        greeting = b""
        if self.process is None:
            self.process, greeting = self.pool.process(), self.pool.greeting
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(greeting)
        pickle.dump(task, self.process.stdin)
        self.process.stdin.flush()
        found: TaskResult = pickle.load(self.process.stdout)
        return found

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            with suppress(OSError):  # what was written to it and is still here
                self.process.communicate()
            with self.pool.lock:
                self.pool.living.discard(self.process)
            self.process = None


def main() -> None:
    """A worker: do the tasks that come."""
    tasks, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no result
    work, shared = pickle.load(tasks)
    while True:
        try:
            task = pickle.load(tasks)
        except EOFError:
            return
        try:
            done = pickle.dumps(TaskResult(work(shared, *task)), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            done = packed(error)
        results.write(done)
        results.flush()


def packed(error: Exception) -> bytes:
    """An error for the other process: its text alone if it cannot be sent."""
    try:
        done = pickle.dumps(TaskResult(error=error))
        pickle.loads(done)
        return done
    except Exception:
        return pickle.dumps(TaskResult(error=RuntimeError(f"{type(error).__name__}: {error}")))
