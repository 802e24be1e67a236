"""Advice as one HTML file: the layouts with what they cost, what to write, and requests before and after the cure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.rule import explain
from banksim.banks.source_lines import by_line, worst_excess
from banksim.report.html.conflicts import MOST_PICTURES, machine_code, page
from banksim.report.html.picture import Picture, picture
from banksim.report.text.conflict_table import access
from banksim.requests.counts import ends
from banksim.requests.kinds import OPS
from banksim.wording import listed, mean, number, ways

if TYPE_CHECKING:
    from banksim.advise.kernels.advice import KernelAdvice
    from banksim.advise.kernels.measure import Measured
    from banksim.advise.patterns.advice import ArrayAdvice
    from banksim.advise.patterns.judge import Judged


@dataclass(frozen=True)
class LayoutRow:
    """A row of the table: cells under the table's heads, each with its mood (`calm`, `hot` or none), what to write in
    each language, why it was refused."""

    name: str
    cells: tuple[tuple[str, str], ...]
    spelling: tuple[tuple[str, str], ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class Sides:
    """A request before the cure and after it; None where it is not there."""

    label: str
    before: Picture | None
    after: Picture | None


@dataclass(frozen=True)
class Advised:
    """What is said of an array, or of a kernel."""

    title: str
    verdict: str
    is_calm: bool
    notes: tuple[str, ...]
    heads: tuple[str, ...]
    layouts: tuple[LayoutRow, ...]
    """As written, then the others, the best first."""
    sides: tuple[Sides, ...]

    @property
    def best(self) -> LayoutRow | None:
        return self.layouts[1] if len(self.layouts) > 1 else None


# ---- patterns
def of_pattern(advice: Sequence[ArrayAdvice]) -> str:
    """The page on the layouts of a pattern's arrays."""
    from banksim.report.text.pattern_advice import all_together, notes, written

    archs = listed([arch.name for arch in advice[0].archs])
    parts = [
        Advised(
            title=written(one.array),
            verdict=one.verdict,
            is_calm=one.is_proven,
            notes=tuple(notes(one, len(one.better))),
            heads=(
                *(f"transactions, {arch.name}" for arch in one.archs),
                *(f"blocks per SM, {arch.name}" for arch in one.archs),
                "bytes added",
                "index operations",
            ),
            layouts=tuple(row(layout, one) for layout in (one.before, *one.better, *one.threads)),
            sides=tuple(compared(one)),
        )
        for one in advice
    ]
    summary = all_together(advice) if len(advice) > 1 else ""
    return page("advice.html.j2", title=f"Layouts on {archs}", launch=summary, parts=parts, rows=(), diff=())


def row(layout: Judged, advice: ArrayAdvice) -> LayoutRow:
    from banksim.report.text.pattern_advice import operations

    spelling = layout.layout.spelling
    counts = zip(layout.transactions, advice.bound, strict=True)
    return LayoutRow(
        name=layout.names,
        cells=(
            *((number(count), "calm" if count == bound else "hot") for count, bound in counts),
            *((number(count), "") for count in layout.blocks),
            (number(layout.bytes), ""),
            (operations(layout), ""),
        ),
        spelling=tuple((name, "\n".join(lines)) for name, lines in (("C", spelling.c), ("Numba", spelling.numba))),
    )


def compared(advice: ArrayAdvice) -> Iterator[Sides]:
    """For each architecture the request that the layout as written serves worst, and the same one in the best; of one
    in pieces the first."""
    from banksim.advise.patterns.judge import DistinctRequests, base_of, cost, laid_out
    from banksim.banks.replay import ideal

    given = advice.different
    for arch in advice.archs:
        least = ideal(given.address, op=given.op, width=given.width, mask=given.mask, arch=arch)
        worst = int(np.argmax(cost(given, given.address + advice.array.base, arch) - np.asarray(least)))
        one = DistinctRequests._make(column[worst : worst + 1] for column in given)
        drawn = []
        for layout in (advice.before.layout, advice.best.layout):
            moved = laid_out(layout, one)
            assert moved is not None
            address = tuple(map(int, moved.address[0] + base_of(layout, advice.array)))
            found = explain(address, OPS[moved.op[0]], int(moved.width[0]), int(moved.mask[0]), arch)
            drawn.append(picture(found, layout.name))
        label = f"The worst request on {arch.name}, {access(OPS[one.op[0]], int(one.width[0]))}"
        yield Sides(label, drawn[0], drawn[1] if advice.better else None)


# ---- kernels
@dataclass(frozen=True)
class LineFigures:
    """What a line costs by an architecture: all its accesses together; `heat` from 0 to 1."""

    arch: str
    requests: str
    transactions: str
    per_request: str
    worst: str
    heat: float


@dataclass(frozen=True)
class Side:
    """A line before the cure or after it."""

    number: int
    text: str
    figures: tuple[LineFigures, ...]
    sass: str


@dataclass(frozen=True)
class DiffLine:
    """A line before and after; None where it is not there."""

    before: Side | None
    after: Side | None
    sides: tuple[Sides, ...]

    @property
    def place(self) -> int:
        side = self.before or self.after
        return side.number if side else 0

    @property
    def marked(self) -> list[tuple[str, str, Side]]:
        """What to show: both sides with their marks, or one if nothing differs."""
        both = [("−", "before", self.before), ("+", "after", self.after)]
        if self.before and self.after and self.is_as_before:
            return [("", "", self.before)]
        return [(mark, name, side) for mark, name, side in both if side]

    @property
    def is_as_before(self) -> bool:
        assert self.before is not None
        assert self.after is not None
        return (self.before.text, self.before.figures) == (self.after.text, self.after.figures)


