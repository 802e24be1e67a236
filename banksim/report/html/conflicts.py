"""The report as one HTML file that needs nothing else: heat by source line, SASS on demand, passes to step through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import excused
from banksim.banks.rule import explain
from banksim.banks.source_lines import by_line, within, worst_excess
from banksim.machine.races.findings import hinted
from banksim.report.html.picture import Picture, picture
from banksim.report.text import cycles, kernel, races
from banksim.report.text import program as of_launches
from banksim.report.text.conflict_table import access, notes
from banksim.requests.counts import ends
from banksim.system.source_files import source_lines
from banksim.wording import mean, number, place, shown, ways

if TYPE_CHECKING:
    from rich.text import Text

    from banksim.report.text.table import Column
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches

NOTHING: Mapping[str, Any] = {}
WIDE = 1 << 20
"""The width at which texts are laid out: so wide that only the page folds their lines."""
MOST_PICTURES = 40
"""The most pictures of a report; each takes up to 80 kB."""
AROUND = 4
"""Lines shown before and behind those of the kernel."""


@dataclass(frozen=True)
class SiteFigures:
    """The figures of a site as they are shown; `heat` from 0 to 1 is its share of the worst excess."""

    arch: str
    op: str
    requests: str
    transactions: str
    per_request: str
    ideal: str
    excess: str
    worst: str
    status: str
    heat: float
    picture: Picture | None


@dataclass(frozen=True)
class SourceRow:
    """A line of source, or an access of a pattern; `sass`: its instructions, each with how often warps executed it."""

    line: int | None
    text: str
    sites: tuple[SiteFigures, ...] = ()
    sass: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """A source file with its lines, or all that belongs to no file."""

    name: str
    rows: tuple[SourceRow, ...]


def html(
    judged: Sequence[Conflicts],
    title: str,
    run: Run | None = None,
    launches: Launches | None = None,
    plain: Mapping[str, Any] = NOTHING,
) -> str:
    """The whole report; with the `run` that made the requests also the launch, the machine code, the time and what
    checks found, with all `launches` of a program each kernel. `plain`: all of it as plain data, shown at the end."""
    lines = [by_line(conflicts) for conflicts in judged]
    drawer = Drawer(lines)
    sources = list(files(lines, run, drawer)) + list(loose(lines, drawer))
    told = run or launches
    return page(
        "report.html.j2",
        title=title,
        launch=extent(run, launches),
        checked=checked(run, launches),
        hints=[
            *(kernel.unfilled(one) for one in (run.unfilled if run else ())),
            *(hinted(one, place) for one in (told.hints if told else ())),
        ],
        tables=[grid(*table) for table in launches_tables(launches)] if launches and launches.kernels else [],
        totals=[total(conflicts) for conflicts in judged],
        sources=sources,
        notes=[*plain.get("notes", ()), *(notes(lines) if sources else ())],
        left_out=drawer.left_out,
        times=[cycles.page(one) for one in (run.executions or (run,)) if one.cycles] if run else [],
        output=run.output if run else "",
        plain=plain,
    )


def page(template: str, **values: object) -> str:
    """A template of this folder with these values, all text in them escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["table"] = is_table
    return environment.get_template(template).render(values)


def is_table(rows: object) -> bool:
    """Whether plain data is a table: rows of the same names, with nothing in their cells that has parts."""
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        return False
    cells = [cell for row in rows for cell in row.values()]
    return all(list(row) == list(rows[0]) for row in rows) and not any(
        isinstance(cell, Mapping | list | tuple) for cell in cells
    )


def extent(run: Run | None, launches: Launches | None) -> list[str]:
    """What was executed, of what code, and whether that is all of it."""
    if run is not None:
        return [line.plain for line in kernel.extent(run, WIDE)]
    return [line.plain for line in of_launches.extent(launches, WIDE)] if launches else []


def checked(run: Run | None, launches: Launches | None) -> list[str]:
    """What checks found, or that they found nothing: paragraphs of lines."""
    if run is not None and run.checks:
        found = races.report(run.findings, run.checks, WIDE, run.findings_lost)
    elif launches is not None and launches.checks:
        lost = sum(one.findings_lost for one in launches.kernels)
        found = races.report(launches.findings, launches.checks, WIDE, lost)
    else:
        return []
    return [paragraph.plain for paragraph in found]


def launches_tables(launches: Launches) -> Iterator[tuple[str, Sequence[Text], Sequence[Column]]]:
    """The kernels of a program, and their times if these were asked for."""
    yield ("Kernels", *of_launches.kernel_columns(launches))
    if any(one.times for one in launches.kernels):
        yield ("Time", *of_launches.time_columns(launches))


