"""Counting a launch: of each class of blocks one is executed, and its counts are taken for all of them.

Boxes of blocks wait in a list. The first block of a box is executed. What it does narrows the box to the blocks that
do the same; the others go back to the list as smaller boxes. The first block of a class is also its block of the
lowest number, so that the worst request that is named is the one that executing every block would name."""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.classes.compiled.records import DIRECTIONS, LARGEST, MARGIN, REGION, ROW, WORK
from banksim.classes.needed import needed
from banksim.classes.regions import Box, Directions, along, whole
from banksim.classes.translate import compile_class
from banksim.errors import InputError, UnsupportedError
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes, state
from banksim.machine.faults import Stop
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled, how_for
from banksim.machine.llvm.counts import Array, Counts
from banksim.machine.llvm.host_threads import in_threads
from banksim.machine.llvm.translate import LONGEST
from banksim.machine.llvm.worker import ClusterMemory, Worker, bank_rules, period_of, settle
from banksim.machine.operations.loads_and_stores import SPACES
from banksim.machine.races.findings import Hint
from banksim.machine.races.probe import every
from banksim.machine.state import CONTEXT, aligned
from banksim.system.native_code import callback, prepare_llvm
from banksim.wording import place

FEWEST, MOST = 16, 1 << 13
"""So many classes are always looked for; after so many, no more if executing every block would be less work."""
PATIENCE = 16
"""Between these, no more once looking for classes has been more than this part of the work of executing every block."""
KEPT = 64
"""For so many classes the counts of their blocks are kept."""
AT_ONCE = 256
"""Classes that are then counted before it is asked whether they are too many."""
SPARE = 2
PER_CLASS, PER_BLOCK, SLOWER = 2000, 100, 10
"""What a class and a block take besides their instructions, in warp instructions of a block, and how many times as long
those of a class take."""
BOXES, NARROWING = (f"banksim.classes.compiled.{name}" for name in ("boxes", "narrowing"))


@dataclass(frozen=True)
class Undecided:
    """Why blocks must be executed one by one: `instruction` depends on what `origin` reads (None: unknown)."""

    instruction: Instruction | None
    origin: Instruction | None
    reason: str = ""

    def __str__(self) -> str:
        if self.reason or self.instruction is None:
            return self.reason
        what = f"{self.instruction.name} of {place(self.instruction.site)}"
        if self.origin is None:
            return f"what {what} depends on is not known"
        return f"{what} depends on what {self.origin.name} of {place(self.origin.site)} reads"


@dataclass(frozen=True)
class TooMany(Undecided):
    """That there are too many classes, after so many were counted: it is less work to execute each block."""

    classes: int = 0


@dataclass(frozen=True)
class Alike:
    """Blocks of a class, and what each of them counts."""

    box: Box
    counters: npt.NDArray[np.int64]
    tallies: Array

    def times(self, blocks: int) -> tuple[npt.NDArray[np.int64], Array]:
        """The counts of so many of these blocks."""
        tallies = self.tallies.copy()
        for name in ("requests", "low", "high", "ideal", "unknown"):
            tallies[name] *= blocks
        return blocks * self.counters, tallies


@dataclass(frozen=True)
class Counted:
    """The counts of all blocks, the number of classes, and the `first` of these. `touched`: how each buffer is used, if
    that was asked for, by the bits of `banksim.machine.codes`."""

    compiled: Compiled
    counts: Counts
    classes: int
    first: tuple[Alike, ...]
    touched: npt.NDArray[np.uint8]


