"""A warp of the reference machine: its groups of threads, and the control flow that splits and joins them.

The threads of a warp form groups. One group runs at a time, until its threads diverge at a branch, wait, or exit.
Groups join only where a convergence barrier (BSYNC, WARPSYNC) lets them go on together. Which group runs next was
measured on one H200: parked groups are a stack, and of the two sides of a divergent branch that with fewer threads runs
first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import BYTES, Instruction
from banksim.machine import codes
from banksim.machine.codes import COLLECTIVE, WARPSYNC
from banksim.machine.engine import Value
from banksim.machine.operations import OPERATIONS
from banksim.machine.operations.loads_and_stores import memory_operand
from banksim.machine.operations.mbarriers import over, try_wait
from banksim.machine.reference.block import Block
from banksim.machine.reference.engine import lanes_of, mask_of
from banksim.machine.reference.memory import MemoryEngine
from banksim.machine.supported import Naming, barrier_number
from banksim.requests.kinds import FULL_MASK, LANES

TURN = 4096
"""Instructions after which, at a backward jump, the other warps of the block run."""


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


@dataclass(eq=False)
class Group:
    """Threads that run together."""

    mask: int
    pc: int
    waits: Convergence | Phase | Word | OfCluster | Yielded | None = None

    @property
    def lowest(self) -> int:
        """Its lowest lane."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def behind(self) -> int:
        """The pc of the next instruction."""
        return self.pc + BYTES


