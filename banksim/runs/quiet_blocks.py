"""Blocks that end without touching memory, as those beyond the end of the data do in a grid that was made too large.

Nobody sees anything of such a block but its counts. Where one class of blocks (`banksim.classes`) executes nothing but
arithmetic, branches and its end, only its first block is executed: the others would count the same.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes
from banksim.machine.basic_blocks import basic_blocks
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Counts
from banksim.runs.counts_to_conflicts import by_instruction
from banksim.runs.options import Options

LEAST = 1 << 20
"""Warps of a launch below which it takes less to execute quiet blocks than to look for them."""
MOST = 1 << 24
"""The most blocks of a launch that is looked at: each takes a byte."""
KEPT, MOST_KNOWN = 1 << 20, 16
"""What was found is kept where at most `KEPT` blocks are left to execute, and of the last `MOST_KNOWN` launches."""
OF_A_RUN, MOST_RUNS = 64, 1 << 18
"""What is left to execute lies in runs of neighbouring blocks. To begin a run takes as long as to execute `OF_A_RUN`
quiet warps; a launch that would fall into more than `MOST_RUNS` is executed whole."""
NAMES = (
    "S2R S2UR MOV UMOV SEL USEL NOP EXIT BRA ISETP UISETP PLOP3 UPLOP3 IMAD UIMAD IADD3 UIADD3 LEA ULEA LOP3 ULOP3 "
    "SHF USHF IMNMX UIMNMX VIMNMX IABS POPC FLO I2F I2FP F2I MUFU FADD FMUL FFMA FSETP"
)
QUIET = frozenset(NAMES.split())
"""Instructions that change nothing but registers, for which no operand is wrong."""
CONSTANTS = frozenset({"LDC", "ULDC"})


@dataclass(frozen=True)
class Quiet:
    """`rest`: the numbers of the blocks that are to be executed, in ascending order. The other `blocks` are quiet;
    `counters` is what they count together, laid out as `compiled` says."""

    rest: npt.NDArray[np.int64]
    blocks: int
    compiled: Compiled
    counters: npt.NDArray[np.int64]
    seconds: float

    def beside(self, executed: Counts) -> Counts:
        """The counts of the quiet blocks, to be added to those of executed blocks: they made no request."""
        return Counts(self.counters, np.zeros_like(executed.tallies), self.blocks, self.seconds, stop=None)


def is_quiet(i: Instruction) -> bool:
    """Whether an instruction changes nothing but registers and cannot fail. A load of a constant is quiet if the code
    itself names the place, which is then the same in each block."""
    if i.name in CONSTANTS:
        return all(part.kind == "imm" or part.is_zero for o in i.operands if o.kind == "const" for part in o.parts)
    return i.name in QUIET


@lru_cache(maxsize=256)
def may_be_quiet(kernel: Kernel) -> bool:
    """Whether a way leads from a kernel's beginning to an end past quiet instructions only."""
    blocks = basic_blocks(kernel)
    todo, seen = [0], {0}
    while todo:
        block = blocks[todo.pop()]
        for i in kernel.instructions[block.start // BYTES : block.end // BYTES]:
            if i.name == "EXIT":
                return True
            if not is_quiet(i):
                break
        else:
            todo += set(block.successors) - seen
            seen |= set(block.successors)
    return False


_known: dict[tuple[object, ...], Quiet | None] = {}
_lock = threading.Lock()


def quiet_blocks(launch: Launch, options: Options) -> Quiet | None:
    """The quiet blocks of a large launch. None where there are few, and where each block is to be seen."""
    whole = options.trace is None and not options.checks and options.max_instructions is None
    if not whole or not launch.apart or launch.blocks * launch.warps < LEAST or launch.blocks > MOST:
        return None
    if not may_be_quiet(launch.kernel):
        return None
    key = launch.key
    with _lock:
        if key in _known:
            return _known[key]
    found = look_for_quiet_blocks(launch, options.progress)
    if found is None or len(found.rest) <= KEPT:
        with _lock:
            _known[key] = found
            if len(_known) > MOST_KNOWN:
                del _known[next(iter(_known))]
    return found


def look_for_quiet_blocks(launch: Launch, progress: Callable[[int, int], None] | None) -> Quiet | None:
    """The quiet blocks of a launch whose kernel may have some. `progress` is called meanwhile, with nothing done, so
    that it can end the search."""
    from banksim.classes.counting import Counted, count

    def step(blocks: int, instructions: int) -> None:
        if progress:
            progress(0, 0)

    found = count(replace(launch, doubts={}, pages=None), (), step)
    if not isinstance(found, Counted):
        return None
    if found.counts.stop:
        if found.counts.stop.code == codes.INTERRUPTED:
            raise KeyboardInterrupt
        return None
    counters = np.zeros_like(found.counts.counters)
    quiet = np.zeros(launch.blocks, np.bool_)
    loud = np.array([not is_quiet(i) for i in launch.kernel.listing])
    for alike in found.first:
        if by_instruction(launch.kernel, found.compiled, alike.counters)[loud].any():
            continue
        counters += (alike.box.blocks - 1) * alike.counters
        quiet[alike.box.numbers(launch.grid)] = True
        quiet[alike.box.number(launch.grid)] = False
    blocks = int(np.count_nonzero(quiet))
    rest = np.flatnonzero(~quiet)
    runs = 1 + int(np.count_nonzero(np.diff(rest) != 1))
    if 2 * blocks < launch.blocks or runs > min(MOST_RUNS, blocks * launch.warps // OF_A_RUN):
        return None
    return Quiet(rest, blocks, found.compiled, counters, found.counts.seconds)
