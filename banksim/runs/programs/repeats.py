"""Launches that a program repeats, as benchmarks do: what is known to come out is not executed once more.

A launch is a function of its arguments and of the bytes in the program's memory, if it reads no clock and calls no
function of the driver. So where a launch begins in the state in which the same launch began before, it leaves what that
left, and counts what that counted. The state is the version of each allocation. A version stays while neither the
program, which counts its changes (memory.c), nor a launch changes the bytes; of small allocations it is a digest.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.kernels.global_addresses import PROGRAM
from banksim.runs.run import execute_launch

if TYPE_CHECKING:
    from banksim.architectures.bank_rules import Architecture
    from banksim.kernels.kernel import Kernel
    from banksim.machine.launch import Launch
    from banksim.runs.options import Options
    from banksim.runs.outcome import Run

PIECE = 4 << 20
"""Bytes that are compared, and kept, together."""
SMALL = 1 << 20
"""Bytes of an allocation that is known by its digest."""
WORTH = 0.003
"""Seconds: shorter launches are executed every time."""
WATCHED_A_SECOND = 2e9
"""Bytes that are copied and compared in a second, roughly."""
SHARE = 0.4
"""What watching launches may take of the time that all launches took so far."""
MOST_COPIED, MOST_KEPT = 2 << 30, 1 << 28
"""Bytes of memory of a launch that is watched; of what watched launches changed."""
READS_CLOCKS = ("SR_CLOCK", "SR_GLOBALTIMER")

MOST_STATES = 2
"""In which a launch is remembered."""

Bytes = npt.NDArray[np.uint8]
Version = int | bytes
State = int
"""Of the slots that hold something, each with its version: the sum of their digests, which a change of one changes by
that one alone. A program may have ten thousand allocations."""


@dataclass
class Effect:
    """What a launch does in a certain state: what it counts, the bytes that it changes by where they begin in the file,
    and the versions that it leaves of the slots that these lie in."""

    run: Run
    changed: dict[int, Bytes]
    after: dict[int, Version]


@dataclass
class Repeated:
    """A launch with certain arguments: the seconds that executing it took, and from how many on it is watched again."""

    executed: float = 0.0
    due: float = 0.0
    effects: dict[State, Effect] = field(default_factory=dict)


class Repeats:
    """The launches of one process of a program. `file`: the descriptor of what is mapped as `memory`. The host may
    change at any time what is `visible` to it; what is `pinned` or managed is not kept as a launch's effect, since
    another thread may have written it meanwhile. `seconds`: what executing launches took, and what watching them."""

    def __init__(self, memory: Bytes, file: int) -> None:
        self.memory, self.file = memory, file
        self.changes = memory[: 4 * PROGRAM.slots].view(np.uint32)
        self.places: dict[int, tuple[int, int]] = {}
        self.visible: set[int] = set()
        self.pinned: set[int] = set()
        self.versions: dict[int, tuple[int, Version]] = {}
        """Of the slots that are known, with how often the program had changed them."""
        self.seen = np.zeros_like(self.changes)
        """The same number, by slots."""
        self.sum: State = 0
        """Of the slots that are known."""
        self.held: npt.NDArray[np.intp] | None = None
        """The slots of `places`; None: not up to date."""
        self.numbers = count()
        self.launches: dict[tuple[object, ...], Repeated] = {}
        self.kept = 0
        self.first: Repeated | None = None
        """The launch with which it was begun to watch."""
        self.seconds = {"executing": 0.0, "watching": 0.0}

    def holds(self, slot: int, offset: int, size: int, visible: bool, pinned: bool) -> None:
        """From now on a slot holds `size` bytes of the file; 0: none."""
        self.drop(slot)
        self.places.pop(slot, None)
        self.held = None
        for slots, belongs in ((self.visible, visible), (self.pinned, pinned)):
            slots.discard(slot)
            if size and belongs:
                slots.add(slot)
        if size:
            self.places[slot] = offset, size

    def forget(self) -> None:
        """Any memory may have changed."""
        self.versions.clear()
        self.sum = 0

    def drop(self, slot: int) -> None:
        """A slot may have changed."""
        if slot in self.versions:
            _, version = self.versions.pop(slot)
            self.sum -= share(slot, version)

    def note(self, slot: int, changes: int, version: Version) -> None:
        """A slot that the program had changed so often has this version."""
        self.drop(slot)
        self.seen[slot] = changes
        self.versions[slot] = changes, version
        self.sum += share(slot, version)

    def execute(
        self, arguments: Sequence[bytes], launch: Launch, rules: Sequence[Architecture], options: Options
    ) -> Run:
        """Execute a launch, unless it is known what comes out."""
        if options.trace or options.timing or options.checks or not repeatable(launch.kernel):
            return self.executed(Repeated(), launch, rules, options)
        shape = (launch.grid, launch.block, launch.dynamic_shared, launch.cluster, launch.cooperative)
        key = (id(launch.kernel), shape, tuple(arguments), tuple(rule.name for rule in rules))
        repeated = self.launches.setdefault(key, Repeated())
        effect = repeated.effects.get(self.state()) if repeated.effects else None
        if effect is None:
            return self.unknown(repeated, launch, rules, options)
        for start, content in effect.changed.items():
            self.memory[start : start + content.nbytes] = content
        for slot, version in effect.after.items():
            self.note(slot, int(self.changes[slot]), version)
        if options.progress:
            options.progress(launch.blocks, effect.run.thread_instructions)
        return effect.run

    def unknown(self, repeated: Repeated, launch: Launch, rules: Sequence[Architecture], options: Options) -> Run:
        """Execute a launch of which it is not known what comes out. Once one is watched all are, until it comes again:
        the state is known for as long as nothing happens that was not watched."""
        if self.first is None or self.first is repeated or not self.affords():
            self.first = repeated if self.pays(repeated) else None
        execute = self.executed if self.first is None else self.watched
        return execute(repeated, launch, rules, options)

    def executed(self, repeated: Repeated, launch: Launch, rules: Sequence[Architecture], options: Options) -> Run:
        self.forget()
        run = execute_launch(launch, tuple(rules), options)
        repeated.executed += run.seconds
        self.seconds["executing"] += run.seconds
        return run

    def pays(self, repeated: Repeated) -> bool:
        """Whether to begin to watch with a launch. If not, or if that was in vain, it is asked again when the launch
        has taken twice as much."""
        if repeated.executed < max(repeated.due, WORTH):
            return False
        repeated.due = 2 * repeated.executed
        return self.affords()

    def affords(self) -> bool:
        """Whether copying and comparing all memory takes little beside what was executed so far."""
        most = min((self.seconds["executing"] * SHARE - self.seconds["watching"]) * WATCHED_A_SECOND, MOST_COPIED)
        least = sum(size for _, size in self.places.values())
        return least <= most or sum(end - start for slot in self.places for start, end in self.pieces(slot)) <= most

    def watched(self, repeated: Repeated, launch: Launch, rules: Sequence[Architecture], options: Options) -> Run:
        """Execute a launch, and keep what it does to the state."""
        begun, counts, before = time.perf_counter(), self.changes.copy(), self.state()
        copies = {
            slot: {start: self.memory[start:end].copy() for start, end in self.pieces(slot)} for slot in self.places
        }
        copied, versions = time.perf_counter(), dict(self.versions)
        run = self.executed(repeated, launch, rules, options)
        ended = time.perf_counter()
        strayed = launch.pages is not None and bool(launch.pages.strays)
        if run.partial or strayed or not np.array_equal(counts, self.changes):
            return run  # or another thread of the program has written meanwhile
        places = {
            slot: [(start, end) for start, end in self.pieces(slot) if not same(old.get(start), self.memory[start:end])]
            for slot, old in copies.items()
        }
        changed = {slot for slot, found in places.items() if found}
        self.versions, self.sum = versions, before
        for slot in changed:
            self.drop(slot)
        self.state()
        after = {slot: self.versions[slot][1] for slot in changed}
        size = sum(end - start for found in places.values() for start, end in found)
        if not self.pinned & changed and self.kept + size <= MOST_KEPT:
            self.kept += size
            if len(repeated.effects) == MOST_STATES:
                oldest = repeated.effects.pop(next(iter(repeated.effects)))
                self.kept -= sum(content.nbytes for content in oldest.changed.values())
            contents = {start: self.memory[start:end].copy() for found in places.values() for start, end in found}
            repeated.effects[before] = Effect(run, contents, after)
        self.seconds["watching"] += copied - begun + time.perf_counter() - ended
        return run

    def state(self) -> State:
        """What the memory holds. Versions that are not known are found, or made up."""
        if self.held is None:
            self.held = np.fromiter(self.places, np.intp, len(self.places))
        unknown = {*self.visible, *self.held[self.changes[self.held] != self.seen[self.held]].tolist()}
        if len(self.versions) < len(self.places):
            unknown |= self.places.keys() - self.versions.keys()
        for slot in unknown:
            (offset, size), changes = self.places[slot], int(self.changes[slot])
            digest = size <= SMALL and sha256(self.memory[offset : offset + size].data).digest()
            self.note(slot, changes, digest or next(self.numbers))
        return self.sum

    def pieces(self, slot: int) -> Iterator[tuple[int, int]]:
        """Where in the file data of a slot begin and end; holes are left out, which reading would fill."""
        start, size = self.places[slot]
        end = start + size
        while start < end:
            try:
                start = os.lseek(self.file, start, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return  # nothing but holes follows
            hole = min(os.lseek(self.file, start, os.SEEK_HOLE), end)
            for begin in range(start, hole, PIECE):
                yield begin, min(begin + PIECE, hole)
            start = max(hole, start + 1)


def share(slot: int, version: Version) -> State:
    """What a slot adds to the state."""
    return int.from_bytes(sha256(repr((slot, version)).encode()).digest(), "little")


def same(old: Bytes | None, new: Bytes) -> bool:
    """Whether a piece holds the bytes that it held."""
    if old is None or old.nbytes != new.nbytes:
        return False
    words = new.nbytes // 8 * 8
    return np.array_equal(old[:words].view(np.uint64), new[:words].view(np.uint64)) and bytes(old[words:]) == bytes(
        new[words:]
    )


@lru_cache(maxsize=1024)
def repeatable(kernel: Kernel) -> bool:
    """Whether a kernel's results and counts depend on its arguments and on memory alone."""
    return not any(
        i.name == "SERVICE" or any(o.text.startswith(READS_CLOCKS) for o in i.operands) for i in kernel.instructions
    )
