"""Counts: plain numbers, or ranges where the hardware leaves them open, and how well each is founded."""

from collections.abc import Iterable, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

Status = Literal["measured", "Nsight's", "documented", "assumed", "unknown"]
"""What a count rests on: on counters of the hardware; on the figure that Nsight Compute computes from the addresses,
where the hardware's own varies; on NVIDIA's guides; on what nobody has shown; or there is no count."""

Number = TypeVar("Number")


class Range(NamedTuple, Generic[Number]):
    """Both ends of a count that the hardware leaves open (compute capability 1.x)."""

    low: Number
    high: Number


Count = int | Range[int]


def ends(count: Count) -> Range[int]:
    """`count` as a range: a plain number has two equal ends."""
    return count if isinstance(count, Range) else Range(count, count)


def total(counts: list[Count]) -> Count:
    """The sum of counts; a range as soon as one of them is one."""
    if any(isinstance(count, Range) for count in counts):
        return Range(sum(ends(count).low for count in counts), sum(ends(count).high for count in counts))
    return sum(count for count in counts if not isinstance(count, Range))


def total_if_known(counts: Iterable[Count | None]) -> Count | None:
    """The sum of counts; None (withheld) as soon as one of them is unknown."""
    known = []
    for count in counts:
        if count is None:
            return None
        known.append(count)
    return total(known)


def largest(counts: list[Count]) -> Count:
    """The largest of counts, end by end; 0 of none."""
    if any(isinstance(count, Range) for count in counts):
        return Range(max(ends(count).low for count in counts), max(ends(count).high for count in counts))
    return max((ends(count).high for count in counts), default=0)


def fewer(counts: Sequence[int], before: Sequence[int]) -> bool:
    """Whether none of the counts is larger than before, and one at least is smaller."""
    pairs = list(zip(counts, before, strict=True))
    return all(new <= old for new, old in pairs) and any(new < old for new, old in pairs)


def above(count: Count, ideal: int) -> Count:
    """`count` − `ideal`, end by end."""
    return Range(count.low - ideal, count.high - ideal) if isinstance(count, Range) else count - ideal


def plain(value: float | Range[int] | Range[float] | None) -> object:
    """A figure as JSON has it."""
    return value._asdict() if isinstance(value, Range) else value


def per_request(count: Count, requests: int) -> float | Range[float]:
    """The mean count of a request, end by end; `requests` > 0."""
    if isinstance(count, Range):
        return Range(count.low / requests, count.high / requests)
    return count / requests
