"""Which element of which shared array lies at a byte: `tile[3][31]`, where that is known for sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from banksim.requests.trace import Site


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


@dataclass(frozen=True)
class ElementsByLine:
    """The arrays of several kernels, by the file and number of the lines that access them."""

    lines: Mapping[tuple[str, int], Elements]

    def at(self, site: Site) -> Elements:
        """The arrays that an access may reach."""
        return self.lines.get((site.file, site.line), NONE) if site.file and site.line else NONE


NONE = Elements()
"""Nothing is known of the arrays."""
