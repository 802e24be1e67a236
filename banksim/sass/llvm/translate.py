"""A kernel as one LLVM function: `warp(context, warp)` runs a warp until it waits, ends, or has had its turn.

A branch that all threads of the group take, or none, jumps; otherwise both parts are put aside and the scheduler
chooses. Registers live in the warp's record between blocks and are values within one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import llvmlite.ir as ir

from banksim.errors import UnsupportedError
from banksim.sass import state
from banksim.sass.llvm.emit import Emitter
from banksim.sass.llvm.engine import LLVMEngine
from banksim.sass.llvm.flow import ENDS, Block, basic_blocks, live_out, target
from banksim.sass.llvm.memory import ROW, SHUFFLE, Memory
from banksim.sass.llvm.values import INT, POINTER, VOID, WORDS, Value
from banksim.sass.operations import OPERATIONS
from banksim.sass.program import BYTES, Instruction, Kernel, Operand
from banksim.sass.state import AT_BARRIER, CONTEXT, ERROR, READY, WARP, WARPSYNC, YIELDED

Handler = Callable[[Instruction, int], None]
TOUCHES_MEMORY = ("LD", "ST", "ATOM", "RED")
CONTROL_MODIFIERS = {
    "BRA": {"U", "DIV", "CONV", "INC"},
    "BRX": set(),
    "JMP": set(),
    "CALL": {"REL", "ABS", "NOINC"},
    "RET": {"REL", "ABS", "NODEC"},
    "EXIT": set(),
    "BSSY": {"RECONVERGENT", "RELIABLE"},
    "BSYNC": {"RECONVERGENT", "RELIABLE"},
    "BREAK": {"RECONVERGENT", "RELIABLE"},
    "BMOV": {"32", "CLEAR"},
    "WARPSYNC": {"ALL", "COLLECTIVE", "EXCLUSIVE"},
    "BAR": {"SYNC", "ARV", "RED", "DEFER_BLOCKING", "POPC", "AND", "OR"},
    "B2R": {"RESULT"},
    "NANOSLEEP": {"U32"},
    "ENDCOLLECTIVE": set(),
    "YIELD": set(),
    "BPT": {"TRAP", "DRAIN", "PAUSE_QUIET"},
}
"""Control flow, which each engine has for itself, and the modifiers that this one knows."""


@dataclass
class Translation:
    """What came out: the module, and what its counters and memos stand for."""

    module: ir.Module
    blocks: list[tuple[int, int]] = field(default_factory=list)
    guarded: list[int] = field(default_factory=list)
    sites: list[tuple[int, str, int]] = field(default_factory=list)


def check(kernel: Kernel) -> None:
    """Raise `UnsupportedError` for the first instruction or modifier that is not known."""
    for i in kernel.instructions:
        operation = OPERATIONS.get(i.name)
        known = operation.modifiers if operation else CONTROL_MODIFIERS.get(i.name)
        if known is None:
            raise refused(kernel, i, f"instruction {i.name}")
        strange = sorted(i.modifiers - set(known))
        if strange:
            raise refused(kernel, i, f"modifier .{strange[0]} of {i.name}")


def refused(kernel: Kernel, i: Instruction, what: str) -> UnsupportedError:
    where = f"{i.site.file}:{i.site.line}" if i.site.file else "no source line"
    return UnsupportedError(f"{kernel.plain_name}: {what} is not known (SASS {i.pc:#06x} {i.text or i.opcode}; {where})")


class Translator:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.module = ir.Module(kernel.plain_name)
        self.e = Emitter(self.module)
        self.x = LLVMEngine(self.e, Memory(self.e))
        self.out = Translation(self.module)
        self.blocks = basic_blocks(kernel)
        self.handlers: dict[str, Handler] = {
            "BRA": self.branch,
            "JMP": self.branch,
            "BRX": self.indirect,
            "CALL": self.call,
            "RET": self.give_back,
            "EXIT": self.exit,
            "BSYNC": self.converge,
            "WARPSYNC": self.warpsync,
            "BAR": self.barrier,
            "NANOSLEEP": self.sleep,
            "BPT": self.trap,
        }

    def translate(self) -> Translation:
        e = self.e
        function = ir.Function(self.module, ir.FunctionType(INT[32], [POINTER, POINTER]), "warp")
        e.function, e.b = function, ir.IRBuilder(function.append_basic_block("entry"))
        self.context, self.warp = function.args
        self.x.context, self.x.warp = self.context, self.warp
        self.active = e.b.alloca(INT[32])
        self.scheduler = function.append_basic_block("schedule")
        self.dispatch = function.append_basic_block("dispatch")
        self.code = {start: function.append_basic_block(f"at_{start:x}") for start in self.blocks}
        e.b.branch(self.scheduler)
        self.build_scheduler()
        ends = {block.start: self.body(number, block) for number, block in enumerate(self.blocks.values())}
        lives = live_out(self.blocks, {s: end[2] for s, end in ends.items()}, {s: end[3] for s, end in ends.items()})
        for start, (position, cache, _, defines, guard, active) in ends.items():
            e.b.position_at_end(position)
            self.x.cache, self.x.active_mask, self.x.guard = cache, active, guard
            self.keep({r: cache[r] for r in sorted(defines & lives[start])})
            self.finish(self.blocks[start])
        return self.out

    def build_scheduler(self) -> None:
        """schedule: ask which group runs next. dispatch: go where its pc says."""
        e = self.e
        e.b.position_at_end(self.scheduler)
        answer = e.call("schedule", INT[32], self.context, self.warp)
        go, wait = e.b.append_basic_block("go"), e.b.append_basic_block("wait")
        e.b.cbranch(e.b.icmp_unsigned("==", answer, INT[32](state.RUN)), go, wait)
        e.b.position_at_end(wait)
        e.b.ret(answer)
        e.b.position_at_end(go)
        e.b.store(e.get(self.warp, WARP, "active"), self.active)
        e.b.branch(self.dispatch)
        e.b.position_at_end(self.dispatch)
        nowhere = e.b.append_basic_block("nowhere")
        switch = e.b.switch(e.get(self.warp, WARP, "pc"), nowhere)
        for start, block in self.code.items():
            switch.add_case(INT[32](start), block)
        e.b.position_at_end(nowhere)
        self.fault(state.BAD_TARGET, e.get(self.warp, WARP, "pc"), e.b.load(self.active))

    def fault(self, code: int, pc: ir.Value, mask: ir.Value) -> None:
        e = self.e
        error = e.get(self.context, CONTEXT, "error", as_type=POINTER)
        e.set(error, ERROR, "code", INT[32](code))
        e.set(error, ERROR, "pc", pc)
        e.set(error, ERROR, "mask", mask)
        e.set(error, ERROR, "warp", e.get(self.warp, WARP, "index"))
        e.b.ret(INT[32](state.FAULT + code))

    # ---- the instructions of a block
    def body(self, number: int, block: Block) -> tuple[ir.Block, dict, set, set, Value | None, ir.Value]:
        """Translate all but the control flow at its end."""
        e, x = self.e, self.x
        e.b.position_at_end(self.code[block.start])
        x.begin_block(e.b.load(self.active))
        self.out.blocks.append((block.start, block.end))
        self.count(number, block)
        for i in self.kernel.instructions[block.start // BYTES : block.end // BYTES]:
            x.pc = i.pc
            x.guard = x.predicate(i.predicate) if i.predicate is not None else None
            if i.predicate is not None:
                self.count_guarded(i)
            if i.name in ENDS:
                self.prepare(i)
                break
            try:
                self.simple(i)
            except UnsupportedError as error:
                raise refused(self.kernel, i, str(error)) from None
            x.guard = None
        return e.b.block, x.cache, x.uses, x.defines, x.guard, x.active_mask

    def count(self, number: int, block: Block) -> None:
        e = self.e
        counter = e.at(e.get(self.context, CONTEXT, "counters", as_type=POINTER), 16 * number)
        e.increase(counter, INT[64](1))
        e.increase(e.at(counter, 8), e.b.zext(e.popcount(self.x.active_mask), INT[64]))

    def count_guarded(self, i: Instruction) -> None:
        e = self.e
        place = 16 * len(self.blocks) + 8 * len(self.out.guarded)
        self.out.guarded.append(i.pc)
        counter = e.at(e.get(self.context, CONTEXT, "counters", as_type=POINTER), place)
        e.increase(counter, e.b.zext(e.popcount(self.x.executing()), INT[64]))

    def simple(self, i: Instruction) -> None:
        e, x = self.e, self.x
        if i.name == "BSSY":
            row = self.convergence(i)
            self.masked(row, x.executing(), x.executing())
        elif i.name == "BREAK":
            self.break_away(i)
        elif i.name == "BMOV":
            self.move_convergence(i)
        elif i.name == "B2R":
            result = x.new("u", 32, 1, e.get(self.context, CONTEXT, "result", 0))
            for o in i.operands:
                x.write_predicate(o, result != 0) if o.kind == "P" else x.write(o, result)
        elif i.name not in ("YIELD", "ENDCOLLECTIVE"):
            OPERATIONS[i.name].function(x, i)

    def prepare(self, i: Instruction) -> None:
        """Read, while the block's registers are at hand, what the control flow at its end will want."""
        x = self.x
        for o in i.operands:
            if o.kind in ("P", "UP"):
                if i.name in ("BRA", "JMP"):
                    p = x.predicate(o)
                    x.guard = p if x.guard is None else x.guard & p
                else:
                    x.predicate(o)
            elif o.kind in ("R", "UR"):
                x.raw(o)

    # ---- convergence barriers
    def convergence(self, i: Instruction) -> ir.Value:
        number = next(o.number for o in i.operands if o.kind == "B")
        return self.e.field(self.warp, WARP, "convergence", 32 * number)

    def masked(self, row: ir.Value, mask: ir.Value, lanes: ir.Value) -> None:
        """In each of `lanes`, note `mask` as the threads that the barrier gathers."""
        e = self.e
        e.masked_store(row, e.as_bools(lanes), Value(e.builder, "u", 32, 1, mask).spread().ir)

    def break_away(self, i: Instruction) -> None:
        """The executing threads (where a predicate operand says so) no longer count at the barrier."""
        e, x = self.e, self.x
        condition = next((o for o in i.operands if o.kind == "P"), None)
        leaving = x.executing() if condition is None else x.ballot(x.predicate(condition)).ir
        row = self.convergence(i)
        lane = e.b.zext(e.first_lane(leaving), INT[64])
        gathered = e.load(e.at(row, lane, INT[32]), INT[32])
        mine = e.b.select(e.empty(leaving), INT[32](0), gathered)
        rest = e.b.and_(gathered, e.b.not_(leaving))
        self.masked(row, rest, mine)

    def move_convergence(self, i: Instruction) -> None:
        """BMOV R, B saves a barrier, BMOV B, R brings it back: for each thread its own."""
        e, x = self.e, self.x
        row = self.convergence(i)
        to, source = i.operands[0], i.operands[-1]
        if to.kind == "B":
            e.masked_store(row, e.as_bools(x.executing()), x.raw(source).spread().ir)
        else:
            x.write(to, x.new("u", 32, 32, e.load(row, WORDS)))

    # ---- the end of a block
    def keep(self, registers: dict[tuple[str, int], Value]) -> None:
        """Write what lives on to the warp's record: whole registers if all lanes are active."""
        e, x = self.e, self.x
        for register, v in registers.items():
            if register[0] == "UR":
                e.store(v.ir, x.where_is(register))
            elif register[0] == "UP":
                e.store(e.b.zext(v.ir, INT[32]), x.where_is(register))
        vectors = {r: v for r, v in registers.items() if r[0] in ("R", "P")}
        if not vectors:
            return
        with e.b.if_else(e.b.icmp_signed("==", x.active_mask, INT[32](-1))) as (all_lanes, some_lanes):
            with all_lanes:
                for register, v in vectors.items():
                    e.store(v.ir if register[0] == "R" else e.as_mask(v.ir), x.where_is(register))
            with some_lanes:
                lanes = e.as_bools(x.active_mask)
                for register, v in vectors.items():
                    where = x.where_is(register)
                    if register[0] == "R":
                        e.masked_store(where, lanes, v.ir)
                    else:
                        others = e.b.and_(e.load(where, INT[32]), e.b.not_(x.active_mask))
                        e.store(e.b.or_(e.b.and_(e.as_mask(v.ir), x.active_mask), others), where)

    def finish(self, block: Block) -> None:
        e = self.e
        code = self.kernel.instructions[block.start // BYTES : block.end // BYTES]
        if any(i.name.startswith(TOUCHES_MEMORY) for i in code):
            error = e.get(self.context, CONTEXT, "error", as_type=POINTER)
            code_of_fault = e.get(error, ERROR, "code")
            with e.b.if_then(e.b.icmp_unsigned("!=", code_of_fault, INT[32](0)), likely=False):
                e.b.ret(e.b.add(code_of_fault, INT[32](state.FAULT)))
        last = code[-1]
        if last.name not in ENDS:
            self.go(block.end, last.pc)
        else:
            self.x.pc = last.pc
            self.handlers[last.name](last, block.end)

    def go(self, pc: int, source: int) -> None:
        """Jump; the group stays as it is. A jump backward counts towards the warp's turn."""
        e = self.e
        if pc not in self.code:
            self.fault(state.BAD_TARGET, INT[32](source), self.x.active_mask)
            return
        if pc <= source:
            left = e.b.sub(e.get(self.context, CONTEXT, "turn"), INT[64](1 + (source - pc) // BYTES))
            e.set(self.context, CONTEXT, "turn", left)
            with e.b.if_then(e.b.icmp_signed("<", left, INT[64](0)), likely=False):
                e.call("give_up_turn", VOID, self.context, self.warp, e.b.load(self.active), INT[32](pc))
                e.b.ret(INT[32](state.SWITCH))
        e.b.branch(self.code[pc])

    def put_aside(self, mask: ir.Value, pc: ir.Value, wait: int | ir.Value, phase: ir.Value | None = None) -> None:
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
        """Threads of `taken` go to `pc` (by `there` if all do), the rest of the group to `next_pc`."""
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
        self.put_aside(taken, pc, READY)
        self.put_aside(e.b.and_(active, e.b.not_(taken)), INT[32](next_pc), READY)
        e.b.branch(self.scheduler)

    def only_guarded(self, i: Instruction, next_pc: int, act: Callable[[ir.Value], None]) -> None:
        """Run `act(mask)`, which ends the block, for the threads whose guard holds; the others go on."""
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

    def branch(self, i: Instruction, next_pc: int) -> None:
        to = target(i)
        if to is None:
            raise refused(self.kernel, i, "a branch to a register")
        taken = self.x.executing()
        if "DIV" in i.modifiers:
            taken = self.unless_together(i, taken)
        elif self.x.guard is None:
            self.go(to, i.pc)
            return
        self.split(taken, lambda: self.go(to, i.pc), INT[32](to), next_pc, i.pc)

    def unless_together(self, i: Instruction, taken: ir.Value) -> ir.Value:
        """BRA.DIV: taken if not all live threads of the operand's mask are in this group."""
        e = self.e
        mask = self.x.value(next(o for o in i.operands if o.kind in ("R", "UR", "imm")))
        wanted = e.b.and_(self.x.first(mask).ir, e.get(self.warp, WARP, "live"))
        missing = e.b.and_(wanted, e.b.not_(taken))
        return e.b.select(e.empty(missing), INT[32](0), taken)

    def to_addresses(self, targets: Value, i: Instruction, next_pc: int) -> None:
        """Each executing thread goes to its own address."""
        e = self.e

        def act(mask: ir.Value) -> None:
            where = self.x.scratch(SHUFFLE + ROW)
            e.store(targets.spread().ir, where)
            e.call("scatter", VOID, self.warp, mask, where, INT[32](READY))
            e.b.branch(self.scheduler)

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
            self.to_addresses(self.x.raw(register), i, next_pc)
        elif self.x.guard is None:
            self.go(to, i.pc)
        else:
            self.split(self.x.executing(), lambda: self.go(to, i.pc), INT[32](to), next_pc, i.pc)

    def give_back(self, i: Instruction, next_pc: int) -> None:
        e = self.e
        targets = self.x.raw(i.operands[0]) + (i.base if "REL" in i.modifiers else 0)
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
        if i.predicate is not None:
            none, some = e.b.append_basic_block("none"), e.b.append_basic_block("some")
            e.b.cbranch(e.empty(leaving), none, some)
            e.b.position_at_end(none)
            self.go(next_pc, i.pc)
            e.b.position_at_end(some)
        e.call("leave", VOID, self.context, self.warp, leaving)
        if i.predicate is None or next_pc not in self.code:
            e.b.branch(self.scheduler)
            return
        stay = e.b.append_basic_block("stay")
        e.b.cbranch(e.empty(rest), self.scheduler, stay)
        e.b.position_at_end(stay)
        e.b.store(rest, self.active)
        self.go(next_pc, i.pc)

    def converge(self, i: Instruction, next_pc: int) -> None:
        self.gather_at(next(o.number for o in i.operands if o.kind == "B"), i, next_pc)

    def warpsync(self, i: Instruction, next_pc: int) -> None:
        operand: Operand | None = next((o for o in i.operands if o.kind in ("R", "UR", "imm")), None)
        mask = self.x.const(0xFFFFFFFF) if operand is None else self.x.value(operand)
        executing = self.x.executing()
        row = self.e.field(self.warp, WARP, "convergence", 32 * WARPSYNC)
        self.e.masked_store(row, self.e.as_bools(executing), mask.spread().ir)
        if mask.lanes == 1:
            self.gather_at(WARPSYNC, i, next_pc)
            return
        all_here, split = self.e.b.append_basic_block("all_here"), self.e.b.append_basic_block("split")
        self.e.b.cbranch(self.none_missing(mask, executing, "EXCLUSIVE" in i.modifiers), all_here, split)
        self.e.b.position_at_end(split)

        def act(threads: ir.Value) -> None:
            self.e.call("sync_by_mask", VOID, self.warp, threads, INT[32](next_pc))
            self.e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)
        self.e.b.position_at_end(all_here)
        self.gather_at(WARPSYNC, i, next_pc)

    def none_missing(self, mask: Value, executing: ir.Value, exclusive: bool) -> ir.Value:
        """Whether the group can go on as it is past a WARPSYNC with a mask for each thread: an exclusive one parts
        threads of different masks, another asks only that all that are named be here."""
        e = self.e
        if exclusive:
            return e.everywhere((mask == self.x.first(mask)).ir, e.b.not_(executing))
        live = e.get(self.warp, WARP, "live")
        elsewhere = e.b.and_(live, e.b.not_(executing))
        missing = mask & Value(e.builder, "u", 32, 1, elsewhere)
        return e.everywhere((missing == 0).ir, e.b.not_(executing))

    def gather_at(self, number: int, i: Instruction, next_pc: int) -> None:
        """Wait until every live thread that convergence barrier `number` gathers is here."""
        e = self.e

        def act(mask: ir.Value) -> None:
            row = e.field(self.warp, WARP, "convergence", 32 * number)
            lane = e.b.zext(e.first_lane(mask), INT[64])
            wanted = e.b.and_(e.load(e.at(row, lane, INT[32]), INT[32]), e.get(self.warp, WARP, "live"))
            missing = e.b.and_(wanted, e.b.not_(mask))
            together, wait = e.b.append_basic_block("together"), e.b.append_basic_block("wait")
            e.b.cbranch(e.empty(missing), together, wait)
            e.b.position_at_end(together)
            if i.predicate is not None:
                self.put_aside(mask, INT[32](next_pc), READY)
                e.b.branch(self.scheduler)
            else:
                self.go(next_pc, i.pc)
            e.b.position_at_end(wait)
            self.put_aside(mask, INT[32](next_pc), number)
            e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)

    def barrier(self, i: Instruction, next_pc: int) -> None:
        x, e = self.x, self.e
        how = next((getattr(state, m) for m in ("AND", "OR", "POPC") if m in i.modifiers), state.NO_REDUCTION)
        votes = next((x.predicate(o) for o in i.operands if o.kind == "P"), None)
        number, *count = [x.first(x.raw(o)) for o in i.operands if o.kind in ("R", "UR", "imm")] or [x.const(0)]
        expected = count[0].ir if count else INT[32](0)

        def act(mask: ir.Value) -> None:
            if how == state.NO_REDUCTION and not count and "SYNC" in i.modifiers and isinstance(number.ir, ir.Constant):
                self.whole_block(mask, int(number.ir.constant) & (state.BLOCK_BARRIERS - 1), i, next_pc)
                return
            ballot = e.as_mask(votes.spread().ir) if votes is not None else INT[32](0)
            numbers = (number.ir, expected, INT[32](how), INT[32](next_pc), INT[32](int("ARV" not in i.modifiers)))
            e.call("arrive", VOID, self.context, self.warp, mask, ballot, *numbers)
            e.b.branch(self.scheduler)

        self.only_guarded(i, next_pc, act)

    def whole_block(self, mask: ir.Value, number: int, i: Instruction, next_pc: int) -> None:
        """__syncthreads, in line: the last threads to come go straight on."""
        e = self.e
        arrived = e.b.add(e.get(self.context, CONTEXT, "arrived", number), e.popcount(mask))
        live = e.b.trunc(e.get(self.context, CONTEXT, "live"), INT[32])
        phase = e.get(self.context, CONTEXT, "phase", number)
        last, wait = e.b.append_basic_block("last"), e.b.append_basic_block("wait")
        e.b.cbranch(e.b.icmp_unsigned(">=", arrived, live), last, wait)
        e.b.position_at_end(last)
        e.set(self.context, CONTEXT, "arrived", INT[32](0), number)
        e.set(self.context, CONTEXT, "phase", e.b.add(phase, INT[32](1)), number)
        if i.predicate is not None:
            self.put_aside(mask, INT[32](next_pc), READY)
            e.b.branch(self.scheduler)
        else:
            self.go(next_pc, i.pc)
        e.b.position_at_end(wait)
        e.set(self.context, CONTEXT, "arrived", arrived, number)
        e.set(self.context, CONTEXT, "expected", INT[32](0), number)
        self.put_aside(mask, INT[32](next_pc), AT_BARRIER + number, phase)
        e.b.branch(self.scheduler)

    def sleep(self, i: Instruction, next_pc: int) -> None:
        """Whoever sleeps lets others run."""
        e = self.e

        def act(mask: ir.Value) -> None:
            self.put_aside(mask, INT[32](next_pc), YIELDED)
            left = e.b.sub(e.get(self.context, CONTEXT, "turn"), INT[64](1))
            e.set(self.context, CONTEXT, "turn", left)
            e.b.ret(INT[32](state.SWITCH))

        self.only_guarded(i, next_pc, act)

    def trap(self, i: Instruction, next_pc: int) -> None:
        self.only_guarded(i, next_pc, lambda mask: self.fault(state.TRAP, INT[32](i.pc), mask))


def translate(kernel: Kernel) -> Translation:
    """The kernel as an LLVM module. Raises `UnsupportedError` naming the instruction that is not known."""
    check(kernel)
    translator = Translator(kernel)
    out = translator.translate()
    out.sites = [(i.pc, op, width) for i, op, width in translator.x.sites]
    return out
