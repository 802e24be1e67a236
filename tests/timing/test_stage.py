"""Requests to shared memory of 16 warps, and what another 16 do beside them, beside what one H200 took
(tests/data/timing/stage.cu): loads and stores of global memory, special registers and shuffles take time of both."""

import numpy as np
import pytest

import banksim
from helpers.recordings import clocked

FILE = "timing/h200_stage"
WARPS, NEAR, FAR = 16, 32, 8
"""Warps at shared memory, their rounds of 16 requests, and the others' of eight."""


def measured(name: str, far: int = FAR) -> tuple[int, int]:
    """Cycles until the warps at shared memory, and the others, have ended, of one block."""
    arrays, _ = clocked(FILE)
    rows = arrays["cycles"][arrays["names"] == name]
    ((near, others),) = rows[np.all(rows[:, :4] == (1, WARPS, NEAR, far), axis=1), 4:].tolist()
    return near, others


def simulated(name: str, far: int = FAR) -> tuple[int, int]:
    clocks = np.zeros((32, 2), np.uint32)
    given = [clocks, np.zeros(1 << 18, np.uint32), *map(np.uint32, (WARPS, NEAR, far))]
    banksim.run(clocked(FILE)[1][name], 1, 1024, given, dynamic_shared=8192, timing=True)
    begin, end = clocks.astype(np.int64).T
    return int(end[:WARPS].max() - begin.min()), int(end[WARPS:].max() - begin.min())


@pytest.mark.parametrize("near", ["LOADS", "STORES"])
def test_requests_alone(near: str) -> None:
    assert simulated(f"NONE_{near}", 0)[0] == pytest.approx(measured(f"NONE_{near}", 0)[0], rel=0.02)


@pytest.mark.parametrize(
    ("far", "within"),
    [
        # a load that the L1 lacks, whichever sectors it wants, passes it or not, of one or two lines
        ("LD_LINE", 0.015), ("LD_WORD", 0.02), ("LD_OFF", 0.02), ("PAST_LINE", 0.01), ("LD_HALVES", 0.02),
        ("LD_BYTES", 0.03),
        # what is stored to global memory
        ("ST_LINE", 0.045), ("ST_WORD", 0.037), ("ST_BYTES", 0.045),
        # special registers of threads and blocks, and shuffles
        ("TID", 0.01), ("CTAID", 0.01), ("SHUFFLE", 0.02),
    ],
)  # fmt: skip
def test_loads_from_shared_memory_take_longer_beside_others(far: str, within: float) -> None:
    """Beside loads from global memory they were 4 to 8 % too short, beside special registers 10 and 19."""
    assert simulated(f"{far}_LOADS")[0] == pytest.approx(measured(f"{far}_LOADS")[0], rel=within)


@pytest.mark.parametrize("far", ["TID", "CTAID", "SHUFFLE"])
def test_stores_to_shared_memory_take_longer_beside_special_registers(far: str) -> None:
    """These were 11 and 14 % too short."""
    assert simulated(f"{far}_STORES")[0] == pytest.approx(measured(f"{far}_STORES")[0], rel=0.02)


@pytest.mark.parametrize("near", ["LOADS", "STORES"])
@pytest.mark.parametrize("far", ["TID", "CTAID", "SHUFFLE"])
def test_special_registers_come_as_soon_beside_them(far: str, near: str) -> None:
    within = 0.03 if near == "LOADS" else 0.2
    assert simulated(f"{far}_{near}")[1] == pytest.approx(measured(f"{far}_{near}")[1], rel=within)


@pytest.mark.xfail(
    strict=True,
    reason="loads from global memory come after all other instructions of their sub-core here, and in turn with other"
    " requests on an H200: 17 % too short beside stores, which end before the loads have begun",
)
def test_stores_to_shared_memory_take_longer_beside_loads_from_global_memory() -> None:
    assert simulated("LD_LINE_STORES")[0] == pytest.approx(measured("LD_LINE_STORES")[0], rel=0.05)


@pytest.mark.parametrize("blocks", [1, 132])
@pytest.mark.parametrize(("far", "more"), [("TID", 1.9), ("CTAID", 0.9), ("LD_LINE", 1.6), ("ST_LINE", 1.3)])
def test_the_record_tells_what_each_takes_beside_loads(far: str, more: float, blocks: int) -> None:
    """So many transactions of loads from shared memory, besides those of its own: one for each load and store."""
    arrays, _ = clocked(FILE)

    def near(name: str, rounds: int) -> int:
        own = arrays["cycles"][arrays["names"] == name]
        return int(own[np.all(own[:, :4] == (blocks, 24, NEAR, rounds), axis=1), 4].item())

    each = (near(f"{far}_LOADS", 16) - near("NONE_LOADS", 0)) / (8 * 8 * 16)
    assert more - 0.15 <= each <= more + 0.15
