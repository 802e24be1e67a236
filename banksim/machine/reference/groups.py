"""The groups of threads of a warp of the reference machine: which of them runs, what the others wait for, which join.

One group runs at a time, until its threads diverge at a branch, wait, yield, or exit. Which then goes on, and which
others join it, was measured on one H200: tests/machine/test_hardware.py.
"""

from dataclasses import dataclass

import numpy as np

from banksim.kernels.kernel import BYTES
from banksim.machine import codes, doubts
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


def waits_at_bsync(g: Group) -> bool:
    return isinstance(g.waits, Convergence) and g.waits.number < WARPSYNC


class Groups(MemoryEngine):
    """Those of one warp, and its registers and memory."""

    def __init__(self, block: Block, index: int) -> None:
        super().__init__(block, index)
        self.code = self.launch.kernel.instructions
        self.groups = [Group(self.live, 0)]
        """Those that do not run, the one parked last at the end."""
        self.barriers = [0] * codes.WARPSYNC
        """For each convergence barrier, which threads it gathers."""
        self.named = np.zeros((codes.CONVERGENCE - codes.WARPSYNC, LANES), np.uint32)
        """For each thread, which threads its last WARPSYNC named, and its last WARPSYNC.COLLECTIVE."""
        self.resume = np.zeros(LANES, np.uint32)
        """Where each thread goes on behind ENDCOLLECTIVE."""
        self.collected = 0
        """The threads of the group that came last to the last collective region."""
        self.slot: Group | None = None
        """The part that the last branch parked: it goes on next, and alone."""
        self.again: list[Group] = []
        """Those that wait at the BSYNC where the group begins to run, and execute it again with it."""
        self.last_barrier = 0
        self.cluster_phase = 0
        """The phase that the cluster's barrier was in when the warp last arrived there."""
        self.cluster_arrived = 0
        """The threads of the warp that have arrived in that phase."""

    @property
    def live(self) -> int:
        """The lanes whose threads have not left, as a mask."""
        return self.block.live_lanes[self.index]

    def next(self) -> Group | None:
        """Take the group that goes on. The part that the last branch parked goes first, and alone. Else groups are a
        stack: of those that are ready the one parked last goes on, with all that are ready at the same pc (not inside
        functions, where calls may differ). If none is ready, the one that yielded first."""
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
        ready = ready or self.stuck() or [g for g in self.groups if g.waits == Yielded()]
        if not ready:
            return None
        first = self.slot if self.slot in ready else ready[-1]
        alone = first is self.slot or first.waits not in (None, Yielded())
        together = [g for g in self.groups if g is first or (not alone and (g.pc, g.waits) == (first.pc, first.waits))]
        if len(together) > 1:
            self.doubt(first.pc, doubts.YIELDED if first.waits == Yielded() else doubts.JOINED)
        for g in self.groups:
            if g.waits == Yielded() != first.waits:
                self.doubt(g.pc - BYTES, doubts.GAVE_WAY)
        self.again = [g for g in self.groups if not alone and waits_at_bsync(g) and g.pc == first.behind]
        self.groups = [g for g in self.groups if g not in together]
        self.slot = None
        return Group(sum(g.mask for g in together), first.pc)

    def stuck(self) -> list[Group]:
        """Let a group at a BSYNC go on though threads which it gathers have not come, since no other can but those that
        have yielded: the last that came."""
        if all(g.waits == Yielded() or isinstance(g.waits, Convergence) for g in self.groups):
            for g in reversed(self.groups):
                if waits_at_bsync(g):
                    self.doubt(g.pc - BYTES, doubts.STUCK)
                    self.release(g, self.come_to(g) | g.mask)
                    self.try_again()
                    return [g]
        return []

    def try_again(self) -> None:
        """All groups at a BSYNC are to execute it again."""
        for g in self.groups:
            if waits_at_bsync(g):
                g.waits, g.pc = None, g.pc - BYTES

    def join(self) -> None:
        """Join the groups at a convergence barrier where all the live threads that it gathers have come."""
        for group in reversed(self.groups.copy()):
            if group in self.groups and isinstance(group.waits, Convergence):
                come = self.come_to(group)
                if waits_at_bsync(group):
                    gathers = self.barriers[group.waits.number]
                    if gathers and group.mask & ~gathers:
                        self.doubt(group.pc - BYTES, doubts.FOREIGN)
                    complete = bool(come & group.mask) and not self.barriers[group.waits.number] & self.live & ~come
                else:
                    complete = not self.still_missing(group, come)
                if complete:
                    self.release(group, come)

    def come_to(self, group: Group) -> int:
        """The threads that wait at the same convergence barrier as a group, and that it gathers; of a WARPSYNC, those
        that have named the same threads."""
        number = self.awaited(group)
        if number < WARPSYNC:
            return self.barriers[number] & sum(g.mask for g in self.groups if g.waits == group.waits)
        row = self.named[number - WARPSYNC]
        come = [g for g in self.groups if g.waits == group.waits and row[g.lowest] == row[group.lowest]]
        return sum(g.mask for g in come if number == COLLECTIVE or g.pc == group.pc)

    def still_missing(self, group: Group, come: int) -> int:
        """The threads for which a group still waits at its convergence barrier, of whose threads these have come."""
        number = self.awaited(group)
        if number >= WARPSYNC:
            return int(self.named[number - WARPSYNC, group.lowest]) & self.live & ~come
        blocked = sum(g.mask for g in self.groups if isinstance(g.waits, Convergence))
        return self.barriers[number] & self.live & ~come & ~blocked

    def awaited(self, group: Group) -> int:
        assert isinstance(group.waits, Convergence)
        return group.waits.number

    def release(self, group: Group, released: int) -> None:
        """The last group to come to its convergence barrier goes on with those that have come. Groups that came to the
        barrier at different pcs go on apart, unless it opens a collective region. A barrier that has released threads
        gathers none; at a WARPSYNC, threads left behind no longer wait for those released."""
        number, come = self.awaited(group), []
        if number == COLLECTIVE:
            self.collected = group.mask
        for g in self.groups.copy():
            if g.waits == group.waits and g.mask & released:
                self.keep_back(g, released)
                come.append(g)
        first = group.lowest
        for g in come:
            g.waits = Apart()
            if number < WARPSYNC and g.pc != group.pc:
                self.doubt(group.pc - BYTES, doubts.APART)
            if g is not group and (g.pc == group.pc or number == COLLECTIVE):
                group.mask |= g.mask
                self.groups.remove(g)
        if number < WARPSYNC:
            group.waits = None
            self.barriers[number] = 0
            return
        row = self.named[number - WARPSYNC]
        gathered = int(row[first])
        left_behind = gathered & ~released  # nobody waits there any more for those who have gone on
        row[lanes_of(left_behind) & (row == gathered)] = left_behind

    def keep_back(self, g: Group, released: int) -> None:
        """Part a group at a convergence barrier that gathers some of its threads only: the others wait on."""
        back = g.mask & ~released
        if back:
            self.groups.insert(self.groups.index(g), Group(back, g.pc, g.waits))
            g.mask &= released

    def doubt(self, pc: int, why: int) -> None:
        """What the hardware does at this instruction is not established."""
        doubts.add(self.launch.doubts, [(pc, why)])

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
