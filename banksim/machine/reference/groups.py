"""The groups of threads of a warp of the reference machine: which of them runs, what the others wait for, which join.

One group runs at a time, until its threads diverge at a branch, wait, yield, or exit. Which then goes on, and which
others join it, was measured on one H200: tests/machine/test_hardware.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banksim.kernels.kernel import BYTES
from banksim.machine import codes
from banksim.machine.codes import COLLECTIVE, WARPSYNC
from banksim.machine.engine import Value
from banksim.machine.reference.block import Block
from banksim.machine.reference.engine import lanes_of, mask_of
from banksim.machine.reference.memory import MemoryEngine
from banksim.requests.kinds import LANES


@dataclass(frozen=True)
class Convergence:
    """A group waits for the threads that convergence barrier `number` gathers."""

    number: int


@dataclass(frozen=True)
class Phase:
    """A group waits for the end of this phase of the block's barrier `number`."""

    number: int
    phase: int


@dataclass(frozen=True)
class Word:
    """A group waits for the end of a phase of this parity of the mbarrier at an address."""

    address: int
    parity: int

    @property
    def place(self) -> int:
        """The address less the block's rank in its cluster."""
        return self.address & (1 << codes.RANK_BIT) - 1


@dataclass(frozen=True)
class OfCluster:
    """A group waits for the end of this phase of its cluster's barrier."""

    phase: int


@dataclass(frozen=True)
class Yielded:
    """A group waits for nothing, but has yielded: the others that can go on go first."""


@dataclass(frozen=True)
class Apart:
    """A group waits for nothing, but no other may join it when it goes on."""


Waits = Convergence | Phase | Word | OfCluster | Yielded | Apart


