"""A request as the HTML reports draw it: lanes × banks, and the passes to step through."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from banksim.banks.rule import Explanation, words
from banksim.report.html.elements import NONE, Elements
from banksim.report.text.picture import diagnosis, duration
from banksim.requests.copies import destinations
from banksim.wording import plural, runs

UNIT = 4
"""Bytes of the smallest thing that is drawn."""


@dataclass(frozen=True)
class Word:
    """`length` neighbouring parts of banks from `start` on, where a bank has as many parts as the picture says."""

    start: int
    length: int


@dataclass(frozen=True)
class Served:
    """What a lane gets in one pass (from 1), and how to say that."""

    lane: int
    turn: int
    words: tuple[Word, ...]
    label: str


@dataclass(frozen=True)
class Picture:
    """A request, pass by pass; `steps[k]` says what pass k + 1 serves. `parts`: how many words of 4 bytes of a bank one
    pass serves (2 on Kepler), of which each is drawn as a part of its square."""

    arch: str
    place: str
    diagnosis: str
    banks: int
    parts: int
    served: tuple[Served, ...]
    steps: tuple[str, ...]


def picture(found: Explanation, place: str, elements: Elements = NONE) -> Picture:
    return Picture(
        arch=found.arch.name,
        place=place,
        diagnosis=" ".join(filter(None, (diagnosis(found), duration(found)))),
        banks=found.arch.banks,
        parts=found.arch.pass_width // UNIT,
        served=tuple(served(found, elements)),
        steps=tuple(
            f"serves {plural(len(step.lanes), 'lane', runs(step.lanes))} in "
            f"{plural(len(step.banks), 'bank', runs(step.banks))}"
            for step in found.passes
        ),
    )


def served(found: Explanation, elements: Elements) -> Iterator[Served]:
    """Every word of every lane, with the first pass that serves it."""
    seen: set[tuple[int, int]] = set()
    addresses = destinations(found.op, found.address)
    for turn, step in enumerate(found.passes, 1):
        for lane in step.lanes:
            touched = words(found.address[lane], found.width, found.arch)
            new = [word for word in touched if word in step.words and (lane, word) not in seen]
            seen.update((lane, word) for word in new)
            if new:
                banks = {word % found.arch.banks for word in new}
                what = elements.named(addresses[lane], found.width)
                label = (
                    f"lane {lane}: byte {addresses[lane]:,}{f', {what}' if what else ''}, "
                    f"{plural(len(banks), 'bank', runs(banks))}, pass {turn} of {len(found.passes)}"
                )
                places = [place for word in new for place in drawn(word, found.address[lane], found)]
                yield Served(lane, turn, tuple(together(places)), label)


def drawn(word: int, address: int, found: Explanation) -> Iterator[int]:
    """Where the picture shows what a lane accesses of a word: places counted from bank 0 in parts of banks."""
    arch, parts = found.arch, found.arch.pass_width // UNIT
    bank = word % arch.banks
    if arch.bank_width == arch.pass_width:  # then parts are pieces of one word, else different words
        first, last = address // UNIT, (address + found.width - 1) // UNIT
        yield from (parts * bank + part for part in range(parts) if first <= parts * word + part <= last)
    else:
        yield parts * bank + word // arch.banks % parts


def together(places: Sequence[int]) -> Iterator[Word]:
    """Neighbouring places as one."""
    last: Word | None = None
    for place in places:
        if last and place == last.start + last.length:
            last = Word(last.start, last.length + 1)
            continue
        if last:
            yield last
        last = Word(place, 1)
    if last:
        yield last
