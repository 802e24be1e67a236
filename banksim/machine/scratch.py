"""Memory to execute on again and again: it begins as what was given, and tells what was written since.

On Linux the given bytes lie in a file in memory, mapped so that a page which is written becomes a copy. The page table
then tells which pages these are, so that some blocks of a launch on gigabytes cost what they touch. Elsewhere all is
copied and compared.
"""

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from banksim.machine.host_memory import NO_RESERVE

Bytes = npt.NDArray[np.uint8]
PIECE = 1 << 20
"""Bytes that are looked at together, a multiple of those of a page and of a word."""
WORD = np.dtype(np.uint64)
ENTRY = WORD.itemsize
OWN_PAGE, NOT_OWN = 3 << 62, 1 << 61
"""Of an entry of /proc/self/pagemap (Linux, Documentation/admin-guide/mm/pagemap.rst): the page is in memory or was
swapped out; it is the file's."""


class Scratch:
    """`data` holds the bytes of `given` until it is written."""

    def __init__(self, given: Bytes) -> None:
        self.given = given
        self.mapped = mapped(given)
        if self.mapped is not None:
            self.data: Bytes = np.frombuffer(self.mapped, np.uint8, given.nbytes)
            self.data[:1] = given[:1]  # which makes the first page a copy, and no other
            with suppress(OSError):
                if self.pages().tolist() == [0]:
                    return
            self.mapped = None
        self.data = given.copy()

    def changed(self) -> tuple[npt.NDArray[np.int64], Bytes]:
        """Which bytes are not what was given, and what they are; then all are again."""
        found = [np.zeros(0, np.int64)]
        for start, end in self.written():
            mine, theirs = self.data[start:end], self.given[start:end]
            if differ(mine, theirs):
                found.append(np.flatnonzero(mine != theirs) + start)
        places = np.concatenate(found)
        values = self.data[places]
        if self.mapped is None:
            self.data[places] = self.given[places]
        else:
            self.mapped.madvise(mmap.MADV_DONTNEED)
        return places, values

    def written(self) -> Iterator[tuple[int, int]]:
        """Pieces of which a part may have been written: all, where nothing tells."""
        step, numbers = PIECE, np.arange(-(-len(self.data) // PIECE))
        if self.mapped is not None:
            with suppress(OSError):  # such as too many open files
                step, numbers = mmap.PAGESIZE, self.pages()
        for number in numbers.tolist():
            yield number * step, min((number + 1) * step, len(self.data))

    def pages(self) -> npt.NDArray[np.int64]:
        """The numbers of the pages that are copies. OSError where the page table cannot be read."""
        first, count = self.data.ctypes.data // mmap.PAGESIZE, -(-len(self.data) // mmap.PAGESIZE)
        found = []
        with open("/proc/self/pagemap", "rb", buffering=0) as table:
            for at in range(0, count, PIECE):
                wanted = ENTRY * min(PIECE, count - at)
                read = os.pread(table.fileno(), wanted, ENTRY * (first + at))
                if len(read) != wanted:
                    raise OSError(errno.EIO, "not all of the page table could be read")
                entries = np.frombuffer(read, WORD)
                found.append(at + np.flatnonzero((entries & OWN_PAGE != 0) & (entries & NOT_OWN == 0)))
        return np.concatenate(found)


def mapped(given: Bytes) -> mmap.mmap | None:
    """A private map of a file in memory that holds what is given. None where there is none to be had."""
    make = getattr(os, "memfd_create", None)  # which not every Python for Linux has
    if make is None or NO_RESERVE is None or not given.nbytes:
        return None
    try:
        file = make("banksim")
    except OSError:
        return None
    try:
        os.ftruncate(file, given.nbytes)
        for start in range(0, given.nbytes, PIECE):
            piece = given[start : start + PIECE]
            if piece.any() and os.pwrite(file, piece.data, start) != len(piece):
                return None
        return mmap.mmap(file, given.nbytes, flags=NO_RESERVE & ~mmap.MAP_ANONYMOUS)
    except OSError:
        return None
    finally:
        os.close(file)


def differ(mine: Bytes, theirs: Bytes) -> bool:
    """Whether bytes differ; compared by words."""
    words = len(mine) // WORD.itemsize * WORD.itemsize
    rest = mine[words:] != theirs[words:]
    return bool((mine[:words].view(WORD) != theirs[:words].view(WORD)).any() or rest.any())
