"""cuBLAS's products of matrices, of any types: gemm, GemmEx and their like."""

from collections.abc import Sequence

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.chains import KINDS, chained, fused
from banksim.runs.programs.libraries.data_types import BFLOAT16, STORED, number_of, put
from banksim.runs.programs.libraries.matrices import Call, Scalar, stored

PRODUCTS = ("gemm", "gemmBatched", "gemmStridedBatched", "GemmEx", "gemmEx", "gemm3mEx", "GemmBatchedEx",
            "GemmStridedBatchedEx", "GemmGroupedBatchedEx")  # fmt: skip
COMPLEX = (4, 5)
COMPUTED: dict[int, tuple[type[np.generic], type[np.generic], dict[int, tuple[int, ...]]]] = {
    **dict.fromkeys((64, 65), (np.float16, np.float32, {2: (2,)})),
    **dict.fromkeys(
        (68, 69), (np.float32, np.float32, {0: (0,), 2: (2, 0), 3: (0,), 4: (4,), BFLOAT16: (BFLOAT16, 0)})
    ),
    **dict.fromkeys((74, 75, 77), (np.float32, np.float32, {0: (0,), 4: (4,)})),
    **dict.fromkeys((70, 71), (np.float64, np.float64, {1: (1,), 5: (5,)})),
    **dict.fromkeys((72, 73), (np.int32, np.int32, {3: (10,)})),
}
"""By the numbers of cublasComputeType_t: the type of scalars, that in which products are summed; and of two matrices of
each type, the types of the third (cuBLAS's guide, "cublasGemmEx")."""


def product(m: Memory, on_device: int, words: Sequence[int]) -> bytes:
    """c = alpha · a · b + beta · c, for each of `count` matrices."""
    opa, opb, rows, columns, depth, *alpha, a, atype, lda, stridea, b, btype, ldb, strideb = words[:15]
    *beta, c, ctype, ldc, stridec, count, computed, pointers = words[15:]
    for kind in (atype, btype, ctype):
        if kind not in STORED:
            raise UnsupportedError(
                f"{m.what}: matrices of cudaDataType {kind}: floats of 16 bits or more and whole numbers only, complex "
                "ones of floats of 32 or 64 bits"
            )
    if computed not in COMPUTED:
        raise UnsupportedError(f"{m.what}: computations of cublasComputeType_t {computed} are not known")
    *types, results = COMPUTED[computed]
    if atype != btype or ctype not in results.get(atype, ()):
        raise UnsupportedError(
            f"{m.what}: there is no product of cudaDataType {atype} and {btype} as {ctype} by cublasComputeType_t "
            f"{computed}"
        )
    given, summed = (STORED[ctype],) * 2 if ctype in COMPLEX else types
    first, second = (summed(Call(m, on_device, given).scalar(words, given)) for words in (alpha, beta))
    for number in range(count):
        places = [place(m, base, number, kind, step, bool(pointers)) for base, kind, step in (
            (a, atype, stridea), (b, btype, strideb), (c, ctype, stridec))]  # fmt: skip
        left = number_of(stored(m, places[0], (rows, depth), lda, opa, STORED[atype]), atype, summed)
        right = number_of(stored(m, places[1], (depth, columns), ldb, opb, STORED[btype]), btype, summed)
        to = m.matrix(places[2], rows, columns, ldc, STORED[ctype])
        put(to, sum_of_both(first, product_of(left, right), second, number_of(to, ctype, summed)), ctype)
    return b""


def sum_of_both(alpha: Scalar, total: Array, beta: Scalar, before: Array) -> Array:
    """alpha · total + beta · before, rounded as an H200's cuBLAS rounds it. Where beta is 0, what was there before does
    not matter: it may be NaN."""
    if beta != 0:
        return fused(alpha, total, beta * before)
    scaled: Array = total if alpha == 1 and total.dtype.kind != "c" else alpha * total
    return scaled


def product_of(left: Array, right: Array) -> Array:
    """The product of matrices of one type. BLAS has none for integers; where doubles hold all sums exactly, the
    product of doubles is taken, and the lowest 32 bits of each element."""
    total: Array
    if left.dtype in KINDS:
        total = chained(left, right)
    elif left.dtype != np.int32 or not left.size or extent(left) * extent(right) * len(right) > 1 << 53:
        total = left @ right
    else:
        total = (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64).astype(np.int32)
    return total


def extent(matrix: Array) -> int:
    return max(int(matrix.max()), -int(matrix.min())) if matrix.size else 0


def place(m: Memory, base: int, number: int, kind: int, step: int, pointers: bool) -> int:
    """Where one of several matrices begins."""
    if pointers:
        return int(m.array(base, number + 1, np.int64)[number])
    return base + number * step * np.dtype(STORED[kind]).itemsize
