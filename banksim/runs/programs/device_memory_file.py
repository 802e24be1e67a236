"""The file that all device memory of a process is, and which of its pages are mapped: those in which an allocation
lies."""

import mmap
import os

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.machine.mapped_pages import PAGE, MappedPages
from banksim.runs.programs.standins import FILE_BYTES, SMALL_BYTES

MAP_NORESERVE = 0x4000


def whole_file(descriptor: int) -> npt.NDArray[np.uint8]:
    """The file, which is closed. InputError where too little of the addresses that a Linux process has is left."""
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        try:
            whole = mmap.mmap(file.fileno(), FILE_BYTES, mmap.MAP_SHARED | MAP_NORESERVE)
        except OSError:
            most = (1 << 47) // FILE_BYTES - 1
            raise InputError(f"no more than {most} processes can use the GPU at a time: run fewer at once") from None
    return np.frombuffer(whole, np.uint8)


class Mapped:
    """Counts the allocations in each page of the file that all device memory is."""

    def __init__(self, memory: npt.NDArray[np.uint8]) -> None:
        count = memory.nbytes // PAGE
        self.pages = MappedPages(memory.ctypes.data, np.zeros(count, np.uint8))
        self.counts = np.zeros(count, np.uint16)
        self.counts[: SMALL_BYTES // PAGE] = self.pages.mapped[: SMALL_BYTES // PAGE] = 1
        self.held: dict[int, slice] = {}

    def holds(self, slot: int, offset: int, size: int) -> None:
        """From now on a slot holds `size` bytes of the file; 0: none."""
        before = self.held.pop(slot, slice(0))
        self.counts[before] -= 1
        self.pages.mapped[before] = self.counts[before] > 0
        if size:
            now = self.held[slot] = slice(offset // PAGE, (offset + size - 1) // PAGE + 1)
            self.counts[now] += 1
            self.pages.mapped[now] = 1
