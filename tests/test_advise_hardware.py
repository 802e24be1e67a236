"""Cures re-measured: what advice said of layouts, against the counters and clocks of an H200 (tests/hardware/cures.py).

What one SM serves and issues is no prediction of a kernel's time: where neither is what limits it, fewer transactions
save nothing (reduceInterleavedStrided), and where a few warps wait for each other's results, another order of the
instructions may cost more than the transactions did (productRegisters: one block of 8 warps on each SM).
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.sass.cubin import decode

HERE = Path(__file__).parent
DATA = HERE / "data" / "hardware"
sys.path.insert(0, str(HERE / "hardware"))
from launches import argument  # noqa: E402

VARIANTS: list[dict[str, Any]] = json.loads((DATA / "cures.json").read_text())["variants"]
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CYCLES = "sm__cycles_elapsed.max"
NOISE = 0.04
"""Other traffic of the L1 cache that the counter of a whole kernel shows."""
NOT_FASTER = {
    "reduceInterleavedStrided": "transactions are not what limits it: as fast as before",
    "productRegisters": "16 blocks on 132 SMs wait for results: 13 % slower, with half the transactions",
}


def named(variant: dict[str, Any]) -> str:
    return f"{variant['case']}/{variant['advice']}"


@functools.cache
def kernel(number: int) -> Any:
    with np.load(DATA / "cures.npz") as cubins:
        return decode(cubins[str(number)].tobytes())[VARIANTS[number]["kernel"]]


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=map(named, VARIANTS))
def test_what_ran_there_is_counted_alike_here(number: int) -> None:
    variant = VARIANTS[number]
    buffers = [argument(rule) for rule in variant["arguments"]]
    args = [buffers[one] if isinstance(one, int) else bytes.fromhex(one) for one in variant["parameters"]]
    done = banksim.run(kernel(number), variant["grid"], variant["block"], args)
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


@pytest.mark.parametrize("case", dict.fromkeys(variant["case"] for variant in VARIANTS))
def test_cures_were_faster_and_what_was_refused_slower(case: str) -> None:
    cycles = {one["advice"]: one["counters"][CYCLES] for one in VARIANTS if one["case"] == case}
    assert len(cycles) > 1
    if "best" in cycles:
        assert (cycles["best"] < 0.99 * cycles["before"]) == (case not in NOT_FASTER)
    if "refused" in cycles:
        assert cycles["refused"] > cycles["before"]


def test_advice_names_the_layouts_that_were_measured(capsys: pytest.CaptureFixture[str]) -> None:
    from banksim.__main__ import main

    values = ["--arg", "float32[{}]=random"] * 2
    for case, kernel, block, size in (
        ("scan<float>", f"{HERE}/kernels/cures.cu:scan<float>", "256", "512"),
        ("transposeShared", f"{HERE.parent}/examples/transpose.py:transpose", "32,32", "32,32"),
    ):
        words = [kernel, "--block", block, *(word.format(size) for word in values)]
        assert main(["advise", "kernel", *words, "--json"]) == 0
        (layouts,) = [one["layouts"] for one in VARIANTS if (one["case"], one["advice"]) == (case, "best")]
        assert json.loads(capsys.readouterr().out)["best"] == layouts
