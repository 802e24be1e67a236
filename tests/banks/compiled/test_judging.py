"""Judging piece by piece is judging all at once: whether requests are alike or not, in any order."""

import json
import random
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace as changed
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banksim.architectures.bank_rules import Architecture, architecture, presets
from banksim.banks import pieces as partial
from banksim.banks.conflicts import Conflicts, merge, repeated, worse
from banksim.banks.pieces import Partial, judge, judge_pieces, replay
from banksim.errors import InputError
from banksim.requests.counts import Range
from banksim.requests.kinds import FULL_MASK
from banksim.requests.trace import Trace
from helpers.traces import KINDS, SITES, random_trace

FAMILIES = [arch for name, arch in presets().items() if not name.startswith("sm_")]
COMMON = [("ld", 4), ("st", 8), ("ld", 16), ("atom", 4), ("st", 1)]
KNOWN = [("ld", 4), ("st", 4)]
"""Kinds that every architecture has."""

traces = st.builds(
    random_trace,
    st.integers(0, 1 << 32),
    st.integers(1, 400),
    st.just(COMMON),
    st.just(SITES),
    st.sampled_from([0, 1, 5, 40]),
)
rules = st.lists(st.sampled_from(["fermi", "kepler-4", "kepler-8", "sm_90"]).map(architecture), min_size=1, max_size=2)


def text(judged: object) -> str:
    return json.dumps([one.to_json() for one in judged])  # type: ignore[attr-defined]


def cut(trace: Trace, places: list[int]) -> list[tuple[int, Trace]]:
    """The trace in chunks, each with the number of its first request."""
    names = ("site", "block", "warp", "op", "width", "mask", "address", "epoch")
    edges = sorted({0, len(trace), *(place % (len(trace) + 1) for place in places)})
    return [
        (first, Trace(**{name: getattr(trace, name)[first:last] for name in names}, sites=trace.sites))
        for first, last in pairwise(edges)
    ]


@settings(max_examples=40)
@given(traces, rules, st.lists(st.integers(0, 1000), max_size=6), st.randoms(use_true_random=False))
def test_pieces_in_any_order_are_the_whole(
    trace: Trace, rules: list[Architecture], places: list[int], order: random.Random
) -> None:
    parts = [judge(chunk, first, rules) for first, chunk in cut(trace, places)]
    order.shuffle(parts)
    while len(parts) > 1:
        a, b = parts.pop(order.randrange(len(parts))), parts.pop(order.randrange(len(parts)))
        parts.append(partial.merge(a, b))
    assert text(parts[0].conflicts(rules)) == text([replay(trace, rule) for rule in rules])


