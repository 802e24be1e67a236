"""A request as the HTML reports draw it: lanes × banks, and the passes to step through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from banksim.banks.rule import Explanation, words
from banksim.report.text.picture import diagnosis, duration
from banksim.wording import plural, runs


@dataclass(frozen=True)
class PassCell:
    """Lane and bank of a word, and the pass (from 1) that serves it."""

    lane: int
    bank: int
    turn: int


@dataclass(frozen=True)
class Picture:
    """A request, pass by pass; `steps[k]` says what pass k + 1 serves."""

    arch: str
    place: str
    diagnosis: str
    banks: int
    cells: tuple[PassCell, ...]
    steps: tuple[str, ...]


def picture(found: Explanation, place: str) -> Picture:
    return Picture(
        arch=found.arch.name,
        place=place,
        diagnosis=" ".join(filter(None, (diagnosis(found), duration(found)))),
        banks=found.arch.banks,
        cells=tuple(cells(found)),
        steps=tuple(
            f"serves {plural(len(step.lanes), 'lane', runs(step.lanes))} in "
            f"{plural(len(step.banks), 'bank', runs(step.banks))}"
            for step in found.passes
        ),
    )


def cells(found: Explanation) -> Iterator[PassCell]:
    """Every word of every lane, with the first pass that serves it."""
    seen: set[tuple[int, int, int]] = set()
    for turn, step in enumerate(found.passes, 1):
        for lane in step.lanes:
            for word in words(found.address[lane], found.width, found.arch):
                if word in step.words and (lane, word, word % found.arch.banks) not in seen:
                    seen.add((lane, word, word % found.arch.banks))
                    yield PassCell(lane, word % found.arch.banks, turn)
