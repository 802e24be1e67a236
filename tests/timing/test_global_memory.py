"""Global memory behind a multiprocessor: micro-kernels on 1 and 132 blocks beside what one H200 took for them."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import estimate
from helpers.fixtures import source_file
from helpers.places import DATA, loaded

WORDS = {"l1": 1 << 13, "l2": 1 << 22}
"""Over how many words a kernel goes."""


module = partial(loaded, DATA / "timing" / "memory.cubin")
streamed = partial(loaded, DATA / "timing" / "l2_and_dram.cubin")
stored = partial(loaded, DATA / "timing" / "stored.cubin")


@cache
def recorded() -> dict[tuple[object, ...], dict[str, int]]:
    """By kernel, level, blocks, warps and words between lanes."""
    found = json.loads((DATA / "timing" / "h200_memory.json").read_text())
    rows = [dict(zip(found["memory columns"], row, strict=True)) for row in found["memory"]]
    return {tuple(row[key] for key in ("kernel", "level", "grid", "warps", "lane")): row for row in rows}


@cache
def memory() -> np.ndarray:
    return np.zeros(WORDS["l2"], np.float32)


def cycles(kernel: str, level: str, grid: int, warps: int, lane: int, **how: Any) -> tuple[int, dict[str, int]]:
    """Cycles of the block that was timed, and what was recorded on the H200."""
    row = recorded()[kernel, level, grid, warps, lane]
    span = 32 * lane if lane else 32
    block, step = (0, warps * span) if level == "l1" else (warps * span, grid * warps * span)
    stamps = np.zeros((grid, 4), np.uint32)
    numbers = map(np.uint32, (row["rounds"], lane, span, block, step, WORDS[level] - 1))
    banksim.run(module()[kernel], grid, 32 * warps, [stamps, memory(), *numbers], timing=True, **how)
    return int(stamps[0, 2] - stamps[0, 1]), row


CASES = [
    # the L2's latency; of 8 and 32 lines; four and eight requests at a time
    ("load4_1", "l2", 1, 1, 1, 0.03),
    ("load4_1", "l2", 132, 4, 1, 0.03),
    ("load4_1", "l2", 1, 4, 8, 0.03),
    ("load4_1", "l2", 1, 1, 32, 0.05),
    ("load16_4", "l2", 1, 8, 4, 0.08),
    ("load4_8", "l2", 1, 2, 1, 0.03),
    ("load4g_8", "l2", 132, 8, 1, 0.08),
    # hits of the L1 among misses; lines that the L1 serves one a cycle
    ("load4_1", "l1", 1, 8, 1, 0.03),
    ("load4_1", "l1", 1, 4, 32, 0.05),
    ("load4_1", "l1", 1, 32, 32, 0.03),
    ("load16_4", "l1", 132, 16, 4, 0.05),
    # what the L2 gives if all multiprocessors ask
    ("load16_4", "l2", 132, 32, 4, 0.06),
    ("load4_1", "l2", 132, 16, 32, 0.08),
    # stores: whole sectors, parts of them, lines; one multiprocessor, and all
    ("store4", "l2", 1, 4, 1, 0.02),
    ("store4", "l2", 1, 16, 1, 0.08),
    ("store4", "l2", 1, 4, 8, 0.06),
    ("store4", "l2", 1, 16, 32, 0.06),
    ("store4", "l2", 132, 16, 1, 0.06),
    ("store4", "l2", 132, 1, 8, 0.05),
    ("store16", "l2", 132, 4, 4, 0.06),
    # additions and atomics: sectors, lanes at one word
    ("red4", "l2", 1, 16, 8, 0.05),
    ("red4", "l2", 1, 16, 0, 0.055),
    ("red4", "l2", 132, 16, 1, 0.06),
    ("atom4", "l2", 1, 4, 1, 0.06),
    ("atom4", "l2", 1, 16, 0, 0.03),
    ("atom4", "l2", 132, 16, 8, 0.06),
]


@pytest.mark.parametrize(("kernel", "level", "grid", "warps", "lane", "within"), CASES)
def test_a_block_takes_what_it_took_on_the_h200(
    kernel: str, level: str, grid: int, warps: int, lane: int, within: float
) -> None:
    simulated, measured = cycles(kernel, level, grid, warps, lane)
    assert measured["median"] * (1 - within) <= simulated <= measured["most"] * (1 + within)


@pytest.mark.parametrize(
    ("pattern", "blocks", "warps", "within"),
    [
        ("red4 one word", 132, 1, 0.02), ("red4 a line", 132, 1, 0.1),
        ("red4 one word", 264, 1, 0.02), ("red4 a line", 264, 1, 0.1), ("red4 warps apart", 264, 8, 0.08),
        ("red4 words of own lines", 264, 1, 0.06), ("atom4 a line", 264, 1, 0.08), ("red4 once", 1056, 8, 0.05),
    ],
)  # fmt: skip
def test_additions_of_all_blocks_to_the_same_lines_wait_for_each_other(
    pattern: str, blocks: int, warps: int, within: float
) -> None:
    found = json.loads((DATA / "timing" / "h200_additions.json").read_text())["memory.cu"]
    *numbers, _, microseconds = next(row for row in found if row[:3] == [pattern, blocks, warps])
    stamps, kernel = np.zeros((blocks, 4), np.uint32), module()[pattern.split()[0]]
    given = [stamps, memory(), *map(np.uint32, numbers[3:])]
    run = banksim.run(kernel, blocks, 32 * warps, given, timing=True)
    assert run.cycles is not None
    assert estimate(run.launch, run.cycles).microseconds == pytest.approx(microseconds, rel=within)


@pytest.mark.parametrize(
    ("kernel", "blocks", "numbers", "within"),
    [
        # 2 and 8 words of sectors of their own; 256 and 65,536 words in a row; one block an SM, and fewer
        ("adds", 528, [8, 2, 8], 0.02), ("adds_got", 528, [8, 8, 8], 0.05), ("adds", 528, [8, 256, 1], 0.05),
        ("adds", 264, [8, 65536, 1], 0.15), ("adds", 132, [8, 1, 1], 0.02), ("adds", 16, [8, 256, 1], 0.02),
        # beyond what the L2 has
        ("copies", 1056, [48 << 16, 0], 0.05), ("reads", 1056, [64 << 16, 0], 0.1),
    ],
)  # fmt: skip
def test_launches_take_what_the_l2_and_dram_took(kernel: str, blocks: int, numbers: list[int], within: float) -> None:
    rows = json.loads((DATA / "timing" / "h200_l2_and_dram.json").read_text())["rows"]
    microseconds = next(row[-1] for row in rows if row[:2] == [kernel, blocks] and row[3:5] == [numbers, 0])
    streams = 4 * numbers[0] if len(numbers) == 2 else numbers[1] * numbers[2]
    given = [np.zeros(1 if kernel == "reads" else streams, np.uint32), np.zeros(streams, np.uint32)]
    run = banksim.run(streamed()[kernel], blocks, 256, [*given, *map(np.uint32, numbers)], timing=True)
    assert run.cycles is not None
    found = estimate(run.launch, run.cycles)
    assert found.microseconds == pytest.approx(microseconds, rel=within)
    said = any("add to" in one for one in run.cycles.assumptions)
    assert (bool(found.dram), said) == (len(numbers) == 2, len(numbers) == 3)  # the report says what it rests on


def test_with_a_constant_global_memory_answers_after_that() -> None:
    """No cache is modelled then: each of the 64 loads, of which each waits for the last, takes as much longer."""
    short, long = (cycles("load4_1", "l1", 1, 1, 1, global_latency=n)[0] for n in (100, 300))
    assert long - short == 64 * 200


SOURCE = """
extern "C" __global__ void column(float *out) { out[32 * ((blockIdx.x * blockDim.x + threadIdx.x) & 0x1ffff)] = 1; }
extern "C" __global__ void row(float *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
extern "C" __global__ void spill(int *out, int n) {
    int mine[16];
    #pragma unroll 1
    for (int i = 0; i < 16; i++) mine[i] = i * n;
    int sum = 0;
    #pragma unroll 1
    for (int i = 0; i < 16; i++) sum += mine[(i * n) & 15];
    out[threadIdx.x] = sum;
}
"""


source = source_file("stores.cu", SOURCE)


def timed(source: Path, kernel: str, blocks: int, *given: Any) -> Run:
    return banksim.run(banksim.load(source)[kernel], blocks, 256, given, timing=True)


def test_what_stores_take_of_the_l2_bounds_a_launch(source: Path) -> None:
    """Blocks of stores end long before their stores have left: a launch of many takes what the L2 takes."""
    blocks = 132 * 64
    out = np.zeros(1 << 22, np.float32)  # the L2 has it
    column, row = (timed(source, kernel, blocks, out) for kernel in ("column", "row"))
    assert column.cycles is not None
    assert row.cycles is not None
    estimates = [estimate(run.launch, run.cycles) for run in (column, row) if run.cycles is not None]
    lines = column.cycles.resources["L2 cache"] * 64 / len(column.cycles.blocks)
    assert lines == pytest.approx(64 * 8 * 32 * 3.43, rel=0.01)  # 8 warps' 32 lines of each block, 3.43 cycles a line
    assert lines <= (estimates[0].cycles or 0) < 1.06 * lines
    assert (estimates[1].cycles or 0) < lines / 5
    busy = round(column.cycles.resources["L2 cache"])
    assert column.cycles.bottleneck.startswith(f"Limited by L2 cache, which takes {busy:,} cycles for")


def test_blocks_that_end_in_the_same_cycle_have_all_ended(source: Path) -> None:
    """One of them was lost, and the launch then taken for a deadlock."""
    for blocks in (132 * 2, 132 * 7, 132 * 8):
        run = timed(source, "row", blocks, np.zeros(256 * blocks, np.float32))
        assert run.cycles is not None
        assert len(run.cycles.blocks) == blocks // 132


def test_local_memory_stays_in_the_l1(source: Path) -> None:
    """What a warp has written to local memory comes back faster than from the L2."""
    run = timed(source, "spill", 1, np.zeros(256, np.int32), np.int32(3))
    assert run.cycles is not None
    loads = [i for i in run.cycles.instructions if i.instruction.name == "LDL"]
    assert loads
    assert all(i.spent.memory < 100 * i.spent.issue for i in loads)


STORED = json.loads((DATA / "timing" / "h200_stored.json").read_text())["behind"]


def cycles_of_a_load(row: list[int]) -> float:
    """The mean of those of a row of the record."""
    took = np.zeros(row[0], np.uint32)
    banksim.run(stored()["behind"], 1, 64, [took, np.zeros(1 << 17, np.uint32), *map(np.uint32, row[:7])], timing=True)
    return float(took.mean())


@pytest.mark.parametrize(
    "row", [row for row in STORED if row[0] in (64, 1024, 1536) and row[1] not in (5, 8)], ids=lambda row: str(row[:7])
)
def test_loads_find_what_was_stored_in_the_l1(row: list[int]) -> None:
    """Its words, whichever warp stored them, not those beside them; and no word of which a part was stored."""
    assert cycles_of_a_load(row) == pytest.approx(row[-1], rel=0.06)


@pytest.mark.parametrize("row", [row for row in STORED if row[1] in (5, 8)], ids=lambda row: str(row[:7]))
def test_the_l1_loses_what_is_added_to(row: list[int]) -> None:
    """The L2 then answers 80 cycles later than else, which is not modelled."""
    assert 250 < cycles_of_a_load(row) == pytest.approx(row[-1], rel=0.25)