@pytest.mark.parametrize("rule", FAMILIES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("different", [0, 30])
def test_requests_that_are_alike_are_judged_as_others_are(rule: Architecture, different: int) -> None:
    kinds = [kind for kind in KINDS if not rule.missing(*kind)]
    trace = random_trace(different, 6000, kinds, alike=different)
    rules = [rule, architecture("sm_52")]
    assert text(judge(trace, 0, rules).conflicts(rules)) == text([replay(trace, one) for one in rules])


# ---- the sum of conflicts
def analyses(rule: str) -> st.SearchStrategy[Conflicts]:
    kinds = COMMON if rule != "tesla" else KNOWN
    return st.builds(
        lambda seed, requests, sites: replay(random_trace(seed, requests, kinds, SITES[:sites]), rule),
        st.integers(0, 1 << 32),
        st.integers(0, 30),
        st.integers(1, 5),
    )


def as_set(found: Conflicts) -> object:
    return found.arch, Counter(found.sites)


@settings(max_examples=60)
@given(st.sampled_from(["sm_90", "kepler-8", "tesla"]).flatmap(lambda rule: st.tuples(*[analyses(rule)] * 3)))
def test_merge_is_associative_and_commutative(found: tuple[Conflicts, Conflicts, Conflicts]) -> None:
    a, b, c = found
    assert as_set(merge(merge(a, b), c)) == as_set(merge(a, merge(b, c)))
    assert as_set(merge(a, b)) == as_set(merge(b, a))
    assert as_set(merge(a, Conflicts(a.arch, ()))) == as_set(a)
    assert as_set(repeated(a, 5)) == as_set(reduce(merge, [a] * 5))


@given(st.integers(0, 99), st.integers(1, 60), st.integers(1, 60), st.sampled_from(["sm_90", "tesla"]))
def test_merge_is_the_analysis_of_both(seed: int, first: int, then: int, rule: str) -> None:
    sites = SITES[:3]
    whole = random_trace(seed, first + then, KNOWN, sites)
    parts = [replay(chunk, rule) for _, chunk in cut(whole, [first])]
    merged, expected = merge(parts[0], parts[1]), replay(whole, rule)
    figures, wanted = (Counter(changed(site, worst=None) for site in found.sites) for found in (merged, expected))
    assert figures == wanted


def test_merge_says_what_it_does_not_know() -> None:
    one = replay(Trace.from_arrays("ld", 4, 1, [0] * 32), "sm_90")
    assert merge(one, one).sites[0].requests == 2
    unknown = replay(Trace.from_arrays("cp_async_gather", 16, 1, [0] * 32), "sm_90")
    assert merge(unknown, unknown).transactions is None
    with pytest.raises(InputError, match="sm_90 and kepler-4: only conflicts by the same"):
        merge(one, replay(Trace.from_arrays("ld", 4, 1, [0] * 32), "kepler-4"))
    tesla = replay(Trace.from_arrays("ld", 4, 3, [0, 64] * 16), "tesla")
    assert isinstance(merge(tesla, tesla).transactions, Range)


def test_of_equal_excess_the_first_request_is_the_worst() -> None:
    column = Trace.from_arrays("ld", 4, FULL_MASK, [[128 * lane for lane in range(32)]] * 2, block=[1, 0], warp=[0, 5])
    both = [replay(chunk).sites[0].worst for _, chunk in cut(column, [1])]
    for pair in (both, both[::-1]):
        found = worse(*pair)
        assert found is not None
        assert (found.block, found.warp) == (0, 5)


# ---- the whole of it
@pytest.mark.parametrize("requests", [0, 1, 8192, 8193, 70_000])
def test_short_and_long_traces(requests: int) -> None:
    trace = random_trace(requests, requests, COMMON)
    rules = [architecture("kepler-4"), architecture("sm_90")]
    progress: list[int] = []
    chunks = cut(trace, [1000, 30_000])
    pieces = [lambda chunk=chunk: [chunk] for chunk in chunks]  # type: ignore[misc]
    found = judge_pieces(pieces, rules, progress=progress.append)
    assert text(found) == text([replay(trace, rule) for rule in rules])


def test_a_large_piece_is_never_held_as_a_whole() -> None:
    chunk = random_trace(1, 9000, COMMON)
    alive = most = 0

    def piece() -> Iterator[tuple[int, Trace]]:
        nonlocal alive, most
        for n in range(40):
            copy = changed(chunk)
            alive += 1
            most = max(most, alive)
            weakref.finalize(copy, died)
            yield n * len(chunk), copy
            del copy

    def died() -> None:
        nonlocal alive
        alive -= 1

    [found] = judge_pieces([piece], [architecture("sm_90")])
    assert found.transactions == 40 * (replay(chunk).transactions or 0)  # type: ignore[operator]
    assert most < 6


def test_an_error_in_a_piece_ends_the_work() -> None:
    def bad() -> list[tuple[int, Trace]]:
        raise InputError("row group 7")

    chunk = random_trace(1, 9000, COMMON)
    pieces = [lambda: [(0, chunk)], lambda: [(9000, chunk)], bad, *[lambda: [(0, chunk)]] * 50]
    with pytest.raises(InputError, match="row group 7"):
        judge_pieces(pieces, [architecture("sm_90")])


def test_nothing_costs_nothing() -> None:
    assert Partial().conflicts([architecture("sm_90")])[0].sites == ()
