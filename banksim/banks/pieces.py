"""Conflicts of a trace, also piece by piece: what each costs, and a sum of that in whatever order they come."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.banks.conflicts import Conflicts, SiteConflicts, merge_sites
from banksim.banks.replay import judged, site_conflicts
from banksim.errors import InputError
from banksim.requests.copies import of_known_cost
from banksim.requests.kinds import SMALL
from banksim.requests.trace import Chunk, Piece, Trace, concatenated
from banksim.storage.source import Source

Key = tuple[int, int, int]
"""Number of the site, code of the op, width."""
OnJudged = Callable[[int], None]
"""Is told how many more requests have been judged."""


def replay(trace: Trace | Source, arch: str | Architecture = "sm_90") -> Conflicts:
    """What the requests of `trace` cost on `arch`, by site, op and width, in this order.

    A request with no active lane is no request. Where `arch` has no such access, or nobody knows its count,
    the site is there with its requests and status "unknown". A file that `banksim.storage.open_trace` has opened
    may be of any length: memory holds only some of it.

    >>> row, column = [4 * lane for lane in range(32)], [128 * lane for lane in range(32)]
    >>> trace = Trace.from_arrays("ld", 4, 0xFFFFFFFF, [row, column])
    >>> found = replay(trace, "sm_90")
    >>> found.requests, found.transactions, found.ideal
    (2, 33, 2)
    """
    rule = architecture(arch)
    if isinstance(trace, Trace):
        return judged(trace, rule)
    if not isinstance(trace, Source):
        raise InputError(f"replay: {type(trace).__name__} is no trace: give a Trace, or what open_trace gives")
    return judge_pieces(trace.pieces, [rule])[0]


@dataclass(frozen=True)
class Partial:
    """What some of a trace's requests cost by each of several architectures."""

    sites: dict[Key, tuple[SiteConflicts, ...]] = field(default_factory=dict)

    def conflicts(self, rules: Sequence[Architecture]) -> tuple[Conflicts, ...]:
        """The same as `replay` of all these requests gives."""
        return tuple(
            Conflicts(rule, tuple(self.sites[key][n] for key in sorted(self.sites))) for n, rule in enumerate(rules)
        )


def merge(a: Partial, b: Partial) -> Partial:
    """What the requests of both cost: associative, and the same in either order."""
    sites = dict(a.sites)
    for key, others in b.sites.items():
        sites[key] = tuple(map(merge_sites, sites[key], others)) if key in sites else others
    return Partial(sites)


def judge(trace: Trace, first: int, rules: Sequence[Architecture]) -> Partial:
    """What the requests of one chunk cost; `first` is the number of its first one in the whole trace."""
    from banksim.banks.compiled.site_sums import tally

    trace = replace(trace, op=of_known_cost(trace.op, trace.mask, trace.address))
    sites: dict[Key, tuple[SiteConflicts, ...]] = {}
    for rule in rules:
        for key, figures in tally(trace, rule, 1).items():
            sites[key] = (*sites.get(key, ()), site_conflicts(trace, rule, *key, figures, first))
    return Partial(sites)


def judge_piece(piece: Piece, rules: Sequence[Architecture], progress: OnJudged | None = None) -> Partial:
    """What the requests of one piece cost."""
    found = Partial()
    for first, trace in piece():
        found = merge(found, judge(trace, first, rules))
        if progress:
            progress(len(trace))
    return found


def judge_pieces(
    pieces: Iterable[Piece], rules: Sequence[Architecture], progress: OnJudged | None = None
) -> tuple[Conflicts, ...]:
    """What the requests of all pieces cost by each architecture: the same as `replay` of all of them at once.

    Pieces are read and judged on all cores, and only as many of them are in memory. Short traces are judged
    in plain Python, with no numba to load.
    """
    rest = iter(pieces)
    chunks, more = _first(rest)
    if more is None and "banksim.banks.compiled.arrays" not in sys.modules:
        whole = concatenated([trace for _, trace in chunks])
        return tuple(judged(whole, rule) for rule in rules)
    from banksim.system.processes import cores

    found = Partial()
    waiting: deque[Future[Partial]] = deque()
    workers = cores()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for piece in _chain(chunks, more, rest):
                waiting.append(pool.submit(judge_piece, piece, rules, progress))
                if len(waiting) > workers:
                    found = merge(found, waiting.popleft().result())
            for future in waiting:
                found = merge(found, future.result())
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
    return found.conflicts(rules)


def _first(pieces: Iterator[Piece]) -> tuple[list[Chunk], Iterator[Chunk] | None]:
    """The first chunks, as long as they are few requests; then the rest of that piece, or None if that is all."""
    chunks: list[Chunk] = []
    requests = 0
    for piece in pieces:
        rest = iter(piece())
        for first, trace in rest:
            chunks.append((first, trace))
            requests += len(trace)
            if requests > SMALL:
                return chunks, rest
    return chunks, None


def _chain(chunks: list[Chunk], more: Iterator[Chunk] | None, rest: Iterator[Piece]) -> Iterator[Piece]:
    """All that is left to do; chunks are let go of one by one."""
    while chunks:
        chunk = chunks.pop(0)
        yield lambda chunk=chunk: [chunk]  # type: ignore[misc]
    if more is not None:
        yield lambda: more
    yield from rest
