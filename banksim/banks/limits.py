"""Limits that keep conflicts out: which lines are above them, which are excused, which were there before.

A line of source excuses itself with a comment: `banksim: allow(4, "why")` allows conflicts up to 4-way on that line,
`banksim: allow(unknown, "why")` those whose cost nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from banksim.architectures.bank_rules import Architecture
from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.source_lines import by_line
from banksim.banks.source_lines import label as source_place
from banksim.errors import InputError
from banksim.requests.counts import Count, Range, ends, per_request
from banksim.system.paths import portable
from banksim.system.source_files import source_lines
from banksim.wording import mean, number, ways

if TYPE_CHECKING:
    from banksim.banks.comparison import Line

Figure = Literal["excess", "per-request", "degree"]
FIGURES: dict[Figure, str] = {
    "excess": "transactions beyond those without conflicts",
    "per-request": "transactions per request",
    "degree": "n of the worst n-way conflict",
}
LIMIT = re.compile(r"(?:(?P<of_line>line-)?(?P<figure>[a-z-]+)=)?(?P<most>\d+(?:\.\d+)?)")
EXCUSE = re.compile(r"""banksim:\s*allow\(\s*(\d+|unknown)\s*(?:,\s*(["'])(.*?)\2\s*)?\)""")


@dataclass(frozen=True)
class Limit:
    """The most of a figure that all lines of a kernel together may have, or each line by itself."""

    figure: Figure = "excess"
    most: float = 0
    of_line: bool = False

    def __str__(self) -> str:
        return f"{'line-' if self.of_line and self.figure != 'degree' else ''}{self.figure}={self.most:g}"


def limit(text: str) -> Limit:
    """The limit that `3`, `excess=3`, `per-request=1.5`, `degree=2` or one of them with `line-` before it says."""
    match = LIMIT.fullmatch(text.strip())
    name = match and (match["figure"] or "excess")
    figure = next((one for one in get_args(Figure) if one == name), None)
    if match is None or figure is None:
        raise InputError(
            f"--fail-above {text}: give a whole number of transactions, 0 to allow no conflict, or "
            f"{', '.join(f'{one}=N' for one in FIGURES)} (of each line: line-excess=N, line-per-request=N)"
        )
    return Limit(figure, float(match["most"]), bool(match["of_line"]) or figure == "degree")


@dataclass(frozen=True)
class Guard:
    """Limits, and the lines of a baseline by architecture (None: there is none)."""

    limits: tuple[Limit, ...]
    baseline: Mapping[str, Sequence[Line]] | None = None


@dataclass(frozen=True)
class Excuse:
    """A comment that allows conflicts up to `most`-way on its line (None: of unknown cost), if it gives a reason."""

    file: str
    line: int
    most: int | None
    reason: str

    def __str__(self) -> str:
        most = "unknown" if self.most is None else self.most
        if not self.reason:
            return f'{portable(self.file)}:{self.line}: allow({most}) gives no reason, as allow({most}, "why") does'
        return f'{portable(self.file)}:{self.line}: allow({most}, "{self.reason}")'

    def covers(self, site: SiteConflicts) -> bool:
        """Whether it allows what a line costs."""
        if not self.reason:
            return False
        if site.degree is None or self.most is None:
            return site.degree is None and self.most is None
        return high(site.degree) <= self.most


@dataclass(frozen=True)
class Finding:
    """A line that is above a limit by an architecture, or makes all of them be so."""

    limit: Limit
    arch: Architecture
    site: SiteConflicts

    def __str__(self) -> str:
        return f"{place(self.site)}: {cost(self.site)} on {self.arch.name}, above {self.limit}"


@dataclass(frozen=True)
class Findings:
    """What a guard found: lines above limits; excuses that excused a line (with it), those that excused
    none, and those that allow less than their line has."""

    above: tuple[Finding, ...]
    excused: tuple[tuple[SiteConflicts, Excuse], ...] = field(default=())
    unused: tuple[Excuse, ...] = field(default=())
    exceeded: tuple[tuple[SiteConflicts, Excuse], ...] = field(default=())

    def excuse_of(self, site: SiteConflicts) -> Excuse | None:
        """What excuses a line, if anything does."""
        return next((excuse for one, excuse in self.excused if one == site), None)


def place(site: SiteConflicts) -> str:
    """Where a site is: `file.py:13 tile[x, y]`."""
    return source_place(site.site) if site.file and site.line else what(site)


def what(site: SiteConflicts) -> str:
    """What a site does, as its source says it."""
    return site.text.strip() or site.opcode or f"{site.op} {site.width} B"


def cost(site: SiteConflicts) -> str:
    """`ld 4 B, 768 transactions beyond 256, 4.00 per request, 4-way`; a line may have accesses of several kinds."""
    if site.transactions is None:
        return f"{site.op} {site.width} B, a cost that nobody knows"
    some = "transaction" if site.excess == 1 else "transactions"
    return (
        f"{site.op} {site.width} B, {number(site.excess)} {some} beyond {number(site.ideal)}, "
        f"{mean(site.transactions_per_request)} per request, {ways(site.degree)}"
    )


def check(judged: Sequence[Conflicts], guard: Guard, kernels: Sequence[Sequence[Conflicts]] = ()) -> Findings:
    """Hold what was judged against the limits, those on all lines kernel by kernel if `judged` has several.

    `kernels`: `judged` of each. Raises `InputError` if the baseline knows no such architecture.
    """
    lines = [by_line(conflicts) for conflicts in judged]
    excuses = excuses_of(lines)
    above: list[Finding] = []
    excused: list[tuple[SiteConflicts, Excuse]] = []
    exceeded: list[tuple[SiteConflicts, Excuse]] = []
    for at, conflicts in enumerate(lines):
        known = accepted(conflicts, guard.baseline)
        for kernel in [by_line(one[at]) for one in kernels] or [conflicts]:
            counted = []
            for site in kernel.sites:
                excuse = excuses.get((site.file or "", site.line or 0))
                if excuse and has_conflict(site) and excuse.covers(site):
                    excused.append((site, excuse))
                    continue
                if excuse and has_conflict(site):
                    exceeded.append((site, excuse))
                if not known or key(site) not in known:
                    counted.append(site)
            for one in guard.limits:
                above += [Finding(one, conflicts.arch, site) for site in exceeding(one, counted)]
    used = {excuse for _, excuse in (*excused, *exceeded)}
    unused = [excuse for excuse in excuses.values() if excuse not in used]
    return Findings(tuple(above), tuple(excused), tuple(unused), tuple(exceeded))


def exceeding(limit: Limit, sites: Sequence[SiteConflicts]) -> list[SiteConflicts]:
    """The lines above a limit; of one on all lines together those that have conflicts."""
    if limit.of_line:
        return [site for site in sites if high(value(limit.figure, [site])) > limit.most]
    if not sites or high(value(limit.figure, sites)) <= limit.most:
        return []
    return [site for site in sites if has_conflict(site)] or list(sites)


def value(figure: Figure, sites: Sequence[SiteConflicts]) -> Count | float | Range[float] | None:
    """A figure of several lines together; None if it is unknown."""
    if any(site.transactions is None for site in sites):
        return None
    if figure == "degree":
        return max(high(site.degree) for site in sites)
    if figure == "excess":
        return sum(high(site.excess) for site in sites)
    return per_request(sum(int(high(site.transactions)) for site in sites), sum(site.requests for site in sites))


def high(figure: Count | float | Range[float] | None) -> float:
    """The upper end of a figure; infinity of what is unknown, which no limit allows."""
    if figure is None:
        return float("inf")
    return figure.high if isinstance(figure, Range) else figure


def has_conflict(site: SiteConflicts) -> bool:
    """Whether it has a conflict, or its cost is unknown."""
    return site.excess is None or ends(site.excess).high > 0


# ---- excuses
def excused(judged: Sequence[Conflicts]) -> Iterator[tuple[Architecture, SiteConflicts, Excuse]]:
    """The lines with a conflict that a comment allows, by each architecture, whether there is a limit or not."""
    lines = [by_line(conflicts) for conflicts in judged]
    excuses = excuses_of(lines)
    for conflicts in lines:
        for site in conflicts.sites:
            excuse = excuses.get((site.file or "", site.line or 0))
            if excuse and has_conflict(site) and excuse.covers(site):
                yield conflicts.arch, site, excuse


def excuses_of(lines: Sequence[Conflicts]) -> dict[tuple[str, int], Excuse]:
    """The excuses in the sources of all lines, by file and line."""
    return {(one.file, one.line): one for one in found_excuses(site for one in lines for site in one.sites)}


def found_excuses(sites: Iterable[SiteConflicts]) -> Iterator[Excuse]:
    """The excuses in the source files of sites, from the first to the last line of these."""
    spans: dict[str, tuple[int, int]] = {}
    for site in sites:
        if site.file and site.line:
            first, last = spans.get(site.file, (site.line, site.line))
            spans[site.file] = min(first, site.line), max(last, site.line)
    for file, (first, last) in spans.items():
        # There are none where the source is not here, as of a trace from elsewhere.
        for at, line in enumerate(source_lines(file)[first - 1 : last], first):
            if match := EXCUSE.search(line):
                yield Excuse(file, at, None if match[1] == "unknown" else int(match[1]), match[3] or "")


# ---- baseline
def accepted(
    conflicts: Conflicts, baseline: Mapping[str, Sequence[Line]] | None
) -> set[tuple[str | None, int | None, str]]:
    """The lines that cost no more than the baseline has of them."""
    if baseline is None:
        return set()
    from banksim.banks.comparison import lines_of, matched

    if conflicts.arch.name not in baseline:
        known = ", ".join(baseline) or "nothing"
        raise InputError(f"the baseline was judged by {known}, not by {conflicts.arch.name}: make it anew with --json")
    now = lines_of(site.to_json() for site in conflicts.sites)
    return {
        (after.file, after.line, after.text)
        for before, after in matched(baseline[conflicts.arch.name], now)
        if before and after and high(after.excess) <= high(before.excess)
    }


def key(site: SiteConflicts) -> tuple[str | None, int | None, str]:
    """What a baseline calls a site's line."""
    from banksim.banks.comparison import lines_of

    (line,) = lines_of([site.to_json()])
    return line.file, line.line, line.text
