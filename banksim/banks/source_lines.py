"""Conflicts by source line: the instructions of a line together, hot lines first, quiet lines folded."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.requests.counts import ends, largest, total
from banksim.requests.trace import Site
from banksim.system.source_files import is_library
from banksim.wording import in_file, place, plural, runs

Line = tuple[object, ...]
INTRINSICS = re.compile(r"/include/(crt/)?(device_(\w+_)?functions|sm_\d+_\w+|cuda_pipeline_helpers)\.hp*$")
"""Headers of the toolkit whose functions are instructions by another name."""


def by_line(conflicts: Conflicts) -> Conflicts:
    """One site for all instructions of a line with the same op, width and call chain."""
    groups: dict[tuple[object, ...], list[SiteConflicts]] = {}
    for one in conflicts.sites:
        where = line_of(one.site) or one.site
        groups.setdefault((where, one.op, one.width), []).append(one)
    return Conflicts(conflicts.arch, tuple(map(together, groups.values())))


def line_of(site: Site) -> Line:
    """What tells a source line from others, as `label` shows it: file, number, the calls that it was inlined through
    (but those within a library), and the place in a library that it leads to; nothing of code without lines."""
    return (site.file, site.line, *own_calls(site), within(site)) if site.line else ()


def together(sites: Sequence[SiteConflicts]) -> SiteConflicts:
    """Several instructions of one line as one site, without what only one of them has."""
    first = sites[0]
    if len(sites) == 1:
        return first
    found = replace(
        first,
        site=replace(first.site, opcode="", offset=None),
        requests=sum(one.requests for one in sites),
        worst=max(sites, key=worst_excess).worst,
    )
    transactions = [one.transactions for one in sites if one.transactions is not None]
    ideals = [one.ideal for one in sites if one.ideal is not None]
    degrees = [one.degree for one in sites if one.degree is not None]
    if len(transactions) < len(sites):
        return replace(found, transactions=None, ideal=None, degree=None, status="unknown")
    return replace(found, transactions=total(transactions), ideal=sum(ideals), degree=largest(degrees))


def worst_excess(site: SiteConflicts) -> int:
    """Transactions that the worst request of a site takes beyond its ideal, at most; 0 if nobody knows."""
    return site.worst.excess if site.worst else 0


def hot_first(judged: Sequence[Conflicts]) -> tuple[list[Conflicts], list[Site]]:
    """The sites of lines with a conflict by any architecture or of unknown cost, worst first; the others."""
    sites = [*zip(*(one.sites for one in judged), strict=True)]
    of_line: dict[tuple[str | None, int | None], float] = {}
    for same in sites:
        line = (same[0].file, same[0].line)
        of_line[line] = max(of_line.get(line, 0), heat(same))
    order = sorted(range(len(sites)), key=lambda i: -of_line[sites[i][0].file, sites[i][0].line])
    hot = [i for i in order if of_line[sites[i][0].file, sites[i][0].line]]
    quiet = [sites[i][0].site for i in order[len(hot) :]]
    return [Conflicts(one.arch, tuple(one.sites[i] for i in hot)) for one in judged], quiet


def heat(sites: Iterable[SiteConflicts]) -> float:
    """Transactions beyond the ideal by the architecture that has most of them; no bound if unknown."""
    return max(float("inf") if one.excess is None else ends(one.excess).high for one in sites)


def label(site: Site) -> str:
    """The line's place and text, where in a library that is, and the calls that it was inlined through."""
    calls = "".join(f" (in {name}, called at {in_file(file, line)})" for name, file, line in own_calls(site))
    return f"{place(site)}  {site.text.strip() or site.opcode}{within(site)}{calls}"


def own_calls(site: Site) -> Iterator[tuple[str, str, int]]:
    """The calls that a line was inlined through, without those from one place of a library to another."""
    function = ""
    for name, file, line in site.inlined:
        function = function or name
        if not is_library(file, site.inlined[-1][1]) or (file, line) == site.inlined[-1][1:]:
            yield function, file, line
            function = ""


def within(site: Site) -> str:
    """` (inside block_reduce.cuh:120)`, where the line calls more of a library than a name of an instruction."""
    if not site.inside or INTRINSICS.search(site.inside[0][0]):
        return ""
    file, line = site.inside[0]
    return f" (inside {in_file(file, line)})"


def quiet_lines(sites: Sequence[Site]) -> str:
    """`No conflict on 3 other lines: reduce.py:10, 12–13`."""
    lines: dict[str | None, set[int]] = {}
    for site in sites:
        lines.setdefault(site.file, set()).add(site.line or 0)
    named = ", ".join(in_file(file, runs(numbers)) for file, numbers in lines.items())
    return f"No conflict on {plural(sum(map(len, lines.values())), 'other line')}: {named}"
