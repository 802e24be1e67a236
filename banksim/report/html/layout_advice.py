"""Advice on the layout of shared memory behind copies as one HTML file."""

from collections.abc import Iterator, Sequence

from banksim.advise.layouts.advice import JudgedLayout, LayoutAdvice
from banksim.banks.rule import explain
from banksim.layouts.build import GluonShared
from banksim.report.html.advice import Advised, LayoutRow, Sides, advised
from banksim.report.html.elements import Coordinates, Placed
from banksim.report.html.picture import Picture, picture
from banksim.report.text.conflict_table import access
from banksim.report.text.layout_advice import notes
from banksim.wording import listed, number, plural


def of_layouts(advice: LayoutAdvice, words: Sequence[str] = ()) -> str:
    """The page on the layouts of shared memory for copies."""
    archs = listed([arch.name for arch in advice.archs])
    part = Advised(
        title=listed([copy.text for copy in advice.copies]),
        verdict=advice.verdict,
        is_calm=advice.best.is_free,
        notes=tuple(notes(advice, len(advice.better))),
        heads=(*(f"transactions, {arch.name}" for arch in advice.archs), "requests", "bytes"),
        layouts=tuple(map(row, (advice.before, *advice.better))),
        sides=tuple(compared(advice)),
    )
    return advised(f"Layouts for {plural(len(advice.copies), 'copy')} on {archs}", [part], advice.archs, words)


def row(one: JudgedLayout) -> LayoutRow:
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


def compared(advice: LayoutAdvice) -> Iterator[Sides]:
    """Of each copy the dearest request on the first architecture, before and after."""
    for place, copy in enumerate(advice.copies):
        atom = advice.before.atoms[place]
        label = f"{copy.text}: the worst request on {advice.archs[0].name}, {access(atom.op, atom.width)}"
        yield Sides(
            label, drawn(advice, advice.before, place), drawn(advice, advice.best, place) if advice.better else None
        )


def drawn(advice: LayoutAdvice, one: JudgedLayout, place: int) -> Picture:
    """The dearest request of a copy in a layout. Its elements have their coordinates for names."""
    element, atom = advice.copies[place].element, one.atoms[place]
    is_gluon = isinstance(advice.shared, GluonShared)
    sizes = advice.shared.shape if isinstance(advice.shared, GluonShared) else advice.shared.sizes[::-1]
    declared = (Placed("", 0, sizes, element),)
    elements = Coordinates(declared, places=one.layout.places, unit=element, reverse=not is_gluon)
    found = explain(one.worst[place], atom.op, atom.width, one.masks[place], advice.archs[0])
    return picture(found, one.layout.name, elements)
