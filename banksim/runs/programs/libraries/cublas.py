"""cuBLAS over NumPy: the functions of cuda/libraries/cublas.c.

The first word of each call tells where its scalars are: 0 for their values in the words, 1 for addresses.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.cublas_names import DATA_TYPES, FUNCTIONS, IN_MEMORY, SCALARS, WIDE, Function, Parameter
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.chains import fused
from banksim.runs.programs.libraries.data_types import EXECUTED, REAL, STORED, number_of
from banksim.runs.programs.libraries.factors import getrf, getri, getrs, matinv
from banksim.runs.programs.libraries.matrices import (
    Call,
    Scalar,
    as_asked,
    half,
    packed_places,
    parts,
    put_half,
    solved,
    sum_of,
    whole,
)
from banksim.runs.programs.libraries.products import PRODUCTS, product, product_of, sum_of_both

TYPES: dict[str, type[np.generic]] = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
OF_THE_CALL = (*DATA_TYPES, "count", "stridea", "stridex", "stridey", "host_info")
"""Parameters that tell which vectors and matrices there are: the functions below, for one of each, lack them."""


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Compute the function `name` (such as `Sgemm` or `GemmEx`) of these words."""
    on_device, *arguments = words
    if {name.removesuffix(WIDE), name[1:].removesuffix(WIDE)} & {*PRODUCTS}:
        return product(memory, on_device, arguments)
    function, given = FUNCTIONS[name], iter(arguments)
    taken = {
        one.name: list(islice(given, 2 * len(one.pointers) * (one.name in SCALARS) or 1)) for one in function.parameters
    }
    plain = {one: first for one, (first, *_) in taken.items()}
    if any(one.written and plain.get(f"inc{one.name}") == 0 for one in function.parameters):
        raise UnsupportedError(f"{memory.what}: writes to a vector whose elements are one: which stays is not known")
    call = Call(memory, on_device, computed_as(memory, function, plain), function.base)
    call.integer = np.int64 if name.endswith(WIDE) else np.int32
    for one in function.parameters:
        if one.typed and one.name in IN_MEMORY:
            call.kinds[plain[one.name]] = plain[one.typed]
            call.written |= {plain[one.name]} if one.written else set()

    def value(one: Parameter, number: int) -> Scalar:
        """The value of a parameter for one of several matrices."""
        if one.name in SCALARS:
            if one.typed:
                kind = plain[one.typed]
                return number_of(np.array(call.scalar(taken[one.name], STORED[kind])), kind, call.dtype)
            pairs = np.reshape(taken[one.name], (-1, 2)).tolist()
            found = [call.scalar(pair, TYPES[one.kind]) for pair in pairs]
            return found if len(found) > 1 else found[0]
        word = plain[one.name]
        if one.each:
            return int(memory.array(word, number + 1, np.int64)[number])
        steps = {"pivots": 4 * plain.get("n", 0), "info": 4}
        step = steps.get(one.name, plain.get(f"stride{one.name}", 0) * np.dtype(call.dtype).itemsize)
        return word + number * step if word else word

    answer = b""
    for number in range(plain.get("count", 1)):
        values = [value(one, number) for one in function.parameters if one.name not in OF_THE_CALL]
        found = COMPUTED_BY[function.base](call, *values)
        call.put_back()
        answer = found if isinstance(found, bytes) else answer
        if isinstance(found, list):
            places = np.reshape([word for one in function.results for word in taken[one.name]], (-1, 2))[:, 0]
            kinds = [TYPES[one.kind] for one in function.results for _ in one.pointers]
            results = zip(found, places.tolist(), kinds, strict=True)
            answer = b"".join(call.result(*one).ljust(16, b"\0") for one in results)
    return answer


def computed_as(memory: Memory, function: Function, plain: dict[str, int]) -> type[np.generic]:
    """The type in which a function computes. UnsupportedError if the types that it is given do not go together."""
    if not any(one.typed for one in function.parameters):
        return TYPES[function.kind]
    kind = plain["tx"]
    run = EXECUTED.get(kind, -1)
    like_it = {kind, run, REAL.get(run)}
    given = [word for name, word in plain.items() if name in DATA_TYPES]
    wanted = TYPES.get(function.kind, STORED.get(run))
    if run < 0 or plain.get("ty", kind) != kind or not like_it.issuperset(given) or wanted != STORED[run]:
        raise UnsupportedError(f"{memory.what}: there is none of cudaDataType {', '.join(map(str, given))}")
    return STORED[run]


