"""Sequences of floats and integers that were written at random, one warp over and over, beside what one H200 took."""

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from helpers.recordings import clocked, decode_variants, labels, variant

FILE = "timing/h200_collector"
FEW, MANY = 4, 12
"""Rounds."""


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """The kernels of all tests, with one start of nvdisasm."""
    decode_variants(FILE)


def taken(name: str) -> int:
    """Cycles that MANY rounds take beyond FEW."""
    cycles = []
    for rounds in (FEW, MANY):
        clocks, out = np.zeros((32, 2), np.uint32), np.zeros(1024, np.uint32)
        given = [clocks, out, *map(np.uint32, (rounds, 1, 2, 3, 4))]
        banksim.run(decode(variant(FILE, name))["uniform6"], 1, 32, given, dynamic_shared=16 * 1024, timing=True)
        cycles.append(int(clocks[0, 1]) - int(clocks[0, 0]))
    return cycles[1] - cycles[0]


@pytest.mark.parametrize("kind", ["floats", "mixed", "kinds", "reused", "fresh", "matrix"])
def test_one_warp_takes_what_it_took(kind: str) -> None:
    """Multiply-adds with registers of either bank; beside sums, logic and minima; each of these among multiply-adds;
    with registers that the reuse cache has; and with results that are four to ten cycles old;
    and shuffles and stores to shared memory one or two cycles before or behind a product of matrices."""
    for name, cycles in zip(labels(FILE), clocked(FILE)[0]["cycles"], strict=True):
        if name.split()[0] == kind:
            assert taken(name) == int(np.diff(cycles)[0]), name
