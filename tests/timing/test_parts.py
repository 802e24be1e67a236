"""Where parts of a warp, different constants or registers of doubles wait for each other, and barriers of many
warps, beside what one H200 took."""

import pytest

from banksim.timing.issue_table import code_table
from helpers.recordings import clocked, passes


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("fours_wait_for_each_other", [0.001, 0.001, 0.001, 0.05, 0.03, 0.02]),
        ("halves_reduce", [0.01, 0.01, 0.01, 0.01, 0.02, 0.13]),
        ("eight_constants", [0.02, 0.15, 0.1, 0.01, 0.01, 0.01]),
        ("three_doubles", [0.01, 0.01, 0.01, 0.02, 0.035, 0.03]),
        ("parts_parked_in_one_place", [0.01, 0.01, 0.01, 0.02, 0.04, 0.115]),
        ("parts_parked_in_three_places", [0.01, 0.01, 0.01, 0.01, 0.03, 0.02]),
        ("two_threads_reduce", [0.02, 0.02, 0.02, 0.023, 0.04, 0.085]),
        ("all_wait_for_two_threads", [0.03, 0.05, 0.06, 0.08, 0.1, 0.105]),
    ],
)
def test_blocks_of_1_to_32_warps(name: str, off: list[float]) -> None:
    held(name, "h200_parts", off)


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("barriers_of_some_threads", [0.02, 0.02, 0.02, 0.01, 0.01, 0.01]),
        ("two_barriers_of_some_threads", [0.01, 0.01, 0.01, 0.01, 0.01, 0.01]),
        ("barriers_by_number", [0.01, 0.01, 0.01, 0.02, 0.02, 0.02]),
        ("two_loads_behind_a_barrier", [0.05] * 6),
        ("two_stores_behind_a_barrier", [0.05] * 6),
        ("four_stores_behind_a_barrier", [0.08] * 6),
        ("two_stores", [0.01, 0.01, 0.01, 0.02, 0.015, 0.03]),
    ],
)
def test_barriers_and_requests_of_many_warps(name: str, off: list[float]) -> None:
    """Barriers whose number, or number of threads, is in a register come later to their unit."""
    held(name, "h200_turns", off)


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("handing_over", [0.01, 0.01, 0.02, 0.04, 0.1]),
        ("handing_over_by_register", [0.01, 0.01, 0.02, 0.02, 0.05]),
        ("one_way_by_register", [0.01, 0.01, 0.011, 0.02, 0.05]),
        ("barriers_of_none", [0.01, 0.01, 0.01, 0.01, 0.04, 0.04]),
        ("arrivals_of_none", [0.01, 0.01, 0.01, 0.01, 0.04, 0.04]),
        ("barriers_of_all", [0.01, 0.01, 0.01, 0.01, 0.01, 0.01]),
        ("values_to_doubles", [0.025, 0.025, 0.03, 0.03, 0.03, 0.03]),
        ("loads_to_doubles", [0.01, 0.01, 0.01, 0.02, 0.04, 0.025]),
    ],
)
def test_arrivals_and_doubles(name: str, off: list[float]) -> None:
    """A warp that arrives goes on at once; a barrier that no thread executes has its turn as well."""
    held(name, "h200_arrivals", off)


def held(name: str, file: str, off: list[float]) -> None:
    """Hold the medians of passes of blocks of the last so many sizes against the recorded ones, within these parts."""
    taken = list(passes(f"timing/{file}", name))[-len(off) :]
    for (_, simulated, measured), most in zip(taken, off, strict=True):
        assert simulated == pytest.approx(measured, rel=most)


def test_a_constant_without_an_index_has_no_register_that_tells_its_places() -> None:
    """RZ is none: what lies behind the registers was read in its place, and time was another in every run."""
    _, kernels = clocked("timing/h200_parts")
    kernel = kernels["eight_constants"]
    indexed = [i.opcode == "LDC" and "[RZ]" in i.text for i in kernel.instructions]
    assert any(indexed)
    assert (code_table(kernel)["values"][indexed] == -1).all()