class Counting:
    """One worker that executes the first block of one box after the other."""

    def __init__(self, launch: Launch, compiled: Compiled, rules: Sequence[Architecture], axes: Directions) -> None:
        self.launch, self.compiled, self.axes = launch, compiled, axes
        words, period = bank_rules(rules, compiled)
        self.stop = np.zeros(1, np.uint32)
        self.worker = worker = Worker(launch, compiled, words, period, 2**62, self.stop)
        if launch.cluster_blocks > 1:  # of which each is executed by itself
            cluster = ClusterMemory(launch, launch.cluster_blocks)
            cluster.barrier[0]["threads"] = launch.threads
            worker.join(cluster, 0)
        context = worker.context[0]
        context["allowance"] = state.ALLOWANCE
        self.probed = every(launch.blocks) if context["probed"] else 0
        context["probed"] = int(bool(self.probed))
        self.touched = np.zeros(len(launch.buffers), np.uint8)
        context["touched"] = self.touched.ctypes.data
        self.region, self.copies = region_of(worker, axes)
        self.halvings = np.zeros(len(launch.kernel.instructions), np.int64)
        self.region[0]["halvings"] = self.halvings.ctypes.data
        self.fresh = worker.memos.view(np.uint8).copy()
        self.counters, self.once = np.zeros_like(worker.counters), np.zeros_like(worker.counters)
        self.tallies = worker.tallies.view(np.uint8).copy().view(worker.tallies.dtype)
        self.work = aligned(WORK, 1)
        w = self.work[0]
        w["context"], w["region"] = worker.address, self.region.ctypes.data
        w["run"] = ctypes.cast(compiled.blocks, ctypes.c_void_p).value  # type: ignore[arg-type]
        w["cluster"] = launch.cluster
        w["before"], w["counters"], w["memos"] = 2**62, len(self.counters), self.fresh.ctypes.data
        w["total"], w["once"] = self.counters.ctypes.data, self.once.ctypes.data
        w["tallies"] = self.tallies.ctypes.data
        self.stack = np.zeros((0, ROW), np.int64)
        self.count_boxes = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_int64)(
            callback(BOXES, "count_boxes").address
        )
        self.hints: list[tuple[int, Hint]] = []
        self.first: list[Alike] = []

    @property
    def blocks(self) -> int:
        return int(self.work[0]["blocks"])

    @property
    def classes(self) -> int:
        return int(self.work[0]["classes"])

    @property
    def box(self) -> Box:
        """The one whose first block was executed last."""
        return Box.of_row(self.work[0]["box"], self.axes)

    def push(self, row: Sequence[int]) -> None:
        """Have a box wait, to come next."""
        w = self.work[0]
        self.make_room()
        self.stack[int(w["waiting"])] = row
        w["waiting"] += 1

    def make_room(self) -> None:
        w = self.work[0]
        waiting = int(w["waiting"])
        if len(self.stack) - waiting < 2 * MARGIN:
            self.stack = np.concatenate([self.stack, np.zeros((waiting + 2 * MARGIN, ROW), np.int64)])
            w["stack"], w["room"] = self.stack.ctypes.data, len(self.stack)

    def go_on(self) -> int:
        """Count some more classes. 0 or an error code."""
        self.make_room()
        classes, keep = self.classes, len(self.first) < KEPT
        code: int = self.count_boxes(self.work.ctypes.data, 1 if keep else AT_ONCE) - codes.FAULT
        if keep and self.classes > classes:
            self.first.append(Alike(self.box, self.worker.counters.copy(), self.worker.tallies.copy()))
        return max(code, 0)

    def are_too_many(self) -> bool:
        """Whether to give up looking for classes: to execute every block that those found stand for would be less work,
        and the launch is too small for later ones to make up for that."""
        if self.classes < FEWEST:
            return False
        work = self.compiled.warp_instructions(self.once)
        a_block = work / self.classes + PER_BLOCK
        spent = SLOWER * work + PER_CLASS * self.classes
        given_up = self.classes > MOST or PATIENCE * spent > a_block * self.launch.blocks
        spared = self.compiled.warp_instructions(self.counters) + PER_BLOCK * self.blocks
        return given_up and spent > spared

    def too_many(self) -> TooMany:
        """Says what makes so many classes: what narrowed the regions most."""
        where = self.launch.kernel.instructions[int(self.halvings.argmax())]
        return TooMany(
            where, None, f"what {where.name} of {place(where.site)} reads is alike in few blocks", self.classes
        )

    def look_for_races(self) -> None:
        """If the executed block shows a hint at a race, give the one that a plain run would give: that of the first
        block of this class which a plain run looks at, if it looks at any."""
        if not self.probed or not self.worker.probe.record[0]["found"]:
            return
        box, record = self.box, self.worker.probe.record[0]
        number = box.least_multiple(self.probed, self.launch.grid)
        if number is None:
            return
        if number != box.number(self.launch.grid):
            self.region[0]["count"], record["found"], record["block"] = 0, 0, -1
            self.worker.run(self.compiled, number, number + 1)
        hint = self.worker.probe.found()
        if hint is not None:
            self.hints.append((number, hint))

    def run(self) -> Stop | Undecided | None:
        """Count the boxes that wait, class by class. None once all is done. The fault that is told is that of the block
        with the lowest number: after a fault, only boxes that begin before its block are still counted."""
        stop, w = None, self.work[0]
        while w["waiting"]:
            code = self.go_on()
            if code == codes.UNDECIDED:
                return stop or undecided(self.launch.kernel, int(self.worker.error[0]["pc"]), self.axes)
            if code:
                stop = self.worker.stopped(code)
                w["before"] = stop.block
                if code == codes.INTERRUPTED:
                    self.worker.server.check()
                    return stop
                continue
            self.look_for_races()
            if w["waiting"] and self.are_too_many():
                return stop or self.too_many()
        settle(self.worker)
        self.worker.server.check()
        assert stop or self.blocks == self.launch.blocks, "a block was lost"
        return stop


