"""Cures re-measured: what advice said of layouts, against the counters and clocks of an H200 (tests/hardware/cures.py).

Counts alone are no prediction of time: where transactions are not what limits a kernel, fewer save nothing
(reduceInterleavedStrided), and where a few warps wait for each other's results another order of the instructions costs
more than the transactions did (productRegisters: the layout that was best by its counts, with half the transactions, is
13 % slower on the GPU). Simulated time tells these apart, so advice asks it too.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest
from launches import argument

import banksim
from banksim.advise.kernels import measure
from banksim.kernels.cubin import decode, decode_ahead
from helpers.places import EXAMPLES, H200, KERNELS

pytestmark = pytest.mark.usefixtures("by_nvrtc")

VARIANTS: list[dict[str, Any]] = json.loads((H200 / "cures.json").read_text())["variants"]
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CYCLES = "sm__cycles_elapsed.max"
NOISE = 0.04
"""Other traffic of the L1 cache that the counter of a whole kernel shows."""
TIMED = {"scan<float>": "best", "productTransposedA32": "best", "productRegisters": "best", "bitonicSort": "refused"}
"""Of these launches time is simulated, as written and with this layout."""


def named(variant: dict[str, Any]) -> str:
    return f"{variant['case']}/{variant['advice']}"


def arguments(variant: dict[str, Any]) -> list[Any]:
    buffers = [argument(rule) for rule in variant["arguments"]]
    return [buffers[one] if isinstance(one, int) else bytes.fromhex(one) for one in variant["parameters"]]


@functools.cache
def cubins() -> list[bytes]:
    with np.load(H200 / "cures.npz") as stored:
        found = [stored[str(number)].tobytes() for number in range(len(VARIANTS))]
    decode_ahead(found)
    return found


def kernel(number: int) -> Any:
    return decode(cubins()[number])[VARIANTS[number]["kernel"]]


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=map(named, VARIANTS))
def test_what_ran_there_is_counted_alike_here(number: int) -> None:
    variant = VARIANTS[number]
    done = banksim.run(kernel(number), variant["grid"], variant["block"], arguments(variant))
    counters = variant["counters"]
    counted = sum(counters[WAVEFRONTS.format(op)] for op in ("ld", "st", "atom"))
    found = done.conflicts
    assert {
        "requests": found.requests,
        "transactions": found.transactions,
        "instructions": done.instructions,
    } == variant["predicted"]
    assert done.instructions == counters["smsp__inst_executed.sum"]
    assert isinstance(found.transactions, int)
    assert 0 <= counted - found.transactions <= NOISE * found.transactions
    assert variant["same"]


@pytest.mark.parametrize("case", TIMED)
def test_simulated_time_says_which_layout_is_faster(case: str) -> None:
    here, there = [], []
    for number, variant in enumerate(VARIANTS):
        if variant["case"] == case and variant["advice"] in ("before", TIMED[case]):
            done = banksim.run(kernel(number), variant["grid"], variant["block"], arguments(variant), **measure.TIMED)
            assert done.cycles is not None
            here.append(done.cycles.total)
            there.append(variant["counters"][CYCLES])
    before, after = here
    assert abs(after / before - 1) > 0.01
    assert (after < before) == (there[1] < there[0])


def test_advice_takes_the_layouts_that_were_faster(capsys: pytest.CaptureFixture[str]) -> None:
    from banksim.__main__ import main

    values = ["--arg", "float32[{}]=random"] * 2
    for case, kernel, grid, block, size in (  # grids that fill 132 multiprocessors, as those measured
        ("scan<float>", f"{KERNELS}/cures.cu:scan<float>", "1056", "256", "540672"),
        ("transposeShared", f"{EXAMPLES}/transpose.py:transpose", "17,16", "32,32", "544,512"),
    ):
        words = [kernel, "--grid", grid, "--block", block, *(word.format(size) for word in values)]
        assert main(["advise", "kernel", *words, "--json"]) == 0
        (layouts,) = [one["layouts"] for one in VARIANTS if (one["case"], one["advice"]) == (case, "best")]
        taken = [one["layouts"] for one in json.loads(capsys.readouterr().out)["tried"] if not one["refused"]]
        assert layouts in taken
