"""The report on cures of a kernel: what the compiled code costs with each, why it was refused, and the change."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from banksim.advise.kernels import KernelAdvice, Tried
from banksim.advise.limits import blocks_per_sm
from banksim.report.style import CALM, HOT, QUIET, STRONG
from banksim.report.table import Column, above, beside, fold, prose
from banksim.report.words import listed, number


def report(advice: KernelAdvice, width: int) -> Text:
    """The figures of every cure that was tried, the verdict, and the change as a diff."""
    names = listed([arch.name for arch in advice.archs])
    title = fold(Text(f"{advice.source.name}: longer rows in shared memory, on {names}", STRONG), width)
    verdict = fold(Text(advice.verdict, CALM if advice.best or advice.is_proven else STRONG), width)
    paragraphs = [Text("\n").join(title), Text("\n").join(table(advice, width)), Text("\n").join(verdict)]
    if refused := [line for one in advice.tried if one.refused for line in reasons(one, width)]:
        paragraphs.append(Text("\n").join(refused))
    if diff := advice.diff():
        paragraphs.append(Text(diff.rstrip("\n")))
    return Text("\n\n").join(paragraphs)


def table(advice: KernelAdvice, width: int) -> list[Text]:
    """A row for the program as it is, and for each cure that ran; the best is marked by its place in the verdict."""
    ran = [("as written", advice.before)]
    ran += [(one.name, one.measured) for one in advice.tried if one.measured]
    columns = [Column(("", "requests"), [Text(number(one.requests)) for _, one in ran])]
    for place, arch in enumerate(advice.archs):
        group = arch.name if len(advice.archs) > 1 else ""
        cells = [
            Text(number(one.transactions[place]), CALM if one.transactions[place] == one.ideal[place] else HOT)
            for _, one in ran
        ]
        columns.append(Column(("trans-", "actions"), cells, group))
        blocks = [blocks_per_sm(one.size, arch) for _, one in ran]
        columns.append(
            Column(("blocks", "per SM"), [Text("any" if count is None else number(count)) for count in blocks], group)
        )
    columns.append(Column(("warp in-", "structions"), [Text(number(one.instructions)) for _, one in ran]))
    columns.append(Column(("bytes", "per block"), [Text(number(one.size)) for _, one in ran]))
    labels = [Text(name) for name, _ in ran]
    return beside(labels, columns, width) or above(labels, columns, width) or prose(labels, columns, width)


def reasons(one: Tried, width: int) -> Iterator[Text]:
    yield from fold(Text.assemble((f"refused, {one.name}: ", QUIET), one.refused), width)
