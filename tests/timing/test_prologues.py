"""What kernels begin with: constants and special registers that up to 32 warps read, over and over, beside what one
H200 took."""

from functools import cache

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from helpers.recordings import clocked, decode_variants, variant

FILE = "timing/h200_prologues"
WARPS = 1, 4, 8, 16, 32
TAKEN = {
    # one kind: the unit that all sub-cores share takes two cycles for each; ULDC takes its turn to issue alone
    "all_ldc": 0.05, "all_ldc64": 0.05, "all_rx": 0.05, "all_tidx": 0.02, "all_lane": 0.02, "all_uldc": 0.01,
    "all_uldc64": 0.01, "all_match": 0.045, "all_redux": 0.04,
    # two kinds that one unit serves: constants, special registers of blocks, REDUX and MATCH; those of threads
    "ldc_ux": 0.05, "uclk_ldc": 0.06, "redux_ldc": 0.06, "match_ldc": 0.06, "lane_tidx": 0.02, "lt_tidx": 0.02,
    # two kinds that two units serve at the same time
    "ldc_tidx": 0.1, "tidx_rx": 0.16, "lt_ldc": 0.17,
    # what kernels begin with: of three dimensions, and a sum of two arrays
    "cube": 0.09, "cube_s1": 0.13, "add": 0.06, "ldc_tidx_uldc2": 0.09,
}  # fmt: skip
"""By name: within what share of the cycles, at most."""
LETS_OTHERS_PASS = 0.6
"""Two kinds take at most so much of what they would from one unit."""


@cache
def arrays() -> dict[str, np.ndarray]:
    return clocked(FILE)[0]


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """The kernels of all tests, with one start of nvdisasm."""
    decode_variants(FILE, TAKEN)


def simulated(name: str, warps: int, rounds: int) -> int:
    clocks, out = np.zeros((32, 2), np.uint32), np.zeros(1024, np.float32)
    given = [clocks, out, np.uint32(rounds), np.uint32((1 << warps) - 1)]
    banksim.run(decode(variant(FILE, name))["k10"], 1, 32 * warps, given, dynamic_shared=40 << 10, timing=True)
    return int(clocks[:warps, 1].max()) - int(clocks[:warps, 0].min())


def measured(name: str, warps: int) -> list[int]:
    n = arrays()["names"].tolist().index(name)
    (row,) = (row for row in arrays()["cycles"].tolist() if row[:2] == [n, warps])
    few, many = row[2:]
    return [few, many]


@pytest.mark.parametrize("name", TAKEN)
def test_more_rounds_take_as_much_longer_as_on_the_h200(name: str) -> None:
    few, many = arrays()["rounds"].tolist()
    for warps in WARPS:
        first, second = measured(name, warps)
        found = simulated(name, warps, many) - simulated(name, warps, few)
        assert found == pytest.approx(second - first, rel=TAKEN[name]), warps


def test_the_record_tells_which_kinds_one_unit_serves() -> None:
    def each(name: str) -> int:
        few, many = measured(name, 32)
        return many - few

    alone = each("all_ldc")
    for name in ("ldc_ux", "uclk_ldc", "ucga_ldc", "redux_ldc", "match_ldc", "lane_tidx", "lt_tidx", "eq_tidx"):
        assert each(name) > 0.9 * alone, name
    for name in ("ldc_tidx", "tidx_ux", "tidx_rx", "uclk_tidx", "redux_tidx", "lane_ldc", "uldc_ldc", "uldc_tidx"):
        assert each(name) < LETS_OTHERS_PASS * alone, name
