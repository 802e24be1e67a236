"""The time of bare requests: the rules of the path on an H200, and published rates elsewhere."""

from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import BanksimError, InputError, UnknownCountError
from banksim.timing.block_cycles import transfers

LATENCY = 23
"""Of a load of one word without conflicts, alone (tests/data/hardware/timing/latency.npz)."""


def loads(warps: int, each: int, stride: int, **more: Any) -> banksim.Trace:
    """`each` loads by each of `warps` warps of words at a stride."""
    address = np.broadcast_to(np.arange(32) * stride % 1024 * 4, (warps * each, 32))
    given = {"op": "ld", "width": 4, "mask": 0xFFFFFFFF, "warp": np.repeat(np.arange(warps), each)}
    return banksim.Trace.from_arrays(address=address, **given | more)


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 32])
def test_one_request_alone_takes_its_latency_and_two_cycles_for_each_further_transaction(ways: int) -> None:
    assert banksim.block_cycles(loads(1, 1, ways)) == LATENCY + 2 * (ways - 1)


@pytest.mark.parametrize(("warps", "ways", "each"), [(1, 8, 64), (2, 8, 64), (8, 4, 64), (32, 1, 64), (32, 32, 16)])
def test_many_requests_take_what_the_path_serves(warps: int, ways: int, each: int) -> None:
    transactions = warps * ways * each
    service = 2 * transactions if warps == 1 else transactions
    assert service <= banksim.block_cycles(loads(warps, each, ways)) <= service + LATENCY + 8


def test_chained_requests_wait_for_each_other() -> None:
    assert banksim.block_cycles(loads(1, 16, 4), chained=True) == 16 * (LATENCY + 6)
    assert banksim.block_cycles(loads(32, 16, 32), chained=True) == banksim.block_cycles(loads(32, 16, 32))


def test_a_barrier_makes_all_wait() -> None:
    one = banksim.block_cycles(loads(4, 8, 8))
    both = banksim.block_cycles(loads(4, 16, 8, epoch=np.tile(np.repeat([0, 1], 8), 4)))
    assert 2 * one < both < 2 * one + 40


def test_the_slowest_block_counts() -> None:
    trace = loads(2, 8, 8, block=np.repeat([0, 1], 8))
    assert banksim.block_cycles(trace) == banksim.block_cycles(loads(1, 8, 8))
    column = banksim.pattern("tile[threadIdx.x][threadIdx.y]", declare="int tile[32][33]")
    assert banksim.block_cycles(column) == LATENCY
    nothing = banksim.Trace.from_arrays(op="ld", width=4, mask=0, address=np.zeros((0, 32)))
    assert banksim.block_cycles(nothing) == 0


def test_parts_of_wide_loads_and_matrices() -> None:
    wide = banksim.Trace.from_arrays(op="ld", width=16, mask=0xFFFFFFFF, address=np.arange(32)[None] * 16)
    rows = banksim.Trace.from_arrays(op="ldmatrix_x4", width=16, mask=0xFFFFFFFF, address=np.arange(32)[None] * 16)
    stored = banksim.Trace.from_arrays(op="st", width=4, mask=0xFFFFFFFF, address=np.arange(32)[None] * 4)
    found = [banksim.block_cycles(trace) for trace in (wide, rows, stored)]
    assert found == [20 + 2 * 4 + 4, 20 + 2 * 4 + 1, 8]


@pytest.mark.parametrize(("arch", "cycles"), [("maxwell", 28 + 2 * 32), ("kepler-4", 47 + 14 * 16), ("sm_75", 19 + 64)])
def test_other_architectures_take_published_rates(arch: str, cycles: int) -> None:
    assert banksim.block_cycles(loads(1, 1, 32), arch) == cycles


def test_what_nobody_knows_is_an_error() -> None:
    with pytest.raises(InputError, match="tesla: nobody knows how many cycles a request takes there"):
        banksim.block_cycles(loads(1, 1, 1), "tesla")
    with pytest.raises(BanksimError, match="nobody"):
        banksim.block_cycles(loads(1, 1, 1, op="atom"), "kepler-4")


def test_nobody_knows_the_time_of_a_copy_past_the_cache() -> None:
    run = np.arange(32) * 16
    assert transfers(banksim.explain(run, op="cp_async_bypass", width=16)) is None
    assert transfers(banksim.explain(run, op="cp_async", width=16)) == 4
    with pytest.raises(UnknownCountError, match="a copy past the L1 cache"):
        banksim.block_cycles(banksim.Trace.from_arrays("cp_async_bypass", 16, 0xFFFFFFFF, run))
