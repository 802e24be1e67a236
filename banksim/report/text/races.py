"""The report on races and uninitialized reads: where a barrier is missing, and which accesses it would order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from banksim.banks.source_lines import label
from banksim.machine.races.findings import Access, Finding, Hint, Race, UninitializedRead, hinted, missing
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import fold
from banksim.wording import number, place, plural

if TYPE_CHECKING:
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches

NONE = {
    "races": "No races: barriers order all accesses to shared memory that need it.",
    "uninitialized": "No read of uninitialized shared memory.",
}
HEADS = {"races": "race", "uninitialized": "uninitialized read"}


def told(of: Run | Launches, lost: int, width: int) -> Iterator[Text]:
    """Paragraphs: what checks found or, where none were asked for, hints; how many findings were `lost`."""
    if of.checks:
        yield from report(of.findings, of.checks, width, lost)
    yield from hints(of.hints, width)


def report(found: Sequence[Finding], checks: Sequence[str], width: int, lost: int = 0) -> Iterator[Text]:
    """Paragraphs: for each check its findings, or that there are none; how many were `lost`."""
    for check in checks:
        of_check = [one for one in found if one.check == check]
        if not of_check:
            yield joined([("", Text(NONE[check], CALM))], width)
            continue
        yield joined([("", Text(f"{plural(len(of_check), HEADS[check])} in shared memory", HOT))], width)
        for one in of_check:
            yield joined(race(one) if isinstance(one, Race) else uninitialized(one), width)
    if lost:
        yield joined([("", Text(f"{plural(lost, 'more finding')} found no room in this report.", HOT))], width)


def hints(found: Sequence[Hint], width: int) -> Iterator[Text]:
    """Paragraphs: what a run without checks saw that one should check."""
    for one in found:
        said = hinted(one, place)
        yield joined([("", Text(f"{said[0].upper()}{said[1:]}.", HOT))], width)


def joined(lines: Sequence[tuple[str, Text]], width: int) -> Text:
    """Lines behind a prefix, folded to a width; what goes on does so below where its text began."""
    out: list[Text] = []
    for prefix, text in lines:
        first, *rest = fold(text, max(width - len(prefix), 20))
        out += [Text.assemble(prefix, first), *(Text.assemble(" " * len(prefix), part) for part in rest)]
    return Text("\n").join(out)


def race(one: Race) -> list[tuple[str, Text]]:
    sides = (one.first, one.second)
    wide = max(len(side.kind) for side in sides)
    lines = [("", Text(missing(one, place), STRONG))]
    for side in sides:
        lines += accessed(side, wide)
    return [*lines, ("  ", Text(f"{example(one)}{', both the same value' if one.same_value else ''}", QUIET))]


def uninitialized(one: UninitializedRead) -> list[tuple[str, Text]]:
    said = Text("Nothing has written what is read here:", STRONG)
    return [("", said), *accessed(one.access, len(one.access.kind)), ("  ", Text(example(one), QUIET))]


def accessed(access: Access, wide: int) -> list[tuple[str, Text]]:
    """What was done at which line, and by which thread."""
    thread = Text(access.thread, QUIET)
    return [(f"  {access.kind:<{wide}}  ", Text(label(access.site), STRONG)), (" " * (wide + 4), thread)]


def example(one: Finding) -> str:
    times = "seen once" if one.count == 1 else f"seen {number(one.count)} times"
    x, y, z = one.block
    return f"at byte {number(one.address)} of shared memory in block ({x}, {y}, {z}); {times}"
