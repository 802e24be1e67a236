"""Control flow of the LLVM engine: how the threads of a warp branch, diverge, converge, wait and exit.

A group is a set of threads of one warp that execute together. Where all threads of a group take a branch, or none, the
code jumps. Where they diverge, a group is parked in the warp's record and the other goes on; where a group must wait,
the scheduler (llvm/scheduler.py) chooses another. So every path out of a basic block ends in one of three ways: with a
jump, with a call of the scheduler, or with a return from the warp's function (RUN, BLOCKED … of machine/codes.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes
from banksim.machine.basic_blocks import target
from banksim.machine.codes import READY
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.engine import LLVMEngine
from banksim.machine.llvm.scratch import TARGETS
from banksim.machine.llvm.values import INT, POINTER, VOID, Value
from banksim.machine.state import CONTEXT, ERROR, WARP
from banksim.requests.kinds import FULL_MASK


@dataclass(frozen=True, eq=False)
class Section:
    """One of the functions that a kernel becomes (llvm/sections.py)."""

    function: ir.Function
    active: ir.Value
    scheduler: ir.Block
    resume: ir.Block
    dispatch: ir.Block
    code: dict[int, ir.Block]


class ControlFlow:
    """One method for each instruction (kernels/control_opcodes.py) that goes elsewhere; those that wait are in
    llvm/convergence.py and llvm/block_barriers.py. `next_pc`: that of the instruction behind it."""

    kernel: Kernel
    stepwise: bool
    """Whether each call of the warp's function executes one instruction only, as timing wants it."""
    e: Emitter
    x: LLVMEngine
    context: ir.Value
    warp: ir.Value
    active: ir.Value
    """A stack slot (LLVM's alloca) that holds the mask of the running group."""
    scheduler: ir.Block
    resume: ir.Block
    """Reads the running group's mask and pc from the warp's record and jumps there."""
    dispatch: ir.Block
    """Jumps to the pc that the warp's record holds; the group stays as it is."""
    watched: bool
    """Whether the race check runs: then barriers are not inlined, since the scheduler's functions report them to it."""
    code: dict[int, ir.Block]
    """The basic block that begins at each pc, in the section that is being built."""
    section_of: dict[int, Section]
    """The section that has the basic block which begins at each pc."""

    # ---- going on
    def go(self, pc: int, source: int) -> None:
        """Jump with the whole group. A backward jump counts towards the warp's turn."""
        e = self.e
        if pc not in self.section_of:
            self.fault(codes.BAD_TARGET, INT[32](source), self.x.active_mask)
            return
        if self.stepwise:
            e.set(self.warp, WARP, "pc", INT[32](pc))
            e.b.branch(self.dispatch)
            return
        if pc <= source:
            self.take_turn(e.b.load(self.active), INT[32](pc), 1 + (source - pc) // BYTES)
        if pc in self.code:
            e.b.branch(self.code[pc])
            return
        e.set(self.warp, WARP, "pc", INT[32](pc))
        e.set(self.warp, WARP, "active", e.b.load(self.active))
        self.continue_in(self.section_of[pc].function)

    def continue_in(self, function: ir.Function) -> None:
        """Leave this function for another, which goes on with the group and at the pc that the warp's record names."""
        e = self.e
        e.b.ret(e.b.call(function, [self.context, self.warp], tail="musttail "))

    def take_turn(self, active: ir.Value, pc: ir.Value, instructions: int) -> None:
        """Count so many instructions towards the warp's turn. When the turn is over, other warps run before the group
        goes on at `pc`. Every loop comes here, so that none can run for ever."""
        e = self.e
        left = self.count_turn(instructions)
        with e.b.if_then(e.b.icmp_signed("<", left, INT[64](0)), likely=False):
            self.pause(active, pc)

    def count_turn(self, instructions: int) -> ir.Value:
        """Count so many instructions towards the warp's turn; how many are left."""
        e = self.e
        left = e.b.sub(e.get(self.context, CONTEXT, "turn"), INT[64](instructions))
        e.set(self.context, CONTEXT, "turn", left)
        return left

    def pause(self, active: ir.Value, pc: ir.Value) -> None:
        """Let other warps run; then this group goes on, whatever other groups of its warp could: how long a turn is
        must not decide which threads run together."""
        e = self.e
        e.set(self.warp, WARP, "active", active)
        e.set(self.warp, WARP, "pc", pc)
        e.set(self.warp, WARP, "running", INT[32](1))
        e.b.ret(INT[32](codes.SWITCH))

    def put_aside(self, mask: ir.Value, pc: ir.Value, wait: int | ir.Value, phase: ir.Value | None = None) -> None:
        """Park a group in the warp's record; `wait`: what it waits for (machine/codes.py)."""
        e = self.e
        n = e.get(self.warp, WARP, "groups")
        place = e.b.zext(n, INT[64])
        fields = {
            "group_mask": mask,
            "group_pc": pc,
            "group_wait": INT[32](wait) if isinstance(wait, int) else wait,
            "group_phase": phase or INT[32](0),
        }
        for name, v in fields.items():
            e.store(v, e.at(e.field(self.warp, WARP, name), place, INT[32]))
        e.set(self.warp, WARP, "groups", e.b.add(n, INT[32](1)))

    def split(self, taken: ir.Value, there: Callable[[], None], pc: ir.Value, next_pc: int, source: int) -> None:
        """The threads of `taken` go to `pc`, the rest of the group to `next_pc`. `there` emits the jump for the case
        that the whole group goes to `pc`."""
        e, active = self.e, self.x.active_mask
        all_go, some_go, none_go, part = (e.b.append_basic_block(n) for n in ("all", "some", "none", "part"))
        e.b.cbranch(e.b.icmp_unsigned("==", taken, active), all_go, some_go)
        e.b.position_at_end(all_go)
        there()
        e.b.position_at_end(some_go)
        e.b.cbranch(e.empty(taken), none_go, part)
        e.b.position_at_end(none_go)
        self.go(next_pc, source)
        e.b.position_at_end(part)
        rest = e.b.and_(active, e.b.not_(taken))
        e.call("part", VOID, self.warp, taken, pc, rest, INT[32](next_pc))
        e.b.branch(self.resume)

    def only_guarded(self, i: Instruction, next_pc: int, act: Callable[[ir.Value], None]) -> None:
        """Emit `act(mask)`, which ends the basic block, for threads whose guard holds; others go on at `next_pc`."""
        e = self.e
        if i.predicate is None:
            act(self.x.active_mask)
            return
        taken = self.x.executing()
        none, some = e.b.append_basic_block("none"), e.b.append_basic_block("some")
        e.b.cbranch(e.empty(taken), none, some)
        e.b.position_at_end(none)
        self.go(next_pc, i.pc)
        e.b.position_at_end(some)
        rest = e.b.and_(self.x.active_mask, e.b.not_(taken))
        with e.b.if_then(e.b.not_(e.empty(rest))):
            self.put_aside(rest, INT[32](next_pc), READY)
        act(taken)

    def go_on(self, mask: ir.Value, i: Instruction, next_pc: int) -> None:
        """The threads that have executed an instruction at which they need not wait go on: as the group, or, where a
        guard may have kept some of it from executing, with those if the scheduler lets them."""
        if i.predicate is None:
            self.go(next_pc, i.pc)
            return
        self.put_aside(mask, INT[32](next_pc), READY)
        self.e.b.branch(self.scheduler)

    def fault(self, code: int, pc: ir.Value, mask: ir.Value) -> None:
        e = self.e
        error = e.get(self.context, CONTEXT, "error", as_type=POINTER)
        e.set(error, ERROR, "code", INT[32](code))
        e.set(error, ERROR, "pc", pc)
        e.set(error, ERROR, "mask", mask)
        e.set(error, ERROR, "warp", e.get(self.warp, WARP, "index"))
        e.b.ret(INT[32](codes.FAULT + code))

    # ---- branches
    def branch(self, i: Instruction, next_pc: int) -> None:
        to = target(i)
        if to is None:
            raise UnsupportedError("a branch to a register")
        taken = self.x.executing()
        if i.modifiers & {"DIV", "CONV"}:
            taken = self.by_togetherness(i, taken)
        elif self.x.guard is None:
            self.go(to, i.pc)
            return
        elif "ANY" in i.modifiers:
            taken = self.e.b.select(self.e.empty(taken), taken, self.x.active_mask)
        self.split(taken, lambda: self.go(to, i.pc), INT[32](to), next_pc, i.pc)

    def by_togetherness(self, i: Instruction, executing: ir.Value) -> ir.Value:
        """The threads that take a BRA.DIV or BRA.CONV: all of the group or none. Together are the group's executing
        threads if they are all the live threads that the operand names (on sm_75, which has no operand, all live
        threads of the warp). BRA.CONV is taken if they are together, BRA.DIV if they are not."""
        e = self.e
        mask = next((self.x.value(o) for o in i.operands if o.kind in ("R", "UR", "imm")), self.x.const(FULL_MASK))
        wanted = e.b.and_(self.x.first(mask).ir, e.get(self.warp, WARP, "live"))
        together = e.empty(e.b.and_(wanted, e.b.not_(executing)))
        goes = together if "CONV" in i.modifiers else e.b.not_(together)
        return e.b.select(goes, self.x.active_mask, INT[32](0))

    def to_addresses(self, targets: Value, i: Instruction, next_pc: int) -> None:
        """Each executing thread jumps to its own address."""
        e = self.e

        def act(mask: ir.Value) -> None:
            where = self.x.scratch(TARGETS)
            e.store(targets.spread().ir, where)
            e.call("scatter", VOID, self.warp, mask, where)
            e.b.branch(self.resume)

        self.only_guarded(i, next_pc, act)

    def indirect(self, i: Instruction, next_pc: int) -> None:
        """BRX R, distance: the distance counts from the next instruction."""
        distance = next((o.number for o in i.operands if o.kind in ("imm", "code")), 0)
        register = next(o for o in i.operands if o.kind in ("R", "UR"))
        self.to_addresses(self.x.raw(register) + ((distance + i.pc + BYTES) & 0xFFFFFFFF), i, next_pc)

    def call(self, i: Instruction, next_pc: int) -> None:
        to = target(i)
        if to is None:
            register = next(o for o in i.operands if o.kind in ("R", "UR"))
            distance = next((o.number for o in i.operands if o.kind == "imm"), 0)
            self.to_addresses(self.x.raw(register) + distance, i, next_pc)
        elif self.x.guard is None:
            self.go(to, i.pc)
        else:
            self.split(self.x.executing(), lambda: self.go(to, i.pc), INT[32](to), next_pc, i.pc)

    def give_back(self, i: Instruction, next_pc: int) -> None:
        self.go_apart(self.x.raw(i.operands[0]) + (i.base if "REL" in i.modifiers else 0), i, next_pc)

    def go_apart(self, targets: Value, i: Instruction, next_pc: int) -> None:
        """Each thread returns to its own address; as one group where all have the same."""
        e = self.e
        lane = self.x.first(targets)
        same = e.everywhere((targets == lane).spread().ir, e.b.not_(self.x.active_mask))
        if i.predicate is None:
            with e.b.if_then(same):
                e.set(self.warp, WARP, "pc", lane.ir)
                e.b.branch(self.dispatch)
        self.to_addresses(targets, i, next_pc)

    def exit(self, i: Instruction, next_pc: int) -> None:
        e = self.e
        leaving = self.x.executing()
        rest = e.b.and_(self.x.active_mask, e.b.not_(leaving))
        if self.x.guard is not None:
            none, some = e.b.append_basic_block("none"), e.b.append_basic_block("some")
            e.b.cbranch(e.empty(leaving), none, some)
            e.b.position_at_end(none)
            self.go(next_pc, i.pc)
            e.b.position_at_end(some)
        e.call("leave", VOID, self.context, self.warp, leaving)
        if self.x.guard is None or next_pc not in self.section_of:
            e.b.branch(self.scheduler)
            return
        stay = e.b.append_basic_block("stay")
        e.b.cbranch(e.empty(rest), self.scheduler, stay)
        e.b.position_at_end(stay)
        e.b.store(rest, self.active)
        self.go(next_pc, i.pc)

    def give_way(self, i: Instruction, next_pc: int) -> None:
        """YIELD: the warp's other groups go first; else other warps, since this one may poll for what they do."""
        e = self.e

        def act(mask: ir.Value) -> None:
            alone, others = e.b.append_basic_block("alone"), e.b.append_basic_block("others")
            none = e.empty(e.get(self.warp, WARP, "groups"))
            e.b.cbranch(none if i.predicate is None else INT[1](0), alone, others)
            e.b.position_at_end(alone)
            if self.stepwise:
                self.go(next_pc, i.pc)
            else:
                self.count_turn(1)
                self.pause(mask, INT[32](next_pc))
            e.b.position_at_end(others)
            e.call("give_way", VOID, self.warp, mask, INT[32](next_pc))
            e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)

    def sleep(self, i: Instruction, next_pc: int) -> None:
        """NANOSLEEP: the other groups and warps go first."""
        e = self.e

        def act(mask: ir.Value) -> None:
            e.call("give_way", VOID, self.warp, mask, INT[32](next_pc))
            if self.stepwise:
                e.b.branch(self.scheduler)
                return
            self.count_turn(1)
            e.b.ret(INT[32](codes.SWITCH))

        self.only_guarded(i, next_pc, act)

    def trap(self, i: Instruction, next_pc: int) -> None:
        self.only_guarded(i, next_pc, lambda mask: self.fault(codes.TRAP, INT[32](i.pc), mask))
