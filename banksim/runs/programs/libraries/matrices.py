"""Vectors and matrices as BLAS stores them (by columns, as a triangle, as diagonals, packed), and scalars."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED, number_of, put

Scalar = Any
"""A number of a function's type, or what NumPy made of it."""


class Call:
    """A function's memory and types: of vectors and matrices (`dtype`), and whether its scalars and results are on the
    device."""

    def __init__(self, memory: Memory, on_device: int, dtype: type[np.generic], name: str = "") -> None:
        self.memory, self.on_device, self.dtype = memory, bool(on_device), dtype
        self.hermitian, self.conjugate, self.solves = name.startswith("h"), name.endswith("c"), name[2:3] == "s"
        self.kinds, self.written = dict[int, int](), set[int]()
        """By address, the cudaDataTypes that a call gives of vectors and matrices; and which of them are written to."""
        self.integer: type[np.generic] = np.int32
        """Of places of elements."""
        self.widened = dict[tuple[int, ...], tuple[Array, Array, int]]()

    def scalar(self, words: Sequence[int], dtype: type[np.generic]) -> Scalar:
        """The scalar that two words give: by its bits, or by its address."""
        if self.on_device:
            return self.memory.array(words[0], 1, dtype)[0]
        return np.frombuffer(np.array(words, np.int64).tobytes(), dtype)[0]

    def stored_as(self, address: int) -> npt.DTypeLike:
        return STORED[self.kinds[address]] if address in self.kinds else self.dtype

    def result(self, value: Scalar, address: int, dtype: npt.DTypeLike | None = None) -> bytes:
        kind = self.kinds.get(address)
        to = np.zeros(1, dtype or self.dtype if kind is None else STORED[kind])
        put(to, np.array([value]), kind)
        if self.on_device:
            self.memory.array(address, 1, to.dtype)[:] = to
            return b""
        return to.tobytes()

    def vector(self, address: int, count: int, step: int) -> Array:
        return self.computed(address, self.memory.vector(address, count, step, self.stored_as(address)))

    def matrix(self, address: int, rows: int, columns: int, leading: int) -> Array:
        return self.computed(address, self.memory.matrix(address, rows, columns, leading, self.stored_as(address)))

    def computed(self, address: int, values: Array) -> Array:
        """The values in the type of the computation: themselves, or others that `put_back` stores."""
        if address not in self.kinds or self.stored_as(address) == self.dtype:
            return values
        kind = self.kinds[address]
        if address not in self.written:
            return number_of(values, kind, self.dtype)
        place = address, *values.shape, *values.strides  # x may be y as well
        if place not in self.widened:
            self.widened[place] = values, number_of(values, kind, self.dtype), kind
        return self.widened[place][1]

    def put_back(self) -> None:
        for values, wide, kind in self.widened.values():
            put(values, wide, kind)
        self.widened.clear()

    def band(self, address: int, rows: int, columns: int, below: int, above: int, leading: int) -> Array:
        """A matrix of which only these diagonals are stored, one a row."""
        found = np.zeros((rows, columns), self.dtype)
        rest = self.matrix(address, below + above + 1, columns, leading)
        for column in range(columns):
            first = min(rows, max(0, column - above))  # columns behind the last row have none
            last = min(rows, column + below + 1)
            found[first:last, column] = rest[above - column + first : above - column + last, column]
        return found

    def half_band(self, address: int, size: int, diagonals: int, leading: int, upper: int) -> Array:
        return self.band(address, size, size, *((0, diagonals) if upper else (diagonals, 0)), leading)

    def packed(self, address: int, size: int, upper: int) -> Array:
        """A matrix of which nothing but a triangle is stored, column by column."""
        found = np.zeros((size, size), self.dtype)
        found[packed_places(size, upper)] = self.memory.array(address, size * (size + 1) // 2, self.dtype)
        return found

    def stored(self, address: int, shape: tuple[int, int], leading: int, operation: int) -> Array:
        return stored(self.memory, address, shape, leading, operation, self.dtype)

    def turned(self, matrix: Array) -> Array:
        return as_asked(matrix, 2 if self.hermitian else 1)

    def real_diagonal(self, matrix: Array) -> Array:
        """The matrix; with +0 for the imaginary parts of a Hermitian one's diagonal."""
        return np.where(np.eye(len(matrix), dtype=bool), matrix.real + 0j, matrix) if self.hermitian else matrix

    def both(self, alpha: Scalar, one: Array, other: Array) -> Array:
        """alpha · one · otherᵀ and its transpose (or its adjoint)."""
        first: Array = alpha * (one @ self.turned(other))
        return first + self.turned(first)


def packed_places(size: int, upper: int) -> tuple[Array, Array]:
    """The rows and columns of a packed triangle's values."""
    columns, rows = np.tril_indices(size) if upper else np.triu_indices(size)
    return rows, columns


def parts(values: Array) -> Array:
    """The real numbers that each value is made of, as a row."""
    return np.stack((values.real, values.imag) if np.iscomplexobj(values) else (values,), 1)


def as_asked(matrix: Array, operation: int) -> Array:
    """The matrix, its transpose (1), its adjoint (2), or its conjugate (3)."""
    turned = matrix.T if operation in (1, 2) else matrix
    return turned.conj() if operation in (2, 3) else turned


def stored(
    m: Memory, address: int, shape: tuple[int, int], leading: int, operation: int, dtype: npt.DTypeLike
) -> Array:
    """A matrix of `shape`; if an operation is asked for, its transpose lies in memory."""
    rows, columns = shape[::-1] if operation in (1, 2) else shape
    return as_asked(m.matrix(address, rows, columns, leading, dtype), operation)


def sum_of(product: Scalar, beta: Scalar, before: Array) -> Scalar:
    """product + beta · before. Where beta is 0, what was there before is not read: it may be NaN."""
    return product if beta == 0 else product + beta * before


def half(matrix: Array, upper: int, unit: int = 0) -> Array:
    """Its triangle; with ones on the diagonal if they are not stored."""
    found = np.triu(matrix) if upper else np.tril(matrix)
    if unit:
        np.fill_diagonal(found, 1)
    return found


def whole(matrix: Array, upper: int, hermitian: bool) -> Array:
    """The symmetric or Hermitian matrix of which a triangle is stored."""
    one = half(matrix, upper)
    if hermitian:
        np.fill_diagonal(one, one.diagonal().real)
    other = one.conj().T if hermitian else one.T
    return np.where(np.eye(len(one), dtype=bool), one, one + other)


def put_half(to: Array, values: Array, upper: int) -> None:
    places = np.triu_indices(len(to)) if upper else np.tril_indices(len(to))
    to[places] = values[places]


def solved(triangle: Array, right: Array, upper: bool) -> Array:
    """x of triangle · x = right, row by row."""
    found = right.copy()
    for row in range(len(found))[:: -1 if upper else 1]:
        found[row] /= triangle[row, row]
        rest = slice(0, row) if upper else slice(row + 1, None)
        found[rest] -= np.multiply.outer(triangle[rest, row], found[row])
    return found
