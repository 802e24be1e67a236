"""The code that executes one block as far as its counts need it, and proves for which others they are the same."""

from collections.abc import Callable
from functools import lru_cache

from banksim.classes.accesses import MemoryFollower
from banksim.classes.footprint import at_mbarrier, written_by_control
from banksim.classes.needed import Needed, needed
from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine import codes
from banksim.machine.basic_blocks import Block
from banksim.machine.llvm import ir
from banksim.machine.llvm.compile import Built, Compiled, finished, loaded
from banksim.machine.llvm.translate import LONGEST, Body, Translation, Translator
from banksim.machine.llvm.values import INT
from banksim.machine.operations import OPERATIONS
from banksim.machine.state import CONTEXT
from banksim.machine.supported import check
from banksim.system.native_code import WELL


class ClassTranslator(Translator):
    """Leaves out what the counts do not need, and follows what they do."""

    def __init__(
        self, kernel: Kernel, chosen: Needed, axes: tuple[int, ...], period: int, placed: bool, clustered: bool
    ) -> None:
        super().__init__(kernel, traced=False, stepwise=False, watched=False, clustered=clustered)
        self.chosen, self.signs = chosen.instructions, chosen.signs
        self.reach = chosen
        self.follower = MemoryFollower(self.x, chosen, axes, period, placed)
        self.out.spare, self.out.begins = self.follower.spare, self.follower.forget_shared

    def translate(self, progress: Callable[[int], object] | None) -> Translation:
        out = super().translate(progress)
        out.sites = [(i.pc, op, width) for i, op, width in self.x.sites]
        out.unwritten = None  # what follows the registers is read too
        return out

    def body(self, number: int, block: Block) -> Body:
        self.follower.begin_block(block.start)
        body = super().body(number, block)
        self.follower.keep()
        return body._replace(end=self.e.b.block)

    def count_guarded(self, i: Instruction) -> None:
        assert i.predicate is not None
        guard, self.x.guard = self.x.guard, None
        self.follower.decided(self.follower.predicate(i.predicate))
        self.x.guard = guard
        super().count_guarded(i)

    def hold(self, i: Instruction) -> None:
        self.x.pc, self.x.guard = i.pc, None
        if i.predicate is not None:
            self.follower.decided(self.follower.predicate(i.predicate))
        self.follower.decided(self.follower.raw(i.operands[-1]))
        super().hold(i)

    def in_turn(self, mask: ir.Value, next_pc: int) -> None:
        """A block by itself ends the phases of its cluster's barrier. In a full cluster the one of the last rank does,
        if all do the same: in others warps go on in turn. So here, that the same request is named as the worst."""
        e, context = self.e, self.x.context
        rank = e.b.lshr(e.get(context, CONTEXT, "own_shared"), INT[64](codes.RANK_BIT))
        last = e.b.sub(e.get(context, CONTEXT, "cluster_blocks"), INT[64](1))
        with e.b.if_then(e.b.icmp_unsigned("!=", rank, last)):
            self.pause(mask, INT[32](next_pc))

    def decide(self, i: Instruction) -> None:
        """All that control flow reads must be known, and the same in all blocks."""
        written = written_by_control(i)
        for o in i.operands:
            if o in written:
                continue
            if o.kind in ("R", "UR"):
                self.follower.decided(self.follower.raw(o))
            elif o.kind in ("P", "UP"):
                self.follower.decided(self.follower.predicate(o))

    def simple(self, i: Instruction) -> None:
        if i.name in CONTROL:
            super().simple(i)
            for o in written_by_control(i):
                if o.kind in ("R", "P") and not o.is_zero:
                    self.follower.assign((o.kind, o.number), self.follower.const(0))
        elif i.pc in self.chosen:
            self.follower.only_signs = i.pc in self.signs
            OPERATIONS[i.name].function(self.follower, i)
            self.follower.only_signs = False

    def finish(self, block: Block) -> None:
        """Keep what was found, before control flow ends the block of instructions."""
        self.leave_if_fault()
        super().finish(block)


@lru_cache(maxsize=256)
def compile_class(
    kernel: Kernel,
    axes: tuple[int, ...],
    period: int,
    placed: bool = False,
    clustered: bool = False,
    how: int = WELL,
) -> Compiled:
    """The code for a kernel whose grid has several blocks along `axes`, judged by rules of that period. `placed`: it
    also proves that all accesses to global memory lie in buffers; `clustered`: its blocks reach into each other's
    shared memory. `UnsupportedError` for what is not followed."""
    check(kernel)
    chosen = needed(kernel, tuple(sorted(set(axes))), LONGEST, placed)
    if clustered and (placed or chosen.loads or any(map(at_mbarrier, kernel.instructions))):
        raise UnsupportedError("what the blocks of a cluster tell each other decides")

    def make() -> Built:
        return finished(ClassTranslator(kernel, chosen, axes, period, placed, clustered).translate(None), how=how)

    return loaded(kernel, f"class {axes} {period}{' placed' * placed}{' clustered' * clustered} {how}", make)
