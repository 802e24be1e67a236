"""A warp of the reference machine: its groups of threads, and the control flow that parts and joins them.

Threads of a warp form groups. A group runs until its threads part at a branch, wait, or leave; groups join
only where a convergence barrier (BSYNC, WARPSYNC) lets them go on together. One group runs at a time; when it
stops, the ready one with the lowest pc goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from banksim.errors import UnsupportedError
from banksim.sass import state
from banksim.sass.check import refused
from banksim.sass.engine import Value
from banksim.sass.operations import OPERATIONS
from banksim.sass.program import BYTES, Instruction
from banksim.sass.reference.engine import lanes_of, mask_of
from banksim.sass.reference.memory import MemoryEngine
from banksim.trace import FULL_MASK, LANES

if TYPE_CHECKING:
    from banksim.sass.reference import Block

TURN = 4096
"""Instructions after which, at a jump backward, others get their chance: so spinning on a lock ends."""


@dataclass(frozen=True)
class Convergence:
    """What a group waits for: the threads that convergence barrier `number` gathers …"""

    number: int


@dataclass(frozen=True)
class Phase:
    """… the end of this phase of the block's barrier `number` …"""

    number: int
    phase: int


@dataclass(frozen=True)
class Turn:
    """… or nothing, but others go first."""


def lowest(mask: int) -> int:
    """The lowest lane of a mask."""
    return (mask & -mask).bit_length() - 1


@dataclass(eq=False)
class Group:
    """Threads that run together."""

    mask: int
    pc: int
    waits: Convergence | Phase | Turn | None = None


