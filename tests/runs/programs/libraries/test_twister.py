"""cuRAND's MT19937 against the numbers that an H200's cuRAND 10.4 gave (tests/data, `curand.npz`)."""

import numpy as np
import pytest

from banksim.runs.programs.libraries import quasirandom, twister
from banksim.runs.programs.libraries.twister import Mt19937
from helpers.places import DATA

RECORDED = {name: values for name, values in np.load(DATA / "curand.npz").items() if name.startswith("mt19937")}


def words(generator: Mt19937, count: int) -> np.ndarray:
    return generator.draw(count, 1)[:, 0]


def test_words_are_those_of_curand_in_call_after_call() -> None:
    generator = Mt19937(1234)
    np.testing.assert_array_equal(words(generator, 1000)[984:], RECORDED["mt19937_n1000"])
    np.testing.assert_array_equal(words(generator, 1000)[:16], RECORDED["mt19937_again"])
    np.testing.assert_array_equal(words(generator, 8000)[7984:], RECORDED["mt19937_big"])


def test_a_seed_has_32_bits() -> None:
    np.testing.assert_array_equal(words(Mt19937(0x500000007), 16), RECORDED["mt19937_wide_seed"])


def test_streams_go_on_when_all_their_words_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two streams' numbers, as if there were no other: 78 turns take 624 words of each."""
    monkeypatch.setattr(twister, "STREAMS", 2)
    np.testing.assert_array_equal(words(Mt19937(1234), 85 * 16), RECORDED["mt19937_rounds"].ravel())
    generator = Mt19937(1234)
    in_parts = np.concatenate([words(generator, count) for count in (1, 1246, 3, 110)])
    np.testing.assert_array_equal(in_parts, RECORDED["mt19937_rounds"].ravel())


def test_each_word_makes_a_number() -> None:
    drawn = words(Mt19937(1234), 128)
    for name, near in (("UniformDouble", 0.0), ("NormalDouble", 1e-15), ("Normal", 3e-7), ("LogNormal", 7e-7)):
        values = quasirandom.distributed(drawn, 32, f"Generate{name}", (0, 1))
        np.testing.assert_allclose(values, RECORDED[f"mt19937_Generate{name}"], near)
