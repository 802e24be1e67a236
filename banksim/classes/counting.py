"""Counting a launch: of each class of blocks one is executed, and its counts are taken for all of them.

Boxes of blocks wait in a list. The first block of a box is executed. What it does narrows the box to the blocks that
do the same; the others go back to the list as smaller boxes. The first block of a class is also its block of the
lowest number, so that the worst request that is named is the one that executing every block would name."""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.classes.needed import needed
from banksim.classes.regions import AXES, REGION, Box, gathered, longer_step, narrowed
from banksim.classes.translate import compile_class
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes, state
from banksim.machine.faults import Stop
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled, how_for
from banksim.machine.llvm.counts import Array, Counts, merged
from banksim.machine.llvm.host_threads import in_threads
from banksim.machine.llvm.translate import LONGEST
from banksim.machine.llvm.worker import Worker, bank_rules, period_of, settle
from banksim.machine.races.findings import Hint
from banksim.machine.races.probe import every
from banksim.machine.state import CONTEXT, aligned
from banksim.requests.kinds import LANES
from banksim.system.native_code import prepare_llvm
from banksim.wording import place

FEWEST, MOST = 16, 256
"""So many classes are always looked for; after so many, no more if executing every block would be less work."""
PATIENCE = 16
"""Between these, no more once looking for classes has been more than this part of the work of executing every block."""
KEPT = 64
"""For so many classes the counts of their blocks are kept."""
PER_CLASS, PER_BLOCK = 400_000, 100
"""What a class and a block take besides their instructions, in warp instructions."""


@dataclass(frozen=True)
class Undecided:
    """Why blocks must be executed one by one: `instruction` depends on what `origin` reads (None: unknown)."""

    instruction: Instruction | None
    origin: Instruction | None
    reason: str = ""

    def __str__(self) -> str:
        if self.instruction is None:
            return self.reason
        what = f"{self.instruction.name} of {place(self.instruction.site)}"
        if self.origin is None:
            return f"what {what} depends on is not known"
        return f"{what} depends on {self.origin.name} of {place(self.origin.site)}"


class TooMany(Undecided):
    """That there are too many classes: it is less work to execute each block."""


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


class Narrowing:
    """Narrows the region of the block that is executed where bounds do not hold. `Counting` keeps it alive; compiled
    code finds it by the context of its worker."""

    def __init__(self, worker: Worker, axes: tuple[int, ...]) -> None:
        self.axes, self.context, self.error = axes, worker.context[0], worker.error[0]
        self.region = aligned(REGION, 1)
        self.context["region"] = self.region.ctypes.data
        self.longer: tuple[int, int] | None = None
        self.failure: BaseException | None = None
        _narrowings[worker.context.ctypes.data] = self

    def begin(self, box: Box) -> None:
        self.region[0]["count"], self.region[0]["step"] = box.count, box.step
        self.longer = None

    @property
    def count(self) -> tuple[int, int, int]:
        """How many further blocks are left along each axis."""
        x, y, z = map(int, self.region[0]["count"])
        return x, y, z

    def narrow(self, pc: int, mask: int, bits: int) -> None:
        if self.error["code"]:
            return
        region = self.region[0]
        lanes = [lane for lane in range(LANES) if mask >> lane & 1]
        columns = [region["below"], region["above"], *(region["slopes"][axis] for axis in self.axes)]
        rows = gathered(tuple(int(column[lane]) for column in columns) for lane in lanes)
        count = [int(region["count"][axis]) for axis in self.axes]
        if bits and (found := longer_step(count, rows, bits)):
            self.longer = self.axes[found[0]], found[1]
            self.error["code"], self.error["pc"] = codes.LONGER_STEP, pc
            return
        for axis, n in zip(self.axes, narrowed(count, rows), strict=True):
            region["count"][axis] = n