# ---- vectors. The parameters are those of the table in cublas_names.py.
def axpy(c: Call, n: int, alpha: Scalar, x: int, incx: int, y: int, incy: int) -> None:
    to = c.vector(y, n, incy)
    to[:] = fused(alpha, c.vector(x, n, incx), to)


def copy(c: Call, n: int, x: int, incx: int, y: int, incy: int) -> None:
    c.vector(y, n, incy)[:] = c.vector(x, n, incx)


def swap(c: Call, n: int, x: int, incx: int, y: int, incy: int) -> None:
    one, other = c.vector(x, n, incx), c.vector(y, n, incy)
    one[:], other[:] = other.copy(), one.copy()


def scal(c: Call, n: int, alpha: Scalar, x: int, incx: int) -> None:
    c.vector(x, n, incx)[:] *= alpha


def dot(c: Call, n: int, x: int, incx: int, y: int, incy: int, to: int) -> bytes:
    return c.result(np.dot(c.vector(x, n, incx), c.vector(y, n, incy)), to)


def dotc(c: Call, n: int, x: int, incx: int, y: int, incy: int, to: int) -> bytes:
    return c.result(np.vdot(c.vector(x, n, incx), c.vector(y, n, incy)), to)


def nrm2(c: Call, n: int, x: int, incx: int, to: int) -> bytes:
    values = parts(c.vector(x, n if incx > 0 else 0, incx))
    most = np.float64(np.abs(values).max(initial=0))
    scale = most if 0 < most < np.inf else np.float64(1)  # squares of large doubles would overflow
    return c.result(scale * np.linalg.norm(values / scale), to, values.dtype)


def asum(c: Call, n: int, x: int, incx: int, to: int) -> bytes:
    values = parts(c.vector(x, n if incx > 0 else 0, incx))
    return c.result(np.abs(values).sum(), to, values.dtype)


def extreme(find: Callable[[Array], Scalar]) -> Callable[..., bytes]:
    def function(c: Call, n: int, x: int, incx: int, to: int) -> bytes:
        values = np.abs(parts(c.vector(x, n if incx > 0 else 0, incx))).sum(1)
        return c.result(find(values) + 1 if values.size else 0, to, c.integer)  # counted from 1, as in Fortran

    return function


def rot(c: Call, n: int, x: int, incx: int, y: int, incy: int, cosine: Scalar, sine: Scalar) -> None:
    one, other = c.vector(x, n, incx), c.vector(y, n, incy)
    one[:], other[:] = fused(cosine, one, sine * other), fused(cosine, other, -np.conj(sine) * one)


def rotg(c: Call, p: Scalar, q: Scalar, cosine: Scalar, sine: Scalar) -> list[Scalar]:
    """The rotation of (p, q) to (r, 0): r, one number from which the rotation can be rebuilt, its cosine and sine."""
    scale = abs(p) + abs(q)
    if scale == 0 or (p == 0 and np.iscomplexobj(p)):
        return [q, q, 0, 1] if scale else [p, q, 1, 0]
    length = scale * np.sqrt(abs(p / scale) ** 2 + abs(q / scale) ** 2)
    if np.iscomplexobj(p):
        unit = p / abs(p)
        return [unit * length, q, abs(p) / length, unit * np.conj(q) / length]
    length = np.copysign(length, p if abs(p) > abs(q) else q)
    cosine, sine = p / length, q / length
    return [length, sine if abs(p) > abs(q) else 1 / cosine if cosine != 0 else 1, cosine, sine]


def rotm(c: Call, n: int, x: int, incx: int, y: int, incy: int, rotation: list[Scalar]) -> None:
    """Multiply by the matrix [[a, b], [c, d]]; `rotation` is a flag and a, c, b, d."""
    flag, (first, turn, back, last) = rotation[0], rotation[1:]
    one, other = c.vector(x, n, incx), c.vector(y, n, incy)
    if flag >= 0:
        first, turn, back, last = (1, turn, back, 1) if flag == 0 else (first, -1, 1, last)
    if flag != -2:
        one[:], other[:] = first * one + back * other, turn * one + last * other


