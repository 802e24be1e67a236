"""Conflicts of shared memory that no address explains: what the guide says of them, and what one H200 counted."""

import json
import re
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.places import DATA, ROOT

RECORDED = json.loads((DATA / "timing" / "h200_arbitration.json").read_text())
CASES = [dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["cases"]]
LAUNCHES = [dict(zip(RECORDED["launch columns"], row, strict=True)) for row in RECORDED["launches"]]
HALF = 128 << 10
READ, WRITTEN = {"store4", "store16", "add"}, {"load4", "load16", "load_l2", "copy", "copy_l2"}
"""What is read from the L1 for it, and what is written into the same memory."""
REQUESTS = {
    "load4": ("ld", 4), "load16": ("ld", 16), "matrices": ("ldmatrix_x4", 16),
    "store4": ("st", 4), "store16": ("st", 16), "atom": ("atom", 4),
}  # fmt: skip


def group(name: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["group"] == name]


def pair(case: dict[str, Any]) -> tuple[str, str]:
    near, _, far = case["kernel"].partition("_")
    return near, far


@pytest.mark.parametrize("kernel", REQUESTS)
def test_the_addresses_of_these_requests_have_no_conflicts(kernel: str) -> None:
    """So all that was counted is arbitration."""
    op, width = REQUESTS[kernel]
    for lane in {case["lane"] for case in CASES if pair(case)[0] == kernel}:
        address = lane * np.arange(32)
        how = {"op": op, "width": width}
        assert banksim.transactions(address, **how) == banksim.ideal(address, **how)


@pytest.mark.parametrize("case", group("kinds"), ids=lambda case: case["kernel"])
def test_reads_meet_reads_and_writes_meet_writes(case: dict[str, Any]) -> None:
    near, far = pair(case)
    meets = far == "atom" or far in {"store": WRITTEN, "atom": READ | WRITTEN}.get(near.rstrip("0123456789"), READ)
    key = "all" if near == "atom" else "store" if near.startswith("store") else "load"
    assert case[key] > 50 if meets else case[key] <= 1


def test_loads_that_the_l1_has_meet_next_to_nothing() -> None:
    assert max(case["all"] for case in group("hits")) == 44


def test_shared_memory_meets_the_l1_in_the_half_where_both_are() -> None:
    for case in group("places"):
        assert (case["all"] > 0) == (case["place"] >= HALF)


def test_the_first_lines_of_the_l1_lie_in_the_upper_half() -> None:
    for case in group("lines"):
        lines = 4 * case["global_requests"]
        assert (case["all"] > 0) == (128 * lines > HALF), lines


def test_a_line_that_is_stored_again_keeps_its_place() -> None:
    counts = {case["place"] >= HALF: case["load"] for case in group("again")}
    assert counts[False] == 0
    assert counts[True] > 6000


@pytest.mark.parametrize("case", group("columns"), ids=str)
def test_only_the_same_32_of_128_bytes_meet(case: dict[str, Any]) -> None:
    assert (case["all"] > 0) == (case["place"] % 128 == case["first"])


def test_loads_meet_blocks_that_end_and_begin_with_no_access_to_global_memory() -> None:
    for case in group("blocks"):
        loads = case["kernel"] == "load4_nothing"
        assert case["load"] <= 20 if case["grid"] <= 1056 or not loads else case["load"] > 10000
        assert case["store"] == 0


def test_the_guide_has_the_figures_of_the_record() -> None:
    page = (ROOT / "examples" / "guide" / "hardware.md").read_text()
    text = " ".join(page.partition("## Conflicts that no address explains")[2].partition("\n## ")[0].split())
    beside = {case["kernel"]: case for case in group("kinds")}
    stored, came = beside["load4_store4"], beside["store4_load4"]
    late = next(case for case in group("blocks") if case["grid"] == 4224 and case["quiet"] and case["load"])
    beyond = [
        [max(one[f"{kind} beyond"], one[f"{kind} beyond again"]) for kind in ("loads", "stores")] for one in LAUNCHES
    ]
    shares = [
        max(more[n] / one[f"{kind} transactions"] for more, one in zip(beyond, LAUNCHES, strict=True) if more[n])
        for n, kind in enumerate(("load", "store"))
    ]
    scan = next(one for one in LAUNCHES if one["kernel"] == "shfl_scan_test")
    assert min(min(row[6:]) for row in RECORDED["launches"]) == 0
    for figure in (
        f"recorded {len(CASES)} small launches",
        f"{stored['load'] / (4 * stored['global_requests']):.1f} for each line that is stored",
        f"{came['store'] / (4 * came['global_requests']):.1f} for each line that comes",
        f"{late['load']:,} of {4 * late['requests'] * late['grid']:,} loads",
        f"{len(LAUNCHES)} launches of public samples",
        f"{sum(not any(more) for more in beyond)} have none",
        f"up to {shares[0]:.1%} more of loads",
        f"has {scan['stores beyond']} more than its {scan['store transactions']:,} stores",
        f"up to {shares[1]:.1%} more of stores",
    ):
        assert re.search(re.escape(figure), text), figure
