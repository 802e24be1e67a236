"""Processes take turns with a folder: what one of them makes and keeps there, others wait for and do not make too."""

import os
import sys
import time
from contextlib import suppress

if sys.platform != "win32":
    import fcntl

HELD: dict[str, int] = {}
"""The folders whose turn this process has, and the descriptor that holds it."""


class Patience:
    """`seconds` are left for which this process waits for others, in all: one of them may be stopped."""

    seconds = 120.0


def begin(folder: str) -> None:
    """Wait until no other process has the turn."""
    if folder not in HELD:
        HELD[folder] = locked(folder)


def end(folder: str) -> None:
    if (descriptor := HELD.pop(folder, -1)) >= 0:
        os.close(descriptor)


def locked(folder: str) -> int:
    """The descriptor of the folder, locked; -1 where that cannot be."""
    if sys.platform == "win32":
        return -1
    with suppress(OSError):  # no such folder, or one on a file system without locks
        descriptor = os.open(folder, os.O_RDONLY)
        began = time.monotonic()
        try:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return descriptor
                if time.monotonic() - began > Patience.seconds:
                    break
                time.sleep(0.02)
        finally:
            Patience.seconds -= time.monotonic() - began
        os.close(descriptor)
    return -1