def rotmg(c: Call, d1: Scalar, d2: Scalar, p: Scalar, q: Scalar, rotation: list[Scalar]) -> list[Scalar]:
    """The modified rotation of (√d1 · p, √d2 · q) of C. L. Lawson and others ("Basic Linear Algebra Subprograms",
    1979). d1 and d2 are kept between 2⁻²⁴ and 2²⁴."""
    kept = [d1, d2, p, *rotation]
    if d2 * q == 0 and d1 >= 0:
        return [*kept[:3], -2, *kept[4:]]
    most, less = d1 * p * p, d2 * q * q
    turned = abs(most) <= abs(less)
    if turned:
        h = [[d1 * p / (d2 * q), 1], [-1, p / q]]
        share, d1, d2, p = 1 + h[0][0] * h[1][1], d2, d1, q
    else:
        h = [[1, d2 * q / (d1 * p)], [-q / p, 1]]
        share = 1 - h[0][1] * h[1][0]
    if kept[0] < 0 or share <= 0 or (turned and less < 0):
        return [0, 0, 0, -1, 0, 0, 0, 0]
    factors, p, scaled = [d1 / share, d2 / share], p * share, False
    for row in range(2):
        while 0 < abs(factors[row]) <= 2.0**-24 or 2.0**24 <= abs(factors[row]) < np.inf:
            by = 4096 if abs(factors[row]) <= 1 else 1 / 4096
            factors[row], h[row], scaled = factors[row] * by * by, [one / by for one in h[row]], True
            p = p / by if row == 0 else p
    told = [h[0][0], h[1][0], h[0][1], h[1][1]]
    if not scaled:  # the flag implies two of the four, which are not written
        told = [
            one if (k in (0, 3)) == turned else before
            for k, (one, before) in enumerate(zip(told, kept[4:], strict=True))
        ]
    return [*factors, p, -1 if scaled else int(turned), *told]


# ---- matrices
def gemv(c: Call, op: int, m: int, n: int, alpha: Scalar, a: int, lda: int, *rest: Scalar) -> None:
    times_vector(c, as_asked(c.matrix(a, m, n, lda), op), alpha, *rest)


def gbmv(c: Call, op: int, m: int, n: int, kl: int, ku: int, alpha: Scalar, a: int, lda: int, *rest: Scalar) -> None:
    times_vector(c, as_asked(c.band(a, m, n, kl, ku, lda), op), alpha, *rest)


def times_vector(c: Call, matrix: Array, alpha: Scalar, x: int, incx: int, beta: Scalar, y: int, incy: int) -> None:
    to = c.vector(y, matrix.shape[0], incy)
    to[:] = sum_of(alpha * (matrix @ c.vector(x, matrix.shape[1], incx)), beta, to)


def symv(c: Call, uplo: int, n: int, alpha: Scalar, a: int, lda: int, *rest: Scalar) -> None:
    times_vector(c, whole(c.matrix(a, n, n, lda), uplo, c.hermitian), alpha, *rest)


def sbmv(c: Call, uplo: int, n: int, k: int, alpha: Scalar, a: int, lda: int, *rest: Scalar) -> None:
    times_vector(c, whole(c.half_band(a, n, k, lda, uplo), uplo, c.hermitian), alpha, *rest)


def spmv(c: Call, uplo: int, n: int, alpha: Scalar, a: int, *rest: Scalar) -> None:
    times_vector(c, whole(c.packed(a, n, uplo), uplo, c.hermitian), alpha, *rest)


def trmv(c: Call, uplo: int, op: int, diag: int, n: int, a: int, lda: int, x: int, incx: int) -> None:
    by_triangle(c, c.matrix(a, n, n, lda), uplo, op, diag, c.vector(x, n, incx))


def tbmv(c: Call, uplo: int, op: int, diag: int, n: int, k: int, a: int, lda: int, x: int, incx: int) -> None:
    by_triangle(c, c.half_band(a, n, k, lda, uplo), uplo, op, diag, c.vector(x, n, incx))


