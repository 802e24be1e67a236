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

from banksim.sass import state
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
                    group.waits = Turn()
                    return True
        return progress

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
            waiting = [g for g in self.groups if g.waits == group.waits]
            wanted = self.wanted(group, group.waits)
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

    def wanted(self, group: Group, barrier: Convergence) -> int:
        """The live threads that a convergence barrier gathers for this group."""
        lane = (group.mask & -group.mask).bit_length() - 1
        return int(self.gathered[barrier.number, lane]) & self.live

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
            OPERATIONS[i.name].function(self, i)
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
        target = next((o.number for o in i.operands if o.kind == "code"), None)
        if target is not None:
            self.part(group, executing, target)
        else:
            register = next(o for o in i.operands if o.kind in ("R", "UR"))
            self.scatter(group, executing, self.raw(register))

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
        self.gathered[next(o.number for o in i.operands if o.kind == "B")] &= np.uint32(FULL_MASK & ~leaving)
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
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        mask = np.uint32(FULL_MASK) if operand is None else self.value(operand)
        self.gathered[state.WARPSYNC, self.executing] = np.broadcast_to(mask, LANES)[self.executing]
        self.part(group, executing, group.pc + BYTES, Convergence(state.WARPSYNC))

    def barrier(self, i: Instruction, group: Group, executing: int) -> None:
        """BAR.SYNC and .RED wait, .ARV only counts; operands: the barrier, how many threads."""
        numbers = [int(self.first(self.raw(o))) for o in i.operands if o.kind in ("R", "UR", "imm")] or [0]
        number = numbers[0] % state.BLOCK_BARRIERS
        reduction = next((m for m in ("AND", "OR", "POPC") if m in i.modifiers), "")
        votes = next((int(self.ballot(self.predicate(o))) for o in i.operands if o.kind == "P"), 0)
        phase = Phase(number, self.block.barriers[number].phase)
        self.part(group, executing, group.pc + BYTES, None if "ARV" in i.modifiers else phase)
        if executing:
            expected = numbers[1] if len(numbers) > 1 else 0
            self.block.arrive(number, executing.bit_count(), expected, reduction, votes.bit_count())

    def barrier_result(self, i: Instruction, group: Group, executing: int) -> None:
        """B2R.RESULT: what the last reduction gave."""
        for o in i.operands:
            if o.kind == "P":
                self.write_predicate(o, np.bool_(self.block.result != 0))
            else:
                self.write(o, np.uint32(self.block.result))
        group.pc += BYTES

    def sleep(self, i: Instruction, group: Group, executing: int) -> None:
        self.part(group, executing, group.pc + BYTES, Turn())

    def go_on(self, i: Instruction, group: Group, executing: int) -> None:
        group.pc += BYTES

    def trap(self, i: Instruction, group: Group, executing: int) -> None:
        if executing:
            raise self.fault(state.TRAP, (executing & -executing).bit_length() - 1)
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
    "NANOSLEEP": Warp.sleep,
    "YIELD": Warp.go_on,
    "BPT": Warp.trap,
}
