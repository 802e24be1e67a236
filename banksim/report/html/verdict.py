"""The first lines of a page: what conflicts cost, in a sentence, and the lines where they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from banksim.banks.conflicts import Conflicts
from banksim.report.html.figures import Drawer
from banksim.report.html.sources import Sources
from banksim.report.text import cycles, program
from banksim.requests.counts import Count, ends
from banksim.wording import listed, number, place, plural

if TYPE_CHECKING:
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches

MOST_LINES = 6
"""How many of the worst lines are listed."""


@dataclass(frozen=True)
class WorstLine:
    """A line with conflicts: its place, its name in the page, its text; of each architecture what it costs there."""

    place: str
    anchor: str
    markup: Markup
    costs: tuple[tuple[int, str], ...]


def sentences(judged: Sequence[Conflicts]) -> Iterator[str]:
    """What conflicts cost, one sentence for the architectures by which it is the same."""
    groups: dict[tuple[object, ...], list[Conflicts]] = {}
    for one in judged:
        groups.setdefault((one.requests, one.transactions, one.excess), []).append(one)
    for same in groups.values():
        yield sentence(same[0], listed([one.arch.name for one in same]))


def sentence(conflicts: Conflicts, names: str) -> str:
    found, spent = conflicts.excess, conflicts.transactions
    if not conflicts.requests:
        return "No thread accessed shared memory."
    if found is None or spent is None:
        unknown = sum(site.transactions is None for site in conflicts.sites)
        return f"Nobody knows what {plural(unknown, 'access')} cost{'s' * (unknown == 1)} on {names}."
    if not ends(found).high:
        few = "no more than their widths ask for"
        return f"No bank conflicts on {names}: {plural(conflicts.requests, 'request')} in {transactions(spent)}, {few}."
    share = f"{ends(found).high / ends(spent).high:.0%}"
    return f"Bank conflicts cost {number(found)} of {transactions(spent)} on {names} ({share})."


def transactions(count: Count) -> str:
    return f"{number(count)} transaction{'' if count == 1 else 's'}"


def is_clean(judged: Sequence[Conflicts]) -> bool:
    return all(one.excess is not None and not ends(one.excess).high for one in judged)


def time(run: Run | None, launches: Launches | None) -> Iterator[str]:
    """What conflicts cost in time, where that was asked for."""
    if run is not None:
        for one in run.executions or (run,):
            if one.cycles is not None:
                lost, mhz = max(one.cycles.conflict, 0), one.cycles.figures.clock_mhz
                share = f"{plural(lost, 'cycle')} ({lost / mhz:,.2f} µs, {lost / max(one.cycles.total, 1):.0%})"
                part = share if lost else "nothing"
                where = f"{cycles.where(one.launch)} of {one.cycles.figures.name}"
                yield f"Time {where}: {cycles.taken(one.cycles)}, of which conflicts cost {part}."
    elif launches is not None:
        for name, _, times in program.timed(launches):
            lost = max(times.cycles - times.ideal, 0)
            share = f"{number(lost)} ({lost / max(times.cycles, 1):.0%})" if lost else "nothing"
            took = f"{plural(times.cycles, 'cycle')} in the blocks timed"
            yield f"Time of {name}: {took}, of which conflicts cost {share}."
        yield from program.assumed(launches)


def worst_lines(drawer: Drawer, sources: Sources, run: Run | None) -> list[WorstLine]:
    """The lines that cost most by any architecture, or whose cost nobody knows."""
    found = {group: drawer.figures(group) for group in drawer.groups}
    hot = [group for group, figures in found.items() if any(one.beyond for one in figures)]
    hot.sort(key=lambda group: -max(one.beyond for one in found[group]))
    waiting = waits(run)
    out = []
    for group in hot[:MOST_LINES]:
        site = next(site for _, site in drawer.groups[group])
        costs = []
        for at, one in enumerate(found[group]):
            if one.beyond == float("inf"):
                costs.append((at, f"of unknown cost on {drawer.lines[at].arch.name}"))
            elif one.beyond:
                whole = sum(ends(s.excess).high for s in drawer.lines[at].sites if s.excess is not None)
                said = f"{one.excess} transactions ({one.beyond / whole:.0%}), {one.worst}"
                costs.append((at, said + (f" on {drawer.lines[at].arch.name}" if len(found[group]) > 1 else "")))
        if group in waiting:
            costs.append((0, f"{plural(waiting[group], 'warp cycle')} of waiting"))
        text = Markup() if isinstance(group, str) else sources.text(group)
        where = place(site.site) if isinstance(group, tuple) else str(group)
        out.append(WorstLine(where, sources.anchor(group), text, tuple(costs)))
    return out


def waits(run: Run | None) -> dict[object, int]:
    """For how many cycles warps waited because of conflicts, by line."""
    if run is None or run.cycles is None:
        return {}
    return {(site.file, site.line): spent.conflict for site, spent in cycles.by_line(run.cycles) if spent.conflict > 0}
