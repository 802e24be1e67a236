"""Memory to execute on again and again: it begins as what was given, and tells what was written since.

On Linux the given bytes lie in a file in memory, mapped so that a page which is written becomes a copy. The page table
then tells which pages these are, so that some blocks of a launch on gigabytes cost what they touch. Elsewhere all is
copied and compared.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

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
            if list(self.pages()) == [0]:
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
        """Pieces of which a part may have been written."""
        step = PIECE if self.mapped is None else mmap.PAGESIZE
        for number in range(-(-len(self.data) // step)) if self.mapped is None else self.pages():
            yield number * step, min((number + 1) * step, len(self.data))

    def pages(self) -> Iterator[int]:
        """The numbers of the pages that are copies."""
        first, count = self.data.ctypes.data // mmap.PAGESIZE, -(-len(self.data) // mmap.PAGESIZE)
        try:
            with open("/proc/self/pagemap", "rb", buffering=0) as table:
                for at in range(0, count, PIECE):
                    read = os.pread(table.fileno(), ENTRY * min(PIECE, count - at), ENTRY * (first + at))
                    entries = np.frombuffer(read, WORD)
                    yield from map(int, at + np.flatnonzero((entries & OWN_PAGE != 0) & (entries & NOT_OWN == 0)))
        except OSError:
            return


def mapped(given: Bytes) -> mmap.mmap | None:
    """A private map of a file in memory that holds what is given. None where there is none to be had."""
    if NO_RESERVE is None or not given.nbytes:
        return None
    try:
        file = os.memfd_create("banksim")
    except OSError:
        return None
    try:
        os.ftruncate(file, given.nbytes)
        for start in range(0, given.nbytes, PIECE):
            piece = given[start : start + PIECE]
            if piece.any():
                os.pwrite(file, piece.data, start)
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
