"""A warp of the reference machine: how it executes instructions, and the control flow that splits and joins threads."""

import numpy as np

from banksim.kernels.control_opcodes import CONTROL, Then, further_guards
from banksim.kernels.kernel import BYTES, Instruction
from banksim.machine import codes, doubts, faults
from banksim.machine.basic_blocks import touches_memory
from banksim.machine.codes import COLLECTIVE, WARPSYNC
from banksim.machine.engine import Value
from banksim.machine.operations import OPERATIONS
from banksim.machine.operations.loads_and_stores import memory_operand
from banksim.machine.operations.mbarriers import over, try_wait
from banksim.machine.reference.engine import lanes_of, mask_of, spread
from banksim.machine.reference.groups import (
    Apart,
    Convergence,
    Group,
    Groups,
    OfCluster,
    Phase,
    Word,
    Yielded,
    waits_at_bsync,
)
from banksim.machine.supported import Naming, barrier_number, in_one_register
from banksim.requests.kinds import FULL_MASK, LANES

TURN = 4096
"""Instructions after which, at a backward jump, the other warps of the block run."""


class Warp(Groups):
    """A method for each control-flow instruction (kernels/control_opcodes.py) gives the group that goes on, or None."""

    running: Group | None = None
    """The group that goes on when it is the warp's turn again."""

    def run(self) -> bool:
        """Run groups until none is ready or the warp has had its turn; False if none was ready."""
        steps, progress = 0, False
        while (group := self.running or self.next()) is not None:
            self.running, progress = None, True
            while (after := self.step(group)) is not None:
                steps += 1
                if steps > (codes.SHORT_TURN if self.launch.cooperative else TURN) and after.pc <= group.pc:
                    self.running = after
                    return True
                group = after
            if self.code[group.pc // BYTES].name == "NANOSLEEP":
                return True
        return progress

    def step(self, group: Group) -> Group | None:
        """Execute one instruction for a group; the group that goes on, if one does without being chosen."""
        if faults.nowhere(self.launch.kernel, group.pc):
            raise self.fault(codes.BAD_TARGET, group.lowest, message=faults.astray(group.pc), placed=False)
        i = self.instruction = self.code[group.pc // BYTES]
        self.executing, executing = lanes_of(group.mask), group.mask
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
                if not executing and CONTROL[i.name].then == Then.NEXT:
                    return Group(group.mask, group.behind)
                for o in further_guards(i):
                    executing &= int(self.ballot(self.predicate(o)))
                found: Group | None = getattr(self, CONTROL[i.name].does)(i, group, executing)
                return found
            OPERATIONS[i.name].function(self, i)
            if touches_memory(i):
                self.slot = None
        return Group(group.mask, group.behind)

    # ---- branches: what goes on, or None once every part is parked
    def go_on(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """The threads that have executed an instruction at which they need not wait go on: as the group, or, where a
        guard may have kept some of it from executing, with those if the scheduler lets them."""
        if i.predicate is None:
            return Group(group.mask, group.behind)
        self.park(executing, group.behind)
        return None

    def split(self, group: Group, taken: int, target: int) -> Group | None:
        """The threads of `taken` go to `target`, the rest to the instruction behind the branch. The part with fewer
        threads runs first, on a tie the rest."""
        rest = group.mask & ~taken
        if not taken or not rest:
            return Group(group.mask, target if taken else group.behind)
        there, behind = Group(taken, target), Group(rest, group.behind)
        first, self.slot = (there, behind) if taken.bit_count() < rest.bit_count() else (behind, there)
        self.groups.append(self.slot)
        return first

    def branch(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BRA. U.ANY: the whole group takes the branch if the guard holds for any of its threads. CONV: the whole group
        takes it if every live thread of the operand's mask is here and its guard holds (on sm_75, which has no operand:
        every live thread of the warp). DIV: if not."""
        target = next(o.number for o in i.operands if o.kind == "code")
        if i.modifiers & {"DIV", "CONV"}:
            named = next((self.value(o) for o in i.operands if o.kind in ("R", "UR", "imm")), FULL_MASK)
            mask = int(spread(named)[group.lowest])
            goes = bool(mask & self.live & ~executing) == ("DIV" in i.modifiers)
            return Group(group.mask, target if goes else group.behind)
        if "ANY" in i.modifiers and executing:
            executing = group.mask
        return self.split(group, executing, target)

    def scatter(self, group: Group, executing: int, targets: Value, first: int = 0) -> Group | None:
        """Each thread goes to its own target: before others those of `first`, which have one target."""
        targets = spread(targets)
        if not executing:
            return Group(group.mask, group.behind)
        self.park(group.mask & ~executing, group.behind)
        if len(np.unique(targets[self.executing])) == 1:
            return Group(executing, int(self.first(targets)))
        self.park_parts(executing & ~first, targets, targets, Apart())
        if first:
            self.park(first, int(targets[Group(first, 0).lowest]), Apart())
        self.slot = None
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
        cluster = self.block.cluster
        if self.cluster_phase == cluster.phase:  # they are awaited no more, nor do they stand for others
            cluster.arrived -= (self.cluster_arrived & executing).bit_count()
        self.block.leave(self.index, executing)
        for g in self.groups:
            g.waits = None if executing and g.waits == Yielded() else g.waits
        rest = group.mask & ~executing
        return Group(rest, group.behind) if rest else None

    # ---- convergence barriers
    def gather(self, i: Instruction, group: Group, executing: int) -> Group:
        """BSSY: the executing threads are to converge at the BSYNC of the same barrier."""
        self.barriers[barrier_number(i)] |= executing
        return Group(group.mask, group.behind)

    def break_away(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BREAK: at this barrier nobody waits any more for the executing threads (only for those whose predicate
        operand does not hold). If all others that it gathers wait, they go on, as one group where they wait at one
        BSYNC, and before this group where they are fewer."""
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = executing if condition is None else int(self.ballot(self.predicate(condition)))
        number = barrier_number(i)
        self.barriers[number] &= ~leaving
        rest = self.barriers[number] & self.live
        if rest & ~sum(g.mask for g in self.groups if isinstance(g.waits, Convergence)):
            return Group(group.mask, group.behind)
        first, released = None, 0
        while g := next((g for g in reversed(self.groups) if waits_at_bsync(g) and g.mask & rest), None):
            if g.waits != Convergence(number):
                self.doubt(i.pc, doubts.ELSEWHERE)
            come = self.come_to(g) | g.mask
            self.release(g, come)
            first, released = first or g, released | come
        self.barriers[number] = 0
        self.slot = first or self.slot
        if released.bit_count() < group.mask.bit_count() and first:
            self.park(group.mask, group.behind)
            return None
        return Group(group.mask, group.behind)

    def move_convergence(self, i: Instruction, group: Group, executing: int) -> Group:
        """BMOV R, B saves a convergence barrier in a register, and CLEAR empties it; BMOV B, R restores it, to what the
        lowest executing thread holds."""
        to, source = i.operands[0], i.operands[-1]
        if to.kind == "B":
            held = self.barriers[source.number] if source.kind == "B" else int(self.first(self.raw(source)))
            self.barriers[to.number] = held
        else:
            self.write(to, np.uint32(self.barriers[barrier_number(i)]))
            if "CLEAR" in i.modifiers:
                self.barriers[barrier_number(i)] = 0
        return Group(group.mask, group.behind)

    def converge(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BSYNC: threads wait until all live threads that the barrier gathers have come. Those that complete it go on
        at once, together with those that waited; so do threads that the barrier does not gather."""
        number = barrier_number(i)
        self.park(group.mask & ~executing, group.behind)
        again = sum(g.mask for g in self.again if g.waits == Convergence(number) and g.pc == group.behind)
        gathers, self.again = self.barriers[number], []
        if gathers & self.live and executing & ~gathers:
            self.doubt(i.pc, doubts.FOREIGN)
        last = Group(executing, group.behind, Convergence(number))
        self.groups.append(last)
        goes, come = executing | again, self.come_to(last)
        if self.still_missing(last, goes | come):
            goes &= ~gathers
            if not goes & executing:
                return None
            self.release(last, goes)
        elif gathers & goes:
            if gathers & self.live & ~come & ~goes:
                self.doubt(i.pc, doubts.ELSEWHERE)
            elsewhere = any(waits_at_bsync(g) and g.mask & gathers & ~come & ~goes for g in self.groups)
            self.release(last, goes | come)
            gathers = 0
            if elsewhere:
                self.try_again()
        else:
            self.release(last, goes)
        self.barriers[number] = gathers
        self.groups.remove(last)
        return Group(last.mask, last.pc)

    def warpsync(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """Each thread waits for those of its mask. If all of them are here, the whole group goes on; but
        WARPSYNC.EXCLUSIVE and .COLLECTIVE part threads with different masks. From a COLLECTIVE up to ENDCOLLECTIVE, all
        threads of a mask run as one group, wherever they came from."""
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        masks = spread(np.uint32(FULL_MASK) if operand is None else self.value(operand))
        barrier = COLLECTIVE if "COLLECTIVE" in i.modifiers else WARPSYNC
        self.named[barrier - WARPSYNC, self.executing] = masks[self.executing]
        if barrier == COLLECTIVE:
            self.resume[self.executing] = next((o.number for o in i.operands if o.kind == "code"), 0)
        different = np.unique(masks[self.executing])
        missing = any(int(m) & self.live & ~executing for m in different)
        self.park(group.mask & ~executing, group.behind)
        if missing or (len(different) > 1 and i.modifiers & {"EXCLUSIVE", "COLLECTIVE"}):
            self.park_parts(executing, masks, np.full(LANES, group.behind), Convergence(barrier))
            return None
        if barrier == COLLECTIVE:
            self.collected = executing
        return self.go_on(i, group, executing)

    def end_collective(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """Each thread goes to the place that its own WARPSYNC.COLLECTIVE named; those that came to it last go first."""
        return self.scatter(group, executing, self.resume, executing & self.collected)

    # ---- the block's barriers, yields, traps
    def barrier(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """BAR.SYNC and .RED wait, .ARV only counts; operands: the barrier, how many threads. The threads that complete
        the barrier go on at once."""
        numbers = [int(self.first(self.raw(o))) for o in i.operands if o.kind in ("R", "UR", "imm")] or [0]
        number = numbers[0] % codes.BLOCK_BARRIERS
        reduction = next((m for m in ("AND", "OR", "POPC") if m in i.modifiers), "")
        votes = next((int(self.ballot(self.predicate(o))) for o in i.operands if o.kind == "P"), 0)
        phase = Phase(number, self.block.barriers[number].phase)
        self.park(group.mask & ~executing, group.behind)
        self.last_barrier = number
        expected = (numbers[1] if len(numbers) > 1 else 0) >> codes.THREADS_BIT * in_one_register(i)
        expected &= codes.BARRIER_THREADS
        if executing and expected % LANES:
            raise self.fault(codes.BAD_COUNT, Group(executing, 0).lowest)
        self.block.arrive(number, executing.bit_count(), expected, reduction, votes.bit_count())
        if "ARV" in i.modifiers or self.block.barriers[number].phase != phase.phase:
            return self.go_on(i, group, executing)
        self.park(executing, group.behind, phase)
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
        cluster = self.block.cluster
        if self.cluster_phase != cluster.phase:
            self.cluster_phase, self.cluster_arrived = cluster.phase, 0
        self.cluster_arrived |= executing
        cluster.arrive(executing.bit_count())
        return Group(group.mask, group.behind)

    def cluster_wait(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """UCGABAR_WAIT: wait for the end of the phase in which the threads arrived."""
        self.park(group.mask & ~executing, group.behind)
        if self.block.cluster.phase != self.cluster_phase:
            return self.go_on(i, group, executing)
        self.park(executing, group.behind, OfCluster(self.cluster_phase))
        return None

    def give_way(self, i: Instruction, group: Group, executing: int) -> Group | None:
        """YIELD, NANOSLEEP: all other groups that can go on go first. Groups that yield to each other take turns."""
        if i.name == "YIELD" and not self.groups and i.predicate is None:
            return Group(group.mask, group.behind)
        self.park(group.mask & ~executing, group.behind)
        self.groups.insert(0, Group(executing, group.behind, Yielded()))
        return None

    sleep = give_way

    def trap(self, i: Instruction, group: Group, executing: int) -> Group:
        if executing:
            raise self.fault(codes.TRAP, Group(executing, 0).lowest)
        return Group(group.mask, group.behind)