def too_large(launch: Launch) -> InputError:
    grid = " × ".join(f"{size:,}" for size in launch.grid)
    return InputError(f"a grid of {grid} blocks: counts beyond 2^62 are not exact; give a smaller one")


def undecided(kernel: Kernel, pc: int, axes: Directions) -> Undecided:
    """Why code that was made for these axes gave up at an instruction."""
    origin = needed(kernel, axes, LONGEST).origins.get(pc)
    where = kernel.instructions[pc // BYTES]
    return Undecided(where, None if origin is None else kernel.instructions[origin // BYTES])


def decided_by_data(kernel: Kernel) -> Undecided | None:
    """The first instruction whose request, guard or branch depends on what another reads from memory that arguments
    lie in; None where there is none, or where that is not followed."""
    try:
        found = needed(kernel, (), LONGEST).origins
    except UnsupportedError:
        return None
    code = kernel.instructions
    read = (
        (pc, origin)
        for pc, origin in sorted(found.items())
        if SPACES.get(code[origin // BYTES].name) in ("global", "generic")
    )
    return next((Undecided(code[pc // BYTES], code[origin // BYTES]) for pc, origin in read), None)


def region_of(worker: Worker, axes: Directions) -> tuple[Array, object]:
    """The region of the block that a worker executes, in directions along these axes; and what it needs besides: the
    copies of local and of shared memory, each with a context of its own and its bytes."""
    region, kept = aligned(REGION, 1), []
    for n in range(len(axes) + 1):
        context, local, shared = aligned(CONTEXT, 1), np.zeros_like(worker.local), np.zeros_like(worker.cluster.shared)
        context[:] = worker.context
        context[0]["local"], context[0]["shared"] = local.ctypes.data, shared.ctypes.data
        region[0]["local"][n] = context.ctypes.data
        kept += [context, local, shared]
    region[0]["axis"] = [*axes, *[-1] * (DIRECTIONS - len(axes))]
    worker.context[0]["region"] = region.ctypes.data
    return region, kept


def count(
    launch: Launch,
    rules: Sequence[Architecture],
    progress: Callable[[int, int], None] | None = None,
    placed: bool = False,
) -> Counted | Undecided:
    """The counts of a launch, as executing every block would give them; or why every block must be executed. `placed`:
    there are counts only where no access faults and all to global memory lie in its buffers, whatever these hold."""
    axes = along(launch.grid, SPARE)
    if launch.cooperative:
        return Undecided(None, None, "its blocks wait for each other")
    if launch.blocks * launch.warps > LARGEST:  # each warp counts, if only its end
        raise too_large(launch)
    prepare_llvm()
    llvm.add_symbol("narrow", callback(NARROWING, "narrow").address)
    began = time.perf_counter()
    try:
        if placed and (found := needed(launch.kernel, axes, LONGEST, placed).origins):
            return undecided(launch.kernel, min(found), axes)
        clustered = launch.cluster_blocks > 1
        compiled = compile_class(launch.kernel, axes, period_of(rules), placed, clustered, how_for(launch, FEWEST))
    except UnsupportedError as error:
        return Undecided(None, None, str(error))
    counting = Counting(launch, compiled, rules, axes)
    for row in whole(launch.grid, launch.cluster, axes):
        counting.push(row)

    def tick() -> None:
        if progress:
            progress(counting.blocks, int(counting.counters[1]))

    (stop,) = in_threads([counting.run], counting.stop, tick)
    if isinstance(stop, Undecided):
        return stop
    if counting.work[0]["most"] < 0:
        raise too_large(launch)
    counts = Counts(
        counters=counting.counters,
        tallies=counting.tallies.reshape(len(compiled.sites), len(rules)),
        blocks=counting.blocks,
        seconds=time.perf_counter() - began,
        stop=stop,
        hint=min(counting.hints, key=lambda one: one[0], default=(0, None))[1],
    )
    return Counted(compiled, counts, counting.classes, tuple(counting.first), counting.touched)
