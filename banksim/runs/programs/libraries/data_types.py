"""Numbers of the types that cudaDataType names, as they lie in memory."""

import numpy as np

from banksim.runs.programs.libraries.calls import Array

BFLOAT16 = 14
STORED: dict[int, type[np.generic]] = {
    0: np.float32, 1: np.float64, 2: np.float16, 3: np.int8, 4: np.complex64, 5: np.complex128, 10: np.int32,
    BFLOAT16: np.uint16,
}  # fmt: skip
"""NumPy's types by the numbers of cudaDataType; bfloat16 as its bits."""
EXECUTED = {0: 0, 1: 1, 2: 0, 4: 4, 5: 5, BFLOAT16: 0}
"""By the type of vectors: the type in which cuBLAS computes with them."""
REAL = {4: 0, 5: 1}


def number_of(matrix: Array, kind: int, dtype: type[np.generic]) -> Array:
    if kind == BFLOAT16:
        return (matrix.astype(np.uint32) << 16).view(np.float32).astype(dtype)
    return matrix.astype(dtype)


def put(to: Array, values: Array, kind: int | None) -> None:
    """Store values, rounded to the type that they have there."""
    if kind == BFLOAT16:
        bits = values.astype(np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        to[:] = np.where(np.isnan(values), 0x7FFF, rounded)
    else:
        to[:] = values.astype(to.dtype)
