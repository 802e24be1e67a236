"""A kernel as LLVM functions: `warp(context, warp)` runs a warp until it waits, ends, or has had its turn.

A branch that all threads of the group take, or none, jumps; otherwise both parts are put aside and the scheduler
chooses. Registers live in the warp's record between blocks and are values within one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from banksim.kernels.control_opcodes import CONTROL, ENDS, further_guards
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes
from banksim.machine.basic_blocks import Block, basic_blocks, live_out, touches_memory
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.engine import LLVMEngine, Register
from banksim.machine.llvm.memory import MemoryFunctions
from banksim.machine.llvm.scratch import ADDRESSES, STORED
from banksim.machine.llvm.sections import Sections
from banksim.machine.llvm.values import INT, POINTER, VOID, Value
from banksim.machine.operations import OPERATIONS
from banksim.machine.operations.bulk_copies import UNIT
from banksim.machine.operations.cluster_accesses import ends
from banksim.machine.operations.loads_and_stores import memory_operand, request
from banksim.machine.operations.mbarriers import over, try_wait
from banksim.machine.races.access_kinds import EVENTS, GROUP_ENDS
from banksim.machine.state import CONTEXT, ERROR, WARP
from banksim.machine.supported import Naming, check

LONGEST = 256
"""Instructions of a basic block, at most: what LLVM takes for a longer one grows faster than its length."""


@dataclass
class Translation:
    """A translated kernel: the module, and what its counters and memos stand for."""

    module: ir.Module
    blocks: list[tuple[int, int]] = field(default_factory=list)
    guarded: list[int] = field(default_factory=list)
    sites: list[tuple[int, str, int]] = field(default_factory=list)
    spare: int = 0
    """Bytes of a warp's record behind its registers."""
    unwritten: list[Register] | None = None
    """Registers that code may read before it has written them; None: any."""
    begins: Callable[[Emitter, ir.Value], None] | None = None
    """Adds what is to be done besides, of a context, where a block starts."""


class Body(NamedTuple):
    """A basic block translated up to its control flow: where code goes on, what it knows, reads and leaves behind."""

    end: ir.Block
    cache: dict[Register, Value]
    uses: set[Register]
    defines: set[Register]
    guard: Value | None
    active_mask: ir.Value


