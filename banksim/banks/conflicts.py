"""What an analysis returns: counts per site and in all, as plain data. Nothing here counts or prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from banksim.errors import InputError
from banksim.requests.copies import destinations, source_banks
from banksim.requests.counts import (
    Count,
    Range,
    Status,
    above,
    ends,
    largest,
    per_request,
    plain,
    total,
    total_if_known,
)  # fmt: skip
from banksim.requests.kinds import COPIES
from banksim.system.reported import Reported
from banksim.wording import plural

if TYPE_CHECKING:
    from banksim.architectures.bank_rules import Architecture
    from banksim.requests.trace import Site


@dataclass(frozen=True)
class Request:
    """One warp-level access: byte `address` of each of 32 lanes, of which `mask` says the active ones.

    `excess` is what it takes beyond its ideal by the rule that judged it, at most (0: unknown). `order` is its place in
    the trace that it comes from, which is no part of what it is.
    """

    op: str
    width: int
    mask: int
    address: tuple[int, ...]
    block: int = 0
    warp: int = 0
    excess: int = 0
    order: int = field(default=0, compare=False)


class Tally(NamedTuple):
    """Sums over the requests of one site, op and width, the largest degree, and the worst request's row and excess.

    Of a count that is unknown, `low` and the figures after it mean nothing.
    """

    requests: int
    low: int
    high: int
    ideal: int
    degree_low: int
    degree_high: int
    worst: int
    excess: int


@dataclass(frozen=True)
class SiteConflicts:
    """What the requests of one site cost, of one op and width: a site with several has several of these.

    `transactions`, `ideal` and `degree` are None where nobody knows them (`status` is then "unknown").
    `degree` is the n of the worst n-way conflict: the most passes that one part of one request needs (for
    atomics the most lanes in one bank). `worst` is the first request of the largest excess in the first block that has
    one, in the order of the trace or in that in which the machine met them.
    """

    site: Site
    op: str
    width: int
    requests: int
    transactions: Count | None
    ideal: int | None
    degree: Count | None
    worst: Request | None
    status: Status

    @property
    def excess(self) -> Count | None:
        """Transactions beyond the ideal."""
        return None if self.transactions is None or self.ideal is None else above(self.transactions, self.ideal)

    @property
    def transactions_per_request(self) -> float | Range[float] | None:
        """The figure that nvprof calls shared_load_transactions_per_request."""
        return (
            per_request(self.transactions, self.requests) if self.transactions is not None and self.requests else None
        )

    @property
    def offset(self) -> int | None:
        return self.site.offset

    @property
    def opcode(self) -> str:
        return self.site.opcode

    @property
    def file(self) -> str | None:
        return self.site.file

    @property
    def line(self) -> int | None:
        return self.site.line

    @property
    def text(self) -> str:
        return self.site.text

    def to_json(self) -> dict[str, object]:
        """Plain data: numbers, text, lists; a range is {"low": …, "high": …}, unknown is None."""
        worst = self.worst
        return {
            "offset": self.offset,
            "opcode": self.opcode,
            "function": self.site.function,
            "file": self.file,
            "line": self.line,
            "text": self.text,
            "inlined": [{"function": name, "file": file, "line": line} for name, file, line in self.site.inlined],
            "inside": [{"file": file, "line": line} for file, line in self.site.inside],
            "op": self.op,
            "width": self.width,
            "requests": self.requests,
            "transactions": plain(self.transactions),
            "transactions_per_request": plain(self.transactions_per_request),
            "ideal": self.ideal,
            "excess": plain(self.excess),
            "degree": plain(self.degree),
            "status": self.status,
            "worst": worst
            and {
                "op": worst.op,
                "width": worst.width,
                "mask": worst.mask,
                "address": list(destinations(worst.op, worst.address)),
                **({"source_banks": source_banks(worst.address, worst.width)} if worst.op in COPIES else {}),
                "block": worst.block,
                "warp": worst.warp,
            },
        }


@dataclass(frozen=True, repr=False)
class Conflicts(Reported):
    """The analysis of a trace. A total is None (withheld) as soon as one site's figure is unknown."""

    arch: Architecture
    sites: tuple[SiteConflicts, ...]

    def __repr__(self) -> str:
        return f"<Conflicts of {plural(len(self.sites), 'site')} {self.summary}>"

    @property
    def summary(self) -> str:
        """`on sm_90: 64 requests, 1,056 transactions, 64 ideal`, as a repr has room for."""
        if self.transactions is None:
            return f"on {self.arch.name}: {plural(self.requests, 'request')}, transactions unknown"
        low, high = ends(self.transactions)
        spent = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        return f"on {self.arch.name}: {plural(self.requests, 'request')}, {spent} transactions, {self.ideal:,} ideal"

    @property
    def requests(self) -> int:
        return sum(site.requests for site in self.sites)

    @property
    def transactions(self) -> Count | None:
        return total_if_known(site.transactions for site in self.sites)

    @property
    def ideal(self) -> int | None:
        return None if self.transactions is None else sum(site.ideal or 0 for site in self.sites)

    @property
    def excess(self) -> Count | None:
        return None if self.transactions is None or self.ideal is None else above(self.transactions, self.ideal)

    @property
    def degree(self) -> Count | None:
        """The largest of all sites."""
        known = [site.degree for site in self.sites if site.degree is not None]
        return largest(known) if len(known) == len(self.sites) else None

    @property
    def transactions_per_request(self) -> float | Range[float] | None:
        return (
            per_request(self.transactions, self.requests) if self.transactions is not None and self.requests else None
        )

    def to_json(self) -> dict[str, object]:
        """Plain data, as `SiteConflicts.to_json`."""
        return {
            "arch": self.arch.name,
            "requests": self.requests,
            "transactions": plain(self.transactions),
            "transactions_per_request": plain(self.transactions_per_request),
            "ideal": self.ideal,
            "excess": plain(self.excess),
            "sites": [site.to_json() for site in self.sites],
        }


