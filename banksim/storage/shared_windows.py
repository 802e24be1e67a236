"""From addresses as tracers record them to offsets in a block's shared memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

WINDOW = 1 << 24
"""The size of the generic window of shared memory, in bytes; the window begins at a multiple of it."""


@dataclass(frozen=True)
class Window:
    """The window that addresses are in: `base` is 0 where they are offsets already."""

    base: int

    @classmethod
    def of(cls, addresses: Sequence[int], base: int = 0) -> Window | None:
        """The window of these addresses, if they all lie in one; `base` is where it begins, if that is known."""
        if not addresses:
            return cls(0)
        low, high = min(addresses), max(addresses)
        if high < WINDOW:
            return cls(0)
        begin = base or low // WINDOW * WINDOW
        return cls(begin) if begin <= low and high < begin + WINDOW else None

    def offset(self, address: int) -> int:
        return address - self.base


def left_out(counted: Counter[str]) -> Iterator[str]:
    """A note on the instructions that do not access shared memory, or not for certain."""
    if counted:
        yield f"{sum(counted.values()):,} other instructions left out: {', '.join(described(counted.most_common()))}"


def described(counted: Iterable[tuple[str, int]]) -> Iterator[str]:
    found = list(counted)
    for name, count in found[:6]:
        yield f"{count:,} {name}"
    if len(found) > 6:
        yield f"{sum(count for _, count in found[6:]):,} others"
