"""What cuSPARSE (cuda/libraries/cusparse_systems.c) makes of sparse matrices: products of two, products of dense ones
at the places of one, the solutions of systems of triangles or three diagonals, and incomplete factors. All is computed
as doubles and rounded once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED
from banksim.runs.programs.libraries.matrices import Call, as_asked, sum_of
from banksim.runs.programs.libraries.sparse_matrices import DENSE_WORDS, SPARSE_WORDS, Sparse, dense

AT_ONCE = 1 << 22
"""Products that are summed at a time."""


def wide(values: Array) -> Array:
    return values.astype(np.result_type(values.dtype, np.float64))


def sums(values: Array, places: Array, count: int) -> Array:
    """The sum of the values of each place."""
    found = np.bincount(places, values.real, count)
    return found + 1j * np.bincount(places, values.imag, count) if np.iscomplexobj(values) else found


# ---- products of sparse matrices
def pairs(a: Sparse, b: Sparse) -> tuple[Array, Array, Array]:
    """Of each product of two values: the place in the result (row · columns + column), and which values they are."""
    rows, inner = a.places()
    _, columns = b.places()
    begins = b.begins.astype(np.int64) - b.base
    each = np.diff(begins)[inner]
    left = np.repeat(np.arange(len(inner)), each)
    right = np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each) + begins[inner][left]
    return rows[left].astype(np.int64) * b.columns + columns[right], left, right


def count_product(memory: Memory, on_device: int, *words: int) -> bytes:
    """How many values a · b has, 0 too where values meet, and of how many products they are made."""
    a, b = Sparse(memory, *words[:SPARSE_WORDS]), Sparse(memory, *words[SPARSE_WORDS:])
    places = pairs(a, b)[0]
    return np.array([len(np.unique(places)), len(places)]).tobytes()


def copy_product(memory: Memory, on_device: int, *words: int) -> bytes:
    """c = alpha · a · b + beta · c, where c has the same places."""
    a, b, c = (Sparse(memory, *words[at : at + SPARSE_WORDS]) for at in range(4, len(words), SPARSE_WORDS))
    call = Call(memory, on_device, STORED[a.kind])
    alpha, beta = (call.scalar(words[at : at + 2], call.dtype) for at in (0, 2))
    where, left, right = pairs(a, b)
    places, each = np.unique(where, return_inverse=True)
    found = sums(wide(a.data)[left] * b.data[right], each, len(places))
    c.begins[:] = np.searchsorted(places // c.columns, np.arange(c.rows + 1)) + c.base
    c.stored_indices()[:] = places % c.columns + c.base
    c.data[:] = sum_of(alpha * found, beta, c.data)
    return b""


def at_places(memory: Memory, on_device: int, op: int, op_of_b: int, *words: int) -> bytes:
    """c = alpha · (op(a) · op(b) at the places of c) + beta · c."""
    c = Sparse(memory, *words[4 : 4 + SPARSE_WORDS])
    a, b = (dense(memory, *words[at : at + DENSE_WORDS]) for at in (4 + SPARSE_WORDS, 4 + SPARSE_WORDS + DENSE_WORDS))
    call = Call(memory, on_device, STORED[c.kind])
    alpha, beta = (call.scalar(words[at : at + 2], call.dtype) for at in (0, 2))
    left, right = wide(as_asked(a, op)), wide(as_asked(b, op_of_b)).T
    rows, columns = c.places()
    step = max(AT_ONCE // max(left.shape[1], 1), 1)
    for first in range(0, c.count, step):
        some = slice(first, first + step)
        found = np.einsum("ij,ij->i", left[rows[some]], right[columns[some]])
        c.data[some] = sum_of(alpha * found, beta, c.data[some])
    return b""


# ---- triangular systems
def solve(memory: Memory, on_device: int, op: int, op_of_b: int, upper: int, unit: int, *words: int) -> bytes:
    """y of op(a) · y = alpha · op(b), where a is one triangle of the matrix that is stored."""
    a = Sparse(memory, *words[2 : 2 + SPARSE_WORDS])
    b, y = (dense(memory, *words[at : at + DENSE_WORDS]) for at in (2 + SPARSE_WORDS, 2 + SPARSE_WORDS + DENSE_WORDS))
    call = Call(memory, on_device, STORED[a.kind])
    rows, columns = a.places()
    values = wide(a.data.conj() if op == 2 else a.data)
    own = rows > columns if not upper else rows < columns
    if op:
        rows, columns, upper = columns, rows, not upper
    diagonal = np.ones(a.rows, values.dtype)
    if not unit:
        diagonal[:] = 0
        diagonal[rows[rows == columns]] = values[rows == columns]
        for row in np.flatnonzero(diagonal == 0)[:1]:
            raise UnsupportedError(f"{memory.what}: no value but 0 on the diagonal of row {row}, counted from 0")
    found = wide(call.scalar(words[:2], call.dtype) * as_asked(b, op_of_b))
    order = np.argsort(rows[own], kind="stable")
    begins = np.searchsorted(rows[own][order], np.arange(a.rows + 1))
    columns, values = columns[own][order], values[own][order]
    for row in range(a.rows)[:: -1 if upper else 1]:
        some = slice(begins[row], begins[row + 1])
        found[row] = (found[row] - values[some] @ found[columns[some]]) / diagonal[row]
    y[:] = found
    return b""


# ---- incomplete factors
def first_without_diagonal(memory: Memory, on_device: int, *words: int) -> bytes:
    """The first row that has no value on the diagonal; -1 where there is none."""
    a = Sparse(memory, *words)
    rows, columns = a.places()
    missing = np.setdiff1d(np.arange(a.rows), rows[rows == columns])
    return int(missing[0] + a.base if len(missing) else -1).to_bytes(8, "little", signed=True)


def factor(memory: Memory, on_device: int, *words: int) -> bytes:
    """l · u = a at the places of a, in its memory; and the first row whose pivot is missing or 0."""
    a = Sparse(memory, *words)
    a.places()
    begins, columns, data = (a.begins - a.base).tolist(), (a.stored_indices() - a.base).tolist(), wide(a.data)
    upper: list[dict[int, int]] = []
    first = -1
    for row in range(a.rows):
        own = {columns[at]: at for at in range(begins[row], begins[row + 1])}
        for column in sorted(c for c in own if c < row):
            above = upper[column]
            data[own[column]] /= data[above[column]] if column in above else 0
            for other, at in above.items():
                if other > column and other in own:
                    data[own[other]] -= data[own[column]] * data[at]
        upper.append({c: at for c, at in own.items() if c >= row})
        if first < 0 and (row not in own or data[own[row]] == 0):
            first = row + a.base
    a.data[:] = data
    return first.to_bytes(8, "little", signed=True)


def symmetric_factor(memory: Memory, on_device: int, *words: int) -> bytes:
    """l · lᴴ = a at the places of a's lower triangle, in its memory; and the first row whose pivot is missing or not
    above 0. One H200's cuSPARSE goes on behind it: by 1 for one that is missing, by the root of its magnitude for one
    below 0; and it makes NaN of what it divides by an infinite one."""
    a = Sparse(memory, *words)
    rows, columns = a.places()
    if ((np.diff(columns) <= 0) & (np.diff(rows) == 0)).any():
        raise UnsupportedError(f"{memory.what}: a row whose columns do not rise")
    data, places = wide(a.data), columns.tolist()
    begins = (a.begins - a.base).tolist()
    lower: list[dict[int, complex]] = []
    first = -1
    for row in range(a.rows):
        own: dict[int, complex] = {}
        for at in range(begins[row], begins[row + 1]):
            column = places[at]
            if column > row:
                break
            above = lower[column] if column < row else own
            own[column] = data[at] - sum(value * np.conj(above[k]) for k, value in own.items() if k in above)
            if column < row:
                pivot = above.get(column, 1)
                own[column] = own[column] / pivot if np.isfinite(pivot) else np.nan
            else:
                first = row + a.base if first < 0 and not own[row].real > 0 else first
                own[row] = np.sqrt(abs(own[row].real))
            data[at] = own[column]
        first = row + a.base if first < 0 and row not in own else first
        lower.append(own)
    a.data[:] = data
    return first.to_bytes(8, "little", signed=True)


# ---- systems of three diagonals
def three_diagonals(pivots: bool, memory: Memory, on_device: int, kind: int, *words: int) -> bytes:
    """x of a · x = b in place of b, for `count` matrices a and `n` columns b each."""
    m, n, count, stride, *diagonals, right, leading = words
    dtype = STORED[kind]
    step = stride * np.dtype(dtype).itemsize
    for one in range(count):
        lower, middle, upper = (wide(memory.array(at + one * step, m, dtype)) for at in diagonals)
        if not pivots and (abs(middle) < np.append(0, abs(lower[1:])) + np.append(abs(upper[:-1]), 0)).any():
            raise UnsupportedError(f"{memory.what}: without pivots, of a matrix whose diagonal is less than the others")
        to = memory.matrix(right + one * step, m, n, leading, dtype)
        rows = [*wide(to)] if n > 1 else wide(to)[:, 0].tolist() if n else [0.0] * m
        solved = solved_diagonals(memory.what, [lower.tolist(), middle.tolist(), upper.tolist()], rows)
        to[:] = np.array(solved).reshape(m, -1)
    return b""


def solved_diagonals(what: str, diagonals: Sequence[list[complex]], right: list[Any]) -> list[Any]:
    """The rows of x, from those of b: by Gauss' elimination, which exchanges neighbouring rows where that gives the
    larger pivot."""
    lower, middle, upper = diagonals
    beyond: list[complex] = [0.0] * len(middle)
    for row in range(len(middle) - 1):
        below = row + 1
        if abs(lower[below]) > abs(middle[row]):
            middle[row], lower[below] = lower[below], middle[row]
            upper[row], middle[below] = middle[below], upper[row]
            beyond[row], upper[below] = upper[below], 0.0
            right[row], right[below] = right[below], right[row]
        if middle[row] == 0:
            break
        factor = lower[below] / middle[row]
        middle[below] -= factor * upper[row]
        upper[below] -= factor * beyond[row]
        right[below] = right[below] - factor * right[row]
    if 0 in middle:
        raise UnsupportedError(f"{what}: what it makes of a singular matrix is not known")
    upper[-1] = beyond[-2] = 0.0
    for row in reversed(range(len(middle))):
        later = [*right[row + 1 : row + 3], 0.0, 0.0]
        right[row] = (right[row] - upper[row] * later[0] - beyond[row] * later[1]) / middle[row]
    return right


COMPUTE: dict[str, Callable[..., bytes]] = {
    "SpGEMM_workEstimation": count_product,
    "SpGEMM_copy": copy_product,
    "SDDMM": at_places,
    "SpSV": solve,
    "SpSM": solve,
    "csrilu02_analysis": first_without_diagonal,
    "csrilu02": factor,
    "csric02": symmetric_factor,
    "gtsv2": partial(three_diagonals, True),
    "gtsv2_nopivot": partial(three_diagonals, False),
}
