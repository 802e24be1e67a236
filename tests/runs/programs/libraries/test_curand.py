"""cuRAND's numbers against those that an H200's cuRAND 10.4 gave (tests/data, `curand.npz`)."""

import itertools
import struct
from collections.abc import Callable

import numpy as np
import pytest

from banksim.runs.programs.libraries import poisson
from banksim.runs.programs.libraries.calls import Memory
from banksim.runs.programs.libraries.curand import DISTRIBUTIONS, compute
from helpers.library_calls import called
from helpers.places import DATA

TYPES = {"xorwow": 101, "mrg": 121, "philox": 161}
EXACT = ("Generate", "GenerateUniform", "GenerateUniformDouble", "GenerateNormal", "GenerateLogNormal")
SERIAL = itertools.count(1)
RECORDED = dict(np.load(DATA / "curand.npz"))
Take = Callable[..., np.ndarray]


def generator(label: str, seed: int = 1234, offset: int = 0, host: bool = False) -> Take:
    """What takes numbers of a new generator."""
    serial = next(SERIAL)

    def take(name: str, count: int, parameters: tuple[float, float] = (0, 1)) -> np.ndarray:
        out = np.zeros(count, DISTRIBUTIONS[name][0])
        given = np.array(parameters, np.float64).view(np.int64).tolist()
        kind = {**TYPES, "mt19937": 142}[label]
        answer = called("cuRAND", name, kind, seed, offset, 0, 101, 1, 1, serial, 0 if host else out, count, *given)
        return np.frombuffer(answer, out.dtype) if host else out

    return take


@pytest.mark.parametrize("label", TYPES)
def test_numbers_are_those_of_curand(label: str) -> None:
    for seed, name in itertools.product((None, 1234), EXACT):
        took = generator(label, seed or 0)(name, 1024)[:64]
        np.testing.assert_array_equal(took, RECORDED[f"{label}_{seed}_{name}"], f"{seed} {name}")
    uniform = generator(label, host=True)
    assert uniform("Generate", 1024).any()
    np.testing.assert_array_equal(uniform("GenerateUniform", 64), RECORDED[f"{label}_host_GenerateUniform"])


@pytest.mark.parametrize("label", TYPES)
def test_calls_go_on_where_the_last_one_ended(label: str) -> None:
    for name in EXACT:
        take = generator(label)
        take(name, 1024)
        np.testing.assert_array_equal(take(name, 64), RECORDED[f"{label}_1234_{name}_again"], name)
    take = generator(label)
    both = np.concatenate([take("Generate", 262144)[-64:], take("Generate", 16)])
    np.testing.assert_array_equal(both, RECORDED[f"{label}_n262144"])


@pytest.mark.parametrize("label", TYPES)
def test_many_numbers_and_offsets(label: str) -> None:
    np.testing.assert_array_equal(generator(label)("Generate", 70000)[::140], RECORDED[f"{label}_order"])
    np.testing.assert_array_equal(generator(label)("GenerateUniform", 1 << 20)[::4096], RECORDED[f"{label}_big"])
    np.testing.assert_array_equal(generator(label)("GenerateNormal", 1 << 20)[::4096], RECORDED[f"{label}_bign"])
    for offset in (1, 5, 100000):
        took = generator(label, offset=offset)("Generate", 64)
        np.testing.assert_array_equal(took, RECORDED[f"{label}_offset{offset}"], f"{offset}")


@pytest.mark.parametrize("label", TYPES)
def test_other_numbers_are_near(label: str) -> None:
    for name, near in (("GenerateNormalDouble", 1e-13), ("GenerateLogNormalDouble", 1e-13)):
        took = generator(label)(name, 1024)[:128]
        np.testing.assert_allclose(took, RECORDED[f"{label}_1234_{name}"], near, near)


LOGNORMAL = {
    "philox": """0.107208 31.763277 0.119902 6.884295 8.473219 1.534504 4.520785 10.082164 0.979758 19.236683 34.952755
        2.380386""",
    "xorwow": "12.961029 0.074040 1.550074 8.390443 0.359635 6.221920 50.231937 0.883139 2.019494 1.233221",
    "mrg": "1.321401 0.833133 0.087416 0.447883 5.407566 3.552269 3.582037 3.251252 2.401084 3.612976",
}
"""What NVIDIA's samples of log-normal numbers (mean 1, deviation 2) print of a host's generator, beside an H200."""


@pytest.mark.parametrize("label", TYPES)
def test_normal_numbers_of_a_hosts_generator_are_rounded_correctly(label: str) -> None:
    expected = LOGNORMAL[label].split()
    took = generator(label, host=True)("GenerateLogNormal", len(expected), (1, 2))
    assert [f"{one:.6f}" for one in took] == expected


def test_hosts_and_devices_have_the_same_twister() -> None:
    for host in (False, True):
        take = generator("mt19937", host=host)
        assert [f"{one:.6f}" for one in take("GenerateUniform", 4)] == ["0.191519", "0.068085", "0.149834", "0.657769"]
        assert f"{take('GenerateUniform', 8)[7]:.6f}" == "0.996097"
    normal = generator("mt19937")("GenerateNormal", 128)
    np.testing.assert_allclose(normal, RECORDED["mt19937_GenerateNormal"], 3e-7)


@pytest.mark.parametrize(
    "mean", ["0.5", "1", "4", "10", "30", "63", "64", "65", "100", "1000", "1999", "2000", "4001", "100000"]
)
def test_poissons_numbers_are_those_of_curand(mean: str) -> None:
    took = generator("philox")("GeneratePoisson", 1024, (float(mean), 0))
    np.testing.assert_array_equal(took, RECORDED[f"philox_poisson_{mean}"])


@pytest.mark.parametrize("label", ["xorwow", "mrg", "mt19937"])
def test_each_generator_makes_poissons_numbers_of_its_words(label: str) -> None:
    take = generator(label)
    np.testing.assert_array_equal(take("GeneratePoisson", 1 << 14, (10, 0))[:256], RECORDED[f"{label}_poisson_10"])
    np.testing.assert_array_equal(take("GeneratePoisson", 64, (10, 0)), RECORDED[f"{label}_poisson_10_again"])


@pytest.mark.parametrize(
    ("kind", "ordering", "name", "mean", "known"),
    [
        (101, 101, "GenerateUniform", 0, True),
        (101, 102, "GenerateUniform", 0, False),
        (141, 101, "GenerateUniform", 0, False),
        (142, 101, "GenerateUniform", 0, True),
        (101, 101, "GeneratePoisson", 1999, True),
        (121, 101, "GeneratePoisson", 2000, False),
        (161, 101, "GeneratePoisson", 2000, True),
    ],
)
def test_the_name_of_a_call_tells_whose_numbers_it_gave(
    kind: int, ordering: int, name: str, mean: float, known: bool
) -> None:
    first = struct.unpack("<q", struct.pack("<d", mean))[0]
    memory = Memory([], f"cuRAND {name}")
    compute(memory, name, (kind, 7, 0, 0, ordering, 1, 1, next(SERIAL), 0, 4, first, 0))
    assert memory.what == f"cuRAND {name}" + ("" if known else " with NumPy's own numbers")


def test_a_large_mean_takes_one_word_of_the_twister() -> None:
    took = generator("mt19937")("GeneratePoisson", 255, (5000, 0))
    np.testing.assert_array_equal(took, RECORDED["mt19937_poisson_5000"][:255])


def test_a_word_at_the_edge_of_a_share() -> None:
    """Recorded too: half a word less would fall into it."""
    assert poisson.of_words(np.array([0x11FF6968], np.uint64), 30.0) == 20
