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
from banksim.report.html import array_places
from banksim.report.html.elements import NONE, Coordinates, MovedElements, Placed
from banksim.report.html.figures import HEADS, MOST_PICTURES, beyond, summed
from banksim.report.html.highlight import highlighted
from banksim.report.html.page import first_shown, page
from banksim.report.html.picture import Picture, picture
from banksim.report.html.provenance import provenance
from banksim.report.html.sources import Code, SourceLine, digits, machine_code
from banksim.report.text.conflict_table import access
from banksim.requests.kinds import OPS
from banksim.wording import listed, number, plural

if TYPE_CHECKING:
    from banksim.advise.kernels.advice import KernelAdvice
    from banksim.advise.kernels.measure import Measured
    from banksim.advise.layouts.advice import JudgedLayout, LayoutAdvice
    from banksim.advise.patterns.advice import ArrayAdvice
    from banksim.advise.patterns.judge import Judged
    from banksim.architectures.bank_rules import Architecture


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
def of_pattern(advice: Sequence[ArrayAdvice], words: Sequence[str] = ()) -> str:
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
    return advised(f"Layouts on {archs}", parts, advice[0].archs, words, launch=summary)


def advised(
    title: str, parts: Sequence[Advised], archs: Sequence[Architecture], words: Sequence[str], **more: object
) -> str:
    """The page; `more` than what is said of each array."""
    nothing = {"launch": "", "rows": (), "diff": (), "code": "", "most": None, "digits": 0}
    names = [arch.name for arch in archs]
    columns = {"archs": names, "heads": HEADS, "shown": first_shown(names), "widths": sorted({a.banks for a in archs})}
    made = [(name, text) for name, text in provenance(words) if text]
    return page("advice.html.j2", **{"title": title, "parts": parts, "made": made, **columns, **nothing, **more})


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

    given, array = advice.different, advice.array
    declared = Placed(array.name, 0, array.lengths, array.element.size)
    for arch in advice.archs:
        least = ideal(given.address, op=given.op, width=given.width, mask=given.mask, arch=arch)
        worst = int(np.argmax(cost(given, given.address + array.base, arch) - np.asarray(least)))
        one = DistinctRequests._make(column[worst : worst + 1] for column in given)
        drawn = []
        for layout in (advice.before.layout, advice.best.layout):
            moved = laid_out(layout, one)
            assert moved is not None
            base = base_of(layout, array)
            address = tuple(map(int, moved.address[0] + base))
            found = explain(address, OPS[moved.op[0]], int(moved.width[0]), int(moved.mask[0]), arch)
            places = layout.move(np.arange(array.size)) + base
            drawn.append(picture(found, layout.name, MovedElements((declared,), places=places)))
        label = f"The worst request on {arch.name}, {access(OPS[one.op[0]], int(one.width[0]))}"
        yield Sides(label, drawn[0], drawn[1] if advice.better else None)


# ---- copies between layouts
def of_layout(advice: LayoutAdvice, words: Sequence[str] = ()) -> str:
    """The page on the layouts of shared memory for copies."""
    from banksim.report.text.layout_advice import notes

    archs = listed([arch.name for arch in advice.archs])
    part = Advised(
        title=listed([copy.text for copy in advice.copies]),
        verdict=advice.verdict,
        is_calm=advice.best.is_free,
        notes=tuple(notes(advice, len(advice.better))),
        heads=(*(f"transactions, {arch.name}" for arch in advice.archs), "requests", "bytes"),
        layouts=tuple(map(layout_row, (advice.before, *advice.better))),
        sides=tuple(copies_compared(advice)),
    )
    return advised(f"Layouts for {plural(len(advice.copies), 'copy')} on {archs}", [part], advice.archs, words)


def layout_row(one: JudgedLayout) -> LayoutRow:
    counts = zip(one.transactions, one.ideal, strict=True)
    return LayoutRow(
        name=one.layout.name,
        cells=(
            *((number(count), "calm" if count == ideal else "hot") for count, ideal in counts),
            (number(one.requests), ""),
            (number(one.bytes), ""),
        ),
        spelling=tuple((name, text) for name, text in (("CuTe", one.layout.cute), ("Gluon", one.layout.gluon)) if text),
    )


def copies_compared(advice: LayoutAdvice) -> Iterator[Sides]:
    """Of each copy the dearest request on the first architecture, before and after."""
    for place, copy in enumerate(advice.copies):
        atom = advice.before.atoms[place]
        label = f"{copy.text}: the worst request on {advice.archs[0].name}, {access(atom.op, atom.width)}"
        yield Sides(
            label, drawn(advice, advice.before, place), drawn(advice, advice.best, place) if advice.better else None
        )


def drawn(advice: LayoutAdvice, one: JudgedLayout, place: int) -> Picture:
    """The dearest request of a copy in a layout. Its elements have their coordinates for names."""
    from banksim.layouts.build import GluonShared

    element, atom = advice.copies[place].element, one.atoms[place]
    is_gluon = isinstance(advice.shared, GluonShared)
    sizes = advice.shared.shape if isinstance(advice.shared, GluonShared) else advice.shared.sizes[::-1]
    declared = (Placed("", 0, sizes, element),)
    elements = Coordinates(declared, places=one.layout.places, unit=element, reverse=not is_gluon)
    found = explain(one.worst[place], atom.op, atom.width, one.masks[place], advice.archs[0])
    return picture(found, one.layout.name, elements)


