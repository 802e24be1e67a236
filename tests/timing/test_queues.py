"""Loads of lines that DRAM gives, by how much is asked for at a time, and stores to parts of lines that no cache has,
beside what one H200 took for them (tests/data/timing/queues.cu)."""

import numpy as np
import pytest

import banksim
from banksim.architectures.latencies import H200
from helpers.launch_cases import microseconds_of
from helpers.recordings import clocked

FILE = "timing/h200_queues"
EVENT = H200.event.value / 1000
"""Microseconds: launches with cold caches were timed together with an event."""
IN_ORDER, OF_OWN, RANDOM, SECTORS, HALVES = range(5)
"""Where the lines of loads lie."""
u32 = np.uint32


@pytest.mark.parametrize(
    ("loads", "warps", "where", "period", "within"),
    [
        # a few lines on their way, and more and more, up to what DRAM gives
        (4, 8, IN_ORDER, 0, 0.05), (4, 32, IN_ORDER, 0, 0.06), (8, 32, IN_ORDER, 0, 0.06), (4, 64, IN_ORDER, 0, 0.142),
        (8, 64, IN_ORDER, 0, 0.17), (4, 64, OF_OWN, 0, 0.135),
        # so often that DRAM is busy for a fifth, three fifths and nine tenths of the time
        (4, 64, IN_ORDER, 9471, 0.07), (4, 64, IN_ORDER, 3157, 0.03), (4, 64, IN_ORDER, 1994, 0.12),
        # lines, and halves and sectors of them, at random places
        (4, 8, RANDOM, 0, 0.12), (4, 32, RANDOM, 0, 0.06), (4, 32, SECTORS, 0, 0.105), (4, 32, HALVES, 0, 0.13),
    ],
)  # fmt: skip
def test_loads_under_load_wait_as_long_as_on_the_h200(
    loads: int, warps: int, where: int, period: int, within: float
) -> None:
    """Until all loads of a round have come, in the later half of the rounds; and the blocks' time."""
    recorded = clocked(FILE)[0]["loads"]
    row = next(row for row in recorded if row[:7].tolist() == [loads, warps, where, period, 132, 0, 0] and row[8])
    rounds, lines, each = int(row[9]), 1 << (21 if where >= RANDOM else 20), -(-warps // 32)
    own = warps // each
    took, data = np.zeros((132 * each, 2 * rounds * own + 2), u32), np.zeros(32 * lines, u32)
    given = [data, took, np.zeros(1, u32), *map(u32, (rounds, where, lines, 132 * each, period, 0, 0))]
    banksim.run(clocked(FILE)[1][f"ask_{loads}"], 132 * each, 32 * own, given, timing=True, cold=True)
    all_come = took[::132, rounds * own : 2 * rounds * own].reshape(each, rounds, own)
    assert all_come[:, rounds // 2 :].mean() == pytest.approx(row[13], rel=within)
    assert took[::132, -2].mean() == pytest.approx(row[23], rel=0.095)


def both(kernel: str, numbers: list[int]) -> tuple[float, float]:
    """Microseconds of stores with cold caches, simulated and measured. Numbers as recorded: MB, how many threads, …"""
    arrays, kernels = clocked(FILE)
    (found,) = np.flatnonzero((arrays["kernels"] == kernel) & np.all(arrays["numbers"] == numbers, axis=1))
    size, threads, *given = numbers
    given = given[: 3 if kernel.startswith("group") else 6]
    launch = [np.zeros(size << 18, u32), *map(u32, given)]
    run = banksim.run(kernels[kernel], threads // 256, 256, launch, timing=True, cold=True)
    return microseconds_of(run), float(arrays["microseconds"][found, 1]) - EVENT


def stores(size: int, count: int, apart: int, *, chance: int = 1, any_of: int = 0) -> list[int]:
    return [size, count, count, (size << 18) // apart, apart, 0, chance, any_of]


@pytest.mark.parametrize(
    ("size", "count", "within"),
    [
        (8, 1 << 17, 0.07), (16, 1 << 17, 0.05), (32, 1 << 17, 0.09), (64, 1 << 17, 0.12),
        (16, 1 << 19, 0.27), (32, 1 << 19, 0.09), (64, 1 << 19, 0.08), (32, 1 << 20, 0.25), (64, 1 << 20, 0.04),
    ],
)  # fmt: skip
def test_sectors_that_are_stored_in_part_come_and_go_one_by_one(size: int, count: int, within: float) -> None:
    """A word of each, in an order by chance, of more lines than those of which the L2 waits for the rest: these were 35
    to 73 % too short. (That each is stored to once, of 16 and 32 MB all, no estimate knows.)"""
    simulated, measured = both("part_1", stores(size, count, 8))
    assert simulated == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(
    ("kernel", "numbers", "within"),
    [
        # of 4 MB the L2 keeps them all; in order, or together, they come and go while others are stored
        ("part_1", stores(4, 1 << 17, 8), 0.07), ("part_1", stores(16, 1 << 17, 32, chance=0), 0.03),
        ("part_1", stores(64, 1 << 17, 32, chance=0), 0.03), ("part_1", stores(16, 1 << 19, 8, chance=0), 0.06),
        ("group_4_8", [64, 1 << 20, 1 << 18, 1 << 19, 32, 0, 0, 0], 0.05),
        # whole sectors do not wait
        ("group_2_4", [16, 1 << 19, 1 << 18, 1 << 19, 8, 0, 0, 0], 0.05),
        ("group_8_4", [64, 1 << 20, 1 << 17, 1 << 19, 32, 0, 0, 0], 0.03),
    ],
)  # fmt: skip
def test_other_stores_to_lines_that_no_cache_has(kernel: str, numbers: list[int], within: float) -> None:
    simulated, measured = both(kernel, numbers)
    assert simulated == pytest.approx(measured, rel=within)


@pytest.mark.xfail(strict=True, reason="28 to 66 % too long: not known why lines are stored to sooner than sectors")
@pytest.mark.parametrize("size", [16, 32, 64])
def test_a_word_of_each_of_many_lines(size: int) -> None:
    simulated, measured = both("part_1", stores(size, 1 << 17, 32, any_of=31))
    assert simulated == pytest.approx(measured, rel=0.2)
