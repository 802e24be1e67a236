"""Shuffles from lanes that take no part, against one H100: undefined in PTX, they give 0 on the hardware."""

import numpy as np
import pytest
from absent_lanes import ROWS, THREADS, rows

import banksim
from helpers.recordings import arrays, kernels


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("name", THREADS)
def test_lanes_that_take_no_part_give_what_they_give_on_the_h100(name: str, engine: str) -> None:
    out = np.full((ROWS, 2, 32), 0xDEAD, np.uint32)
    banksim.run(kernels("absent_lanes")[name], ROWS, THREADS[name], [rows(), out], engine=engine)
    assert np.array_equal(out, arrays("absent_lanes")[name])
    assert (out[:, 0] == 0).sum() > ROWS  # many lanes have read from one that was not there
