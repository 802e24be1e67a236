"""What fetching code and reading registers takes, beside what one H100 took for loops of jumps and multiply-adds.

The loop of cycles calls these functions from compiled code; here one warp is led by hand.
"""

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from banksim.architectures.latencies import H200
from banksim.kernels.kernel import BYTES, Instruction, Operand
from banksim.system.bundles import Words
from banksim.timing.instruction_caches import AHEAD, LINE, InstructionCaches, fetched, new_caches, turn
from banksim.timing.issue_table import code_table
from banksim.timing.operand_collector import LATCHES, SOURCES
from banksim.timing.register_reads import RECENT, read
from helpers.places import DATA

NUMBERS = H200.numbers()
CODE = 0x41F00
"""Bytes of the kernel in whose body the loops were."""
START, BODY = 0x490, 0x2000
COUNTED = 20
"""Cycles from the loop's counter to its branch."""


@cache
def recorded() -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = json.loads((DATA / "timing" / "h100_code.json").read_text())
    return found


class OneWarp:
    """The cycle `t` of a warp that has just issued the instruction before `pc`."""

    def __init__(self) -> None:
        self.caches: InstructionCaches = new_caches(CODE // BYTES, NUMBERS)
        self.t, self.pc, self.line = 0, START, 0

    def jump(self, to: int) -> None:
        """Issue a branch, and the instruction at its target."""
        target = turn(self.caches, NUMBERS, 0, self.t)
        self.t = int(fetched(self.caches, NUMBERS, 0, to // BYTES // LINE, True, target))
        self.line, self.pc = self.t + NUMBERS.line, to + BYTES

    def run(self, instructions: int) -> None:
        """Issue so many more, one a cycle."""
        for _ in range(instructions):
            self.t += 1
            if self.pc % (BYTES * LINE) == 0:
                self.t = int(fetched(self.caches, NUMBERS, 0, self.pc // BYTES // LINE, False, max(self.t, self.line)))
            self.pc += BYTES

    def loop(self, entries: list[int], instructions: int) -> int:
        """Cycles of a round, once it is the same each time: jump to each entry, behind so many instructions."""
        for _ in range(4):
            begin = self.t
            for entry in entries:
                self.jump(entry)
                self.run(instructions)
            self.jump(START + BYTES)
            self.t += COUNTED - 1
            self.jump(START)
        return self.t - begin


def within(name: str) -> float:
    """How far cycles may be off: hardly, where a sub-core's own cache holds the code; the other caches are assumed."""
    return 0.001 if name.startswith(("entry", "seq_1_24", "seq_4_48")) else 0.1


@pytest.mark.parametrize("row", recorded()["hops"], ids=lambda row: str(row[0]))
def test_jumps_take_what_they_took(row: list[Any]) -> None:
    name, entries, instructions, measured = row
    assert OneWarp().loop(entries, instructions) == pytest.approx(measured, rel=within(name))


@pytest.mark.parametrize(("lines", "measured"), recorded()["straight"])
def test_code_without_branches_runs_through_lines_that_its_sub_core_lacks(lines: int, measured: float) -> None:
    warp = OneWarp()
    for _ in range(4):
        begin = warp.t
        warp.jump(BODY)
        warp.run(LINE * lines)
        warp.t += COUNTED - 1
        warp.jump(START)
    assert warp.t - begin == pytest.approx(measured, rel=0.012)


@pytest.mark.parametrize("lines", [1, 46, 272, 1024, 1025, 2110])
def test_code_of_any_length_has_caches(lines: int) -> None:
    """Also more than the last of them holds. Compiled code takes them, which wants contiguous arrays."""
    caches = new_caches(lines * LINE, NUMBERS)
    Words(caches)
    for size, places, inside in zip(caches.sizes, caches.places, caches.lines, strict=True):
        kept = np.flatnonzero(places >= 0)
        assert inside[inside >= 0].tolist() == kept.tolist()
        assert len(kept) == (lines + AHEAD if lines + AHEAD <= size else 0)


def test_branches_of_two_warps_disturb_each_other() -> None:
    """Sixteen jumps, and two around the loop, of each of 1, 2, 4 and 8 warps."""
    taken = {}
    for warps, measured in recorded()["together"]:
        caches = new_caches(CODE // BYTES, NUMBERS)
        at = [0] * warps
        for _ in range(18):
            for w in range(warps):
                at[w] = int(turn(caches, NUMBERS, 0, at[w]))
            at.sort()
        taken[warps] = (max(at) + COUNTED - 1) / measured
    assert taken == pytest.approx({1: 1, 2: 1, 4: 1, 8: 1}, abs=0.12)


def instruction(op: str, a: int, b: int, c: int, reuse: int, n: int) -> Instruction:
    operands = tuple(Operand("R", number) for number in (140 + n % 8, a, b, c))
    control = 1 | 1 << 4 | 7 << 5 | 7 << 8 | reuse << 17
    opcode = {"LOP3": "LOP3.LUT"}.get(op, op)
    return Instruction(BYTES * n, 0, opcode, op, frozenset(), None, operands, encoding=control << 105)


@pytest.mark.parametrize(("sequence", "measured"), recorded()["operands"])
def test_registers_of_one_bank_are_read_one_after_the_other(sequence: list[Any], measured: float) -> None:
    """Each of the two banks, of even and odd numbers, gives a register a cycle; an instruction reads within three."""
    code = [instruction(*one, n) for n, one in enumerate(sequence * 80)]
    kernel: Any = SimpleNamespace(instructions=code)
    warp = SimpleNamespace(core=0)
    collectors, recent = np.zeros((4, LATCHES + 2 * SOURCES), np.int64), np.full((1, RECENT), -RECENT)
    sm: Any = SimpleNamespace(collectors=collectors, recent=recent, warps=[warp], pipes=np.zeros(16, np.int64))
    t = 0
    for n, row in enumerate(code_table(kernel)):
        t = max(t, int(sm.pipes[row["pipe"]]))
        late = int(read(sm, RowOf(row), 0, n, t))
        sm.pipes[row["pipe"]] = t + late + row["interval"]
        t += int(row["stall"]) + late
    assert t / len(code) == pytest.approx(measured, rel=0.03)


class RowOf:
    """A row of the table as compiled code sees it."""

    def __init__(self, row: np.void) -> None:
        self.reads, self.again = int(row["reads"]), int(row["again"])
        self.newer, self.older = int(row["newer"]), int(row["older"])


def test_convergence_takes_as_long_where_no_thread_has_left() -> None:
    """BSSY, so many multiply-adds, BSYNC: of one warp, and of all warps of a multiprocessor."""
    bsync = Instruction(
        0, 0, "BSYNC", "BSYNC", frozenset(), None, (Operand("B", 0),), encoding=(5 | 1 << 4 | 63 << 5) << 105
    )
    kernel: Any = SimpleNamespace(instructions=[bsync])
    row = code_table(kernel)[0]
    found: Any = recorded()["convergence"]
    for instructions, measured in found["behind"]:
        assert 1 + instructions + row["stall"] + row["more"] == measured
    assert row["server"] >= 0
    assert found["warps"] * NUMBERS.server == pytest.approx(found["all"], rel=0.03)
