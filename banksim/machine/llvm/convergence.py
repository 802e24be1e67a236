"""Convergence of the LLVM engine: how the groups of a warp wait for each other, and go on as one.

A convergence barrier holds, for each thread, the mask of those with which it converges. BSSY fills it, BSYNC waits;
WARPSYNC and the regions that it opens are waited for in the same way, each with a barrier of its own.
"""

from __future__ import annotations

import llvmlite.ir as ir

from banksim.kernels.kernel import Instruction
from banksim.machine.basic_blocks import target
from banksim.machine.codes import COLLECTIVE, WARPSYNC
from banksim.machine.llvm.control_flow import ControlFlow
from banksim.machine.llvm.scratch import TARGETS
from banksim.machine.llvm.values import INT, VOID, WORDS, Value, splat
from banksim.machine.state import WARP
from banksim.machine.supported import barrier_number


class Convergence(ControlFlow):
    """One method for each instruction that gathers threads of a warp."""

    def convergence(self, i: Instruction) -> ir.Value:
        return self.e.field(self.warp, WARP, "convergence", 32 * barrier_number(i))

    def masked(self, row: ir.Value, mask: ir.Value, lanes: ir.Value) -> None:
        """Store `mask` for each of `lanes` as the threads that the convergence barrier gathers."""
        e = self.e
        e.masked_store(row, e.as_bools(lanes), Value(e.builder, "u", 32, 1, mask).spread().ir)

    def gather(self, i: Instruction) -> None:
        """BSSY: the executing threads are to converge at the BSYNC of the same barrier."""
        self.masked(self.convergence(i), self.x.executing(), self.x.executing())

    def break_away(self, i: Instruction) -> None:
        """BREAK: at this barrier nobody waits any more for the executing threads (only for those whose predicate
        operand does not hold)."""
        e, x = self.e, self.x
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = x.executing() if condition is None else x.ballot(x.predicate(condition)).ir
        row = self.convergence(i)
        e.store(e.b.and_(e.load(row, WORDS), splat(e.b, e.b.not_(leaving))), row)

    def move_convergence(self, i: Instruction) -> None:
        """BMOV R, B saves a convergence barrier in a register, BMOV B, R restores it; each thread has its own value."""
        e, x = self.e, self.x
        row = self.convergence(i)
        to, source = i.operands[0], i.operands[-1]
        if to.kind == "B":
            held = e.field(self.warp, WARP, "convergence", 32 * source.number) if source.kind == "B" else None
            v = x.raw(source).spread().ir if held is None else e.load(held, WORDS)
            e.masked_store(row, e.as_bools(x.executing()), v)
        else:
            x.write(to, x.new("u", 32, 32, e.load(row, WORDS)))

    def converge(self, i: Instruction, next_pc: int) -> None:
        self.gather_at(barrier_number(i), i, next_pc)

    def warpsync(self, i: Instruction, next_pc: int) -> None:
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        mask = self.x.const(0xFFFFFFFF) if operand is None else self.x.value(operand)
        executing = self.x.executing()
        number = COLLECTIVE if "COLLECTIVE" in i.modifiers else WARPSYNC
        row = self.e.field(self.warp, WARP, "convergence", 32 * number)
        self.e.masked_store(row, self.e.as_bools(executing), mask.spread().ir)
        if number == COLLECTIVE:
            resume = splat(self.e.b, INT[32](target(i) or 0))
            self.e.masked_store(self.e.field(self.warp, WARP, "resume"), self.e.as_bools(executing), resume)
        if mask.lanes == 1:
            self.gather_at(number, i, next_pc)
            return
        all_here, split = self.e.b.append_basic_block("all_here"), self.e.b.append_basic_block("split")
        self.e.b.cbranch(self.none_missing(mask, executing, i), all_here, split)
        self.e.b.position_at_end(split)

        def act(threads: ir.Value) -> None:
            self.e.call("sync_by_mask", VOID, self.warp, threads, INT[32](next_pc), INT[32](number))
            self.e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)
        self.e.b.position_at_end(all_here)
        self.gather_at(number, i, next_pc)

    def end_collective(self, i: Instruction, next_pc: int) -> None:
        """ENDCOLLECTIVE: every thread jumps to the place that its own WARPSYNC.COLLECTIVE named."""
        e = self.e
        resume = self.x.new("u", 32, 32, e.load(e.field(self.warp, WARP, "resume"), WORDS))
        lane = self.x.first(resume)
        with e.b.if_then(e.everywhere((resume == lane).ir, e.b.not_(self.x.active_mask))):
            e.set(self.warp, WARP, "pc", lane.ir)
            e.b.branch(self.dispatch)
        where = self.x.scratch(TARGETS)
        e.store(resume.ir, where)
        e.call("end_collective", VOID, self.warp, self.x.active_mask, where)
        e.b.branch(self.resume)

    def none_missing(self, mask: Value, executing: ir.Value, i: Instruction) -> ir.Value:
        """Whether the whole group can go on past a WARPSYNC at which each thread has its own mask. WARPSYNC.EXCLUSIVE
        and .COLLECTIVE part threads with different masks; a plain WARPSYNC only asks that all named threads be here."""
        e = self.e
        if i.modifiers & {"EXCLUSIVE", "COLLECTIVE"}:
            return e.everywhere((mask == self.x.first(mask)).ir, e.b.not_(executing))
        live = e.get(self.warp, WARP, "live")
        elsewhere = e.b.and_(live, e.b.not_(executing))
        missing = mask & Value(e.builder, "u", 32, 1, elsewhere)
        return e.everywhere((missing == 0).ir, e.b.not_(executing))

    def gather_at(self, number: int, i: Instruction, next_pc: int) -> None:
        """Wait until all live threads that convergence barrier `number` gathers have come."""
        e = self.e

        def act(mask: ir.Value) -> None:
            row = e.field(self.warp, WARP, "convergence", 32 * number)
            lane = e.b.zext(e.first_lane(mask), INT[64])
            wanted = e.b.and_(e.load(e.at(row, lane, INT[32]), INT[32]), e.get(self.warp, WARP, "live"))
            missing = e.b.and_(wanted, e.b.not_(mask))
            together, wait = e.b.append_basic_block("together"), e.b.append_basic_block("wait")
            here = e.empty(missing)
            if number < WARPSYNC:
                alike = e.empty(e.get(self.warp, WARP, "mixed")) if i.predicate is None else INT[1](0)
                here = e.b.and_(here, alike)
            e.b.cbranch(here, together, wait)
            e.b.position_at_end(together)
            if number == COLLECTIVE:
                e.set(self.warp, WARP, "collected", mask)
            self.go_on(mask, i, next_pc)
            e.b.position_at_end(wait)
            if number < WARPSYNC:
                goes = e.call("meet", INT[32], self.context, self.warp, mask, INT[32](next_pc), INT[32](number))
                e.b.cbranch(e.empty(goes), self.scheduler, self.resume)
            else:
                self.put_aside(mask, INT[32](next_pc), number)
                e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)
