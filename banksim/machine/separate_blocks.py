"""What blocks do to global memory: which bytes they read, write or add to, and whether other blocks mind.

Blocks that are simulated apart start from the same memory. What each group of them did is known byte by byte, so that
the results of all can be put together, or be refused where one group may have needed what another wrote.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.machine.codes import ADDED, ADDED_LONG, READ, WRITTEN
from banksim.machine.launch import Buffer, Launch

USES = 16
SUMS = ((ADDED, np.uint32), (ADDED_LONG, np.uint64))
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


def _compatible() -> npt.NDArray[np.bool_]:
    """Whether two groups of blocks may have used a byte so: not at all, or both only read, or both only added."""
    table = np.zeros((USES, USES), bool)
    table[0, :] = table[:, 0] = True
    for use in (READ, ADDED, ADDED_LONG):
        table[use, use] = True
    return table


COMPATIBLE = _compatible()


@dataclass(frozen=True)
class Effect:
    """What a group of blocks did to one buffer: stretches from `starts` on, `lengths` bytes each, of the same `uses`.

    `values` are all bytes of those that are not only read: what was written, or by how much sums have grown.
    """

    starts: Places
    lengths: Places
    uses: Bytes
    values: Bytes

    def used(self) -> tuple[Places, Bytes]:
        """The places of all bytes, in ascending order, and the use of each."""
        before = np.cumsum(self.lengths) - self.lengths
        place = np.arange(self.lengths.sum()) + np.repeat(self.starts - before, self.lengths)
        return place, np.repeat(self.uses, self.lengths)

    def use_of(self, place: int) -> Bytes:
        """The use of one byte; none if it was not used."""
        return self.uses[(self.starts <= place) & (place < self.starts + self.lengths)]


def notebooks(launch: Launch) -> list[Bytes]:
    """For each buffer a byte for each of its own, in which its uses are noted."""
    return [np.zeros(-(-buffer.data.nbytes // 8) * 8, np.uint8) for buffer in launch.buffers]


def effect(notes: Bytes, before: Bytes, after: Bytes) -> Effect:
    """What was done to a buffer, whose bytes are known before and after."""
    for kind, word in SUMS:  # a number of which a part was also used otherwise is no sum
        parts = notes.reshape(-1, np.dtype(word).itemsize)
        added = parts == kind
        parts[added.any(1) & ~added.all(1)] |= READ | WRITTEN
    notes = notes[: len(after)]
    starts = np.flatnonzero(np.diff(notes, prepend=0xFF if not len(notes) else ~notes[0]))
    lengths = np.diff(np.append(starts, len(notes)))
    uses = notes[starts]
    values = after[notes > READ]
    for kind, word in SUMS:
        if len(added := np.flatnonzero(notes == kind)):
            values[notes[notes > READ] == kind] = (after[added].view(word) - before[added].view(word)).view(np.uint8)
    return Effect(starts[uses != 0], lengths[uses != 0], uses[uses != 0], values)


class Together:
    """The memory of a launch of which groups of blocks were simulated apart."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.uses = [np.zeros(buffer.data.nbytes, np.uint8) for buffer in buffers]
        self.groups: list[tuple[range, Sequence[Effect]]] = []

    def add(self, blocks: range, effects: Sequence[Effect]) -> None:
        """What `blocks` did. `InputError` if that depends on what those before did, or the other way round."""
        for number, one in enumerate(effects):
            place, use = one.used()
            apart = COMPATIBLE[self.uses[number][place], use]
            if not apart.all():
                first = np.argmin(apart)
                raise self.meeting(number, int(place[first]), blocks, int(use[first]))
            self.uses[number][place] |= use
        self.groups.append((blocks, effects))

    def meeting(self, number: int, place: int, blocks: range, use: int) -> InputError:
        """The error for a byte that two groups of blocks share."""
        [(others, used), *_] = [
            (before, int(used))
            for before, effects in self.groups
            for used in effects[number].use_of(place)
            if not COMPATIBLE[used, use]
        ]
        view = self.buffers[number].nearest(place)
        return InputError(
            f"{view.name}, byte {place - view.start}: {words(others, used)}, {words(blocks, use)}: blocks that meet "
            "in global memory cannot be simulated apart: leave out --workers and --scheduler"
        )

    def write(self) -> None:
        """Change the buffers as the blocks did."""
        for _, effects in self.groups:
            for buffer, one in zip(self.buffers, effects, strict=True):
                place, use = one.used()
                place, use = place[use > READ], use[use > READ]
                written = (use != ADDED) & (use != ADDED_LONG)
                buffer.data[place[written]] = one.values[written]
                for kind, word in SUMS:
                    added = place[use == kind]
                    sums = buffer.data[added].view(word) + one.values[use == kind].view(word)
                    buffer.data[added] = sums.view(np.uint8)


def words(blocks: range, use: int) -> str:
    what = "written" if use & WRITTEN else "added to" if use & (ADDED | ADDED_LONG) else "read"
    who = f"block {blocks[0]}" if len(blocks) == 1 else f"one of the blocks {blocks[0]} to {blocks[-1]}"
    return f"{what} by {who}"