@dataclass(eq=False)
class Group:
    """Threads that run together. Those that wait for nothing are ready."""

    mask: int
    pc: int
    waits: Waits | None = None

    @property
    def lowest(self) -> int:
        """Its lowest lane."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def behind(self) -> int:
        """The pc of the next instruction."""
        return self.pc + BYTES


class Groups(MemoryEngine):
    """Those of one warp, and its registers and memory."""

    def __init__(self, block: Block, index: int) -> None:
        super().__init__(block, index)
        self.code = self.launch.kernel.instructions
        self.groups = [Group(self.live, 0)]
        """Those that do not run, the one parked last at the end."""
        self.gathered = np.zeros((codes.CONVERGENCE, LANES), np.uint32)
        """For each convergence barrier and thread, which threads the barrier gathers."""
        self.resume = np.zeros(LANES, np.uint32)
        """Where each thread goes on behind ENDCOLLECTIVE."""
        self.collected = 0
        """The threads of the group that came last to the last collective region."""
        self.slot: Group | None = None
        """The part that the last branch parked: it goes on next, and alone."""
        self.last_barrier = 0
        self.cluster_phase = 0
        """The phase that the cluster's barrier was in when the warp last arrived there."""
        self.outside = min((pc for pc in self.launch.kernel.functions.values() if pc), default=1 << 32)
        """Where the code of the kernel ends and that of its functions begins."""

    @property
    def live(self) -> int:
        """The lanes whose threads have not left, as a mask."""
        return self.block.live_lanes[self.index]

    def next(self) -> Group | None:
        """Take the group that goes on. The part that the last branch parked goes first, and alone. Else groups are a
        stack: of those that are ready the one parked last goes on, with all that are ready at the same pc (but not
        inside functions, where they may come from different calls). If none is ready, it is the one that yielded
        first."""
        self.join()
        for g in self.groups:
            if isinstance(g.waits, Phase):
                gone = self.block.barriers[g.waits.number].phase != g.waits.phase
            elif isinstance(g.waits, OfCluster):
                gone = self.block.cluster.phase != g.waits.phase
            else:
                gone = isinstance(g.waits, Word) and self.block.shared[g.waits.place + 7] >> 7 != g.waits.parity
            g.waits = None if gone else g.waits
        ready = [g for g in self.groups if g.waits in (None, Apart())]
        ready = ready or [g for g in self.groups if g.waits == Yielded()] or self.left_alone()
        if not ready:
            return None
        first = self.slot if self.slot in ready else ready[-1]
        alone = first is self.slot or first.waits not in (None, Yielded()) or first.pc >= self.outside
        together = [g for g in self.groups if g is first or (not alone and (g.pc, g.waits) == (first.pc, first.waits))]
        self.groups = [g for g in self.groups if g not in together]
        self.slot = None
        return Group(sum(g.mask for g in together), first.pc)

    def left_alone(self) -> list[Group]:
        """Let a group at a WARPSYNC go on though threads which it names have not come, where all of those wait at a
        BSYNC and no other group can go on. Measured on one H200; numba-cuda's own reduction relies on it."""
        at = {g.mask: g.waits.number for g in self.groups if isinstance(g.waits, Convergence)}
        converging = sum(mask for mask, number in at.items() if number < WARPSYNC)
        row = self.gathered[WARPSYNC]
        for g in reversed(self.groups):
            if at.get(g.mask) == WARPSYNC and not int(row[g.lowest]) & self.live & ~g.mask & ~converging:
                self.release(g, [g])
                return [g]
        return []

    def join(self) -> None:
        """Join the groups at a convergence barrier where all the live threads that it gathers have come.

        A BSYNC does not wait for threads that have yielded.
        """
        for group in reversed(self.groups.copy()):
            if group in self.groups and isinstance(group.waits, Convergence):
                self.release_if_complete(group, group.waits.number)

    def release_if_complete(self, group: Group, barrier: int) -> None:
        """Release a group that waits at a convergence barrier if all that it waits for have come."""
        come = [g for g in self.groups if self.waits_with(g, group)]
        wanted = int(self.gathered[barrier, group.lowest]) & self.live & ~sum(g.mask for g in come)
        if barrier < WARPSYNC:
            wanted &= ~sum(g.mask for g in self.groups if g.waits == Yielded())
        if not wanted:
            self.release(group, come)

    def release(self, group: Group, come: list[Group]) -> None:
        """The last group to come to its convergence barrier goes on with those that have come. Groups that came to the
        barrier at different pcs go on apart, unless it opens a collective region."""
        barrier = group.waits
        assert isinstance(barrier, Convergence)
        row = self.gathered[barrier.number]
        gathered, together = int(row[group.lowest]), sum(g.mask for g in come)
        if barrier.number == COLLECTIVE:
            self.collected = group.mask
        for g in come:
            g.waits = Apart()
            if g is not group and (g.pc == group.pc or barrier.number == COLLECTIVE):
                group.mask |= g.mask
                self.groups.remove(g)
        if barrier.number < WARPSYNC:
            group.waits = None
        left_behind = gathered & ~together  # nobody waits there any more for those who have gone on
        row[lanes_of(left_behind) & (row == gathered)] = left_behind

    def waits_with(self, g: Group, group: Group) -> bool:
        """Whether two groups wait at the same barrier for the same threads."""
        if not isinstance(group.waits, Convergence) or g.waits != group.waits:
            return False
        row = self.gathered[group.waits.number]
        return bool(row[g.lowest] == row[group.lowest]) and (group.waits.number != WARPSYNC or g.pc == group.pc)

    def park(self, mask: int, pc: int, waits: Waits | None = None) -> None:
        if mask:
            self.groups.append(Group(mask, pc, waits))

    def park_parts(self, mask: int, keys: Value, pcs: Value, waits: Waits) -> None:
        """Divide threads by their keys and park the parts: first those with the key of the lowest lane from the rest,
        then the rest in the same way. Of the two, that with fewer threads runs first, on a tie the former."""
        if not mask:
            return
        lane = Group(mask, 0).lowest
        same = mask & mask_of(keys == keys[lane])
        rest = mask & ~same
        if rest and rest.bit_count() < same.bit_count():
            self.park(same, int(pcs[lane]), waits)
            self.park_parts(rest, keys, pcs, waits)
        else:
            self.park_parts(rest, keys, pcs, waits)
            self.park(same, int(pcs[lane]), waits)
