"""Barriers of the block and of its cluster: __syncthreads(), named barriers and their reductions, barrier.cluster."""

from banksim.kernels.kernel import Instruction
from banksim.machine import codes
from banksim.machine.codes import AT_BARRIER, AT_CLUSTER
from banksim.machine.llvm import ir
from banksim.machine.llvm.control_flow import ControlFlow
from banksim.machine.llvm.values import INT, POINTER, VOID
from banksim.machine.state import CLUSTER, CONTEXT, WARP
from banksim.machine.supported import in_one_register


class BlockBarriers(ControlFlow):
    """One method for each instruction at which the threads of a block arrive, wait, or learn the outcome."""

    def barrier(self, i: Instruction, next_pc: int) -> None:
        x, e = self.x, self.e
        how = next((getattr(codes, m) for m in ("AND", "OR", "POPC") if m in i.modifiers), codes.NO_REDUCTION)
        votes = next((x.predicate(o) for o in i.operands if o.kind == "P"), None)
        number, *count = [x.first(x.raw(o)) for o in i.operands if o.kind in ("R", "UR", "imm")] or [x.const(0)]
        expected = count[0].ir if count else INT[32](0)
        if in_one_register(i):
            expected = e.b.lshr(expected, INT[32](codes.THREADS_BIT))
        expected = e.b.and_(expected, INT[32](codes.BARRIER_THREADS))

        def act(mask: ir.Value) -> None:
            if count:
                uneven, even = e.b.append_basic_block("uneven"), e.b.append_basic_block("even")
                e.b.cbranch(e.empty(e.b.and_(expected, INT[32](codes.LANES - 1))), even, uneven)
                e.b.position_at_end(uneven)
                self.fault(codes.BAD_COUNT, INT[32](i.pc), mask)
                e.b.position_at_end(even)
            plain = how == codes.NO_REDUCTION and not count and "SYNC" in i.modifiers and not self.watched
            if plain and isinstance(number.ir, ir.Constant) and isinstance(known := number.ir.constant, int):
                self.whole_block(mask, known & (codes.BLOCK_BARRIERS - 1), i, next_pc)
                return
            ballot = e.as_mask(votes.spread().ir) if votes is not None else INT[32](0)
            numbers = (number.ir, expected, INT[32](how), INT[32](next_pc), INT[32](int("ARV" not in i.modifiers)))
            goes = e.call("arrive", INT[32], self.context, self.warp, mask, ballot, *numbers)
            on = e.b.append_basic_block("on")
            e.b.cbranch(e.empty(goes), self.scheduler, on)
            e.b.position_at_end(on)
            self.go_on(mask, i, next_pc)

        self.only_guarded(i, next_pc, act)

    def whole_block(self, mask: ir.Value, number: int, i: Instruction, next_pc: int) -> None:
        """__syncthreads(), inlined: the last threads to arrive go on at once."""
        e = self.e
        arrived = e.b.add(e.get(self.context, CONTEXT, "arrived", number), e.popcount(mask))
        live = e.b.trunc(e.get(self.context, CONTEXT, "live"), INT[32])
        phase = e.get(self.context, CONTEXT, "phase", number)
        last, wait = e.b.append_basic_block("last"), e.b.append_basic_block("wait")
        e.b.cbranch(e.b.icmp_unsigned(">=", arrived, live), last, wait)
        e.b.position_at_end(last)
        e.set(self.context, CONTEXT, "arrived", INT[32](0), number)
        e.set(self.context, CONTEXT, "phase", e.b.add(phase, INT[32](1)), number)
        self.go_on(mask, i, next_pc)
        e.b.position_at_end(wait)
        e.set(self.context, CONTEXT, "arrived", arrived, number)
        e.set(self.context, CONTEXT, "expected", INT[32](0), number)
        alone = e.empty(e.get(self.warp, WARP, "groups"))
        self.put_aside(mask, INT[32](next_pc), AT_BARRIER + number, phase)
        if not self.stepwise:
            with e.b.if_then(alone, likely=True):  # the scheduler would find no group that goes on
                e.b.ret(INT[32](codes.BLOCKED))
        e.b.branch(self.scheduler)

    def barrier_result(self, i: Instruction) -> None:
        """B2R.RESULT: the result of the reduction at the block barrier that the warp passed last."""
        e, x = self.e, self.x
        number = e.b.zext(e.get(self.warp, WARP, "reduced"), INT[64])
        where = e.at(e.field(self.context, CONTEXT, "result"), number, INT[32])
        result = x.new("u", 32, 1, e.load(where, INT[32]))
        for o in i.operands:
            x.write_predicate(o, result != 0) if o.kind == "P" else x.write(o, result)

    # ---- the barrier of a cluster of blocks

    def cluster_arrive(self, i: Instruction) -> None:
        """UCGABAR_ARV: the threads arrive at the barrier of their cluster, and go on."""
        e = self.e
        arrive = self.x.executing()
        with e.b.if_then(e.b.not_(e.empty(arrive))):
            e.call("cluster_arrive", VOID, self.context, self.warp, arrive)

    def in_turn(self, mask: ir.Value, next_pc: int) -> None:
        """What comes before threads go on that come to wait for a phase which is over."""

    def cluster_wait(self, i: Instruction, next_pc: int) -> None:
        """UCGABAR_WAIT: wait for the end of the phase in which the threads arrived."""
        e = self.e

        def act(mask: ir.Value) -> None:
            phase = e.get(self.warp, WARP, "cluster_phase")
            now = e.get(e.get(self.context, CONTEXT, "cluster", as_type=POINTER), CLUSTER, "phase")
            over, wait = e.b.append_basic_block("over"), e.b.append_basic_block("wait")
            e.b.cbranch(e.b.icmp_unsigned("!=", now, phase), over, wait)
            e.b.position_at_end(over)
            if self.watched:
                e.call("cluster_release", VOID, self.context, self.warp, mask)
            self.in_turn(mask, next_pc)
            self.go_on(mask, i, next_pc)
            e.b.position_at_end(wait)
            self.put_aside(mask, INT[32](next_pc), AT_CLUSTER, phase)
            e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)
