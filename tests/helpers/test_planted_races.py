"""The marks in races.cu are read as they stand there."""

from helpers.planted_races import MARKED, PLANTED


def test_every_mark_belongs_to_a_kernel() -> None:
    text = PLANTED.read_text(encoding="utf-8")
    comments = [line.partition("//")[2] for line in text[text.index("__global__") :].splitlines()]
    assert sum(len(races) for races, _ in MARKED.values()) == sum("RACE" in comment for comment in comments) > 40
    assert sum(len(barriers) for _, barriers in MARKED.values()) == sum("BARRIER" in comment for comment in comments)
