"""A call in a process of its own, for compilers that may end their whole process or write to its standard error.

The process is a fork, so that what is called needs no import: it may be a function of a notebook.
"""

import faulthandler
import os
import pickle
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What a call returned, which may be nothing, or the error that it raised, or the signal that ended it, and what
    was written to standard error."""

    value: Result | None = None
    error: Exception | None = None
    ended: str | None = None
    said: str = ""


def apart(call: Callable[[], Result]) -> Outcome[Result]:
    """Call it in a fork, or here where there is none. What it returns or raises goes through `pickle`."""
    if not hasattr(os, "fork"):
        return Outcome(call())
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        status = waited_for(forked(call, answer, said))
        answer.seek(0)
        said.seek(0)
        text = said.read().decode(errors="replace")
        if status == 0:
            value, error = pickle.load(answer)
            return Outcome(value, error, None, text)
    return Outcome(ended=signal.Signals(-status).name if status < 0 else f"status {status}", said=text)


def forked(call: Callable[[], Result], answer: BinaryIO, said: BinaryIO) -> int:
    """The number of the process that calls it."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, as there are threads: the fork needs none
        number = os.fork()
    if number:
        return number
    status = 1
    try:
        os.dup2(said.fileno(), 2)
        sys.stderr = os.fdopen(os.dup(2), "w", errors="backslashreplace")
        faulthandler.disable()
        try:
            found: tuple[object, Exception | None] = call(), None
        except Exception as error:
            found = None, error
        pickle.dump(found, answer)
        answer.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        status = 0
    finally:
        os._exit(status)


def waited_for(number: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    except BaseException:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        raise
