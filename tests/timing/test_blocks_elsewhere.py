"""Launches whose timed blocks wait for blocks of other multiprocessors, or take work that these take too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.runs.outcome import Run
from banksim.timing.blocks_elsewhere import looks_elsewhere
from banksim.timing.whole_grid import estimate
from helpers.fixtures import source_file

SOURCE = """
extern "C" __global__ void take(unsigned *done, unsigned *next, unsigned items, int work) {
    for (;;) {
        unsigned item = 0;
        if (threadIdx.x == 0) item = atomicAdd(next, 1u);
        item = __shfl_sync(~0u, item, 0);
        if (item >= items) return;
        unsigned v = item;
        #pragma unroll 1
        for (int k = 0; k < work; k++) v = v * 1664525u + 1013904223u;
        if (v != 12345) done[32 * item + threadIdx.x] += 1;
    }
}
extern "C" __global__ void look_back(int *sums, volatile int *ready, const int *in) {
    int b = blockIdx.x;
    if (threadIdx.x) return;
    int before = 0;
    if (b) {
        while (!ready[b - 1]);
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + in[b];
    __threadfence();
    ready[b] = 1;
}
extern "C" __global__ void in_turn(unsigned *out, volatile int *ready, int work) {
    int b = blockIdx.x;
    while (b && !ready[b - 1]);
    unsigned v = b;
    #pragma unroll 1
    for (int k = 0; k < work; k++) v = v * 1664525u + 1013904223u;
    out[32 * b + threadIdx.x] = v;
    __threadfence();
    ready[b] = 1;
}
extern "C" __global__ void hand_on(volatile int *token) {
    int b = blockIdx.x;
    if (threadIdx.x) return;
    while (b && !token[b - 1]);
    if (b) token[b - 1] = 0;
    __threadfence();
    token[b] = 1;
}
extern "C" __global__ void largest(unsigned *out, const unsigned *in) {
    unsigned v = in[blockIdx.x * 32 + threadIdx.x], was = *out;
    while (v > was) {
        unsigned found = atomicCAS(out, was, v);
        if (found == was) break;
        was = found;
    }
}
extern "C" __global__ void plain(float *out, const float *in, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += in[i * 32 + threadIdx.x];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
"""
BLOCKS, SMS = 528, 132
source = source_file("elsewhere.cu", SOURCE)


def timed(source: Path, kernel: str, *given: Any, **how: Any) -> Run:
    return banksim.run(banksim.load(source)[kernel], BLOCKS, 32, list(given), timing=True, **how)


def assumed(run: Run) -> str:
    assert run.cycles is not None
    return " ".join(run.cycles.assumptions)


def test_blocks_that_take_work_take_the_share_of_their_multiprocessor(source: Path) -> None:
    items, work = 8 * BLOCKS, 2000
    done, each = np.zeros(32 * items, np.uint32), np.zeros(32, np.uint32)
    run = timed(source, "take", done, np.zeros(1, np.uint32), np.uint32(items), np.int32(work))
    alone = banksim.run(
        banksim.load(source)["take"], 1, 32, [each, np.zeros(1, np.uint32), np.uint32(1), np.int32(work)], timing=True
    )
    assert np.all(done == 1)
    assert run.cycles is not None
    assert alone.cycles is not None
    assert run.cycles.warp_instructions == pytest.approx(run.instructions / SMS, rel=0.01)
    assert run.cycles.total == pytest.approx(8 * alone.cycles.total, rel=0.1)  # four blocks, on a sub-core each
    assert "equal share of the work" in assumed(run)


def test_blocks_that_wait_for_those_before_them_are_timed(source: Path) -> None:
    given = np.arange(BLOCKS, dtype=np.int32)
    sums = np.zeros(BLOCKS, np.int32)
    run = timed(source, "look_back", sums, np.zeros(BLOCKS, np.int32), given)
    assert np.array_equal(sums, np.cumsum(given))
    assert run.cycles is not None
    assert len(run.cycles.blocks) == BLOCKS // SMS
    assert estimate(run.launch, run.cycles).work == 1  # how often others looked is no work
    assert "need not wait" in assumed(run)


def test_blocks_of_other_multiprocessors_wait_where_the_first_one_need_not(source: Path) -> None:
    few = 100
    given = np.zeros(few, np.int32), np.zeros(few, np.int32), np.ones(few, np.int32)
    run = banksim.run(banksim.load(source)["look_back"], few, 32, given, timing=True)
    assert run.cycles is not None
    assert len(run.cycles.blocks) == 1
    assert "need not wait" in assumed(run)
    assert given[0][-1] == few


def test_how_often_blocks_look_while_they_are_counted_does_not_change_their_time(source: Path) -> None:
    """All but one of the host's threads would look again and again, for as long as that one works."""
    found = []
    for workers in (1, 4):
        given = np.zeros(32 * BLOCKS, np.uint32), np.zeros(BLOCKS, np.int32), np.int32(1500)
        run = timed(source, "in_turn", *given, workers=workers)
        assert run.cycles is not None
        assert "need not wait" in assumed(run)
        found.append(run.cycles.total)
    assert found[0] == found[1]


def test_where_neither_tells_their_time_they_are_refused_in_a_line(source: Path) -> None:
    with pytest.raises(UnsupportedError, match="hand_on: the time of blocks that wait for each other is not simulated"):
        timed(source, "hand_on", np.zeros(BLOCKS, np.int32))


def test_blocks_that_try_again_are_timed_as_ever(source: Path) -> None:
    given = np.random.default_rng(1).integers(0, 1 << 30, 32 * BLOCKS, dtype=np.uint32)
    out = np.zeros(1, np.uint32)
    run = timed(source, "largest", out, given)
    assert out[0] == given.max()
    assert not {"share", "wait"} & set(assumed(run).split())


def test_only_loops_that_look_at_others_memory_are_looked_at(source: Path) -> None:
    found = {name: looks_elsewhere(kernel) for name, kernel in banksim.load(source).items()}
    assert found == {"take": True, "look_back": True, "in_turn": True, "hand_on": True, "largest": True, "plain": False}
