import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.requests.counts import Range
from banksim.wording import listed, mean, number, plural, runs, ways


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"), (1024, "1,024"), (Range(4, 16), "4–16"), (Range(7, 7), "7"), (None, "unknown"),
        (10**9, "1,000,000,000"),
    ],
)  # fmt: skip
def test_a_count_shows_thousands_both_ends_and_ignorance(count: int | Range[int] | None, text: str) -> None:
    assert number(count) == text


@pytest.mark.parametrize(
    ("degree", "text"),
    [(0, "none"), (1, "none"), (2, "2-way"), (Range(1, 1), "none"), (Range(1, 4), "1–4-way"), (None, "unknown")],
)
def test_a_degree_of_one_is_no_conflict(degree: int | Range[int] | None, text: str) -> None:
    assert ways(degree) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.00"), (1.5, "1.50"), (Range(2.0, 8.25), "2.00–8.25"), (Range(2.0, 2.001), "2.00"), (None, "unknown")],
)
def test_a_mean_has_two_decimals(value: float | Range[float] | None, text: str) -> None:
    assert mean(value) == text


def test_lists_read_as_people_write_them() -> None:
    assert [listed([*"abc"[:n]]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_nouns_count() -> None:
    assert [plural(1, "bank"), plural(2, "access")] == ["1 bank", "2 accesses"]
    assert [plural(1, "bank", "7"), plural(4, "bank", "0–3")] == ["bank 7", "banks 0–3"]


@given(st.sets(st.integers(0, 40)))
def test_runs_name_every_number_once(numbers: set[int]) -> None:
    named: list[int] = []
    for run in filter(None, runs(numbers).split(", ")):
        low, _, high = run.partition("–")
        named += range(int(low), int(high or low) + 1)
    assert named == sorted(numbers)
    assert runs(numbers).count("–") + runs(numbers).count(",") <= max(0, len(numbers) - 1)
