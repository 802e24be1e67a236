"""Additions whose lanes meet, rows that are read again, searches, and warps that go on for longer than others, beside
what one H200 took for them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.timing.dram import own_lines
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "meets.cubin")
u32, f32 = np.uint32, np.float32
EVENT = 1.31
"""Microseconds: launches with cold caches were timed together with an event."""


recorded = partial(timing, "meets")


def microseconds(kernel: str, blocks: int, threads: int, *given: Any, **how: Any) -> float:
    return microseconds_of(banksim.run(kernels()[kernel], blocks, threads, given, timing=True, **how))


def places(count: int, lanes: int, words_apart: int, warps_apart: int, size: int) -> np.ndarray:
    """For each thread a word: so many lanes of a warp have the same, the next ones another so many words on."""
    i = np.arange(count)
    return ((i // 32 * warps_apart + i % 32 // lanes * words_apart) % size).astype(u32)


@pytest.mark.parametrize("kernel", ["adds", "atoms"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("apart", ["own line", "own lines"])
def test_lanes_that_add_to_one_word_hold_each_line(kernel: str, lanes: int, apart: str) -> None:
    """To words of one line, which take longer than one word, or of as many lines, each of which takes its time: up to
    54 % too short."""
    for count, within in ((1 << 17, 0.19 if lanes == 32 else 0.125), (1 << 20, 0.17)):
        warps = (1, 32) if apart == "own line" else (32, 1024 // lanes)
        size = count if apart == "own line" else 1 << 22
        found = microseconds(
            kernel, count // 256, 256, np.zeros(size, u32), places(count, lanes, *warps, size), u32(count)
        )
        assert found == pytest.approx(recorded()["lists"][f"{count} {apart}, {lanes} at a word"][kernel], rel=within)


def in_order(count: int, each: int) -> np.ndarray:
    """Random words, sorted, of which so many are alike in the mean."""
    return np.sort(np.random.default_rng(1).integers(0, count // each, count, dtype=u32))


@pytest.mark.parametrize("count", [1 << 17, 1 << 20])
@pytest.mark.parametrize("what", ["own words, 8", "own words, 16", "own words, 32", "sorted 16", "sorted 64"])
def test_blocks_that_add_to_lines_beside_each_other_meet_in_few_slices(count: int, what: str) -> None:
    """Those that run at the same time, though no two of one multiprocessor do: up to 63 % too short."""
    number = int(what.split()[-1])
    if what.startswith("own"):
        name, listed = f"{count} {what} at a word", places(count, number, 1, 32 // number, count)
    else:
        name, listed = f"{count} {what}", in_order(count, number)
    found = microseconds("adds", count // 256, 256, np.zeros(max(listed) + 1, u32), listed, u32(count))
    within = 0.42 if name == "1048576 sorted 64" else 0.16
    took, *_ = np.atleast_1d(recorded()["lists"][name]["adds"])
    assert found == pytest.approx(took, rel=within)


@pytest.mark.parametrize("megabytes", [24, 40, 60, 64, 80])
def test_what_a_multiprocessor_reads_again_comes_from_dram_behind_much_else(megabytes: int) -> None:
    """The L2 has lost it, which others have asked for 60 MB since: these were up to 60 % too short."""
    for kernel, of, blocks, rounds, each, took in recorded()["again"]:
        if (kernel, of, blocks) == ("again", megabytes, 1056):
            given = np.zeros(4, f32), np.zeros(4 * each * blocks, f32), u32(each), u32(rounds)
            assert microseconds("again", blocks, 256, *given) == pytest.approx(took, rel=0.15)


KEPT = pytest.mark.xfail(strict=True, reason="an H200's L2 keeps more of 48 MB of rows than of arrays read in order")


def rows(kernel: str, floats: int, *, cold: bool = False) -> tuple[float, float]:
    """Microseconds, simulated and measured."""
    (took,) = (row[2 + cold] - EVENT * cold for row in recorded()["rows"] if row[:2] == [kernel, floats])
    arrays = [np.zeros(8192 * floats, f32) for _ in range(3)]
    return microseconds(kernel, 2048, 128, *arrays, u32(floats), cold=cold), took


@pytest.mark.parametrize("floats", [256, 512, pytest.param(768, marks=KEPT), 896, 1024])
def test_rows_that_warps_read_twice(floats: int) -> None:
    simulated, measured = rows("rows_twice", floats)
    assert simulated == pytest.approx(measured, rel=0.18)


@pytest.mark.parametrize(
    ("kernel", "floats", "within"),
    [
        ("rows_once", 512, 0.02), ("rows_once", 1024, 0.02),
        ("rows_twice", 256, 0.02), ("rows_twice", 384, 0.07), ("rows_twice", 512, 0.05), ("rows_twice", 640, 0.05),
        ("rows_all", 256, 0.08), ("rows_all", 384, 0.05), ("rows_all", 512, 0.1),
    ],
)  # fmt: skip
def test_rows_with_cold_caches_wait_for_dram_the_first_time_only(kernel: str, floats: int, within: float) -> None:
    """Those that are read again were up to 22 % too short while all loads had an equal share of the wait."""
    simulated, measured = rows(kernel, floats, cold=True)
    assert simulated == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(
    ("kernel", "megabytes", "count", "within"),
    [
        # up to 6 MB of lines wait for the rest of their sectors; others come and go one by one
        ("stores", 6, 1 << 19, 0.06), ("stores", 12, 1 << 17, 0.14), ("stores", 16, 1 << 19, 0.04),
        ("stores", 16, 1 << 20, 0.1), ("stores", 32, 1 << 19, 0.046), ("stores", 32, 1 << 20, 0.05),
        # what is added to comes, and stays
        ("adds", 12, 1 << 19, 0.06), ("adds", 16, 1 << 19, 0.12), ("adds", 16, 1 << 20, 0.12),
        ("adds", 32, 1 << 17, 0.15), ("adds", 32, 1 << 19, 0.15), ("adds", 32, 1 << 20, 0.13),
    ],
)  # fmt: skip
def test_words_at_random_places_with_cold_caches(kernel: str, megabytes: int, count: int, within: float) -> None:
    """Each word once: stores were up to 62 % too short, additions 33."""
    words = megabytes << 18
    took = next(row[5] for row in recorded()["stores"] if row[:4] == [kernel, "once", words, count]) - EVENT
    listed = np.random.default_rng(5).permutation(words)[:count].astype(u32)
    found = microseconds(kernel, count // 256, 256, np.zeros(words, u32), listed, u32(count), cold=True)
    assert found == pytest.approx(took, rel=within)


@pytest.mark.parametrize("threads", [8192, 1 << 16])
@pytest.mark.parametrize("words", [1 << 12, 1 << 16, 1 << 20, 1 << 22])
def test_searches_with_cold_caches(words: int, threads: int) -> None:
    """The first steps come to lines for which nobody has asked before, but others at the same time."""
    (took,) = (row[5] for row in recorded()["others"] if row[1] == f"search {threads} in {words}")
    listed = np.sort(np.random.default_rng(2).integers(0, 1 << 31, words, dtype=u32))
    keys = np.random.default_rng(3).integers(0, 1 << 31, threads, dtype=u32)
    found = microseconds("search", threads // 256, 256, np.zeros(threads, u32), keys, listed, u32(words), cold=True)
    assert found == pytest.approx(took - EVENT, rel=0.13 if (threads, words) != (1 << 16, 1 << 12) else 0.28)


@pytest.mark.parametrize("threads", [4224, 1 << 14])
@pytest.mark.parametrize("words", [1 << 14, 1 << 18, 1 << 20, 1 << 22])
def test_chains_of_random_places_with_cold_caches(words: int, threads: int) -> None:
    """Each lane's next place is what it read: of 32, one or another is the first to come to its line, long after all
    together have asked as often as there are lines. These were up to 27 % too short."""
    (took,) = (row[5] for row in recorded()["chains by chance"] if row[:3] == ["chain", words, threads])
    following = np.random.default_rng(4).permutation(words).astype(u32)
    found = microseconds("chain", threads // 128, 128, np.zeros(threads, u32), following, u32(8), cold=True)
    assert found == pytest.approx(took - EVENT, rel=0.115)


def test_which_lines_are_a_multiprocessor_s_own() -> None:
    chance = np.random.default_rng(1).integers(0, 8192, 2048)
    assert not own_lines(chance, 8192)
    assert own_lines(np.arange(2048), 8192)  # one after the other
    assert own_lines(np.tile(chance[:512], 4), 8192)  # all sectors of few
    assert not own_lines(np.tile(chance[:512], 4), 900)  # of an array with few more


def steps(what: str, blocks: int) -> np.ndarray:
    """How many each thread of blocks of 128 goes on for."""
    t = np.arange(128 * blocks)
    return {
        "alike": np.full(len(t), 16),
        "one": np.where(t == len(t) // 2 + 77, 1024, 16),
        "one in 61 warps": np.where(t // 32 % 61 == 60, 512, 16),
        "one in 61 blocks": np.where(t // 128 % 61 == 60, 512, 16),
        "one in 7 blocks": np.where(t // 128 % 7 == 6, 512, 16),
        "more and more": 16 + t // 128 * 512 // blocks,
    }[what].astype(u32)


@pytest.mark.parametrize(
    "what", ["alike", "one", "one in 61 warps", "one in 61 blocks", "one in 7 blocks", "more and more"]
)
@pytest.mark.parametrize("blocks", [132, 528, 2112, 8448])
def test_a_launch_ends_with_the_block_that_executes_most(what: str, blocks: int) -> None:
    """Where the first blocks execute all the same, it is timed as well: how long instructions take, and what begins a
    warp, was not told apart (up to 67 % too long)."""
    (took,) = (row[4] for row in recorded()["others"] if row[1] == f"goes on {what} {blocks}")
    found = microseconds("goes_on", blocks, 128, np.zeros(128 * blocks, f32), steps(what, blocks))
    assert found == pytest.approx(took, rel=0.29 if "61" in what and blocks == 8448 else 0.09)
