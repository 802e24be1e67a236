"""A struct that is passed to a kernel by value, with arrays' addresses inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from banksim.errors import InputError

POINTER = 8
"""Bytes of an address."""


class Struct:
    """A C struct as an argument: fields one behind the other, each aligned as C aligns it.

    An array is a pointer to it, None a null pointer, a NumPy scalar itself, another Struct lies inside, and a tuple is
    a C array of what it holds. Names are for messages. Python's own numbers have no C type: give np.int32(5).

    >>> data = np.zeros(16, np.float32)
    >>> view = Struct(data=data, length=np.int32(16))
    >>> view.size, view.offsets
    (16, (0, 8))
    """

    def __init__(self, /, *values: object, **named: object) -> None:
        self.names = (*(str(number) for number in range(len(values))), *named)
        self.values: tuple[object, ...] = (*values, *named.values())
        self.least = 1
        if not self.values:
            raise InputError("a struct without fields cannot be passed")
        for name, value in zip(self.names, self.values, strict=True):
            alignment(value, name)

    def aligned(self, bytes_: int) -> Struct:
        """The same struct, declared with `alignas(bytes_)`."""
        if bytes_ < 1 or bytes_ & bytes_ - 1:
            raise InputError(f"an alignment of {bytes_} is no power of two")
        found = self.holding(self.values)
        found.least = max(self.least, bytes_)
        return found

    def holding(self, values: Iterable[object]) -> Struct:
        """The same struct with other values."""
        found = object.__new__(Struct)
        found.names, found.values, found.least = self.names, tuple(values), self.least
        return found

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)

    @property
    def align(self) -> int:
        """Bytes that its place is a multiple of."""
        return max(self.least, *(alignment(value, name) for name, value in zip(self.names, self.values, strict=True)))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each field begins."""
        return places(self.values)[0]

    @property
    def size(self) -> int:
        """Bytes, with what C adds at the end."""
        return rounded(places(self.values)[1], self.align)

    def __repr__(self) -> str:
        return f"Struct of {self.size} bytes"


def places(values: Iterable[object]) -> tuple[tuple[int, ...], int]:
    """Where values begin that lie one behind the other, and where the last ends."""
    found, end = [], 0
    for value in values:
        start = rounded(end, alignment(value))
        found.append(start)
        end = start + size_of(value)
    return tuple(found), end


def rounded(offset: int, align: int) -> int:
    return -(-offset // align) * align


def size_of(value: object) -> int:
    """Bytes of a field."""
    if isinstance(value, Struct):
        return value.size
    if isinstance(value, tuple):
        return places(value)[1]
    if isinstance(value, bytes):
        return len(value)
    return value.itemsize if isinstance(value, np.generic) else POINTER


def alignment(value: object, name: str = "") -> int:
    """Bytes that a field's place is a multiple of. `InputError` for what has no C type."""
    if isinstance(value, Struct):
        return value.align
    if isinstance(value, tuple) and value:
        return max(alignment(one, name) for one in value)
    if isinstance(value, bytes):
        return 1
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return max(value.dtype.alignment, 1)
    if value is None or (isinstance(value, np.ndarray) and value.ndim):
        return POINTER
    given = f"{value!r}, a {type(value).__name__}"
    raise InputError(
        f"field {name} of a struct is {given}: give a NumPy scalar such as np.int32(5), an array for its address, "
        "None, a Struct, or a tuple of these"
    )
