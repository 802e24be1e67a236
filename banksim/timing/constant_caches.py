"""Which constants a multiprocessor has: a launch begins with none of a module's constant memory in its cache of lines
of 64 bytes. They come from a cache behind that, which has what has been asked for, by 256 bytes, from the L2.

Measured on one H200 by words some way apart (tests/data/timing/h200_constants.json). The parameters of a launch come in
the same way, but from a cache that has them all: that they are waited for once is in what a launch takes besides its
blocks. Assumed: nothing is lost again.
"""

import numpy as np
import numpy.typing as npt

from banksim.architectures.latencies import Numbers
from banksim.kernels.kernel import Instruction
from banksim.machine import state
from banksim.machine.launch import Launch
from banksim.machine.state import Warp
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined
from banksim.timing.issue_records import IssueRow, ResidentWarp

LINE, BEHIND = 64, 4
"""Bytes of a line; how many of them come to the cache behind together."""
BANK = 64 << 10
"""Bytes."""
NONE, UNASKED = -1, -1


def new_constants(launch: Launch) -> npt.NDArray[np.int64]:
    """When each line of the banks of a launch has come, and (second row) when the first of four has to the cache behind
    that."""
    found = np.full((2, BANK // LINE * (max(launch.constants, default=0) + 1)), UNASKED)
    found[:, : BANK // LINE] = 0
    return found


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
def comes(constants: Integers, f: Numbers, place: Integer, t: Integer) -> Integer:
    """When the constant at a place has come that is asked for in cycle t: t, if it is there."""
    line = place // LINE
    last: Integer = t
    if line < 0 or line >= constants.shape[1]:
        return last
    if constants[0, line] == UNASKED:
        first = line // BEHIND * BEHIND
        if constants[1, first] == UNASKED:
            constants[1, first] = t + f.constants_l2
        constants[0, line] = max(t, constants[1, first]) + f.constants
    last = max(last, constants[0, line])
    return last


@inlined
def constant_comes(
    constants: Integers,
    f: Numbers,
    warp: ResidentWarp,
    place: Integer,
    row: IssueRow,
    record: Warp,
    mask: Integer,
    t: Integer,
) -> Integer:
    """When a constant has come for all lanes of a mask that an instruction asks for in cycle t. `place`: without what
    registers add to it; -1: there is none."""
    last: Integer = t
    if place < 0:
        return last
    if row.uniform_index >= 0:
        place += record.uniform[row.uniform_index]
    if row.lane_index < 0:
        return comes(constants, f, place, t)
    lanes = carray(pointer(warp.record + state.REGISTERS), (row.lane_index + 1, 32), np.uint32)[row.lane_index]
    for lane in range(32):
        if mask >> lane & 1:
            last = max(last, comes(constants, f, place + lanes[lane], t))
    return last