class Warp(MemoryEngine):
    def __init__(self, block: Block, index: int) -> None:
        super().__init__(block, index)
        self.code = self.launch.kernel.instructions
        self.groups = [Group(self.live, 0)]
        """Those that do not run, the one parked last at the end."""
        self.gathered = np.zeros((codes.CONVERGENCE, LANES), np.uint32)
        """For each convergence barrier and thread, which threads the barrier gathers."""
        self.resume = np.zeros(LANES, np.uint32)
        """Where each thread goes on behind ENDCOLLECTIVE."""
        self.last_barrier = 0
        self.cluster_phase = 0
        """The phase that the cluster's barrier was in when the warp last arrived there."""

    @property
    def live(self) -> int:
        """The lanes whose threads have not left, as a mask."""
        return self.block.live_lanes[self.index]

    # ---- choosing what runs
    def run(self) -> bool:
        """Run groups until none is ready or the warp has had its turn; False if none was ready."""
        steps, progress = 0, False
        while (group := self.next()) is not None:
            progress = True
            while (after := self.step(group)) is not None:
                steps += 1
                if steps > (codes.SHORT_TURN if self.launch.cooperative else TURN) and after.pc <= group.pc:
                    self.groups.append(after)
                    return True
                group = after
            if self.code[group.pc // BYTES].name == "NANOSLEEP":
                return True
        return progress

    def next(self) -> Group | None:
        """Take the group that goes on from the stack: the last that is ready, else the last that has yielded."""
        self.join()
        for g in self.groups:
            if isinstance(g.waits, Phase):
                gone = self.block.barriers[g.waits.number].phase != g.waits.phase
            elif isinstance(g.waits, OfCluster):
                gone = self.block.cluster.phase != g.waits.phase
            else:
                gone = isinstance(g.waits, Word) and self.block.shared[g.waits.place + 7] >> 7 != g.waits.parity
            g.waits = None if gone else g.waits
        ready = [g for g in self.groups if g.waits is None] or [g for g in self.groups if g.waits == Yielded()]
        ready = ready or self.left_alone()
        if not ready:
            return None
        self.groups.remove(ready[-1])
        return Group(ready[-1].mask, ready[-1].pc)

    def left_alone(self) -> list[Group]:
        """Let a group at a WARPSYNC go on though threads which it names have not come, where all of those wait at a
        BSYNC and no other group can go on. Measured on one H200; numba-cuda's own reduction relies on it."""
        at = {g.mask: g.waits.number for g in self.groups if isinstance(g.waits, Convergence)}
        converging = sum(mask for mask, number in at.items() if number < WARPSYNC)
        row = self.gathered[WARPSYNC]
        return [
            g
            for g in self.groups
            if at.get(g.mask) == WARPSYNC and not int(row[g.lowest]) & self.live & ~g.mask & ~converging
        ]

    def join(self) -> None:
        """Join the groups at a convergence barrier where all the live threads that it gathers have come.

        A BSYNC does not wait for threads that have yielded.
        """
        yielded = sum(g.mask for g in self.groups if g.waits == Yielded())
        for group in reversed(self.groups.copy()):
            barrier = group.waits
            if group not in self.groups or not isinstance(barrier, Convergence):
                continue
            gathered = int(self.gathered[barrier.number, group.lowest])
            come = [g for g in self.groups if self.waits_with(g, group)]
            together = sum(g.mask for g in come)
            wanted = gathered & self.live & ~(yielded if barrier.number < WARPSYNC else 0)
            if wanted & ~together:
                continue
            for g in come:
                g.waits = None
                if g is not group and (g.pc == group.pc or barrier.number == COLLECTIVE):
                    group.mask |= g.mask
                    self.groups.remove(g)
            row = self.gathered[barrier.number]  # nobody waits there any more for those who have gone on
            row[lanes_of(gathered & ~together) & (row == gathered)] = gathered & ~together

    def waits_with(self, g: Group, group: Group) -> bool:
        """Whether two groups wait at the same barrier for the same threads."""
        if not isinstance(group.waits, Convergence) or g.waits != group.waits:
            return False
        row = self.gathered[group.waits.number]
        return bool(row[g.lowest] == row[group.lowest]) and (group.waits.number != WARPSYNC or g.pc == group.pc)

    def step(self, group: Group) -> Group | None:
        """Execute one instruction for a group; the group that goes on, if one does without being chosen."""
        if group.pc % BYTES or not 0 <= group.pc < BYTES * len(self.code):
            raise self.fault(codes.BAD_TARGET, 0)
        i = self.instruction = self.code[group.pc // BYTES]
        self.executing = lanes_of(group.mask)
        if i.predicate is not None:
            self.executing = self.executing & self.predicate(i.predicate)
        executing = mask_of(self.executing)
        if executing and try_wait(i) and not (self.executing & over(self, i)).any():
            address = int(self.first(self.address(memory_operand(i), False)))
            self.park(group.mask, group.pc, Word(address, int(self.first(self.raw(i.operands[-1]))) >> 31))
            return None
        self.block.count(i.pc, group.mask.bit_count(), executing.bit_count())
        if self.block.limit < 0:
            raise self.fault(codes.LIMIT, 0)
        with Naming(self.launch.kernel, i):
            if i.name in CONTROL:
                found: Group | None = getattr(self, CONTROL[i.name].does)(i, group, executing)
                return found
            OPERATIONS[i.name].function(self, i)
        return Group(group.mask, group.behind)

    # ---- branches: what goes on, or None once every part is parked
    def park(self, mask: int, pc: int, waits: Convergence | Phase | Word | OfCluster | Yielded | None = None) -> None:
        if mask:
            self.groups.append(Group(mask, pc, waits))

    def split(self, group: Group, taken: int, target: int) -> Group | None:
        """The threads of `taken` go to `target`, the rest to the instruction behind the branch. The part with fewer
        threads runs first, on a tie the rest."""
        rest = group.mask & ~taken
        if not taken or not rest:
            return Group(group.mask, target if taken else group.behind)
        parts = [(taken, target), (rest, group.behind)]
        for mask, pc in parts[::-1] if taken.bit_count() < rest.bit_count() else parts:
            self.park(mask, pc)
        return None

    def park_parts(self, mask: int, keys: Value, pcs: Value, waits: Convergence | None = None) -> None:
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

    def branch(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BRA. U.ANY: the whole group takes the branch if the guard holds for any of its threads. CONV: the whole group
        takes it if every live thread of the operand's mask is here and its guard holds (on sm_75, which has no operand:
        every live thread of the warp). DIV: if not."""
        target = next(o.number for o in i.operands if o.kind == "code")
        if i.modifiers & {"DIV", "CONV"}:
            named = next((self.value(o) for o in i.operands if o.kind in ("R", "UR", "imm")), FULL_MASK)
            mask = int(np.broadcast_to(named, LANES)[group.lowest])
            goes = bool(mask & self.live & ~executing) == ("DIV" in i.modifiers)
            return Group(group.mask, target if goes else group.behind)
        for o in i.operands:
            if o.kind in ("P", "UP"):
                executing &= int(self.ballot(self.predicate(o)))
        if "ANY" in i.modifiers and executing:
            executing = group.mask
        return self.split(group, executing, target)

    def scatter(self, group: Group, executing: int, targets: Value) -> Group | None:
        """Each thread goes to its own target."""
        targets = np.broadcast_to(targets, LANES)
        if executing == group.mask and len(np.unique(targets[self.executing])) == 1:
            return Group(group.mask, int(targets[group.lowest]))
        self.park(group.mask & ~executing, group.behind)
        self.park_parts(executing, targets, targets)
        return None

    def indirect(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BRX R, distance: counted from the next instruction."""
        register = next(o for o in i.operands if o.kind in ("R", "UR"))
        distance = next((o.number for o in i.operands if o.kind in ("imm", "code")), 0)
        return self.scatter(group, executing, self.raw(register) + ((distance + group.behind) & FULL_MASK))

    def call(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """CALL to a place, or to what a register holds plus a distance."""
        target = next((o.number for o in i.operands if o.kind == "code"), None)
        if target is not None:
            return self.split(group, executing, target)
        register = next(o for o in i.operands if o.kind in ("R", "UR"))
        distance = next((o.number for o in i.operands if o.kind == "imm"), 0)
        return self.scatter(group, executing, self.raw(register) + distance)

    def give_back(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """RET.REL: the register counts from the start of the function."""
        return self.scatter(group, executing, self.raw(i.operands[0]) + (i.base if "REL" in i.modifiers else 0))

    def exit(self, i: Instruction, group: Group, executing: int) -> Group | None:
        self.block.leave(self.index, executing)
        rest = group.mask & ~executing
        return Group(rest, group.behind) if rest else None

    # ---- convergence barriers
    def gather(self, i: Instruction, group: Group, executing: int) -> Group:
        """BSSY: the executing threads are to converge at the BSYNC of the same barrier."""
        self.gathered[barrier_number(i), self.executing] = executing
        return Group(group.mask, group.behind)

    def break_away(self, i: Instruction, group: Group, executing: int) -> Group:
        """BREAK: the barrier no longer waits for the executing threads (only those whose predicate operand holds)."""
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = executing if condition is None else int(self.ballot(self.predicate(condition)))
        if leaving:
            row = self.gathered[barrier_number(i)]
            together = int(row[Group(leaving, 0).lowest])
            row[lanes_of(together)] = together & ~leaving
        return Group(group.mask, group.behind)

    def move_convergence(self, i: Instruction, group: Group, executing: int) -> Group:
        """BMOV saves a convergence barrier in a register, or brings it back."""
        to, source = i.operands[0], i.operands[-1]
        if to.kind == "B":
            row = self.gathered[source.number] if source.kind == "B" else np.broadcast_to(self.raw(source), LANES)
            self.gathered[barrier_number(i), self.executing] = row[self.executing]
        else:
            self.write(to, self.gathered[barrier_number(i)])
        return Group(group.mask, group.behind)

    def converge(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BSYNC"""
        return self.wait(group, executing, barrier_number(i))

    def wait(self, group: Group, executing: int, barrier: int) -> Group | None:
        """Wait until all live threads that a convergence barrier gathers have come."""
        if not executing:
            return Group(group.mask, group.behind)
        self.park(group.mask & ~executing, group.behind)
        here = Group(executing, group.behind)
        if int(self.gathered[barrier, here.lowest]) & self.live & ~executing:
            self.park(executing, group.behind, Convergence(barrier))
            return None
        return here

    def warpsync(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """Each thread waits for those of its mask. If all of them are here, the whole group goes on; but
        WARPSYNC.EXCLUSIVE and .COLLECTIVE part threads with different masks. From a COLLECTIVE up to ENDCOLLECTIVE, all
        threads of a mask run as one group, wherever they came from."""
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        masks = np.broadcast_to(np.uint32(FULL_MASK) if operand is None else self.value(operand), LANES)
        barrier = COLLECTIVE if "COLLECTIVE" in i.modifiers else WARPSYNC
        self.gathered[barrier, self.executing] = masks[self.executing]
        if barrier == COLLECTIVE:
            self.resume[self.executing] = next((o.number for o in i.operands if o.kind == "code"), 0)
        different = np.unique(masks[self.executing])
        missing = any(int(m) & self.live & ~executing for m in different)
        if len(different) > 1 and (missing or i.modifiers & {"EXCLUSIVE", "COLLECTIVE"}):
            self.park(group.mask & ~executing, group.behind)
            self.park_parts(executing, masks, np.full(LANES, group.behind), Convergence(barrier))
            return None
        if not missing:
            return Group(group.mask, group.behind)
        return self.wait(group, executing, barrier)

    def end_collective(self, i: Instruction, group: Group, executing: int) -> Group | None:
        return self.scatter(group, executing, self.resume)

    # ---- the block's barriers, yields, traps
    def barrier(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BAR.SYNC and .RED wait, .ARV only counts; operands: the barrier, how many threads."""
        numbers = [int(self.first(self.raw(o))) for o in i.operands if o.kind in ("R", "UR", "imm")] or [0]
        number = numbers[0] % codes.BLOCK_BARRIERS
        reduction = next((m for m in ("AND", "OR", "POPC") if m in i.modifiers), "")
        votes = next((int(self.ballot(self.predicate(o))) for o in i.operands if o.kind == "P"), 0)
        phase = Phase(number, self.block.barriers[number].phase)
        self.park(group.mask & ~executing, group.behind)
        if executing:
            self.last_barrier = number
            self.park(executing, group.behind, None if "ARV" in i.modifiers else phase)
            expected = numbers[1] if len(numbers) > 1 else 0
            self.block.arrive(number, executing.bit_count(), expected, reduction, votes.bit_count())
        return None

    def barrier_result(self, i: Instruction, group: Group, executing: int) -> Group:
        """B2R.RESULT: the result of the reduction at the block barrier that the warp passed last."""
        result = self.block.barriers[self.last_barrier].result
        for o in i.operands:
            if o.kind == "P":
                self.write_predicate(o, np.bool_(result != 0))
            else:
                self.write(o, np.uint32(result))
        return Group(group.mask, group.behind)

    def cluster_arrive(self, i: Instruction, group: Group, executing: int) -> Group:
        """UCGABAR_ARV: the threads arrive at the barrier of their cluster, and go on."""
        self.cluster_phase = self.block.cluster.phase
        self.block.cluster.arrive(executing.bit_count())
        return Group(group.mask, group.behind)

    def cluster_wait(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """UCGABAR_WAIT: wait for the end of the phase in which the threads arrived."""
        self.park(group.mask & ~executing, group.behind)
        self.park(executing, group.behind, OfCluster(self.cluster_phase))
        return None

    def give_way(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """YIELD, NANOSLEEP: all other groups that can go on go first. Groups that yield to each other take turns."""
        if i.name == "YIELD" and not self.groups and executing == group.mask:
            return Group(group.mask, group.behind)
        self.park(group.mask & ~executing, group.behind)
        if executing:
            self.groups.insert(0, Group(executing, group.behind, Yielded()))
        return None

    sleep = give_way

    def trap(self, i: Instruction, group: Group, executing: int) -> Group:
        if executing:
            raise self.fault(codes.TRAP, Group(executing, 0).lowest)
        return Group(group.mask, group.behind)
