"""Kernels of one element a thread over arrays beyond the L2, beside what one H200 took."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.commands import out_of
from helpers.places import DATA
from helpers.recordings import timing

Said = pytest.CaptureFixture[str]
LATE = 0.46
"""Microseconds that the profiler's records are longer than launches by their stream's clock."""


def test_blocks_in_many_waves_take_less_of_dram(tmp_path: Path, capfd: Said) -> None:
    """They were 10 to 20 % too long: told as loops of one wave of blocks take."""
    report, size = tmp_path / "report.json", 48
    program = str(DATA / "timing" / "elements.cu")
    out_of(capfd, ["run", "--timing", "--json", "--output", str(report), program, str(size)])
    found: dict[str, Any] = json.loads(report.read_text())
    took = {kernel["kernel"]: kernel["time"]["microseconds"] for kernel in found["kernels"]}
    rows = [row for row in timing("elements")["rows"] if row[1] == size]
    assert len(rows) == 5
    for kernel, _, first, *again in rows:
        assert took[f"{kernel}<{10 * size}>"] == pytest.approx(first - LATE, rel=0.09), kernel
        for n in (1, 2):
            assert took[f"{kernel}<{10 * size + n}>"] == pytest.approx(np.mean(again) - LATE, rel=0.1), kernel


def test_the_more_waves_the_less_loops_took() -> None:
    taken = {(kernel, size, blocks): time for kernel, size, blocks, time in timing("elements")["loops"]}
    for kernel in ("reads", "writes", "copies"):
        for size, most in ((64, 16384), (128, 32768)):
            times = [taken[kernel, size, blocks] for blocks in (1056, 8448, most)]
            assert times == sorted(times, reverse=True)
            assert times[0] > 1.04 * times[2]
