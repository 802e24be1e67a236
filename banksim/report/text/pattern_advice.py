"""The report on layouts: what each costs before and after, what to write, and whether more is possible."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from banksim.advise.patterns.advice import ArrayAdvice, together
from banksim.advise.patterns.judge import Judged
from banksim.advise.patterns.layouts import SharedArray
from banksim.patterns.types import Record
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import listed, number, plural

SHOWN = 6
"""Layouts of the ranked table, if not all are asked for."""


def report(advice: Sequence[ArrayAdvice], width: int, everything: bool = False) -> Text:
    """For each array the ranked layouts, and what to write for the best of them."""
    parts = [part for one in advice for part in paragraphs(one, width, everything)]
    if len(advice) > 1:
        parts.append(Text("\n").join(fold(Text(all_together(advice), STRONG), width)))
    return Text("\n\n").join(parts)


def all_together(advice: Sequence[ArrayAdvice]) -> str:
    """What the best layouts of all arrays cost at once."""
    after, more = together(advice)
    before = [sum(counts) for counts in zip(*(one.before.transactions for one in advice), strict=True)]
    changes = [
        f"{number(old)} → {number(new)} transactions on {arch.name}"
        for old, new, arch in zip(before, after, advice[0].archs, strict=True)
    ]
    return f"The best of each at once: {listed(changes)}, {number(more)} bytes more."


def paragraphs(advice: ArrayAdvice, width: int, everything: bool) -> Iterator[Text]:
    names = listed([arch.name for arch in advice.archs])
    heading = f"Layouts of {written(advice.array)}, {plural(advice.requests, 'request')}, on {names}"
    yield Text("\n").join(fold(Text(heading, STRONG), width))
    shown = advice.better if everything else advice.better[:SHOWN]
    if shown or advice.threads:
        yield table([advice.before, *shown, *advice.threads], advice, width)
    for one in [*advice.better[:1], *advice.threads]:
        yield Text("\n").join(spelled(one, width))
    lines = fold(Text(advice.verdict, CALM if advice.is_proven else STRONG), width)
    lines += [line for note in notes(advice, len(shown)) for line in fold(Text(note, QUIET), width)]
    yield Text("\n").join(lines)


def written(array: SharedArray) -> str:
    """The array as C declares it."""
    kind = "struct" if isinstance(array.element, Record) and " " in array.element.name else array.element.name
    return f"{kind} {array.name}" + "".join(f"[{length}]" for length in array.lengths)


def table(rows: Sequence[Judged], advice: ArrayAdvice, width: int) -> Text:
    """A row for each layout, a group of columns for each architecture."""
    columns = []
    for place, (arch, bound) in enumerate(zip(advice.archs, advice.bound, strict=True)):
        group = arch.name if len(advice.archs) > 1 else ""
        counts = [row.transactions[place] for row in rows]
        cells = [Text(number(count), CALM if count == bound else HOT) for count in counts]
        columns.append(Column(("trans-", "actions"), cells, group))
        columns.append(Column(("blocks", "per SM"), [Text(number(row.blocks[place])) for row in rows], group))
    columns.append(Column(("bytes", "added"), [Text(number(row.bytes)) for row in rows]))
    columns.append(Column(("index", "operations"), [Text(operations(row)) for row in rows]))
    labels = [Text(row.names) for row in rows]
    lines = fitted(labels, columns, width)
    return Text("\n").join(lines)


def operations(row: Judged) -> str:
    return f"+{row.layout.operations}" if row.layout.operations else "none"


def spelled(best: Judged, width: int) -> Iterator[Text]:
    """What to write for a layout, in C and in Numba."""
    yield from fold(Text(f"{best.layout.name}:", STRONG), width)
    spelling = best.layout.spelling
    if spelling.c == spelling.numba:
        for line in spelling.c:
            yield from fold(Text(f"  {line}"), width)
        return
    for language, lines in (("C", spelling.c), ("Numba", spelling.numba)):
        for place, line in enumerate(lines):
            yield Text.assemble((f"  {'' if place else language:<7}", QUIET), line)


def notes(advice: ArrayAdvice, shown: int) -> Iterator[str]:
    if len(advice.better) > shown:
        yield f"{plural(len(advice.better) - shown, 'more layout')} with fewer transactions: --all shows them"
    if advice.threads:
        yield "Another order of the threads changes every array's accesses, and those to global memory"
    if advice.breaking:
        yield f"{plural(advice.breaking, 'layout')} left out that would split or misalign wide accesses"
    if advice.too_large:
        yield f"{plural(advice.too_large, 'layout')} left out for lack of shared memory"
    if advice.better:
        yield "Judged: every access given, all together. Blocks per SM: by their threads and shared memory."