# ---- kernels
@dataclass(frozen=True)
class DiffLine:
    """A line before and after; None where it is not there. `sides`: its worst requests by architecture numbers."""

    before: SourceLine | None
    after: SourceLine | None
    sides: tuple[tuple[int, Sides], ...]

    @property
    def place(self) -> int:
        side = self.before or self.after
        return (side.line or 0) if side else 0

    @property
    def marked(self) -> list[tuple[str, str, SourceLine]]:
        """What to show: both sides with their marks, or one if nothing differs."""
        both = [("−", "before", self.before), ("+", "after", self.after)]
        if self.before and self.after and shown(self.before) == shown(self.after):
            return [("", "", self.before)]
        return [(mark, name, side) for mark, name, side in both if side]


def shown(side: SourceLine | None) -> tuple[object, ...]:
    return (side.markup, side.figures) if side else ()


def of_kernel(advice: KernelAdvice, words: Sequence[str] = ()) -> str:
    """The page on the layouts of a kernel's arrays."""
    names = [arch.name for arch in advice.archs]
    layouts = [LayoutRow("as written", cells(advice.before, advice))]
    for one in advice.ranked:
        shown = cells(one.measured, advice) if one.measured and one.is_same else ()
        layouts.append(LayoutRow(one.name, shown, refused=one.refused))
    part = Advised(
        title="Layouts",
        verdict=advice.verdict,
        is_calm=advice.is_proven,
        notes=tuple(filter(None, (advice.rests, *advice.notes))),
        heads=(
            "requests", *(f"transactions, {name}" for name in names), *(f"blocks per SM, {name}" for name in names),
            "warp instructions", "launch", "bytes per block",
        ),
        layouts=tuple(layouts),
        sides=(),
    )  # fmt: skip
    found = tuple(lines(advice))
    return advised(
        f"{advice.source.name}: layouts of shared memory on {listed(names)}",
        [part],
        advice.archs,
        words,
        rows=found,
        digits=digits(side for line in found for _, _, side in line.marked),
        diff=tuple(advice.diff().splitlines()),
        code=advice.before.run.kernel.arch if any(side.sass for line in found for _, _, side in line.marked) else "",
        most=most_of(advice),
    )


def cells(one: Measured, advice: KernelAdvice) -> tuple[tuple[str, str], ...]:
    from banksim.report.text.kernel_advice import duration

    return (
        (number(one.requests), ""),
        *((number(paid.transactions), "calm" if paid.transactions == paid.ideal else "hot") for paid in one.costs),
        *((number(one.blocks(arch)), "") for arch in advice.archs),
        (number(one.instructions), ""),
        (duration(one), ""),
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
            pictures: list[tuple[int, Sides]] = []
            for at, arch in enumerate(advice.archs):
                pair = [side.picture(at, place) for side, place in zip(sides, places, strict=True)]
                if pair[0] and len(pair[0].steps) > 1 and drawn < MOST_PICTURES // 2 and advice.best:
                    drawn += 1
                    pictures.append((at, Sides(arch.name, *pair)))
            texts = {side.markup if side else None for side in (before, after)}
            if any(side and side.figures for side in (before, after)) or len(texts) > 1:
                yield DiffLine(before, after, tuple(pictures))


def sites_of(conflicts: Conflicts, advice: KernelAdvice) -> dict[int, list[SiteConflicts]]:
    """The sites of each line of the kernel's file; a copy with changes has the same name."""
    found: dict[int, list[SiteConflicts]] = {}
    for site in by_line(conflicts).sites:
        if site.file and site.line and Path(site.file).name == advice.source.file.name:
            found.setdefault(site.line, []).append(site)
    return found


def most_of(advice: KernelAdvice) -> list[int]:
    """The excess of the worst line as written, by each architecture."""
    lines = [sites_of(conflicts, advice).values() for conflicts in advice.before.run.judged]
    return [max(map(beyond, of_lines), default=0) for of_lines in lines]


class Program:
    """What the lines of the file cost with one layout."""

    def __init__(self, advice: KernelAdvice, measured: Measured, texts: Sequence[str]) -> None:
        name = advice.source.file.name
        self.texts, self.archs = highlighted(name, texts), advice.archs
        self.sites = [sites_of(conflicts, advice) for conflicts in measured.run.judged]
        self.code = {
            line: code
            for (file, line), code in machine_code([Code.of_run(measured.run)]).items()
            if Path(file).name == name
        }
        run = measured.run
        self.elements = array_places.of_source(name, texts, run.kernel, run.conflicts) or NONE
        self.most = most_of(advice)

    def line(self, place: int | None) -> SourceLine | None:
        """Line number `place` + 1."""
        if place is None:
            return None
        accessed = any(place + 1 in sites for sites in self.sites)
        figures = [
            summed(sites.get(place + 1, ()), most)
            for sites, most in zip(self.sites, self.most, strict=True)
            if accessed
        ]
        code = tuple(self.code.get(place + 1, ())) if accessed else ()
        return SourceLine("", place + 1, self.texts[place], tuple(figures), sass=code)

    def picture(self, at: int, place: int | None) -> Picture | None:
        """The worst request of a line."""
        sites = self.sites[at].get(place + 1, ()) if place is not None else ()
        worst = max(sites, key=worst_excess, default=None)
        if worst is None or worst.worst is None:
            return None
        one = worst.worst
        found = explain(one.address, one.op, one.width, one.mask, self.archs[at])
        return picture(found, f"{access(one.op, one.width)}, warp {one.warp} of block {one.block}", self.elements)
