"""Which warp of a sub-core issues when: clocks between a few instructions of 1 to 32 warps, beside an H200's."""

from functools import cache

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode, decode_ahead
from helpers.recordings import clocked, clocks_of, numbers, written_over

SUB_CORE = 0x11111111
AT_ONCE = 4
"""Cycles."""
FULL = pytest.mark.xfail(
    strict=True, reason="6 % too short: 32 warps whose stores no thread executes find queues full for longer on an H200"
)


def code(label: str) -> bytes:
    """The kernel that ran. Control fields and predicates of variants were written into one kernel's code."""
    arrays, _ = clocked("timing/h200_issues")
    row = arrays["labels"].tolist().index(label)
    body = arrays["bodies"][row, : int(arrays["lengths"][row])]
    return written_over(arrays["cubin"], int(arrays["begins"][row]), body)


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """The kernels of all tests, with one start of nvdisasm."""
    decode_ahead(code(label) for label in clocked("timing/h200_issues")[0]["labels"].tolist())


@cache
def simulated(label: str, active: int) -> np.ndarray:
    """Clocks (warp, reading) of the last pass."""
    arrays, _ = clocked("timing/h200_issues")
    name = str(arrays["kernels"][arrays["labels"].tolist().index(label)])
    clocks = np.zeros((32, 40), np.uint32)
    given = [clocks, np.resize(numbers(), 8192), np.uint32(active)]
    banksim.run(decode(code(label))[name], 1, 32 * active.bit_length(), given, dynamic_shared=45056, timing=True)
    return clocks


def both(label: str, active: int) -> list[np.ndarray]:
    """Simulated and measured, of the warps that took part."""
    warps = [w for w in range(32) if active >> w & 1]
    measured = clocks_of(clocked("timing/h200_issues")[0], names=label, active=active)[warps]
    used = (measured != 0).any(axis=0)
    return [clocks[:, used].astype(np.int64) for clocks in (simulated(label, active)[warps], measured)]


def error(label: str, active: int) -> float:
    """Of the cycles from the first reading to the last."""
    mine, theirs = (int(np.ptp(clocks)) for clocks in both(label, active))
    return mine / theirs - 1


@pytest.mark.parametrize(
    ("active", "within"),
    [
        (0x1, 0.0),
        (0x11, 0.01),
        (0x1111, 0.01),
        (SUB_CORE, 0.018),
        (0xFFFF, 0.035),
        pytest.param(0xFFFFFFFF, 0.01, marks=FULL),
    ],
)
def test_stores_that_no_thread_executes_read_no_registers(active: int, within: float) -> None:
    """One issues every other cycle, with the clock between; one that stores, every fourth once the queue is full."""
    assert abs(error("nb_sts_off", active)) <= within


@pytest.mark.parametrize("active", [0x1, 0x11, SUB_CORE, 0xFFFFFFFF])
@pytest.mark.parametrize("stall", [1, 2, 3, 4, 5, 6, 8, 12])
def test_readings_of_the_clock_apart_by_their_stall_counts(stall: int, active: int) -> None:
    assert abs(error(f"clk_s{stall}_y1", active)) <= 0.03


@pytest.mark.parametrize(
    "label",
    ["clk_s2_y1", "clk_s3_y1", "clk_s4_y1", "clk_s6_y1", "clk_s8_y1"],
)
def test_how_many_instructions_a_warp_issues_in_its_turn(label: str) -> None:
    """Eight warps of one sub-core: the share of readings that came within four cycles of the same warp's last one.
    Three in a turn with stalls of 2, two with 3 and 4, one with more."""
    mine, theirs = (float((np.diff(clocks[:, 4:]) <= AT_ONCE).mean()) for clocks in both(label, SUB_CORE))
    assert mine == pytest.approx(theirs, abs=0.1)


@pytest.mark.parametrize(
    ("name", "within"),
    [("nb_sts", [0.01, 0.03, 0.03, 0.03, 0.025, 0.03]), ("nb_sts2", [0.01, 0.025, 0.055, 0.03, 0.05, 0.025])],
)
def test_registers_of_stores_are_read_behind_the_queue(name: str, within: list[float]) -> None:
    """One and two stores before each reading: one warp issues some 14 two cycles apart before others wait four."""
    for active, most in zip((0x1, 0x11, 0x1111, SUB_CORE, 0xFFFF, 0xFFFFFFFF), within, strict=True):
        assert abs(error(name, active)) <= most


@pytest.mark.parametrize("active", [0x1, SUB_CORE, 0x11, 0x1111, 0xFFFF])
def test_stores_and_loads_of_what_they_stored(active: int) -> None:
    assert abs(error("nb_sts_lds_use", active)) <= 0.02
