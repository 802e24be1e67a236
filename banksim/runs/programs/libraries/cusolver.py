"""cuSOLVER's functions for dense matrices (cuda/libraries/cusolver.c) over NumPy. The last digits differ from NVIDIA's,
and so may the signs of eigenvectors and singular vectors, which are not determined."""

from collections.abc import Callable, Sequence

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.cublas import TYPES
from banksim.runs.programs.libraries.factors import exchanged, factored, solution
from banksim.runs.programs.libraries.matrices import Call, half, put_half, solved, whole

REAL: dict[type[np.generic], type[np.generic]] = {np.complex64: np.float32, np.complex128: np.float64}

ENOUGH_SWEEPS = 15
"""How many of Jacobi's sweeps are enough: from about the sixth on, each squares what is left beside the diagonal."""


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Compute a function such as `Sgetrf`. Its last word is where it says, for each matrix, whether it
    failed: at 0 it did not."""
    *rest, info = words
    call = Call(memory, 0, TYPES[name[0]])
    try:
        failed = COMPUTED_BY[name[1:]](call, *rest)
    except np.linalg.LinAlgError as error:
        raise UnsupportedError(f"{memory.what}: {error}: what cuSOLVER makes of such a matrix is not known") from None
    of_each = np.atleast_1d(0 if failed is None else failed)
    memory.array(info, len(of_each), np.int32)[:] = of_each
    return b""


def getrf(c: Call, m: int, n: int, a: int, lda: int, pivots: int) -> int:
    rows, failed = factored(c.matrix(a, m, n, lda), exchanges=bool(pivots))
    if pivots:
        c.memory.array(pivots, len(rows), np.int32)[:] = rows
    return failed


def getrs(c: Call, op: int, n: int, nrhs: int, a: int, lda: int, pivots: int, b: int, ldb: int) -> None:
    to = c.matrix(b, n, nrhs, ldb)
    to[:] = solution(c.matrix(a, n, n, lda), exchanged(c, pivots, n), to, op)


def potrf(c: Call, uplo: int, n: int, a: int, lda: int) -> int:
    """a = L · Lᴴ, or Uᴴ · U. Where a minor is not positive, its order is returned, and the factor ends before it."""
    matrix = c.matrix(a, n, n, lda)
    factor = half(matrix, uplo)
    factor = factor.conj().T.copy() if uplo else factor
    failed = 0
    for k in range(n):
        pivot = factor[k, k].real
        if not pivot > 0:
            failed = k + 1
            break
        factor[k:, k] /= np.sqrt(pivot)
        rest = factor[k + 1 :, k]
        factor[k + 1 :, k + 1 :] -= np.outer(rest, rest.conj())
    put_half(matrix, factor.conj().T if uplo else factor, uplo)
    return failed


def potrs(c: Call, uplo: int, n: int, nrhs: int, a: int, lda: int, b: int, ldb: int) -> None:
    factor, to = half(c.matrix(a, n, n, lda), uplo), c.matrix(b, n, nrhs, ldb)
    lower = factor.conj().T if uplo else factor
    to[:] = solved(lower.conj().T, solved(lower, to, upper=False), upper=True)


def geqrf(c: Call, m: int, n: int, a: int, lda: int, tau: int) -> None:
    matrix = c.matrix(a, m, n, lda)
    reflectors, factors = np.linalg.qr(matrix, mode="raw")
    matrix[:] = reflectors.T
    c.memory.array(tau, min(m, n), c.dtype)[:] = factors


def reflected(c: Call, a: Array, tau: int, op: int, to: Array) -> None:
    """to = op(Q) · to, where Q is the product of the reflectors below the diagonal of `a`."""
    factors = c.memory.array(tau, a.shape[1], c.dtype)
    order = range(len(factors)) if op else reversed(range(len(factors)))
    for k in order:
        vector = np.concatenate([np.zeros(k, c.dtype), np.ones(1, c.dtype), a[k + 1 :, k]])
        factor = factors[k].conj() if op else factors[k]
        to -= factor * np.outer(vector, vector.conj() @ to)


def orgqr(c: Call, m: int, n: int, k: int, a: int, lda: int, tau: int) -> None:
    matrix, made = c.matrix(a, m, n, lda), np.eye(m, n, dtype=c.dtype)
    reflected(c, matrix[:, :k].copy(), tau, 0, made)
    matrix[:] = made


def ormqr(
    c: Call, side: int, op: int, m: int, n: int, k: int, a: int, lda: int, tau: int, to: int, ldc: int
) -> None:  # fmt: skip
    given, result = c.matrix(a, n if side else m, k, lda), c.matrix(to, m, n, ldc)
    if not side:
        reflected(c, given, tau, op, result)
    else:  # c · op(Q) is the adjoint of op(Q)ᴴ · cᴴ
        turned = result.conj().T.copy()
        reflected(c, given, tau, 0 if op else 2, turned)
        result[:] = turned.conj().T


def gesvd(
    c: Call, of_u: int, of_v: int, m: int, n: int, a: int, lda: int, s: int, u: int, ldu: int, v: int, ldv: int
) -> None:  # fmt: skip
    matrix, jobs = c.matrix(a, m, n, lda), (chr(of_u), chr(of_v))
    left, values, right = np.linalg.svd(matrix, full_matrices=jobs[0] == "A")
    c.memory.array(s, n, REAL.get(c.dtype, c.dtype))[:] = values
    if jobs[0] in "AS":
        columns = m if jobs[0] == "A" else n
        c.matrix(u, m, columns, ldu)[:] = left[:, :columns]
    if jobs[1] in "AS":
        c.matrix(v, n, n, ldv)[:] = right
    if jobs[0] == "O":
        matrix[:] = left[:, :n]
    elif jobs[1] == "O":
        matrix[:n] = right


def syevd(c: Call, mode: int, uplo: int, n: int, a: int, lda: int, w: int) -> None:
    matrix = c.matrix(a, n, n, lda)
    values, vectors = np.linalg.eigh(whole(matrix, uplo, hermitian=True))
    c.memory.array(w, n, REAL.get(c.dtype, c.dtype))[:] = values
    if mode:
        matrix[:] = vectors


def syevj(
    c: Call, mode: int, uplo: int, n: int, a: int, lda: int, w: int, sweeps: int, in_order: int, count: int
) -> Array:  # fmt: skip
    """Of `count` matrices, one behind the other, by Jacobi's method, which is given a most number of sweeps."""
    if sweeps < ENOUGH_SWEEPS:
        raise UnsupportedError(
            f"{c.memory.what}: whether {sweeps} sweeps are enough is not known: allow {ENOUGH_SWEEPS}"
        )
    if not in_order:
        raise UnsupportedError(f"{c.memory.what}: the order of eigenvalues that are not sorted is not known")
    number, value = np.dtype(c.dtype).itemsize, np.dtype(REAL.get(c.dtype, c.dtype)).itemsize
    for k in range(count):
        syevd(c, mode, uplo, n, a + k * n * lda * number, lda, w + k * n * value)
    return np.zeros(max(count, 0), np.int32)


