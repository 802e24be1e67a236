"""Sparse matrices of cuSPARSE (cuda/libraries/cusparse.c) over NumPy. Products are summed as doubles and rounded once:
sums of floats may differ from cuSPARSE's in the last digits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banksim.errors import InputError, UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED
from banksim.runs.programs.libraries.matrices import Call, sum_of

CSR, CSC, COO = 1, 2, 3
BY_ROWS = 2
INDICES: dict[int, type[np.generic]] = {2: np.int32, 3: np.int64}
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


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    on_device, *rest = words
    if name in ("SpMV", "SpMM"):
        product(memory, on_device, rest)
        return b""
    sparse = Sparse(memory, *rest[:SPARSE_WORDS])
    full = dense(memory, *rest[SPARSE_WORDS:])
    if name == "SparseToDense":
        full[:] = 0
        full[sparse.places()] = sparse.data
        return b""
    rows, columns = np.nonzero(full.T)[::-1] if sparse.form == CSC else np.nonzero(full)
    if sparse.form != COO:
        along, total = (columns, sparse.columns) if sparse.form == CSC else (rows, sparse.rows)
        sparse.begins[:] = np.searchsorted(along, np.arange(total + 1)) + sparse.base
    if name == "DenseToSparse_convert":
        if sparse.form == COO:
            sparse.array(sparse.offsets, sparse.count, sparse.of_offsets)[:] = rows + sparse.base
        sparse.stored_indices()[:] = (rows if sparse.form == CSC else columns) + sparse.base
        sparse.data[:] = full[rows, columns]
        return b""
    return len(rows).to_bytes(8, "little")


def dense(memory: Memory, rows: int, columns: int, leading: int, address: int, kind: int, order: int) -> Array:
    if order == BY_ROWS:
        return memory.matrix(address, columns, rows, leading, STORED[kind]).T
    return memory.matrix(address, rows, columns, leading, STORED[kind])


def product(memory: Memory, on_device: int, words: Sequence[int]) -> None:
    """c = alpha · op(a) · op(b) + beta · c."""
    op, op_of_b, *rest = words
    sparse = Sparse(memory, *rest[4 : 4 + SPARSE_WORDS])
    right, to = (
        dense(memory, *rest[at : at + DENSE_WORDS]) for at in (4 + SPARSE_WORDS, 4 + SPARSE_WORDS + DENSE_WORDS)
    )
    call = Call(memory, on_device, STORED[sparse.kind])
    alpha, beta = (call.scalar(rest[at : at + 2], call.dtype) for at in (0, 2))
    rows, columns = sparse.places()[:: -1 if op else 1]
    values = sparse.data.conj() if op == 2 else sparse.data
    right = (right.conj() if op_of_b == 2 else right).T if op_of_b else right
    found = np.empty(to.shape, np.result_type(call.dtype, np.float64))
    for column in range(to.shape[1]):
        terms = values.astype(found.dtype) * right[columns, column]
        found[:, column] = np.bincount(rows, terms.real, len(to))
        if np.iscomplexobj(terms):
            found[:, column] += 1j * np.bincount(rows, terms.imag, len(to))
    to[:] = sum_of(alpha * found, beta, to)
