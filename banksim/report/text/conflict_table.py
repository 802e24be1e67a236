"""The table of figures: a row for each site and the totals, by one architecture or several."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rich.text import Text

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import excused
from banksim.kernels.fat_binary import PTX_OF
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, above, beside, fold, prose
from banksim.requests.counts import Count, Status, ends
from banksim.requests.trace import Site
from banksim.wording import mean, number, plural, ways

MEANINGS: dict[Status, str] = {
    "measured": "equal to the counters of one H200, request by request",
    "Nsight's": "as Nsight Compute's source page counts; what the banks do varies from run to run",
    "documented": "as NVIDIA's guides describe it",
    "assumed": "nobody has shown it on this architecture",
}


@dataclass(frozen=True)
class SiteRow:
    """A row with the figures of one site, or of several together: without a `status` these are the totals."""

    op: str
    figures: SiteConflicts | Conflicts
    degree: Count | None
    status: str


def figures(
    judged: Sequence[Conflicts], labels: Sequence[Text], width: int, whole: Sequence[Conflicts] | None = None
) -> Text:
    """The table of all sites, judged by one architecture, or by several side by side if there is room.

    `labels`: what to call each site, in the order of `Conflicts.sites`. Totals follow, those of `whole` if
    that is more than is shown, and a line for each kind of status that occurs.
    """
    whole = whole or judged
    tables = [rows(conflicts, all_sites) for conflicts, all_sites in zip(judged, whole, strict=True)]
    names = [*once(labels), *[Text()] * (len(tables[0]) - len(labels))]
    shared = [*common(tables[0])]
    if len(judged) == 1:
        columns = [*shared, *verdict(tables[0], *FIGURES, STATUS)]
        lines = beside(names, columns, width) or above(names, columns, width)
        if lines is None:
            columns = [*shared, *under_one_head(judged[0].arch.name, tables[0], *FIGURES)]
    else:
        columns = [*shared]
        for conflicts, table in zip(judged, tables, strict=True):
            columns += under_one_head(conflicts.arch.name, table, TRANSACTIONS, PER_REQUEST, WORST)
        lines = beside(names, columns, width) or above(names, columns, width)
        if lines is None:
            names, columns = one_below_the_other(judged, tables, names)
    lines = lines or above(names, columns, width) or prose(names, columns, width)
    lines.append(Text())
    for note in notes(whole, (row.status for table in tables for row in table)):
        lines += fold(Text(note, QUIET), width)
    return Text("\n").join(lines)


def once(labels: Sequence[Text]) -> Iterator[Text]:
    """The labels, without those that repeat the one before: the ops of a line stand together."""
    for before, label in pairwise([Text(), *labels]):
        yield Text() if label.plain == before.plain else label


def rows(shown: Conflicts, whole: Conflicts) -> list[SiteRow]:
    """A row for each site that is shown, then the totals if there is more than one site in all."""
    found = [SiteRow(access(site.op, site.width), site, site.degree, site.status) for site in shown.sites]
    return [*found, SiteRow("total", whole, None, "")] if len(whole.sites) > 1 else found


def access(op: str, width: int) -> str:
    """`ld 4 B`; the rows of ldmatrix and stmatrix have one width only."""
    return op if "matrix" in op else f"{op} {width} B"


@dataclass(frozen=True)
class FigureColumn:
    """A column of verdicts: its head, its cell for a row, and whether it takes the colour of the verdict."""

    head: tuple[str, str]
    cell: Callable[[SiteRow], str]
    coloured: bool = True
    left: bool = False


def count(row: SiteRow, value: object, written: Callable[[Any], str] = number) -> str:
    """A count as it is written; a total with an unknown part is withheld."""
    return written(value) if row.status else withheld(value, written)


def withheld(total: Any, written: Callable[[Any], str] = number) -> str:
    return "withheld" if total is None else written(total)


TRANSACTIONS = FigureColumn(("trans-", "actions"), lambda row: count(row, row.figures.transactions))
PER_REQUEST = FigureColumn(("per", "request"), lambda row: count(row, row.figures.transactions_per_request, mean))
IDEAL = FigureColumn(("", "ideal"), lambda row: count(row, row.figures.ideal), coloured=False)
EXCESS = FigureColumn(("", "excess"), lambda row: count(row, row.figures.excess))
WORST = FigureColumn(("worst", "conflict"), lambda row: ways(row.degree) if row.status else "")
STATUS = FigureColumn(("", "status"), lambda row: row.status, coloured=False, left=True)
FIGURES = (TRANSACTIONS, PER_REQUEST, IDEAL, EXCESS, WORST)


def verdict(table: Sequence[SiteRow], *figures: FigureColumn, group: str = "") -> Iterator[Column]:
    """The columns of some figures."""
    for figure in figures:
        cells = [Text(figure.cell(row), colour(row.figures) if figure.coloured else "") for row in table]
        yield Column(figure.head, cells, group, figure.left)


def common(table: Sequence[SiteRow]) -> Iterator[Column]:
    """What no architecture changes."""
    yield Column(("", "op"), [Text(row.op) for row in table], left=True)
    yield Column(("", "requests"), [Text(number(row.figures.requests)) for row in table])


def under_one_head(arch: str, table: Sequence[SiteRow], *figures: FigureColumn) -> Iterator[Column]:
    """Figures under the architecture's name, with the status in the head too if it is the same everywhere."""
    statuses = {row.status for row in table if row.status}
    if len(statuses) == 1:
        yield from verdict(table, *figures, group=f"{arch}, {statuses.pop()}")
    else:
        yield from verdict(table, *figures, STATUS, group=arch)


