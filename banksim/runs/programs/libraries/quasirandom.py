"""cuRAND's quasirandom numbers: I. M. Sobol's sequence, in the order of Gray codes, dimension after dimension.

The first dimension holds the reversed bits of whole numbers. Those of the others come from S. Joe and F. Y. Kuo's
direction numbers ("Constructing Sobol sequences with better two-dimensional projections", 2008), which SciPy has. In
one dimension an H200's cuRAND gave the same words (a million) and uniform doubles (8,192); its normal floats differ by
at most 3 units in the last place, log-normal ones by 11, normal doubles in the last digits. Its scrambled sequences
are made of tables that only cuRAND has, and not provided.
"""

import warnings
from statistics import NormalDist
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array

BITS = {200: 32, 201: 32, 203: 64}
"""Of a word, by curandRngType_t."""
WHAT = "cuRAND's quasirandom numbers"
INVERSE = np.frompyfunc(NormalDist().inv_cdf, 1, 1)


def numbers(kind: int, name: str, first: int, dimensions: int, count: int, parameters: tuple[Any, Any]) -> Array:
    """`count` numbers of a distribution, as many of each dimension; these begin with the number `first`."""
    bits, each = BITS[kind], count // dimensions
    several, known = ("", bits) if dimensions == 1 else (" of several dimensions", 32)
    if first + each > 1 << known:
        raise UnsupportedError(f"{WHAT}{several} behind the first 2^{known}")
    words = points(first, each, dimensions) >> np.uint64(64 - bits)
    if name == "GenerateUniformDouble" and bits == 32:
        return (words + np.uint64(1)) * 2.0**-32  # up to and including 1
    return distributed(words, bits, name, parameters)


def distributed(words: Array, bits: int, name: str, parameters: tuple[Any, Any]) -> Array:
    """A number of each word, which has as many bits."""
    if name in ("Generate", "GenerateLongLong"):
        return words
    kept, dtype = (min(bits, 53), np.float64) if name.endswith("Double") else (32, np.float32)
    words = words >> np.uint64(bits - kept)
    if "Normal" not in name:
        return between_0_and_1(words, kept, dtype)
    last = np.uint64((1 << kept) - 1)
    upper = words > last >> np.uint64(1)  # near 1, a float would lose what is kept of a number near 0
    half = between_0_and_1(np.where(upper, last - words, words), kept, dtype)
    values = normal(half, np.where(upper, dtype(-1), dtype(1)), parameters)
    return np.exp(values) if "Log" in name else values


def between_0_and_1(words: Array, bits: int, dtype: type[np.floating[Any]]) -> Array:
    values: Array = words.astype(dtype) * dtype(2.0**-bits) + dtype(2.0 ** -(bits + 1))
    return values


def normal(half: Array, sign: Array, parameters: tuple[Any, Any]) -> Array:
    """By the inverse of the distribution in its lower half, of a mean and a deviation; a multiple of -sqrt(2), as
    cuRAND's floats are."""
    dtype = half.dtype.type
    multiple = (INVERSE(half.astype(float)).astype(float) / -np.sqrt(2)).astype(dtype)
    values: Array = dtype(-np.sqrt(2)) * sign * multiple * dtype(parameters[1]) + dtype(parameters[0])
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
        raise UnsupportedError(f"{WHAT} of several dimensions need SciPy: pip install scipy") from None
    sequence = qmc.Sobol(dimensions, scramble=False, bits=32)
    if first:  # SciPy cannot skip 0 numbers
        sequence.fast_forward(first)
    with warnings.catch_warnings(action="ignore"):  # of counts that are no power of two
        words: Array = (sequence.random(count).T * 2.0**32).astype(np.uint64)
    return words.ravel() << np.uint64(32)
