"""Triangular factors of square matrices, as LAPACK and cuBLAS's batched functions store them."""

import numpy as np

from banksim.errors import InputError
from banksim.runs.programs.libraries.calls import Array
from banksim.runs.programs.libraries.matrices import Call, as_asked, half, parts, solved


def getrf(c: Call, n: int, a: int, lda: int, pivots: int, info: int) -> None:
    """P · a = L · U in a's place, L with ones on its diagonal; without pivots, no rows are exchanged."""
    rows, failed = factored(c.matrix(a, n, n, lda), exchanges=bool(pivots))
    if pivots:
        c.memory.array(pivots, n, np.int32)[:] = rows
    c.memory.array(info, 1, np.int32)[0] = failed


def factored(matrix: Array, exchanges: bool) -> tuple[list[int], int]:
    """Factors in the matrix' place; the rows that were exchanged, and the first without a pivot (or 0), from 1 on."""
    rows, failed = list[int](), 0
    for k in range(min(matrix.shape)):
        most = k + int(np.abs(parts(matrix[k:, k])).sum(1).argmax()) if exchanges else k
        rows.append(most + 1)
        matrix[[k, most]] = matrix[[most, k]]
        if matrix[k, k] == 0:
            failed = failed or k + 1
        else:
            matrix[k + 1 :, k] /= matrix[k, k]
            matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return rows, failed


def exchanged(c: Call, pivots: int, n: int) -> list[int]:
    rows = [int(row) for row in c.memory.array(pivots, n, np.int32)] if pivots else []
    for row in rows:
        if not 1 <= row <= n:
            raise InputError(f"{c.memory.what}: pivot {row} of {n} rows")
    return rows


def getrs(c: Call, op: int, n: int, nrhs: int, a: int, lda: int, pivots: int, b: int, ldb: int) -> None:
    to = c.matrix(b, n, nrhs, ldb)
    to[:] = solution(c.matrix(a, n, n, lda), exchanged(c, pivots, n), to, op)


def solution(factors: Array, rows: list[int], right: Array, op: int = 0) -> Array:
    """x of op(a) · x = right."""
    lower, upper, found, turned = half(factors, 0, 1), half(factors, 1), right.copy(), op in (1, 2)
    if turned:
        found = solved(as_asked(upper, op), found, upper=False)
        found = solved(as_asked(lower, op), found, upper=True)
    for k, row in sorted(enumerate(rows), reverse=turned):
        found[[k, row - 1]] = found[[row - 1, k]]
    return found if turned else solved(upper, solved(lower, found, upper=False), upper=True)


def getri(c: Call, n: int, a: int, lda: int, pivots: int, to: int, ldc: int, info: int) -> None:
    """The inverse of a matrix by its factors."""
    factors = c.matrix(a, n, n, lda)
    zeros = np.flatnonzero(factors.diagonal() == 0)
    if not zeros.size:
        c.matrix(to, n, n, ldc)[:] = solution(factors, exchanged(c, pivots, n), np.eye(n, dtype=c.dtype))
    c.memory.array(info, 1, np.int32)[0] = zeros[0] + 1 if zeros.size else 0


def matinv(c: Call, n: int, a: int, lda: int, to: int, ldc: int, info: int) -> None:
    matrix = c.matrix(a, n, n, lda).copy()
    rows, failed = factored(matrix, exchanges=True)
    if not failed:
        c.matrix(to, n, n, ldc)[:] = solution(matrix, rows, np.eye(n, dtype=c.dtype))
    c.memory.array(info, 1, np.int32)[0] = failed
