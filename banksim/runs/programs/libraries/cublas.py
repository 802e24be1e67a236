"""cuBLAS over NumPy: the functions of cuda/libraries/cublas.c.

The first word of each call tells where its scalars are: 0 for their values in the words, 1 for addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory, of_bits

TYPES: dict[str, type[np.generic]] = {"S": np.float32, "D": np.float64}
BFLOAT16 = 14
STORED: dict[int, type[np.generic]] = {
    0: np.float32,
    1: np.float64,
    2: np.float16,
    3: np.int8,
    8: np.uint8,
    10: np.int32,
    BFLOAT16: np.uint16,
}
"""NumPy's types by the numbers of cudaDataType; bfloat16 as its bits."""
COMPUTED: dict[int, tuple[type[np.generic], type[np.generic]]] = {
    **dict.fromkeys((64, 65), (np.float16, np.float32)),
    **dict.fromkeys((68, 69, 74, 75, 77), (np.float32, np.float32)),
    **dict.fromkeys((70, 71), (np.float64, np.float64)),
    **dict.fromkeys((72, 73), (np.int32, np.int32)),
}
"""By the numbers of cublasComputeType_t: the type in which scalars are given, and that in which products are summed
here."""
PRODUCTS = ("gemm", "gemmBatched", "gemmStridedBatched", "GemmEx", "SgemmEx", "GemmBatchedEx", "GemmStridedBatchedEx")