def grid(name: str, labels: Sequence[Text], columns: Sequence[Column]) -> dict[str, Any]:
    """A table of a terminal's report for the page."""
    heads = [f"{column.name}, {column.group}" if column.group else column.name for column in columns]
    cells = [[column.cells[row].plain for column in columns] for row in range(len(labels))]
    return {"name": name, "heads": heads, "rows": list(zip([one.plain for one in labels], cells, strict=True))}


def total(conflicts: Conflicts) -> dict[str, Any]:
    """The figures of all sites together."""
    withheld = "withheld"
    known = conflicts.transactions is not None
    return {
        "arch": conflicts.arch.name,
        "requests": number(conflicts.requests),
        "transactions": number(conflicts.transactions) if known else withheld,
        "per_request": mean(conflicts.transactions_per_request) if known and conflicts.requests else withheld,
        "ideal": number(conflicts.ideal) if known else withheld,
        "excess": number(conflicts.excess) if known else withheld,
        "hot": conflicts.excess is None or ends(conflicts.excess).high > 0,
    }


def files(lines: Sequence[Conflicts], run: Run | None, drawer: Drawer) -> Iterator[SourceFile]:
    """Every file with the lines around the kernel's."""
    by_place: dict[tuple[str, int], list[SiteFigures]] = {}
    for conflicts in lines:
        for site in conflicts.sites:
            if site.file and site.line:
                by_place.setdefault((site.file, site.line), []).append(drawer.figures(conflicts, site))
    code = machine_code(run)
    for file in dict.fromkeys(file for file, _ in [*by_place, *code]):
        used = [line for name, line in [*by_place, *code] if name == file]
        texts = {site.line: site.text for one in lines for site in one.sites if site.file == file and site.line}
        texts |= dict(enumerate(source_lines(file), 1))
        first, last = max(1, min(used) - AROUND), max(used) + AROUND
        rows = tuple(
            SourceRow(
                line, texts.get(line, ""), tuple(by_place.get((file, line), ())), tuple(code.get((file, line), ()))
            )
            for line in range(first, last + 1)
            if line in texts or line in used
        )
        if any(row.sites for row in rows):
            yield SourceFile(shown(file), rows)


def machine_code(run: Run | None) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """The executed instructions of each line."""
    found: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for executed in run.profile if run else ():
        site = executed.instruction.site
        if executed.warps and site.file and site.line:
            text = f"{executed.instruction.pc:#06x} {executed.instruction.text}"
            found.setdefault((site.file, site.line), []).append((text, number(executed.warps)))
    return found


def loose(lines: Sequence[Conflicts], drawer: Drawer) -> Iterator[SourceFile]:
    """What has no line: the accesses of a pattern, instructions without line information."""
    rows: dict[str, list[SiteFigures]] = {}
    for conflicts in lines:
        for site in conflicts.sites:
            if not (site.file and site.line):
                text = site.text or site.opcode or access(site.op, site.width)
                rows.setdefault(text, []).append(drawer.figures(conflicts, site))
    if rows:
        yield SourceFile("accesses", tuple(SourceRow(None, text, tuple(sites)) for text, sites in rows.items()))


class Drawer:
    """Makes figures and pictures; knows the worst excess of each architecture, and counts the pictures."""

    def __init__(self, lines: Sequence[Conflicts]) -> None:
        self.worst = {
            one.arch.name: max((ends(site.excess).high for site in one.sites if site.excess is not None), default=0)
            for one in lines
        }
        self.excused = [(arch, site) for arch, site, _ in excused(lines)]
        self.drawn = self.left_out = 0

    def figures(self, conflicts: Conflicts, site: SiteConflicts) -> SiteFigures:
        excess = ends(site.excess).high if site.excess is not None else 0
        return SiteFigures(
            arch=conflicts.arch.name,
            op=access(site.op, site.width) + within(site.site),
            requests=number(site.requests),
            transactions=number(site.transactions),
            per_request=mean(site.transactions_per_request),
            ideal=number(site.ideal),
            excess=number(site.excess),
            worst=ways(site.degree),
            status=f"{site.status}, excused" if (conflicts.arch, site) in self.excused else site.status,
            heat=excess / self.worst[conflicts.arch.name] if excess else 0,
            picture=self.picture(conflicts, site),
        )

    def picture(self, conflicts: Conflicts, site: SiteConflicts) -> Picture | None:
        """Of the worst request, if it has a conflict."""
        if site.worst is None or not worst_excess(site):
            return None
        if self.drawn == MOST_PICTURES:
            self.left_out += 1
            return None
        self.drawn += 1
        worst = site.worst
        found = explain(worst.address, worst.op, worst.width, worst.mask, conflicts.arch)
        return picture(found, f"warp {worst.warp} of block {worst.block}")
