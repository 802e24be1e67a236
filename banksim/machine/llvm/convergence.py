"""Convergence of the LLVM engine: how the groups of a warp wait for each other, and go on as one.

A convergence barrier (B0 to B15) holds the mask of the threads that it gathers, one for all threads of the warp. BSSY
adds the executing threads, BREAK takes them out, and BSYNC waits for the others. WARPSYNC and the regions that it opens
are waited for in the same way, for the threads that each thread has named.
"""

from banksim.kernels.kernel import Instruction
from banksim.machine.basic_blocks import target
from banksim.machine.codes import COLLECTIVE, WARPSYNC
from banksim.machine.llvm import ir
from banksim.machine.llvm.control_flow import ControlFlow
from banksim.machine.llvm.scratch import TARGETS
from banksim.machine.llvm.values import INT, VOID, WORDS, Value, splat
from banksim.machine.state import WARP
from banksim.machine.supported import barrier_number


class Convergence(ControlFlow):
    """One method for each instruction that gathers threads of a warp."""

    def barrier_mask(self, number: int) -> ir.Value:
        """The place of the mask of threads that a convergence barrier gathers."""
        return self.e.field(self.warp, WARP, "barriers", number)

    def gather(self, i: Instruction) -> None:
        """BSSY: the executing threads are to converge at the BSYNC of the same barrier."""
        e, mask = self.e, self.barrier_mask(barrier_number(i))
        e.store(e.b.or_(e.load(mask, INT[32]), self.x.executing()), mask)

    def break_away(self, i: Instruction, next_pc: int) -> None:
        """BREAK: at this barrier nobody waits any more for the executing threads (only for those whose predicate
        operand does not hold)."""
        e, x = self.e, self.x
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = x.executing() if condition is None else x.ballot(x.predicate(condition)).ir
        mask = self.barrier_mask(barrier_number(i))
        e.store(e.b.and_(e.load(mask, INT[32]), e.b.not_(leaving)), mask)
        number = INT[32](barrier_number(i))
        on, some = e.b.append_basic_block("on"), e.b.append_basic_block("some")
        e.b.cbranch(e.empty(x.executing()), on, some)
        e.b.position_at_end(some)
        give_way = e.call("leave_barrier", INT[32], self.context, self.warp, x.active_mask, INT[32](next_pc), number)
        e.b.cbranch(e.empty(give_way), on, self.scheduler)
        e.b.position_at_end(on)
        self.go(next_pc, i.pc)

    def move_convergence(self, i: Instruction) -> None:
        """BMOV R, B saves a convergence barrier in a register, and CLEAR empties it; BMOV B, R restores it, to what the
        lowest executing thread holds."""
        e, x = self.e, self.x
        to, source = i.operands[0], i.operands[-1]
        place = self.barrier_mask(barrier_number(i))
        held, none = e.load(place, INT[32]), e.empty(x.executing())
        if to.kind == "B":
            other = source.kind == "B"
            given = e.load(self.barrier_mask(source.number), INT[32]) if other else x.first(x.raw(source)).ir
            e.store(e.b.select(none, held, given), place)
            return
        if "CLEAR" in i.modifiers:
            e.store(e.b.select(none, held, INT[32](0)), place)
        x.write(to, x.new("u", 32, 1, held))

    def converge(self, i: Instruction, next_pc: int) -> None:
        self.gather_at(barrier_number(i), i, next_pc)

    def warpsync(self, i: Instruction, next_pc: int) -> None:
        operand = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        mask = self.x.const(0xFFFFFFFF) if operand is None else self.x.value(operand)
        executing = self.x.executing()
        number = COLLECTIVE if "COLLECTIVE" in i.modifiers else WARPSYNC
        row = self.e.field(self.warp, WARP, "named", 32 * (number - WARPSYNC))
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
            if number < WARPSYNC:
                wanted = e.load(self.barrier_mask(number), INT[32])
            else:
                row = e.field(self.warp, WARP, "named", 32 * (number - WARPSYNC))
                wanted = e.load(e.at(row, e.b.zext(e.first_lane(mask), INT[64]), INT[32]), INT[32])
            missing = e.b.and_(e.b.and_(wanted, e.get(self.warp, WARP, "live")), e.b.not_(mask))
            together, wait = e.b.append_basic_block("together"), e.b.append_basic_block("wait")
            if number < WARPSYNC:
                missing = e.b.or_(missing, e.get(self.warp, WARP, "again"))
                gathers_none = e.empty(e.b.and_(wanted, e.get(self.warp, WARP, "live")))
                foreign = e.b.select(gathers_none, INT[32](0), e.b.and_(mask, e.b.not_(wanted)))
                missing = e.b.or_(missing, foreign)
            e.b.cbranch(e.empty(missing), together, wait)
            e.b.position_at_end(together)
            if number < WARPSYNC:
                e.store(e.b.select(e.empty(e.b.and_(wanted, mask)), wanted, INT[32](0)), self.barrier_mask(number))
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
