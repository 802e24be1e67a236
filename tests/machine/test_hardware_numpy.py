"""Kernels as samples and libraries write them (tests/hardware/libraries.py), run here, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launches import LAUNCHES, argument
from libraries import SOURCES
from oracles import ORACLES

from helpers.recorded_launches import because, executed

LIBRARIES = {launch.name: launch for launch in LAUNCHES if launch.source in SOURCES}

ROUNDED = {
    "programs.lud_*": 1e-5,
    "python_kernels.py_jacobi": 1e-6,
    "products.cholesky_solve": 1e-12,
    "products.eliminate": 1e-4,
    "products.cyclic_reduction": 1e-6,
    "transforms.bilateral": 1e-5,
    "transforms.cosine_blocks*": 5e-4,
    "transforms.cosine_plain": 5e-4,
    "transforms.fourier_256": 1e-5,
    "transforms.fourier_doubles": 1e-13,
    "transforms.haar_levels": 1e-6,
    "transforms.modulate": 1e-6,
    "transforms.relax_flow": 1e-6,
    "sums.binomial_registers": 1e-4,
    "sums.bisect": 1e-4,
    "sums.bodies*": 1e-5,
    "sums.cross_entropy": 1e-6,
    "sums.flash_attention": 2e-3,
    "sums.gated": 1e-3,
    "sums.interpolate": 1e-4,
    "sums.jacobi_rows": 1e-14,
    "sums.norm_*": 1e-5,
    "sums.options": 1e-4,
    "sums.rotate_pairs": 1e-3,
    "sums.softmax_*": 1e-6,
}
"""Results that round on the way: the error allowed, absolute or relative. All others are exact."""

WITHOUT = {
    "sums.inline_code": "arithmetic of single instructions, which machine/operations/test_operations.py holds to NumPy",
    "sums.quasi_random": "a table of the kernel's own; its results are compared with the H200's",
    "sums.reduce_ballot<float, 256, true>": "as in the sample, the first lanes read others that do not take part",
    "sums.reduce_ballot<double, 128, true>": "as in the sample, the first lanes read others that do not take part",
}
"""Launches that have no counterpart in NumPy, and why; tests/machine/test_hardware.py compares them with the H200."""


def oracle(name: str) -> Any:
    kernel = name.split(".", 1)[1].split("/")[0]
    return ORACLES.get(kernel) or ORACLES.get(kernel.split("<")[0])


def test_every_kernel_has_a_counterpart() -> None:
    assert {name for name in LIBRARIES if oracle(name) is None or name in WITHOUT} == set(WITHOUT)


@pytest.mark.parametrize("name", [name for name in LIBRARIES if name not in WITHOUT])
def test_results(name: str) -> None:
    _, after = executed(name)
    before = [argument(rule) for rule in LIBRARIES[name].arguments]
    tolerance = because(ROUNDED, name)
    for number, expected in oracle(name)(*before).items():
        found = after[number]
        if np.ndim(expected) == 0:  # the blocks' results together
            found = found.sum()
        expected = np.asarray(expected).reshape(np.shape(found)).astype(after[number].dtype)
        if tolerance:
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(found, expected)
    if "bitonic_pairs" in name or "odd_even_merge" in name:  # values went with their keys
        np.testing.assert_array_equal(before[2][after[1]], after[0])