def one_below_the_other(
    judged: Sequence[Conflicts], tables: Sequence[Sequence[SiteRow]], labels: Sequence[Text]
) -> tuple[list[Text], list[Column]]:
    """Labels and columns with a row for each site and architecture."""
    names: list[Text] = []
    for label, first in zip(labels, tables[0], strict=True):
        what = f"{first.op}, {plural(first.figures.requests, 'request')}"
        names += [Text("  ").join([*([label] if label else []), Text(what, QUIET)]), *[Text()] * (len(judged) - 1)]
    table = [row for same in zip(*tables, strict=True) for row in same]
    archs = [Text(conflicts.arch.name) for conflicts in judged] * len(labels)
    figures = (TRANSACTIONS, PER_REQUEST, IDEAL, EXCESS, WORST, STATUS)
    return names, [Column(("", "arch"), archs, left=True), *verdict(table, *figures)]


def colour(found: SiteConflicts | Conflicts) -> str:
    """The colour of figures."""
    if found.excess is None:
        return STRONG
    return HOT if ends(found.excess).high else CALM


def notes(judged: Sequence[Conflicts], statuses: Iterable[str]) -> Iterator[str]:
    """What the statuses that are shown mean, why totals are missing, and which lines a comment excuses."""
    sites = [(conflicts.arch, site) for conflicts in judged for site in conflicts.sites]
    found = {one for status in statuses for one in status.split(", ")}
    yield from (f"{status}: {meaning}" for status, meaning in MEANINGS.items() if status in found)
    reasons = [
        arch.missing(site.op, site.width) or arch.why_unknown(site.op, site.width)
        for arch, site in sites
        if site.status == "unknown"
    ]
    for reason in dict.fromkeys(reasons):
        yield f"unknown: {reason}"
    unknown = max(sum(site.transactions is None for site in conflicts.sites) for conflicts in judged)
    if unknown and len(judged[0].sites) > 1:
        yield f"Totals are withheld: the count of {plural(unknown, 'access')} is unknown."
    for text in dict.fromkeys(str(excuse) for _, _, excuse in excused(judged)):
        yield f"Excused: {text}"
    if sites and all(without_line(site.site) for _, site in sites):
        yield "The code has no lines of its source: nvcc puts them there with -lineinfo."


def without_line(site: Site) -> bool:
    """Whether an instruction's place is told, but none in its source."""
    return site.file.startswith(PTX_OF) if site.file else site.offset is not None
