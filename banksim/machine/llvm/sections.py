"""The functions that a kernel becomes: `warp`, which begins and asks the scheduler, and one for each section.

What LLVM takes for a function grows faster than its length, so a long kernel is cut into sections (`basic_blocks.py`),
each a function of its own: they call each other as tail calls, which are jumps. A section that is entered goes on where
the warp's record says, with the threads that it names.
"""

from banksim.machine import codes
from banksim.machine.basic_blocks import Block, sections
from banksim.machine.llvm import ir
from banksim.machine.llvm.block_barriers import BlockBarriers
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.control_flow import Section
from banksim.machine.llvm.convergence import Convergence
from banksim.machine.llvm.values import INT, POINTER
from banksim.machine.state import CONTEXT, WARP

LONGEST_SECTION = 256
"""Instructions of a section, at most, unless a single basic block has more."""


class Sections(Convergence, BlockBarriers):
    """Builds the functions around the basic blocks."""

    def build_functions(self, blocks: dict[int, Block]) -> None:
        """All functions, but for the code of the basic blocks, which `enter` makes ready to be added."""
        warp, self.route = self.begin_function("warp"), self.begin_function("route")
        self.section_of = {}
        for run in sections(blocks, LONGEST_SECTION):
            section = self.begin_section(run)
            self.section_of.update(dict.fromkeys(section.code, section))
        for section in dict.fromkeys(self.section_of.values()):
            self.build_section(section)
        self.build_warp(warp)
        self.build_route()

    def begin_function(self, name: str) -> ir.Function:
        """Every one takes (context, warp) and returns how the warp fares (RUN, BLOCKED … of machine/codes.py)."""
        function = ir.Function(self.e.module, INT[32], [POINTER, POINTER], name)
        if name != "warp":
            function.linkage = "hidden"
        function.append_basic_block("entry")
        return function

    def begin_section(self, blocks: list[Block]) -> Section:
        function = self.begin_function(f"section_{blocks[0].start:x}")
        active = Builder(function.entry_basic_block).alloca(INT[32])
        schedule, resume, dispatch = (function.append_basic_block(name) for name in ("schedule", "resume", "dispatch"))
        code = {block.start: function.append_basic_block(f"at_{block.start:x}") for block in blocks}
        return Section(function, active, schedule, resume, dispatch, code)

    def enter(self, start: int) -> None:
        """What is built from now on belongs to the section of this basic block."""
        section = self.section_of[start]
        self.enter_function(section.function)
        self.active, self.code = section.active, section.code
        self.scheduler, self.resume, self.dispatch = section.scheduler, section.resume, section.dispatch

    def enter_function(self, function: ir.Function) -> None:
        self.e.function, self.e.b = function, Builder(function.entry_basic_block)
        self.context, self.warp = function.args
        self.x.context, self.x.warp = self.context, self.warp

    def ask_scheduler(self, goes_on: ir.Block) -> None:
        """Ask which group of the warp's threads runs next: go on with it, or return if there is none. If each call runs
        one instruction, the next call goes on."""
        e = self.e
        answer = e.call("schedule", INT[32], self.context, self.warp)
        runs = e.b.icmp_unsigned("==", answer, INT[32](codes.RUN))
        if self.stepwise:
            e.set(self.warp, WARP, "running", e.b.zext(runs, INT[32]))
        else:
            wait = e.b.append_basic_block("wait")
            e.b.cbranch(runs, goes_on, wait)
            e.b.position_at_end(wait)
        e.b.ret(answer)

    def resume_alone(self, goes_on: ir.Block) -> None:
        """Go on with the only group of a warp if it is ready, or its barrier of the block has let it pass. The
        scheduler would do the same, but take several times as long."""
        e, b = self.e, self.e.b
        one, on, several = (b.append_basic_block(name) for name in ("one", "on", "several"))
        b.cbranch(b.icmp_unsigned("==", e.get(self.warp, WARP, "groups"), INT[32](1)), one, several)
        b.position_at_end(one)
        wait = e.get(self.warp, WARP, "group_wait")
        number = b.sub(wait, INT[32](codes.AT_BARRIER))
        at_barrier = b.icmp_unsigned("<", number, INT[32](codes.BLOCK_BARRIERS))
        place = b.zext(b.select(at_barrier, number, INT[32](0)), INT[64])
        phase = e.load(e.at(e.field(self.context, CONTEXT, "phase"), place, INT[32]), INT[32])
        over = b.icmp_unsigned("!=", phase, e.get(self.warp, WARP, "group_phase"))
        ready = b.icmp_unsigned("==", wait, INT[32](codes.READY))
        b.cbranch(b.or_(ready, b.and_(at_barrier, over)), on, several)
        b.position_at_end(on)
        for name, parked in (("active", "group_mask"), ("pc", "group_pc")):
            e.set(self.warp, WARP, name, e.get(self.warp, WARP, parked))
        for name in ("groups", "slot", "again"):
            e.set(self.warp, WARP, name, INT[32](0))
        e.increase(e.field(self.context, CONTEXT, "resumed"), INT[64](1))
        b.branch(goes_on)
        b.position_at_end(several)

    def build_warp(self, function: ir.Function) -> None:
        e = self.e
        self.enter_function(function)
        schedule, paused, go_on = (e.b.append_basic_block(name) for name in ("schedule", "paused", "go_on"))
        e.b.cbranch(e.empty(e.get(self.warp, WARP, "running")), schedule, paused)
        e.b.position_at_end(schedule)
        if not self.stepwise and not self.watched:
            self.resume_alone(go_on)
        self.ask_scheduler(go_on)
        e.b.position_at_end(paused)
        e.increase(e.field(self.context, CONTEXT, "resumed"), INT[64](1))
        e.b.branch(go_on)
        e.b.position_at_end(go_on)
        if not self.stepwise:
            e.set(self.warp, WARP, "running", INT[32](0))
            self.take_turn(e.get(self.warp, WARP, "active"), e.get(self.warp, WARP, "pc"), 1)
        self.continue_in(self.route)

    def build_route(self) -> None:
        """Go on in the section that has the warp's pc."""
        e = self.e
        self.enter_function(self.route)
        nowhere = e.b.append_basic_block("nowhere")
        pc = e.get(self.warp, WARP, "pc")
        switch = e.b.switch(pc, nowhere)
        ways: dict[ir.Function, ir.Block] = {}
        for start, section in self.section_of.items():
            if section.function not in ways:
                ways[section.function] = e.b.append_basic_block(section.function.name)
                e.b.position_at_end(ways[section.function])
                self.continue_in(section.function)
            switch.add_case(INT[32](start), ways[section.function])
        e.b.position_at_end(nowhere)
        self.fault(codes.BAD_TARGET, pc, e.get(self.warp, WARP, "active"))

    def build_section(self, section: Section) -> None:
        """All but the basic blocks: where the section goes on when it is entered, and when a group ends there."""
        e = self.e
        self.enter(next(iter(section.code)))
        e.b.store(e.get(self.warp, WARP, "active"), section.active)
        find, elsewhere = (e.b.append_basic_block(name) for name in ("find", "elsewhere"))
        e.b.branch(find)
        e.b.position_at_end(section.scheduler)
        self.ask_scheduler(section.resume)
        e.b.position_at_end(section.resume)
        if self.stepwise:
            e.b.ret(INT[32](codes.RUN))
        else:
            e.b.store(e.get(self.warp, WARP, "active"), section.active)
            e.b.branch(section.dispatch)
        e.b.position_at_end(section.dispatch)
        if self.stepwise:
            e.set(self.warp, WARP, "active", e.b.load(section.active))
            e.b.branch(section.resume)
        else:
            self.take_turn(e.b.load(section.active), e.get(self.warp, WARP, "pc"), 1)
            e.b.branch(find)
        e.b.position_at_end(find)
        switch = e.b.switch(e.get(self.warp, WARP, "pc"), elsewhere)
        for start, block in section.code.items():
            switch.add_case(INT[32](start), block)
        e.b.position_at_end(elsewhere)
        e.set(self.warp, WARP, "active", e.b.load(section.active))
        self.continue_in(self.route)