class Translator(Sections):
    """Builds the function of one kernel."""

    def __init__(
        self, kernel: Kernel, traced: bool, stepwise: bool, watched: bool, clustered: bool, quickly: bool = False
    ) -> None:
        self.kernel = kernel
        self.stepwise, self.watched = stepwise, watched
        self.module = ir.Module()
        self.e = Emitter(self.module)
        memory = MemoryFunctions(self.e, traced, stepwise, watched, kernel, clustered)
        self.x = LLVMEngine(self.e, memory, stepwise, shifts=not quickly)
        self.x.registers = kernel.register_limit
        self.x.kernel = kernel
        self.out = Translation(self.module)
        self.blocks = basic_blocks(kernel, 1 if stepwise else LONGEST)

    def translate(self, progress: Callable[[int], object] | None) -> Translation:
        e = self.e
        self.build_functions(self.blocks)
        bodies = {}
        for number, block in enumerate(self.blocks.values()):
            self.enter(block.start)
            bodies[block.start] = self.body(number, block)
            if progress:
                progress((block.end - block.start) // BYTES)
        uses = {start: body.uses for start, body in bodies.items()}
        defines = {start: body.defines for start, body in bodies.items()}
        lives = live_out(self.blocks, uses, defines)
        for start, body in bodies.items():
            self.enter(start)
            e.b.position_at_end(body.end)
            self.x.cache, self.x.active_mask, self.x.guard = body.cache, body.active_mask, body.guard
            self.keep({r: body.cache[r] for r in sorted(body.defines & lives[start])})
            self.finish(self.blocks[start])
        if not self.x.crosses_lanes:
            first = next(iter(bodies))
            read = uses[first] | (lives[first] - defines[first])
            self.out.unwritten = sorted(register for register in read if register[0] in ("R", "UR"))
        return self.out

    # ---- the instructions of a block
    def body(self, number: int, block: Block) -> Body:
        """Translate all but the control flow at its end."""
        e, x = self.e, self.x
        e.b.position_at_end(self.code[block.start])
        x.begin_block(e.b.load(self.active))
        self.out.blocks.append((block.start, block.end))
        if self.watched:
            e.set(self.warp, WARP, "active", x.active_mask)
        if try_wait(self.kernel.instructions[block.start // BYTES]):
            self.hold(self.kernel.instructions[block.start // BYTES])
        self.count(number, block)
        for i in self.kernel.instructions[block.start // BYTES : block.end // BYTES]:
            x.pc = i.pc
            with Naming(self.kernel, i):
                x.guard = x.predicate(i.predicate) if i.predicate is not None else None
                if i.predicate is not None:
                    self.count_guarded(i)
                if i.name in CONTROL:
                    self.decide(i)
                if i.name in ENDS:
                    self.prepare(i)
                    break
                self.simple(i)
            x.guard = None
        return Body(e.b.block, x.cache, x.uses, x.defines, x.guard, x.active_mask)

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

    def decide(self, i: Instruction) -> None:
        """What must be known in front of control flow: nothing here, where a block is executed for itself."""

    def simple(self, i: Instruction) -> None:
        if i.name in CONTROL:
            getattr(self, CONTROL[i.name].does)(i)
        elif self.watched and i.name in EVENTS:
            self.show_event(i)
        else:
            if self.watched and i.name in ("UBLKCP", "UBLKRED"):
                self.show_bulk(i)
            elif self.watched and i.name in ("STAS", "REDAS"):
                self.show_sent(i)
            OPERATIONS[i.name].function(self.x, i)
            if self.watched and any(o.text == GROUP_ENDS for o in i.operands):
                self.tell("commit_products")

    def show_bulk(self, i: Instruction) -> None:
        """A bulk copy between shared and global memory, by the lowest executing lane. (The others are services.)"""
        x = self.x
        if "G" not in i.modifiers or "MULTICAST" in i.modifiers:
            return
        to, source, units = i.operands[:3]
        inward = ".G.S" not in i.opcode
        start = x.first(x.address(to if inward else source, False))
        barrier = x.first(x.raw(to.parts[0], 1)) if inward else x.const(0)
        size = (x.first(x.value(units)) & 0xFFFF) * UNIT
        self.tell("watch_bulk", INT[32](i.pc), start.ir, size.ir, INT[32](int(inward)), barrier.ir)

    def show_sent(self, i: Instruction) -> None:
        """What st.async or red.async writes, and the mbarriers that are told."""
        asked = request(i)
        assert asked is not None
        places = [self.x.scratch(place) for place in (ADDRESSES, STORED)]
        for v, place in zip(ends(self.x, i), places, strict=True):
            self.e.store(v.spread().ir, place)
        self.tell("watch_sent", INT[32](i.pc), self.x.executing(), INT[32](asked[1]), *places)

    def show_event(self, i: Instruction) -> None:
        """LDGDEPBAR and UTMACMDFLUSH commit copies, DEPBAR.LE waits until at most so many groups of them are to come,
        WARPGROUP.DEPBAR the same of products; FENCE.VIEW.ASYNC is a proxy fence."""
        pending = INT[32](next((o.number for o in i.operands if o.kind == "imm"), 0))
        if i.name in ("LDGDEPBAR", "UTMACMDFLUSH"):
            self.tell("commit_copies")
        elif i.name == "DEPBAR" and "LE" in i.modifiers:
            self.tell("await_copies", pending)
        elif i.name == "WARPGROUP" and "DEPBAR" in i.modifiers:
            self.tell("await_products", pending)
        elif i.name == "FENCE" and {"VIEW", "ASYNC"} <= i.modifiers and not i.modifiers & {"G", "T"}:
            self.tell("fence_proxies")

    def tell(self, event: str, *numbers: ir.Value) -> None:
        """Tell the race check of an event, if any lane executes it."""
        with self.e.b.if_then(self.e.b.not_(self.e.empty(self.x.executing()))):
            self.e.call(event, VOID, self.context, self.warp, *numbers)

    def prepare(self, i: Instruction) -> None:
        """Read, while the block's registers are at hand, what the control flow at its end will want."""
        x = self.x
        for o in i.operands:
            if o.kind in ("P", "UP"):
                p = x.predicate(o)
                if o in further_guards(i):
                    x.guard = p if x.guard is None else x.guard & p
            elif o.kind in ("R", "UR"):
                x.raw(o)

    def hold(self, i: Instruction) -> None:
        """Wait in front of a try_wait, with nothing counted, while the phase is over for none of its threads. (The
        hardware gives up after some time, and code tries again.)"""
        e, x = self.e, self.x
        x.pc = i.pc
        x.guard = x.predicate(i.predicate) if i.predicate is not None else None
        done = x.ballot(over(x, i)).ir
        where = x.first(x.address(memory_operand(i), False)) | x.first(x.raw(i.operands[-1])) >> 31
        self.leave_if_fault()
        wait, go = e.b.append_basic_block("wait"), e.b.append_basic_block("go")
        e.b.cbranch(e.b.and_(e.empty(done), e.b.not_(e.empty(x.executing()))), wait, go)
        e.b.position_at_end(wait)
        self.put_aside(x.active_mask, INT[32](i.pc), codes.AT_WORD, where.ir)
        e.b.branch(self.scheduler)
        e.b.position_at_end(go)
        x.guard = None

    def leave_if_fault(self) -> None:
        e = self.e
        error = e.get(self.context, CONTEXT, "error", as_type=POINTER)
        code = e.get(error, ERROR, "code")
        with e.b.if_then(e.b.icmp_unsigned("!=", code, INT[32](0)), likely=False):
            e.b.ret(e.b.add(code, INT[32](codes.FAULT)))

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
        if any(map(touches_memory, code)):
            e.set(self.warp, WARP, "slot", INT[32](0))
            self.leave_if_fault()
        elif any(o.kind == "const" and any(part.kind != "imm" for part in o.parts) for i in code for o in i.operands):
            self.leave_if_fault()
        last = code[-1]
        if last.name not in ENDS:
            self.go(block.end, last.pc)
        else:
            self.x.pc = last.pc
            with Naming(self.kernel, last):
                getattr(self, CONTROL[last.name].does)(last, block.end)


def translate(
    kernel: Kernel,
    traced: bool = False,
    stepwise: bool = False,
    watched: bool = False,
    clustered: bool = False,
    progress: Callable[[int], object] | None = None,
    quickly: bool = False,
) -> Translation:
    """The kernel as an LLVM module; if `traced`, one that writes every request down; if `stepwise`, one that answers
    after each instruction; if `watched`, one that calls `races.watched_requests` before every access to shared memory,
    and at what orders them; if `clustered`, for blocks that reach into each other's shared memory. `progress` is told
    of every few instructions that are done; `quickly`: to code that is compiled sooner, and runs longer.

    Raises `UnsupportedError` naming the instruction that is not known.
    """
    check(kernel)
    translator = Translator(kernel, traced, stepwise, watched, clustered, quickly)
    out = translator.translate(progress)
    out.sites = [(i.pc, op, width) for i, op, width in translator.x.sites]
    return out
