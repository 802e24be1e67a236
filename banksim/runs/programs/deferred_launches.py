"""Launches that are counted, but not executed until somebody wants to see what they wrote: benchmarks often never look.

A launch waits if its classes of blocks (`banksim.classes`) tell all that can be seen of it at once: its counts do not
depend on what is in memory, it prints nothing, and in every block each access lies within an allocation, or within
local or constant memory.
Before the program reads or changes memory, and before a launch that cannot wait, those that wait are executed, in their
order. Launches that wrote only to memory freed since are never executed; of those that a loop repeats on the
same memory to measure their time, only the last is.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import Kernel
from banksim.machine.codes import INTERRUPTED, READ, WRITTEN
from banksim.machine.launch import Dim3, Launch
from banksim.machine.program_memory import ProgramMemory
from banksim.runs.by_classes import is_small
from banksim.runs.counts_to_conflicts import run_of
from banksim.runs.options import Options
from banksim.runs.outcome import Run
from banksim.runs.programs.repeated_launches import MOST_BUFFERS, Key, RepeatedLaunches, counts_alone
from banksim.runs.programs.standins import HEAP_SLOT
from banksim.runs.run import Rules

LEAST_BLOCKS = 4
"""Blocks of a launch from which on classes are looked for."""
MOST_KNOWN = 256
MOST_WAITING = 2048
SLOW = 0.5
"""Seconds that launches of one shape may take before they are too much, however small each is."""

Shape = tuple[Kernel, Dim3, Dim3]


def shape_of(launch: Launch) -> Shape:
    return launch.kernel, launch.grid, launch.block


def size_of(launch: Launch) -> tuple[Kernel, Dim3, int]:
    """Much the same for all grids of one order of magnitude."""
    return launch.kernel, launch.block, launch.blocks.bit_length()


@dataclass(frozen=True)
class CountedLaunch:
    """A launch, what it counts as long as allocations lie in these places, and how it uses each: bits of
    `machine.codes`, by the allocation's number."""

    launch: Launch
    places: bytes
    run: Run
    touched: npt.NDArray[np.uint8]

    @cached_property
    def read(self) -> set[int]:
        return set(np.flatnonzero(self.touched & READ).tolist())

    @cached_property
    def slots(self) -> set[int]:
        return set(np.flatnonzero(self.touched).tolist())

    @cached_property
    def written(self) -> set[int]:
        return set(np.flatnonzero(self.touched & WRITTEN).tolist())

    @property
    def is_pure(self) -> bool:
        """Whether it reads nothing that it writes, so that it does the same again."""
        return not (self.touched == READ | WRITTEN).any()

    def is_apart_from(self, other: CountedLaunch) -> bool:
        """Whether neither writes what the other reads."""
        return self.written.isdisjoint(other.read) and other.written.isdisjoint(self.read)


