"""However a kernel is executed, the same threads run together: as on the H200, and for code of any shape."""

import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.assembler import kernel
from helpers.recorded_launches import ENDING, ENTRIES, because, launched
from machine.test_hardware import TIMED, UNKNOWN

WAYS: dict[str, dict[str, Any]] = {
    "numpy": {"engine": "numpy"},
    "timing": {"timing": True},
    "trace": {"trace": lambda requests: None},
    "races": {"check": "races"},
}


Exit = tuple[tuple[int, ...], str]
"""The way out of a loop: the convergence barriers that threads leave, and the label that they go to."""


class Program:
    """A random program in SASS whose threads diverge and converge. R0: the lane; R8: a number that differs from lane to
    lane; R20: the result."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.lines: list[str] = []
        self.places: dict[str, int] = {}
        self.labels: Iterator[int] = count()
        self.add("S2R R0, SR_LANEID")
        self.add("IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x210]")
        self.add("IMAD.WIDE.U32 R4, R0, 0x4, c[0x0][0x218]")
        self.add("LDG.E R8, [R2.64]")
        self.add("MOV R20, R8")
        self.statements(3, None)
        self.add("STG.E [R4.64], R20")
        self.add("EXIT")

    def add(self, line: str) -> None:
        self.lines.append(line)

    def label(self) -> str:
        return f"L{next(self.labels)}_"

    def mark(self, label: str) -> None:
        self.places[label] = 16 * len(self.lines)

    def text(self) -> list[str]:
        """The lines, with places for labels."""
        lines = []
        for line in self.lines:
            for label, place in self.places.items():
                line = line.replace(label, f"{place:#x}")
            lines.append(line)
        return lines

    def condition(self) -> None:
        """Set P0 in some of the threads."""
        self.add(f"IMAD R21, R20, {self.choose.randrange(3, 999, 2):#x}, R0")
        self.add(f"SHF.R.U32.HI R21, RZ, {self.choose.randrange(1, 20):#x}, R21")
        self.add("LOP3.LUT R21, R21, 0x7, RZ, 0xc0, !PT")
        self.add(f"ISETP.LT.U32.AND P0, PT, R21, {self.choose.randrange(1, 8):#x}, PT")

    def statements(self, depth: int, leave: Exit | None) -> None:
        for _ in range(self.choose.randrange(2, 4)):
            self.statement(depth, leave)

    def statement(self, depth: int, leave: Exit | None) -> None:
        """`leave`: the way out of the loop around it."""
        kind = self.choose.choice(
            ["sum", "load", "together", "yield", "leave", "exit"] + (["one", "two", "loop", "loose"] * 2) * (depth > 0)
        )
        after, other = self.label(), self.label()
        within = ((*leave[0], depth), leave[1]) if leave and kind in ("one", "two") else leave
        if kind == "sum":
            self.add(f"IADD3 R20, R20, R8, {self.choose.randrange(99):#x}")
        elif kind == "load":
            self.add("LDG.E R22, [R2.64]")
        elif kind == "together":
            self.add("VOTE.ANY R23, PT, PT")
            self.add("WARPSYNC R23")
        elif kind == "yield":
            self.add("YIELD")
        elif kind == "exit":
            self.condition()
            self.add("ISETP.EQ.U32.AND P0, PT, R21, 0x5, P0")
            self.add("@P0 EXIT")
        elif kind == "leave" and leave:
            self.condition()
            for barrier in leave[0]:
                self.add(f"@P0 BREAK B{barrier}")
            self.add(f"@P0 BRA {leave[1]}")
        elif kind == "one":
            self.condition()
            self.add(f"BSSY B{depth}, {after}")
            self.add(f"@P0 BRA {after}")
            self.statements(depth - 1, within)
            self.mark(after)
            self.add(f"BSYNC B{depth}")
        elif kind in ("two", "loose"):  # without a convergence barrier where it is loose
            self.condition()
            if kind == "two":
                self.add(f"BSSY B{depth}, {after}")
            self.add(f"@P0 BRA {other}")
            self.statements(depth - 1, within)
            self.add(f"BRA {after}")
            self.mark(other)
            self.statements(depth - 1, within)
            self.mark(after)
            if kind == "two":
                self.add(f"BSYNC B{depth}")
        elif kind == "loop":
            self.add(f"LOP3.LUT R{30 + depth}, R20, 0x3, RZ, 0xc0, !PT")
            self.add(f"BSSY B{depth}, {other}")
            self.mark(after)
            outside = self.label()
            self.statements(depth - 1, ((depth,), outside))
            self.add(f"IADD3 R20, R20, R{30 + depth}, RZ")
            self.add(f"ISETP.NE.U32.AND P1, PT, R{30 + depth}, RZ, PT")
            self.add(f"IADD3 R{30 + depth}, R{30 + depth}, -0x1, RZ")
            self.add(f"@P1 BRA {after}")
            self.mark(other)
            self.add(f"BSYNC B{depth}")
            self.mark(outside)


def rows_of(run: Any) -> dict[str, tuple[int, int, int]]:
    """What a run executed: by instruction the warps, the threads, and those whose predicate held."""
    return {hex(e.instruction.pc): (e.warps, e.threads, e.predicated_on) for e in run.profile if e.warps}


def recorded_rows(name: str) -> dict[str, tuple[int, int, int]]:
    """The same, as an H200 executed a launch."""
    return {hex(row[0]): tuple(row[1:4]) for row in ENTRIES[name]["rows"]}


@pytest.mark.parametrize("seed", range(1, 7))
def test_all_ways_let_the_same_threads_run_together(seed: int) -> None:
    written = kernel(Program(seed).text())
    numbers = np.random.default_rng(seed).integers(0, 1 << 32, 32, np.uint32)
    found = {}
    for name, way in {"llvm": {}, **WAYS}.items():
        out = np.zeros(32, np.uint32)
        run = banksim.run(written, 1, 32, [numbers, out], max_instructions=1_000_000, workers=1, **way)
        found[name] = rows_of(run), out.tolist()
        assert found[name] == found["llvm"], name


LEAVING = {
    "guarded": ["@P1 BREAK B0", "@P1 BRA {out}"],
    "named": ["BREAK P1, B0", "@P1 BRA {out}"],
    "apart": ["@!P1 BRA {stay}", "BREAK B0", "BRA {out}"],
}
"""Code by which compilers let threads leave a convergence barrier."""


def leaving(way: str) -> Any:
    """Threads diverge by bit 0 of a word to two BSSYs, converge, and leave by bit 8. R20: which go on together."""
    lines = [
        "S2R R0, SR_LANEID",
        "IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x210]",
        "IMAD.WIDE.U32 R4, R0, 0x4, c[0x0][0x218]",
        "LDG.E R8, [R2.64]",
        "BSSY B1, {meet}",
        "LOP3.LUT P0, RZ, R8, 0x1, RZ, 0xc0, !PT",
        "@P0 BRA {other}",
        "BSSY B0, {stay}",
        "BRA {meet}",
        "other: BSSY B0, {stay}",
        "meet: BSYNC B1",
        "LOP3.LUT P1, RZ, R8, 0x100, RZ, 0xc0, !PT",
        *LEAVING[way],
        "stay: BSYNC B0",
        "VOTE.ANY R20, PT, PT",
        "BRA {wait}",
        "out: VOTE.ANY R20, PT, PT",
        "wait: WARPSYNC.ALL",
        "STG.E [R4.64], R20",
        "EXIT",
    ]
    places = {line.partition(": ")[0]: f"{16 * n:#x}" for n, line in enumerate(lines) if ": " in line}
    return kernel([line.rpartition(": ")[2].format(**places) for line in lines])


@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.parametrize(("upper", "leave"), [(0xFFFF0000, 0x00F000F0), (0x55555555, 0x00020318)])
def test_nobody_waits_for_threads_that_left_a_barrier(way: str, upper: int, leave: int) -> None:
    """Whichever BSSY the threads came through. The H200 did the same with this very code. (BMOV reads one mask for all
    threads, to which BSSY adds and from which BREAK takes.)"""
    words = np.array([upper >> lane & 1 | (leave >> lane & 1) << 8 for lane in range(32)], np.uint32)
    expected = [leave if leave >> lane & 1 else ~leave & 0xFFFFFFFF for lane in range(32)]
    for name, how in {"llvm": {}, **WAYS}.items():
        out = np.zeros(32, np.uint32)
        banksim.run(leaving(way), 1, 32, [words, out], workers=1, **how)
        assert out.tolist() == expected, name


SMALL = [
    name
    for name in ENDING
    if name.split(".")[0] in ("barriers", "divergence", "schedule", "warp", "order")
    and sum(row[1] for row in ENTRIES[name]["rows"]) < 1500
    and not because(TIMED, name)
    and not because(UNKNOWN["rows"], name)
]


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith(("barriers.", "warp."))][::3])
def test_timing_executes_what_the_h200_did(name: str) -> None:
    assert rows_of(launched(name, timing=True)[0]) == recorded_rows(name)
