"""The report on cures of a kernel: what the compiled code costs with each, why it was refused, and the change."""

from collections.abc import Iterator

from rich.text import Text

from banksim.advise.kernels.advice import KernelAdvice
from banksim.advise.kernels.measure import Measured
from banksim.advise.kernels.search import Tried
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import listed, number

SHOWN = 4
"""Cures that were refused, with their reasons, if not all are asked for."""


def report(advice: KernelAdvice, width: int, everything: bool = False) -> Text:
    """The figures of the cures that pay, the verdict, what was refused and why, and the change as a diff."""
    names = listed([arch.name for arch in advice.archs])
    title = fold(Text(f"{advice.source.name}: layouts of shared memory, on {names}", STRONG), width)
    verdict = fold(Text(advice.verdict, CALM if advice.best or advice.is_proven else STRONG), width)
    paragraphs = [Text("\n").join(title), Text("\n").join(table(advice, width, everything)), Text("\n").join(verdict)]
    losers = [one for one in advice.tried if one.refused]
    shown = losers if everything else losers[:SHOWN]
    refused = [line for one in shown for line in reasons(one, width)]
    if len(shown) < len(losers):
        refused += fold(Text(f"{len(losers) - len(shown)} more were refused: --all shows them", QUIET), width)
    refused += [line for note in advice.notes for line in fold(Text(note, QUIET), width)]
    if refused:
        paragraphs.append(Text("\n").join(refused))
    if diff := advice.diff():
        paragraphs.append(Text(diff.rstrip("\n")))
    return Text("\n\n").join(paragraphs)


def table(advice: KernelAdvice, width: int, everything: bool) -> list[Text]:
    """A row for the program as it is, and for each cure that pays, the best first; if none pays, for all that ran."""
    shown = [one for one in advice.ranked if everything or not advice.best or not one.refused]
    ran = [("as written", advice.before), *((one.name, one.measured) for one in shown if one.measured and one.is_same)]
    columns = [Column(("", "requests"), [Text(number(one.requests)) for _, one in ran])]
    for place, arch in enumerate(advice.archs):
        group = arch.name if len(advice.archs) > 1 else ""
        paid = [one.costs[place] for _, one in ran]
        cells = [Text(number(one.transactions), CALM if one.transactions == one.ideal else HOT) for one in paid]
        columns.append(Column(("trans-", "actions"), cells, group))
        columns.append(Column(("blocks", "per SM"), [Text(number(one.blocks(arch))) for _, one in ran], group))
    columns.append(Column(("warp in-", "structions"), [Text(number(one.instructions)) for _, one in ran]))
    if advice.before.cycles is not None:
        columns.append(Column(("", "launch"), [Text(duration(one)) for _, one in ran]))
    columns.append(Column(("bytes", "per block"), [Text(number(one.size)) for _, one in ran]))
    labels = [Text(name) for name, _ in ran]
    return fitted(labels, columns, width) + (fold(Text(advice.rests, QUIET), width) if advice.rests else [])


def duration(one: Measured) -> str:
    return "–" if one.microseconds is None else f"{one.microseconds:,.2f} µs"


def reasons(one: Tried, width: int) -> Iterator[Text]:
    yield from fold(Text.assemble((f"refused, {one.name}: ", QUIET), one.refused), width)