def sygvd(
    c: Call, kind: int, mode: int, uplo: int, n: int, a: int, lda: int, b: int, ldb: int, w: int
) -> int:  # fmt: skip
    """a · x = λ · b · x (kind 1), a · b · x = λ · x (2) or b · a · x = λ · x (3); `b` is left as its factor."""
    if failed := potrf(c, uplo, n, b, ldb):
        return n + failed
    matrix, factor = c.matrix(a, n, n, lda), half(c.matrix(b, n, n, ldb), uplo)
    lower = factor.conj().T if uplo else factor
    given = whole(matrix, uplo, hermitian=True)
    if kind == 1:
        right = solved(lower, given, upper=False).conj().T
        plain = solved(lower, right, upper=False)
    else:
        plain = lower.conj().T @ given @ lower
    values, vectors = np.linalg.eigh(plain)
    c.memory.array(w, n, REAL.get(c.dtype, c.dtype))[:] = values
    if mode:
        matrix[:] = lower @ vectors if kind == 3 else solved(lower.conj().T, vectors, upper=True)
    return 0


COMPUTED_BY: dict[str, Callable[..., int | Array | None]] = {
    one.__name__: one for one in (getrf, getrs, potrf, potrs, geqrf, orgqr, ormqr, gesvd, syevd, syevj, sygvd)
}
"""By the functions' names without their types."""
