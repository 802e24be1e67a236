"""The memory of a whole program, which stays from launch to launch, and where compiled code finds the buffers of a
launch. A program may have ten thousand allocations: a launch must not go through all of them."""

from collections.abc import Hashable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from banksim.machine.launch import Buffer

NOTHING = np.zeros(0, np.uint8)
Places = npt.NDArray[np.uint64]
"""For each buffer, by its number, where it lies in this process, and its bytes."""


class RecentCode:
    """Which kernels' code the multiprocessors may still have: of each kernel how large it is, and on how many of them
    it was launched. The last one comes last."""

    def __init__(self) -> None:
        self.sizes: dict[Hashable, float] = {}
        self.spread: dict[Hashable, int] = {}

    def launch(self, kernel: Hashable, size: int, multiprocessors: int, room: int) -> tuple[bool, bool]:
        """Note a launch. Returns whether the kernel was launched before, and whether so many multiprocessors still have
        it, which have room for so much: since then others have had less."""
        known = kernel in self.sizes
        there = self.spread[kernel] if known and since_each(self.sizes)[kernel] <= room else 0
        self.sizes.pop(kernel, None)
        self.sizes[kernel], self.spread[kernel] = size, max(there, multiprocessors)
        return known, there >= multiprocessors


class Stored(NamedTuple):
    """How many bytes of a buffer were stored, when so many had `passed` in all."""

    size: float
    passed: float


class Recent:
    """Which buffers a cache may still have, by number: how many bytes of each were `used`, and how many `copied` from
    the host since, the last ones last; and those that are `new`. Others are not looked at. What was `stored` to them
    last. And which `code`."""

    def __init__(self) -> None:
        self.code = RecentCode()
        self.used: dict[int, float] = {}
        self.copied: dict[int, float] = {}
        self.new: set[int] = set()
        self.stored: dict[int, Stored] = {}
        self.when: dict[int, int] = {}
        self.passed = 0.0
        self.times = 0

    def use(self, number: int, size: float, stored: float = 0) -> None:
        """Note a buffer of which so much was used, by a copy or a fill, and whether it was stored to."""
        self.use_all({number: size}, {number: size}, {number: stored} if stored else {})

    def use_all(self, sizes: dict[int, float], come: dict[int, float], stored: dict[int, float]) -> None:
        """Note buffers of which a launch used so much, side by side, of which so much had to come first, and to which
        it stored."""
        self.passed += sum(come.values())
        self.times += 1
        for number, size in sizes.items():
            before = self.stored.get(number)
            self.forget(number)
            self.used[number], self.when[number] = size, self.times
            if number in stored:
                self.stored[number] = Stored(stored[number], self.passed)
            elif before:
                self.stored[number] = before

    def since(self) -> dict[int, float]:
        """By number, how many bytes were used since each and with it. What was used side by side lies between what else
        was, so that half of this is behind it, in the mean."""
        found: dict[int, float] = {}
        later = 0.0
        for _, together in groupby(reversed(self.used), self.when.__getitem__):
            sizes = {number: self.used[number] for number in together}
            whole = sum(sizes.values())
            found |= {number: later + (whole + size) / 2 for number, size in sizes.items()}
            later += whole
        return found

    def unwritten(self, room: float) -> dict[int, float]:
        """How many bytes of each buffer were stored so lately that a cache may be the only one to have them, which has
        room for so many that come: of those that have come since then each took the place of others by chance."""
        left = {n: one.size * (1 - (self.passed - one.passed) / room) for n, one in self.stored.items()}
        return {number: size for number, size in left.items() if size > 0}

    def copy(self, number: int, size: float) -> None:
        """What the cache has of it stays there, with what was copied (h200_merges.json: has)."""
        if number not in self.used:
            self.forget(number)
            self.copied[number] = size

    def begin(self, number: int) -> None:
        self.forget(number)
        self.new.add(number)

    def forget(self, number: int) -> None:
        self.used.pop(number, None)
        self.copied.pop(number, None)
        self.stored.pop(number, None)
        self.new.discard(number)


Number = TypeVar("Number", bound=Hashable)


def since_each(sizes: dict[Number, float]) -> dict[Number, float]:
    """By number, how many bytes there were since one and with it, of those whose last ones come last."""
    return dict(zip(reversed(sizes), accumulate(reversed(sizes.values())), strict=True))


class ProgramMemory(Sequence[Buffer]):
    """Buffers by number, of which the first `count` are empty. `places` changes only where a buffer does."""

    def __init__(self, count: int) -> None:
        self.recent = Recent()
        self.buffers = [Buffer(NOTHING, "no memory") for _ in range(count)]
        self.room = places(self.buffers)

    def hold(self, number: int, buffer: Buffer) -> None:
        """From now on this is the buffer of a number. Those below it that were none are empty."""
        while len(self.buffers) < number:
            self.hold(len(self.buffers), Buffer(NOTHING, "no memory"))
        if number == len(self.room):
            self.room = np.concatenate([self.room, np.zeros_like(self.room)])
        self.buffers[number : number + 1] = [buffer]
        self.recent.forget(number)
        self.room[number] = buffer.place

    @property
    def places(self) -> Places:
        return self.room[: len(self.buffers)]

    @overload
    def __getitem__(self, index: int) -> Buffer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Buffer]: ...
    def __getitem__(self, index: int | slice) -> Buffer | list[Buffer]:
        return self.buffers[index]

    def __len__(self) -> int:
        return len(self.buffers)


def places(buffers: Sequence[Buffer]) -> Places:
    """Where the buffers of a launch lie."""
    if isinstance(buffers, ProgramMemory):
        return buffers.places
    return np.array([buffer.place for buffer in buffers], np.uint64)


def recent_of(buffers: Sequence[Buffer]) -> Recent | None:
    """What the caches may still have of the memory of a program; None for a launch by itself."""
    return buffers.recent if isinstance(buffers, ProgramMemory) else None
