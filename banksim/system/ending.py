"""How a command ends: its exit status, one line for an error, and signals that end it as Ctrl-C does."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TypeVar

from banksim.errors import BanksimError
from banksim.system.visible import open_streams, visible

ERROR = 2
"""The exit status of wrong use and of an error."""
BY_SIGNAL = 128
"""Shells report a process that a signal ended by this plus the signal's number as exit status; so do our commands."""
CLOSED_PIPE = BY_SIGNAL + 13
FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""Errors that name no file when standard output fails: every other file is written by `banksim.system.writing`."""
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that end a command, which then reports what it has done so far."""
AGAIN = 0.02
"""Seconds after which a lost interrupt is sent again."""

OWN_THREADS = "banksim"
"""What the names of threads begin with that wait for work until the process ends, and no program waits for."""

received = 0
"""The signal that this process was told to end by; 0: none."""
over = False
"""Whether the command has ended, and a signal has nothing more to end."""
lost = False
"""Whether an interrupt was raised where nothing can be raised, and has not come again. No lock is around it: a handler
that waits for what it has interrupted waits for ever."""
senders: list[threading.Thread] = []
"""The threads that send a lost interrupt again."""
beside: list[threading.Thread] = []
"""The threads in which native code works that cannot be interrupted."""

T = TypeVar("T")


def interrupted() -> int:
    """The exit status of what was interrupted: by Ctrl-C if no signal is known."""
    return BY_SIGNAL + (received or int(signal.SIGINT))


def run(program: str, command: Callable[[], int], *, last: bool = False) -> int:
    """The exit status of a command; every error is one line on standard error.

    `last`: the process ends with it, and ignores signals that come while it does.
    """
    open_streams()
    known: list[int] = []
    if last:
        atexit.register(leave_if_interrupted, known)
    status = told_status(program, command, last)
    if last and any(thread.is_alive() for thread in beside):
        leave(status)
    known.append(status)
    return status


def leave_if_interrupted(known: list[int]) -> None:
    """End the process with its status, after all else that it does at exit. CPython itself ends one by SIGINT where an
    interrupt came out of a text that was executed, as `dataclass` does, even if it was caught."""
    if received and known:
        leave(known[0])


def told_status(program: str, command: Callable[[], int], last: bool) -> int:
    def complain(message: str) -> int:
        with suppress(OSError):  # the terminal may be gone
            print(f"{program}: {visible(message)}", file=sys.stderr, flush=True)
        return ERROR

    with signals(last):
        try:
            status = command()
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            discard_output()
            return interrupted() if received else CLOSED_PIPE
        except (KeyboardInterrupt, Exception) as error:
            if received or isinstance(error, KeyboardInterrupt):  # at an import it may have become another error
                complain("interrupted")
                discard_output()
                return interrupted()
            discard_output()
            return complain(told(error))


def told(error: Exception) -> str:
    """An error as one line."""
    if isinstance(error, BanksimError):
        return str(error)
    if isinstance(error, OSError):
        name = error.filename or ("standard output" if error.errno in FULL else "")
        return f"{name}: {error.strerror}" if name and error.strerror else str(error)
    if isinstance(error, MemoryError):
        return f"too little memory{f': {error}' if str(error) else ''}"
    if "BANKSIM_TRACEBACK" in os.environ:
        raise error
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"internal error, please report it: {what} (BANKSIM_TRACEBACK=1 shows where)"


def discard_output() -> None:
    """Send what standard output did not take nowhere, or the flush at exit fails once more."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EBADF:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---- native code that takes long
def interruptible(work: Callable[[], T]) -> T:
    """What `work` returns, which spends long in native code. A signal raises something only between two instructions of
    Python, so the work is done in a thread of its own, and an interrupt does not wait for it."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    from concurrent.futures import Future, wait

    made: Future[T] = Future()

    def do() -> None:
        try:
            made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    thread = threading.Thread(target=do, name=f"{OWN_THREADS} beside", daemon=True)
    beside.append(thread)
    thread.start()
    wait([made])
    thread.join()
    beside.remove(thread)
    return made.result()


def leave(status: int) -> NoReturn:
    """End the process at once: what native code works with must not be taken down around it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


# ---- signals
@contextmanager
def signals(last: bool = False) -> Iterator[None]:
    """Within, signals that would end the process raise KeyboardInterrupt, and none is lost; those that it was started
    to ignore (nohup) stay ignored, and behind the `last` command all are: its output is complete, its status known."""
    global received, over, lost
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received, over = 0, False
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, end)
    hook = sys.unraisablehook
    sys.unraisablehook = again(hook)
    try:
        yield
    finally:
        over, lost = True, False
        for sender in senders:
            sender.join()
        senders.clear()
        if not (last and received):
            sys.unraisablehook = hook
        for number, handler in before.items():
            if signal.getsignal(number) is end:  # unless a program that was run has its own
                signal.signal(number, signal.SIG_IGN if last else handler)


def end(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
    global received, lost
    received = number
    lost = is_in(frame, "hook")  # nothing can be raised there either
    if not over and not lost:
        raise KeyboardInterrupt


def is_in(frame: FrameType | None, name: str) -> bool:
    """Whether a function of this module is among those that are being executed."""
    while frame is not None and (frame.f_code.co_name, frame.f_code.co_filename) != (name, __file__):
        frame = frame.f_back
    return frame is not None


def again(otherwise: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], object]:
    """A hook for errors where nothing can be raised, as in what compiled code calls and in finalizers: an interrupt
    comes once more, a little later. After a signal none is told: what it stopped lacks what its finalizer wants."""

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        global lost
        if received and issubclass(unraisable.exc_type, KeyboardInterrupt):
            lost = True
        elif not received:
            otherwise(unraisable)
        if lost:
            senders.append(threading.Thread(target=send, daemon=True))
            senders[-1].start()

    return hook


def send() -> None:
    """Send the lost interrupt until it is handled: one that comes just before a sleep does not end that."""
    main = threading.main_thread().ident
    time.sleep(AGAIN)
    while lost and main is not None:
        signal.pthread_kill(main, received)
        time.sleep(AGAIN)