_narrowings: WeakValueDictionary[int, Narrowing] = WeakValueDictionary()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)  # type: ignore[untyped-decorator]
def narrow(context: int, pc: int, mask: int, bits: int) -> None:
    """Compiled code calls it, with the bound in the record of the region."""
    one = _narrowings[context]
    try:
        one.narrow(pc, mask, bits)
    except BaseException as failure:  # an exception must not unwind through compiled code
        one.failure = failure
        one.error["code"] = codes.INTERRUPTED


class Counting:
    """One worker that executes the first block of one box after the other."""

    def __init__(
        self, launch: Launch, compiled: Compiled, rules: Sequence[Architecture], axes: tuple[int, ...]
    ) -> None:
        self.launch, self.compiled, self.rules = launch, compiled, rules
        words, period = bank_rules(rules, compiled)
        self.stop = np.zeros(1, np.uint32)
        self.worker = Worker(launch, compiled, words, period, 2**62, self.stop)
        self.worker.context[0]["allowance"] = state.ALLOWANCE
        self.probed = every(launch.blocks) if self.worker.context[0]["probed"] else 0
        self.worker.context[0]["probed"] = int(bool(self.probed))
        self.narrowing = Narrowing(self.worker, axes)
        self.copies = copies_of_local(self.worker, self.narrowing, axes)
        self.fresh = self.worker.memos.copy(), self.worker.tallies.copy()
        self.counters = np.zeros_like(self.worker.counters)
        self.tallies = self.worker.tallies.copy()
        self.blocks = self.classes = self.work = 0
        self.hints: list[tuple[int, Hint]] = []
        self.first: list[Alike] = []
        self.touched = np.zeros(len(launch.buffers), np.uint8)
        self.worker.context[0]["touched"] = self.touched.ctypes.data

    def execute(self, box: Box) -> int:
        """Execute the first block of a box; its counts are then the worker's. 0 or an error code."""
        worker = self.worker
        worker.memos[:], worker.tallies[:] = self.fresh
        worker.counters[:] = 0
        worker.error[0]["code"] = 0
        worker.probe.record[0]["found"] = 0
        worker.probe.record[0]["block"] = -1
        self.narrowing.begin(box)
        number = box.number(self.launch.grid)
        code = worker.run(self.compiled, number, number + 1)
        if self.narrowing.failure:
            raise self.narrowing.failure
        settle(worker)
        return code - codes.FAULT if code else 0

    def add(self, box: Box) -> None:
        """Count what was executed for all blocks of a box."""
        alike = Alike(box, self.worker.counters.copy(), self.worker.tallies.copy())
        counters, tallies = alike.times(box.blocks)
        self.counters += counters
        self.tallies = merged([self.tallies, tallies])
        self.blocks += box.blocks
        self.classes += 1
        self.work += self.compiled.warp_instructions(alike.counters)
        if len(self.first) < KEPT:
            self.first.append(alike)

    def are_too_many(self) -> bool:
        """Whether to look for no more classes: it would have been less work to execute every block that they stand for,
        and all of the launch is too little work for classes to come that stand for more."""
        if self.classes < FEWEST:
            return False
        a_block = self.work / self.classes + PER_BLOCK
        spent = self.work + PER_CLASS * self.classes
        given_up = self.classes > MOST or PATIENCE * spent > a_block * self.launch.blocks
        return given_up and spent > a_block * self.blocks

    def look_for_races(self, box: Box) -> None:
        """If the executed block shows a hint at a race, give the one that a plain run would give: that of the first
        block of this class which a plain run looks at, if it looks at any."""
        if not self.probed or not self.worker.probe.record[0]["found"]:
            return
        number = box.least_multiple(self.probed, self.launch.grid)
        if number is None:
            return
        if number != box.number(self.launch.grid):
            self.execute(Box.of_one(number, self.launch.grid))
        hint = self.worker.probe.found()
        if hint is not None:
            self.hints.append((number, hint))

    def run(self, whole: Box) -> Stop | Undecided | None:
        """Count the blocks of a box, class by class. None once all is done. Of faults that of the lowest block is told:
        behind one, boxes go on whose first block, their lowest, is before it."""
        waiting, stop = [whole], None
        while waiting:
            box = waiting.pop()
            if stop and box.number(self.launch.grid) > stop.block:
                continue
            code = self.execute(box)
            if code == codes.LONGER_STEP:
                assert self.narrowing.longer
                waiting += reversed(box.in_steps(*self.narrowing.longer))
                continue
            if code == codes.UNDECIDED:
                return stop or undecided(self.launch.kernel, int(self.worker.error[0]["pc"]), self.narrowing.axes)
            if code:
                stop = self.worker.stopped(code)
                if code == codes.INTERRUPTED:
                    return stop
                continue
            count = self.narrowing.count
            alike = Box(box.first, box.step, count)
            self.add(alike)
            self.look_for_races(alike)
            waiting += box.rest(count)
            if waiting and self.are_too_many():
                return stop or TooMany(None, None, f"{self.classes} classes of blocks were too many")
        return stop


