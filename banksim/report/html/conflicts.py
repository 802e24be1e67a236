"""The report as one HTML file that needs nothing else: verdict, lines coloured by cost, passes to step through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from banksim.banks.conflicts import Conflicts
from banksim.machine.races.findings import hinted
from banksim.report import plots
from banksim.report.html.elements import NONE, Elements, ElementsByLine
from banksim.report.html.figures import HEADS, Drawer, totals
from banksim.report.html.findings import all_checks
from banksim.report.html.page import MARK, first_shown, fragment, page
from banksim.report.html.provenance import provenance
from banksim.report.html.sources import Code, Sources, machine_code
from banksim.report.html.verdict import is_clean, sentences, time, worst_lines
from banksim.report.text import cycles, kernel
from banksim.report.text import program as of_launches
from banksim.report.text.conflict_table import notes
from banksim.wording import listed, place

if TYPE_CHECKING:
    from rich.text import Text

    from banksim.report.text.table import Column
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches

LARGEST = 2_000_000
"""Characters of a page from which on it goes without the plain data, which --json prints."""
WIDE = 1 << 20
"""The width at which texts are laid out: so wide that only the page folds their lines."""


@dataclass(frozen=True)
class Told:
    """What a page tells besides the conflicts: of the `run` that made the requests the launch, the machine code, the
    time and what checks found, of all `launches` of a program each kernel; where its arrays lie; `plain`: all of it as
    plain data, shown at the end; the `words` of the command, and `when` the page was made (None: now)."""

    run: Run | None = None
    launches: Launches | None = None
    plain: Mapping[str, Any] = field(default_factory=dict)
    elements: Elements | ElementsByLine = NONE
    words: Sequence[str] = ()
    when: datetime | None = None


def html(judged: Sequence[Conflicts], what: str, told: Told | None = None) -> str:
    """The whole report as a page; `what` it is about."""
    found = values(judged, what, told or Told())
    text = page("report.html.j2", **found)
    if len(text) > LARGEST and found["plain"]:
        text = page("report.html.j2", **{**found, "plain": {}, "is_cut": True})
    return text


def html_fragment(judged: Sequence[Conflicts], what: str, told: Told | None = None) -> str:
    """The same for a notebook."""
    return fragment("report.html.j2", **values(judged, what, told or Told()))


def values(judged: Sequence[Conflicts], what: str, told: Told) -> dict[str, Any]:
    run, launches = told.run, told.launches
    drawer = Drawer(judged, told.elements)
    source = run or launches
    found = source.findings if source and source.checks else ()
    code = machine_code([Code.of_run(run)] if run else map(Code.of_launches, launches.kernels) if launches else ())
    sources = Sources(drawer, code, found, MARK)
    worst = worst_lines(drawer, sources, run)
    statuses = [site.status for conflicts in drawer.lines for site in conflicts.sites]
    return {
        "title": f"{what} on {listed([one.arch.name for one in judged])}",
        "archs": [one.arch.name for one in judged],
        "heads": HEADS,
        "widths": sorted({one.arch.banks for one in judged}),
        "shown": first_shown([one.arch.name for one in judged]),
        "extent": extent(run, launches),
        "sentences": list(sentences(judged)),
        "is_clean": is_clean(judged) and not found,
        "time": list(time(run, launches)),
        "worst": worst,
        "checked": all_checks(source, launches.kernels if launches else [run] if run else [], sources),
        "hints": [
            *(kernel.unfilled(one) for one in (run.unfilled if run else ())),
            *(hinted(one, place) for one in (source.hints if source else ())),
        ],
        "tables": [grid(*table) for table in launches_tables(launches)] if launches and launches.kernels else [],
        "totals": [totals(conflicts) for conflicts in judged],
        "most": drawer.most,
        "sources": sources.files,
        "code": (run.kernel.arch if run else launches.code if launches else "") if sources.code else "",
        "notes": [
            *(() if run else told.plain.get("notes", ())),  # those of a run stand at the top
            *(f"{one['kernel']}: {note}" for one in told.plain.get("kernels", ()) for note in one.get("notes", ())),
            *(notes(drawer.lines, statuses) if sources.files else ()),
        ],
        "left_out": drawer.left_out,
        "times": [cycles.page(one) for one in (run.executions or (run,)) if one.cycles] if run else [],
        "plot": Markup(plots.drawn(plots.of_launch(judged, run))) if worst or (run and run.cycles) else "",
        "output": run.output if run else "",
        "made": [(name, text) for name, text in provenance(told.words, run, launches, told.when) if text],
        "plain": told.plain,
        "is_cut": False,
    }


def extent(run: Run | None, launches: Launches | None) -> list[str]:
    """What was executed, of what code, and whether that is all of it."""
    if run is not None:
        return [line.plain for line in kernel.extent(run, WIDE)]
    return [line.plain for line in of_launches.extent(launches, WIDE)] if launches else []


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
