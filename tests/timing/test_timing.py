"""The time model against the clocks of one H200, and what a timed run promises."""

import signal
import threading
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import InputError
from banksim.kernels.kernel import Kernel
from banksim.system.own_process import apart
from banksim.timing import multiprocessor
from banksim.timing.issue_table import code_table
from banksim.timing.whole_grid import whole
from helpers.hostile import guarded
from helpers.known_sources import kept, list_ahead
from helpers.processes import until
from helpers.timing_streams import COUNT, KINDS, WARPS, block_error, line, lines, streams

SEVERAL = 3
"""Blocks of each class that CI simulates: the first, the middle and the last."""


def some_blocks(kind: str) -> list[int]:
    return [int(b) for b in np.linspace(0, len(streams()[f"stream_{kind}_request"]) - 1, SEVERAL)]


@pytest.mark.parametrize("kind", ["ld_4", "st_4", "st_8", "st_16", "atom_4"])
def test_one_warp_takes_what_it_took(kind: str) -> None:
    assert all(block_error(kind, block, 1) == 0 for block in some_blocks(kind))


def test_streams_of_requests_take_what_they_took() -> None:
    errors = [abs(block_error(kind, block, warps)) for kind in KINDS for warps in WARPS for block in some_blocks(kind)]
    assert np.median(errors) <= 0.005
    assert np.percentile(errors, 95) <= 0.03


@pytest.mark.parametrize("kind", KINDS)
def test_one_warp_issues_when_it_did(kind: str) -> None:
    alone = [case for case, active in enumerate(lines()["active"]) if active == 1]
    for case in alone:
        _, simulated, measured = line(kind, case)
        assert np.abs(simulated - measured).max() <= 4


@pytest.mark.parametrize(
    ("kind", "share"), [("ld_4", 0.9), ("st_4", 0.9), ("st_16", 0.8), ("atom_4", 0.9), ("ld_16", 0.5)]
)
def test_two_warps_issue_when_they_did(kind: str, share: float) -> None:
    """Within 4 cycles, in that share of the cases: where two warps of one sub-core fill its queue, which of them gets a
    place depends on the fetching of code, which is not modelled."""
    pairs = [case for case, active in enumerate(lines()["active"]) if int(active).bit_count() == 2]
    near = []
    for case in pairs:
        _, simulated, measured = line(kind, case)
        near.append(np.abs(simulated - measured).max() <= 4)
    assert len(near) == 33
    assert np.mean(near) >= share


@pytest.mark.parametrize("active", [0x3, 0xF, 0x11])
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_requests_are_accepted_before_a_warp_stalls(kind: str, active: int) -> None:
    """32-way requests of one warp on each of two and four sub-cores, and of two warps on one."""
    known = lines()
    warps = [w for w in range(32) if active >> w & 1]
    same = (known["active"] == active) & (known["degree"][:, warps] == 32).all(axis=1)
    case = int(np.flatnonzero(same)[0])
    _, simulated, measured = line(kind, case)
    assert accepted(simulated) == accepted(measured)


def accepted(clocks: Any) -> int:
    """Requests that all warps had issued when the first of them stalled for 16 cycles or more."""
    stalls = [row[i] for row in clocks for i in range(4, COUNT) if row[i + 1] - row[i] >= 16]
    return int((clocks[:, 1:] <= min(stalls)).sum())


SPIN = """
extern "C" __global__ void k(unsigned *out, int n) {
    __shared__ int tile[32][32];
    unsigned start = clock();
    while (clock() - start < n);
    long long before = clock64();
    tile[threadIdx.x][0] = threadIdx.x;
    __syncthreads();
    int v = tile[threadIdx.x][0];
    out[threadIdx.x] = (unsigned)(clock64() - before) + 0 * v;
    if (threadIdx.x == 0) out[32] = (unsigned)clock() - start;
}"""
TRANSPOSE = """
extern "C" __global__ void k(float *out, const float *in) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x + 1024 * blockIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x + 1024 * blockIdx.x] = tile[threadIdx.x][threadIdx.y];
}"""
PAUSE = """
extern "C" __global__ void k(unsigned long long *out, int n) {
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    __nanosleep(n);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    out[threadIdx.x] = after - before;
}"""
WAIT = 'extern "C" __global__ void k(int *a) { volatile int *p = a; p[1] = 1; while (*p == 0); }\n'


@cache
def compiled(source: str) -> Any:
    """The kernel of a source; all are listed with one start of nvdisasm."""
    list_ahead([SPIN, TRANSPOSE, PAUSE, WAIT])
    return banksim.load(kept(source))["k"]


def test_a_kernel_reads_and_spins_on_the_simulated_clock() -> None:
    out = np.zeros(33, np.uint32)
    run = banksim.run(compiled(SPIN), 1, 32, [out, 1000], timing=True)
    assert run.cycles is not None
    assert 1000 <= out[32] <= run.cycles.total
    assert (out[:32] > 0).all()


