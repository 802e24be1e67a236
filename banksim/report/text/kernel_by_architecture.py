"""The report on a launch that was executed for several architectures: what each line costs with the code of each.

Compilers choose other instructions for other architectures, so lines are compared, and what they do: of a line all
loads together, whatever their widths, all stores, all atomics of one kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.source_lines import Line, by_line, heat, label, line_of
from banksim.report.text.conflict_table import EXCESS, PER_REQUEST, STATUS, TRANSACTIONS, WORST, SiteRow, notes, verdict
from banksim.report.text.style import CALM, QUIET, STRONG
from banksim.report.text.table import Column, above, fold, prose
from banksim.requests.trace import Site
from banksim.runs.outcome import Run
from banksim.wording import number, place, plural


@dataclass(frozen=True)
class Code:
    """One architecture: its accesses by line and kind, the warp instructions of each line."""

    conflicts: Conflicts
    accesses: dict[tuple[Line, str], list[SiteConflicts]]
    instructions: dict[Line, int]

    @classmethod
    def of(cls, run: Run, conflicts: Conflicts) -> Code:
        accesses: dict[tuple[Line, str], list[SiteConflicts]] = {}
        for site in by_line(conflicts).sites:
            accesses.setdefault((line_of(site.site), site.op), []).append(site)
        instructions: dict[Line, int] = {}
        for executed in run.profile:
            line = line_of(executed.instruction.site)
            instructions[line] = instructions.get(line, 0) + executed.warps
        return cls(conflicts, accesses, instructions)

    def together(self, sites: Sequence[SiteConflicts], whole: bool = False) -> SiteRow:
        """The figures of several accesses as one row; of the `whole` kernel without a status."""
        status = "" if whole else ", ".join(dict.fromkeys(site.status for site in sites))
        found = Conflicts(self.conflicts.arch, tuple(sites))
        return SiteRow("", found, found.degree, status)


def codes(run: Run) -> list[Code]:
    """Of every architecture that was asked for, in that order."""
    return [Code.of(run.execution(conflicts), conflicts) for conflicts in run.judged]


def comparison(run: Run, width: int, all_lines: bool) -> Text:
    """The table of all lines with a conflict by any architecture, or of all."""
    compared = codes(run)
    keys = dict.fromkeys(key for code in compared for key in code.accesses)
    hot = sorted((key for key in keys if all_lines or hottest(compared, key)), key=lambda key: -hottest(compared, key))
    labels: list[Text] = []
    rows: list[tuple[str, str, str, SiteRow]] = []
    for line in dict.fromkeys(line for line, _ in hot):
        name = label(site_at(compared, line))
        ops = [op for at, op in hot if at == line]
        for code in compared:
            for op in ops:
                labels.append(Text(name, STRONG))
                name = ""
                sites = code.accesses.get((line, op), [])
                instructions = number(code.instructions.get(line, 0)) if op == ops[0] else ""
                rows.append((code.conflicts.arch.name, widths(op, sites), instructions, code.together(sites)))
    name = "all lines"
    for code in compared:
        labels.append(Text(name, STRONG))
        name = ""
        instructions = number(sum(code.instructions.values()))
        rows.append((code.conflicts.arch.name, "", instructions, code.together(code.conflicts.sites, whole=True)))
    columns = list(columns_of(rows))
    lines = above(labels, columns, width) or prose(labels, columns, width)
    lines.append(Text())
    quiet = dict.fromkeys(line for line, _ in keys if line not in {at for at, _ in hot})
    if quiet:
        places = ", ".join(place(site_at(compared, line)) for line in quiet)
        lines += fold(Text(f"No conflict on {plural(len(quiet), 'other line')}: {places}", CALM), width)
    statuses = [row.status for *_, row in rows]
    for note in dict.fromkeys(note for one in run.executions for note in notes(one.judged, statuses)):
        lines += fold(Text(note, QUIET), width)
    return Text("\n").join(lines)


def hottest(compared: Iterable[Code], key: tuple[Line, str]) -> float:
    """Transactions beyond the ideal where there are most of them."""
    return max(heat(code.accesses[key]) for code in compared if key in code.accesses)


def site_at(compared: Iterable[Code], line: Line) -> Site:
    return next(sites[0].site for code in compared for (at, _), sites in code.accesses.items() if at == line)


def widths(op: str, sites: Sequence[SiteConflicts]) -> str:
    """`ld 4 and 16 B`"""
    if not sites:
        return f"no {op}"
    if "matrix" in op:
        return op
    return f"{op} {', '.join(str(width) for width in sorted({site.width for site in sites}))} B"


def columns_of(rows: Sequence[tuple[str, str, str, SiteRow]]) -> Iterator[Column]:
    table = [row for *_, row in rows]
    yield Column(("", "arch"), [Text(arch) for arch, *_ in rows], left=True)
    yield Column(("instruc-", "tions"), [Text(instructions) for _, _, instructions, _ in rows])
    yield Column(("", "op"), [Text(op) for _, op, _, _ in rows], left=True)
    yield Column(("", "requests"), [Text(number(row.figures.requests)) for row in table])
    for column in verdict(table, TRANSACTIONS, PER_REQUEST, EXCESS, WORST, STATUS):
        cells = [cell if row.figures.requests else Text() for cell, row in zip(column.cells, table, strict=True)]
        yield Column(column.head, cells, column.group, column.left)