def of_kernel(advice: KernelAdvice) -> str:
    """The page on the layouts of a kernel's arrays."""
    names = [arch.name for arch in advice.archs]
    layouts = [LayoutRow("as written", cells(advice.before, advice))]
    losers = sorted(advice.tried, key=lambda one: one.measured.of(advice.before) if one.measured else float("inf"))
    for one in sorted(losers, key=lambda one: bool(one.refused)):
        shown = cells(one.measured, advice) if one.measured and one.is_same else ()
        layouts.append(LayoutRow(one.name, shown, refused=one.refused))
    part = Advised(
        title="Layouts",
        verdict=advice.verdict,
        is_calm=advice.is_proven,
        notes=advice.notes,
        heads=(
            "requests",
            *(f"transactions, {name}" for name in names),
            *(f"blocks per SM, {name}" for name in names),
            "warp instructions",
            "cycles per block",
            "bytes per block",
        ),
        layouts=tuple(layouts),
        sides=(),
    )
    return page(
        "advice.html.j2",
        title=f"{advice.source.name}: layouts of shared memory on {listed(names)}",
        launch="",
        parts=[part],
        rows=tuple(lines(advice)),
        diff=tuple(advice.diff().splitlines()),
    )


def cells(one: Measured, advice: KernelAdvice) -> tuple[tuple[str, str], ...]:
    return (
        (number(one.requests), ""),
        *((number(paid.transactions), "calm" if paid.transactions == paid.ideal else "hot") for paid in one.costs),
        *((number(one.blocks(arch)), "") for arch in advice.archs),
        (number(one.instructions), ""),
        ("–" if one.cycles is None else number(round(one.cycles)), ""),
        (number(one.size), ""),
    )


def lines(advice: KernelAdvice) -> Iterator[DiffLine]:
    """The lines of the file that access shared memory or change, with what they cost before and after."""
    old, new = (content.decode(errors="replace").splitlines() for content in (advice.source.content, advice.content))
    sides = [Program(advice, advice.before, old), Program(advice, advice.after, new)]
    drawn = 0
    for _, start, end, other, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for places in zip_longest(range(start, end), range(other, stop)):
            before, after = (side.line(place) for side, place in zip(sides, places, strict=True))
            pictures: list[Sides] = []
            for at, arch in enumerate(advice.archs):
                pair = [side.picture(at, place) for side, place in zip(sides, places, strict=True)]
                if pair[0] and len(pair[0].steps) > 1 and drawn < MOST_PICTURES // 2 and advice.best:
                    drawn += 1
                    pictures.append(Sides(arch.name, *pair))
            line = DiffLine(before, after, tuple(pictures))
            if any(side and side.figures for side in (before, after)) or len({*map(text_of, (before, after))}) > 1:
                yield line


def text_of(side: Side | None) -> str | None:
    return side.text if side else None


class Program:
    """What the lines of the file cost with one layout."""

    def __init__(self, advice: KernelAdvice, measured: Measured, texts: Sequence[str]) -> None:
        self.texts, self.archs = texts, advice.archs
        self.name = advice.source.file.name
        self.sites = [self.of_file(conflicts) for conflicts in measured.run.judged]
        self.code = {
            line: code for (file, line), code in machine_code(measured.run).items() if Path(file).name == self.name
        }
        self.worst = [
            max((ends(one.excess or 0).high for one in conflicts.sites), default=0)
            for conflicts in advice.before.run.judged
        ]

    def of_file(self, conflicts: Conflicts) -> dict[int, list[SiteConflicts]]:
        """The sites of each line of the file; a copy with changes has the same name."""
        found: dict[int, list[SiteConflicts]] = {}
        for site in by_line(conflicts).sites:
            if site.file and site.line and Path(site.file).name == self.name:
                found.setdefault(site.line, []).append(site)
        return found

    def line(self, place: int | None) -> Side | None:
        """Line number `place` + 1."""
        if place is None:
            return None
        figures = [
            summed(arch.name, sites[place + 1], worst)
            for arch, sites, worst in zip(self.archs, self.sites, self.worst, strict=True)
            if place + 1 in sites
        ]
        code = "\n".join(f"{warps:>12}  {text}" for text, warps in self.code.get(place + 1, ()))
        return Side(place + 1, self.texts[place], tuple(figures), code if figures else "")

    def picture(self, at: int, place: int | None) -> Picture | None:
        """The worst request of a line."""
        sites = self.sites[at].get(place + 1, ()) if place is not None else ()
        arch = self.archs[at]
        worst = max(sites, key=worst_excess, default=None)
        if worst is None or worst.worst is None:
            return None
        one = worst.worst
        found = explain(one.address, one.op, one.width, one.mask, arch)
        return picture(found, f"{access(one.op, one.width)}, warp {one.warp} of block {one.block}")


def summed(arch: str, sites: Sequence[SiteConflicts], worst: int) -> LineFigures:
    """The figures of a line: all its accesses together; of a range the most."""
    requests = sum(one.requests for one in sites)
    counts = [ends(one.transactions).high for one in sites if one.transactions is not None]
    degrees = [ends(one.degree).high for one in sites if one.degree is not None]
    if len(counts) < len(sites):
        return LineFigures(arch, number(requests), "unknown", "unknown", "unknown", 0)
    excess = sum(ends(one.excess or 0).high for one in sites)
    heat = min(1, excess / worst) if worst else 0
    return LineFigures(
        arch, number(requests), number(sum(counts)), mean(sum(counts) / requests), ways(max(degrees)), heat
    )
