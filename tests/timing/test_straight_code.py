"""Straight code that reads the clock in between, of 1 to 32 warps, beside the clocks of one H200."""

from functools import partial

import numpy as np
import pytest

import banksim
from banksim.timing.issue_table import code_table
from helpers.recordings import clocks_of, kernels, sequences

recorded = partial(
    sequences, "h200_barriers", "h200_operands", "h200_latencies", "h200_ahead", "h200_begins", "h200_reductions"
)


APART = pytest.mark.xfail(
    strict=True,
    reason="6 % too short: two warps come to the clock eight cycles apart here, five on an H200, and so they stay",
)
TWO = pytest.mark.xfail(
    strict=True, reason="7 % too long: two warps whose multiply-adds take turns a cycle apart; one alone is exact"
)


def simulated(name: str, active: int) -> np.ndarray:
    """Clocks (warp, n) of the last pass."""
    clocks = np.zeros((3, 32, 16), np.uint32)
    given = [clocks, np.zeros(1024, np.float32), np.uint32(active)]
    banksim.run(recorded()[name][1], 1, 32 * active.bit_length(), given, dynamic_shared=40 * 1024, timing=True)
    return clocks[-1]


def measured(name: str, active: int) -> np.ndarray:
    return clocks_of(recorded()[name][0], names=name, active=active)


@pytest.mark.parametrize("active", [0x1, 0xFF, 0xFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize(("name", "each"), [("red", 3), ("red_loop", 2)])
def test_what_a_barrier_gives_is_read_at_the_unit_of_barriers(name: str, each: int, active: int) -> None:
    """Reductions of 32 warps: each warp holds the unit to arrive, and again to read what the barrier gives. `each`: the
    clocks from one to the next."""
    begin, end = each, 4 * each
    taken = [
        int(clocks[:, end].min()) - int(clocks[:, begin].min())
        for clocks in (part(name, active)[: active.bit_length()] for part in (simulated, measured))
    ]
    assert abs(taken[0] / taken[1] - 1) <= 0.015


def test_a_load_returns_something_whatever_guards_its_result() -> None:
    """What comes before a load of the same warp needs no scoreboard of its own: its result comes earlier."""
    kernel = kernels("products")["product_ahead"]
    table = code_table(kernel)
    loads = [row for row, i in zip(table, kernel.instructions, strict=True) if i.name == "LDS"]
    assert any(row["write"] < 0 for row in loads)
    assert all(row["returns"] for row in loads)


@pytest.mark.parametrize("name", ["lds_r", "sts_read", "sts_read_r", "c_ldc", "c_fchk", "f_two"])
def test_each_link_of_a_chain_of_one_warp_takes_what_it_took(name: str) -> None:
    """Loads, stores whose registers are waited for, constants, FCHK."""
    mine, theirs = (np.diff(clocks(name, 1)[0].astype(np.int64))[:8] for clocks in (simulated, measured))
    assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("name", "within"),
    [
        *(("f_poly", 0.02), ("f_two", 0.035), ("f_imm", 0.035)),
        pytest.param("f_odd", 0.015, marks=APART),
        pytest.param("f_reg", 0.02, marks=TWO),
    ],
)
def test_registers_that_come_late_delay_all_warps_of_a_sub_core(name: str, within: float) -> None:
    """Two warps whose multiply-adds take turns: where one waits for a bank, the other's stall counts wait as well."""
    assert abs(taken(simulated(name, 0xFF)) / taken(measured(name, 0xFF)) - 1) <= within


@pytest.mark.parametrize(
    ("name", "mean", "worst"),
    [
        *(("b_free4", 0.01, 0.02), ("b_bank6", 0.045, 0.1), ("b_lop2", 0.01, 0.02), ("b_lop8", 0.035, 0.08)),
        *(("b_mix6", 0.045, 0.09), ("n_mix4", 0.01, 0.02)),
    ],
)
def test_what_stands_behind_a_barrier_issues_while_its_warp_waits(name: str, mean: float, worst: float) -> None:
    """Floats with registers of both banks or of one, logic, both: they take turns with other warps, hold pipes and wait
    for banks as all others do."""
    last, errors = 1 if name.startswith("n_") else 14, []
    for active in (0x1, 0xF, 0xFF, 0xFFFF, 0xFFFFFFFF):
        mine, theirs = (clocks(name, active)[: active.bit_length()] for clocks in (simulated, measured))
        spans = [int(clocks[:, last].max()) - int(clocks[:, 0].min()) for clocks in (mine, theirs)]
        errors.append(abs(spans[0] / spans[1] - 1))
    assert float(np.mean(errors)) <= mean
    assert max(errors) <= worst


@pytest.mark.parametrize("active", [0x1, 0xF, 0xFF, 0xFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize(
    "name", ["bar_b2r", "r_far1_b2r", "r_far2_b2r", "r_b2r_far1_bar", "r_b2r_far2_bar", "r_b2r_ck"]
)
def test_reductions_and_their_results_come_to_the_unit_of_barriers_later_than_arrivals(name: str, active: int) -> None:
    """A reduction or a plain barrier, what it gives, and a barrier behind that, some additions apart: the cycles of a
    round, whether the unit has to wait or the warps."""
    rounds = (clocks(name, active)[:, [4, 8]].max(axis=0).astype(np.int64) for clocks in (simulated, measured))
    taken = [int(end - begin) for begin, end in rounds]
    assert abs(taken[0] - taken[1]) <= 0.03 * taken[1]


@pytest.mark.parametrize("name", ["st_none", "st_sts"])
def test_warps_begin_one_after_the_other_behind_a_reduction(name: str) -> None:
    """Each asks for what the barrier gives, which has few places: cycles from the first warp's clock to the last's."""
    spreads = [int(np.ptp(clocks(name, 0xFFFFFFFF)[:, 2].astype(np.int64))) for clocks in (simulated, measured)]
    assert abs(spreads[0] - spreads[1]) <= 8


def taken(clocks: np.ndarray) -> float:
    """Cycles from a warp's first clock to its tenth, of the mean warp."""
    return float(np.mean(np.ptp(clocks[clocks[:, 0] > 0, :10].astype(np.int64), axis=1)))
