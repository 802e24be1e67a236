"""Which element of which shared array lies at a byte: `tile[3][31]`, where that is known for sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from banksim.requests.trace import Site

if TYPE_CHECKING:
    from banksim.layouts.algebra import Numbers


@dataclass(frozen=True)
class Placed:
    """An array at byte `base` of shared memory: its lengths, outermost first, and the bytes of an element. One
    without lengths goes on to the end of shared memory."""

    name: str
    base: int
    lengths: tuple[int, ...]
    size: int

    @property
    def end(self) -> float:
        return self.base + prod(self.lengths) * self.size if self.lengths else float("inf")

    def element(self, byte: int) -> tuple[int, ...]:
        """The indices of the element at a byte of shared memory."""
        at = (byte - self.base) // self.size
        found: list[int] = []
        for length in self.lengths[:0:-1]:
            at, last = divmod(at, length)
            found.append(last)
        return at, *reversed(found)


@dataclass(frozen=True)
class Elements:
    """The arrays of a kernel or a pattern; `pythonic`: indices as Numba writes them."""

    arrays: tuple[Placed, ...] = ()
    pythonic: bool = False

    def at(self, site: Site) -> Elements:
        """The arrays that an access may reach."""
        return self

    def named(self, byte: int, width: int) -> str:
        """The elements that `width` bytes from `byte` on hold; "" where nobody knows."""
        for array in self.arrays:
            if array.base <= byte and byte + width <= array.end:
                first, last = array.element(byte), array.element(byte + width - 1)
                written = self.written(array.name, first)
                return written if first == last else f"{written} … {self.written(array.name, last)}"
        return ""

    def written(self, name: str, index: Sequence[int]) -> str:
        return f"{name}[{', '.join(map(str, index))}]" if self.pythonic else name + "".join(f"[{i}]" for i in index)


@dataclass(frozen=True, eq=False)
class MovedElements(Elements):
    """Elements that lie elsewhere, by the names that they have as declared: piece n of them is at piece `places[n]`.
    A piece has `unit` bytes."""

    places: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    unit: int = 1

    def named(self, byte: int, width: int) -> str:
        ends = [np.flatnonzero(self.places == at // self.unit) for at in (byte, byte + width - 1)]
        if not all(map(len, ends)):
            return ""
        first, last = (Elements.named(self, int(end[0]) * self.unit, 1) for end in ends)
        return first if first == last else f"{first} … {last}"


@dataclass(frozen=True, eq=False)
class Coordinates(MovedElements):
    """Elements of a layout, by their coordinates; `reverse`: the first is the fastest, as CuTe has it, and the arrays
    have their lengths the other way round."""

    reverse: bool = False

    def written(self, name: str, index: Sequence[int]) -> str:
        return f"({','.join(map(str, index[::-1] if self.reverse else index))})"


@dataclass(frozen=True)
class ElementsByLine:
    """The arrays of several kernels, by the file and number of the lines that access them."""

    lines: Mapping[tuple[str, int], Elements]

    def at(self, site: Site) -> Elements:
        """The arrays that an access may reach."""
        return self.lines.get((site.file, site.line), NONE) if site.file and site.line else NONE


NONE = Elements()
"""Nothing is known of the arrays."""
