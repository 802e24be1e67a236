"""The report on a launch: conflicts by source line, hot lines first, and the listing with its counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.source_lines import by_line, hot_first, label, quiet_lines
from banksim.kernels.unfilled_variables import in_words
from banksim.report.text.conflict_table import figures
from banksim.report.text.pattern import drawn, title
from banksim.report.text.races import told
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.requests.counts import Count, ends
from banksim.wording import listed, number, place, plural

if TYPE_CHECKING:
    from banksim.kernels.unfilled_variables import Unfilled
    from banksim.runs.outcome import Executed, Run


def report(run: Run, width: int, pictures: str = "worst", all_lines: bool = False, sass: bool = False) -> Text:
    """What a launch cost, by source line.

    `pictures` as in `text.pattern.report`; `all_lines`: also those without conflicts; `sass`: also the listing.
    """
    heading = title(f"{run.kernel.plain_name}: bank conflicts", run.judged, width)
    paragraphs = [Text("\n").join([heading, *extent(run, width)])]
    paragraphs += zeros(run, width)
    paragraphs += told(run, run.findings_lost, width)
    if not any(conflicts.sites for conflicts in run.judged):
        paragraphs.append(Text("No thread accessed shared memory.", CALM))
    elif run.executions:
        paragraphs += of_several(run, width, pictures, all_lines)
    else:
        paragraphs += of_one(run, width, pictures, all_lines)
    for one in run.executions or (run,):
        heads = [Text(f"Code of {one.kernel.arch}", STRONG)] if run.executions else []
        if one.cycles is not None:
            from banksim.report.text.cycles import timing

            paragraphs.append(Text("\n").join([*heads, timing(one, width)]))
        if sass:
            paragraphs.append(Text("\n").join([*heads, *listing(one, width)]))
    return Text("\n\n").join(paragraphs)


def of_one(run: Run, width: int, pictures: str, all_lines: bool) -> Iterator[Text]:
    """What each line costs by every architecture's rule, all judged on the same code, and the worst request."""
    lines = [by_line(conflicts) for conflicts in run.judged]
    hot, quiet = hot_first(lines)
    if all_lines or not hot[0].sites:
        hot, quiet = lines, []
    labels = [label(site.site) for site in hot[0].sites]
    yield figures(hot, [Text(text, STRONG) for text in labels], width, whole=lines)
    if quiet:
        yield Text("\n").join(fold(Text(quiet_lines(quiet), CALM), width))
    yield from drawn(hot, labels, width, pictures)


def of_several(run: Run, width: int, pictures: str, all_lines: bool) -> Iterator[Text]:
    """What the lines cost with the code of each architecture, and the worst request of all."""
    from banksim.report.text.kernel_by_architecture import comparison

    yield comparison(run, width, all_lines)
    lines = [by_line(conflicts) for conflicts in run.judged]
    worst = max(lines, key=lambda one: float("inf") if one.excess is None else ends(one.excess).high)
    yield from drawn([worst], [label(site.site) for site in worst.sites], width, pictures)


def extent(run: Run, width: int) -> Iterator[Text]:
    """How much was executed, the code of which architecture, and whether the run was complete."""
    grid, block = (" × ".join(map(str, flat(size))) for size in (run.launch.grid, run.launch.block))
    launch = f"grid {grid}, block {block}"
    if not run.executions:
        launch += f": {plural(run.instructions, 'warp instruction')}"
    yield from fold(Text(launch, QUIET), width)
    for one in run.executions or (run,):
        if one.classes or one.undecided:
            yield from fold(Text(way_of_counting(one), QUIET), width)
    for one in run.executions or (run,):
        if one.foreign:
            yield from fold(Text(f"{listed(one.foreign)}: judged on code of {one.kernel.arch}", QUIET), width)
    for note in run.notes:
        yield from fold(Text(note, QUIET), width)
    if run.partial:
        done = f"PARTIAL: interrupted after {number(run.blocks)} of {plural(run.launch.blocks, 'block')}"
        yield from fold(Text(done, HOT), width)


