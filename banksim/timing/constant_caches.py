"""Which constants a multiprocessor has: a launch begins with none of its parameters, nor of a module's constant memory,
in caches of lines of 64 bytes. One of these is that of LDC; each sub-core has another for operands and for ULDC. Lines
come from a cache behind them, which has all parameters, and of constant memory what has been asked for, by 256 bytes,
from the L2. Groups of multiprocessors share that cache, so that lines follow one another where all ask at a time.

Measured on one H200 by words some way apart (tests/data/timing/h200_constants.json) and by 1 to 32 warps that wait for
the same lines (h200_around.json). Assumed: nothing is lost again.
"""

import numpy as np

from banksim.architectures.time_figures import Numbers
from banksim.kernels.kernel import Instruction
from banksim.machine import state
from banksim.machine.launch import Launch
from banksim.machine.state import Warp
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer
from banksim.system.jit import carray, inlined
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.issue_records import ConstantCaches, IssueRow, ResidentWarp

LINE, BEHIND = 64, 4
"""Bytes of a line; how many of them come to the cache behind together."""
BANK = 64 << 10
"""Bytes."""
NONE, UNASKED = -1, -1
LDC = SUB_CORES
"""Its cache, behind those of sub-cores."""


def new_constants(launch: Launch, figures: Numbers) -> ConstantCaches:
    lines = BANK // LINE * (max(launch.constants, default=0) + 1)
    behind = np.full(lines, UNASKED)
    behind[: BANK // LINE] = 0
    free = np.array([figures.constants_own - figures.constants_next, 0])
    return ConstantCaches(np.full((SUB_CORES + 1, lines), UNASKED), np.zeros(lines, np.int64), behind, free)


def note_constant(row: np.void, i: Instruction) -> None:
    """Fill in where the constant begins that an instruction reads, among all banks, and what is added to that."""
    row["constant"] = row["operand"] = row["lane_index"] = row["uniform_index"] = NONE
    named = next((o for o in i.operands if o.kind == "const"), None)
    if named is not None:
        fixed = sum(part.number for part in named.parts if part.kind == "imm")
        row["constant" if i.name == "LDC" else "operand"] = named.number * BANK + fixed
        for part in named.parts:
            if part.kind != "imm" and not part.is_zero:
                row["lane_index" if part.kind == "R" else "uniform_index"] = part.number


@inlined
def comes(caches: ConstantCaches, f: Numbers, place: Integer, core: Integer, t: Integer) -> Integer:
    """When the constant at a place has come that a sub-core asks for in cycle t, or (LDC) an instruction of that name:
    t, if it is there."""
    line = place // LINE
    last: Integer = t
    if line < 0 or line >= len(caches.behind):
        return last
    if caches.comes[core, line] == UNASKED:
        first = line // BEHIND * BEHIND
        if caches.behind[first] == UNASKED:
            caches.behind[first] = t + f.constants_l2
        begins = max(t, caches.behind[first])
        if core == LDC:
            begins = max(begins, caches.free[1])
            caches.free[1] = begins + 2 * f.constants_next
            caches.comes[core, line] = begins + f.constants
        else:
            before = 1 if caches.asked[line] else 1 + SUB_CORES  # as many lines of others pass between two of its own
            caches.asked[line] = 1
            caches.free[0] = max(begins + f.constants_own, caches.free[0] + before * f.constants_next)
            caches.comes[core, line] = caches.free[0]
    last = max(last, caches.comes[core, line])
    return last


@inlined
def constant_comes(
    caches: ConstantCaches,
    f: Numbers,
    warp: ResidentWarp,
    place: Integer,
    row: IssueRow,
    record: Warp,
    mask: Integer,
    core: Integer,
    t: Integer,
) -> Integer:
    """When a constant has come for all lanes of a mask that an instruction asks for in cycle t. `place`: without what
    registers add to it; -1: there is none. `core` as for `comes`."""
    last: Integer = t
    if place < 0:
        return last
    if row.uniform_index >= 0:
        place += record.uniform[row.uniform_index]
    if row.lane_index < 0:
        last = comes(caches, f, place, core, t)
        if core == LDC and last > t:  # those that wait for a line are served in turn
            caches.comes[core, place // LINE] += f.server
        return last
    lanes = carray(pointer(warp.record + state.REGISTERS), (row.lane_index + 1, 32), np.uint32)[row.lane_index]
    for lane in range(32):
        if mask >> lane & 1:
            last = max(last, comes(caches, f, place + lanes[lane], core, t))
    return last
