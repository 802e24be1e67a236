"""Barriers one after another in straight code, beside what one H200 took from each to the next."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from banksim.timing.issue_table import code_table
from helpers.places import DATA


@cache
def recorded() -> tuple[dict[str, np.ndarray], Any]:
    with np.load(DATA / "timing" / "h200_barriers.npz") as file:
        arrays = dict(file)
    return arrays, decode(arrays["cubin"].tobytes())


def simulated(name: str, active: int) -> np.ndarray:
    """Clocks (warp, n) of the last pass."""
    arrays, kernels = recorded()
    clocks = np.zeros((3, 32, 16), np.uint32)
    given = [clocks, np.zeros(1024, np.float32), np.uint32(active)]
    kernel = kernels[dict(arrays["kernels"].tolist())[name]]
    banksim.run(kernel, 1, 32 * active.bit_length(), given, dynamic_shared=40 * 1024, timing=True)
    return clocks[-1]


def measured(name: str, active: int) -> np.ndarray:
    arrays, _ = recorded()
    return np.asarray(arrays["clocks"][(arrays["names"] == name) & (arrays["active"] == active)][0])


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
    kernel = decode((DATA / "hardware" / "products.cubin").read_bytes())["product_ahead"]
    table = code_table(kernel)
    loads = [row for row, i in zip(table, kernel.instructions, strict=True) if i.name == "LDS"]
    assert any(row["write"] < 0 for row in loads)
    assert all(row["returns"] for row in loads)