def merge(a: Conflicts, b: Conflicts) -> Conflicts:
    """The conflicts of the requests of both, judged by one architecture; in whatever order parts are merged.

    Sites that are alike in site, op and width become one; of several such in one analysis the first goes with
    the first. Raises `InputError` for two architectures.
    """
    if a.arch != b.arch:
        raise InputError(f"{a.arch.name} and {b.arch.name}: only conflicts by the same architecture can be added")
    found: dict[tuple[Site, str, int, int], SiteConflicts] = {}
    for conflicts in (a, b):
        seen: dict[tuple[Site, str, int], int] = {}
        for one in conflicts.sites:
            kind = (one.site, one.op, one.width)
            seen[kind] = seen.get(kind, 0) + 1
            key = (*kind, seen[kind])
            found[key] = merge_sites(found[key], one) if key in found else one
    return Conflicts(a.arch, tuple(found.values()))


def repeated(one: Conflicts, times: int) -> Conflicts:
    """The conflicts of the same requests so many times, 1 or more."""
    if times == 1:
        return one
    half = repeated(one, times // 2)
    both = merge(half, half)
    return merge(both, one) if times % 2 else both


def merge_sites(a: SiteConflicts, b: SiteConflicts) -> SiteConflicts:
    """The requests of both, of one site, op and width."""
    requests, worst = a.requests + b.requests, worse(a.worst, b.worst)
    if a.transactions is None or b.transactions is None:
        return SiteConflicts(a.site, a.op, a.width, requests, None, None, None, worst, "unknown")
    transactions, ideal = total([a.transactions, b.transactions]), (a.ideal or 0) + (b.ideal or 0)
    degree = largest([degree for degree in (a.degree, b.degree) if degree is not None])
    return SiteConflicts(a.site, a.op, a.width, requests, transactions, ideal, degree, worst, a.status)


def worse(a: Request | None, b: Request | None) -> Request | None:
    """The request of larger excess, of equal ones that of the first block, and its first."""
    if a is None or b is None or a.excess != b.excess:
        return b if a is None or (b and b.excess > a.excess) else a

    def rank(one: Request) -> tuple[object, ...]:
        return -one.excess, one.block, one.order, one.warp, one.mask, one.address

    return min(a, b, key=rank)