def undecided(kernel: Kernel, pc: int, axes: tuple[int, ...]) -> Undecided:
    """Why code that was made for these axes gave up at an instruction."""
    origin = needed(kernel, axes, LONGEST).origins.get(pc)
    where = kernel.instructions[pc // BYTES]
    return Undecided(where, None if origin is None else kernel.instructions[origin // BYTES])


def copies_of_local(worker: Worker, narrowing: Narrowing, axes: tuple[int, ...]) -> list[np.ndarray]:
    """The arrays behind the copies of local memory: for each copy a context of its own, and its bytes."""
    kept: list[np.ndarray] = []
    for n in range(len(axes) + 1):
        context, memory = aligned(CONTEXT, 1), np.zeros_like(worker.local)
        context[:] = worker.context
        context[0]["local"] = memory.ctypes.data
        narrowing.region[0]["local"][n] = context.ctypes.data
        kept += [context, memory]
    return kept


def count(
    launch: Launch,
    rules: Sequence[Architecture],
    progress: Callable[[int, int], None] | None = None,
    placed: bool = False,
) -> Counted | Undecided:
    """The counts of a launch, as executing every block would give them; or why every block must be executed. `placed`:
    there are counts only where no access faults and all to global memory lie in its buffers, whatever these hold."""
    axes = tuple(axis for axis in range(AXES) if launch.grid[axis] > 1)
    if not launch.apart:
        why = "wait for each other" if launch.cooperative else "share memory and barriers in clusters"
        return Undecided(None, None, f"its blocks {why}")
    prepare_llvm()
    llvm.add_symbol("narrow", ctypes.cast(narrow, ctypes.c_void_p).value)
    began = time.perf_counter()
    try:
        if placed and (found := needed(launch.kernel, axes, LONGEST, placed).origins):
            return undecided(launch.kernel, min(found), axes)
        compiled = compile_class(launch.kernel, axes, period_of(rules), placed, how_for(launch, FEWEST))
    except UnsupportedError as error:
        return Undecided(None, None, str(error))
    counting = Counting(launch, compiled, rules, axes)
    x, y, z = launch.grid
    whole = Box((0, 0, 0), (1, 1, 1), (x - 1, y - 1, z - 1))

    def tick() -> None:
        if progress:
            progress(counting.blocks, int(counting.counters[1]))

    (stop,) = in_threads([lambda: counting.run(whole)], counting.stop, tick)
    if isinstance(stop, Undecided):
        return stop
    counts = Counts(
        counters=counting.counters,
        tallies=counting.tallies.reshape(len(compiled.sites), len(rules)),
        blocks=counting.blocks,
        seconds=time.perf_counter() - began,
        stop=stop,
        hint=min(counting.hints, key=lambda one: one[0], default=(0, None))[1],
    )
    return Counted(compiled, counts, counting.classes, tuple(counting.first), counting.touched)
