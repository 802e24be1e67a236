"""Sparse matrices as programs of cuSPARSE describe them, and dense ones beside them."""

from dataclasses import dataclass

import numpy as np

from banksim.errors import InputError, UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED

CSR, CSC, COO = 1, 2, 3
BY_ROWS = 2
INT32 = 2
INDICES: dict[int, type[np.generic]] = {INT32: np.int32, 3: np.int64}
"""By cusparseIndexType_t."""
SPARSE_WORDS, DENSE_WORDS = 11, 6


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix, field by field as the words of a call. Of CSR and CSC, `offsets` is where each row or column
    begins; of COO, the row of each value."""

    memory: Memory
    form: int
    rows: int
    columns: int
    count: int
    offsets: int
    indices: int
    values: int
    of_offsets: int
    of_indices: int
    base: int
    kind: int

    def array(self, address: int, count: int, index: int) -> Array:
        if index not in INDICES:
            raise UnsupportedError(f"{self.memory.what}: indices of cusparseIndexType_t {index}")
        return self.memory.array(address, count, INDICES[index])

    @property
    def begins(self) -> Array:
        """Where each row (of CSC: column) begins, as stored."""
        return self.array(self.offsets, (self.columns if self.form == CSC else self.rows) + 1, self.of_offsets)

    @property
    def data(self) -> Array:
        return self.memory.array(self.values, self.count, STORED[self.kind])

    def stored_indices(self) -> Array:
        return self.array(self.indices, self.count, self.of_indices)

    def places(self) -> tuple[Array, Array]:
        """The rows and the columns of the values, from 0 on. InputError where one does not lie in the matrix."""
        other = self.stored_indices() - self.base
        if self.form == COO:
            along = self.array(self.offsets, self.count, self.of_offsets) - self.base
        else:
            begins = self.begins - self.base
            if begins[0] != 0 or begins[-1] != self.count or (begins[1:] < begins[:-1]).any():
                raise InputError(f"{self.memory.what}: offsets that do not rise from 0 to {self.count} values")
            along = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        rows, columns = (other, along) if self.form == CSC else (along, other)
        for what, found, size in (("row", rows, self.rows), ("column", columns, self.columns)):
            for outside in found[(found < 0) | (found >= size)][:1]:
                raise InputError(f"{self.memory.what}: {what} {outside} of {size}, counted from 0")
        return rows, columns


def dense(memory: Memory, rows: int, columns: int, leading: int, address: int, kind: int, order: int) -> Array:
    if order == BY_ROWS:
        return memory.matrix(address, columns, rows, leading, STORED[kind]).T
    return memory.matrix(address, rows, columns, leading, STORED[kind])
