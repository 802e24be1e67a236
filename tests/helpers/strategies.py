"""Requests for property tests: random ones, and the shapes that kernels make."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from banksim.architectures.bank_rules import WIDTHS_OF, Architecture, presets
from banksim.requests.copies import destinations, moves, source_banks, with_source
from banksim.requests.kinds import ADDRESSED, BYPASSING, COPIES, FULL_MASK, OP_CODES, OPS

LANES = range(32)
FAMILIES = [arch for name, arch in presets().items() if not name.startswith("sm_")]
RULES = [arch for arch in FAMILIES if arch.name in ("tesla", "fermi", "kepler-4", "kepler-8", "volta", "hopper")]
"""One family for each rule: the others differ in the instructions that they have."""


class Case(NamedTuple):
    """One request, in the order of the arguments of `banks.judge`."""

    address: tuple[int, ...]
    op: str
    width: int
    mask: int


@functools.cache
def kinds(ops: tuple[str, ...] = OPS, arch: Architecture | None = None) -> tuple[tuple[str, int], ...]:
    """Every (op, width) that there is, or whose count is known on `arch`."""
    every = tuple((op, width) for op in ops for width in WIDTHS_OF[op.partition("_x")[0]])
    return every if arch is None else tuple(kind for kind in every if arch.status(*kind) != "unknown")


def active(case: Case) -> list[int]:
    """The lanes whose addresses the request reads."""
    read = case.mask & ADDRESSED[OP_CODES[case.op]]
    return [lane for lane in LANES if read >> lane & 1]


masks = st.one_of(
    st.just(FULL_MASK),
    st.integers(0, FULL_MASK),
    st.lists(st.sampled_from(LANES), max_size=6).map(lambda lanes: sum({1 << lane for lane in lanes})),
    st.sampled_from([0xFFFF, 0xFFFF0000, 0xFF, 0x55555555, 0xAAAAAAAA, 0x33333333, 0x0F0F0F0F, 1, 1 << 31]),
)
"""Sets of active lanes."""


@functools.cache
def numbers(below: int, count: int) -> st.SearchStrategy[list[int]]:
    """So many numbers below a power of two, up to 2¹⁶. They are one draw: many would take most of a test's time."""
    size = 1 + (below > 256)
    drawn = st.binary(min_size=size * count, max_size=size * count)
    return drawn.map(lambda found: (np.frombuffer(found, f">u{size}") & (below - 1)).tolist())


@functools.cache
def permutations(size: int) -> st.SearchStrategy[list[int]]:
    """Of the numbers below `size`; one draw, as above."""
    return numbers(1 << 16, size).map(lambda keys: sorted(range(size), key=keys.__getitem__))


@st.composite
def places(draw: st.DrawFn) -> list[int]:
    """A number for each lane: random ones out of few or many, or an index expression."""
    kind = draw(st.sampled_from(["random", "few", "tile", "grouped", "swizzled", "shuffled"]))
    if kind == "random":
        return draw(numbers(draw(st.sampled_from([8, 64, 512, 4096])), 32))
    if kind == "few":
        some = draw(st.lists(st.integers(0, 1023), min_size=1, max_size=5))
        return [some[number % len(some)] for number in draw(numbers(256, 32))]
    base, step, row = draw(st.integers(0, 200)), draw(st.integers(0, 66)), draw(st.integers(0, 66))
    if kind == "grouped":
        size = draw(st.sampled_from([2, 4, 8, 16]))
        return [base + lane // size * step + lane % size * row for lane in LANES]
    if kind == "swizzled":
        bits = draw(st.integers(0, 31))
        return [base + 32 * lane + (lane & bits ^ row % 32) for lane in LANES]
    columns = draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    tile = [base + lane % columns * step + lane // columns * row for lane in LANES]
    return [tile[lane] for lane in draw(permutations(32))] if kind == "shuffled" else tile


@functools.cache
@st.composite
def cases(draw: st.DrawFn, kinds: tuple[tuple[str, int], ...]) -> Case:
    """A request of one of `kinds`, aligned, within 128 KiB."""
    op, width = draw(st.sampled_from(kinds))
    address = tuple(place * width for place in draw(places()))
    if op in COPIES:
        source = [place * width for place in draw(places())]
        if op in BYPASSING:  # each place from one of its own: otherwise it may matter which lane is the lowest, or no
            turn, odd = draw(st.integers(0, 255)), draw(st.sampled_from([1, 3, 5, 9, 31]))  # count may be known
            source = [(place // width * odd ^ turn) * width for place in address]
        address = of_copy(address, source, width, op)
    return Case(address, op, width, draw(masks))


def of_copy(address: Sequence[int], source: Sequence[int], width: int, op: str) -> tuple[int, ...]:
    return tuple(with_source(address, source, width, op).tolist())


@st.composite
def orders(draw: st.DrawFn, size: int, keep_pairs: bool) -> list[int]:
    """A permutation of the lanes within parts of `size`; one that keeps lanes ^ 1 and ^ 2 together on demand."""
    firsts = range(0, 32, size)
    if keep_pairs:
        flips = [draw(st.integers(0, size - 1)) for _ in firsts]
        return [first + (lane ^ flip) for first, flip in zip(firsts, flips, strict=True) for lane in range(size)]
    return [first + lane for first in firsts for lane in draw(permutations(size))]


def permuted(case: Case, order: Sequence[int]) -> Case:
    """The request with lane i doing what lane `order[i]` did."""
    mask = sum(1 << lane for lane in LANES if case.mask >> order[lane] & 1)
    address = tuple(case.address[lane] for lane in order)
    if case.op in COPIES:
        banks = source_banks(case.address, case.width)
        lines = [move.line if case.op in BYPASSING else 0 for move in moves(case.address)]
        source = [128 * lines[lane] + 4 * banks[lane] for lane in order]
        address = of_copy(destinations(case.op, address), source, case.width, case.op)
    return case._replace(address=address, mask=mask)
