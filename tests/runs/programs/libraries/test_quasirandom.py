"""Sobol's numbers: those that an H200's cuRAND gave, the order of dimensions, and what is refused."""

import sys

import numpy as np
import pytest

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.quasirandom import numbers, points

SOBOL32, SOBOL64 = 201, 203
NO = (0.0, 1.0)


def test_numbers_of_one_dimension_are_those_of_curand() -> None:
    """As NVIDIA's samples print them: ten of 64-bit words, uniform, and normal of mean 1 and deviation 2."""
    uniform = "0.000000 0.500000 0.750000 0.250000 0.375000 0.875000 0.625000 0.125000 0.187500 0.687500"
    assert " ".join(f"{one:.6f}" for one in numbers(SOBOL64, "GenerateUniform", 0, 1, 10, NO)) == uniform
    normal = "-11.675915 1.000000 2.348979 -0.348979 0.362721 3.300699 1.637279 -1.300699 -0.774293 1.977553"
    assert " ".join(f"{one:.6f}" for one in numbers(SOBOL64, "GenerateNormal", 0, 1, 10, (1.0, 2.0))) == normal


def test_doubles_of_words_are_those_of_curand() -> None:
    """The first four of 8,192 that an H200's cuRAND 10.4 gave, each the same: those of 32 bits are whole multiples of
    2^-32, those of 64 bits lie half a step above one."""
    for kind, above in ((SOBOL32, 2.0**-32), (SOBOL64, 2.0**-54)):
        found = numbers(kind, "GenerateUniformDouble", 0, 1, 4, NO)
        assert found.tolist() == [above, 0.5 + above, 0.75 + above, 0.25 + above]


def test_each_power_of_two_of_points_has_every_leading_bit_once() -> None:
    for bits, kind in ((32, SOBOL32), (64, SOBOL64)):
        words = numbers(kind, "Generate", 0, 1, 1 << 10, NO)
        assert sorted(words.tolist()) == [k << (bits - 10) for k in range(1 << 10)]
        later = numbers(kind, "Generate", 700, 1, 20, NO)
        np.testing.assert_array_equal(later, words[700:720])
    last = points((1 << 64) - 1, 1, 1)
    assert last.tolist() == [1], "the Gray code of 64 ones is a one and 63 zeros, and turned around"


def test_all_of_a_dimension_lie_together() -> None:
    qmc = pytest.importorskip("scipy.stats").qmc
    expected = qmc.Sobol(3, scramble=False, bits=32).random(16)[8:].T.ravel()
    found = numbers(SOBOL32, "GenerateUniformDouble", 8, 3, 24, NO)
    np.testing.assert_array_equal(found, expected + 2.0**-32)
    np.testing.assert_array_equal(
        found[:8], numbers(SOBOL64, "GenerateUniformDouble", 8, 1, 8, NO) - 2.0**-54 + 2.0**-32
    )
    begin = numbers(SOBOL32, "GenerateUniformDouble", 0, 3, 30, NO).reshape(3, 10)
    np.testing.assert_array_equal(begin[:, 8:], found.reshape(3, 8)[:, :2])


def test_numbers_begin_and_end_where_a_word_does() -> None:
    for kind, dimensions, bits in ((SOBOL32, 1, 32), (SOBOL64, 1, 64), (SOBOL64, 2, 32)):
        with pytest.raises(
            UnsupportedError, match=f"{'several dimensions ' * (dimensions > 1)}behind the first 2.{bits}"
        ):
            numbers(kind, "Generate", (1 << bits) - 1, dimensions, 2 * dimensions, NO)
    assert numbers(SOBOL32, "Generate", (1 << 32) - 1, 1, 1, NO).tolist() == [1]


@pytest.mark.parametrize("name", ["GenerateNormal", "GenerateNormalDouble"])
def test_normal_numbers_near_1_are_those_near_0_mirrored(name: str) -> None:
    """As cuRAND's own curand_normal.h takes them; a float next to 1 is 1, which has no normal number."""
    gray, least = (1 << 32) - 1, 0
    while gray:
        least, gray = least ^ gray, gray >> 1
    assert numbers(SOBOL32, "Generate", least, 1, 1, NO).tolist() == [0xFFFFFFFF]
    (lowest,), (highest,) = (numbers(SOBOL32, name, place, 1, 1, NO) for place in (0, least))
    assert lowest == -highest
    assert 6.3 < highest < 6.4


def test_without_scipy_there_is_one_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(UnsupportedError, match="several dimensions need SciPy: pip install scipy"):
        points(0, 2, 2)
    assert points(1, 1, 1).tolist() == [1 << 63]