class Warp(MemoryEngine):
    def __init__(self, block: Block, index: int) -> None:
        super().__init__(block, index)
        self.code = self.launch.kernel.instructions
        self.live = mask_of(self.thread < self.launch.threads)
        self.groups = [Group(self.live, 0)]
        self.gathered = np.zeros((state.CONVERGENCE, LANES), np.uint32)
        """For each convergence barrier and thread, which threads the barrier gathers."""
        self.last_barrier = 0
        self.last_turn: tuple[int, int, bytes] | None = None

    # ---- choosing what runs
    def run(self) -> bool:
        """Run groups until none is ready or the warp has had its turn; False if none was ready."""
        steps, progress = 0, False
        while (group := self.next()) is not None:
            progress, goes_on = True, True
            while goes_on:
                before, groups = group.pc, len(self.groups)
                self.step(group)
                steps += 1
                goes_on = group in self.groups and group.waits is None and len(self.groups) <= groups
                if steps > TURN and goes_on and group.pc <= before:
                    self.give_up_turn(group)
                    return True
        return progress

    def give_up_turn(self, group: Group) -> None:
        """A group has run long enough. If its registers are what they were when it last gave up its turn here, it
        spins: then threads that wait for it to converge go on without it, as the hardware guarantees."""
        group.waits = Turn()
        turn = group.pc, group.mask, self.files["R"][:, lanes_of(group.mask)].tobytes()
        if turn == self.last_turn:
            for g in self.groups:
                if isinstance(g.waits, Convergence):
                    g.waits = None
                    self.gathered &= np.uint32(FULL_MASK & ~g.mask)
        self.last_turn = turn

    def next(self) -> Group | None:
        self.join()
        for g in self.groups:
            if isinstance(g.waits, Phase) and self.block.barriers[g.waits.number].phase != g.waits.phase:
                g.waits = None
        ready = [g for g in self.groups if g.waits is None] or [g for g in self.groups if g.waits == Turn()]
        for g in self.groups:
            g.waits = None if g.waits == Turn() else g.waits
        return min(ready, key=lambda g: g.pc, default=None)

    def join(self) -> None:
        """Let groups go on as one where every live thread that a convergence barrier gathers has come."""
        for group in list(self.groups):
            if group not in self.groups or not isinstance(group.waits, Convergence):
                continue
            gathered = self.gathered_by(group, group.waits)
            waiting = [g for g in self.groups if g.waits == group.waits]
            waiting = [g for g in waiting if self.gathered_by(g, group.waits) == gathered]
            wanted = gathered & self.live
            if wanted & ~sum(g.mask for g in waiting):
                continue
            group.waits = None
            for g in waiting:
                if g is group or not g.mask & wanted:
                    continue
                if g.pc == group.pc:
                    group.mask |= g.mask
                    self.groups.remove(g)
                else:
                    g.waits = None

    def gathered_by(self, group: Group, barrier: Convergence) -> int:
        """The threads that a convergence barrier gathers for this group."""
        return int(self.gathered[barrier.number, lowest(group.mask)])

    def step(self, group: Group) -> None:
        """Execute one instruction for a group."""
        if group.pc % BYTES or not 0 <= group.pc < BYTES * len(self.code):
            raise self.fault(state.BAD_TARGET, 0)
        i = self.instruction = self.code[group.pc // BYTES]
        self.executing = lanes_of(group.mask)
        if i.predicate is not None:
            self.executing = self.executing & self.predicate(i.predicate)
        executing = mask_of(self.executing)
        self.block.count(i.pc, group.mask.bit_count(), executing.bit_count())
        if self.block.limit < 0:
            raise self.fault(state.LIMIT, 0)
        if i.name in CONTROL:
            CONTROL[i.name](self, i, group, executing)
        else:
            try:
                OPERATIONS[i.name].function(self, i)
            except UnsupportedError as error:
                raise refused(self.launch.kernel, i, str(error)) from None
            group.pc += BYTES

    # ---- control flow: each moves the group on by its pc, parts it, or makes it wait
    def part(self, group: Group, mask: int, pc: int, waits: Convergence | Phase | Turn | None = None) -> None:
        """Threads `mask` of a group go to `pc`; the others to the next instruction."""
        rest, behind = group.mask & ~mask, group.pc + BYTES
        if not mask:
            group.pc = behind
            return
        group.mask, group.pc, group.waits = mask, pc, waits
        if rest:
            self.groups.append(Group(rest, behind))

    def branch(self, i: Instruction, group: Group, executing: int) -> None:
        """BRA; BRA.DIV: only if some live threads of the operand's mask are not here."""
        target = next(o.number for o in i.operands if o.kind == "code")
        if "DIV" in i.modifiers:
            mask = int(self.first(self.value(next(o for o in i.operands if o.kind in ("R", "UR", "imm")))))
            executing = executing if mask & self.live & ~executing else 0
        for o in i.operands:
            if o.kind in ("P", "UP"):
                executing &= int(self.ballot(self.predicate(o)))
        self.part(group, executing, target)

    def indirect(self, i: Instruction, group: Group, executing: int) -> None:
        """BRX R, distance: counted from the next instruction."""
        register = next(o for o in i.operands if o.kind in ("R", "UR"))
        distance = next((o.number for o in i.operands if o.kind in ("imm", "code")), 0)
        self.scatter(group, executing, self.raw(register) + ((distance + i.pc + BYTES) & FULL_MASK))

    def call(self, i: Instruction, group: Group, executing: int) -> None:
        """CALL to a place, or to what a register holds plus a distance."""
        target = next((o.number for o in i.operands if o.kind == "code"), None)
        if target is not None:
            self.part(group, executing, target)
        else:
            register = next(o for o in i.operands if o.kind in ("R", "UR"))
            distance = next((o.number for o in i.operands if o.kind == "imm"), 0)
            self.scatter(group, executing, self.raw(register) + distance)

    def give_back(self, i: Instruction, group: Group, executing: int) -> None:
        """RET.REL: the register counts from the start of the function."""
        self.scatter(group, executing, self.raw(i.operands[0]) + (i.base if "REL" in i.modifiers else 0))

    def scatter(self, group: Group, executing: int, targets: Value) -> None:
        """Each thread goes to its own target."""
        targets = np.broadcast_to(targets, LANES)
        self.part(group, executing, group.pc)
        if executing:
            self.groups.remove(group)
            for pc in np.unique(targets[lanes_of(executing)]):
                self.groups.append(Group(executing & mask_of(targets == pc), int(pc)))

    def exit(self, i: Instruction, group: Group, executing: int) -> None:
        self.live &= ~executing
        group.mask &= ~executing
        group.pc += BYTES
        if not group.mask:
            self.groups.remove(group)
        for barrier in self.block.barriers:
            if not barrier.expected:
                self.block.complete(barrier)

    def gather(self, i: Instruction, group: Group, executing: int) -> None:
        """BSSY: its threads are to meet at BSYNC."""
        self.gathered[i.operands[0].number, self.executing] = executing
        group.pc += BYTES

    def meet(self, i: Instruction, group: Group, executing: int) -> None:
        """BSYNC"""
        barrier = next(o.number for o in i.operands if o.kind == "B")
        self.part(group, executing, group.pc + BYTES, Convergence(barrier))

    def break_away(self, i: Instruction, group: Group, executing: int) -> None:
        """BREAK: its threads (where the operand says so) no longer count at the barrier."""
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = executing if condition is None else int(self.ballot(self.predicate(condition)))
        if leaving:
            row = self.gathered[next(o.number for o in i.operands if o.kind == "B")]
            together = int(row[lowest(leaving)])
            row[lanes_of(together)] = together & ~leaving
        group.pc += BYTES

    def move_convergence(self, i: Instruction, group: Group, executing: int) -> None:
        """BMOV saves a convergence barrier in a register, or brings it back."""
        to, source = i.operands[0], i.operands[-1]
        if to.kind == "B":
            row = np.broadcast_to(self.raw(source), LANES)
            self.gathered[to.number, self.executing] = row[self.executing]
        else:
            self.write(to, self.gathered[source.number])
        group.pc += BYTES

    def warpsync(self, i: Instruction, group: Group, executing: int) -> None:
        """Each thread waits for those of its mask. Threads that are all here already go on as they are, unless an
        EXCLUSIVE one has to part threads of different masks."""
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        masks = np.broadcast_to(np.uint32(FULL_MASK) if operand is None else self.value(operand), LANES)
        row = self.gathered[state.WARPSYNC]
        row[self.executing] = masks[self.executing]
        behind = group.pc + BYTES
        different = np.unique(masks[self.executing])
        missing = any(int(m) & self.live & ~executing for m in different)
        self.part(group, executing, behind, Convergence(state.WARPSYNC))
        if len(different) > 1 and (missing or "EXCLUSIVE" in i.modifiers):
            self.groups.remove(group)
            for m in different:
                mask = executing & mask_of(masks == m)
                self.groups.append(Group(mask, behind, Convergence(state.WARPSYNC)))
        elif executing and not missing:
            group.waits = None

    def barrier(self, i: Instruction, group: Group, executing: int) -> None:
        """BAR.SYNC and .RED wait, .ARV only counts; operands: the barrier, how many threads."""
        numbers = [int(self.first(self.raw(o))) for o in i.operands if o.kind in ("R", "UR", "imm")] or [0]
        number = numbers[0] % state.BLOCK_BARRIERS
        reduction = next((m for m in ("AND", "OR", "POPC") if m in i.modifiers), "")
        votes = next((int(self.ballot(self.predicate(o))) for o in i.operands if o.kind == "P"), 0)
        self.last_barrier = number
        phase = Phase(number, self.block.barriers[number].phase)
        self.part(group, executing, group.pc + BYTES, None if "ARV" in i.modifiers else phase)
        if executing:
            expected = numbers[1] if len(numbers) > 1 else 0
            self.block.arrive(number, executing.bit_count(), expected, reduction, votes.bit_count())

    def barrier_result(self, i: Instruction, group: Group, executing: int) -> None:
        """B2R.RESULT: what the reduction at the barrier passed last gave."""
        result = self.block.barriers[self.last_barrier].result
        for o in i.operands:
            if o.kind == "P":
                self.write_predicate(o, np.bool_(result != 0))
            else:
                self.write(o, np.uint32(result))
        group.pc += BYTES

    def sleep(self, i: Instruction, group: Group, executing: int) -> None:
        self.part(group, executing, group.pc + BYTES, Turn())

    def go_on(self, i: Instruction, group: Group, executing: int) -> None:
        group.pc += BYTES

    def trap(self, i: Instruction, group: Group, executing: int) -> None:
        if executing:
            raise self.fault(state.TRAP, lowest(executing))
        group.pc += BYTES


CONTROL: dict[str, Callable[[Warp, Instruction, Group, int], None]] = {
    "BRA": Warp.branch,
    "JMP": Warp.branch,
    "BRX": Warp.indirect,
    "CALL": Warp.call,
    "RET": Warp.give_back,
    "EXIT": Warp.exit,
    "BSSY": Warp.gather,
    "BSYNC": Warp.meet,
    "BREAK": Warp.break_away,
    "BMOV": Warp.move_convergence,
    "WARPSYNC": Warp.warpsync,
    "BAR": Warp.barrier,
    "B2R": Warp.barrier_result,
    "ENDCOLLECTIVE": Warp.go_on,
    "NANOSLEEP": Warp.sleep,
    "YIELD": Warp.go_on,
    "BPT": Warp.trap,
}