def test_without_time_clocks_only_move_on() -> None:
    out = np.zeros(33, np.uint32)
    run = banksim.run(compiled(SPIN), 1, 32, [out, 1000])
    assert run.cycles is None
    assert out[32] >= 1000


def test_timing_changes_no_count_and_no_result() -> None:
    kernel, given = compiled(TRANSPOSE), np.arange(300 * 1024, dtype=np.float32)
    plain, timed = np.zeros_like(given), np.zeros_like(given)
    counted = banksim.run(kernel, 300, (32, 32), [plain, given])
    run = banksim.run(kernel, 300, (32, 32), [timed, given], timing=True)
    assert np.array_equal(plain, timed)
    assert run.blocks == 300
    assert [e.warps for e in run.profile] == [e.warps for e in counted.profile]
    assert [replace(s, worst=None) for s in run.conflicts.sites] == [
        replace(s, worst=None) for s in counted.conflicts.sites
    ]
    assert run.cycles is not None
    assert sorted(b.number for b in run.cycles.blocks) == [0, 132, 264]


def test_a_block_in_the_place_of_another_has_issued_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also its warp that has the place of the one that issued last. Before the code is memory of others."""

    def fenced(kernel: Kernel) -> Any:
        rows = code_table(kernel)
        found = guarded(rows.dtype, len(rows), behind=False)
        found[:] = rows
        return found

    def blocks() -> int:
        run = banksim.run(kernel, 3 * 132, 32, [np.zeros(32, np.uint64), 0], timing=True, **several)
        return len(run.cycles.blocks) if run.cycles else 0

    kernel, several = compiled(PAUSE), {"timed_blocks": 3, "dynamic_shared": 200_000}
    monkeypatch.setattr(multiprocessor, "table_of", fenced)
    outcome = apart(blocks)
    assert (outcome.ended, outcome.value) == (None, 3), outcome.error


def test_where_fewer_blocks_are_timed_than_fit_their_places_stay_empty() -> None:
    def ends(blocks: int) -> list[int]:
        run = banksim.run(kernel, blocks, 32, [np.zeros(32, np.uint64), 0], timing=True, timed_blocks=1)
        return [block.end for block in run.cycles.blocks] if run.cycles else []

    kernel = compiled(PAUSE)
    several = apart(lambda: ends(4 * 132))
    assert (several.ended, several.value) == (None, ends(132)), several.error


def test_a_second_round_of_timed_blocks_is_no_longer_launch() -> None:
    """Where one or two rounds are timed, the others are taken to follow at the same distance."""

    def taken(timed: int | None) -> int:
        arguments = [np.zeros(32, np.uint64), 5000]
        run = banksim.run(compiled(PAUSE), 20 * 132, 32, arguments, timing=True, timed_blocks=timed, **alone)
        assert run.cycles
        return whole(run.launch, run.cycles, 1)

    alone: dict[str, Any] = {"dynamic_shared": 200_000}
    assert taken(2) == pytest.approx(taken(None), rel=0.05)
    assert taken(1) == pytest.approx(taken(None), rel=0.1)


def test_cycles_say_where_the_time_went() -> None:
    given = np.arange(1024, dtype=np.float32)
    cycles = banksim.run(compiled(TRANSPOSE), 1, (32, 32), [np.zeros_like(given), given], timing=True).cycles
    assert cycles is not None
    assert cycles.total > cycles.ideal  # 32-way loads
    assert cycles.spent.issue == cycles.warp_instructions
    ends = sum(end for block in cycles.blocks for end in block.warps)
    assert cycles.spent.total == pytest.approx(ends, rel=0.02)
    assert cycles.resources["shared memory"] == 32 * 32 + 32
    assert "shared memory" in cycles.bottleneck


def test_timing_refuses_what_it_cannot_do() -> None:
    given = np.zeros(1024, np.float32)
    with pytest.raises(InputError, match="only the llvm engine"):
        banksim.run(compiled(TRANSPOSE), 1, (32, 32), [given, given], timing=True, engine="numpy")
    with pytest.raises(InputError, match="writes no trace"):
        banksim.run(compiled(TRANSPOSE), 1, (32, 32), [given, given], timing=True, trace=lambda t: None)


def test_a_pause_takes_about_the_time_that_it_names() -> None:
    out = np.zeros(32, np.uint64)
    banksim.run(compiled(PAUSE), 1, 32, [out, 2000], timing=True)
    assert (out >= 2000).all()
    assert (out < 2200).all()


def test_an_interrupt_ends_a_timed_run() -> None:
    """The threads that work see it, and what was counted until then is given."""
    kernel, given = compiled(WAIT), np.zeros(4, np.int32)

    def interrupt() -> None:
        until(lambda: given[1])
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    run = banksim.run(kernel, 1, 32, [given], timing=True)
    thread.join()
    assert run.partial
    assert run.instructions > 0
