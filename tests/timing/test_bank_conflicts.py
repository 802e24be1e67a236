"""Conflicts of whole launches, by address and by arbitration, against the counters of one H200."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.report.text.cycles import as_json, page, timing
from banksim.runs.outcome import Run
from banksim.timing import multiprocessor
from banksim.timing.data_stage import in_lower_half, new_stage
from banksim.timing.multiprocessor import shared_size
from helpers.fixtures import source_file
from helpers.meeting_launches import FEW, Recorded, compared, own_launches, recorded
from helpers.places import DATA, ROOT

ROWS = recorded()
NONE = (
    "stages2 256", "transpose_columns 512 x 512", "smooth_stages 132 x 16", "weighted 132", "turned 64 x 32 x 64",
    "three_stages 132 x 32", "scores 512", "product_turned 256",
)  # fmt: skip
"""Launches of which the H200 counted no more than the addresses explain: nearly all lines fit the upper half."""
SOME = {
    "transpose_doubles 1024 x 2048": 2, "scan_tree 1024": 1.5, "row_softmax 4096 x 1024": 2.6, "exchange 4096 x 2": 3.5,
    "turned 256 x 128 x 256": 2, "weighted 2112": 1.5, "small_products 16384": 2, "apart 16384": 3.75,
}  # fmt: skip
"""… and others, with the factor by which the estimate may be wrong; the guide says what to expect of all."""


def chosen(names: Any) -> list[Recorded]:
    return [one for one in own_launches() if one.case.name in names]


@pytest.mark.parametrize("launch", chosen(NONE), ids=lambda one: one.case.name)
def test_launches_whose_lines_lie_in_the_other_half_have_none(launch: Recorded) -> None:
    for kind, both in compared(launch.run(), ROWS[launch.cubin, launch.case.name]).items():
        assert both.counted == 0, kind
        assert both.estimated == 0, kind


@pytest.mark.parametrize("launch", chosen(SOME), ids=lambda one: one.case.name)
def test_what_meets_data_of_global_memory_is_estimated(launch: Recorded) -> None:
    found = compared(launch.run(), ROWS[launch.cubin, launch.case.name])
    assert any(both.counted > FEW for both in found.values())
    for kind, both in found.items():
        assert both.factor < SOME[launch.case.name], (kind, both)


def test_the_driver_gives_shared_memory_what_it_gave_it_on_an_h200() -> None:
    """Of blocks that do nothing, and of recorded kernels."""
    record = json.loads((DATA / "timing" / "h200_meetings.json").read_text())
    for threads, dynamic, size in record["blocks"]:
        if dynamic:  # without shared memory it has reasons of its own
            assert shared_size("sm_90", threads, 16, dynamic) == size << 10, (threads, dynamic)
    for one in own_launches():
        kernel, case = one.kernel(), one.case
        shared = kernel.shared_bytes - kernel.shared_base + case.dynamic
        size = shared_size("sm_90", int(np.prod(case.block)), kernel.registers, shared)
        assert size == ROWS[one.cubin, case.name]["kilobytes"] << 10, case.name


def test_lines_take_their_places_in_turn_whatever_their_addresses() -> None:
    """At the borders the record is a few lines off: three other lines were stored as well."""
    record = json.loads((DATA / "timing" / "h200_meetings.json").read_text())
    for distance, lines, lower in record["lines"]:
        stage = new_stage((256 - 32) << 10)
        if lines not in (1024, 1792):
            assert (in_lower_half(stage, lines) > in_lower_half(stage, lines - 1)) == lower, (distance, lines)


# ---- the small launches of h200_arbitration.json

SMALL = json.loads((DATA / "timing" / "h200_arbitration.json").read_text())
CASES = [dict(zip(SMALL["columns"], row, strict=True)) for row in SMALL["cases"]]
WORDS = (
    "shared_warps", "global_warps", "requests", "global_requests", "lane", "place", "global_lane", "lanes", "step",
    "wrap", "few", "quiet",
)  # fmt: skip
TAKEN = {64: 100, 100: 132}
"""Of the sizes asked for, those instead of which the driver took a larger one."""


def estimated(case: dict[str, Any], patch: pytest.MonkeyPatch) -> dict[str, int]:
    size = TAKEN.get(case["carveout"], case["carveout"])
    patch.setattr(multiprocessor, "shared_size", lambda *_: size << 10)
    kernel = banksim.load(ROOT / "tests" / "hardware" / "arbitration.cu")[case["kernel"]]
    given = banksim.Struct(
        np.zeros(20 << 20, np.uint8), np.zeros(1 << 14, np.uint32), *(np.uint32(case[word]) for word in WORDS)
    )
    run = banksim.run(kernel, 1, case["threads"], [given], dynamic_shared=case["dynamic"], timing=True)
    assert run.cycles is not None
    return {kind: int(found.arbitration or 0) for kind, found in run.cycles.bank_conflicts.items()}


def small(**groups: tuple[str, ...]) -> Iterator[Any]:
    """Cases of these groups whose accesses to shared memory are of these kinds."""
    for case in CASES:
        if case["kernel"].partition("_")[0] in groups.get(case["group"], ()):
            yield pytest.param(case, id=f"{case['group']} {case['kernel']} {case['place'] >> 10} {case['carveout']}")


@pytest.mark.parametrize(
    "case", [*small(kinds=("load4", "store4"), places=("load4", "store4"), carveouts=("load4",), lines=("load4",))]
)
def test_small_launches_meet_data_where_and_as_often_as_on_an_h200(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = estimated(case, monkeypatch)
    for kind, counted in (("loads", case["load"]), ("stores", case["store"])):
        if counted <= 1:
            assert found[kind] == 0
        else:
            assert counted / 3.3 < found[kind] < 3.3 * counted


# ---- reports

SOURCE = """
extern "C" __global__ void columns(float *out, const float *in, int width) {
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32, row = blockIdx.y * 32;
    for (int k = 0; k < 32; k += 8) tile[y + k][x] = in[(row + y + k) * width + column + x];
    __syncthreads();
    for (int k = 0; k < 32; k += 8) out[(column + y + k) * width + row + x] = tile[x][y + k];
}
"""
source = source_file("columns.cu", SOURCE)


def launched(source: Path, tiles: int, **how: Any) -> Run:
    width = 32 * tiles
    given = [np.zeros(width * width, np.float32), np.ones(width * width, np.float32), np.int32(width)]
    return banksim.run(banksim.load(source)["columns"], (tiles, tiles), (32, 8), given, timing=True, **how)


def test_reports_tell_conflicts_by_address_and_by_arbitration_apart(source: Path) -> None:
    run = launched(source, 64)
    assert run.cycles is not None
    loads, stores = (run.cycles.bank_conflicts[kind] for kind in ("loads", "stores"))
    assert (loads.address, stores.address) == (31 * 32 * 64 * 64, 0)
    assert loads.arbitration
    assert stores.arbitration
    data = as_json(run)
    assert data["bank_conflicts"]["loads"] == {"address": loads.address, "arbitration": loads.arbitration}  # type: ignore[index]
    assert data["arbitration_unknown"] is None
    about = f"{float(f'{loads.arbitration:.1e}'):,.0f}"
    said = (
        f"Bank conflicts of the launch, as a profiler counts them: of loads 4,063,232 by address and about {about} by "
    )
    assert said in " ".join(timing(run, 100).plain.split())
    assert any(said in one for one in page(run)["sentences"])  # type: ignore[attr-defined]


def test_few_blocks_have_conflicts_by_address_alone(source: Path) -> None:
    text = " ".join(timing(launched(source, 8), 100).plain.split())
    assert "as a profiler counts them: of loads 63,488 by address and none by arbitration." in text


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"global_latency": 500}, "with --global-latency the L1 is not simulated"),
        ({"arch": "sm_80"}, "it was measured on sm_90 alone"),
        ({"cluster": 2}, "nobody has measured it in clusters"),
    ],
)
def test_arbitration_that_is_not_known_is_told_so(source: Path, how: dict[str, Any], why: str) -> None:
    run = launched(source, 8, **how)
    assert run.cycles is not None
    assert run.cycles.bank_conflicts["loads"].address == 63_488
    assert run.cycles.bank_conflicts["loads"].arbitration is None
    assert as_json(run)["arbitration_unknown"] == why
    assert f"of loads 63,488 by address; those by arbitration are not known: {why}." in " ".join(
        timing(run, 100).plain.split()
    )
