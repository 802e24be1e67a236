"""cuRAND's quasirandom numbers: I. M. Sobol's sequence, in the order of Gray codes, dimension after dimension.

The first dimension holds the reversed bits of whole numbers. Those of the others come from S. Joe and F. Y. Kuo's
direction numbers ("Constructing Sobol sequences with better two-dimensional projections", 2008), which SciPy has. An
H200's cuRAND gave the same uniform and normal floats of 64-bit words in one dimension; how its doubles are made of
words was not recorded. Its scrambled sequences are made of tables that are published nowhere, and not provided.
"""

from statistics import NormalDist
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array

BITS = {200: 32, 201: 32, 203: 64}
"""Of a word, by curandRngType_t."""
WHAT = "cuRAND's quasirandom numbers of several dimensions"
INVERSE = np.frompyfunc(NormalDist().inv_cdf, 1, 1)


def numbers(kind: int, name: str, first: int, dimensions: int, count: int, parameters: tuple[Any, Any]) -> Array:
    """`count` numbers of a distribution, as many of each dimension; these begin with the number `first`."""
    bits = BITS[kind]
    words = points(first, count // dimensions, dimensions) >> np.uint64(64 - bits)
    if name in ("Generate", "GenerateLongLong"):
        return words
    if name.endswith("Double"):
        kept = min(bits, 53)
        values: Array = (words >> np.uint64(bits - kept)) * 2.0**-kept + 2.0 ** -(kept + 1)
    else:
        values = (words >> np.uint64(bits - 32)).astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    if "Normal" in name:
        values = normal(values, parameters)
    return np.exp(values) if "Log" in name else values


def normal(uniform: Array, parameters: tuple[Any, Any]) -> Array:
    """By the inverse of the distribution, of a mean and a deviation; a multiple of -sqrt(2), as cuRAND's floats are."""
    dtype = uniform.dtype.type
    multiple = (INVERSE(uniform.astype(float)).astype(float) / -np.sqrt(2)).astype(dtype)
    values: Array = dtype(-np.sqrt(2)) * multiple * dtype(parameters[1]) + dtype(parameters[0])
    return values


def points(first: int, count: int, dimensions: int) -> Array:
    """Words of 64 bits: u64[dimensions * count]."""
    if dimensions == 1:
        place = np.arange(first, first + count, dtype=np.uint64)
        gray, found = place ^ place >> np.uint64(1), np.zeros(count, np.uint64)
        for bit in range(64):
            found |= (gray >> np.uint64(bit) & np.uint64(1)) << np.uint64(63 - bit)
        return found
    try:
        from scipy.stats import qmc
    except ImportError:
        raise UnsupportedError(f"{WHAT} need SciPy: pip install scipy") from None
    if first + count > 1 << 32:
        raise UnsupportedError(f"{WHAT} behind the first 2^32")
    sequence = qmc.Sobol(dimensions, scramble=False, bits=32)
    sequence.fast_forward(first)
    words: Array = (sequence.random(count).T * 2.0**32).astype(np.uint64)
    return words.ravel() << np.uint64(32)
