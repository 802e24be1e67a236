"""The NumPy engine against an H200: recorded launches whose threads diverge."""

from __future__ import annotations

import pytest
from launches import argument

from helpers.recorded_launches import ENTRIES, kernels, without_clock
from machine.test_reconvergence import SMALL, rows


@pytest.mark.parametrize("name", SMALL)
def test_the_numpy_engine_executes_what_the_h200_did(name: str) -> None:
    entry = ENTRIES[name]
    one = without_clock(kernels(name.split(".")[0])[entry["kernel"]])
    arguments = [argument(rule) for rule in entry["arguments"]]
    found, _ = rows(
        one, entry["grid"], entry["block"], arguments, engine="numpy", dynamic_shared=entry["dynamic_shared"]
    )
    assert found == {hex(row[0]): tuple(row[1:4]) for row in entry["rows"]}