def tpmv(c: Call, uplo: int, op: int, diag: int, n: int, a: int, x: int, incx: int) -> None:
    by_triangle(c, c.packed(a, n, uplo), uplo, op, diag, c.vector(x, n, incx))


def by_triangle(c: Call, matrix: Array, uplo: int, op: int, diag: int, to: Array, right: Array | None = None) -> None:
    """to = op(triangle) · right; or, of a function that solves, its solution for `right` (which is `to` if it is not
    given)."""
    triangle, right = as_asked(half(matrix, uplo, diag), op), to.copy() if right is None else right
    to[:] = solved(triangle, right, bool(uplo) != (op in (1, 2))) if c.solves else triangle @ right


def ger(c: Call, m: int, n: int, alpha: Scalar, x: int, incx: int, y: int, incy: int, a: int, lda: int) -> None:
    one, other, to = c.vector(x, m, incx), c.vector(y, n, incy), c.matrix(a, m, n, lda)
    to[:] = fused((alpha * one)[:, None], other.conj() if c.conjugate else other, to)


def syr(c: Call, uplo: int, n: int, alpha: Scalar, x: int, incx: int, a: int, lda: int = 0) -> None:
    one = c.vector(x, n, incx)[:, None]
    add_to_half(c, uplo, n, alpha * (one @ c.turned(one)), a, lda)


def syr2(c: Call, uplo: int, n: int, alpha: Scalar, x: int, incx: int, y: int, incy: int, a: int, lda: int = 0) -> None:
    one, other = c.vector(x, n, incx)[:, None], c.vector(y, n, incy)[:, None]
    add_to_half(c, uplo, n, c.both(alpha, one, other), a, lda)


