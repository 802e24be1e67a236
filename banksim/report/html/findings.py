"""What checks found, with both accesses and links to their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from banksim.banks.source_lines import own_calls
from banksim.machine.races.findings import Access, Finding, Race, accesses, missing
from banksim.report.html.sources import Sources
from banksim.report.text import races
from banksim.wording import in_file, place

if TYPE_CHECKING:
    from banksim.runs.outcome import Run
    from banksim.runs.programs.kernel_launches import KernelLaunches
    from banksim.runs.programs.launches import Launches


@dataclass(frozen=True)
class Side:
    """An access: what is done, by which thread, where in the source and in the page."""

    kind: str
    thread: str
    place: str
    anchor: str
    markup: Markup
    calls: str


@dataclass(frozen=True)
class Card:
    """A finding: the sentence that says what is missing, the accesses, the example."""

    said: str
    sides: tuple[Side, ...]
    example: str


@dataclass(frozen=True)
class Checked:
    """A check: how many findings it has, or that all is well; `of`: the numbers and cards of its findings."""

    said: str
    of: tuple[tuple[int, Card], ...]


def all_checks(told: Run | Launches | None, parts: Sequence[Run | KernelLaunches], sources: Sources) -> list[Checked]:
    """Each check that was asked for with its findings, numbered through; `parts` know how many were not kept."""
    if told is None or not told.checks:
        return []
    lost = sum(one.findings_lost for one in parts)
    out = []
    for check in told.checks:
        cards = tuple((at, card(one, sources)) for at, one in enumerate(told.findings, 1) if one.check == check)
        [head, *_] = races.report([one for one in told.findings if one.check == check], [check], 1 << 20)
        out.append(Checked(head.plain, cards))
    return [*out, *lost_ones(lost)]


def lost_ones(lost: int) -> Iterator[Checked]:
    for paragraph in races.report((), (), 1 << 20, lost):
        yield Checked(paragraph.plain, ())


def card(one: Finding, sources: Sources) -> Card:
    same = ", both the same value" if isinstance(one, Race) and one.same_value else ""
    said = missing(one, place) if isinstance(one, Race) else "Nothing has written what is read here."
    return Card(said, tuple(side(access, sources) for access in accesses(one)), races.example(one) + same)


def side(access: Access, sources: Sources) -> Side:
    site = access.site
    group = (site.file, site.line)
    calls = ", ".join(f"in {name}, called at {in_file(file, line)}" for name, file, line in own_calls(site))
    return Side(
        kind=access.kind,
        thread=access.thread,
        place=place(site),
        anchor=sources.anchor(group),
        markup=sources.text(group) if site.file and site.line else Markup(),
        calls=calls,
    )
