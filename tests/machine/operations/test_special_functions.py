"""MUFU's results on odd, random and, of halves, regularly spaced numbers, as an H200 gave them, bit for bit."""

import numpy as np
import pytest

from helpers import recordings
from helpers.operations import ENGINES, run

RECORDED = recordings.arrays("special_functions")


@ENGINES
@pytest.mark.parametrize("name", RECORDED)
def test_results_equal_the_h200(name: str, engine: str) -> None:
    for given, expected in zip(*(words.reshape(-1, 32) for words in RECORDED[name]), strict=True):
        values = np.zeros((8, 32), np.uint32)
        values[0] = given
        got = run([f"{name} R20, R8"], values, engine)[0, 0]
        wrong = np.flatnonzero(got != expected)
        assert not wrong.size, [f"{given[n]:#x}: {got[n]:#x}, not {expected[n]:#x}" for n in wrong]