def add_to_half(c: Call, uplo: int, n: int, values: Array, a: int, lda: int) -> None:
    """Add to a triangle of a matrix, which is packed if it has no leading dimension."""
    if lda:
        to = c.matrix(a, n, n, lda)
        put_half(to, c.real_diagonal(values + whole(to, uplo, c.hermitian)), uplo)
    else:
        before = whole(c.packed(a, n, uplo), uplo, c.hermitian)
        c.memory.array(a, n * (n + 1) // 2, c.dtype)[:] = c.real_diagonal(values + before)[packed_places(n, uplo)]


def symm(
    c: Call, side: int, uplo: int, m: int, n: int, alpha: Scalar, a: int, lda: int, b: int, ldb: int,
    beta: Scalar, to: int, ldc: int,
) -> None:  # fmt: skip
    size = n if side else m
    one, other = whole(c.matrix(a, size, size, lda), uplo, c.hermitian), c.matrix(b, m, n, ldb)
    into = c.matrix(to, m, n, ldc)
    into[:] = sum_of_both(alpha, product_of(other, one) if side else product_of(one, other), beta, into)


def syrk(
    c: Call, uplo: int, op: int, n: int, k: int, alpha: Scalar, a: int, lda: int, beta: Scalar, to: int, ldc: int
) -> None:
    one = c.stored(a, (n, k), lda, op)
    sum_in_half(c, uplo, n, alpha, product_of(one, c.turned(one)), beta, to, ldc)


def syr2k(
    c: Call, uplo: int, op: int, n: int, k: int, alpha: Scalar, a: int, lda: int, b: int, ldb: int,
    beta: Scalar, to: int, ldc: int,
) -> None:  # fmt: skip
    one, other = c.stored(a, (n, k), lda, op), c.stored(b, (n, k), ldb, op)
    sum_in_half(c, uplo, n, 1, c.both(alpha, one, other), beta, to, ldc)


def syrkx(
    c: Call, uplo: int, op: int, n: int, k: int, alpha: Scalar, a: int, lda: int, b: int, ldb: int,
    beta: Scalar, to: int, ldc: int,
) -> None:  # fmt: skip
    one, other = c.stored(a, (n, k), lda, op), c.stored(b, (n, k), ldb, op)
    sum_in_half(c, uplo, n, alpha, product_of(one, c.turned(other)), beta, to, ldc)


def sum_in_half(c: Call, uplo: int, n: int, alpha: Scalar, values: Array, beta: Scalar, to: int, ldc: int) -> None:
    into = c.matrix(to, n, n, ldc)
    put_half(into, c.real_diagonal(sum_of_both(alpha, values, beta, whole(into, uplo, c.hermitian))), uplo)


def trmm(
    c: Call, side: int, uplo: int, op: int, diag: int, m: int, n: int, alpha: Scalar, a: int, lda: int, b: int,
    ldb: int, to: int = 0, ldc: int = 0,
) -> None:  # fmt: skip
    into = c.matrix(to or b, m, n, ldc or ldb)
    if alpha == 0:  # neither matrix is read
        into[:] = 0
        return
    size = n if side else m
    triangle = c.matrix(a, size, size, lda)
    right = alpha * c.matrix(b, m, n, ldb)
    if side:  # right · op(triangle) is the transpose of op(triangle)ᵀ · rightᵀ
        triangle = as_asked(half(triangle, uplo, diag), op).T
        uplo, op, into, right = int(bool(uplo) == (op in (1, 2))), 0, into.T, right.T
    by_triangle(c, triangle, uplo, op, diag, into, right)


def gemm3m(
    c: Call, opa: int, opb: int, m: int, n: int, k: int, alpha: Scalar, a: int, lda: int, b: int, ldb: int,
    beta: Scalar, to: int, ldc: int,
) -> None:  # fmt: skip
    one, other, into = c.stored(a, (m, k), lda, opa), c.stored(b, (k, n), ldb, opb), c.matrix(to, m, n, ldc)
    into[:] = sum_of_both(alpha, product_of(one, other), beta, into)


def trttp(c: Call, uplo: int, n: int, a: int, lda: int, to: int) -> None:
    c.memory.array(to, n * (n + 1) // 2, c.dtype)[:] = c.matrix(a, n, n, lda)[packed_places(n, uplo)]


def tpttr(c: Call, uplo: int, n: int, a: int, to: int, ldb: int) -> None:
    put_half(c.matrix(to, n, n, ldb), c.packed(a, n, uplo), uplo)


def geam(
    c: Call, opa: int, opb: int, m: int, n: int, alpha: Scalar, a: int, lda: int, beta: Scalar, b: int,
    ldb: int, to: int, ldc: int,
) -> None:  # fmt: skip
    total = np.zeros((m, n), c.dtype)
    for factor, address, leading, op in ((alpha, a, lda, opa), (beta, b, ldb, opb)):
        if factor != 0:
            total = fused(factor, c.stored(address, (m, n), leading, op), total)
    c.matrix(to, m, n, ldc)[:] = total


def dgmm(c: Call, side: int, m: int, n: int, a: int, lda: int, x: int, incx: int, to: int, ldc: int) -> None:
    factors, matrix = c.vector(x, n if side else m, incx), c.matrix(a, m, n, lda)
    c.matrix(to, m, n, ldc)[:] = matrix * factors if side else factors[:, None] * matrix


COMPUTED_BY: dict[str, Callable[..., bytes | list[Scalar] | None]] = {
    **{one.__name__: one for one in (
        axpy, copy, swap, scal, dot, dotc, nrm2, asum, rot, gemv, gbmv, symv, sbmv, spmv, trmv, tbmv, tpmv, ger, syr,
        syr2, symm, syrk, syr2k, syrkx, trmm, gemm3m, trttp, tpttr, geam, dgmm, rotg, rotm, rotmg, getrf, getrs, getri,
        matinv)},
    "dotu": dot, "amax": extreme(np.argmax), "amin": extreme(np.argmin), "geru": ger, "gerc": ger,
    "hemv": symv, "hbmv": sbmv, "hpmv": spmv, "trsv": trmv, "tbsv": tbmv, "tpsv": tpmv, "trsm": trmm,
    "her": syr, "her2": syr2, "spr": syr, "spr2": syr2, "hpr": syr, "hpr2": syr2,
    "hemm": symm, "herk": syrk, "her2k": syr2k, "herkx": syrkx,
}  # fmt: skip
"""By the functions' names without their types."""
