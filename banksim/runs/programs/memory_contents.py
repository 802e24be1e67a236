"""What a program's memory holds, by numbers: where two are equal, so is every byte.

Only what may have changed is compared. A launch tells which allocations it wrote to (`Launch.touched`), the stand-in
for the driver tells which the program itself wrote to; only these are looked at, and new contents are copied.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

import numpy as np
import numpy.typing as npt

from banksim.machine.program_memory import ProgramMemory

ROW = 4096
SMALL = 1 << 16
"""Bytes of an allocation up to which its content is looked at the first time that the program changes it."""

Bytes = npt.NDArray[np.uint8]


@lru_cache(maxsize=1)
def memcmp() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).memcmp
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_int
    compare: Callable[[int, int, int], int] = function
    return compare


def same(a: Bytes, b: Bytes) -> bool:
    return a.nbytes == b.nbytes and not memcmp()(a.ctypes.data, b.ctypes.data, a.nbytes)


def digest(data: Bytes) -> bytes:
    """Some bytes that differ for most contents that differ: the sums of the columns of rows of 4 KiB."""
    end = data.nbytes // ROW * ROW
    rows = data[:end].view(np.uint64).reshape(-1, ROW // 8)
    sums: Bytes = np.add.reduce(rows, axis=0).view(np.uint8)
    return sums.tobytes() + data[end:].tobytes()


@dataclass
class Contents:
    """`now`: by the number of an allocation, that of the contents it is to hold; one without has its first contents.
    `stored`: the same for what its memory does hold; where they differ (`behind`), it is yet to be written. `changed`:
    allocations that the program, or a launch whose writes are not known, may have written to; `everything`: it may be
    any of them."""

    memory: ProgramMemory
    now: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    behind: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    everything: bool = False
    first: int = 0
    met: set[int] = field(default_factory=set)
    numbers: count[int] = field(default_factory=count)
    bytes_of: dict[int, Bytes] = field(default_factory=dict)
    found: defaultdict[tuple[int, bytes], list[int]] = field(default_factory=lambda: defaultdict(list))
    kept: int = 0
    """Bytes of all copies."""

    def key(self) -> Hashable:
        """What memory holds, and how large each allocation is."""
        return self.first, self.memory.places[:, 1].tobytes(), frozenset(self.now.items())

    def look(self, pays: Callable[[int], bool]) -> None:
        """Give numbers to changed contents: the old number where equal contents were seen before, if looking at so many
        bytes `pays`. What is large is not looked at until it has changed twice, as most inputs never do."""
        if self.everything:
            self.settle()
            self.first = next(self.numbers)
            for one in (self.now, self.stored, self.changed):
                one.clear()
            self.everything = False
        for slot in sorted(self.changed):
            size = self.memory[slot].data.nbytes
            if (slot in self.met or size <= SMALL) and pays(size):
                self.hold(slot, self.number_of(slot))
            else:
                self.hold(slot, next(self.numbers))
            self.met.add(slot)
        self.changed.clear()

    def hold(self, slot: int, number: int) -> None:
        """Note that an allocation's memory holds the contents of this number."""
        self.now[slot] = self.stored[slot] = number
        self.behind.discard(slot)

    def number_of(self, slot: int) -> int:
        """The number of what an allocation holds in memory, of which a copy is kept."""
        data = self.memory[slot].data
        alike = self.found[slot, digest(data)]
        for number in alike:
            if same(self.bytes_of[number], data):
                return number
        number = next(self.numbers)
        self.bytes_of[number] = data.copy()
        self.kept += data.nbytes
        alike.append(number)
        return number

    def becomes(self, held: Mapping[int, int]) -> None:
        """From now on allocations are to hold this; it is written to memory only when somebody looks."""
        self.now.update(held)
        for slot, number in held.items():
            (self.behind.discard if self.stored.get(slot) == number else self.behind.add)(slot)

    def settle(self, slots: Iterable[int] | None = None) -> None:
        """Write to memory what allocations are to hold: all of them, or these."""
        for slot in self.behind.intersection(slots) if slots is not None else [*self.behind]:
            self.memory[slot].data[:] = self.bytes_of[self.now[slot]]
            self.hold(slot, self.now[slot])

    def replaced(self, slot: int) -> None:
        """Another allocation lies there now, or none."""
        self.behind.discard(slot)
        self.changed.add(slot)

    def forget(self) -> None:
        """Let all copies go."""
        self.settle()
        self.bytes_of.clear()
        self.found.clear()
        self.kept = 0
