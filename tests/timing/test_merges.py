"""Stores that wait to leave for the L2 take with them what is stored to the same lines meanwhile; streams of a few
multiprocessors: micro-kernels beside what one H200 took for them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.launch_cases import microseconds_of
from helpers.places import DATA, loaded
from helpers.recordings import timing

kernels = partial(loaded, DATA / "timing" / "merges.cubin")
WORDS, SLACK = 1 << 22, 1 << 18
"""Those that the stores go over again and again, and how far they reach beyond."""


recorded = partial(timing, "merges")


def microseconds(kernel: str, blocks: int, threads: int, *given: Any) -> float:
    return microseconds_of(banksim.run(kernels()[kernel], blocks, threads, given, timing=True))


def stores(kernel: str, blocks: int, warps: int, *numbers: int) -> float:
    arrays = [np.zeros(WORDS + SLACK, np.uint32) for _ in range(1 + (kernel == "between4"))]
    return microseconds(kernel, blocks, 32 * warps, *arrays, *map(np.uint32, numbers))


@pytest.mark.parametrize(
    ("kernel", "stride", "blocks", "warps", "within"),
    [
        # one word of each lane: lines of which one, two and four sectors are stored in part; whole lines
        ("words1", 1, 1, 32, 0.01), ("words1", 8, 1, 8, 0.01), ("words1", 16, 1, 8, 0.01), ("words1", 32, 1, 8, 0.01),
        ("words1", 2, 1056, 8, 0.03), ("words1", 8, 1056, 8, 0.03), ("words1", 16, 1056, 8, 0.03),
        # structures of 8, 12, 16 and 20 bytes: one after the other, and with gaps. They were up to five times too long
        ("words2", 2, 1, 8, 0.03), ("words3", 3, 1, 8, 0.03), ("words4", 4, 1, 8, 0.07), ("words4", 5, 1, 8, 0.03),
        ("words3", 4, 1, 8, 0.07), ("words2", 2, 1056, 8, 0.05), ("words3", 3, 1056, 8, 0.05),
        ("words4", 4, 1056, 8, 0.12), ("words4", 5, 1056, 8, 0.1),
        # of 32 bytes: what others store meanwhile is too much, unless there is one warp
        ("words8", 8, 1, 1, 0.03), ("words8", 8, 1, 8, 0.01), ("words16", 32, 1, 1, 0.01), ("words16", 32, 1, 8, 0.01),
        # words of sectors that were stored to before, which none waits for any more: these were up to 17 % too short
        ("words2", 8, 1056, 8, 0.05), ("words4", 8, 1056, 8, 0.05), ("words8", 8, 1056, 8, 0.05),
        ("words16", 16, 1056, 8, 0.03), ("words32", 32, 1056, 8, 0.05), ("words8", 8, 132, 8, 0.085),
        # bytes of a word
        ("bytes4", 1, 1, 8, 0.045), ("bytes4", 8, 1, 1, 0.01), ("bytes4", 8, 1, 8, 0.01),
    ],
)  # fmt: skip
def test_words_join_those_of_their_line_that_wait(
    kernel: str, stride: int, blocks: int, warps: int, within: float
) -> None:
    (row,) = (row for row in recorded()["parts"] if row[:5] == [kernel, stride, blocks, warps, 0])
    rounds, measured = row[5:7]
    span = 32 * stride
    found = stores(kernel, blocks, warps, rounds, stride, span, blocks * warps * span, WORDS - 1)
    assert found == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(("blocks", "barrier"), [(1, 0), (1, 1), (132, 0), (132, 1)])
def test_words_of_other_warps_join_them_too(blocks: int, barrier: int) -> None:
    (row,) = (row for row in recorded()["shared8"] if row[:2] == [blocks, barrier])
    rounds, measured = row[2:]
    assert stores("shared8", blocks, 8, rounds, barrier, blocks * 256, WORDS - 1) == pytest.approx(measured, rel=0.04)


@pytest.mark.parametrize(
    ("kernel", "blocks", "threads", "words", "within"),
    [
        # a loop over 114 MB by one block was 25 % too long, when it waited for DRAM as if all others wrote as much
        ("adds", 1, 256, 10_000_000, 0.06), ("adds", 4, 256, 10_000_000, 0.06), ("adds", 66, 256, 10_000_000, 0.06),
        ("adds", 132, 256, 10_000_000, 0.03), ("adds", 1, 1024, 1 << 20, 0.07), ("sums", 1, 256, 1 << 22, 0.02),
        ("fills", 1, 256, 1 << 22, 0.075), ("copies", 1, 256, 1 << 20, 0.02),
    ],
)  # fmt: skip
def test_streams_of_a_few_blocks(kernel: str, blocks: int, threads: int, words: int, within: float) -> None:
    (row,) = (row for row in recorded()["loops"] if row[:4] == [kernel, blocks, threads, words])
    _, median, in_turn = row[4:]
    read = {"adds": 2, "copies": 1, "sums": 1, "fills": 0}[kernel]
    arrays = [np.zeros(words if n <= read and (n or kernel != "sums") else 1, np.float32) for n in range(3)]
    found = microseconds(kernel, blocks, threads, *arrays, np.uint32(words))
    assert found == pytest.approx(in_turn or median - EVENTS, rel=within)


EVENTS = 4
"""Microseconds that a launch takes longer between two events, where the host hands it over by itself: less these the
median is within 2 % of launches back to back where both were recorded of 50 MB and more, the least up to 25 % less."""
