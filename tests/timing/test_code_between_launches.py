"""Code that other launches have displaced since, or that none has fetched yet, beside what one H200 took for it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from banksim.architectures.bank_rules import architecture
from banksim.architectures.latencies import H200
from banksim.kernels.cubin import decode
from banksim.kernels.global_addresses import PROGRAM
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Buffer, prepare
from banksim.machine.program_memory import ProgramMemory, RecentCode
from banksim.runs.options import Options
from banksim.runs.run import execute_launch
from banksim.timing.dram import lacking
from helpers.launch_cases import microseconds_of
from helpers.places import DATA
from helpers.recordings import timing

OUT = 3
STATES = {"loaded": (8,), "again": ("same",), "behind 64": ("same", 64), "behind 256": ("same", 256)}
"""What is launched before, by its lines: none of them was a program's first launch."""


@cache
def kernels() -> Mapping[str, Kernel]:
    """As a program has them."""
    return decode((DATA / "timing" / "code.cubin").read_bytes(), "code.cubin", 0)


@cache
def recorded() -> dict[tuple[Any, ...], tuple[float, int]]:
    """The microseconds of a launch and the cycles of a block, by lines, blocks and state."""
    found = timing("code")
    return {
        (lines, blocks, state): (event and event - 1.26, cycles)
        for kernel, lines, blocks, threads, state, event, _, cycles in found["rows"]
        if kernel == "code" and threads == 32
    }


def launched(memory: ProgramMemory, lines: int, blocks: int) -> tuple[float, int]:
    number = np.float32(1).tobytes()
    given = [PROGRAM.address_of(OUT).to_bytes(8, "little"), number, number]
    launch = prepare(kernels()[f"code{lines}"], blocks, 32, given, memory)
    run = execute_launch(launch, (architecture("sm_90"),), Options(timing=True))
    microseconds = microseconds_of(run)
    stamps = memory[OUT].data.view(np.uint32).astype(np.int64)
    return microseconds, int(stamps[8] - stamps[0])


def taken(lines: int, blocks: int, state: str) -> tuple[float, int]:
    """The same of the simulated launch."""
    memory = ProgramMemory(OUT)
    memory.hold(OUT, Buffer(np.zeros(132 * 36, np.uint8), "out"))
    for before in STATES[state]:
        launched(memory, *((lines, blocks) if before == "same" else (before, 132)))
    return launched(memory, lines, blocks)


@pytest.mark.parametrize("blocks", [1, 132])
@pytest.mark.parametrize("lines", [32, 64, 128])
@pytest.mark.parametrize("state", STATES)
def test_code_comes_anew_where_others_took_its_place(lines: int, blocks: int, state: str) -> None:
    """All of it was found before, whatever had been launched in between, or nothing: up to 30 % too short."""
    microseconds, cycles = recorded()[lines, blocks, state]
    found = taken(lines, blocks, state)
    assert found[1] == pytest.approx(cycles, rel=0.07)
    assert found[0] == pytest.approx(microseconds, rel=0.1)


def test_code_that_fills_the_cache_is_there_but_behind_itself_alone() -> None:
    """262 lines, of 272: 64 more do not fit."""
    assert taken(256, 1, "behind 64")[1] == pytest.approx(recorded()[256, 1, "behind 64"][1], rel=0.07)
    assert recorded()[256, 1, "again"][1] < 0.6 * recorded()[256, 1, "behind 64"][1]
    assert taken(256, 1, "again")[1] < 0.6 * taken(256, 1, "behind 64")[1]


def test_the_first_launch_of_a_kernel_takes_longer() -> None:
    """Than behind others that took its code's place: in the median of all of much code that were recorded so much."""
    found = timing("code")
    rows = {
        tuple(row[:5]): row[6] for row in found["rows"] if row[0] == "code" and 32 <= row[1] <= 256 and row[3] == 32
    }
    later = [
        time - rows[(*case, "behind 256")]
        for (*case, state), time in rows.items()
        if state in ("first", "loaded", "loaded, flushed")
    ]
    assert len(later) == 24
    assert np.median(later) == pytest.approx(H200.new_code.value / 1000, abs=0.02)


def test_which_code_multiprocessors_still_have() -> None:
    code = RecentCode()
    assert code.launch("a", 10, 132, 30) == (False, False)
    assert code.launch("a", 10, 132, 30) == (True, True)
    assert code.launch("b", 20, 1, 30) == (False, False)
    assert code.launch("a", 10, 132, 30) == (True, True)  # both have room
    assert code.launch("b", 20, 2, 30) == (True, False)  # the second has it not
    assert code.launch("c", 1, 1, 30) == (False, False)
    assert code.launch("a", 10, 132, 30) == (True, False)  # one of its multiprocessors had too much since
    assert code.launch("a", 10, 1, 30) == (True, True)
    assert code.launch("a", 10, 132, 30) == (True, True)  # the others had nothing else
    assert code.launch("d", 40, 132, 30) == (False, False)
    assert code.launch("d", 40, 132, 30) == (True, False)  # larger than what has room


@pytest.mark.parametrize("cold", [False, True])
def test_cold_caches_have_nothing_of_what_was_copied_or_used(cold: bool) -> None:
    """Whatever the L2 would have of it otherwise."""
    memory = ProgramMemory(OUT)
    for number in (OUT, OUT + 1):
        memory.hold(number, Buffer(np.zeros(1 << 20, np.uint8), f"{number}"))
    memory.recent.copy(OUT, 1 << 20)
    memory.recent.use(OUT + 1, 1 << 20)
    given = [PROGRAM.address_of(OUT).to_bytes(8, "little"), bytes(4), bytes(4)]
    lacks = lacking(prepare(kernels()["code8"], 1, 32, given, memory), H200.dram, cold)
    assert lacks[[OUT, OUT + 1]].tolist() == [cold, cold]