def way_of_counting(run: Run) -> str:
    """How many blocks were executed to count all, and why all were if they had to be."""
    blocks = plural(run.launch.blocks, "block")
    if not run.classes:
        return f"{blocks}, each executed: {run.undecided}"
    apart = f", each executed as far as counts need it ({run.undecided})"
    done = apart if run.undecided else f" in {plural(run.classes, 'class')}"
    but = f", but for {plural(run.whole, 'block')} executed whole" if run.whole else ""
    return f"{blocks}{done}; global memory was not touched, and so not checked{but}"


def zeros(run: Run, width: int) -> Iterator[Text]:
    """The variables that the kernel read although nobody filled them."""
    if run.unfilled:
        yield Text("\n").join(line for one in run.unfilled for line in fold(Text(unfilled(one), HOT), width))


def unfilled(one: Unfilled) -> str:
    return in_words(one.name, one.size, place(one.site) if one.site.file else "")


def flat(size: tuple[int, int, int]) -> tuple[int, ...]:
    """Without trailing dimensions of 1."""
    x, y, z = size
    return (x,) if (y, z) == (1, 1) else (x, y) if z == 1 else size


def listing(run: Run, width: int) -> list[Text]:
    """Every instruction that was executed, under its source line, with its counts."""
    labels: list[Text] = []
    rows: list[Executed | None] = []
    seen: list[str] = []
    for executed in run.profile:
        site = executed.instruction.site
        if not executed.warps:
            continue
        line = label(site)
        if site.line and seen[-1:] != [line]:
            labels.append(Text(place(site) if line in seen else line, QUIET))
            rows.append(None)
            seen.append(line)
        labels.append(Text(f"  {executed.instruction.pc:#06x} {executed.instruction.text}"))
        rows.append(executed)
    columns = [*executions(rows), requests(run.judged[0], rows)]
    for conflicts in run.judged:
        columns += judgements(conflicts, rows, conflicts.arch.name if len(run.judged) > 1 else "")
    lines = fitted(labels, columns, width)
    never = sum(not executed.warps for executed in run.profile)
    return [*lines, Text(f"{plural(never, 'instruction')} never executed", QUIET)] if never else lines


def executions(rows: Sequence[Executed | None]) -> Iterator[Column]:
    """How often each instruction was executed: by warps, by threads, by threads whose predicate held."""
    yield Column(("", "warps"), [Text(number(row.warps) if row else "") for row in rows])
    yield Column(("", "threads"), [Text(number(row.threads) if row else "") for row in rows])
    yield Column(("predi-", "cated on"), [Text(number(row.predicated_on) if row else "") for row in rows])


def requests(conflicts: Conflicts, rows: Sequence[Executed | None]) -> Column:
    """How often an instruction accessed shared memory, which no architecture changes."""
    return Column(("", "requests"), [Text(number(site.requests) if site else "") for site in sites_of(conflicts, rows)])


def judgements(conflicts: Conflicts, rows: Sequence[Executed | None], group: str) -> Iterator[Column]:
    """Transactions and excess of the instructions that accessed shared memory."""
    figures: dict[tuple[str, str], Callable[[SiteConflicts], Count | None]] = {
        ("trans-", "actions"): lambda site: site.transactions,
        ("", "excess"): lambda site: site.excess,
    }
    sites = sites_of(conflicts, rows)
    for head, figure in figures.items():
        cells = [Text(number(figure(site)), HOT if site.excess else "") if site else Text() for site in sites]
        yield Column(head, cells, group)


def sites_of(conflicts: Conflicts, rows: Sequence[Executed | None]) -> list[SiteConflicts | None]:
    """What was found at the instruction of each row."""
    judged = {id(site.site): site for site in conflicts.sites}
    return [judged.get(id(row.instruction.site)) if row else None for row in rows]