@dataclass
class DeferredLaunches:
    """The launches of one process that wait. `freed`: the numbers of allocations that the program has freed but they
    still use; `read_at_once`: those of malloc's heap, and of the variables of modules, from which every launch copies
    its constants; `undecided`: launches of which classes cannot tell all; `small`: launches that are next to
    no work, and the seconds that they took."""

    memory: ProgramMemory
    repeats: RepeatedLaunches
    waiting: list[CountedLaunch] = field(default_factory=list)
    freed: set[int] = field(default_factory=set)
    read_at_once: set[int] = field(default_factory=lambda: {HEAP_SLOT})
    undecided: set[Shape] = field(default_factory=set)
    small: dict[Shape, float] = field(default_factory=dict)
    small_sizes: set[tuple[Kernel, Dim3, int]] = field(default_factory=set)
    known: OrderedDict[Key, CountedLaunch] = field(default_factory=OrderedDict)

    def execute(self, launch: Launch, rules: Rules, options: Options) -> Run:
        """Let a launch wait, or execute it after those that do."""
        counted = self.counted(launch, rules, options) if counts_alone(options) else None
        if counted is None:
            self.settle(options)
            run = self.repeats.execute(launch, rules, options)
            if shape_of(launch) in self.small:
                self.small[shape_of(launch)] += run.seconds
            return run
        self.waiting.append(counted)
        if len(self.waiting) % MOST_WAITING == 0:
            self.waiting = self.seen()
            if len(self.waiting) > MOST_WAITING // 2:
                self.settle(options)
        return counted.run

    def settle(self, options: Options) -> None:
        """Execute the launches that wait and whose results can still be seen. Their counts are known."""
        todo, self.waiting = self.seen(), []
        self.freed.clear()
        for counted in todo:
            launch = replace(counted.launch, doubts={})
            if self.repeats.execute(launch, (), Options(progress=options.progress)).partial:
                raise KeyboardInterrupt

    def free(self, slot: int) -> bool:
        """From now on nobody sees an allocation any more. Whether its memory must stay until all is settled."""
        if not any(counted.touched[slot : slot + 1].any() for counted in self.waiting):
            return False
        self.freed.add(slot)
        self.waiting = self.seen()
        return True

    def forget(self) -> None:
        """All memory is gone."""
        self.waiting.clear()
        self.freed.clear()

    def seen(self) -> list[CountedLaunch]:
        """The launches that wrote to memory that can still be seen, or that another of these reads. Of one that does
        the same again, before anybody could see what it did, the last."""
        gone = set(self.freed)
        again: list[CountedLaunch] = []
        found: list[CountedLaunch] = []
        for counted in reversed(self.waiting):
            if counted.written <= gone or any(counted is later for later in again):
                continue
            gone -= counted.slots
            again = [later for later in again if later.is_apart_from(counted)]
            again += [counted] * counted.is_pure
            found.append(counted)
        return found[::-1]

    def counted(self, launch: Launch, rules: Rules, options: Options) -> CountedLaunch | None:
        """What a launch that may wait counts."""
        if launch.blocks < LEAST_BLOCKS or not launch.apart or shape_of(launch) in self.undecided:
            return None
        if self.small.get(shape_of(launch), SLOW) < SLOW:
            return None
        key, places = (launch.key, rules), self.memory.places.tobytes()
        found = self.known.get(key)
        if found is None or found.places != places:
            found = self.count(launch, rules, options, places)
            if found is None:
                return None
            self.known[key] = found
            if len(self.known) > MOST_KNOWN:
                self.known.popitem(last=False)
        return found if found.slots.isdisjoint(self.repeats.shared | self.read_at_once) else None

    def is_small(self, launch: Launch) -> bool:
        """Whether executing a launch is next to no work, to judge by one of its size."""
        size = size_of(launch)
        if size not in self.small_sizes and is_small(replace(launch, pages=None, doubts={})):
            self.small_sizes.add(size)
        return size in self.small_sizes

    def count(self, launch: Launch, rules: Rules, options: Options, places: bytes) -> CountedLaunch | None:
        """The counts of a large launch by its classes; nothing where they do not tell all."""
        from banksim.classes import counting
        from banksim.machine.llvm.compile import compile_for

        if len(self.memory) > MOST_BUFFERS:
            return None
        if shape_of(launch) not in self.small and self.is_small(launch):
            self.small[shape_of(launch)] = 0.0
            return None
        found = counting.count(launch, rules, options.progress, placed=True)
        if not isinstance(found, counting.Counted) or found.counts.stop:
            if isinstance(found, counting.Counted) and found.counts.stop and found.counts.stop.code == INTERRUPTED:
                raise KeyboardInterrupt
            self.undecided.add(shape_of(launch))
            return None
        compile_for(launch)  # refuses what executing it would refuse
        return CountedLaunch(launch, places, run_of(launch, rules, [(found.compiled, found.counts)]), found.touched)
