"""Sparse vectors of cuSPARSE, and its older conversions (cuda/libraries/cusparse_vectors.c)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from banksim.errors import InputError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED
from banksim.runs.programs.libraries.matrices import Call, sum_of
from banksim.runs.programs.libraries.sparse_matrices import CSR, INT32, SPARSE_WORDS, Sparse


def of_vectors(name: str, memory: Memory, on_device: int, *words: int) -> bytes:
    sparse = Sparse(memory, *words[4 : 4 + SPARSE_WORDS])
    call = Call(memory, on_device, STORED[sparse.kind])
    x, y = sparse.data, memory.array(words[-1], sparse.rows, call.dtype)
    at = sparse.stored_indices() - sparse.base
    for outside in at[(at < 0) | (at >= sparse.rows)][:1]:
        raise InputError(f"{memory.what}: place {outside} of {sparse.rows}, counted from 0")
    if name == "SpVV":
        left = x.conj() if words[1] == 2 else x
        return call.result((left.astype(np.result_type(left.dtype, np.float64)) * y[at]).sum(), words[0])
    if name == "Gather":
        x[:] = y[at]
    elif name == "Scatter":
        y[at] = x
    else:
        one, other = (call.scalar(words[n : n + 2], call.dtype) for n in (0, 2))
        if name == "Axpby":
            y[:] = sum_of(np.zeros_like(y), other, y)
            y[at] += one * x
        else:
            x[:], y[at] = one * x + other * y[at], one * y[at] - other * x
    return b""


def nonzeros(memory: Memory, on_device: int, to: int, by: int, *words: int) -> bytes:
    """Of a matrix by columns: how many values of each row (or column) are not 0, and how many are."""
    *matrix, kind, each = words
    rows, columns, leading, address = matrix
    found = np.count_nonzero(memory.matrix(address, rows, columns, leading, STORED[kind]), axis=0 if by else 1)
    memory.array(each, len(found), np.int32)[:] = found
    return Call(memory, on_device, np.int32).result(found.sum(), to)


# ---- conversions
def rows_to_columns(memory: Memory, *words: int) -> None:
    rows, columns, count, values, offsets, indices, turned, begins, to, kind, action, base = words
    a = Sparse(memory, CSR, rows, columns, count, offsets, indices, values, INT32, INT32, base, kind)
    row, column = a.places()
    order = np.argsort(column, kind="stable")
    memory.array(begins, columns + 1, np.int32)[:] = np.searchsorted(column[order], np.arange(columns + 1)) + base
    memory.array(to, count, np.int32)[:] = row[order] + base
    if action:
        memory.array(turned, count, STORED[kind])[:] = a.data[order]


def rows_begin(memory: Memory, rows: int, count: int, size: int, to: int, base: int) -> None:
    found = memory.array(rows, count, np.int32) - base
    memory.array(to, size + 1, np.int32)[:] = np.searchsorted(found, np.arange(size + 1)) + base


def rows_of_each(memory: Memory, offsets: int, count: int, size: int, to: int, base: int) -> None:
    memory.array(to, count, np.int32)[:] = row_numbers(memory, offsets, count, size) + base


def row_numbers(memory: Memory, offsets: int, count: int, size: int) -> Array:
    begins = memory.array(offsets, size + 1, np.int32)
    if (begins[1:] < begins[:-1]).any() or begins[-1] - begins[0] != count:
        raise InputError(f"{memory.what}: offsets that do not rise by {count} values")
    return np.repeat(np.arange(size), np.diff(begins))


def sort_rows(memory: Memory, size: int, count: int, offsets: int, columns: int, permutation: int, base: int) -> None:
    found = memory.array(columns, count, np.int32)
    sort(memory, np.lexsort((found, row_numbers(memory, offsets, count, size))), (found,), permutation)


def sort_places(memory: Memory, count: int, first: int, second: int, permutation: int) -> None:
    places = tuple(memory.array(address, count, np.int32) for address in (first, second))
    sort(memory, np.lexsort(places[::-1]), places, permutation)


def sort(memory: Memory, order: Array, arrays: Sequence[Array], permutation: int) -> None:
    if permutation:
        arrays = (*arrays, memory.array(permutation, len(order), np.int32))
    for one in arrays:
        one[:] = one[order]


def identity(memory: Memory, count: int, to: int) -> None:
    memory.array(to, count, np.int32)[:] = np.arange(count)


def converted(function: Callable[..., None], memory: Memory, on_device: int, *words: int) -> bytes:
    function(memory, *words)
    return b""


CONVERSIONS: dict[str, Callable[..., None]] = {
    "Csr2cscEx2": rows_to_columns,
    "Xcoo2csr": rows_begin,
    "Xcsr2coo": rows_of_each,
    "Xcsrsort": sort_rows,
    "XcoosortByRow": sort_places,
    "XcoosortByColumn": sort_places,
    "CreateIdentityPermutation": identity,
}
COMPUTE: dict[str, Callable[..., bytes]] = {
    "nnz": nonzeros,
    **{name: partial(of_vectors, name) for name in ("SpVV", "Gather", "Scatter", "Axpby", "Rot")},
    **{name: partial(converted, function) for name, function in CONVERSIONS.items()},
}