class Scalars:
    """Scalars of one type, which a call has by value or by address; its results likewise."""

    def __init__(self, memory: Memory, on_device: int, dtype: type[np.generic]) -> None:
        self.memory, self.on_device, self.dtype = memory, bool(on_device), dtype

    def __call__(self, word: int) -> Any:
        return self.memory.array(word, 1, self.dtype)[0] if self.on_device else of_bits(word, self.dtype)

    def result(self, value: Any, address: int, dtype: type[np.generic]) -> bytes:
        if self.on_device:
            self.memory.array(address, 1, dtype)[0] = value
            return b""
        return np.array([value], dtype).tobytes()


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Compute the function `name` (such as `Sgemm` or `GemmEx`) of these words."""
    on_device, *arguments = words
    if name in PRODUCTS or name[1:] in PRODUCTS:
        return product(memory, on_device, arguments)
    dtype = TYPES[name[0]]
    return FUNCTIONS[name[1:]](memory, Scalars(memory, on_device, dtype), *arguments) or b""


# ---- vectors. `words` are the parameters of the function that has this name in BLAS, in its order.
def axpy(m: Memory, s: Scalars, *words: int) -> None:
    n, alpha, x, incx, y, incy = words
    m.vector(y, n, incy, s.dtype)[:] += s(alpha) * m.vector(x, n, incx, s.dtype)


def copy(m: Memory, s: Scalars, n: int, x: int, incx: int, y: int, incy: int) -> None:
    m.vector(y, n, incy, s.dtype)[:] = m.vector(x, n, incx, s.dtype)


def swap(m: Memory, s: Scalars, n: int, x: int, incx: int, y: int, incy: int) -> None:
    one, other = m.vector(x, n, incx, s.dtype), m.vector(y, n, incy, s.dtype)
    one[:], other[:] = other.copy(), one.copy()


def scal(m: Memory, s: Scalars, n: int, alpha: int, x: int, incx: int) -> None:
    m.vector(x, n, incx, s.dtype)[:] *= s(alpha)


def dot(m: Memory, s: Scalars, *words: int) -> bytes:
    n, x, incx, y, incy, to = words
    return s.result(np.dot(m.vector(x, n, incx, s.dtype), m.vector(y, n, incy, s.dtype)), to, s.dtype)


def nrm2(m: Memory, s: Scalars, n: int, x: int, incx: int, to: int) -> bytes:
    return s.result(np.linalg.norm(m.vector(x, n, incx, s.dtype).astype(np.float64)), to, s.dtype)


def asum(m: Memory, s: Scalars, n: int, x: int, incx: int, to: int) -> bytes:
    return s.result(np.abs(m.vector(x, n, incx, s.dtype)).sum(), to, s.dtype)


def extreme(find: Callable[[Array], Any]) -> Callable[..., bytes]:
    def function(m: Memory, s: Scalars, n: int, x: int, incx: int, to: int) -> bytes:
        values = np.abs(m.vector(x, n, incx, s.dtype))
        return s.result(find(values) + 1 if values.size else 0, to, np.int32)  # counted from 1, as in Fortran

    return function


# ---- matrices
def as_asked(matrix: Array, operation: int) -> Array:
    return matrix.T if operation else matrix


def stored(m: Memory, address: int, shape: tuple[int, int], leading: int, operation: int, dtype: Any) -> Array:
    """A matrix of `shape`; if an operation is asked for, its transpose lies in memory."""
    rows, columns = shape[::-1] if operation else shape
    return as_asked(m.matrix(address, rows, columns, leading, dtype), operation)


def sum_of(product: Any, beta: Any, before: Array) -> Any:
    """product + beta · before. Where beta is 0, what was there before is not read: it may be NaN."""
    return product if beta == 0 else product + beta * before


def gemv(m: Memory, s: Scalars, *words: int) -> None:
    operation, rows, columns, alpha, a, lda, x, incx, beta, y, incy = words
    matrix = as_asked(m.matrix(a, rows, columns, lda, s.dtype), operation)
    to = m.vector(y, matrix.shape[0], incy, s.dtype)
    to[:] = sum_of(s(alpha) * (matrix @ m.vector(x, matrix.shape[1], incx, s.dtype)), s(beta), to)


def ger(m: Memory, s: Scalars, *words: int) -> None:
    rows, columns, alpha, x, incx, y, incy, a, lda = words
    outer = np.outer(m.vector(x, rows, incx, s.dtype), m.vector(y, columns, incy, s.dtype))
    m.matrix(a, rows, columns, lda, s.dtype)[:] += s(alpha) * outer


def geam(m: Memory, s: Scalars, *words: int) -> None:
    opa, opb, rows, columns, alpha, a, lda, beta, b, ldb, c, ldc = words
    total = np.zeros((rows, columns), s.dtype)
    for factor, address, leading, operation in ((s(alpha), a, lda, opa), (s(beta), b, ldb, opb)):
        if factor != 0:
            total += factor * stored(m, address, (rows, columns), leading, operation, s.dtype)
    m.matrix(c, rows, columns, ldc, s.dtype)[:] = total


def dgmm(m: Memory, s: Scalars, *words: int) -> None:
    right, rows, columns, a, lda, x, incx, c, ldc = words
    factors = m.vector(x, columns if right else rows, incx, s.dtype)
    matrix = m.matrix(a, rows, columns, lda, s.dtype)
    m.matrix(c, rows, columns, ldc, s.dtype)[:] = matrix * factors if right else factors[:, None] * matrix


def product(m: Memory, on_device: int, words: Sequence[int]) -> bytes:
    """c = alpha · a · b + beta · c, for each of `count` matrices."""
    opa, opb, rows, columns, depth, alpha, a, atype, lda, stridea, b, btype, ldb, strideb = words[:14]
    beta, c, ctype, ldc, stridec, count, computed, pointers = words[14:]
    for kind in (atype, btype, ctype):
        if kind not in STORED:
            raise UnsupportedError(f"{m.what}: matrices of cudaDataType {kind}: real numbers of 8 to 64 bits only")
    if computed not in COMPUTED:
        raise UnsupportedError(f"{m.what}: computations of cublasComputeType_t {computed} are not known")
    given, summed = COMPUTED[computed]
    s = Scalars(m, on_device, given)
    first, second = (summed(s(word)) for word in (alpha, beta))
    for number in range(count):
        places = [place(m, base, number, kind, step, bool(pointers)) for base, kind, step in (
            (a, atype, stridea), (b, btype, strideb), (c, ctype, stridec))]  # fmt: skip
        left = number_of(stored(m, places[0], (rows, depth), lda, opa, STORED[atype]), atype, summed)
        right = number_of(stored(m, places[1], (depth, columns), ldb, opb, STORED[btype]), btype, summed)
        to = m.matrix(places[2], rows, columns, ldc, STORED[ctype])
        put(to, sum_of(first * (left @ right), second, number_of(to, ctype, summed)), ctype)
    return b""


def place(m: Memory, base: int, number: int, kind: int, step: int, pointers: bool) -> int:
    """Where one of several matrices begins."""
    if pointers:
        return int(m.array(base, number + 1, np.int64)[number])
    return base + number * step * np.dtype(STORED[kind]).itemsize


def number_of(matrix: Array, kind: int, dtype: type[np.generic]) -> Array:
    if kind == BFLOAT16:
        return (matrix.astype(np.uint32) << 16).view(np.float32).astype(dtype)
    return matrix.astype(dtype)


def put(to: Array, values: Array, kind: int) -> None:
    """Store values, rounded to the type of the matrix."""
    if kind == BFLOAT16:
        bits = values.astype(np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        to[:] = np.where(np.isnan(values), 0x7FFF, rounded)
    else:
        to[:] = values.astype(to.dtype)


FUNCTIONS: dict[str, Callable[..., bytes | None]] = {
    "axpy": axpy,
    "copy": copy,
    "swap": swap,
    "scal": scal,
    "dot": dot,
    "nrm2": nrm2,
    "asum": asum,
    "amax": extreme(np.argmax),
    "amin": extreme(np.argmin),
    "gemv": gemv,
    "ger": ger,
    "geam": geam,
    "dgmm": dgmm,
}
