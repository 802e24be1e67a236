"""Kernels as samples and libraries write them (tests/hardware/libraries.py), run here, against functions of NumPy and
of Python's own library.

test_hardware.py compares every array of every launch with what an H200 left. The functions here know nothing of a GPU:
they say that this is the product, the sort or the transform that the kernel is for. Kernels that compute something
that is no such function are held by the H200 alone, but for `atomic_kinds`, whose threads race there."""

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launches import LAUNCHES, argument
from libraries import SOURCES

from helpers.recorded_launches import executed


def square(flat: Any) -> Any:
    n = round(len(flat) ** 0.5)
    return flat.reshape(n, n)


def product(a: Any, b: Any, c: Any, n: int) -> Any:
    return (square(a.astype(np.float64)) @ square(b.astype(np.float64))).astype(c.dtype)


def fourier(numbers: Any, out: Any, length: int) -> Any:
    complex_ = np.complex64 if numbers.dtype == np.float32 else np.complex128
    return np.fft.fft(numbers.view(complex_).reshape(-1, length)).astype(complex_).view(numbers.dtype)


def tridiagonal(diagonal: Any, side: Any) -> Any:
    return np.diag(diagonal * 4.0) + np.diag(side[1:], 1) + np.diag(side[1:], -1)


def stable_order(keys: Any) -> Any:
    return np.argsort(-keys.reshape(2, -1).astype(np.int64), axis=1, kind="stable") + np.array([[0], [256]])


def atomic_kinds() -> list[int]:
    """Each kind of atomic, as if the 128 threads came one after another: what it leaves depends on no order."""
    n, up, down, masks = 128, 0, 0, 255
    for thread in range(n):
        up = 0 if up >= 17 else up + 1
        down = 137 if down == 0 or down > 137 else down - 1
        masks &= 2 * thread + 7
    return [10 * n, -10 * n, 77, n - 1, 0, up, down, n - 1, masks, -1, 0, 3 * n, 5 * n]


ORACLES: dict[str, tuple[int, Callable[..., Any]]] = {
    "gemm_stages<half, 2>": (2, product),
    "gemm_stages<half, 3>": (2, product),
    "gemm_tf32": (2, product),
    "gemm_doubles": (2, product),
    "product_ahead": (2, product),
    "product_pipeline": (2, product),
    "product_barrier": (2, product),
    "gemm_bytes": (2, lambda a, b, c, n: square(a.astype(c.dtype)) @ square(b.astype(c.dtype)).T),
    "product_tiles": (2, lambda a, b, c, m, n, k: a.reshape(m, k) @ b.reshape(k, n)),
    "product_blocks": (0, lambda c, a, b, wa, wb: a.reshape(-1, wa) @ b.reshape(-1, wb)),
    "product_complex": (2, lambda a, b, c, n: (square(a.view(np.complex64)) @ square(b.view(np.complex64))).view("f4")),
    "cholesky_solve": (2, lambda m, right, out: np.linalg.solve(m.reshape(-1, 16, 16), right.reshape(-1, 16, 1))),
    "bisect": (2, lambda diagonal, side, *_: np.linalg.eigvalsh(tridiagonal(diagonal, side))),
    "radix_digits": (1, lambda keys, *_: np.sort(keys.reshape(-1, 1024))),
    "quick_sort": (0, lambda data, other, n: np.sort(data.reshape(-1, n))),
    "merge_sort_cub": (1, lambda keys, out: np.sort(keys.reshape(2, -1))),
    "radix_sort_cub": (2, lambda keys, *_: stable_order(keys)),
    "scan_fours": (0, lambda out, v, size: np.cumsum(v.reshape(-1, size), axis=1) - v.reshape(-1, size)),
    "scan_chained": (1, lambda numbers, *_: np.cumsum(numbers)),
    "integral_columns": (0, lambda image, width, height: np.cumsum(image.reshape(height, width), axis=0)),
    "histogram_tagged": (1, lambda numbers, out, n: np.bincount(numbers & 63, minlength=64)),
    "hash_count": (1, lambda keys, out, n: np.bincount(keys, minlength=100)),
    "histogram_cub": (1, lambda numbers, out: [np.bincount(row, minlength=64) for row in numbers.reshape(2, -1)]),
    "fourier_256": (1, lambda numbers, out: fourier(numbers, out, 256)),
    "fourier_doubles": (1, lambda numbers, out: fourier(numbers, out, 128)),
    "transpose_diagonal": (0, lambda out, matrix, width, height: matrix.reshape(height, width).T),
    "reduce_first": (1, lambda numbers, *_: numbers.sum()),
    "reduce_group": (1, lambda numbers, *_: numbers.sum()),
    "reduce_barrier": (1, lambda numbers, *_: numbers.sum()),
    "norm_welford": (2, lambda rows, mean, variance, pairs: rows.reshape(-1, 2 * pairs).var(axis=1, dtype=np.float64)),
    "interpolate": (2, lambda table, at, *_: np.interp(np.clip(at * 70.0 - 3, 0, 63.99), np.arange(65), table)),
    "hash_messages": (
        1,
        lambda messages, out, length: np.frombuffer(
            b"".join(hashlib.sha256(row.tobytes()).digest() for row in messages.reshape(-1, length)), ">u4"
        ),
    ),
    "check_sums": (
        2,
        lambda messages, length, out, pitch: [
            zlib.crc32(row[:n].tobytes()) for row, n in zip(messages.reshape(-1, pitch), length, strict=True)
        ],
    ),
    "py_product": (22, lambda a, b, out: a.reshape(40, 29) @ b.reshape(29, 50)),
    "py_reduce": (11, lambda values, out: values.sum()),
    "py_bitonic": (4, lambda values: np.sort(values.reshape(2, -1))),
    "py_transpose": (13, lambda matrix, out: square(matrix).T),
    "py_jacobi": (20, lambda a, b, out: np.linalg.solve(square(a), b)),
    "atomic_kinds": (0, lambda out: atomic_kinds()),
}
"""By the kernel's name: which argument holds the result, and what computes it from the arguments before the launch. Of
kernels of Numba's, which take several parameters for an array, it gets the arrays alone."""

ROUNDED = {
    "bisect": 1e-4, "cholesky_solve": 1e-12, "fourier_256": 1e-5, "fourier_doubles": 1e-13, "interpolate": 1e-4,
    "norm_welford": 1e-5, "py_jacobi": 1e-6,
}  # fmt: skip
"""Results that round on the way: the error allowed, absolute or relative. All others are exact."""


def kernel_of(name: str) -> str:
    kernel = name.split(".", 1)[1].split("/")[0]
    return kernel if kernel in ORACLES else kernel.split("<")[0]


NAMES = [launch.name for launch in LAUNCHES if launch.source in SOURCES and kernel_of(launch.name) in ORACLES]


def test_every_function_has_a_launch() -> None:
    assert {kernel_of(name) for name in NAMES} == set(ORACLES)


@pytest.mark.parametrize("name", NAMES)
def test_results(name: str) -> None:
    (recorded,) = [launch for launch in LAUNCHES if launch.name == name]
    before, after = [argument(rule) for rule in recorded.arguments], executed(name)[1]
    kernel = kernel_of(name)
    number, function = ORACLES[kernel]
    expected = function(*([a for a in before if np.ndim(a)] if kernel.startswith("py_") else before))
    found = after[number]
    if np.ndim(expected) == 0:  # the blocks' results together
        found = found.sum()
    tolerance = ROUNDED.get(kernel, 0)
    expected = np.asarray(expected).reshape(np.shape(found)).astype(after[number].dtype)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
