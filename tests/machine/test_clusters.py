"""Clusters of blocks on both engines: their barrier, their shared memory, and what launches of them may be."""

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault, InputError
from banksim.runs.programs.statuses import LAUNCH_FAILED, status_of
from helpers.commands import err_of, out_of
from helpers.known_sources import kept
from helpers.operations import ENGINES
from helpers.places import KERNELS, loaded

FILE = KERNELS / "clusters.cu"


kernels = partial(loaded, FILE)


def ranks(grid: tuple[int, int], cluster: tuple[int, int]) -> np.ndarray:
    """For each block of a grid of two dimensions, by number: the number of its cluster, and its rank there."""
    y, x = np.mgrid[: grid[1], : grid[0]]
    number = (y // cluster[1]) * (grid[0] // cluster[0]) + x // cluster[0]
    return np.stack([number.ravel(), (y % cluster[1] * cluster[0] + x % cluster[0]).ravel()])


@ENGINES
@pytest.mark.parametrize("workers", [None, 3])
def test_blocks_write_into_each_others_shared_memory(engine: str, workers: int | None) -> None:
    given, out = np.arange(64 * 24, dtype=np.int32), np.zeros(64 * 24, np.int32)
    run = banksim.run(kernels()["passed_on"], (6, 4), 64, [out, given], engine=engine, workers=workers)
    assert run.launch.cluster == (2, 2, 1), "as the kernel was compiled"
    number, rank = ranks((6, 4), (2, 2))
    for block in range(24):
        [before] = np.flatnonzero((number == number[block]) & (rank == (rank[block] - 1) % 4))
        assert (out.reshape(24, 64)[block] == given.reshape(24, 64)[before]).all()
    remote, own = run.conflicts.sites
    assert (remote.op, remote.requests, remote.transactions, remote.status) == ("remote_st", 48, 48, "measured")
    assert (own.op, own.requests, own.transactions) == ("ld", 48, 48)


@ENGINES
def test_a_request_to_the_own_and_another_block_has_no_count(engine: str) -> None:
    out = np.zeros(64, np.int32)
    run = banksim.run(kernels()["both"], 2, 32, [out], engine=engine)
    lane = np.arange(32)
    np.testing.assert_array_equal(out.reshape(2, 32), [100 * (lane % 2) + lane] * 2)
    assert [(s.op, s.requests, s.status) for s in run.conflicts.sites if s.op != "st"] == [("remote", 2, "unknown")]


@ENGINES
@pytest.mark.parametrize("cluster", [1, 2, 8, 16])
def test_a_histogram_over_the_blocks_of_a_cluster(engine: str, cluster: int) -> None:
    given = np.random.default_rng(cluster).integers(0, 32 * cluster, 500).astype(np.uint32)
    bins = np.zeros(32 * cluster, np.uint32)
    how = {"dynamic_shared": 128, "cluster": cluster, "engine": engine}
    run = banksim.run(kernels()["histogram"], cluster, 32, [bins, given, 500], **how)
    np.testing.assert_array_equal(bins, np.bincount(given, minlength=32 * cluster))
    assert bool(run.launch.notes) == (cluster > 8)
    assert {s.op for s in run.conflicts.sites} == {"ld", "st", "red" if cluster == 1 else "remote"} | (
        {"remote_atom"} if cluster == 8 else set()
    )


@ENGINES
def test_threads_that_have_left_are_not_waited_for(engine: str) -> None:
    out = np.zeros(256, np.int32)
    banksim.run(kernels()["early"], 4, 64, [out], cluster=2, engine=engine)
    [a, b] = out.reshape(2, 2, 64)
    np.testing.assert_array_equal(a, b)
    assert (a[0] == 11).all()
    assert (a[1] == [10] * 32 + [0] * 32).all()


@ENGINES
@pytest.mark.parametrize("cluster", [None, 1, 4])
def test_operations_of_ptx(engine: str, cluster: int | None) -> None:
    blocks, grid = cluster or 1, 8
    out = np.zeros((grid, 18, 32), np.uint32)
    banksim.run(kernels()["by_ptx"], grid, 32, [out], cluster=cluster, engine=engine)
    lane = np.arange(32)
    for block in range(grid):
        rank, other = block % blocks, blocks - 1 - block % blocks
        [a, b, c, d, e, ranked, x, y, z, explicitly, *own, inside, anywhere] = out[block]
        np.testing.assert_array_equal(a, 1000 * other + 4 * lane)
        np.testing.assert_array_equal([b, c], [a + 2, a + 3])
        np.testing.assert_array_equal(d, other)
        np.testing.assert_array_equal(e, a)
        fixed = [ranked, x, y, z, explicitly, inside, anywhere]
        wanted = [other, rank, block // blocks, grid // blocks, int(cluster is not None), int(other == rank), 1]
        np.testing.assert_array_equal(fixed, np.repeat(wanted, 32).reshape(7, 32))
        mine = 1000 * rank + 4 * lane
        np.testing.assert_array_equal(own[:2], [lane, np.full(32, other)])
        np.testing.assert_array_equal(own[2], (mine & ~0xFF) | 7)
        np.testing.assert_array_equal(own[3:], [np.full(32, 77), np.maximum(mine + 1, 2000), np.full(32, rank + 5)])


LEAVING = """#include <cooperative_groups.h>
__global__ void k(int* out, unsigned n) {
    __shared__ int mine[64];
    auto cluster = cooperative_groups::this_cluster();
    unsigned t = threadIdx.x, rank = cluster.block_rank(), v = t;
    if (t < 64) mine[t] = -1;
    cluster.sync();
    if (t >= 64) { asm volatile("barrier.cluster.arrive;" ::: "memory"); return; }
    if (rank) for (unsigned i = 0; i < n; i++) v = v * 5 ^ v >> 3;
    mine[t] = v & 1;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    out[rank * 64 + t] = cluster.map_shared_rank(mine, !rank)[t];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


@ENGINES
def test_threads_that_arrive_and_leave_do_not_stand_for_others(engine: str) -> None:
    out = np.zeros(128, np.int32)
    banksim.run(banksim.load(kept(LEAVING))["k"], 2, 192, [out, np.uint32(2000)], cluster=2, engine=engine)
    assert (out >= 0).all()


@ENGINES
def test_an_mbarrier_counts_the_bytes_of_another_block(engine: str) -> None:
    out = np.zeros(64, np.int32)
    banksim.run(kernels()["signalled"], 2, 32, [out], engine=engine)
    lane = np.arange(32)
    np.testing.assert_array_equal(out[:32], lane**2)
    np.testing.assert_array_equal(out[32:], [lane.sum(), *[0] * 15, *[90] * 4, *[91] * 4, *[0] * 8])


@ENGINES
def test_faults(engine: str) -> None:
    out = np.zeros(8, np.int32)
    there = r"load of 4 bytes in shared memory of the block of rank 5 in the cluster, which has 4, .*clusters\.cu:"
    with pytest.raises(Fault, match=there):
        banksim.run(kernels()["astray"], 4, 1, [out], cluster=4, engine=engine)
    with pytest.raises(Fault, match="out of bounds in shared memory"):
        banksim.run(kernels()["astray"], 8, 1, [out], engine=engine)
    with pytest.raises(Fault, match="a barrier that not all can reach"):
        banksim.run(kernels()["stuck"], 2, 32, [out], cluster=2, engine=engine)


@ENGINES
@pytest.mark.parametrize("waits", [0, 1])
def test_shared_memory_of_a_block_that_has_ended(waits: int, engine: str) -> None:
    """An H200 answered 719 for loads, and for stores and atomics if enough of them came behind the block's end."""
    where = r"at \S*clusters\.cu:\d+ .*, block \(0, 0, 0\), warp 0, lane 0"
    for how, what in enumerate(["load", "store", "atomic operation", "atomic operation", "bulk copy"]):
        said = (
            f"{what}.* bytes in shared memory of the block of rank 1 in the cluster, which has ended: .*sync.*, {where}"
        )
        with nullcontext() if waits else pytest.raises(Fault, match=said) as fault:
            out = np.zeros(8, np.int32)
            banksim.run(kernels()["ended"], 2, 32, [out, how, waits], dynamic_shared=1024, engine=engine)
        assert waits or status_of(fault.value) == LAUNCH_FAILED


@pytest.mark.parametrize(
    ("name", "grid", "options", "said"),
    [
        ("passed_on", (4, 4), {"cluster": 2}, r"requires clusters of \(2, 2, 1\) blocks, not \(2, 1, 1\)"),
        ("early", 6, {"cluster": 4}, "grid x is 6: it must be a multiple of 4, the cluster's"),
        ("early", 64, {"cluster": 32}, "cluster x is 32: it must be 1 to 16"),
        ("early", (8, 8), {"cluster": (8, 4)}, "a cluster of 32 blocks: 16 is the most"),
        ("early", 4, {"cluster": 0}, "cluster x is 0"),
    ],
)
def test_launches_that_cannot_be(name: str, grid: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        banksim.run(
            kernels()[name], grid, 32, [np.zeros(64 * 64, np.int32)] * (2 if name == "passed_on" else 1), **options
        )


def test_a_cluster_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{FILE}:histogram", "--grid", "4", "--block", "32", "--dynamic-shared", "128"]
    words += ["--arg", "uint32[128]", "--arg", "uint32[96]=zeros", "--arg", "int32=96"]
    assert "remote" in out_of(capsys, [*words, "--cluster", "4"])
    assert "grid x is 4: it must be a multiple of 3" in err_of(capsys, [*words, "--cluster", "3"])


COUNTED = (6, 12, 12, 12, 12, 12, 6, 12, 18, 6, 18, 18, 18, 12, 12)
"""By what the kernel `generic` is to do in the other block, what an H200's counter of requests to others showed."""
IN_ONE = (0, 6)
"""Sums of integers and exchanges: done there by one request, without the code that stands behind it for others."""

TRIED = (1, 2, 3, 4, 5, 14)
"""Other functions of integers of 64 bits: in the own block an H200 counted 2 transactions for the try of each."""


@ENGINES
@pytest.mark.parametrize("far", [0, 1])
def test_atomics_by_generic_addresses(engine: str, far: int) -> None:
    for how, counted in enumerate(COUNTED):
        out = np.zeros(2048, np.uint64)
        run = banksim.run(kernels()["generic"], 2, 32, [out, how, far], dynamic_shared=4096, engine=engine)
        sites = [s for s in run.conflicts.sites if (s.opcode or "").startswith(("ATOM", "LD.", "ST."))]
        before = np.arange(512, dtype=np.uint64) * 5 % 7
        touched = 64 + 3 * np.arange(32) + 1024 * far
        if how == 0:
            np.testing.assert_array_equal(out[touched], before[:96:3] + 3)
        if far:
            assert sum(s.transactions or 0 for s in sites) == counted
        elif how in IN_ONE:
            assert [s.transactions for s in sites] == [2]
        else:  # beside the code behind: the try, which an H200 counted for integers of 64 bits
            tried = [(s.requests, s.status) for s in run.conflicts.sites if s.op == "probe"]
            assert tried == [(1, "unknown")] * (how in TRIED)
