"""Advice on the arrays of a pattern: every layout is judged by replaying every access of the array in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from banksim.advise.patterns.judge import (
    BlockShape,
    DistinctRequests,
    Judged,
    base_of,
    bound,
    cost,
    judge,
    laid_out,
    require_known,
)
from banksim.advise.patterns.layouts import VECTOR, SharedArray, as_declared, layouts, mapping
from banksim.advise.patterns.spelling import Spelling
from banksim.advise.patterns.thread_orders import Mapped, ReadPattern, mappings
from banksim.architectures.bank_rules import Architecture, architectures
from banksim.architectures.occupancy import fits
from banksim.errors import InputError
from banksim.patterns.build import Pattern
from banksim.patterns.inputs import Description, parse
from banksim.patterns.types import dimensions_of, round_up
from banksim.requests.counts import fewer
from banksim.requests.kinds import LANES
from banksim.requests.trace import Trace

MOST_WORK = 100_000_000
"""Requests that are judged for all layouts and architectures together: about a minute."""
WORTH_COMPILING = 10_000
"""From so many requests on, the compiled rule is faster although it has to be loaded."""


@dataclass(frozen=True)
class ArrayAdvice:
    """The layouts of one array that cost less than the one it has, best first.

    `bound`: by architecture the transactions that the same requests take in any layout whatever, at the least.
    `threads`: the array as written, with other orders of the threads by which it costs less.
    `tried`: how many layouts were judged; `breaking` of the others would split or misalign wide accesses,
    `too_large` of them do not fit into shared memory.
    """

    array: SharedArray
    archs: tuple[Architecture, ...]
    requests: int
    bound: tuple[int, ...]
    before: Judged
    better: tuple[Judged, ...]
    threads: tuple[Judged, ...]
    tried: int
    breaking: int
    too_large: int
    different: DistinctRequests = field(repr=False, compare=False)

    @property
    def best(self) -> Judged:
        """The best layout; the present one, if none is better."""
        return self.better[0] if self.better else self.before

    @property
    def is_proven(self) -> bool:
        """Whether no layout can do better than the best: it reaches the bound on every architecture."""
        return self.best.transactions == self.bound

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.better:
            if self.is_proven:
                return "No layout pays: no layout can do better than the one it has."
            return f"No layout pays: none of {self.tried} costs fewer transactions."
        if self.is_proven:
            return "No layout can do better: every request takes the least that any layout allows."
        return f"The best of {self.tried} layouts; it is not proven that no other does better."

    def to_json(self) -> dict[str, object]:
        return {
            "array": self.array.name,
            "architectures": [arch.name for arch in self.archs],
            "requests": self.requests,
            "bound": list(self.bound),
            "before": self.before.to_json(),
            "better": [one.to_json() for one in self.better],
            "threads": [one.to_json() for one in self.threads],
            "tried": self.tried,
            "breaking": self.breaking,
            "too_large": self.too_large,
            "proven": self.is_proven,
            "verdict": self.verdict,
        }


def advise(
    accesses: str | Sequence[str], *, arch: str | Architecture | Sequence[str | Architecture] = "sm_90", **given: Any
) -> tuple[ArrayAdvice, ...]:
    """Advice on each array that `accesses` and `stores` touch, by all architectures together.

    `given`: what else `banksim.pattern` takes, but for indices out of bounds. Give every access of an array: a layout
    that cures one may break another. Raises `InputError`, also where there is too much to try, and `UnknownCountError`
    where an architecture's count of an access is unknown.
    """
    rules = architectures(arch)
    description = Description(accesses, allow_out_of_bounds=False, **given)
    pattern = parse(description)
    trace = pattern.trace()
    arrays = shared_arrays(pattern, trace)
    whole = BlockShape(prod(pattern.threads.block), max((array.base + array.size for array in arrays), default=0))
    described = ReadPattern(description, pattern.threads.block, pattern.threads.loops)
    ordered = [
        (one, {array.name: requests for array, requests in touched(arrays, other.trace())})
        for one in mappings(described)
        if (other := parsed(one))
    ]
    found = tuple(
        advise_array(array, requests, rules, whole, [(one, other[array.name]) for one, other in ordered])
        for array, requests in touched(arrays, trace)
    )
    if not found:
        raise InputError("no access goes to an array that is declared in shared memory")
    return found


def parsed(mapped: Mapped) -> Pattern | None:
    """The pattern with another order of the threads; None if it cannot be written, as where a let hides threadIdx."""
    try:
        return parse(mapped.description)
    except InputError:
        return None


def shared_arrays(pattern: Pattern, trace: Trace) -> list[SharedArray]:
    """The arrays in the order of their addresses; a dynamic one is as long as it is used."""
    found = []
    for variable in pattern.variables.values():
        element, lengths = dimensions_of(variable.type)
        if not lengths:
            continue
        known = [length for length in lengths if length is not None]
        if len(known) < len(lengths):
            row = element.size * int(np.prod(known))
            end = int(trace.address.max(initial=0)) + 1
            known = [max(1, -(-(end - variable.base) // row)), *known]
        found.append(SharedArray(variable.name, variable.base, tuple(known), element))
    return sorted(found, key=lambda array: array.base)


def touched(arrays: Sequence[SharedArray], trace: Trace) -> Iterator[tuple[SharedArray, DistinctRequests]]:
    """Each array that is accessed, with its requests; equal requests of several warps or iterations are there once."""
    lanes = (trace.mask[:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    first = trace.address[np.arange(len(trace)), np.argmax(lanes, axis=1)] if len(trace) else trace.mask
    for array in arrays:
        rows = np.flatnonzero((first >= array.base) & (first < array.base + array.size))
        if not len(rows):
            continue
        # A lane that is not active gets the address of the first active one, so that all are in the array.
        address = np.where(lanes[rows], trace.address[rows], first[rows, None]) - np.uint32(array.base)
        whole = np.column_stack([trace.op[rows], trace.width[rows], trace.mask[rows], address]).astype(np.uint32)
        different, count = np.unique(whole, axis=0, return_counts=True)
        yield (
            array,
            DistinctRequests(
                different[:, 0].astype(np.uint8),
                different[:, 1].astype(np.uint8),
                different[:, 2],
                different[:, 3:].astype(np.int64),
                count.astype(np.int64),
            ),
        )


def advise_array(
    array: SharedArray,
    requests: DistinctRequests,
    archs: tuple[Architecture, ...],
    block: BlockShape,
    ordered: Sequence[tuple[Mapped, DistinctRequests]] = (),
) -> ArrayAdvice:
    """Advice on one array of a block; `ordered`: its requests with other orders of the threads."""
    candidates = list(layouts(array))
    work = len(candidates) * len(requests.times) * len(archs)
    if work > MOST_WORK:
        raise InputError(
            f"`{array.name}`: {len(candidates)} layouts of {len(requests.times):,} different requests are too many "
            f"to try ({work:,}; the limit is {MOST_WORK:,}): give fewer blocks, iterations or architectures"
        )
    if work > WORTH_COMPILING:
        import banksim.banks.compiled.arrays  # noqa: F401  # once it is loaded, `transactions` judges few requests too with it
    require_known(requests, archs)
    before = judge(as_declared(array), array, requests, archs, block)
    assert before is not None
    found, breaking, too_large = [], 0, 0
    for layout in candidates:
        judged = judge(layout, array, requests, archs, block)
        if judged is None:
            breaking += 1
        elif not all(fits(judged.size, block.size, arch) for arch in archs):
            too_large += 1
        else:
            found.append(judged)
    others = [
        judge(
            replace(as_declared(array), name=one.name, spelling=Spelling(one.how, one.how)), array, other, archs, block
        )
        for one, other in ordered
    ]
    better = [one for one in found if fewer(one.transactions, before.transactions)]
    better.sort(key=lambda one: (sum(one.transactions), one.layout.operations, one.bytes))
    return ArrayAdvice(
        array=array,
        archs=archs,
        requests=int(requests.times.sum()),
        bound=tuple(bound(requests, arch) for arch in archs),
        before=before,
        better=tuple(each_once(without_repetition(better), array)),
        threads=tuple(one for one in others if one and fewer(one.transactions, before.transactions)),
        tried=len(found),
        breaking=breaking,
        too_large=too_large,
        different=requests,
    )


def together(advice: Sequence[ArrayAdvice]) -> tuple[tuple[int, ...], int]:
    """Transactions by architecture of all arrays in the best layout of each, one behind the other, and the bytes
    that these take more; `advice` as `advise` gives it."""
    archs = advice[0].archs
    found = [0] * len(archs)
    shift = 0
    for one in advice:
        layout = one.best.layout
        base = base_of(layout, one.array, shift)
        moved = laid_out(layout, one.different)
        assert moved is not None
        for place, arch in enumerate(archs):
            found[place] += int(cost(moved, moved.address + base, arch) @ moved.times)
        shift = round_up(base - one.array.base + layout.size - one.array.size, VECTOR)
    return tuple(found), shift


def without_repetition(better: Sequence[Judged]) -> Iterator[Judged]:
    """Of each kind of layouts (the name up to its numbers), the first of those that cost the same."""
    seen: set[tuple[object, ...]] = set()
    for one in better:
        kind = one.layout.name.partition("<")[0].partition(" of ")[0]
        key = (kind, one.transactions, one.layout.operations)
        if key not in seen:
            seen.add(key)
            yield one


def each_once(better: Iterable[Judged], array: SharedArray) -> Iterator[Judged]:
    """One row for layouts that lay every byte at the same place: the first, under the others' names too."""
    alike: dict[tuple[object, ...], list[Judged]] = {}
    for one in better:
        alike.setdefault(mapping(one.layout, array), []).append(one)
    for first, *others in alike.values():
        also = tuple(other.layout.name for other in others)
        yield replace(first, layout=replace(first.layout, also=also)) if also else first
