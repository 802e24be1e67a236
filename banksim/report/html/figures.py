"""Figures as a page shows them: of accesses, of lines, and of all together; the pictures of the worst requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import excused
from banksim.banks.rule import explain
from banksim.banks.source_lines import by_line, within, worst_excess
from banksim.report.html.elements import NONE, Elements, ElementsByLine
from banksim.report.html.picture import Picture, picture
from banksim.report.text.conflict_table import access
from banksim.requests.counts import Count, ends, largest, per_request, total
from banksim.wording import mean, number, ways

MOST_PICTURES = 40
"""The most pictures of a report; each takes up to 30 kB."""
WITHHELD = "withheld"
HEADS = ("transactions", "per request", "excess", "worst conflict")
"""Of the columns of a line's figures."""


@dataclass(frozen=True)
class SiteFigures:
    """The figures of an access as they are shown."""

    arch: str
    op: str
    requests: str
    transactions: str
    per_request: str
    ideal: str
    excess: str
    worst: str
    status: str
    hot: bool
    picture: Picture | None


@dataclass(frozen=True)
class LineFigures:
    """What all accesses of a line cost by an architecture; `heat` from 0 to 1 is its share of the worst line's excess,
    `beyond` the excess itself (of a range the most)."""

    transactions: str
    per_request: str
    excess: str
    worst: str
    heat: float
    beyond: float

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Heads and cells of the columns; only the first and the last stand beside those of other architectures."""
        return tuple(zip(HEADS, (self.transactions, self.per_request, self.excess, self.worst), strict=True))


def summed(sites: Sequence[SiteConflicts], most: float) -> LineFigures:
    """The figures of accesses together; `most`: the excess of the worst line."""
    requests = sum(site.requests for site in sites)
    counts = [site.transactions for site in sites if site.transactions is not None]
    if len(counts) < len(sites):
        return LineFigures("unknown", "unknown", "unknown", "unknown", 0, float("inf"))
    beyond = total([site.excess for site in sites if site.excess is not None])
    degrees: list[Count] = [site.degree for site in sites if site.degree is not None]
    high = ends(beyond).high
    return LineFigures(
        transactions=number(total(counts)),
        per_request=mean(per_request(total(counts), requests)) if requests else "–",
        excess=number(beyond) if high else "0",
        worst=ways(largest(degrees)),
        heat=high / most if most else 0,
        beyond=high,
    )


def beyond(sites: Sequence[SiteConflicts]) -> int:
    """The known transactions of accesses beyond their ideal, of a range the most."""
    return sum(ends(site.excess).high for site in sites if site.excess is not None)


def totals(conflicts: Conflicts) -> dict[str, object]:
    """The figures of all sites together."""
    known = conflicts.transactions is not None
    return {
        "arch": conflicts.arch.name,
        "requests": number(conflicts.requests),
        "transactions": number(conflicts.transactions) if known else WITHHELD,
        "per_request": mean(conflicts.transactions_per_request) if known and conflicts.requests else WITHHELD,
        "ideal": number(conflicts.ideal) if known else WITHHELD,
        "excess": number(conflicts.excess) if known else WITHHELD,
        "hot": conflicts.excess is None or ends(conflicts.excess).high > 0,
    }


class Drawer:
    """The accesses of all architectures by line, with pictures of those that cost most."""

    def __init__(self, judged: Sequence[Conflicts], elements: Elements | ElementsByLine = NONE) -> None:
        self.lines = [by_line(conflicts) for conflicts in judged]
        self.elements = elements
        self.excused = [(arch, site) for arch, site, _ in excused(self.lines)]
        self.groups: dict[object, list[tuple[int, SiteConflicts]]] = {}
        for number_, conflicts in enumerate(self.lines):
            for site in conflicts.sites:
                self.groups.setdefault(key(site), []).append((number_, site))
        self.most = [max((beyond(self.of(at, group)) for group in self.groups), default=0) for at in range(len(judged))]
        drawable = [
            (worst_excess(site), at, site)
            for group in self.groups.values()
            for at, site in group
            if site.worst is not None and worst_excess(site)
        ]
        costly = sorted(drawable, key=lambda one: -ends(one[2].excess or 0).high)
        self.drawn = {(at, id(site)) for _, at, site in costly[:MOST_PICTURES]}
        self.left_out = len(drawable) - len(self.drawn)

    def of(self, at: int, group: object) -> list[SiteConflicts]:
        """The accesses of a line by architecture number `at`."""
        return [site for number_, site in self.groups.get(group, ()) if number_ == at]

    def figures(self, group: object) -> tuple[LineFigures, ...]:
        """What a line costs, by each architecture."""
        return tuple(summed(self.of(at, group), most) for at, most in enumerate(self.most))

    def sites(self, group: object) -> Iterator[tuple[int, SiteFigures]]:
        """Every access of a line with the number of its architecture."""
        for at, site in self.groups.get(group, ()):
            yield at, self.site(at, site)

    def site(self, at: int, site: SiteConflicts) -> SiteFigures:
        arch = self.lines[at].arch
        return SiteFigures(
            arch=arch.name,
            op=access(site.op, site.width) + within(site.site),
            requests=number(site.requests),
            transactions=number(site.transactions),
            per_request=mean(site.transactions_per_request),
            ideal=number(site.ideal),
            excess=number(site.excess),
            worst=ways(site.degree),
            status=f"{site.status}, excused" if (arch, site) in self.excused else site.status,
            hot=site.excess is None or ends(site.excess).high > 0,
            picture=self.picture(at, site) if (at, id(site)) in self.drawn else None,
        )

    def picture(self, at: int, site: SiteConflicts) -> Picture:
        """Of the worst request."""
        worst = site.worst
        assert worst is not None
        found = explain(worst.address, worst.op, worst.width, worst.mask, self.lines[at].arch)
        return picture(found, f"warp {worst.warp} of block {worst.block}", self.elements.at(site.site))


def key(site: SiteConflicts) -> object:
    """What a line is: its file and number; of what has none its text."""
    return (
        (site.file, site.line) if site.file and site.line else site.text or site.opcode or access(site.op, site.width)
    )
