"""Layouts as CuTe composes them: functions from coordinates to places, counted in elements.

An index is one number: the coordinate of a layout in colexicographic order, the first mode running fastest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError

Numbers = npt.NDArray[np.int64]
Nested = int | tuple["Nested", ...]
"""A shape or a stride: a number, or a tuple of these."""
MOST_ELEMENTS = 1 << 24
"""The most elements of a layout, far above what shared memory holds."""


def leaves(nested: Nested) -> Iterator[int]:
    """The numbers of a shape or a stride, from the left."""
    if isinstance(nested, int):
        yield nested
    else:
        for part in nested:
            yield from leaves(part)


def modes(nested: Nested) -> tuple[Nested, ...]:
    """The outermost modes."""
    return (nested,) if isinstance(nested, int) else nested


def congruent(one: Nested, other: Nested) -> bool:
    """Whether two shapes or strides are nested alike."""
    if isinstance(one, int) or isinstance(other, int):
        return isinstance(one, int) and isinstance(other, int)
    return len(one) == len(other) and all(map(congruent, one, other))


def written(nested: Nested) -> str:
    """As CuTe prints it: `((2,4),8)`."""
    return str(nested) if isinstance(nested, int) else f"({','.join(map(written, nested))})"


def compact(shape: Nested, start: int = 1) -> Nested:
    """The strides of a shape whose elements lie one behind the other, the first mode running fastest."""
    if isinstance(shape, int):
        return start
    found = []
    for mode in shape:
        found.append(compact(mode, start))
        start *= prod(leaves(mode))
    return tuple(found)


@dataclass(frozen=True)
class Strided:
    """`shape:stride`: the coordinates of each mode times its stride."""

    shape: Nested
    stride: Nested

    def at(self, index: Numbers) -> Numbers:
        """The places of indices; beyond the shape, the last mode goes on."""
        pairs = list(zip(leaves(self.shape), leaves(self.stride), strict=True))
        place = np.zeros_like(index)
        for size, stride in pairs[:-1]:
            index, coordinate = np.divmod(index, size)
            place += coordinate * stride
        return place + index * pairs[-1][1]

    def __str__(self) -> str:
        return f"{written(self.shape)}:{written(self.stride)}"


@dataclass(frozen=True)
class Swizzle:
    """CuTe's `Swizzle<bits, base, shift>`: bits from `base` on are xored with those `shift` higher (below 0: lower)."""

    bits: int
    base: int
    shift: int

    def at(self, place: Numbers) -> Numbers:
        source = ((1 << self.bits) - 1) << self.base + max(self.shift, 0)
        taken = place & source
        return place ^ (taken >> self.shift if self.shift >= 0 else taken << -self.shift)

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True)
class Offset:
    """Moves places by a number of elements."""

    elements: int

    def at(self, place: Numbers) -> Numbers:
        return place + self.elements

    def __str__(self) -> str:
        return str(self.elements)


@dataclass(frozen=True)
class Pointer:
    """CuTe's `smem_ptr[16b]`: what stands left of it counts bytes, what stands right of it elements of `bits`."""

    bits: int

    def at(self, place: Numbers) -> Numbers:
        return place * (self.bits // 8)

    def __str__(self) -> str:
        return f"smem_ptr[{self.bits}b](unset)"


@dataclass(frozen=True)
class Called:
    """A layout of another library: called with an index, it gives the place. `shape` is its own."""

    layout: Callable[[int], int]
    shape: Nested

    def at(self, index: Numbers) -> Numbers:
        if index.size and not 0 <= index.min() <= index.max() < prod(leaves(self.shape)):
            raise InputError(f"{self}: an index of {index.max()} is beyond its shape {written(self.shape)}")
        known = np.array([int(self.layout(one)) for one in range(prod(leaves(self.shape)))], np.int64)
        return known[index]

    def __str__(self) -> str:
        return str(self.layout)


Part = Strided | Swizzle | Offset | Pointer | Called


@dataclass(frozen=True)
class Layout:
    """Parts composed as CuTe's `o` does: the last is applied first, and its shape is that of the whole.

    >>> from banksim.layouts import layout
    >>> swizzled = layout("S<3,3,3> o (8,64):(64,1)")
    >>> swizzled(1, 0), swizzled(1)
    (72, 72)
    """

    parts: tuple[Part, ...]

    @property
    def domain(self) -> Strided | Called:
        """The part that has the shape."""
        last = self.parts[-1]
        assert isinstance(last, Strided | Called)
        return last

    @property
    def shape(self) -> Nested:
        """The sizes of the modes."""
        return self.domain.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the outermost modes."""
        return tuple(prod(leaves(mode)) for mode in modes(self.shape))

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return prod(self.sizes)

    @property
    def is_in_bytes(self) -> bool:
        """Whether its places count bytes, not elements."""
        return any(isinstance(part, Pointer) for part in self.parts)

    @property
    def element_bits(self) -> int | None:
        """Bits of an element, where a pointer says so."""
        return next((part.bits for part in self.parts if isinstance(part, Pointer)), None)

    def at(self, index: npt.ArrayLike) -> Numbers:
        """The places of indices."""
        found = np.asarray(index, np.int64)
        for part in reversed(self.parts):
            found = part.at(found)
        return found

    def __call__(self, *coordinate: Any) -> int:
        """The place of a coordinate: an index, or one number or tuple for each mode."""
        whole: Any = coordinate[0] if len(coordinate) == 1 else coordinate
        index = index_of(whole, self.shape)
        if not 0 <= index < self.size:
            raise InputError(f"{self}: the coordinate {whole} is outside of the shape {written(self.shape)}")
        return int(self.at(index))

    def __str__(self) -> str:
        return " o ".join(map(str, self.parts))


def index_of(coordinate: Any, shape: Nested) -> int:
    """The index of a coordinate, any of whose parts may be one number for several modes."""
    if not isinstance(coordinate, Sequence):
        return int(coordinate)
    if isinstance(shape, int) or len(shape) != len(coordinate):
        raise InputError(f"the coordinate {coordinate} does not fit the shape {written(shape)}")
    index, step = 0, 1
    for one, mode in zip(coordinate, shape, strict=True):
        size = prod(leaves(mode))
        at = index_of(one, mode)
        if not 0 <= at < size:
            raise InputError(f"the coordinate {coordinate} is outside of the shape {written(shape)}")
        index += at * step
        step *= size
    return index
