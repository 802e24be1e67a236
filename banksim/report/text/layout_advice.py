"""The report on layouts behind copies: what each costs, how CuTe and Gluon write the best, and why it is."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from banksim.advise.layouts.advice import JudgedLayout, LayoutAdvice
from banksim.banks.replay import explain
from banksim.report.text.picture import diagnosis
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import listed, number, plural

SHOWN = 6
"""Layouts of the ranked table, if not all are asked for."""


def report(advice: LayoutAdvice, width: int, everything: bool = False) -> Text:
    """The ranked layouts, what to write for the best, and what each copy costs before and after."""
    names = listed([arch.name for arch in advice.archs])
    heading = f"Layouts for {plural(len(advice.copies), 'copy')} on {names}"
    parts = [Text("\n").join(fold(Text(heading, STRONG), width))]
    shown = advice.better if everything else advice.better[:SHOWN]
    if shown:
        parts.append(table([advice.before, *shown], advice, width))
        parts.append(Text("\n").join(spelled(advice.best, width)))
    parts.append(Text("\n").join(why(advice, width)))
    lines = fold(Text(advice.verdict, CALM if advice.best.is_free else STRONG), width)
    lines += [line for note in notes(advice, len(shown)) for line in fold(Text(note, QUIET), width)]
    parts.append(Text("\n").join(lines))
    return Text("\n\n").join(parts)


def table(rows: Sequence[JudgedLayout], advice: LayoutAdvice, width: int) -> Text:
    """A row for each layout, the first as it was given; a column for each architecture."""
    columns = []
    for place, arch in enumerate(advice.archs):
        group = arch.name if len(advice.archs) > 1 else ""
        cells = [
            Text(number(row.transactions[place]), CALM if row.transactions[place] == row.ideal[place] else HOT)
            for row in rows
        ]
        columns.append(Column(("trans-", "actions"), cells, group))
    columns.append(Column(("requests", ""), [Text(number(row.requests)) for row in rows]))
    columns.append(Column(("bytes", ""), [Text(number(row.bytes)) for row in rows]))
    labels = [Text(row.layout.name) for row in rows]
    lines = fitted(labels, columns, width)
    return Text("\n").join(lines)


def spelled(best: JudgedLayout, width: int) -> Iterator[Text]:
    """What to write in either language."""
    for language, text in (("CuTe", best.layout.cute), ("Gluon", best.layout.gluon)):
        if text:
            yield from fold(Text.assemble((f"{language:<6}", QUIET), text), width)


def why(advice: LayoutAdvice, width: int) -> Iterator[Text]:
    """The dearest request of each copy, before and after."""
    arch = advice.archs[0]
    for place, copy in enumerate(advice.copies):
        yield from fold(Text(copy.text, STRONG), width)
        for what, one in [("before", advice.before), ("after", advice.best)][: 2 if advice.better else 1]:
            atom = one.atoms[place]
            found = explain(one.worst[place], op=atom.op, width=atom.width, mask=one.masks[place], arch=arch)
            kind = atom.op if "matrix" in atom.op else f"{atom.op} {atom.width} B"
            yield from fold(Text.assemble((f"  {what:<7}", QUIET), f"{kind}: {diagnosis(found)}"), width)


def notes(advice: LayoutAdvice, shown: int) -> Iterator[str]:
    if len(advice.better) > shown:
        yield f"{plural(len(advice.better) - shown, 'more layout')} with fewer transactions: --all shows them"
    if advice.breaking:
        yield f"{plural(advice.breaking, 'layout')} left out in which an atom does not fit"
    if advice.better:
        yield "Judged: every copy given, all together; the threads keep their elements."
