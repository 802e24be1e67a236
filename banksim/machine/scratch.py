"""Memory to execute on again and again: it begins as what was given, and tells what was written since.

On Linux it begins as zeros that take no room. The page table tells which pages an execution has touched, and these
alone get their contents: some blocks of a launch on gigabytes cost what they touch. An execution is repeated until it
touches no page without contents; it is then the one that it would be with all of them. Elsewhere all are there from the
start.
"""

import errno
import mmap
import os
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from banksim.machine.host_memory import NO_RESERVE, reserved

Bytes = npt.NDArray[np.uint8]
Pages = npt.NDArray[np.int64]
"""Numbers of pages, in ascending order."""
PAGE = mmap.PAGESIZE
AT_ONCE = 256
"""Pages that are filled or compared together."""
WORD = np.dtype(np.uint64)
ENTRY = WORD.itemsize
TOUCHED = 3 << 62
"""Of an entry of /proc/self/pagemap (Linux, Documentation/admin-guide/mm/pagemap.rst): the page is in memory or was
swapped out. A page that was only read is the one of zeros that all of them share, which is never swapped out."""


class Scratch:
    """`data`: so many bytes of memory. `contents` gives those that they begin as, from one place to another."""

    def __init__(self, size: int, contents: Callable[[int, int], Bytes]) -> None:
        self.contents = contents
        self.known = np.zeros(-(-size // PAGE), bool)
        """The pages that have their contents, which `given` keeps."""
        self.pages, self.given = empty(len(self.known)), empty(len(self.known))
        self.data = self.pages.reshape(-1)[:size]
        self.tells = self.shows_reading()
        """Whether this system tells which pages were touched."""
        if not self.tells:
            self.fill(np.arange(len(self.known)))

    def shows_reading(self) -> bool:
        with suppress(OSError):
            return not self.data[:1].any() and self.touched().tolist() == [0]
        return False

    def complete(self) -> bool:
        """Whether all pages that were touched had their contents. If not, they get them, and all are as given."""
        if not self.tells:
            return True
        try:
            touched = self.touched()
        except OSError:  # such as too many open files
            touched = np.arange(len(self.known))
        missing = touched[~self.known[touched]]
        if len(missing):
            self.changed()
            self.fill(missing)
        return not len(missing)

    def fill(self, pages: Pages) -> None:
        """Give these pages their contents."""
        breaks = np.flatnonzero((np.diff(pages) > 1) | (pages[1:] % AT_ONCE == 0)) + 1
        for run in np.split(pages, breaks):
            start, end = (int(n) * PAGE for n in (run[0], run[-1] + 1)) if len(run) else (0, 0)
            content = self.contents(start, min(end, len(self.data)))
            self.data[start:end] = content
            self.given.reshape(-1)[start : start + len(content)] = content
        self.known[pages] = True

    def changed(self) -> tuple[npt.NDArray[np.int64], Bytes]:
        """Which bytes are not what was given, and what they are; then all are again."""
        places, values = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
        known = np.flatnonzero(self.known)
        for start in range(0, len(known), AT_ONCE):
            pages = known[start : start + AT_ONCE]
            mine, theirs = self.pages[pages], self.given[pages]
            written = (mine.view(WORD) != theirs.view(WORD)).any(axis=1)
            if written.any():
                pages, mine, theirs = pages[written], mine[written], theirs[written]
                rows, columns = np.nonzero(mine != theirs)
                places.append(pages[rows] * PAGE + columns)
                values.append(mine[rows, columns])
                self.pages[pages] = theirs
        return np.concatenate(places), np.concatenate(values)

    def touched(self) -> Pages:
        """The pages that were read or written. OSError where the page table cannot be read."""
        first, count = self.pages.ctypes.data // PAGE, len(self.known)
        with open("/proc/self/pagemap", "rb", buffering=0) as table:
            read = os.pread(table.fileno(), ENTRY * count, ENTRY * first)
        if len(read) != ENTRY * count:
            raise OSError(errno.EIO, "not all of the page table could be read")
        return np.flatnonzero(np.frombuffer(read, WORD) & TOUCHED)


def empty(pages: int) -> npt.NDArray[np.uint8]:
    """Pages of zeros, each a row, in memory once they are touched and one by one."""
    if NO_RESERVE is None or not pages:
        return np.zeros((pages, PAGE), np.uint8)
    memory = reserved(pages * PAGE)
    with suppress(OSError):  # of a Linux that has no huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.uint8).reshape(pages, PAGE)
