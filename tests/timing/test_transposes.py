"""Transposes of matrices in registers (MOVM), beside what one H200 took."""

import numpy as np
import pytest

import banksim
from helpers.recordings import clocked

CHAIN, EIGHT, LOADS, PRODUCTS, FLOATS, REVERSED, SHUFFLES = range(7)
"""Kinds of kernels: each transpose needs the last one's result, or none does; among loads of shared memory, products of
matrices, floats, reversed bits and shuffles."""
WITHIN = {CHAIN: 0.02, EIGHT: 0.03, LOADS: 0.05, FLOATS: 0.025, REVERSED: 0.03, SHUFFLES: 0.085}


@pytest.mark.parametrize("warps", [1, 4, 5, 8, 16, 32])
@pytest.mark.parametrize("kind", WITHIN)
def test_a_transpose_takes_the_way_of_a_shuffle(kind: int, warps: int) -> None:
    """Of 8 warps and more half as long, when it had a unit of its sub-core's own."""
    arrays, kernels = clocked("timing/h200_transposes")
    measured = arrays["cycles"][kind, arrays["warps"].tolist().index(warps)]
    out = np.zeros(2, np.uint32)
    banksim.run(kernels[f"_Z1kILi{kind}EEvPj"], 1, 32 * warps, [out], timing=True)
    assert out[1] == pytest.approx(measured, rel=WITHIN[kind])
